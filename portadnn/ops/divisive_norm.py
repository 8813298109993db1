"""Divisive normalisation over spatial neighbours (guide sections 4.93 and 4.94)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..descriptors import check_descriptor
from ..dispatch.execute import computes, execute
from ..enums import DivNormMode
from ..errors import BadParam
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same
from .lrn import LRNDescriptor, Window, check_lrn, descriptor_of

__all__ = ["divisive_normalization_backward", "divisive_normalization_forward"]


def _check_spatial(x: TensorSpec) -> None:
    if len(x.dims) not in (4, 5):
        raise BadParam(argument="x.dims", expected="4 or 5 dims", got=x.dims)


class _Divisive(Problem):
    """What both directions share."""

    x: TensorSpec
    lrn_n: int
    lrn_alpha: float
    lrn_beta: float
    lrn_k: float

    @property
    def cells(self) -> int:
        """Pixels of the window."""
        return int(self.lrn_n ** (len(self.x.dims) - 2))

    @property
    def window(self) -> Window:
        """The window in each spatial dimension."""
        return Window.of(self.lrn_n, self.lrn_alpha, self.lrn_beta, self.lrn_k, self.cells, self.dtype)

    def reduction_length(self, output: str) -> int:
        return self.cells

    def validate(self) -> None:
        super().validate()
        _check_spatial(self.x)
        check_lrn(self.lrn_n, self.lrn_alpha, self.lrn_beta, self.lrn_k, "lrn_")
        for name, spec in zip(self.names[1:], self.tensors[1:], strict=True):
            check_same(self.x, "x", spec, name)


@dataclass(frozen=True)
class DivisiveNormalizationForward(_Divisive):
    """y = alpha * x * (lrn_k + lrn_alpha / cells * sum over the window of (x - means)^2) ^ -lrn_beta + beta * y.

    The mean is the one at the window's centre; the window ends at the image's borders.
    """

    op: ClassVar[str] = "divisive_normalization_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "means")
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    absent: ClassVar[tuple[str, ...]] = ("means",)
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "x"),)

    x: TensorSpec
    y: TensorSpec
    means: TensorSpec | None = None
    mode: DivNormMode = DivNormMode.PRECOMPUTED_MEANS
    lrn_n: int = 5
    lrn_alpha: float = 1e-4
    lrn_beta: float = 0.75
    lrn_k: float = 2.0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            values.setdefault("y", values["x"].like(values["x"].dims))

    def flops(self) -> int:
        return (3 * self.cells + 4) * self.x.size

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays["x"], arrays.get("means"), descriptor_of(self), arrays["y"]], {}


@dataclass(frozen=True)
class DivisiveNormalizationBackward(_Divisive):
    """Gradients of the forward pass at x and means, each alpha * (gradient applied to dy) + beta * prior."""

    op: ClassVar[str] = "divisive_normalization_backward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "means", "dy")
    outputs: ClassVar[tuple[str, ...]] = ("dx", "dmeans")
    absent: ClassVar[tuple[str, ...]] = ("means", "dmeans")

    x: TensorSpec
    dy: TensorSpec
    dx: TensorSpec
    means: TensorSpec | None = None
    dmeans: TensorSpec | None = None
    mode: DivNormMode = DivNormMode.PRECOMPUTED_MEANS
    lrn_n: int = 5
    lrn_alpha: float = 1e-4
    lrn_beta: float = 0.75
    lrn_k: float = 2.0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            values.setdefault("dy", values["x"].like(values["x"].dims))
            values.setdefault("dx", values["x"].like(values["x"].dims))

    def flops(self) -> int:
        return (7 * self.cells + 9) * self.x.size

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        inputs = [arrays["x"], arrays.get("means"), arrays["dy"]]
        return [*inputs, descriptor_of(self), arrays["dx"], arrays.get("dmeans")], {}


def _params(lrn: Any, mode: DivNormMode | str) -> tuple[Any, ...]:
    return (DivNormMode.parse(mode, "mode"), check_descriptor(lrn, LRNDescriptor, "lrn"))


@computes
def divisive_normalization_forward(
    handle: Handle,
    x: Any,
    means: Any,
    lrn: LRNDescriptor,
    y: Any = None,
    *,
    mode: DivNormMode | str = DivNormMode.PRECOMPUTED_MEANS,
    alpha: float = 1.0,
    beta: float = 0.0,
    workspace: Any = None,
) -> Any:
    """Divide each number by how far its spatial neighbours are from a mean (guide section 4.93).

    ``y[i] = alpha * x[i] * (k + lrn.alpha / n**d * sum((x[j] - means[i]) ** 2)) ** -lrn.beta + beta * y[i]``, where j
    runs over those pixels of the channel that lie within ``(n - 1) // 2`` before and ``n // 2`` after i in each of the
    d spatial dimensions.

    Parameters
    ----------
    handle
        Where to compute.
    x, means, y
        (n, c, [d,] h, w), float16, bfloat16, float32 or float64, of equal dims and type and any strides. `means` None
        stands for zeros; `y` may be `x` itself, or left out.
    lrn
        Window and constants.
    mode
        PRECOMPUTED_MEANS, the only one.
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.
    workspace
        Scratch memory in place of the guide's temp and temp2; None lets the handle provide it.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims or types that differ, other than 4 or 5 dims, no LRNDescriptor, or in place with other strides.
    """
    tensors = (x, means, y)
    return execute(
        handle, DivisiveNormalizationForward, tensors, _params(lrn, mode), (alpha, beta), workspace=workspace
    )


@computes
def divisive_normalization_backward(
    handle: Handle,
    x: Any,
    means: Any,
    dy: Any,
    lrn: LRNDescriptor,
    dx: Any = None,
    dmeans: Any = None,
    *,
    mode: DivNormMode | str = DivNormMode.PRECOMPUTED_MEANS,
    alpha: float = 1.0,
    beta: float = 0.0,
    workspace: Any = None,
) -> tuple[Any, Any]:
    """Return the gradients of divisive normalisation, at x and at the means (guide section 4.94).

    The means count as inputs of their own: where they were made of x, the gradient goes on through what made them.
    For an even n the sum over windows behind dx runs over the same window as the forward sum, as cuDNN's does; only for
    an odd n is dx the exact gradient. dmeans always is.

    Parameters
    ----------
    handle
        Where to compute.
    x, means, dy
        Input, means (or None for zeros) and the output's gradient: (n, c, [d,] h, w), of equal dims and type and any
        strides.
    lrn, mode
        As given to the forward call.
    dx, dmeans
        As `x`. `dx` may be left out and is then allocated; without `dmeans` that gradient is not computed.
    alpha, beta
        Blending factors of both gradients; with ``beta == 0`` neither is read.
    workspace
        Scratch memory in place of the guide's temp and temp2; None lets the handle provide it.

    Returns
    -------
    tuple of (array, array or None)
        `dx` and `dmeans`.

    Raises
    ------
    BadParam
        Dims or types that differ, other than 4 or 5 dims, or no LRNDescriptor.
    """
    tensors = (x, means, dy, dx, dmeans)
    found = execute(
        handle, DivisiveNormalizationBackward, tensors, _params(lrn, mode), (alpha, beta), workspace=workspace
    )
    return found  # type: ignore[no-any-return]
