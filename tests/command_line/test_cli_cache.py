"""``portadnn cache``: what is kept on disk, and its removal."""

from __future__ import annotations

import json
import os

import pytest
from typer.testing import CliRunner

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
