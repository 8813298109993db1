"""What comes from elsewhere as a file, a path or a folder: refused in bounded memory and time, and never run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import portadnn as dnn
from portadnn._io.files import write_whole
from portadnn.cli.main import app
from portadnn.diff import Case, golden
from portadnn.diff.sources import from_file, from_log
from portadnn.finding.database import FindDatabase, Place
from portadnn.migrate import baseline, checker
from portadnn.migrate import config as configs
from portadnn.migrate.files import discover
from portadnn.recording import read

LINE = "activation_forward x=f32:2x3x5x7 mode=relu"


def command(*words, code=2, cwd=None, **environment):
    """Run a command in a process of its own, which has to end soon."""
    done = subprocess.run(
        [sys.executable, "-m", "portadnn", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


# paths: pipes, devices, folders


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_no_command_waits_for_a_pipe_that_nobody_writes(pipe, monkeypatch):
    monkeypatch.setattr(discover, "PATIENCE", 0.1)
    runner = CliRunner()
    for words in (
        ["check", pipe],
        ["check", ".", "--config", pipe],
        ["check", pipe.parent, "--baseline", pipe],
        ["port", pipe],
        ["replay", pipe],
        ["diff", "check", pipe],
        ["diff", "run", "--lines", pipe],
        ["diff", "run", "--recording", pipe],
        ["diff", "run", "--from-log", pipe],
        ["record", "-o", pipe, "--", "true"],
        ["check", __file__, "-o", f"json:{pipe}"],
    ):
        result = []

        def run(words=words, result=result):
            result.append(runner.invoke(app, list(map(str, words))))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(30)
        assert result, f"{words} waits"
        assert result[0].exit_code == 2 and "portadnn: " in result[0].output, (words, result[0].output)


@pytest.mark.parametrize("place", ["/dev/zero", "/dev", "\0"])
def test_readers_take_regular_files_only(place, reference):
    for reader in (read, golden.read, from_file, from_log, baseline.read, configs.read, dnn.trace):
        with pytest.raises((dnn.BadParam, IsADirectoryError)):
            found = reader(place if reader in (read, from_file, from_log, dnn.trace) else Path(place))
            if reader is dnn.trace:
                if place == "/dev/zero":
                    raise dnn.BadParam("a device may be written to")
                found.start()
    with pytest.raises(dnn.BadParam):
        discover.sources([place] if place != "/dev" else ["/dev/null"])


def test_a_pipe_that_somebody_writes_is_read(pipe):
    writer = threading.Thread(target=pipe.write_text, args=("cudnnCreate(&handle);\n",))
    writer.start()
    (found,) = discover.sources([pipe]).found
    assert found.read() == b"cudnnCreate(&handle);\n"
    writer.join()


def test_pipes_in_a_project_are_left_alone(tmp_path):
    for name in (".gitignore", "a.cu", "compile_commands.json", ".portadnn.toml", "pyproject.toml"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "b.cu").write_text("cudnnCreate(&handle);\n", encoding="utf-8")
    assert [Path(one.shown).name for one in discover.sources([tmp_path]).found] == ["b.cu"]
    assert configs.find(tmp_path) not in {tmp_path / ".portadnn.toml", tmp_path / "pyproject.toml"}
    with pytest.raises(dnn.BadParam, match="a named pipe"):
        discover.sources([tmp_path / "compile_commands.json"])


def test_a_find_database_that_is_no_file_is_not_used(pipe):
    place = Place("device", "driver", "1", "1")
    with pytest.warns(RuntimeWarning, match="a named pipe; it is not used"):
        assert FindDatabase(pipe).load("problem", place) == {}
    with pytest.raises(dnn.BadParam, match="expected a path"):
        FindDatabase("a\0b")


def test_a_device_that_is_written_to_stays_one(tmp_path, pipe):
    write_whole(Path("/dev/null"), b"nothing")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError, match="No such device"):
        write_whole(pipe, b"nobody reads")
    command("record", "-o", "/dev/null", "--", "true")
    assert Path("/dev/null").is_char_device()


# settings of a checked repository


@pytest.mark.parametrize("pattern", ["[z-a]", "x" * 5000, "!"])
def test_a_pattern_that_is_none_is_named(tmp_path, pattern):
    (tmp_path / ".portadnn.toml").write_text(f"[check]\nexclude = {json.dumps([pattern])}\n", encoding="utf-8")
    (tmp_path / "a.cu").write_text("cudnnCreate(&handle);\n", encoding="utf-8")
    said = command("check", tmp_path)
    assert ".portadnn.toml" in said and "expected patterns as in .gitignore" in said
    with pytest.raises(dnn.BadParam, match="exclude: expected patterns"):
        discover.sources([tmp_path], exclude=[pattern])


def test_such_a_pattern_in_gitignore_is_passed_over(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("[z-a]\nb.cu\n", encoding="utf-8")
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text("cudnnCreate(&handle);\n", encoding="utf-8")
    assert [Path(one.shown).name for one in discover.sources([tmp_path]).found] == ["a.cu"]


@pytest.mark.parametrize("place", ["/dev/zero", "/etc/hostname", "../outside.json", "link.json", "\\u0000"])
def test_settings_name_baselines_of_their_own_tree_only(tmp_path, place):
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "outside.json").write_text('{"portadnn-baseline": 1, "findings": []}', encoding="utf-8")
    (project / "link.json").symlink_to(tmp_path / "outside.json")
    (project / ".portadnn.toml").write_text(f'[check]\nbaseline = "{place}"\n', encoding="utf-8")
    with pytest.raises(dnn.BadParam, match=r"baseline; expected a file below"):
        configs.read(project / ".portadnn.toml")


def test_a_baseline_of_the_repository_or_of_the_command_line_is_read(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "known.json").write_text('{"portadnn-baseline": 1, "findings": []}', encoding="utf-8")
    (tmp_path / "sub" / ".portadnn.toml").write_text('[check]\nbaseline = "../known.json"\n', encoding="utf-8")
    settings = configs.read(tmp_path / "sub" / ".portadnn.toml")
    assert baseline.read(settings.baseline) == frozenset()
    other = settings.with_options(baseline=Path("/dev/zero"))
    with pytest.raises(dnn.BadParam, match="a regular file"):
        checker.check([str(tmp_path)], other)


# numbers, programs and files that cannot be


@pytest.mark.parametrize("number", ["9" * 401, "1e400", "9" * 6000, "nan", "-inf"])
def test_numbers_of_any_size_on_a_line(number):
    for line in (
        f"batch_normalization_forward_inference x=f32:2x3x4x4 epsilon={number}",
        f"pooling_forward x=f32:2x3x9x7 mode=max window={number},2",
        f"activation_forward x=f32:2x3x{number}x7 mode=relu",
        f"{LINE} ; seed={number}",
        f"{LINE} ; fill=x:{number}",
    ):
        try:
            case = Case.parse(line)
            _ = case.numbers, case.problem.flops()
        except dnn.DnnError as error:
            assert len(str(error)) < 3000


def test_a_file_that_cannot_be_recorded_to_is_bad(tmp_path):
    for path in ("/nonexistent/x", tmp_path, "a\0b", 3, None, b"x", ""):
        with pytest.raises(dnn.BadParam, match=r"path: expected a (path|file)"):
            dnn.trace(path).start()
    with pytest.raises(dnn.BadParam, match="expected a file in a folder that is there, got '/nonexistent/x'"):
        dnn.trace("/nonexistent/x")


def test_a_program_that_is_not_there_ends_as_in_a_shell(tmp_path):
    (tmp_path / "data").write_text("no program", encoding="utf-8")
    assert "nosuchprog: No such file" in command("record", "--", "nosuchprog", code=127, cwd=tmp_path)
    assert "./data: Permission denied" in command("record", "--", "./data", code=126, cwd=tmp_path)
    assert "No such file" in command("record", "-o", "no/run.jsonl", "--", "true", cwd=tmp_path)
    assert "nosuchprog" in command("diff", "-t", "reference", "--", "nosuchprog", cwd=tmp_path)


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "-1", "0"])
def test_times_are_numbers_that_end(seconds):
    for words in (
        ["run", LINE, "--timeout"],
        ["shrink", LINE, "-t", "reference", "--timeout"],
        ["run", LINE, "--time"],
    ):
        assert CliRunner().invoke(app, ["diff", *words, seconds]).exit_code == 2
