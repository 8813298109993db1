"""The kinds of operations, a family per file. Importing this package makes all of them known."""

from . import (
    attention,
    attention_fp8,
    batch_norm,
    block_scale,
    convolution,
    layer_norm,
    layout,
    matmul,
    moe,
    pages,
    pointwise,
    random,
    reduction,
    resample,
    rope,
    softmax,
)

__all__ = [
    "attention",
    "attention_fp8",
    "batch_norm",
    "block_scale",
    "convolution",
    "layer_norm",
    "layout",
    "matmul",
    "moe",
    "pages",
    "pointwise",
    "random",
    "reduction",
    "resample",
    "rope",
    "softmax",
]
