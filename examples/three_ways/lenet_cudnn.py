"""Some steps of LeNet's training, with cuDNN's names: arguments as in C, what C returns through pointers returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn import cudnn
from portadnn.cudnn import (
    CUDNN_ACTIVATION_RELU,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
    CUDNN_CROSS_CORRELATION,
    CUDNN_DATA_FLOAT,
    CUDNN_NOT_PROPAGATE_NAN,
    CUDNN_OP_TENSOR_ADD,
    CUDNN_POOLING_MAX,
    CUDNN_SOFTMAX_ACCURATE,
    CUDNN_SOFTMAX_MODE_CHANNEL,
    CUDNN_TENSOR_NCHW,
)

from . import data

POOLED = 2  # layers that are pooled: the convolutions
LAST = len(data.FILTERS) - 1


def tensor_4d(dims: tuple[int, ...]) -> Any:
    """Return a descriptor of a packed float tensor."""
    desc = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, *dims)
    return desc


class Shared:
    """The handle, and the descriptors that all layers share."""

    def __init__(self, backend: str):
        self.handle = cudnn.cudnnCreate(backend=backend)
        self.relu = cudnn.cudnnCreateActivationDescriptor()
        cudnn.cudnnSetActivationDescriptor(self.relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0.0)
        self.pool = cudnn.cudnnCreatePoolingDescriptor()
        cudnn.cudnnSetPooling2dDescriptor(self.pool, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 2, 2, 0, 0, 2, 2)
        self.add = cudnn.cudnnCreateOpTensorDescriptor()
        cudnn.cudnnSetOpTensorDescriptor(self.add, CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN)


class Layer:
    """A convolution with bias, with its activation and pooling where it has them. All its memory is made here."""

    def __init__(self, shared: Shared, number: int, x_dims: tuple[int, ...], w: Any, bias: Any):
        self.shared, self.number = shared, number
        handle, pad = shared.handle, data.PADDING[number]
        self.conv = cudnn.cudnnCreateConvolutionDescriptor()
        cudnn.cudnnSetConvolution2dDescriptor(self.conv, pad, pad, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION)
        self.w_desc = cudnn.cudnnCreateFilterDescriptor()
        cudnn.cudnnSetFilter4dDescriptor(self.w_desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, *w.shape)
        self.w_as_tensor, self.bias_desc = tensor_4d(w.shape), tensor_4d(bias.shape)
        self.w, self.bias = handle.asarray(w), handle.asarray(bias)
        self.dw, self.dbias = handle.empty(w.shape), handle.empty(bias.shape)
        self.w_velocity, self.bias_velocity = handle.zeros(w.shape), handle.zeros(bias.shape)

        self.x_desc, self.dx = tensor_4d(x_dims), handle.empty(x_dims)
        self.dims = cudnn.cudnnGetConvolution2dForwardOutputDim(self.conv, self.x_desc, self.w_desc)
        self.y_desc = tensor_4d(self.dims)
        self.y, self.active, self.dy, self.dactive = (handle.empty(self.dims) for _ in range(4))
        if number < POOLED:
            self.dims = cudnn.cudnnGetPooling2dForwardOutputDim(self.pool, self.y_desc)
            self.pooled_desc, self.pooled = tensor_4d(self.dims), handle.empty(self.dims)

    @property
    def pool(self) -> Any:
        """How the layer is pooled."""
        return self.shared.pool

    def forward(self, x: Any) -> Any:
        """Return the layer's output and keep what the way back needs."""
        handle, shared, y_desc, y = self.shared.handle, self.shared, self.y_desc, self.y
        self.x = x
        algo = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM
        size = cudnn.cudnnGetConvolutionForwardWorkspaceSize(handle, self.x_desc, self.w_desc, self.conv, y_desc, algo)
        workspace = handle.empty_bytes(size)
        cudnn.cudnnConvolutionForward(
            handle, 1, self.x_desc, x, self.w_desc, self.w, self.conv, algo, workspace, size, 0, y_desc, y
        )
        cudnn.cudnnOpTensor(handle, shared.add, 1, y_desc, y, 1, self.bias_desc, self.bias, 0, y_desc, y)
        if self.number == LAST:
            return y
        cudnn.cudnnActivationForward(handle, shared.relu, 1, y_desc, y, 0, y_desc, self.active)
        if self.number >= POOLED:
            return self.active
        cudnn.cudnnPoolingForward(handle, self.pool, 1, y_desc, self.active, 0, self.pooled_desc, self.pooled)
        return self.pooled

    def backward(self, dy: Any) -> Any:
        """Return the input's gradient, after moving the layer along its own."""
        handle, y_desc, conv = self.shared.handle, self.y_desc, self.conv
        if self.number < POOLED:
            pooled = self.pooled_desc
            cudnn.cudnnPoolingBackward(
                handle, self.pool, 1, pooled, self.pooled, pooled, dy, y_desc, self.active, 0, y_desc, self.dactive
            )
            dy = self.dactive
        if self.number != LAST:
            relu = self.shared.relu
            cudnn.cudnnActivationBackward(
                handle, relu, 1, y_desc, self.active, y_desc, dy, y_desc, self.y, 0, y_desc, self.dy
            )
            dy = self.dy
        cudnn.cudnnConvolutionBackwardBias(handle, 1, y_desc, dy, 0, self.bias_desc, self.dbias)
        algo = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1
        cudnn.cudnnConvolutionBackwardFilter(
            handle, 1, self.x_desc, self.x, y_desc, dy, conv, algo, None, 0, 0, self.w_desc, self.dw
        )
        algo = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1
        cudnn.cudnnConvolutionBackwardData(
            handle, 1, self.w_desc, self.w, y_desc, dy, conv, algo, None, 0, 0, self.x_desc, self.dx
        )
        self._move(self.w_as_tensor, self.w, self.w_velocity, self.dw)
        self._move(self.bias_desc, self.bias, self.bias_velocity, self.dbias)
        return self.dx

    def _move(self, desc: Any, value: Any, velocity: Any, gradient: Any) -> None:
        handle, add = self.shared.handle, self.shared.add
        cudnn.cudnnOpTensor(handle, add, data.MOMENTUM, desc, velocity, 1, desc, gradient, 0, desc, velocity)
        cudnn.cudnnOpTensor(handle, add, 1, desc, value, -data.LEARNING_RATE, desc, velocity, 0, desc, value)


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
    algo, mode = CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL
    for step, (images, targets) in enumerate(data.lenet_batches()):
        x = handle.asarray(images)
        for layer in layers:
            x = layer.forward(x)
        cudnn.cudnnSoftmaxForward(handle, algo, mode, 1, desc, x, 0, desc, p)
        found[f"probabilities {step}"] = handle.to_numpy(p)
        share = 1 / data.BATCH  # of the loss, which is the mean of squares
        target = handle.asarray(targets)
        cudnn.cudnnOpTensor(handle, shared.add, share, desc, p, -share, desc, target, 0, desc, dp)
        cudnn.cudnnSoftmaxBackward(handle, algo, mode, 1, desc, p, desc, dp, 0, desc, dy)
        gradient = dy
        for layer in reversed(layers):
            gradient = layer.backward(gradient)
    for number, layer in enumerate(layers):
        found[f"w {number}"] = handle.to_numpy(layer.w)
        found[f"bias {number}"] = handle.to_numpy(layer.bias)
    cudnn.cudnnDestroy(handle)
    return found
