"""LeNet, trained as MIOpen 1 wants it: sizes, Finds, then convolutions with what was found; nothing blended, and
nothing but float32, 4-D and NCHW. A clean program, on which no profile of MIOpen has anything to say; MIOpen 3 has
the gradient of a bias as a reduction only, which MIOpen 1 does not have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import portadnn as dnn

POOL = dnn.PoolingDescriptor("max", window=(2, 2), stride=(2, 2))
RELU = dnn.ActivationDescriptor("relu")
RATE = 0.05


class Convolution:
    """A convolution whose three directions are found once for each size of the batch."""

    def __init__(
        self, handle: dnn.Handle, rng: np.random.Generator, k: int, c: int, r: int, pad: int, reduces: bool
    ) -> None:
        self.handle, self.reduces = handle, reduces
        self.conv = dnn.ConvolutionDescriptor((pad, pad))
        self.w = handle.asarray(rng.normal(0, np.sqrt(2 / (c * r * r)), (k, c, r, r)), "float32")
        self.dw = handle.zeros((k, c, r, r))
        self.bias = handle.zeros((1, k, 1, 1))
        self.found: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def find(self, x: Any) -> tuple[Any, ...]:
        """Return an algorithm for each direction and a workspace that does for all."""
        handle, conv, w = self.handle, self.conv, self.w
        y = handle.empty(dnn.get_convolution_2d_forward_output_dim(conv, x.shape, w.shape))
        dx, dw = handle.empty(x.shape), handle.empty(w.shape)
        size = max(
            dnn.get_convolution_forward_find_workspace_size(handle, x, w, conv, y),
            dnn.get_convolution_backward_data_find_workspace_size(handle, w, y, conv, dx),
            dnn.get_convolution_backward_filter_find_workspace_size(handle, x, y, conv, dw),
        )
        workspace = handle.empty_bytes(size)
        forward = dnn.find_convolution_forward_algorithm_ex(handle, x, w, conv, y, workspace=workspace)
        data = dnn.find_convolution_backward_data_algorithm_ex(handle, w, y, conv, dx, workspace=workspace)
        filter = dnn.find_convolution_backward_filter_algorithm_ex(handle, x, y, conv, dw, workspace=workspace)
        return forward[0].algo, data[0].algo, filter[0].algo, workspace

    def forward(self, x: Any) -> Any:
        if x.shape not in self.found:
            self.found[x.shape] = self.find(x)
        self.x = x
        algo, _, _, workspace = self.found[x.shape]
        y = dnn.convolution_forward(self.handle, x, self.w, self.conv, algo=algo, workspace=workspace)
        return dnn.add_tensor(self.handle, self.bias, y)

    def backward(self, dy: Any) -> Any:
        handle, conv, x = self.handle, self.conv, self.x
        _, data, filter, workspace = self.found[x.shape]
        dnn.convolution_backward_filter(handle, x, dy, conv, self.dw, algo=filter, workspace=workspace)
        if self.reduces:
            db = dnn.reduce_tensor(handle, dnn.ReduceTensorDescriptor("add"), dy, handle.empty(self.bias.shape))
        else:
            db = dnn.convolution_backward_bias(handle, dy)
        dx = handle.empty(x.shape)
        dnn.convolution_backward_data(handle, self.w, dy, conv, dx, algo=data, workspace=workspace)
        for parameter, gradient in ((self.w, self.dw), (self.bias, db)):
            dnn.scale_tensor(handle, gradient, -RATE)
            dnn.op_tensor(handle, "add", parameter, gradient, parameter)
        return dx


class Pool:
    def __init__(self, handle: dnn.Handle) -> None:
        self.handle = handle

    def forward(self, x: Any) -> Any:
        self.x, self.y = x, dnn.pooling_forward(self.handle, x, POOL)
        return self.y

    def backward(self, dy: Any) -> Any:
        return dnn.pooling_backward(self.handle, self.y, dy, self.x, POOL)


class Relu:
    def __init__(self, handle: dnn.Handle) -> None:
        self.handle = handle

    def forward(self, x: Any) -> Any:
        self.x, self.y = x, dnn.activation_forward(self.handle, x, RELU)
        return self.y

    def backward(self, dy: Any) -> Any:
        return dnn.activation_backward(self.handle, self.y, dy, self.x, RELU)


def train(handle: dnn.Handle, reduces: bool, steps: int = 12, batch: int = 10) -> list[float]:
    """Learn to tell four patterns of 8 x 8 pixels apart, and return the loss of every step.

    `reduces` computes the gradients of biases by reductions.
    """
    rng = np.random.default_rng(0)
    layers = [
        Convolution(handle, rng, 6, 1, 3, 1, reduces),
        Pool(handle),
        Relu(handle),
        Convolution(handle, rng, 12, 6, 3, 1, reduces),
        Pool(handle),
        Relu(handle),
        Convolution(handle, rng, 4, 12, 2, 0, reduces),
    ]
    patterns = rng.normal(size=(4, 1, 8, 8))
    losses = []
    for step in range(steps):
        n = batch if step % 4 else batch - 3  # the last batch of an epoch is smaller
        labels = rng.integers(4, size=n)
        x = handle.asarray(patterns[labels] + 0.1 * rng.normal(size=(n, 1, 8, 8)), "float32")
        minus = handle.asarray(-np.eye(4)[labels][:, :, None, None], "float32")
        y = x
        for layer in layers:
            y = layer.forward(y)
        p = dnn.softmax_forward(handle, y, algorithm="accurate", mode="channel")
        losses.append(-float(np.log(handle.to_numpy(p)[np.arange(n), labels, 0, 0]).mean()))
        dy = dnn.op_tensor(handle, "add", p, minus)
        dnn.scale_tensor(handle, dy, 1 / n)
        for layer in reversed(layers):
            dy = layer.backward(dy)
    return losses
