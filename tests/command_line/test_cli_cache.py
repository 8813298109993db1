"""``portadnn cache``: what is kept on disk, and its removal."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

import portadnn as dnn
from portadnn._io import disk_cache
from portadnn.cli.main import app
from portadnn_backends import kernel_cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("PORTADNN_CACHE_SIZE", "PORTADNN_FIND_DB", "POCL_CACHE_DIR", "PORTADNN_DIFF_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def fill(folder):
    for number in range(3):
        kernel_cache.store(("test", str(number)), bytes(1000))
    disk_cache.make_private(folder / "exact")
    (folder / "exact" / f"{'0' * 64}.npz").write_bytes(bytes(500))


def run(*arguments):
    return CliRunner().invoke(app, ["cache", *arguments])


def facts():
    return {row["name"]: row for row in json.loads(run("info", "--json").stdout)["caches"]}


def test_info(folder):
    fill(folder)
    rows = facts()
    assert rows["kernels"]["entries"] == 3
    assert rows["kernels"]["bytes"] == sum(path.stat().st_size for path in folder.glob("*.bin")) > 3000
    assert rows["kernels"]["limit"] == 1 << 30
    assert rows["exact results"]["bytes"] == 500
    assert all(row["fault"] is None for row in rows.values())
    text = run("info").stdout
    assert "kernels" in text
    assert "3" in text


def test_clear_removes_entries_and_nothing_else(folder):
    fill(folder)
    stays = [folder / "notes.txt", folder / "mine.bin", folder / "new-file", folder / "exact" / "mine.npz"]
    for path in stays:
        path.write_text("mine")
    result = run("clear")
    assert result.exit_code == 0
    assert "3 entries" in result.stdout
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == sorted(stays)
    assert kernel_cache.load(("test", "0")) is None
    assert run("clear").exit_code == 0


def test_clear_removes_folders_of_killed_processes_only(folder):
    fill(folder)
    running = folder / disk_cache.RUNNING
    disk_cache.make_private(running)
    held, left = (disk_cache.make_running(running) for _ in range(2))
    lock = disk_cache.hold(held)
    os.close(disk_cache.hold(left))
    for path in (held, left):
        os.utime(path, (1e9, 1e9))
    assert run("clear").exit_code == 0
    assert held.exists()
    assert not left.exists()
    os.close(lock)


def test_the_find_database_is_removed_when_asked_for(folder, tmp_path, monkeypatch):
    database = tmp_path / "find.db"
    database.write_bytes(b"rows")
    monkeypatch.setenv("PORTADNN_FIND_DB", str(database))
    assert str(database) in " ".join(run("info").stdout.split())
    assert "stays" in run("clear").stdout
    assert database.exists()
    assert run("clear", "--find-db").exit_code == 0
    assert not database.exists()


def test_caches_that_are_off_or_missing(folder, monkeypatch):
    assert facts()["kernels"]["entries"] == 0
    assert run("clear").exit_code == 0
    assert not folder.exists()
    monkeypatch.setenv("PORTADNN_CACHE_DIR", "")
    assert facts() == {}
    assert "not kept on disk" in run("info").stdout


def test_a_folder_that_others_may_write_to_is_named(folder):
    fill(folder)
    folder.chmod(0o777)
    assert "other users may write" in facts()["kernels"]["fault"]
    result = run("clear")
    assert result.exit_code == 2
    assert "other users may write" in result.stderr
    assert len(list(folder.glob("*.bin"))) == 3


@pytest.mark.parametrize("command", ["info", "clear"])
def test_a_wrong_size_is_a_clean_error(folder, monkeypatch, command):
    monkeypatch.setenv("PORTADNN_CACHE_SIZE", "plenty")
    result = run(command)
    assert result.exit_code == 2
    assert "PORTADNN_CACHE_SIZE" in result.stderr
    assert result.stdout == ""


def test_a_file_in_the_way(tmp_path, monkeypatch, folder):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert "no folder" in facts()["kernels"]["fault"]
    assert run("clear").exit_code == 0


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.bin")}


def archive(tmp_path):
    assert run("export", str(tmp_path / "kernels.zip")).exit_code == 0
    return tmp_path / "kernels.zip"


def rewritten(path, change):
    """Write an archive again whose members, as a list of name and content, were changed."""
    with zipfile.ZipFile(path) as file:
        members = [(name, file.read(name)) for name in file.namelist()]
    changed = change(members)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members if changed is None else changed:
            file.writestr(name, content)


def test_kernels_travel(folder, tmp_path, monkeypatch):
    fill(folder)
    path = archive(tmp_path)
    assert run("export", str(path)).exit_code == 2, "it is there"
    assert run("export", str(path), "--force").exit_code == 0
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert "3 entries" in run("import", str(path)).stdout
    assert contents(tmp_path / "elsewhere") == contents(folder)
    assert kernel_cache.load(("test", "1")) == bytes(1000)
    assert "0 entries" in run("import", str(path)).stdout
    assert sorted(tmp_path.glob(".*")) == [], "nothing is left behind"


def test_export_leaves_out_damaged_entries(folder, tmp_path):
    fill(folder)
    first = min(folder.glob("*.bin"))
    first.write_bytes(first.read_bytes()[:-1])
    result = run("export", str(tmp_path / "kernels.zip"))
    assert "2 entries" in result.stdout
    assert "1 damaged" in result.stdout


def damaged(members):
    name, content = members[-1]
    return [*members[:-1], (name, content[:-1] + b"x")]


def renamed(to):
    return lambda members: [*members[:-1], (to, members[-1][1])]


def manifest(**facts):
    def change(members):
        known = json.loads(members[0][1])
        return [(members[0][0], json.dumps({**known, **facts})), *members[1:]]

    return change


FOREIGN = {
    "a damaged entry": damaged,
    "another entry's name": renamed(f"{hashlib.sha256(b'other').hexdigest()}.bin"),
    "above the folder": renamed(f"../{'0' * 64}.bin"),
    "an absolute path": renamed(f"/tmp/{'0' * 64}.bin"),
    "below the folder": renamed(f"a/{'0' * 64}.bin"),
    "no entry": renamed("notes.txt"),
    "twice the same": lambda members: [*members, members[-1]],
    "no manifest": lambda members: members[1:],
    "another manifest": lambda members: [("portadnn-kernels.json", "[1]"), *members[1:]],
    "no JSON": lambda members: [("portadnn-kernels.json", "{"), *members[1:]],
    "another format": manifest(portadnn_kernels=2),
    "another processor": manifest(machine="pdp11"),
    "another system": manifest(system="Plan9"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_archives_are_refused_as_a_whole(folder, tmp_path, monkeypatch, kind):
    fill(folder)
    path = archive(tmp_path)
    rewritten(path, FOREIGN[kind])
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "elsewhere"))
    result = run("import", str(path))
    assert result.exit_code == 2
    assert str(path.name) in result.output.replace("\n", "")
    assert not (tmp_path / "elsewhere").exists()
    assert not list(tmp_path.glob("*.bin"))


def test_broken_files_are_refused(folder, tmp_path, monkeypatch):
    fill(folder)
    path = archive(tmp_path)
    good = path.read_bytes()
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "elsewhere"))
    middle = len(good) // 2
    for bad in (b"", good[:middle], good[:-1], b"x" * 1000, good[:200] + b"\0" * 50 + good[250:]):
        path.write_bytes(bad)
        assert run("import", str(path)).exit_code == 2
        assert not (tmp_path / "elsewhere").exists()
    path.write_bytes(good)
    monkeypatch.setenv("PORTADNN_CACHE_SIZE", "2k")
    assert "PORTADNN_CACHE_SIZE" in run("import", str(path)).output
    for wrong in (tmp_path, tmp_path / "missing.zip"):
        assert run("import", str(wrong)).exit_code == 2
    monkeypatch.setenv("PORTADNN_CACHE_DIR", "")
    assert run("import", str(path)).exit_code == 2
    assert run("export", str(tmp_path / "more.zip")).exit_code == 2


def test_compressions_and_names_that_export_does_not_write_are_refused(folder, tmp_path, monkeypatch):
    fill(folder)
    path = archive(tmp_path)
    with zipfile.ZipFile(path) as file:
        members = [(name, file.read(name)) for name in file.namelist()]
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "elsewhere"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for name, content in members:
            file.writestr(name, content)
    assert "compression of type 14" in run("import", str(path)).output.replace("\n", " ")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("\u00fc", b"")
    path.write_bytes(path.read_bytes().replace("\u00fc".encode(), b"\xff\xff"))
    result = run("import", str(path))
    assert (result.exit_code, type(result.exception)) == (2, SystemExit)


def test_export_that_fails_leaves_nothing(folder, tmp_path, monkeypatch):
    fill(folder)
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *args: (_ for _ in ()).throw(OSError("the disk is full")))
    assert run("export", str(tmp_path / "kernels.zip")).exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_warm(folder, tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("softmax_forward x=f32:2x3x4x5\n# nothing\nactivation_forward x=f32:2x3x5x7 mode=TANH\n")
    recording = tmp_path / "calls.jsonl"
    with dnn.Handle("reference") as handle, dnn.trace(recording):
        dnn.softmax_forward(handle, np.ones((1, 2, 3, 4), np.float32))
    result = CliRunner().invoke(app, ["warm", str(lines), str(recording), "--backend", "reference"])
    assert result.exit_code == 0, result.output
    assert "3 problems" in result.stdout
    for wrong in ([], ["--set", "nonsense"], [str(tmp_path / "missing")], [str(folder.parent)]):
        assert CliRunner().invoke(app, ["warm", *wrong, "--backend", "reference"]).exit_code == 2
