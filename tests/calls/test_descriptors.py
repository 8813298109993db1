"""Descriptors: values, queries, equality and views."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn import DataType, TensorFormat

T, F = dnn.TensorDescriptor, dnn.FilterDescriptor


def test_tensor_forms():
    plain = T((2, 3, 4, 5))
    assert plain == T.set_4d("nchw", "float32", 2, 3, 4, 5) == T.set_4d(0, 0, 2, 3, 4, 5)
    assert plain == T.set_4d_ex("float", 2, 3, 4, 5, 60, 20, 5, 1) == T.set_nd("FLOAT", (2, 3, 4, 5), (60, 20, 5, 1))
    assert plain.get_4d() == (DataType.FLOAT, 2, 3, 4, 5, 60, 20, 5, 1)
    assert plain.get_nd(2) == (DataType.FLOAT, 4, (2, 3), (60, 20))
    assert T((2, 3, 4, 5), "half", format="nhwc").strides == (60, 1, 15, 3)
    assert T((2, 3, 4, 5, 6), format=TensorFormat.NHWC).strides == (360, 1, 90, 18, 3)
    assert T((0, 3, 4)).size_in_bytes == 0
    assert T((1, 1, 2), "double", strides=(1, 1, 10)).size_in_bytes == 88
    assert hash(plain) == hash(T((2, 3, 4, 5)))
    assert plain != T((2, 3, 4, 5), "half") and plain != "plain"
    assert len({T((1,) * n) for n in range(3, 9)}) == 6


def test_filter_forms():
    krsc = F.set_4d("float", "nhwc", 4, 3, 2, 5)
    assert krsc.get_4d() == (DataType.FLOAT, TensorFormat.NHWC, 4, 3, 2, 5)
    assert krsc.strides == (30, 1, 15, 3)
    assert krsc == F.set_nd("float", "CUDNN_TENSOR_NHWC", (4, 3, 2, 5)) and krsc != F((4, 3, 2, 5))
    assert krsc.get_nd(3) == (DataType.FLOAT, TensorFormat.NHWC, 4, (4, 3, 2))


def test_parameters_are_values():
    conv = dnn.ConvolutionDescriptor([1, 2], mode="CUDNN_CONVOLUTION", compute_type=np.float32)
    assert conv == dnn.ConvolutionDescriptor((1, 2), (1, 1), (1, 1), 1, 0, "float32")
    assert hash(conv) == hash(dnn.ConvolutionDescriptor((1, 2), mode=0, compute_type="float"))
    assert conv.stride == (1, 1) and conv.mode is dnn.ConvolutionMode.CONVOLUTION
    assert conv.math is dnn.MathType.DEFAULT and hash(dataclasses.replace(conv, math="tf32")) != hash(conv)
    pool = dnn.PoolingDescriptor("max", np.array([2, 3]))
    assert pool.window == (2, 3) and pool.padding == (0, 0) and pool.stride == (1, 1)
    relu = dnn.ActivationDescriptor("clipped_relu", ceiling=6)
    assert relu.mode is dnn.ActivationMode.CLIPPED_RELU and relu.ceiling == 6.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        conv.groups = 2
    assert dnn.OpTensorDescriptor("min") != relu


@pytest.mark.parametrize("backend", BACKENDS)
def test_views(backend):
    """A view reads a buffer with a stated layout, from an offset on; results go into the memory it names."""
    with open_handle(backend) as handle:
        host = np.arange(60, dtype=np.float32)
        base = handle.asarray(host.reshape(1, 1, 60))
        view = T((2, 2, 3), strides=(20, 1, 4)).view(base, 5)
        want = np.lib.stride_tricks.as_strided(host[5:], (2, 2, 3), (80, 4, 16))
        assert np.array_equal(handle.to_numpy(view), want)
        got = dnn.scale_tensor(handle, view, 2.0)
        assert np.array_equal(handle.to_numpy(got), 2 * want)
        changed = handle.to_numpy(base).reshape(-1)
        assert np.array_equal(np.flatnonzero(changed != host), np.sort((5 + want - want[0, 0, 0]).astype(int).ravel()))
        raw = handle.device.workspace(48)
        zeros = dnn.set_tensor(handle, T((1, 3, 4)).view(raw), 0)
        assert not handle.to_numpy(zeros).any()
