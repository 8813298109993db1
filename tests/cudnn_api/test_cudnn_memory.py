"""Memory is read with its descriptor's layout, whatever an array says of itself, and views of it do not outlive it."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest
from helper import everywhere

import portadnn as dnn
from portadnn import cudnn
from portadnn.c_names import memory as c_memory
from portadnn_backends.base import DeviceInfo

VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)


def tensor_4d(*arguments: int, format: int = 0, dtype: int = 0):
    desc = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(desc, format, dtype, *arguments)
    return desc


def copied(handle, x_desc, x, y_desc, y):
    """Return x as the library reads it, written as y_desc says."""
    cudnn.cudnnTransformTensor(handle, 1, x_desc, x, 0, y_desc, y)
    return handle.to_numpy(y)


@everywhere()
def test_the_layout_is_the_descriptors(handle):
    """The same 24 numbers, in arrays of other shapes, as bytes and in NHWC."""
    plain, nhwc = tensor_4d(2, 3, 2, 2), tensor_4d(2, 3, 2, 2, format=1)
    out = handle.zeros((2, 3, 2, 2))
    arrays = VALUES, VALUES.reshape(24), VALUES.reshape(4, 6, 1, 1), VALUES.view(np.uint8).reshape(-1)
    for values in arrays:
        x = handle.device.asarray(np.ascontiguousarray(values))
        assert (copied(handle, plain, x, plain, out) == VALUES).all()
        want = VALUES.reshape(2, 2, 2, 3).transpose(0, 3, 1, 2)
        assert (copied(handle, nhwc, x, plain, out) == want).all()


@everywhere()
def test_a_descriptor_that_is_set_again_reads_anew(handle):
    x, out, packed = handle.asarray(VALUES.reshape(24)), handle.zeros((2, 3, 2, 2)), tensor_4d(2, 3, 2, 2)
    desc = tensor_4d(2, 3, 2, 2)
    first = copied(handle, desc, x, packed, out)
    cudnn.cudnnSetTensor4dDescriptor(desc, cudnn.CUDNN_TENSOR_NHWC, cudnn.CUDNN_DATA_FLOAT, 2, 3, 2, 2)
    second = copied(handle, desc, x, packed, out)
    assert (first == VALUES).all()
    assert (second == VALUES.reshape(2, 2, 2, 3).transpose(0, 3, 1, 2)).all()
    cudnn.cudnnSetTensor4dDescriptor(desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_HALF, 2, 3, 2, 2)
    with pytest.raises(dnn.BadParam, match="x: expected an array of float16 or uint8, got float32"):  # to be converted
        copied(handle, desc, x, packed, out)


@everywhere()
def test_memory_must_be_large_enough(handle):
    x, out, packed = handle.asarray(VALUES.reshape(24)), handle.zeros((2, 3, 2, 3)), tensor_4d(2, 3, 2, 3)
    with pytest.raises(dnn.BadParam, match="x: expected a buffer of at least 144 bytes, got 96"):
        copied(handle, packed, x, packed, out)
    gaps = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensor4dDescriptorEx(gaps, cudnn.CUDNN_DATA_FLOAT, 2, 3, 2, 2, 13, 4, 2, 1)
    with pytest.raises(dnn.BadParam, match="x: expected a buffer of at least 100 bytes, got 96"):
        copied(handle, gaps, x, tensor_4d(2, 3, 2, 2), out)


@everywhere()
def test_views_are_remembered_as_long_as_there_is_something_to_view(handle):
    desc, packed, out = tensor_4d(2, 3, 2, 2), tensor_4d(2, 3, 2, 2), handle.zeros((2, 3, 2, 2))
    x = handle.asarray(VALUES.reshape(24))
    copied(handle, desc, x, packed, out)
    assert not packed.views  # the array has that layout itself
    if handle.backend == "reference":  # a view would keep x alive
        assert not desc.views
        return
    (view,) = [entry[2] for entry in desc.views.values()]
    copied(handle, desc, x, packed, out)
    assert [entry[2] is view for entry in desc.views.values()] == [True]
    del x, view
    handle.device.synchronize()
    gc.collect()
    assert not desc.views


@everywhere()
def test_few_views_are_remembered(handle, monkeypatch):
    monkeypatch.setattr(c_memory, "MOST_VIEWS", 4)
    desc, packed, out = tensor_4d(2, 3, 2, 2), tensor_4d(2, 3, 2, 2), handle.zeros((2, 3, 2, 2))
    arrays = [handle.asarray(i + VALUES.reshape(24)) for i in range(9)]
    for i, x in enumerate(arrays * 2):
        assert (copied(handle, desc, x, packed, out) == VALUES + i % 9).all()
        assert len(desc.views) <= 4


def test_one_descriptor_serves_several_devices(reference):
    """A view belongs to the device that it was made for."""
    desc, packed = tensor_4d(2, 3, 2, 2), tensor_4d(2, 3, 2, 2)
    x = reference.asarray(VALUES.reshape(24))
    with dnn.Handle("reference") as other:
        for handle in (reference, other, reference):
            assert (copied(handle, desc, x, packed, handle.zeros((2, 3, 2, 2))) == VALUES).all()


@everywhere()
def test_raw_buffers(handle):
    desc, out = tensor_4d(2, 3, 2, 2), handle.zeros((2, 3, 2, 2))
    x = handle.asarray(VALUES.reshape(24))
    if handle.backend == "cuda":
        buffer = x.data
    elif handle.backend == "opencl":
        buffer = x.base_data
    else:
        buffer = memoryview(x)
    assert (copied(handle, desc, buffer, desc, out) == VALUES).all()


@everywhere()
def test_addresses(handle):
    """CUDA takes addresses, as its other wrappers do; elsewhere they are refused."""
    desc, out = tensor_4d(2, 3, 2, 2), handle.zeros((2, 3, 2, 2))
    x = handle.asarray(VALUES.reshape(24))
    if handle.backend == "cuda":
        for address in (x.data.ptr, np.int64(x.data.ptr), ctypes.c_void_p(x.data.ptr)):
            assert (copied(handle, desc, address, desc, out) == VALUES).all()
        return
    for address in (4096, np.int64(4096), ctypes.c_void_p(4096), True):
        with pytest.raises(dnn.BadParam, match="cudnnTransformTensor: x: "):
            copied(handle, desc, address, desc, out)


def test_cuda_wraps_addresses_without_looking_at_them():
    pytest.importorskip("cupy")
    from portadnn_backends.cuda.device import CudaDevice

    device = CudaDevice(0, DeviceInfo("cuda", "", "", "gpu", "", ""))
    array = device.wrap(dnn.TensorDescriptor((2, 3, 4, 5), format="nhwc").view(4096, 8), "x")
    assert (array.data.ptr, array.shape, array.strides) == (4096 + 32, (2, 3, 4, 5), (240, 4, 60, 12))
    for address in (0, -1):
        with pytest.raises(
            dnn.BadParam, match="x: expected a view of a CuPy array, a MemoryPointer or a device address"
        ):
            device.wrap(dnn.TensorDescriptor((2, 3, 4, 5)).view(address), "x")


@everywhere()
def test_workspaces_and_reserve_spaces_are_as_large_as_stated(handle):
    desc, drop = tensor_4d(2, 3, 2, 2), cudnn.cudnnCreateDropoutDescriptor()
    x, y = handle.asarray(VALUES), handle.zeros(VALUES.shape)
    cudnn.cudnnSetDropoutDescriptor(drop, handle, 0.5, handle.empty_bytes(100), 100, 1)
    reserve = handle.device.asarray(np.full(64, 0xA5, np.uint8))
    cudnn.cudnnDropoutForward(handle, drop, desc, x, desc, y, reserve, 4)
    assert (handle.to_numpy(reserve)[4:] == 0xA5).all()
    cudnn.cudnnDropoutForward(handle, drop, desc, x, desc, y, reserve, 64)
    for size, message in (
        (3, "reserve_space"),
        (65, "at least 65 bytes"),
        (-1, "a number of bytes"),
        (4.0, "a number"),
    ):
        with pytest.raises(dnn.BadParam, match=message):
            cudnn.cudnnDropoutForward(handle, drop, desc, x, desc, y, reserve, size)


def test_the_backend_is_chosen_by_the_environment(monkeypatch):
    monkeypatch.setenv("PORTADNN_BACKEND", "reference")
    handle = cudnn.cudnnCreate()
    assert isinstance(handle, dnn.Handle)
    assert handle.backend == "reference"
    cudnn.cudnnDestroy(handle)
    with pytest.raises(dnn.NotInitialized, match="cudnnDestroy: handle: the handle is closed"):
        cudnn.cudnnDestroy(handle)


@pytest.mark.parametrize("kind", ["Tensor", "Filter", "Convolution", "Pooling", "Activation", "LRN", "Dropout", "RNN"])
def test_descriptors_end_when_they_are_destroyed(kind):
    desc = getattr(cudnn, f"cudnnCreate{kind}Descriptor")()
    assert kind == "LRN" or "not set" in repr(desc)
    destroy = getattr(cudnn, f"cudnnDestroy{kind}Descriptor")
    destroy(desc)
    with pytest.raises(dnn.BadParam, match="one that was destroyed"):
        destroy(desc)


@everywhere()
def test_dropout_set_with_null_states_keeps_those_that_it_has(handle):
    desc, drops = tensor_4d(2, 3, 2, 2), [cudnn.cudnnCreateDropoutDescriptor() for _ in range(2)]
    x, reserve = handle.asarray(VALUES), handle.empty_bytes(64)
    results = []
    for drop, first in zip(drops, (0.5, 0.25), strict=True):
        size = cudnn.cudnnDropoutGetStatesSize(handle)
        cudnn.cudnnSetDropoutDescriptor(drop, handle, first, handle.empty_bytes(size), size, 9)
        cudnn.cudnnSetDropoutDescriptor(drop, handle, 0.25, None, 0, 0)
        assert cudnn.cudnnGetDropoutDescriptor(drop, handle)[0] == 0.25
        results.append(handle.zeros(VALUES.shape))
        cudnn.cudnnDropoutForward(handle, drop, desc, x, desc, results[-1], reserve, 64)
    np.testing.assert_array_equal(*map(handle.to_numpy, results))
