"""Folders of caches: private, not trusted where others may write to them, and bounded in size."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings

import pytest

import portadnn as dnn
from portadnn._io import disk_cache
from portadnn.diff.campaign.cache import default_folder
from portadnn_backends import kernel_cache

KEYS = [("test", str(number)) for number in range(100)]
OWNED = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners and modes here")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "above" / "cache"))
    monkeypatch.setattr(kernel_cache, "_USAGE", {})
    disk_cache._warn_once.cache_clear()
    return tmp_path / "above" / "cache"


def size_of(folder):
    return sum(path.stat().st_size for path in folder.glob("*.bin"))


@OWNED
def test_folders_are_made_for_this_user_alone(folder):
    previous = os.umask(0)
    try:
        kernel_cache.store(KEYS[0], b"binary")
    finally:
        os.umask(previous)
    for path in (folder, folder.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    (entry,) = folder.glob("*.bin")
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


@OWNED
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(folder, mode):
    kernel_cache.store(KEYS[0], b"binary")
    before = sorted(folder.iterdir())
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match=f"{folder} is not used: other users may write to it"):
        assert kernel_cache.load(KEYS[0]) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        kernel_cache.store(KEYS[1], b"another")
        assert kernel_cache.load(KEYS[1]) == b"another", "kept in a temporary folder of the process's own"
    assert sorted(folder.iterdir()) == before
    folder.chmod(0o700)
    assert kernel_cache.load(KEYS[0]) == b"binary"
    assert kernel_cache.load(KEYS[1]) is None


@OWNED
def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    kernel_cache.store(KEYS[0], b"binary")
    other = os.geteuid() + 1
    monkeypatch.setattr(disk_cache.os, "geteuid", lambda: other)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert kernel_cache.load(KEYS[0]) is None


def test_the_least_recently_used_entries_go_first(folder, monkeypatch):
    monkeypatch.setenv("PORTADNN_CACHE_SIZE", "10K")
    for number, key in enumerate(KEYS[:9]):
        kernel_cache.store(key, bytes(1000))
        path = folder / f"{kernel_cache._digest(key).hex()}.bin"
        os.utime(path, (1e9 + number, 1e9 + number))
    assert kernel_cache.load(KEYS[0]) is not None  # used now
    for key in KEYS[20:61]:  # a second look at the size comes after 32
        kernel_cache.store(key, bytes(1000))
    disk_cache.prune(folder, kernel_cache.SUFFIX, 10 << 10)
    assert size_of(folder) <= 10 << 10
    assert kernel_cache.load(KEYS[60]) is not None
    assert all(kernel_cache.load(key) is None for key in KEYS[1:9])


def test_the_used_entry_outlives_the_others(folder):
    for number, key in enumerate(KEYS[:8]):
        kernel_cache.store(key, bytes(1000))
        os.utime(folder / f"{kernel_cache._digest(key).hex()}.bin", (1e9 + number, 1e9 + number))
    assert kernel_cache.load(KEYS[0]) is not None
    disk_cache.prune(folder, kernel_cache.SUFFIX, 4500)
    assert [number for number in range(8) if kernel_cache.load(KEYS[number]) is not None] == [0, 6, 7]


PROGRAM = """
import sys
from portadnn_backends import kernel_cache
first = int(sys.argv[1])
for number in range(first, first + 100):
    kernel_cache.store(("test", str(number)), bytes(1000))
    kernel_cache.load(("test", str(number - 3)))
"""


def test_processes_share_a_bounded_folder(folder):
    environment = {**os.environ, "PORTADNN_CACHE_SIZE": "20000"}
    started = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(number)], env=environment, stderr=subprocess.PIPE)
        for number in (0, 50, 200)
    ]
    for process in started:
        _, errors = process.communicate(timeout=100)
        assert (process.returncode, errors) == (0, b"")
    assert 0 < size_of(folder) <= 20000
    assert not list(folder.glob("new-*"))


def test_files_that_are_being_written_stay(folder):
    kernel_cache.store(KEYS[0], b"binary")
    fresh, left = folder / "new-fresh", folder / "new-left"
    for path in (fresh, left):
        path.write_bytes(bytes(5000))
    os.utime(left, (1e9, 1e9))
    disk_cache.prune(folder, kernel_cache.SUFFIX, 1 << 20)
    assert fresh.exists()
    assert not left.exists()


def test_what_is_larger_than_the_limit_is_not_stored(folder, monkeypatch):
    kernel_cache.store(KEYS[0], bytes(100))
    monkeypatch.setenv("PORTADNN_CACHE_SIZE", "500")
    kernel_cache.store(KEYS[1], bytes(501))
    assert kernel_cache.load(KEYS[0]) is not None
    assert kernel_cache.load(KEYS[1]) is None


def test_a_folder_in_the_place_of_an_entry_is_replaced(folder):
    kernel_cache.store(KEYS[0], b"binary")
    (entry,) = folder.glob("*.bin")
    entry.unlink()
    (entry / "below").mkdir(parents=True)
    assert kernel_cache.load(KEYS[0]) is None
    kernel_cache.store(KEYS[0], b"binary")
    assert kernel_cache.load(KEYS[0]) == b"binary"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 1 << 30),
        ("0", 0),
        ("1000", 1000),
        ("500M", 500 << 20),
        ("2 GiB", 2 << 30),
        ("3kb", 3 << 10),
        ("1T", 1 << 40),
    ],
)
def test_sizes(monkeypatch, text, size):
    monkeypatch.setenv("PORTADNN_CACHE_SIZE", text)
    assert disk_cache.size_limit() == size


@pytest.mark.parametrize("text", ["many", "-1", "1.5G", "1G2", "1" * 30, "٣"])
def test_wrong_sizes_are_refused(folder, monkeypatch, text):
    monkeypatch.setenv("PORTADNN_CACHE_SIZE", text)
    with pytest.raises(dnn.BadParam, match="PORTADNN_CACHE_SIZE"):
        kernel_cache.load(KEYS[0])


def test_a_relative_xdg_folder_is_ignored(monkeypatch, tmp_path):
    monkeypatch.delenv("PORTADNN_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert disk_cache.kernel_folder() == tmp_path / ".cache" / "portadnn" / "kernels"


def test_a_home_that_no_shell_expanded(monkeypatch, tmp_path):
    """A folder of that name was made wherever a program ran."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PORTADNN_CACHE_DIR", "~/kept")
    assert disk_cache.kernel_folder() == tmp_path / "kept"
    assert default_folder() == tmp_path / "kept" / "exact"
    monkeypatch.setenv("PORTADNN_CACHE_DIR", "~nobody-of-this-name/kept")
    assert disk_cache.kernel_folder() is None


def test_temporary_folders_do_not_stay(tmp_path):
    """One is left by a process that is killed, and goes with the next."""
    program = "import os, sys\nfrom portadnn._io import disk_cache\nfolder = disk_cache.process_folder()\n"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    def run(ending):
        subprocess.run([sys.executable, "-c", program + ending], env=environment, check=False, timeout=60)
        return list(tmp_path.iterdir())

    assert run("assert folder.is_dir() and disk_cache.process_folder() == folder") == []
    assert run("if os.fork() == 0: sys.exit()\nos.wait(); assert folder.is_dir()") == []
    (left,) = run("os._exit(0)")
    os.utime(left, (1e9, 1e9))
    assert run("") == []
