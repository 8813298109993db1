"""ResNet-50's forward pass, captured and replayed. The weights are random: it shows calls, not classes.

``python examples/resnet50.py`` times it on the best device, call by call and as replays.
Each batch normalisation is folded into the convolution before it, so that convolution, bias, residual and ReLU are
one call: ``y = relu(conv(x, w) + z + bias)``. The fully connected layer is such a convolution, too, with a 1x1 filter.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import portadnn as dnn

BLOCKS = (3, 4, 6, 3)  # of each stage, He et al. 2015, table 1
EXPANSION = 4  # channels that a block returns, for each that it works with
EPSILON = 1e-5
RELU, IDENTITY = dnn.ActivationDescriptor("relu"), dnn.ActivationDescriptor("identity")
MAX_POOL = dnn.PoolingDescriptor("max", window=(3, 3), padding=(1, 1), stride=(2, 2))


class Convolution:
    """A convolution with the batch normalisation after it, and a ReLU or none."""

    def __init__(self, net: ResNet, c: int, k: int, taps: int, stride: int = 1, activation: Any = RELU):
        self.handle, self.activation = net.handle, activation
        self.conv = dnn.ConvolutionDescriptor(padding=(taps // 2, taps // 2), stride=(stride, stride))
        w, scale, shift, mean, variance = net.random(k, c, taps)
        factor = scale / np.sqrt(variance + EPSILON)
        self.w = net.array(w * factor[:, None, None, None])
        self.bias = net.array((shift - mean * factor)[None, :, None, None])

    def __call__(self, x: Any, z: Any = None) -> Any:
        """Return activation(batch_norm(conv(x)) + z)."""
        weight = 0.0 if z is None else 1.0
        return dnn.convolution_bias_activation_forward(
            self.handle, x, self.w, self.conv, self.bias, self.activation, z=z, alpha2=weight
        )


class Block:
    """1x1, 3x3 (with the stride) and 1x1 convolution, and what came in added before the last ReLU."""

    def __init__(self, net: ResNet, c: int, width: int, stride: int):
        k = EXPANSION * width
        self.reduce = Convolution(net, c, width, 1)
        self.spatial = Convolution(net, width, width, 3, stride)
        self.expand = Convolution(net, width, k, 1)
        self.shortcut = Convolution(net, c, k, 1, stride, IDENTITY) if stride > 1 or c != k else None

    def __call__(self, x: Any) -> Any:
        """Return the block's output."""
        z = x if self.shortcut is None else self.shortcut(x)
        return self.expand(self.spatial(self.reduce(x)), z)


class ResNet:
    """The network for inference.

    Parameters
    ----------
    dtype, format
        Type and layout of all tensors.
    blocks, width, classes
        Blocks of each stage, channels of the first one, and classes; smaller ones for tests.
    """

    def __init__(
        self,
        handle: dnn.Handle,
        dtype: str = "float32",
        format: str = "nchw",
        *,
        blocks: tuple[int, ...] = BLOCKS,
        width: int = 64,
        classes: int = 1000,
        seed: int = 0,
    ):
        self.handle, self.dtype, self.format = handle, dtype, format
        self.rng = np.random.default_rng(seed)
        self.stem, self.blocks, c = Convolution(self, 3, width, 7, 2), [], width
        for stage, count in enumerate(blocks):
            for number in range(count):
                self.blocks.append(Block(self, c, width << stage, 2 if stage and number == 0 else 1))
                c = EXPANSION * (width << stage)
        self.last = Convolution(self, c, classes, 1, activation=IDENTITY)

    def random(self, k: int, c: int, taps: int) -> tuple[Any, ...]:
        """Return a filter, and scale, shift, mean and variance of a batch normalisation, as host arrays."""
        w = self.rng.standard_normal((k, c, taps, taps), np.float32) * np.float32((2 / (c * taps * taps)) ** 0.5)
        scale, variance = self.rng.uniform(0.5, 1.0, (2, k)).astype(np.float32)
        shift, mean = self.rng.normal(0, 0.1, (2, k)).astype(np.float32)
        return w, scale, shift, mean, variance

    def array(self, values: Any) -> Any:
        """Return values on the device, in the network's type and layout."""
        return self.handle.asarray(values, self.dtype, format=self.format)

    def forward(self, x: Any) -> Any:
        """Return the probabilities of the classes, (n, classes, 1, 1), of images (n, 3, h, w)."""
        x = dnn.pooling_forward(self.handle, self.stem(x), MAX_POOL)
        for block in self.blocks:
            x = block(x)
        mean = dnn.PoolingDescriptor("average_count_include_padding", window=x.shape[2:], stride=x.shape[2:])
        return dnn.softmax_forward(self.handle, self.last(dnn.pooling_forward(self.handle, x, mean)))


def main(count: int = 8, rounds: int = 10) -> None:
    """Time the forward pass of some images, call by call and as replays."""
    with dnn.Handle() as handle:
        gpu = handle.info.kind == "gpu"
        net = ResNet(handle, *(("float16", "nhwc") if gpu else ()))
        x = net.array(np.random.default_rng(1).random((count, 3, 224, 224), np.float32))
        net.forward(x)  # compiles
        with handle.capture() as step:
            y = net.forward(x)
        print(f"{handle.info.name} ({handle.backend}): {count} images, {len(step)} calls, replayed as {step.mode}")
        for name, call in (("calls", lambda: net.forward(x)), ("replays", step.replay)):
            handle.synchronize()
            start = time.perf_counter()
            for _ in range(rounds):
                call()
            handle.synchronize()
            print(f"{name}: {(time.perf_counter() - start) / rounds * 1e3:.2f} ms")
        print(f"probabilities add up to {handle.to_numpy(y).astype(np.float64).sum() / count:.3f}")


if __name__ == "__main__":
    main()
