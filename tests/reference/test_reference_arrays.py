"""What the reference backend accepts as a tensor, and how its device behaves."""

from __future__ import annotations

import numpy as np
import pytest

import portadnn as dnn

RELU = dnn.ActivationDescriptor("RELU")
DIMS = (1, 2, 2, 3)
SPEC = dnn.TensorDescriptor(DIMS)
VALUES = np.arange(-6, 6, dtype=np.float32).reshape(DIMS)


class Foreign:
    """An array of another library that speaks NumPy's array interface."""

    def __init__(self, array):
        self.owner = array
        self.__array_interface__ = array.__array_interface__


class Capsule:
    """An array of another library that speaks DLPack only, and may say that it lives elsewhere."""

    def __init__(self, array, kind=1):
        self.array, self.kind = array, kind

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (self.kind, 0)


@pytest.mark.parametrize("make", [lambda m: m, memoryview, lambda m: np.frombuffer(m, np.uint8)])
def test_views_write_into_the_buffer(reference, make):
    memory = bytearray(4 * 16)
    dnn.activation_forward(reference, VALUES, RELU, SPEC.view(make(memory), 3))
    got = np.frombuffer(memory, np.float32)
    np.testing.assert_array_equal(got[3:15], np.maximum(VALUES, 0).ravel())
    assert not got[:3].any() and not got[15:].any()


@pytest.mark.parametrize("wrap", [Foreign, Capsule])
def test_arrays_of_other_libraries_are_not_copied(reference, wrap):
    if wrap is Capsule and not np.from_dlpack(Capsule(VALUES.copy())).flags.writeable:
        pytest.skip(f"NumPy {np.__version__} makes what comes through DLPack read-only")
    x, y = VALUES.copy(), np.zeros(DIMS, np.float32)
    out = wrap(y)
    assert dnn.activation_forward(reference, wrap(x), RELU, out) is out
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    dnn.set_tensor(reference, SPEC.view(wrap(y)), 3.0)
    assert (y == 3).all()


def test_memory_of_another_device_is_refused(reference):
    with pytest.raises(dnn.BadParam, match=r"x: expected a numpy\.ndarray.*memory of a device of DLPack's type 2"):
        dnn.activation_forward(reference, Capsule(VALUES, kind=2), RELU)


@pytest.mark.parametrize("make", [lambda: np.zeros(DIMS, np.float32), lambda: SPEC.view(bytes(48))])
def test_outputs_must_be_writable(reference, make):
    out = make()
    if isinstance(out, np.ndarray):
        out.flags.writeable = False
    with pytest.raises(dnn.BadParam, match="y: expected a writable array"):
        dnn.activation_forward(reference, VALUES, RELU, out)


def test_read_only_inputs_are_welcome(reference):
    want = np.maximum(VALUES, 0)
    np.testing.assert_array_equal(dnn.activation_forward(reference, SPEC.view(VALUES.tobytes()), RELU), want)
    x = np.broadcast_to(VALUES[:, :1], DIMS)
    np.testing.assert_array_equal(dnn.activation_forward(reference, x, RELU), np.maximum(x, 0))


@pytest.mark.parametrize(
    "array",
    [VALUES, VALUES.transpose(0, 2, 3, 1), np.broadcast_to(VALUES[:, :1], DIMS), VALUES[:, :, ::-1], VALUES[..., ::2]],
)
def test_asarray_copies_packs_and_keeps_the_layout(reference, array):
    copy = reference.asarray(array)
    np.testing.assert_array_equal(copy, array)
    assert not np.shares_memory(copy, array)
    assert _span(copy) == copy.nbytes and min(copy.strides) > 0
    if _span(array) == array.nbytes:  # packed already
        assert copy.strides == array.strides


def _span(array):
    """Bytes from the first to the last element."""
    return sum((d - 1) * s for d, s in zip(array.shape, array.strides, strict=True)) + array.itemsize


def test_new_outputs_take_the_layout_of_the_input(reference):
    x = reference.asarray(VALUES, format="NHWC")
    y = dnn.activation_forward(reference, x, RELU)
    assert y.strides == x.strides and y.dtype == np.float32


def test_streams_do_not_exist(reference):
    assert reference.get_stream() is None
    reference.set_stream(None)
    with pytest.raises(dnn.BadParam, match="stream"):
        reference.set_stream(object())
    with pytest.raises(dnn.BadParam, match="stream"):
        dnn.Handle("reference", stream=object())
    with pytest.raises(dnn.BadParam, match="device"):
        dnn.Handle("reference", device=1)


def test_the_device_times_and_lends_memory(reference):
    device = reference.device
    calls = []
    assert 0 <= device.time(lambda: calls.append(1)) < 60 and calls == [1]
    assert device.workspace_size(device.workspace(1000)) == 1000
    assert device.workspace_size(bytearray(7)) == 7
    with pytest.raises(dnn.BadParam, match="workspace"):
        device.workspace_size(5)
    with pytest.raises(dnn.NotSupported, match="no kernels"):
        device.compile("shared/tensor/elementwise.cl", "elementwise", {})
    with pytest.raises(dnn.NotSupported, match="no kernels"):
        device.bind([])


def test_the_result_of_a_call_outlives_its_handle():
    with dnn.Handle("reference") as handle:
        y = dnn.activation_forward(handle, VALUES, RELU)
    assert y.sum() == 15
    with pytest.raises(dnn.NotInitialized):
        dnn.activation_forward(handle, VALUES, RELU)


def test_algorithms_that_the_definition_stands_for(reference):
    """It is what every algorithm computes, also those that cuDNN has for other shapes; other names are refused."""
    x, w = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 2, 2), np.float32)
    conv = dnn.ConvolutionDescriptor()
    for algo in dnn.ConvolutionFwdAlgo:
        assert dnn.get_convolution_forward_workspace_size(reference, x, w, conv, algo=algo) == 0
        assert (dnn.convolution_forward(reference, x, w, conv, algo=algo) == 4).all()
    for algo in dnn.ConvolutionBwdDataAlgo:
        dx = np.empty_like(x)
        dnn.convolution_backward_data(reference, w, np.ones((1, 1, 2, 2), np.float32), conv, dx, algo=algo)
        assert (dx == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]).all()
    for algo in dnn.ConvolutionBwdFilterAlgo:
        dw = np.empty_like(w)
        dnn.convolution_backward_filter(reference, x, np.ones((1, 1, 2, 2), np.float32), conv, dw, algo=algo)
        assert (dw == 4).all()
    with pytest.raises(dnn.BadParam, match="algo"):
        dnn.convolution_forward(reference, x, w, conv, algo="STRASSEN")
