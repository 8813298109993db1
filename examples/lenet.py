"""LeNet, learning handwritten digits. One program, unchanged on CUDA, OpenCL and NumPy.

``python examples/lenet.py`` (or ``portadnn demo``, which is the same) trains it on every device of this machine
and compares what they learned. Here is the network and how it learns; everything computed is a call of portadnn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import portadnn as dnn

CHANNELS = (16, 32, 64)  # of the two convolutions and of the first fully connected layer
CLASSES = 10
LEARNING_RATE, MOMENTUM = 0.02, 0.9

POOL = dnn.PoolingDescriptor("max", window=(2, 2), stride=(2, 2))
RELU = dnn.ActivationDescriptor("relu")


class Convolution:
    """A convolution with bias, its weights, and the velocities with which they move.

    A filter as large as the image makes it a fully connected layer.
    """

    def __init__(self, handle: dnn.Handle, rng: np.random.Generator, k: int, c: int, r: int, s: int, pad: int = 0):
        self.handle = handle
        self.conv = dnn.ConvolutionDescriptor(padding=(pad, pad))
        self.w = handle.asarray(rng.normal(0, np.sqrt(2 / (c * r * s)), (k, c, r, s)), "float32")
        self.bias = handle.zeros((1, k, 1, 1))
        self.w_velocity = handle.zeros((k, c, r, s))
        self.bias_velocity = handle.zeros((1, k, 1, 1))

    def forward(self, x: Any) -> Any:
        """Return y, and keep x for the way back."""
        self.x = x
        y = dnn.convolution_forward(self.handle, x, self.w, self.conv)
        return dnn.add_tensor(self.handle, self.bias, y)

    def backward(self, dy: Any) -> Any:
        """Add the gradients to the velocities (velocity = MOMENTUM * velocity + gradient) and return dx."""
        dnn.convolution_backward_filter(self.handle, self.x, dy, self.conv, self.w_velocity, beta=MOMENTUM)
        dnn.convolution_backward_bias(self.handle, dy, self.bias_velocity, beta=MOMENTUM)
        dx = self.handle.empty(self.x.shape)
        return dnn.convolution_backward_data(self.handle, self.w, dy, self.conv, dx)

    def step(self) -> None:
        """Move the weights by their velocities."""
        dnn.add_tensor(self.handle, self.w_velocity, self.w, alpha=-LEARNING_RATE)
        dnn.add_tensor(self.handle, self.bias_velocity, self.bias, alpha=-LEARNING_RATE)


class MaxPool:
    """The largest of every 2x2 pixels."""

    def __init__(self, handle: dnn.Handle):
        self.handle = handle

    def forward(self, x: Any) -> Any:
        """Return y, and keep x and y for the way back."""
        self.x, self.y = x, dnn.pooling_forward(self.handle, x, POOL)
        return self.y

    def backward(self, dy: Any) -> Any:
        """Return dx."""
        return dnn.pooling_backward(self.handle, self.y, dy, self.x, POOL)


class Relu:
    """max(x, 0)."""

    def __init__(self, handle: dnn.Handle):
        self.handle = handle

    def forward(self, x: Any) -> Any:
        """Return y, and keep x and y for the way back."""
        self.x, self.y = x, dnn.activation_forward(self.handle, x, RELU)
        return self.y

    def backward(self, dy: Any) -> Any:
        """Return dx."""
        return dnn.activation_backward(self.handle, self.y, dy, self.x, RELU)


class LeNet:
    """Two convolutions, each pooled, and two fully connected layers, for images of h x w pixels."""

    def __init__(self, handle: dnn.Handle, h: int, w: int, seed: int):
        rng = np.random.default_rng(seed)  # the same first weights on every device
        k1, k2, k3 = CHANNELS
        self.handle = handle
        self.layers = [
            Convolution(handle, rng, k1, 1, 3, 3, pad=1),
            MaxPool(handle),
            Relu(handle),
            Convolution(handle, rng, k2, k1, 3, 3, pad=1),
            MaxPool(handle),
            Relu(handle),
            Convolution(handle, rng, k3, k2, h // 4, w // 4),
            Relu(handle),
            Convolution(handle, rng, CLASSES, k3, 1, 1),
        ]

    def forward(self, x: Any) -> Any:
        """Return the logarithm of each class's probability, (n, 10, 1, 1)."""
        for layer in self.layers:
            x = layer.forward(x)
        return dnn.softmax_forward(self.handle, x, algorithm="log")

    def learn(self, x: Any, target: Any) -> Any:
        """Take one step; return the cross-entropy before it, class by class, (1, 10, 1, 1) and on the device."""
        handle, mean = self.handle, -1 / x.shape[0]
        log_p = self.forward(x)
        loss = dnn.convolution_backward_bias(handle, dnn.op_tensor(handle, "mul", log_p, target), alpha=mean)
        dy = dnn.softmax_backward(handle, log_p, target, algorithm="log", alpha=mean)
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        for layer in self.layers:
            if isinstance(layer, Convolution):
                layer.step()
        return loss

    def train(self, images: Any, labels: Any, epochs: int, batch: int, seed: int) -> Iterator[list[float]]:
        """Learn from (n, 1, h, w) images and their labels; yield the losses of each epoch's steps."""
        rng = np.random.default_rng(seed)  # the same order of images on every device
        targets = np.eye(CLASSES, dtype=np.float32)[labels][:, :, None, None]
        starts = range(0, len(images) - batch + 1, batch)
        for _ in range(epochs):
            order = rng.permutation(len(images))
            x, target = self.handle.asarray(images[order]), self.handle.asarray(targets[order])
            losses = [self.learn(x[i : i + batch], target[i : i + batch]) for i in starts]
            yield [float(self.handle.to_numpy(loss).sum()) for loss in losses]

    def classify(self, images: Any, batch: int = 500) -> Any:
        """Return the most likely digit of every image."""
        parts = [images[i : i + batch] for i in range(0, len(images), batch)]
        log_p = [self.handle.to_numpy(self.forward(self.handle.asarray(part))) for part in parts]
        return np.concatenate(log_p).argmax(axis=1).ravel()


if __name__ == "__main__":
    import sys

    from portadnn.cli.main import main

    main(["demo", *sys.argv[1:]])
