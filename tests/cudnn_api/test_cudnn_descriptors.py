"""What C functions tell of descriptors where the unified API refuses, as cuDNN 9.19 does."""

from __future__ import annotations

import math

import numpy as np
import pytest

import portadnn as dnn
from portadnn import cudnn

NCHW, NHWC = 0, 1


def test_get_of_4_dims_tells_the_first_4():
    """Of tensors and filters of more dims; those that are not there are 0."""
    tensor, filters = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetTensorNdDescriptor(tensor, 0, 5, (2, 3, 4, 5, 6), (360, 120, 30, 6, 1))
    assert cudnn.cudnnGetTensor4dDescriptor(tensor) == (0, 2, 3, 4, 5, 360, 120, 30, 6)
    cudnn.cudnnSetTensorNdDescriptor(tensor, 0, 3, (2, 3, 4), (12, 4, 1))
    assert cudnn.cudnnGetTensor4dDescriptor(tensor) == (0, 2, 3, 4, 0, 12, 4, 1, 0)
    cudnn.cudnnSetFilterNdDescriptor(filters, 0, NHWC, 5, (2, 3, 4, 5, 6))
    assert cudnn.cudnnGetFilter4dDescriptor(filters) == (0, NHWC, 2, 3, 4, 5)


@pytest.mark.parametrize("count", [1, 3])
def test_get_of_2_dims_tells_the_first_2(count):
    convolution, pooling = cudnn.cudnnCreateConvolutionDescriptor(), cudnn.cudnnCreatePoolingDescriptor()
    padding, stride, dilation = (2, 3, 4)[:count], (3, 4, 5)[:count], (4, 5, 6)[:count]
    cudnn.cudnnSetConvolutionNdDescriptor(convolution, count, padding, stride, dilation, 0, 0)
    cudnn.cudnnSetPoolingNdDescriptor(pooling, 3, 1, count, stride, padding, dilation)
    both = [(*a, 0)[:2] for a in (padding, stride, dilation)]
    assert cudnn.cudnnGetConvolution2dDescriptor(convolution)[:7] == (*both[0], *both[1], *both[2], 0)
    assert cudnn.cudnnGetPooling2dDescriptor(pooling) == (3, 1, *both[1], *both[0], *both[2])


def test_too_many_dims_come_first():
    """9 dims are not supported, whatever they are; -1 among fewer is a wrong value."""
    tensor = cudnn.cudnnCreateTensorDescriptor()
    with pytest.raises(dnn.NotSupported, match="at most 8 dims"):
        cudnn.cudnnSetTensorNdDescriptor(tensor, 0, 9, (-1,) * 9, (1,) * 9)
    with pytest.raises(dnn.BadParam, match=r"dims\[0\]"):
        cudnn.cudnnSetTensorNdDescriptor(tensor, 0, 4, (-1,) * 4, (1,) * 4)


@pytest.mark.parametrize("coefficient", [-1.0, math.inf, -math.inf, 1e300])
def test_any_number_is_an_activations_coefficient(coefficient):
    activation = cudnn.cudnnCreateActivationDescriptor()
    for mode in range(7):
        cudnn.cudnnSetActivationDescriptor(activation, mode, 0, coefficient)
        assert cudnn.cudnnGetActivationDescriptor(activation) == (mode, 0, coefficient)
    with pytest.raises(dnn.BadParam, match="ceiling: expected a number, got nan"):
        cudnn.cudnnSetActivationDescriptor(activation, 3, 0, math.nan)


def test_limits_of_cells_that_are_not_clipped():
    """They are kept, and must be limits all the same."""
    rnn = cudnn.cudnnCreateRNNDescriptor()
    cudnn.cudnnSetRNNDescriptor_v8(rnn, 0, 2, 2, 0, 0, 0, 0, 0, 4, 4, 4, 1, None, 1)
    cudnn.cudnnRNNSetClip_v8(rnn, 0, 1, -2.0, 3.0)
    assert cudnn.cudnnRNNGetClip_v8(rnn) == (0, 1, -2.0, 3.0)
    with pytest.raises(dnn.BadParam, match="lclip"):
        cudnn.cudnnRNNSetClip_v9(rnn, 0, 3.0, -2.0)
    assert cudnn.cudnnRNNGetClip_v9(rnn) == (0, -2.0, 3.0)


def test_limits_of_cells_are_rounded_to_float():
    """Of networks of DOUBLE as well; the descriptor tells what it was given."""
    rnn = cudnn.cudnnCreateRNNDescriptor()
    cudnn.cudnnSetRNNDescriptor_v8(rnn, 0, 2, 2, 0, 0, 1, 1, 0, 4, 4, 4, 1, None, 1)
    cudnn.cudnnRNNSetClip_v9(rnn, 1, -0.6, 0.5)
    assert cudnn.cudnnRNNGetClip_v9(rnn) == (1, -0.6, 0.5)
    assert rnn.value.clip == (float(np.float32(-0.6)), 0.5)


def test_statuses_by_the_numbers_of_version_9():
    names = {2000: "BAD_PARAM", 3000: "NOT_SUPPORTED", 1001: "NOT_INITIALIZED", 5000: "EXECUTION_FAILED"}
    for number, name in {**names, 4000: "INTERNAL_ERROR", 3: "BAD_PARAM"}.items():
        assert cudnn.cudnnGetErrorString(number) == f"CUDNN_STATUS_{name}"
    assert cudnn.cudnnGetErrorString(6000) == "CUDNN_UNKNOWN_STATUS"
