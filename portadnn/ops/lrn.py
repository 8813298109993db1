"""Local response normalisation across channels (guide sections 4.87 to 4.92)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arguments import as_integer, as_real
from ..descriptors import Parameters, check_descriptor
from ..dispatch.execute import computes, execute
from ..enums import DataType, LRNMode
from ..errors import BadParam, NotSupported, public
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same

__all__ = ["LRNDescriptor", "lrn_cross_channel_backward", "lrn_cross_channel_forward"]

MIN_N, MAX_N, MIN_K, MIN_BETA = 1, 16, 1e-5, 0.01  # CUDNN_LRN_*


def check_lrn(n: Any, alpha: float, beta: float, k: float, prefix: str = "") -> None:
    """Demand what the guide and cudnn.h demand of an LRN descriptor; arguments are named with `prefix`."""
    if not MIN_N <= n <= MAX_N:
        raise BadParam(argument=f"{prefix}n", expected=f"{MIN_N} to {MAX_N}", got=n)
    if not math.isfinite(alpha):
        raise BadParam(argument=f"{prefix}alpha", expected="a finite number", got=alpha)
    if not MIN_BETA <= beta < math.inf:
        raise BadParam(argument=f"{prefix}beta", expected=f"a finite number >= {MIN_BETA}", got=beta)
    if not MIN_K <= k < math.inf:
        raise BadParam(argument=f"{prefix}k", expected=f"a finite number >= {MIN_K}", got=k)


@dataclass(frozen=True)
class LRNDescriptor(Parameters):
    """Window and constants of local response and divisive normalisation (guide sections 4.87 to 4.90).

    Parameters
    ----------
    n
        Channels (or pixels in each direction) of the window, 1 to 16. It reaches from ``(n - 1) // 2`` before the
        centre to ``n // 2`` after it: with an even n one further after.
    alpha
        Weight of the sum of squares; it is divided by the size of the window.
    beta
        The exponent, at least 0.01.
    k
        What the sum is added to, at least 1e-5.

    Raises
    ------
    BadParam
        A value outside its range, or no number.
    """

    n: int = 5
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 2.0

    @public
    def __post_init__(self) -> None:
        alpha, beta, k = (as_real(getattr(self, name), name) for name in ("alpha", "beta", "k"))
        n = as_integer(self.n, "n")
        check_lrn(n, alpha, beta, k)
        self._set(n=n, alpha=alpha, beta=beta, k=k)

    __hash__ = Parameters.__hash__

    @public
    def get(self) -> tuple[int, float, float, float]:
        """Return (n, alpha, beta, k) (guide section 4.89)."""
        return (self.n, self.alpha, self.beta, self.k)

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the Problems' fields."""
        return (self.n, self.alpha, self.beta, self.k)


@dataclass(frozen=True)
class Window:
    """Reach and constants of a window as kernels and the reference use them.

    Attributes
    ----------
    before, after : int
        Neighbours on either side of the centre.
    weight, beta, k : float
        ``alpha / cells``, the exponent and the constant, each rounded to the accumulator's type.
    """

    before: int
    after: int
    weight: float
    beta: float
    k: float

    @classmethod
    def of(cls, n: int, alpha: float, beta: float, k: float, cells: int, dtype: DataType) -> Window:
        """Return the window of `n` neighbours that sums `cells` squares; the parameters are rounded as in C."""
        real = dtype.accumulator.numpy.type
        before = (n - 1) // 2
        return cls(before, n - 1 - before, float(real(alpha) / real(cells)), float(real(beta)), float(real(k)))


@dataclass(frozen=True)
class LRNCrossChannelForward(Problem):
    """y = alpha * x * (lrn_k + lrn_alpha / lrn_n * sum over the window of x^2) ^ -lrn_beta + beta * y."""

    op: ClassVar[str] = "lrn_cross_channel_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("y",)

    x: TensorSpec
    y: TensorSpec
    mode: LRNMode = LRNMode.CROSS_CHANNEL_DIM1
    lrn_n: int = 5
    lrn_alpha: float = 1e-4
    lrn_beta: float = 0.75
    lrn_k: float = 2.0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            values.setdefault("y", values["x"].like(values["x"].dims))

    def validate(self) -> None:
        super().validate()
        check_lrn(self.lrn_n, self.lrn_alpha, self.lrn_beta, self.lrn_k, "lrn_")
        check_same(self.x, "x", self.y, "y", error=NotSupported)

    @property
    def window(self) -> Window:
        """The window over channels."""
        return Window.of(self.lrn_n, self.lrn_alpha, self.lrn_beta, self.lrn_k, self.lrn_n, self.dtype)

    def flops(self) -> int:
        return (2 * self.lrn_n + 4) * self.x.size

    def reduction_length(self, output: str) -> int:
        return self.lrn_n

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays["x"], descriptor_of(self), arrays["y"]], {}


@dataclass(frozen=True)
class LRNCrossChannelBackward(Problem):
    """dx = alpha * (gradient of the forward pass at x applied to dy) + beta * dx. y follows from x and is not read."""

    op: ClassVar[str] = "lrn_cross_channel_backward"
    inputs: ClassVar[tuple[str, ...]] = ("y", "dy", "x")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)

    y: TensorSpec
    dy: TensorSpec
    x: TensorSpec
    dx: TensorSpec
    mode: LRNMode = LRNMode.CROSS_CHANNEL_DIM1
    lrn_n: int = 5
    lrn_alpha: float = 1e-4
    lrn_beta: float = 0.75
    lrn_k: float = 2.0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            values.setdefault("y", values["x"].like(values["x"].dims))
            values.setdefault("dx", values["x"].like(values["x"].dims))
        if "y" in values:
            values.setdefault("dy", values["y"])

    def validate(self) -> None:
        super().validate()
        check_lrn(self.lrn_n, self.lrn_alpha, self.lrn_beta, self.lrn_k, "lrn_")
        for name in ("dy", "x", "dx"):
            check_same(self.y, "y", getattr(self, name), name, error=NotSupported)

    @property
    def window(self) -> Window:
        """The window over channels."""
        return Window.of(self.lrn_n, self.lrn_alpha, self.lrn_beta, self.lrn_k, self.lrn_n, self.dtype)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return super().unread(numbers) | {"y"}

    def flops(self) -> int:
        return (3 * self.lrn_n + 9) * self.x.size

    def bytes(self) -> int:
        return self.dy.nbytes + self.x.nbytes + self.dx.nbytes

    def reduction_length(self, output: str) -> int:
        return self.lrn_n

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays["y"], arrays["dy"], arrays["x"], descriptor_of(self), arrays["dx"]], {}


def descriptor_of(problem: Any) -> LRNDescriptor:
    """Return what the public calls take for a problem with the lrn_* fields."""
    return LRNDescriptor(problem.lrn_n, problem.lrn_alpha, problem.lrn_beta, problem.lrn_k)


def _params(lrn: Any, mode: LRNMode | str) -> tuple[Any, ...]:
    return (LRNMode.parse(mode, "mode"), check_descriptor(lrn, LRNDescriptor, "lrn"))


@computes
def lrn_cross_channel_forward(
    handle: Handle,
    x: Any,
    lrn: LRNDescriptor,
    y: Any = None,
    *,
    mode: LRNMode | str = LRNMode.CROSS_CHANNEL_DIM1,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Normalise each number by the sum of squares over neighbouring channels (guide section 4.91).

    ``y[c] = alpha * x[c] * (k + lrn.alpha / n * sum(x[c - (n-1)//2 : c + n//2 + 1] ** 2)) ** -lrn.beta + beta * y[c]``;
    channels outside the tensor count as 0.

    Parameters
    ----------
    handle
        Where to compute.
    x, y
        (n, c, ...), 3 to 8 dims, float16, bfloat16, float32 or float64, of equal dims and type and any strides. `y` may
        be left out.
    lrn
        Window and constants.
    mode
        CROSS_CHANNEL_DIM1, the only one.
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        No LRNDescriptor, an unknown mode, or fewer than 3 dims.
    NotSupported
        Dims or types that differ.
    """
    return execute(handle, LRNCrossChannelForward, (x, y), _params(lrn, mode), (alpha, beta))


@computes
def lrn_cross_channel_backward(
    handle: Handle,
    y: Any,
    dy: Any,
    x: Any,
    lrn: LRNDescriptor,
    dx: Any = None,
    *,
    mode: LRNMode | str = LRNMode.CROSS_CHANNEL_DIM1,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Return the gradient of local response normalisation blended into dx (guide section 4.92).

    The true gradient, for an even n too. y is what the forward call made of x; it is not read, because x gives it.

    Parameters
    ----------
    handle
        Where to compute.
    y, dy, x, dx
        Output and its gradient, input and its gradient: tensors of equal dims and type and any strides. `dx` may be
        left out.
    lrn, mode
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
        No LRNDescriptor, an unknown mode, or fewer than 3 dims.
    NotSupported
        Dims or types that differ.
    """
    return execute(handle, LRNCrossChannelBackward, (y, dy, x, dx), _params(lrn, mode), (alpha, beta))
