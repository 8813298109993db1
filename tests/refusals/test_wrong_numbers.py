"""Numbers that are none, or that float64 cannot hold, are refused as BadParam wherever a call takes a number."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import portadnn as dnn

HUGE = 10**400  # too large for float64
LONG = 10**5000  # too long to be written
NO_NUMBERS = (HUGE, -HUGE, LONG, "1", b"1", True, np.bool_(True), Fraction(1, 2), Decimal(1), 1j, [1], np.ones(2), {})
NO_INTEGERS = (0.5, np.float32(1), "1", True, np.bool_(True), Fraction(1, 1), np.ones(2), np.ones((), np.float32), [1])


def array(*dims, dtype=np.float32):
    return np.ones(dims, dtype)


IMAGE, FILTER, PARAMETER = (1, 2, 3, 3), (2, 2, 3, 3), (1, 2, 1, 1)
RELU, LRN = dnn.ActivationDescriptor("relu"), dnn.LRNDescriptor()
POOL = dnn.PoolingDescriptor("max", (2, 2))
CONV = dnn.ConvolutionDescriptor(padding=(1, 1))
ADD, SUM = dnn.OpTensorDescriptor("add"), dnn.ReduceTensorDescriptor("add")
NORM = {"mode": "layer_norm", "axis": 1}


def x():
    return array(*IMAGE)


def parameters(count):
    return [array(*PARAMETER) for _ in range(count)]


BLEND = ("alpha", "beta")
GRADIENTS = ("alpha_data_diff", "beta_data_diff", "alpha_param_diff", "beta_param_diff")
CALLS = {  # what takes numbers, and their names
    "activation_forward": (lambda h, **n: dnn.activation_forward(h, x(), RELU, **n), BLEND),
    "activation_backward": (lambda h, **n: dnn.activation_backward(h, x(), x(), x(), RELU, **n), BLEND),
    "add_tensor": (lambda h, **n: dnn.add_tensor(h, x(), x(), **n), BLEND),
    "transform_tensor": (lambda h, **n: dnn.transform_tensor(h, x(), **n), BLEND),
    "scale_tensor": (lambda h, **n: dnn.scale_tensor(h, x(), **n), ("alpha",)),
    "set_tensor": (lambda h, **n: dnn.set_tensor(h, x(), **n), ("value",)),
    "op_tensor": (lambda h, **n: dnn.op_tensor(h, ADD, x(), x(), **n), ("alpha1", "alpha2", "beta")),
    "reduce_tensor": (lambda h, **n: dnn.reduce_tensor(h, SUM, x(), array(1, 1, 1, 1), **n), BLEND),
    "softmax_forward": (lambda h, **n: dnn.softmax_forward(h, x(), **n), BLEND),
    "softmax_backward": (lambda h, **n: dnn.softmax_backward(h, x(), x(), **n), BLEND),
    "pooling_forward": (lambda h, **n: dnn.pooling_forward(h, x(), POOL, **n), BLEND),
    "lrn_cross_channel_forward": (lambda h, **n: dnn.lrn_cross_channel_forward(h, x(), LRN, **n), BLEND),
    "divisive_normalization_forward": (
        lambda h, **n: dnn.divisive_normalization_forward(h, x(), None, LRN, **n),
        BLEND,
    ),
    "convolution_forward": (lambda h, **n: dnn.convolution_forward(h, x(), array(*FILTER), CONV, **n), BLEND),
    "convolution_backward_bias": (lambda h, **n: dnn.convolution_backward_bias(h, x(), **n), BLEND),
    "convolution_backward_data": (
        lambda h, **n: dnn.convolution_backward_data(h, array(*FILTER), x(), CONV, x(), **n),
        BLEND,
    ),
    "convolution_backward_filter": (
        lambda h, **n: dnn.convolution_backward_filter(h, x(), x(), CONV, array(*FILTER), **n),
        BLEND,
    ),
    "convolution_bias_activation_forward": (
        lambda h, **n: dnn.convolution_bias_activation_forward(
            h, x(), array(*FILTER), CONV, array(*PARAMETER), RELU, z=x(), **n
        ),
        ("alpha1", "alpha2"),
    ),
    "batch_normalization_forward_training": (
        lambda h, **n: dnn.batch_normalization_forward_training(h, x(), *parameters(2), **n),
        (*BLEND, "epsilon", "exponential_average_factor"),
    ),
    "batch_normalization_forward_inference": (
        lambda h, **n: dnn.batch_normalization_forward_inference(h, x(), *parameters(4), **n),
        (*BLEND, "epsilon"),
    ),
    "batch_normalization_backward": (
        lambda h, **n: dnn.batch_normalization_backward(h, x(), x(), *parameters(1), **n),
        (*GRADIENTS, "epsilon"),
    ),
    "normalization_forward": (
        lambda h, **n: dnn.normalization_forward(h, x(), array(1, *IMAGE[1:]), array(1, *IMAGE[1:]), **NORM, **n),
        (*BLEND, "epsilon"),
    ),
    "normalization_backward": (
        lambda h, **n: dnn.normalization_backward(h, x(), x(), array(1, *IMAGE[1:]), **NORM, **n),
        (*GRADIENTS, "epsilon"),
    ),
    "LRNDescriptor": (lambda h, **n: dnn.LRNDescriptor(**n), ("alpha", "beta", "k")),
    "ActivationDescriptor": (lambda h, **n: dnn.ActivationDescriptor("elu", **n), ("ceiling", "coef")),
    "DropoutDescriptor": (lambda h, **n: dnn.DropoutDescriptor(**n), ("dropout",)),
    "set_dropout_descriptor": (lambda h, **n: dnn.set_dropout_descriptor(h, **n), ("dropout",)),
}
FIND = "find_convolution_forward_algorithm"
INTEGERS = {
    "TensorDescriptor": (lambda h, dim: dnn.TensorDescriptor((1, 1, dim, 1)), ("dim",)),
    "FilterDescriptor": (lambda h, dim: dnn.FilterDescriptor((1, 1, dim, 1)), ("dim",)),
    "ConvolutionDescriptor": (lambda h, **n: dnn.ConvolutionDescriptor(**n), ("groups",)),
    "PoolingDescriptor": (lambda h, size: dnn.PoolingDescriptor("max", (size, 1)), ("size",)),
    "LRNDescriptor": (lambda h, **n: dnn.LRNDescriptor(**n), ("n",)),
    "RNNDescriptor": (lambda h, **n: dnn.RNNDescriptor(**{"hidden_size": 4, **n}), ("hidden_size", "num_layers")),
    "DropoutDescriptor": (lambda h, **n: dnn.DropoutDescriptor(0.5, **n), ("seed",)),
    "set_dropout_descriptor": (lambda h, **n: dnn.set_dropout_descriptor(h, 0.5, **n), ("seed",)),
    FIND: (lambda h, **n: dnn.find_convolution_forward_algorithm(h, x(), array(*FILTER), CONV, **n), ("requested",)),
    "get_convolution_forward_algorithm": (
        lambda h, **n: dnn.get_convolution_forward_algorithm(h, x(), array(*FILTER), CONV, **n),
        ("memory_limit",),
    ),
    "normalization_forward": (
        lambda h, **n: dnn.normalization_forward(h, x(), array(*PARAMETER), mode="group_norm", **n),
        ("axis", "groups"),
    ),
}
CASES = [(call, name, value) for call, (_, names) in CALLS.items() for name in names for value in NO_NUMBERS]
WHOLE = [(call, name, value) for call, (_, names) in INTEGERS.items() for name in names for value in NO_INTEGERS]


def _id(value):
    return None if isinstance(value, str) and value.isidentifier() else type(value).__name__


@pytest.fixture(scope="module")
def handle():
    with dnn.Handle("reference") as opened:
        yield opened


@pytest.mark.parametrize(("call", "name", "value"), CASES, ids=_id)
def test_no_number(handle, call, name, value):
    with pytest.raises(dnn.BadParam) as caught:
        CALLS[call][0](handle, **{name: value})
    error = caught.value
    assert error.argument == name
    assert error.call is not None
    assert len(str(error)) < 600


@pytest.mark.parametrize(("call", "name", "value"), WHOLE, ids=_id)
def test_no_integer(handle, call, name, value):
    with pytest.raises(dnn.BadParam) as caught:
        INTEGERS[call][0](handle, **{name: value})
    assert caught.value.call is not None


@pytest.mark.parametrize(("call", "name"), [(call, name) for call, (_, names) in INTEGERS.items() for name in names])
def test_integers_too_large(handle, call, name):
    """Where anything as large is allowed, it is allowed; the message of what is not can be written."""
    try:
        INTEGERS[call][0](handle, **{name: LONG})
    except dnn.DnnError as error:
        assert str(error).startswith(str(error.call))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.int64, np.uint64])
def test_numpys_numbers_are_numbers(handle, kind):
    for make, names in CALLS.values():
        for name in names:
            make(handle, **{name: kind(1)})
    for make, names in INTEGERS.values():
        for name in names:
            if issubclass(kind, np.integer) and name not in ("axis",):
                make(handle, **{name: kind(2)})


@pytest.mark.parametrize("infinite", [np.longdouble(np.finfo(np.longdouble).max), float("inf"), float("nan")])
def test_an_epsilon_is_finite(handle, infinite):
    with pytest.raises(dnn.BadParam, match="epsilon: expected a"):
        CALLS["batch_normalization_forward_training"][0](handle, epsilon=infinite)
