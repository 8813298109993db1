"""Arrays that are not aligned, and arrays whose memory was replaced, resized or freed between repeated calls."""

from __future__ import annotations

import contextlib
import ctypes
import logging

import numpy as np
import pytest
from host_arrays import DIMS, RELU, built, descriptor, four_times, host_handle, numbers, own, same

import portadnn as dnn
from portadnn import cudnn
from portadnn.dispatch import alignment

handle = host_handle


def shifted(array, shift=1):
    """Return a copy at an address that is no multiple of the element, between bytes of 0xA5."""
    room = np.full(array.nbytes + 64, 0xA5, np.uint8)
    first = -room.ctypes.data % 16 + 16 + shift
    there = np.ndarray(array.shape, array.dtype, room, first)
    there[...] = array
    assert there.ctypes.data % array.itemsize
    return there, room, first


def test_misaligned_arrays(handle, caplog, monkeypatch):
    """They are computed on in copies where kernels need it, which a log tells once."""
    monkeypatch.setattr(alignment, "_told", set())
    x, room, first = shifted(numbers())
    y, around, _ = shifted(np.zeros(DIMS, np.float32), 3)
    graph, tensors = built(handle)
    with caplog.at_level(logging.INFO, "portadnn"):
        four_times(
            lambda: dnn.softmax_forward(handle, x, y),
            [x],
            lambda: same(handle, y, dnn.softmax_forward(handle, own(handle, x))),
        )
        desc = descriptor(numbers())
        four_times(
            lambda: cudnn.cudnnSoftmaxForward(handle, 1, 1, 1.0, desc, x.reshape(-1), 0.0, desc, y.reshape(-1)),
            [x],
            lambda: same(handle, y, dnn.softmax_forward(handle, own(handle, x))),
        )
        raw = room[first : first + x.nbytes]
        view = dnn.TensorDescriptor(DIMS).view(raw)
        dnn.activation_forward(handle, view, RELU, y)
        np.testing.assert_array_equal(y, x)
        z = np.zeros(DIMS, np.float32)
        pack = dict(zip(tensors, (x, numbers((3, 3, 3, 3)), y, z), strict=True))
        four_times(lambda: graph.execute(pack), [x], lambda: np.testing.assert_array_equal(z, -y))
    lines = [record.getMessage() for record in caplog.records if "not aligned" in record.getMessage()]
    assert len(lines) == (handle.backend == "opencl"), lines
    outside = np.ones(around.size, bool)
    start = y.ctypes.data - around.ctypes.data
    outside[start : start + y.nbytes] = False
    assert (around[outside] == 0xA5).all()


def test_misaligned_outputs_that_are_read(handle):
    """beta reads them, in place is in place, and read-only ones are refused."""
    x, y = numbers(), shifted(numbers(seed=1))[0]
    want = 2 * x + y
    dnn.activation_forward(handle, x, RELU, y, alpha=2.0, beta=1.0)
    np.testing.assert_allclose(y, want, rtol=1e-6)
    dnn.activation_forward(handle, y, RELU, y, alpha=0.5)
    np.testing.assert_allclose(y, 0.5 * want, rtol=1e-6)
    y.flags.writeable = False
    with pytest.raises(dnn.BadParam, match="y: expected a writable array"):
        dnn.activation_forward(handle, x, RELU, y)


def test_fields_of_packed_records(handle):
    """Their steps are no multiple of the element; at odd addresses NumPy's error came out of the copy."""
    pairs = np.zeros(DIMS, np.dtype([("tag", "i1"), ("value", "<f4")]))
    graph, tensors = built(handle)
    y = np.zeros(DIMS, np.float32)
    for first in range(4):
        room = np.zeros(pairs.nbytes + 8, np.uint8)
        field = room[first : first + pairs.nbytes].view(pairs.dtype).reshape(DIMS)["value"]
        for x, out in ((field, y), (y, field)):
            with pytest.raises(dnn.BadParam, match=r"multiples? of 4 bytes"):
                dnn.softmax_forward(handle, x, out)
        with contextlib.suppress(dnn.DnnError):  # the reference takes it
            graph.execute(dict(zip(tensors, (field, numbers((3, 3, 3, 3)), y, y.copy()), strict=True)))


def test_torch_memory_that_was_replaced(handle):
    torch = pytest.importorskip("torch")
    x, y = torch.ones(DIMS), torch.zeros(DIMS)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    old = y.data
    y.data = torch.zeros(DIMS)
    x.set_(torch.full(DIMS, 3.0))
    old.zero_()
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    assert (y == 3).all() and not old.any()


def test_torch_memory_that_was_resized(handle):
    torch = pytest.importorskip("torch")
    x, y = torch.ones(DIMS), torch.zeros(DIMS)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    x.resize_(4, 3, 5, 4).fill_(2.0)
    with pytest.raises(dnn.BadParam, match="dims"):
        dnn.activation_forward(handle, x, RELU, y)
    y.resize_(4, 3, 5, 4)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    assert (y == 2).all()
    y.untyped_storage().resize_(64)
    with pytest.raises(dnn.BadParam, match="within its memory of 64 bytes"):
        dnn.activation_forward(handle, x, RELU, y)


def test_arrays_that_died(handle):
    """Their addresses and identities come again as those of other arrays."""
    x, results = numbers(), []
    for turn in range(40):
        y = np.full(DIMS, float(turn), np.float32)
        for _ in range(3):
            dnn.activation_forward(handle, x, RELU, y)
        results.append(np.array_equal(y, x))
        del y
    assert all(results)


def test_a_shape_that_was_set(handle):
    x, y = numbers(), np.zeros(DIMS, np.float32)
    for _ in range(4):
        dnn.softmax_forward(handle, x, y)
    x = x.reshape(2, 3, 4, 5)
    with pytest.raises(dnn.BadParam, match="dims"):
        dnn.softmax_forward(handle, x, y)


def test_other_objects_with_memory(handle):
    """bytes-like objects are memory under views and workspaces."""
    x = numbers()
    memory = bytearray(x.nbytes)
    content = (ctypes.c_float * x.size).from_buffer(bytearray(x.tobytes()))
    desc = dnn.TensorDescriptor(DIMS)
    for _ in range(3):
        dnn.activation_forward(handle, desc.view(memoryview(x)), RELU, desc.view(memory))
        np.testing.assert_array_equal(np.frombuffer(memory, np.float32), x.reshape(-1))
    assert len(content) == x.size
    with pytest.raises(dnn.BadParam, match="writable"):
        dnn.activation_forward(handle, x, RELU, desc.view(bytes(x.nbytes)))
