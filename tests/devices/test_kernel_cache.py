"""The on-disk cache of compiled kernels: never trusted blindly, never in the way."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
from where import open_handle

import portadnn as dnn
from portadnn._io import disk_cache
from portadnn_backends import kernel_cache

KEY = ("opencl", "source", "options", "device", "driver")
# PoCL keeps a cache of its own, so the backend keeps none for it: these tests pretend that the device is another
PROGRAM = """
import dataclasses, numpy as np, portadnn as dnn
with dnn.Handle("opencl") as handle:
    info = dataclasses.replace(handle.info, platform="other", version="1.2")
    handle.device.info = handle.device.compiler.info = info
    x = handle.asarray(np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4))
    y = dnn.activation_forward(handle, x, dnn.ActivationDescriptor("tanh"))
    assert np.allclose(handle.to_numpy(y), np.tanh(np.arange(24)).reshape(1, 2, 3, 4), atol=1e-6)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entry(folder):
    """Return the only entry, beside the answer whether the device has matrix cores."""
    (path,) = (one for one in folder.glob("*.bin") if not one.read_bytes().endswith((b"yes", b"no")))
    return path


def test_hit_and_miss(folder):
    assert kernel_cache.load(KEY) is None
    kernel_cache.store(KEY, b"binary")
    assert kernel_cache.load(KEY) == b"binary"
    assert [p.name for p in folder.iterdir()] == [entry(folder).name], "nothing else is left behind"
    kernel_cache.store(KEY, b"another")
    assert kernel_cache.load(KEY) == b"another"


@pytest.mark.parametrize("part", range(len(KEY)))
def test_every_part_of_the_key_counts(folder, part):
    kernel_cache.store(KEY, b"binary")
    assert kernel_cache.load((*KEY[:part], "other", *KEY[part + 1 :])) is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"ELF" * 100,
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data.replace(b"kernel 1", b"kernel 0"),
    ],
)
def test_spoiled_entries_are_misses(folder, spoil):
    kernel_cache.store(KEY, b"binary")
    path = entry(folder)
    path.write_bytes(spoil(path.read_bytes()))
    assert kernel_cache.load(KEY) is None


def test_entry_of_another_key_is_a_miss(folder):
    kernel_cache.store(KEY, b"binary")
    data = entry(folder).read_bytes()
    entry(folder).unlink()
    other = (*KEY, "more")
    kernel_cache.store(other, b"other")
    entry(folder).write_bytes(data)
    assert kernel_cache.load(other) is None


def test_off(monkeypatch, tmp_path):
    monkeypatch.setenv("PORTADNN_CACHE_DIR", "")
    monkeypatch.chdir(tmp_path)
    kernel_cache.store(KEY, b"binary")
    assert kernel_cache.cache_dir() is None
    assert kernel_cache.load(KEY) is None
    assert not list(tmp_path.iterdir())


def test_unusable_folders_are_tolerated(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    places = [tmp_path / "file", tmp_path / "file" / "below", "/proc/portadnn"]
    for place in places:
        monkeypatch.setenv("PORTADNN_CACHE_DIR", str(place))
        kernel_cache.store(KEY, b"binary")
        assert kernel_cache.load(KEY) is None


def test_without_a_home(monkeypatch):
    for name in ("PORTADNN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(kernel_cache.Path, "home", homeless)
    assert kernel_cache.load(KEY) is None
    kernel_cache.store(KEY, b"binary")


def relu(handle):
    info = dataclasses.replace(handle.info, platform="other", version="1.2")
    handle.device.info = handle.device.compiler.info = info
    x = handle.asarray(np.array([[[-1.0, 2.0]]], np.float32))
    return handle.to_numpy(dnn.activation_forward(handle, x, dnn.ActivationDescriptor("relu"))).tolist()


def test_opencl_rebuilds_what_it_cannot_trust(folder):
    with open_handle("opencl") as handle:
        assert relu(handle) == [[[0.0, 2.0]]]
    path = entry(folder)
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], b"", good[:-100] + bytes(100)):
        path.write_bytes(bad)
        with dnn.Handle("opencl") as handle:
            assert relu(handle) == [[[0.0, 2.0]]]
        assert entry(folder).read_bytes().startswith(disk_cache.KERNEL_MAGIC)
        assert len(path.read_bytes()) > len(good) // 2 + 100, "the spoiled entry was replaced"


def test_opencl_takes_the_entry(folder, monkeypatch):
    with open_handle("opencl") as handle:
        assert relu(handle) == [[[0.0, 2.0]]]
    entry(folder)
    stored = []
    monkeypatch.setattr(kernel_cache, "store", lambda key, payload: stored.append(key))
    with dnn.Handle("opencl") as handle:
        assert relu(handle) == [[[0.0, 2.0]]]
    assert not stored, "a hit stores nothing"


def test_concurrent_processes(folder):
    open_handle("opencl").close()
    environment = {**os.environ, "PORTADNN_CACHE_DIR": str(folder)}
    started = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in started:
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    data = entry(folder).read_bytes()
    payload = data[len(disk_cache.KERNEL_MAGIC) + 2 * 32 :]
    assert kernel_cache.hashlib.sha256(payload).digest() in data
    assert not list(folder.glob("new-*"))
