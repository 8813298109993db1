"""The kinds of operations, a family per file. Importing this package makes all of them known.

``cudnn.ops`` of cudnn-frontend has functions for PyTorch; they are found here, and imported with it when asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ..api.cute_dsl import missing
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

_FOR_TORCH = {
    **dict.fromkeys(
        ("b2b_causal_conv1d", "causal_conv1d", "causal_conv1d_nwh", "fft_causal_conv1d"), "experimental.causal_conv1d"
    ),
    "norm": "experimental.ops.norms",
}


if not TYPE_CHECKING:  # which would take any name for known

    def __getattr__(name: str) -> Any:
        if name not in _FOR_TORCH:
            raise missing(name, "portadnn.graph.ops")
        module = importlib.import_module(f"..{_FOR_TORCH[name]}", __name__)
        return module if name == "norm" else getattr(module, name)
