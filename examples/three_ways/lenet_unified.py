"""Some steps of LeNet's training, with portadnn's own names."""

from __future__ import annotations

from typing import Any

import numpy as np

import portadnn as dnn

from . import data

RELU = dnn.ActivationDescriptor("relu")
POOL = dnn.PoolingDescriptor("max", window=(2, 2), stride=(2, 2))
ADD = dnn.OpTensorDescriptor("add")
POOLED = 2  # layers that are pooled: the convolutions
LAST = len(data.FILTERS) - 1


class Layer:
    """A convolution with bias, with its activation and pooling where it has them."""

    def __init__(self, handle: dnn.Handle, number: int, w: Any, bias: Any):
        self.handle, self.number = handle, number
        self.conv = dnn.ConvolutionDescriptor(padding=(data.PADDING[number],) * 2)
        self.w, self.bias = handle.asarray(w), handle.asarray(bias)
        self.dw, self.dbias = handle.empty(w.shape), handle.empty(bias.shape)
        self.w_velocity, self.bias_velocity = handle.zeros(w.shape), handle.zeros(bias.shape)

    def forward(self, x: Any) -> Any:
        """Return the layer's output and keep what the way back needs."""
        handle = self.handle
        self.x = x
        y = dnn.convolution_forward(handle, x, self.w, self.conv, algo="implicit_gemm")
        self.y = dnn.op_tensor(handle, ADD, y, self.bias, y)
        if self.number == LAST:
            return self.y
        self.active = dnn.activation_forward(handle, self.y, RELU)
        if self.number >= POOLED:
            return self.active
        self.pooled = dnn.pooling_forward(handle, self.active, POOL)
        return self.pooled

    def backward(self, dy: Any) -> Any:
        """Return the input's gradient, after moving the layer along its own."""
        handle = self.handle
        if self.number < POOLED:
            dy = dnn.pooling_backward(handle, self.pooled, dy, self.active, POOL)
        if self.number != LAST:
            dy = dnn.activation_backward(handle, self.active, dy, self.y, RELU)
        dnn.convolution_backward_bias(handle, dy, self.dbias)
        dnn.convolution_backward_filter(handle, self.x, dy, self.conv, self.dw, algo="algo_1")
        dx = dnn.convolution_backward_data(handle, self.w, dy, self.conv, handle.empty(self.x.shape), algo="algo_1")
        self._move(self.w, self.w_velocity, self.dw)
        self._move(self.bias, self.bias_velocity, self.dbias)
        return dx

    def _move(self, value: Any, velocity: Any, gradient: Any) -> None:
        dnn.op_tensor(self.handle, ADD, velocity, gradient, velocity, alpha1=data.MOMENTUM)
        dnn.op_tensor(self.handle, ADD, value, velocity, value, alpha2=-data.LEARNING_RATE)


def run(backend: str) -> dict[str, np.ndarray]:
    """Train, and return every step's probabilities and the last parameters."""
    found = {}
    with dnn.Handle(backend) as handle:
        layers = [Layer(handle, number, w, bias) for number, (w, bias) in enumerate(data.lenet_filters())]
        for step, (images, targets) in enumerate(data.lenet_batches()):
            x = handle.asarray(images)
            for layer in layers:
                x = layer.forward(x)
            p = dnn.softmax_forward(handle, x, algorithm="accurate", mode="channel")
            found[f"probabilities {step}"] = handle.to_numpy(p)
            share = 1 / data.BATCH  # of the loss, which is the mean of squares
            dp = dnn.op_tensor(handle, ADD, p, handle.asarray(targets), alpha1=share, alpha2=-share)
            dy = dnn.softmax_backward(handle, p, dp, algorithm="accurate", mode="channel")
            for layer in reversed(layers):
                dy = layer.backward(dy)
        for number, layer in enumerate(layers):
            found[f"w {number}"] = handle.to_numpy(layer.w)
            found[f"bias {number}"] = handle.to_numpy(layer.bias)
    return found
