"""Softmax (guide sections 4.57 and 4.58)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..dispatch.execute import computes, execute
from ..enums import SoftmaxAlgorithm, SoftmaxMode
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same

__all__ = ["softmax_backward", "softmax_forward"]


@dataclass(frozen=True)
class SoftmaxForward(Problem):
    """y = alpha * softmax(x) + beta * y."""

    matrices = True

    op: ClassVar[str] = "softmax_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "x"),)

    x: TensorSpec
    y: TensorSpec
    algorithm: SoftmaxAlgorithm = SoftmaxAlgorithm.ACCURATE
    mode: SoftmaxMode = SoftmaxMode.CHANNEL

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            values.setdefault("y", values["x"].like(values["x"].dims))

    def validate(self) -> None:
        super().validate()
        check_same(self.x, "x", self.y, "y")

    def flops(self) -> int:
        return 4 * self.x.size

    def reduction_length(self, output: str) -> int:
        return _summed(self.tensors[0], self.mode)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays[name] for name in self.tensor_names()], {"algorithm": self.algorithm, "mode": self.mode}


@dataclass(frozen=True)
class SoftmaxBackward(Problem):
    """dx = alpha * (gradient of softmax at y applied to dy) + beta * dx."""

    matrices = True

    op: ClassVar[str] = "softmax_backward"
    inputs: ClassVar[tuple[str, ...]] = ("y", "dy")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("dx", "dy"),)

    y: TensorSpec
    dy: TensorSpec
    dx: TensorSpec
    algorithm: SoftmaxAlgorithm = SoftmaxAlgorithm.ACCURATE
    mode: SoftmaxMode = SoftmaxMode.CHANNEL

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "y" in values:
            values.setdefault("dy", values["y"])
            values.setdefault("dx", values["y"].like(values["y"].dims))

    def validate(self) -> None:
        super().validate()
        check_same(self.y, "y", self.dy, "dy", strides=True)
        check_same(self.y, "y", self.dx, "dx")

    def flops(self) -> int:
        return 4 * self.dx.size

    def reduction_length(self, output: str) -> int:
        return _summed(self.tensors[0], self.mode)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays[name] for name in self.tensor_names()], {"algorithm": self.algorithm, "mode": self.mode}


def _summed(spec: TensorSpec, mode: SoftmaxMode) -> int:
    """Return how many elements are normalised together."""
    return spec.dims[1] if mode is SoftmaxMode.CHANNEL else math.prod(spec.dims[1:])


@computes
def softmax_forward(
    handle: Handle,
    x: Any,
    y: Any = None,
    *,
    algorithm: SoftmaxAlgorithm | str = SoftmaxAlgorithm.ACCURATE,
    mode: SoftmaxMode | str = SoftmaxMode.CHANNEL,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Compute ``y = alpha * softmax(x) + beta * y`` (guide section 4.57).

    Parameters
    ----------
    handle
        Where to compute.
    x, y
        Tensors of 3 to 8 dims, float16, bfloat16, float32 or float64, of equal dims and type and any strides. `y` may
        be `x` itself, or left out.
    algorithm
        FAST (no maximum is subtracted: large inputs overflow to NaN), ACCURATE, or LOG for the logarithm.
    mode
        CHANNEL sums over c at each place, INSTANCE over c and all spatial dims of each image.
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims or types differ, unknown algorithm or mode, or in place with other strides.
    """
    params = (SoftmaxAlgorithm.parse(algorithm, "algorithm"), SoftmaxMode.parse(mode, "mode"))
    return execute(handle, SoftmaxForward, (x, y), params, (alpha, beta))


@computes
def softmax_backward(
    handle: Handle,
    y: Any,
    dy: Any,
    dx: Any = None,
    *,
    algorithm: SoftmaxAlgorithm | str = SoftmaxAlgorithm.ACCURATE,
    mode: SoftmaxMode | str = SoftmaxMode.CHANNEL,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Return softmax's gradient blended into dx (guide section 4.58).

    ``dx = alpha * y * (dy - sum(y * dy)) + beta * dx``, or ``dy - exp(y) * sum(dy)`` for LOG.

    Parameters
    ----------
    handle
        Where to compute.
    y, dy, dx
        The softmax's output, its gradient and the input's gradient: tensors of equal dims and type; y and dy
        have the same strides. `dx` may be `dy` itself, or left out.
    algorithm, mode
        As given to the forward call.
    alpha, beta
        Blending factors; with ``beta == 0`` dx is not read.

    Returns
    -------
    array
        `dx`.

    Raises
    ------
    BadParam
        Dims or types differ, strides of y and dy differ, unknown algorithm or mode.
    """
    params = (SoftmaxAlgorithm.parse(algorithm, "algorithm"), SoftmaxMode.parse(mode, "mode"))
    return execute(handle, SoftmaxBackward, (y, dy, dx), params, (alpha, beta))
