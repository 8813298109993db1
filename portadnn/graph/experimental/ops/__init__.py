"""Operations on torch tensors with gradients, each a graph: ``cudnn.experimental.ops`` of cudnn-frontend 1.23 and 1.32.

They are custom operators of PyTorch (2.4 or newer) in the namespace "portadnn", so that autograd and ``torch.compile``
know them, and run where their tensors are: on CUDA or ROCm, or on the CPU by the backend that ``Handle()`` takes.
PyTorch is imported when one is asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .experts import moe_grouped_matmul
    from .mlp import swiglu_mlp
    from .norms import layer_norm, rms_norm
    from .sdpa import scaled_dot_product_attention

__all__ = ["layer_norm", "moe_grouped_matmul", "rms_norm", "scaled_dot_product_attention", "swiglu_mlp"]

_PLACES = {
    "layer_norm": "norms",
    "moe_grouped_matmul": "experts",
    "rms_norm": "norms",
    "scaled_dot_product_attention": "sdpa",
    "swiglu_mlp": "mlp",
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
