"""Some steps of LeNet's training, with MIOpen's names and MIOpen's order of calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn import miopen
from portadnn.miopen import (
    MIOPEN_SOFTMAX_ACCURATE,
    MIOPEN_SOFTMAX_MODE_CHANNEL,
    miopenActivationRELU,
    miopenPoolingMax,
    miopenTensorOpAdd,
)

from . import data
from .convolution_miopen import Convolution, tensor_4d

POOLED = 2  # layers that are pooled: the convolutions
LAST = len(data.FILTERS) - 1


class Shared:
    """The handle, and the descriptors that all layers share."""

    def __init__(self, backend: str):
        self.handle = miopen.miopenCreate(backend=backend)
        self.relu = miopen.miopenCreateActivationDescriptor()
        miopen.miopenSetActivationDescriptor(self.relu, miopenActivationRELU, 0.0, 0.0, 0.0)
        self.pool = miopen.miopenCreatePoolingDescriptor()
        miopen.miopenSet2dPoolingDescriptor(self.pool, miopenPoolingMax, 2, 2, 0, 0, 2, 2)


class Layer:
    """A convolution with bias, with its activation and pooling where it has them. All its memory is made here."""

    def __init__(self, shared: Shared, number: int, x_dims: tuple[int, ...], w: Any, bias: Any):
        self.shared, self.number = shared, number
        handle = shared.handle
        self.conv = Convolution(handle, x_dims, w.shape, data.PADDING[number])
        self.w, self.bias = handle.asarray(w), handle.asarray(bias)
        self.bias_desc = tensor_4d(bias.shape)
        self.dw, self.dbias = handle.empty(w.shape), handle.empty(bias.shape)
        self.w_velocity, self.bias_velocity = handle.zeros(w.shape), handle.zeros(bias.shape)

        self.dx = handle.empty(x_dims)
        self.dims, self.y_desc = self.conv.y_dims, self.conv.y_desc
        self.y, self.active, self.dy, self.dactive = (handle.empty(self.dims) for _ in range(4))
        if number < POOLED:
            self.dims = miopen.miopenGetPoolingForwardOutputDim(shared.pool, self.y_desc)
            self.pooled_desc, self.pooled = tensor_4d(self.dims), handle.empty(self.dims)
            size = miopen.miopenPoolingGetWorkSpaceSizeV2(shared.pool, self.pooled_desc)
            self.indices = handle.empty_bytes(size), size  # of the maxima, for the way back

    def forward(self, x: Any) -> Any:
        """Return the layer's output and keep what the way back needs."""
        handle, y_desc, y = self.shared.handle, self.y_desc, self.y
        self.x = x
        self.conv.forward(x, self.w, y)
        miopen.miopenConvolutionForwardBias(handle, 1, self.bias_desc, self.bias, 0, y_desc, y)  # beta is not 1 here
        if self.number == LAST:
            return y
        miopen.miopenActivationForward(handle, self.shared.relu, 1, y_desc, y, 0, y_desc, self.active)
        if self.number >= POOLED:
            return self.active
        pool, pooled = self.shared.pool, self.pooled_desc
        miopen.miopenPoolingForward(handle, pool, 1, y_desc, self.active, 0, pooled, self.pooled, True, *self.indices)
        return self.pooled

    def backward(self, dy: Any) -> Any:
        """Return the input's gradient, after moving the layer along its own."""
        handle, y_desc = self.shared.handle, self.y_desc
        if self.number < POOLED:
            pool, pooled, active = self.shared.pool, self.pooled_desc, self.active
            workspace, _ = self.indices
            miopen.miopenPoolingBackward(
                handle, pool, 1, pooled, self.pooled, pooled, dy, y_desc, active, 0, y_desc, self.dactive, workspace
            )
            dy = self.dactive
        if self.number != LAST:
            relu = self.shared.relu
            miopen.miopenActivationBackward(
                handle, relu, 1, y_desc, self.active, y_desc, dy, y_desc, self.y, 0, y_desc, self.dy
            )
            dy = self.dy
        # Of AMD's library up to 3.5; 3.6 has miopenReduceTensor for it (portadnn explain V60)
        miopen.miopenConvolutionBackwardBias(handle, 1, y_desc, dy, 0, self.bias_desc, self.dbias)
        self.conv.backward_weights(dy, self.x, self.dw)
        self.conv.backward_data(dy, self.w, self.dx)
        self._move(self.conv.w_desc, self.w, self.w_velocity, self.dw)
        self._move(self.bias_desc, self.bias, self.bias_velocity, self.dbias)
        return self.dx

    def _move(self, desc: Any, value: Any, velocity: Any, gradient: Any) -> None:
        handle, add, rate = self.shared.handle, miopenTensorOpAdd, data.LEARNING_RATE
        miopen.miopenOpTensor(handle, add, data.MOMENTUM, desc, velocity, 1, desc, gradient, 0, desc, velocity)
        miopen.miopenOpTensor(handle, add, 1, desc, value, -rate, desc, velocity, 0, desc, value)


def run(backend: str) -> dict[str, np.ndarray]:
    """Train, and return every step's probabilities and the last parameters."""
    found = {}
    shared = Shared(backend)
    handle = shared.handle
    dims: tuple[int, ...] = (data.BATCH, 1, data.SIDE, data.SIDE)
    layers = []
    for number, (w, bias) in enumerate(data.lenet_filters()):
        layers.append(Layer(shared, number, dims, w, bias))
        dims = layers[-1].dims
    desc = tensor_4d(dims)
    p, dp, dy = (handle.empty(dims) for _ in range(3))
    algo, mode = MIOPEN_SOFTMAX_ACCURATE, MIOPEN_SOFTMAX_MODE_CHANNEL
    for step, (images, targets) in enumerate(data.lenet_batches()):
        x = handle.asarray(images)
        for layer in layers:
            x = layer.forward(x)
        miopen.miopenSoftmaxForward_V2(handle, 1, desc, x, 0, desc, p, algo, mode)
        found[f"probabilities {step}"] = handle.to_numpy(p)
        share = 1 / data.BATCH  # of the loss, which is the mean of squares
        target = handle.asarray(targets)
        miopen.miopenOpTensor(handle, miopenTensorOpAdd, share, desc, p, -share, desc, target, 0, desc, dp)
        miopen.miopenSoftmaxBackward_V2(handle, 1, desc, p, desc, dp, 0, desc, dy, algo, mode)
        gradient = dy
        for layer in reversed(layers):
            gradient = layer.backward(gradient)
    for number, layer in enumerate(layers):
        found[f"w {number}"] = handle.to_numpy(layer.w)
        found[f"bias {number}"] = handle.to_numpy(layer.bias)
    miopen.miopenDestroy(handle)
    return found
