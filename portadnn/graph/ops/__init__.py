"""The kinds of operations, a family per file. Importing this package makes all of them known."""

from . import (
    batch_norm,
    convolution,
    layer_norm,
    layout,
    matmul,
    pointwise,
    random,
    reduction,
    resample,
    softmax,
)

__all__ = [
    "batch_norm",
    "convolution",
    "layer_norm",
    "layout",
    "matmul",
    "pointwise",
    "random",
    "reduction",
    "resample",
    "softmax",
]
