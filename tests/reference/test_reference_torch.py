"""The reference backend against PyTorch and its automatic differentiation, where PyTorch is installed."""

from __future__ import annotations

import numpy as np
import pytest
from helper import compare

import portadnn as dnn

torch = pytest.importorskip("torch", reason="torch is not installed")
F = torch.nn.functional
EXACT = 1e-11


def close(got, want):
    want = want.detach().numpy()
    compare(got, want, EXACT * (1 + np.abs(want)))


def normal(*dims, grad=False):
    values = np.random.default_rng(3).standard_normal(dims)
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def gradients(y, g, *inputs):
    return torch.autograd.grad(y, inputs, g)


CONVOLUTIONS = [
    ((2, 3, 6, 7), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 3, 9, 8), (5, 3, 3, 2), (0, 1), (2, 3), (1, 1), 1),
    ((1, 4, 9, 9), (6, 2, 3, 3), (2, 2), (1, 1), (2, 2), 2),
    ((2, 6, 7, 7), (6, 1, 3, 3), (1, 1), (2, 2), (1, 1), 6),
    ((2, 3, 4, 4), (5, 3, 2, 2), (3, 3), (1, 1), (1, 1), 1),
    ((2, 4, 5, 4, 5), (6, 2, 3, 2, 2), (1, 0, 1), (2, 1, 2), (1, 2, 1), 2),
]


@pytest.mark.parametrize(("x", "w", "padding", "stride", "dilation", "groups"), CONVOLUTIONS)
def test_convolution_and_its_gradients(reference, x, w, padding, stride, dilation, groups):
    x, w, bias = normal(*x, grad=True), normal(*w, grad=True), normal(w[0], grad=True)
    function = F.conv2d if x.ndim == 4 else F.conv3d
    y = function(x, w, bias, stride, padding, dilation, groups)
    g = normal(*y.shape)
    conv = dnn.ConvolutionDescriptor(padding=padding, stride=stride, dilation=dilation, groups=groups)
    host_x, host_w, host_g = x.detach().numpy(), w.detach().numpy(), g.numpy()
    got = dnn.convolution_forward(reference, host_x, host_w, conv)
    dnn.add_tensor(reference, bias.detach().numpy().reshape(1, -1, *[1] * (x.ndim - 2)), got)
    close(got, y)
    dx, dw, db = gradients(y, g, x, w, bias)
    close(dnn.convolution_backward_data(reference, host_w, host_g, conv, np.zeros(x.shape)), dx)
    close(dnn.convolution_backward_filter(reference, host_x, host_g, conv, np.zeros(w.shape)), dw)
    close(dnn.convolution_backward_bias(reference, host_g).ravel(), db)


POOLINGS = [
    ((2, 3, 6, 8), (2, 2), (2, 2), (0, 0)),
    ((1, 2, 7, 7), (3, 3), (2, 2), (1, 1)),
    ((2, 1, 9, 5), (3, 3), (4, 2), (1, 1)),
    ((1, 2, 4, 5, 6), (2, 2, 3), (2, 1, 2), (1, 1, 1)),
]


@pytest.mark.parametrize("mode", ["MAX", "AVERAGE_COUNT_INCLUDE_PADDING", "AVERAGE_COUNT_EXCLUDE_PADDING"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("x", "window", "stride", "padding"), POOLINGS)
def test_pooling_and_its_gradient(reference, x, window, stride, padding, ties, mode):
    x = normal(*x)
    x = (x.round() if ties else x).requires_grad_()  # torch, too, gives the gradient to the first maximum
    rank = x.ndim - 2
    if mode == "MAX":
        y = (F.max_pool2d if rank == 2 else F.max_pool3d)(x, window, stride, padding)
    else:
        function = F.avg_pool2d if rank == 2 else F.avg_pool3d
        y = function(x, window, stride, padding, count_include_pad="INCLUDE" in mode)
    g = normal(*y.shape)
    pooling = dnn.PoolingDescriptor(mode, window, padding=padding, stride=stride)
    host = x.detach().numpy()
    got = dnn.pooling_forward(reference, host, pooling)
    close(got, y)
    close(dnn.pooling_backward(reference, got, g.numpy(), host, pooling), *gradients(y, g, x))


@pytest.mark.parametrize(
    ("mode", "function"),
    [
        ("SIGMOID", torch.sigmoid),
        ("RELU", torch.relu),
        ("TANH", torch.tanh),
        ("CLIPPED_RELU", lambda x: F.hardtanh(x, 0.0, 1.5)),
        ("ELU", F.elu),
        ("SWISH", F.silu),
    ],
)
def test_activation_and_its_gradient(reference, mode, function):
    x = (3 * normal(2, 3, 5, 7)).requires_grad_()
    y = function(x)
    g = normal(*y.shape)
    activation = dnn.ActivationDescriptor(mode, ceiling=1.5)
    host = x.detach().numpy()
    got = dnn.activation_forward(reference, host, activation)
    close(got, y)
    close(dnn.activation_backward(reference, got, g.numpy(), host, activation), *gradients(y, g, x))


@pytest.mark.parametrize(
    ("algorithm", "function"), [("FAST", F.softmax), ("ACCURATE", F.softmax), ("LOG", F.log_softmax)]
)
@pytest.mark.parametrize("mode", ["CHANNEL", "INSTANCE"])
def test_softmax_and_its_gradient(reference, mode, algorithm, function):
    x = (4 * normal(2, 5, 3, 4)).requires_grad_()
    y = function(x, 1) if mode == "CHANNEL" else function(x.reshape(2, -1), 1).reshape(x.shape)
    g = normal(*y.shape)
    options = {"algorithm": algorithm, "mode": mode}
    got = dnn.softmax_forward(reference, x.detach().numpy(), **options)
    close(got, y)
    close(dnn.softmax_backward(reference, got, g.numpy(), **options), *gradients(y, g, x))


def test_tensors_of_torch_are_used_in_place(reference):
    x = normal(2, 3, 4, 5)
    y = torch.full((2, 3, 4, 5), torch.nan, dtype=torch.float64)
    out = dnn.activation_forward(reference, x, dnn.ActivationDescriptor("RELU"), y)
    assert out is y
    torch.testing.assert_close(y, torch.relu(x))
