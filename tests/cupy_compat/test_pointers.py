"""The functions of ``cupy.cuda.cudnn`` with integers for handles, descriptors, memory and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import helper
import numpy as np
import pytest

from portadnn.cupy_compat import libcudnn as lib
from portadnn.cupy_compat.memory import alloc, as_bytes

ONE, ZERO = {t: np.ones(1, t) for t in "fd"}, {t: np.zeros(1, t) for t in "fd"}


@pytest.fixture(scope="module")
def handle() -> Iterator[int]:
    """A handle's integer."""
    number = lib.create()
    yield number
    lib.destroy(number)


def _tensor(array: Any) -> int:
    desc, kinds = lib.createTensorDescriptor(), {"e": 2, "f": 0, "d": 1}
    dims, strides = np.array(array.shape, np.int32), np.array(array.strides, np.int32) // array.itemsize
    lib.setTensorNdDescriptor(desc, kinds[array.dtype.char], array.ndim, dims.ctypes.data, strides.ctypes.data)
    return int(desc)


def _at(array: Any) -> int:
    return int(array.ctypes.data)


@pytest.mark.parametrize("char", ["f", "d"])
def test_numbers_lie_behind_addresses(handle: int, char: str) -> None:
    a, c = np.arange(6, dtype=char).reshape(1, 2, 3, 1), np.ones((1, 2, 3, 1), char)
    factors = np.array([0.5, 3.0], char)
    desc, places = _tensor(a), [_at(factors[:1]), _at(factors[1:])]
    lib.addTensor_v3(handle, places[0], desc, _at(a), places[1], desc, _at(c))
    np.testing.assert_array_equal(c, 0.5 * a + 3)
    lib.scaleTensor(handle, desc, _at(c), places[0])
    np.testing.assert_array_equal(c, 0.5 * (0.5 * a + 3))
    value = np.array([7], char)
    lib.setTensor(handle, desc, _at(c), _at(value))
    assert (c == 7).all()
    with pytest.raises(lib.CuDNNError) as caught:
        lib.scaleTensor(handle, desc, _at(c), 0)
    assert caught.value.status == 3


def test_value_of_set_tensor_has_the_tensors_type(handle: int) -> None:
    y, value = np.zeros((1, 1, 2, 2), np.float16), np.array([2.5], np.float16)
    lib.setTensor(handle, _tensor(y), _at(y), _at(value))
    assert (y == 2.5).all()


def test_memory_beyond_the_descriptor_stays(handle: int) -> None:
    memory = np.full(12, 9.0, np.float32)
    inner = memory[4:8].reshape(1, 4, 1, 1)
    inner[...] = [[[[-1]], [[2]], [[-3]], [[4]]]]
    desc, act = _tensor(inner), lib.createActivationDescriptor()
    lib.setActivationDescriptor(act, lib.CUDNN_ACTIVATION_RELU, 0, 0.0)
    given = (handle, act, _at(ONE["f"]), desc, _at(inner), _at(ZERO["f"]), desc, _at(inner))
    lib.activationForward_v4(*given)
    assert memory.tolist() == [9] * 4 + [0, 2, 0, 4] + [9] * 4


def test_addresses_on_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    target = next((target for target in helper.every_target() if target.name == "opencl-cpu"), None)
    if target is None or target.missing:
        pytest.skip(f"OpenCL on the CPU: {target.missing if target else 'not among the backends to test'}")
    monkeypatch.setenv("PORTADNN_BACKEND", "opencl")
    number = lib.create()
    test_memory_beyond_the_descriptor_stays(number)
    lib.destroy(number)


@pytest.mark.parametrize("name, kind", [("Algorithm", dict), ("AlgorithmEx", object), ("AlgorithmEx_v7", object)])
def test_convolution_by_a_found_algorithm(handle: int, name: str, kind: type) -> None:
    x, w = np.arange(25, dtype="f").reshape(1, 1, 5, 5), np.ones((1, 1, 3, 3), "f")
    y, conv, of_w = np.empty((1, 1, 3, 3), "f"), lib.createConvolutionDescriptor(), lib.createFilterDescriptor()
    lib.setConvolution2dDescriptor_v5(conv, 0, 0, 1, 1, 1, 1, lib.CUDNN_CROSS_CORRELATION, lib.CUDNN_DATA_FLOAT)
    lib.setFilter4dDescriptor_v4(of_w, lib.CUDNN_DATA_FLOAT, lib.CUDNN_TENSOR_NCHW, 1, 1, 3, 3)
    of_x, of_y, room = _tensor(x), _tensor(y), alloc(1 << 20)
    plain = (of_x, of_w, conv, of_y, 3)
    full = (of_x, _at(x), of_w, _at(w), conv, of_y, _at(y), 3, room.ptr, room.mem.size)
    found = getattr(lib, f"findConvolutionForward{name}")(handle, *(full if "Ex" in name else plain))
    best = found[0]
    assert isinstance(best, kind)
    best = best if isinstance(best, dict) else vars(best)
    assert best["status"] == 0 < best["time"]
    size = lib.getConvolutionForwardWorkspaceSize(handle, of_x, of_w, conv, of_y, best["algo"])
    space = alloc(size)
    lib.convolutionForward(
        *(handle, _at(ONE["f"]), of_x, _at(x), of_w, _at(w), conv, best["algo"], space.ptr, size),
        *(_at(ZERO["f"]), of_y, _at(y)),
    )
    np.testing.assert_array_equal(y[0, 0], [[9 * x[0, 0, i + 1, j + 1] for j in range(3)] for i in range(3)])


def test_spatial_transformer_without_descriptors_of_memory(handle: int) -> None:
    dims, theta = np.array([1, 1, 2, 3], np.int32), np.array([[[1, 0, 0], [0, 1, 0]]], "f")
    desc, grid = lib.createSpatialTransformerDescriptor(), np.empty((1, 2, 3, 2), "f")
    lib.setSpatialTransformerDescriptor(desc, lib.CUDNN_SAMPLER_BILINEAR, lib.CUDNN_DATA_FLOAT, 4, _at(dims))
    lib.spatialTfGridGeneratorForward(handle, desc, _at(theta), _at(grid))
    np.testing.assert_array_equal(grid[0], [[[x, y] for x in (-1, 0, 1)] for y in (-1, 1)])


def test_sequences_are_written_to_addresses() -> None:
    desc, lengths = lib.createRNNDataDescriptor(), np.array([3, 2], np.int32)
    lib.setRNNDataDescriptor(desc, 0, lib.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 3, 2, 4, _at(lengths), 0)
    told, copied = np.zeros(5, np.int32), np.zeros(2, np.int32)
    places = [_at(told[k:]) for k in range(5)]
    lib.getRNNDataDescriptor(desc, *places, 2, _at(copied), 0)
    assert told.tolist() == [0, 0, 3, 2, 4]
    assert copied.tolist() == [3, 2]


def test_streams_are_noted(handle: int) -> None:
    lib.setStream(handle, 5)
    assert lib.getStream(handle) == 5
    lib.setStream(handle, 0)
    assert lib.queryRuntimeError(handle, lib.CUDNN_ERRQUERY_BLOCKING) == lib.CUDNN_STATUS_SUCCESS


def test_allocated_memory_is_like_cupys() -> None:
    place = alloc(100)
    assert (place.mem.size, int(place)) == (100, place.ptr)
    assert as_bytes(place).size == 100
    assert (place + 8).ptr == place.ptr + 8
