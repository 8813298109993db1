"""Batch normalisation whose parameters and statistics may be stored as x is, as those of PyTorch's half modules.

cuDNN refuses them (:func:`portadnn.ops.batch_norm.check_parameter`), so these calls are :mod:`portadnn.torch`'s alone.
Kernels read and write float16 and bfloat16 there and compute in float32: numbers are rounded once, when they are
written. What the forward call saves for the backward one stays float32.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..dispatch.execute import computes, execute
from ..enums import BatchNormMode
from ..handle import Handle
from .batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)

_MODE = (BatchNormMode.SPATIAL,)


class StoredTraining(BatchNormalizationForwardTraining):
    """Training with such parameters and running statistics."""

    narrow: ClassVar[tuple[str, ...]] = ("scale", "bias", "running_mean", "running_variance")


class StoredInference(BatchNormalizationForwardInference):
    """Inference with such parameters and statistics."""

    narrow: ClassVar[tuple[str, ...]] = ("scale", "bias", "estimated_mean", "estimated_variance")


class StoredBackward(BatchNormalizationBackward):
    """The gradients of such parameters, each in the type of its tensor."""

    narrow: ClassVar[tuple[str, ...]] = ("scale", "dscale", "dbias")


@computes
def forward_training(
    handle: Handle, *tensors: Any, exponential_average_factor: float = 1.0, epsilon: float = 1e-5
) -> Any:
    """Call :func:`portadnn.batch_normalization_forward_training` with all tensors, each of either type."""
    return execute(handle, StoredTraining, tensors, _MODE, (1.0, 0.0, exponential_average_factor, epsilon))


@computes
def forward_inference(handle: Handle, *tensors: Any, epsilon: float = 1e-5) -> Any:
    """Call :func:`portadnn.batch_normalization_forward_inference` with all tensors, each of either type."""
    return execute(handle, StoredInference, tensors, _MODE, (1.0, 0.0, epsilon))


@computes
def backward(handle: Handle, *tensors: Any, epsilon: float = 1e-5) -> Any:
    """Call :func:`portadnn.batch_normalization_backward` with all tensors, each of either type."""
    return execute(handle, StoredBackward, tensors, _MODE, (1.0, 0.0, 1.0, 0.0, epsilon))
