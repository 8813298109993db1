"""Queries of sizes take what the operations take: arrays of the backend, views and descriptors, with one answer."""

from __future__ import annotations

import numpy as np
import pytest
from helper import everywhere

import portadnn as dnn

IMAGE, FILTER, RESULT, BIAS = (2, 3, 6, 5), (4, 3, 3, 3), (2, 4, 6, 5), (1, 4, 1, 1)
SEQUENCE, STEP, ONE = (3, 2, 4), (2, 4, 1), (1, 1, 1, 1)
CONV, POOL = dnn.ConvolutionDescriptor((1, 1)), dnn.PoolingDescriptor("max", (2, 2))
RELU, RNN = dnn.ActivationDescriptor("relu"), dnn.RNNDescriptor(5, 1, "lstm")
SUM = dnn.ReduceTensorDescriptor("max", indices="flattened_indices")


def conv(name, *dims):
    """Return a query of a convolution with its tensors' dims."""
    return name, dims, lambda h, a, b, c: getattr(dnn, name)(h, a, b, CONV, c)


QUERIES = [
    *[
        conv(f"get_convolution_{direction}_{what}workspace_size", *dims)
        for direction, dims in (
            ("forward", (IMAGE, FILTER, RESULT)),
            ("backward_data", (FILTER, RESULT, IMAGE)),
            ("backward_filter", (IMAGE, RESULT, FILTER)),
        )
        for what in ("", "find_")
    ],
    conv("get_convolution_forward_algorithm", IMAGE, FILTER, RESULT),
    conv("get_convolution_backward_data_algorithm", FILTER, RESULT, IMAGE),
    conv("get_convolution_backward_filter_algorithm", IMAGE, RESULT, FILTER),
    (
        "get_convolution_bias_activation_forward_workspace_size",
        (IMAGE, FILTER, BIAS, RESULT),
        lambda h, x, w, b, y: dnn.get_convolution_bias_activation_forward_workspace_size(h, x, w, CONV, b, RELU, y),
    ),
    (
        "get_convolution_nd_forward_output_dim",
        (IMAGE, FILTER),
        lambda h, x, w: dnn.get_convolution_nd_forward_output_dim(CONV, x, w),
    ),
    (
        "get_convolution_2d_forward_output_dim",
        (IMAGE, FILTER),
        lambda h, x, w: dnn.get_convolution_2d_forward_output_dim(CONV, x, w),
    ),
    ("get_pooling_nd_forward_output_dim", (IMAGE,), lambda h, x: dnn.get_pooling_nd_forward_output_dim(POOL, x)),
    ("get_pooling_2d_forward_output_dim", (IMAGE,), lambda h, x: dnn.get_pooling_2d_forward_output_dim(POOL, x)),
    ("dropout_get_reserve_space_size", (IMAGE,), lambda h, x: dnn.dropout_get_reserve_space_size(x)),
    ("derive_bn_tensor_descriptor", (IMAGE,), lambda h, x: dnn.derive_bn_tensor_descriptor(x)),
    ("get_reduction_workspace_size", (IMAGE, ONE), lambda h, a, c: dnn.get_reduction_workspace_size(h, SUM, a, c)),
    ("get_reduction_indices_size", (IMAGE, ONE), lambda h, a, c: dnn.get_reduction_indices_size(h, SUM, a, c)),
    ("get_rnn_params_size", (STEP,), lambda h, x: dnn.get_rnn_params_size(h, RNN, x)),
    ("get_rnn_workspace_size", (SEQUENCE,), lambda h, x: dnn.get_rnn_workspace_size(h, RNN, x)),
    ("get_rnn_training_reserve_size", (SEQUENCE,), lambda h, x: dnn.get_rnn_training_reserve_size(h, RNN, x)),
]


def described(dims, dtype):
    kind = dnn.FilterDescriptor if dims == FILTER else dnn.TensorDescriptor
    return kind(dims, dtype)


@everywhere()
@pytest.mark.parametrize(("name", "dims", "ask"), QUERIES, ids=[query[0] for query in QUERIES])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_arrays_views_and_descriptors(handle, name, dims, ask, dtype):
    descriptors = [described(sizes, dtype) for sizes in dims]
    arrays = [handle.asarray(np.zeros(sizes, dtype)) for sizes in dims]
    views = [d.view(handle.asarray(np.zeros(d.spec.size, dtype))) for d in descriptors]
    want = ask(handle, *descriptors)
    assert ask(handle, *arrays) == want
    assert ask(handle, *views) == want
    for i in range(len(dims)):
        assert ask(handle, *(arrays[j] if i == j else d for j, d in enumerate(descriptors))) == want


@everywhere()
def test_a_matrix_of_a_network(handle):
    """The step that the parts of a network's parameters are asked with."""
    size = dnn.get_rnn_params_size(handle, RNN, STEP)
    w = handle.zeros((size // 4, 1, 1))
    for step in (
        STEP,
        dnn.TensorDescriptor(STEP),
        handle.zeros(STEP),
        dnn.TensorDescriptor(STEP).view(handle.zeros(STEP)),
    ):
        assert dnn.get_rnn_lin_layer_matrix_params(handle, RNN, 0, step, w, 0).shape == (1, 5, 4)
        assert dnn.get_rnn_lin_layer_bias_params(handle, RNN, 0, step, w, 0).shape == (1, 5, 1)
    half = handle.asarray(np.zeros(STEP, np.float16))
    assert dnn.get_rnn_params_size(handle, RNN, half) == size // 2
    with pytest.raises(dnn.BadParam, match="dtype: expected HALF as x"):
        dnn.get_rnn_params_size(handle, RNN, half, np.float32)


@pytest.mark.parametrize(
    "x", [3, None, "abc", (1, 2), np.zeros((2, 2)), np.zeros((1,) * 9), dnn.FilterDescriptor(FILTER)]
)
def test_no_tensors(x):
    with pytest.raises(dnn.DnnError, match="x"):
        dnn.get_pooling_nd_forward_output_dim(POOL, x)
    with pytest.raises(dnn.DnnError, match="x"):
        dnn.derive_bn_tensor_descriptor(x)
    with pytest.raises(dnn.DnnError, match="x"):
        dnn.dropout_get_reserve_space_size(x)


def test_dims_may_be_an_array():
    assert dnn.get_pooling_nd_forward_output_dim(POOL, np.array(IMAGE)) == (2, 3, 5, 4)
    with pytest.raises(dnn.BadParam, match="x"):
        dnn.derive_bn_tensor_descriptor(np.array(IMAGE))
