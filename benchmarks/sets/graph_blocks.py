"""Twelve graphs of networks: blocks of ResNet, U-Net and transformers.

They are built through the methods that ``portadnn.graph`` shares with cudnn-frontend's Python module, so that both can
build them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import portadnn.graph as pg

EPSILON = 1e-5


class Block:
    """A graph under construction, of module `api`: portadnn.graph, or cudnn-frontend's.

    Attributes
    ----------
    size : int
        Images, or sequences.
    inputs : list of tensor
        What the variant pack needs beside the outputs and `numbers`.
    numbers : dict from tensor to float
        Numbers that the variant pack passes by value.
    """

    def __init__(self, api: Any, graph: Any, size: int) -> None:
        self.api, self.g, self.size = api, graph, size
        self.inputs: list[Any] = []
        self.numbers: dict[Any, float] = {}

    def _input(self, dim: list[int], stride: list[int], **options: Any) -> Any:
        self.inputs.append(self.g.tensor(dim=dim, stride=stride, **options))
        return self.inputs[-1]

    def image(self, channels: int, side: int) -> Any:
        """Return an input of images, channels last."""
        c, p = channels, side * side
        return self._input(dim=[self.size, c, side, side], stride=[c * p, 1, side * c, c])

    def filters(self, count: int, channels: int, window: int) -> Any:
        """Return square filters, channels last."""
        c = channels
        return self._input(dim=[count, c, window, window], stride=[c * window * window, 1, window * c, c])

    def channels(self, count: int) -> Any:
        """Return a number for each channel."""
        return self._input(dim=[1, count, 1, 1], stride=[count, 1, count, count])

    def parameters(self, count: int) -> Any:
        """Return a number in single precision for each channel, as norms of images keep them."""
        single = self.api.data_type.FLOAT
        return self._input(dim=[1, count, 1, 1], stride=[count, 1, count, count], data_type=single)

    def single(self, *tensors: Any) -> list[Any]:
        """Return results that are in single precision whatever the inputs are."""
        return [one.set_data_type(self.api.data_type.FLOAT) for one in tensors]

    def rows(self, *dims: int) -> Any:
        """Return a packed input."""
        strides = [math.prod(dims[i + 1 :]) for i in range(len(dims))]
        return self._input(dim=list(dims), stride=strides)

    def scalar(self, value: float) -> Any:
        """Return a number that does not change: a constant here, passed by value elsewhere."""
        if self.api is pg:
            return self.g.tensor_scalar(value)
        ones, single = [1, 1, 1, 1], self.api.data_type.FLOAT
        made = self.g.tensor(dim=ones, stride=ones, data_type=single, is_pass_by_value=True)
        self.numbers[made] = value
        return made

    def norm(self, name: str, x: Any, scale: Any, bias: Any) -> Any:
        """Return a norm for inference."""
        phase, epsilon = self.api.norm_forward_phase.INFERENCE, self.scalar(EPSILON)
        made = getattr(self.g, name)(norm_forward_phase=phase, input=x, scale=scale, bias=bias, epsilon=epsilon)
        return made[0]

    def conv(self, x: Any, w: Any, padding: int, stride: int = 1) -> Any:
        """Return a convolution."""
        return self.g.conv_fprop(
            image=x, weight=w, padding=[padding, padding], stride=[stride, stride], dilation=[1, 1]
        )


def _conv_bias_relu(b: Block) -> list[Any]:
    return [b.g.relu(b.g.bias(b.conv(b.image(64, 28), b.filters(64, 64, 3), 1), b.channels(64)))]


def _conv_scale_add_relu(b: Block) -> list[Any]:
    y = b.conv(b.image(64, 28), b.filters(256, 64, 1), 0)
    y = b.g.add(b.g.scale(y, b.channels(256)), b.channels(256))
    return [b.g.relu(b.g.add(y, b.image(256, 28)))]


def _norm_add_relu(b: Block) -> list[Any]:
    y = b.g.batchnorm_inference(b.image(128, 28), *(b.parameters(128) for _ in range(4)))
    return [b.g.relu(b.g.add(y, b.image(128, 28)))]


def _batchnorm_relu(b: Block) -> list[Any]:
    x = b.image(64, 28)
    parameters = [b.parameters(64) for _ in range(4)]
    y, mean, inverse, *running = b.g.batchnorm(x, *parameters, b.scalar(EPSILON), b.scalar(0.1))
    return [b.g.relu(y), *b.single(mean, inverse, *running)]


def _relu_gradient_add(b: Block) -> list[Any]:
    dy = b.g.add(b.image(128, 28), b.image(128, 28))
    return [dx := b.g.relu_backward(dy, b.image(128, 28)), b.g.mul(dx, b.channels(128))]


def _conv_bias_swish(b: Block) -> list[Any]:
    return [b.g.swish(b.g.bias(b.conv(b.image(32, 32), b.filters(32, 32, 3), 1), b.channels(32)))]


def _instancenorm_leaky(b: Block) -> list[Any]:
    y = b.norm("instancenorm", b.image(32, 32), b.parameters(32), b.parameters(32))
    return [b.g.leaky_relu(y, negative_slope=0.01)]


def _gate(b: Block) -> list[Any]:
    x, skip = b.image(64, 32), b.image(64, 32)
    return [b.g.mul(skip, b.g.sigmoid(b.g.add(b.g.mul(x, b.channels(64)), b.channels(64))))]


def _matmul_bias_gelu(b: Block) -> list[Any]:
    y = b.g.matmul(b.rows(1, 32 * b.size, 256), b.rows(1, 256, 1024))
    return [b.g.gelu_approx_tanh(b.g.add(y, b.rows(1, 1, 1024)))]


def _scale_mask_softmax(b: Block) -> list[Any]:
    scores = b.g.add(b.g.mul(b.rows(b.size, 8, 128, 128), b.scalar(0.125)), b.rows(1, 1, 128, 128))
    top = b.g.reduction(scores, mode=b.api.reduction_mode.MAX)
    powers = b.g.exp(b.g.sub(scores, top.set_dim([b.size, 8, 128, 1]).set_stride([1024, 128, 1, 1])))
    total = b.g.reduction(powers, mode=b.api.reduction_mode.ADD)
    return [b.g.div(powers, total.set_dim([b.size, 8, 128, 1]).set_stride([1024, 128, 1, 1]))]


def _residual_layernorm(b: Block) -> list[Any]:
    total = b.g.add(b.rows(64 * b.size, 512, 1, 1), b.rows(64 * b.size, 512, 1, 1))
    return [b.norm("layernorm", total, b.rows(1, 512, 1, 1), b.rows(1, 512, 1, 1)), total]


def _swiglu(b: Block) -> list[Any]:
    return [b.g.mul(b.g.swish(b.rows(1, 64 * b.size, 1024)), b.rows(1, 64 * b.size, 1024))]


GRAPHS: dict[str, Callable[[Block], list[Any]]] = {
    "ResNet: convolution, bias, relu": _conv_bias_relu,
    "ResNet: convolution, scale, bias, residual, relu": _conv_scale_add_relu,
    "ResNet: batch norm, residual, relu": _norm_add_relu,
    "ResNet: batch norm (training), relu": _batchnorm_relu,
    "ResNet: gradient of residual, relu and scale": _relu_gradient_add,
    "U-Net: convolution, bias, swish": _conv_bias_swish,
    "U-Net: instance norm, leaky relu": _instancenorm_leaky,
    "U-Net: gated skip": _gate,
    "transformer: product, bias, gelu": _matmul_bias_gelu,
    "transformer: scale, mask, softmax": _scale_mask_softmax,
    "transformer: residual, layer norm": _residual_layernorm,
    "transformer: swiglu": _swiglu,
}

PRODUCTS = ("conv_fprop", "matmul")  # kinds of node that make a graph one of products
