"""PyTorch, without which these operations are not to be had."""

try:
    import torch
except ImportError as error:
    raise ImportError(f"cudnn.ops and cudnn.experimental.ops are for PyTorch: {error}; pip install torch") from error

__all__ = ["torch"]
