"""Every gradient of the reference backend against central differences of its forward pass, in float64.

For a random direction u of an input and a random weighting g of the outputs, the gradient times u must be the
slope of sum(g * forward) along u.
"""

from __future__ import annotations

import numpy as np
import pytest

import portadnn as dnn

STEP = 1e-5
DIRECTIONS = 3
ALPHA = 1.75
RNG_SEED = 7


def slope(loss, x, u):
    """The derivative of `loss` at x along u, by the five-point formula: its error is of the order of STEP**4."""
    near = loss(x + STEP * u) - loss(x - STEP * u)
    far = loss(x + 2 * STEP * u) - loss(x - 2 * STEP * u)
    return (8 * near - far) / (12 * STEP)


def agree(loss, gradient, x, rng):
    """Compare a gradient with the slopes along some random directions, and along every axis of a small input."""
    directions = [rng.standard_normal(x.shape) for _ in range(DIRECTIONS)]
    directions += [np.eye(1, x.size, int(i)).reshape(x.shape) for i in rng.choice(x.size, min(x.size, 12), False)]
    for u in directions:
        expected = slope(loss, x, u)
        scale = 1 + np.abs(gradient * u).sum()
        assert abs((gradient * u).sum() - expected) <= 1e-8 * scale


CONVOLUTIONS = [
    ((2, 3, 6, 5), (4, 3, 3, 2), {"padding": (1, 0)}),
    ((2, 4, 7, 8), (6, 2, 3, 3), {"padding": (1, 2), "stride": (2, 3), "dilation": (2, 1), "groups": 2}),
    ((1, 3, 5, 5), (3, 1, 3, 3), {"padding": (1, 1), "groups": 3, "mode": "CONVOLUTION"}),
    ((2, 2, 9, 9), (3, 2, 2, 2), {"padding": (0, 0), "stride": (4, 4)}),
    ((1, 2, 4, 5, 4), (2, 2, 2, 3, 2), {"padding": (1, 1, 0), "stride": (2, 1, 1), "dilation": (1, 1, 2)}),
]


@pytest.mark.parametrize(("x_dims", "w_dims", "parameters"), CONVOLUTIONS)
def test_convolution(reference, x_dims, w_dims, parameters):
    rng = np.random.default_rng(RNG_SEED)
    conv = dnn.ConvolutionDescriptor(**parameters)
    x, w = rng.standard_normal(x_dims), rng.standard_normal(w_dims)
    y = dnn.convolution_forward(reference, x, w, conv)
    g = rng.standard_normal(y.shape)
    bias = rng.standard_normal((1, w_dims[0], *[1] * (len(x_dims) - 2)))

    def loss(x, w, bias):
        y = dnn.convolution_forward(reference, x, w, conv, alpha=ALPHA)
        dnn.add_tensor(reference, bias, y)
        return (g * y).sum()

    prior = rng.standard_normal(x_dims)
    dx = dnn.convolution_backward_data(reference, w, g, conv, prior.copy(), alpha=ALPHA, beta=0.5)
    agree(lambda v: loss(v, w, bias), dx - 0.5 * prior, x, rng)
    prior = rng.standard_normal(w_dims)
    dw = dnn.convolution_backward_filter(reference, x, g, conv, prior.copy(), alpha=ALPHA, beta=-1.0)
    agree(lambda v: loss(x, v, bias), dw + prior, w, rng)
    db = dnn.convolution_backward_bias(reference, g)
    agree(lambda v: loss(x, w, v), db, bias, rng)


ACTIVATIONS = [("SIGMOID", {}), ("TANH", {}), ("RELU", {}), ("CLIPPED_RELU", {"ceiling": 0.8})]
ACTIVATIONS += [("ELU", {"coef": 0.7}), ("SWISH", {"coef": 1.3}), ("IDENTITY", {})]


@pytest.mark.parametrize(("mode", "parameters"), ACTIVATIONS)
def test_activation(reference, mode, parameters):
    rng = np.random.default_rng(RNG_SEED)
    activation = dnn.ActivationDescriptor(mode, **parameters)
    x = rng.standard_normal((2, 3, 4, 5))
    for kink in (0.0, 0.8):  # no difference quotient may straddle a kink
        x = np.where(np.abs(x - kink) < 0.01, x + 0.05, x)
    g = rng.standard_normal(x.shape)
    y = dnn.activation_forward(reference, x, activation)
    dx = dnn.activation_backward(reference, y, g, x, activation, alpha=ALPHA)
    agree(lambda v: (g * dnn.activation_forward(reference, v, activation, alpha=ALPHA)).sum(), dx, x, rng)


@pytest.mark.parametrize("mode", ["CHANNEL", "INSTANCE"])
@pytest.mark.parametrize("algorithm", ["FAST", "ACCURATE", "LOG"])
@pytest.mark.parametrize("dims", [(2, 5, 3, 2), (3, 4, 2), (2, 3, 1, 2, 3)])
def test_softmax(reference, dims, algorithm, mode):
    rng = np.random.default_rng(RNG_SEED)
    x, g = rng.standard_normal(dims), rng.standard_normal(dims)
    options = {"algorithm": algorithm, "mode": mode}
    y = dnn.softmax_forward(reference, x, **options)
    dx = dnn.softmax_backward(reference, y, g, alpha=ALPHA, **options)
    agree(lambda v: (g * dnn.softmax_forward(reference, v, alpha=ALPHA, **options)).sum(), dx, x, rng)


POOLINGS = [
    ((2, 3, 7, 6), {"window": (3, 2), "stride": (2, 2), "padding": (1, 1)}),
    ((1, 2, 5, 5), {"window": (3, 3)}),
    ((2, 2, 9, 9), {"window": (2, 2), "stride": (4, 4)}),
    ((1, 1, 2, 2), {"window": (2, 2), "padding": (2, 2)}),
    ((1, 2, 4, 5, 3), {"window": (2, 3, 2), "stride": (2, 1, 1), "padding": (1, 0, 1)}),
]


@pytest.mark.parametrize("mode", ["MAX", "AVERAGE_COUNT_INCLUDE_PADDING", "AVERAGE_COUNT_EXCLUDE_PADDING"])
@pytest.mark.parametrize(("dims", "parameters"), POOLINGS)
def test_pooling(reference, dims, parameters, mode):
    rng = np.random.default_rng(RNG_SEED)
    pooling = dnn.PoolingDescriptor(mode, **parameters)
    # distinct values, far apart beside STEP, so that no maximum changes hands
    x = rng.permutation(int(np.prod(dims))).reshape(dims) / 10.0
    y = dnn.pooling_forward(reference, x, pooling)
    g = np.where(np.abs(y) < 1e300, rng.standard_normal(y.shape), 0.0)  # windows of padding only are constant
    dx = dnn.pooling_backward(reference, y, g, x, pooling, alpha=ALPHA)

    def loss(v):
        y = dnn.pooling_forward(reference, v, pooling)
        return ALPHA * (g * np.where(g == 0, 0.0, y)).sum()

    agree(loss, dx, x, rng)


@pytest.mark.parametrize("operation", ["ADD", "MUL", "MIN", "MAX"])
def test_op_tensor_scales_its_inputs(reference, operation):
    """alpha1 and alpha2 scale before the operation: the slope along either input says by how much."""
    rng = np.random.default_rng(RNG_SEED)
    a, b, g = rng.standard_normal((2, 3, 4, 5)), rng.standard_normal((1, 3, 1, 5)), rng.standard_normal((2, 3, 4, 5))
    first, second = 1.5 * a, np.broadcast_to(-0.5 * b, a.shape)
    da, db = {
        "ADD": (1.0, 1.0),
        "MUL": (second, first),
        "MIN": (first < second, second <= first),
        "MAX": (first > second, second >= first),
    }[operation]

    def loss(a, b):
        return (g * dnn.op_tensor(reference, operation, a, b, alpha1=1.5, alpha2=-0.5)).sum()

    agree(lambda v: loss(v, b), 1.5 * g * da, a, rng)
    agree(lambda v: loss(a, v), (-0.5 * g * db).sum((0, 2), keepdims=True), b, rng)
