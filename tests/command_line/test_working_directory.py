"""Code in the working directory: no command and no process of it imports what lies there; programs that are run do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded_programs import PROGRAMS
from test_files_from_outside import LINE, command

import portadnn as dnn
from portadnn._io import safe_path as _safe_path
from portadnn.diff import Case, golden

POISONED = (
    "json",
    "numpy",
    "random",
    "pickle",
    "socket",
    "typer",
    "pathlib",
    "zipfile",
    "rich",
    "tempfile",
    "select",
    "re",
)


@pytest.fixture
def poisoned(tmp_path, reference):
    golden.write(golden.record(reference, [Case.parse(LINE)]), tmp_path / "whole.pdg")
    with dnn.trace(tmp_path / "run.jsonl"), dnn.Handle("reference") as handle:
        PROGRAMS["training"](handle)
    (tmp_path / "a.cu").write_text("cudnnCreate(&handle);\n" * 20, encoding="utf-8")
    (tmp_path / "b.cu").write_text("cudnnDestroy(handle);\n", encoding="utf-8")
    for name in POISONED:
        (tmp_path / f"{name}.py").write_text("import os\nos.write(2, b'POISON')\nos._exit(66)\n", encoding="utf-8")
    return tmp_path


COMMANDS = (
    ("info",),
    ("caps", "--why", LINE),
    ("check", ".", "--jobs", "2", "--fail-on", "never"),
    ("port", "a.cu"),
    ("explain", "S01"),
    ("map", "cudnnCreate"),
    ("replay", "run.jsonl", "--backend", "reference"),
    ("record", "-o", "again.jsonl", "--", "true"),
    ("diff", LINE, "-t", "reference"),
    ("diff", "--op", "set_tensor", "--count", "3", "-t", "reference"),
    ("diff", "check", "whole.pdg", "-t", "reference"),
    ("diff", "record", LINE, "-o", "made.pdg", "-t", "reference"),
    ("diff", "reproduce", LINE, "-t", "reference"),
    ("diff", "graphs", "--count", "1", "-t", "reference"),
    ("bench", "--help"),
)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            words, id=" ".join(words), marks=[pytest.mark.long] * (at % 2)
        )  # processes that begin the same way
        for at, words in enumerate(COMMANDS)
    ],
)
def test_no_command_imports_from_the_working_directory(poisoned, words):
    assert "POISON" not in command(*words, code=0, cwd=poisoned)


@pytest.mark.parametrize("words", [("diff", LINE, "-t", "reference"), ("check", ".", "--fail-on", "never")])
def test_the_installed_command_does_not_either(poisoned, words):
    program = Path(sys.executable).with_name("portadnn")
    if not program.exists():
        pytest.skip("no portadnn beside this Python")
    done = subprocess.run([program, *words], cwd=poisoned, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_of_programs_are_imported(tmp_path):
    """What a program or a module's own folder has is still found: by record, by diff, and beside python -m mine."""
    (tmp_path / "mine.py").write_text("import other\nimport portadnn\nprint(other.NAME)\n", encoding="utf-8")
    (tmp_path / "other.py").write_text("NAME = 'found beside it'\n", encoding="utf-8")
    assert "found beside it" in command("record", "--", "mine.py", code=0, cwd=tmp_path)
    assert "found beside it" in command("record", "--", "-m", "mine", code=0, cwd=tmp_path)
    assert "found beside it" in command("diff", "-t", "reference", "--", "python", "mine.py", code=0, cwd=tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "mine"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "found beside it\n"


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        ("python -m portadnn diff", True),
        ("python -W ignore -mportadnn.cli", True),
        ("python -Wmodule -X importtime -Bm portadnn", True),
        ("python train.py -m portadnn", False),
        ("python -c pass -m portadnn", False),
        ("python -m mine portadnn", False),
        ("python", False),
    ],
)
def test_the_command_line_tells_whose_module_runs(words, ours):
    assert _safe_path.of_this_command(words.split()) is ours
