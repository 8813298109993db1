"""Operations described by backend descriptors, compared with their definitions in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from descriptors import T, close, data, make, numbers, pointwise, run

from portadnn import NotSupported, cudnn

erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def gelu_tanh(x):
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


UNARY = {
    "SQRT": np.sqrt,
    "ABS": np.abs,
    "CEIL": np.ceil,
    "COS": np.cos,
    "EXP": np.exp,
    "FLOOR": np.floor,
    "LOG": np.log,
    "NEG": np.negative,
    "RSQRT": lambda x: x**-0.5,
    "SIN": np.sin,
    "TAN": np.tan,
    "ERF": erf,
    "IDENTITY": lambda x: x,
    "RECIPROCAL": lambda x: 1 / x,
    "RELU_FWD": lambda x: np.maximum(x, 0),
    "TANH_FWD": np.tanh,
    "SIGMOID_FWD": sigmoid,
    "ELU_FWD": lambda x: np.where(x > 0, x, np.exp(x) - 1),
    "GELU_FWD": gelu,
    "SOFTPLUS_FWD": lambda x: np.log(1 + np.exp(x)),
    "SWISH_FWD": lambda x: x * sigmoid(x),
    "GELU_APPROX_TANH_FWD": gelu_tanh,
    "LOGICAL_NOT": lambda x: x == 0,
}
BINARY = {
    "ADD": np.add,
    "MUL": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "ADD_SQUARE": lambda x, b: x + b * b,
    "DIV": np.divide,
    "MOD": np.fmod,
    "POW": np.power,
    "SUB": np.subtract,
    "CMP_EQ": np.equal,
    "CMP_NEQ": np.not_equal,
    "CMP_GT": np.greater,
    "CMP_GE": np.greater_equal,
    "CMP_LT": np.less,
    "CMP_LE": np.less_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
}
GRADIENTS = ("RELU", "TANH", "SIGMOID", "ELU", "GELU", "SOFTPLUS", "SWISH", "GELU_APPROX_TANH")
OTHERS = {"GEN_INDEX", "BINARY_SELECT", "ATAN2"}
DIMS = (2, 3, 4, 5)


def test_every_mode_is_tested():
    modes = {member.name.removeprefix("CUDNN_POINTWISE_") for member in cudnn.cudnnPointwiseMode_t}
    assert modes == {*UNARY, *BINARY, *(f"{name}_BWD" for name in GRADIENTS), *OTHERS}


@pytest.mark.parametrize("mode", UNARY)
def test_unary(mode):
    x, y = T(DIMS), T(DIMS)
    values = numbers(DIMS) if mode not in ("SQRT", "RSQRT", "LOG") else numbers(DIMS, low=0.5)
    (got,) = run([pointwise(mode, x, y)], {x: values}, [y])
    close(got, UNARY[mode](values))


@pytest.mark.parametrize("mode", BINARY)
def test_binary_with_a_broadcast(mode):
    x, b, y = T(DIMS), T((1, 3, 1, 1)), T(DIMS)
    values = [np.round(numbers(dims, low=0.5) * 4) / 4 for dims in (DIMS, (1, 3, 1, 1))]  # so that some are equal
    (got,) = run([pointwise(mode, x, y, b)], {x: values[0], b: values[1]}, [y])
    close(got, BINARY[mode](*values))


@pytest.mark.parametrize("mode", GRADIENTS)
def test_gradients_are_slopes(mode):
    x, dy, dx = T(DIMS), T(DIMS), T(DIMS)
    values, loss, h = numbers(DIMS), numbers(DIMS, 1), 1e-6
    (got,) = run([pointwise(f"{mode}_BWD", x, dx=dx, dy=dy)], {x: values, dy: loss}, [dx])
    function = UNARY[f"{mode}_FWD"]
    close(got, loss * (function(values + h) - function(values - h)) / (2 * h), 1e-7)


def test_select_index_and_factors():
    x, b, t, y = T(DIMS), T(DIMS), T(DIMS), T(DIMS)
    values = [numbers(DIMS), numbers(DIMS, 1), (numbers(DIMS, 2) > 0) * 1.0]
    (got,) = run([pointwise("BINARY_SELECT", x, y, b, t)], dict(zip((x, b, t), values, strict=True)), [y])
    close(got, np.where(values[2] != 0, values[0], values[1]))
    (got,) = run([pointwise("GEN_INDEX", x, y, AXIS=2)], {x: values[0]}, [y])
    close(got, np.arange(4.0).reshape(1, 1, 4, 1))
    (got,) = run([pointwise("ADD", x, y, b, alpha1=0.5, alpha2=-1.0)], {x: values[0], b: values[1]}, [y])
    close(got, 0.5 * values[0] - values[1])


@pytest.mark.parametrize(
    ("mode", "parameters", "function"),
    [
        (
            "RELU_FWD",
            {"RELU_LOWER_CLIP": -0.25, "RELU_UPPER_CLIP": 0.5},
            lambda x: np.clip(np.maximum(x, 0), -0.25, 0.5),
        ),
        ("RELU_FWD", {"RELU_LOWER_CLIP_SLOPE": 0.1}, lambda x: np.where(x < 0, 0.1 * x, x)),
        ("RELU_FWD", {"RELU_UPPER_CLIP": math.inf}, lambda x: np.maximum(x, 0)),
        ("ELU_FWD", {"ELU_ALPHA": 2.0}, lambda x: np.where(x > 0, x, 2 * (np.exp(x) - 1))),
        ("SOFTPLUS_FWD", {"SOFTPLUS_BETA": 3.0}, lambda x: np.log(1 + np.exp(3 * x)) / 3),
        ("SWISH_FWD", {"SWISH_BETA": 2.0}, lambda x: x * sigmoid(2 * x)),
        ("TANH_FWD", {"SWISH_BETA": 2.0, "NAN_PROPAGATION": cudnn.CUDNN_PROPAGATE_NAN}, np.tanh),  # not heeded
    ],
)
def test_parameters_of_activations(mode, parameters, function):
    x, y = T(DIMS), T(DIMS)
    values = numbers(DIMS)
    (got,) = run([pointwise(mode, x, y, **parameters)], {x: values}, [y])
    close(got, function(values))


def test_a_mode_that_graphs_lack():
    with pytest.raises(NotSupported, match=r"CUDNN_POINTWISE_ADD.*got CUDNN_POINTWISE_ATAN2"):
        make("POINTWISE", MODE=cudnn.CUDNN_POINTWISE_ATAN2)


# convolution


def taps(x_dims, w_dims, y_dims, pad, stride, dilation, flip):
    """Yield (n, g, filter slice, y's place, x's place, w's place) of every product of a convolution."""
    groups = x_dims[1] // w_dims[1]
    for p in np.ndindex(*y_dims[2:]):
        for r in np.ndindex(*w_dims[2:]):
            at = tuple(p[i] * stride[i] + r[i] * dilation[i] - pad[i] for i in range(len(p)))
            if all(0 <= a < size for a, size in zip(at, x_dims[2:], strict=True)):
                tap = tuple(size - 1 - i for i, size in zip(r, w_dims[2:], strict=True)) if flip else r
                for g in range(groups):
                    yield g, p, at, tap


def brute(x, w, y, want, how, flip=False):
    """Return what a convolution relates: y of x and w, or the gradient `want` of the loss y."""
    out = np.zeros({"y": y, "x": x, "w": w}[want].shape)
    k, c = w.shape[0] // (x.shape[1] // w.shape[1]), w.shape[1]
    for g, p, at, tap in taps(x.shape, w.shape, y.shape, *how, flip):
        channels, filters = slice(g * c, (g + 1) * c), slice(g * k, (g + 1) * k)
        if want == "y":
            out[(slice(None), filters, *p)] += x[(slice(None), channels, *at)] @ w[(filters, slice(None), *tap)].T
        elif want == "x":
            out[(slice(None), channels, *at)] += y[(slice(None), filters, *p)] @ w[(filters, slice(None), *tap)]
        else:
            out[(filters, slice(None), *tap)] += y[(slice(None), filters, *p)].T @ x[(slice(None), channels, *at)]
    return out


def convolution(pre, post, stride, dilation, mode="CROSS_CORRELATION"):
    return make(
        "CONVOLUTION",
        COMP_TYPE=data("DOUBLE"),
        CONV_MODE=getattr(cudnn, f"CUDNN_{mode}"),
        SPATIAL_DIMS=len(pre),
        PRE_PADDINGS=list(pre),
        POST_PADDINGS=list(post),
        FILTER_STRIDES=list(stride),
        DILATIONS=list(dilation),
    )


@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD_DATA", "BACKWARD_FILTER"])
@pytest.mark.parametrize(
    ("x", "w", "pre", "post", "stride", "dilation", "mode"),
    [
        ((2, 4, 7, 6), (6, 2, 3, 2), (1, 0), (0, 2), (2, 1), (1, 2), "CROSS_CORRELATION"),
        ((1, 3, 5, 5), (2, 3, 3, 3), (1, 1), (1, 1), (1, 1), (1, 1), "CONVOLUTION"),
        ((2, 2, 4, 3, 5), (3, 2, 2, 1, 3), (0, 0, 1), (1, 0, 1), (1, 2, 2), (1, 1, 1), "CROSS_CORRELATION"),
    ],
)
def test_convolution(direction, x, w, pre, post, stride, dilation, mode):
    size = [1 + (x[i + 2] + pre[i] + post[i] - dilation[i] * (w[i + 2] - 1) - 1) // stride[i] for i in range(len(pre))]
    X, W, Y = T(x), T(w), T((x[0], w[0], *size))
    arrays = {X: numbers(x), W: numbers(w, 1), Y: numbers((x[0], w[0], *size), 2)}
    out, key = {"FORWARD": (Y, "y"), "BACKWARD_DATA": (X, "x"), "BACKWARD_FILTER": (W, "w")}[direction]
    names = {"FORWARD": "XWY", "BACKWARD_DATA": ("DX", "W", "DY"), "BACKWARD_FILTER": ("X", "DW", "DY")}[direction]
    tensors = dict(zip(names, (X, W, Y), strict=True))
    how = convolution(pre, post, stride, dilation, mode)
    operation = make(f"OPERATION_CONVOLUTION_{direction}", CONV_DESC=how, ALPHA=0.5, BETA=0.0, **tensors)
    (got,) = run([operation], {one: values for one, values in arrays.items() if one is not out}, [out])
    want = brute(*arrays.values(), key, (pre, stride, dilation), flip=mode == "CONVOLUTION")
    close(got, 0.5 * want)


# products, sums, statistics


def test_matmul_broadcasts_batches():
    a, b, c = T((2, 3, 4)), T((1, 4, 5), strides=(20, 1, 4)), T((2, 3, 5))
    operation = make(
        "OPERATION_MATMUL", DESC=make("MATMUL", COMP_TYPE=data("DOUBLE"), PADDING_VALUE=0.0), ADESC=a, BDESC=b, CDESC=c
    )
    values = [numbers((2, 3, 4)), numbers((1, 4, 5))]
    (got,) = run([operation], {a: values[0], b: values[1]}, [c])
    close(got, values[0] @ values[1])


REDUCTIONS = {
    "ADD": np.sum,
    "MUL": np.prod,
    "MIN": np.min,
    "MAX": np.max,
    "AMAX": lambda x, **how: np.max(np.abs(x), **how),
    "AVG": np.mean,
    "NORM1": lambda x, **how: np.sum(np.abs(x), **how),
    "NORM2": lambda x, **how: np.sqrt(np.sum(x * x, **how)),
    "MUL_NO_ZEROS": lambda x, **how: np.prod(np.where(x == 0, 1, x), **how),
}


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduction(op):
    x, y = T(DIMS), T((2, 1, 4, 1))
    values = numbers(DIMS)
    values[0, 0, 0, 0] = 0
    how = make("REDUCTION", OPERATOR=getattr(cudnn, f"CUDNN_REDUCE_TENSOR_{op}"), COMP_TYPE=data("DOUBLE"))
    (got,) = run([make("OPERATION_REDUCTION", DESC=how, XDESC=x, YDESC=y)], {x: values}, [y])
    close(got, REDUCTIONS[op](values, axis=(1, 3), keepdims=True))
