"""Pooling (guide sections 4.73 to 4.76)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..descriptors import TensorDescriptor, logical_dims
from ..descriptors.layers import PoolingDescriptor
from ..dispatch.execute import computes, execute
from ..enums import NanPropagation, PoolingMode
from ..errors import BadParam, NotSupported, public, shown
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same
from ..shapes import pooling_output_dims

__all__ = [
    "get_pooling_2d_forward_output_dim",
    "get_pooling_nd_forward_output_dim",
    "pooling_backward",
    "pooling_forward",
]


def _check_spatial(x: TensorSpec) -> None:
    if len(x.dims) not in (4, 5):
        raise NotSupported(argument="x.dims", expected="2 or 3 spatial dims", got=x.dims)


class Pooling(Problem):
    """What both directions share; each declares the fields in the order of its C function."""

    letters: ClassVar[Mapping[str, str]] = {"y": "ncopq", "dy": "ncopq"}

    x: TensorSpec
    y: TensorSpec
    mode: PoolingMode
    window: tuple[int, ...]
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    nan_propagation: NanPropagation

    def _check_output(self) -> None:
        """Demand that y has the dims and the type that follow from x."""
        dims = pooling_output_dims(self.x.dims, self.window, self.padding, self.stride)
        if self.y.dims != dims:
            raise BadParam(argument="y.dims", expected=f"{dims} (1 + (size + 2*pad - window)/stride)", got=self.y.dims)
        if self.x.dtype is not self.y.dtype:
            raise BadParam(argument="y.dtype", expected=f"{self.x.dtype} as x", got=self.y.dtype)

    def flops(self) -> int:
        return self.y.size * math.prod(self.window)

    def reduction_length(self, output: str) -> int:
        return math.prod(self.window)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        pool = PoolingDescriptor(self.mode, self.window, self.padding, self.stride, self.nan_propagation)
        *inputs, out = (arrays[name] for name in self.tensor_names())
        return [*inputs, pool, out], {}


@dataclass(frozen=True)
class PoolingForward(Pooling):
    """y = alpha * pool(x) + beta * y."""

    op: ClassVar[str] = "pooling_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("y",)

    x: TensorSpec
    y: TensorSpec
    mode: PoolingMode
    window: tuple[int, ...]
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "window" in values:
            values.setdefault("padding", (0,) * len(values["window"]))
            values.setdefault("stride", (1,) * len(values["window"]))
        if "y" not in values and {"x", "window"} <= values.keys():
            x = values["x"]
            values["y"] = x.like(pooling_output_dims(x.dims, values["window"], values["padding"], values["stride"]))

    def validate(self) -> None:
        super().validate()
        _check_spatial(self.x)
        self._check_output()


@dataclass(frozen=True)
class PoolingBackward(Pooling):
    """dx = alpha * (gradient of pool at x applied to dy) + beta * dx."""

    op: ClassVar[str] = "pooling_backward"
    inputs: ClassVar[tuple[str, ...]] = ("y", "dy", "x")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)

    y: TensorSpec
    dy: TensorSpec
    x: TensorSpec
    dx: TensorSpec
    mode: PoolingMode
    window: tuple[int, ...]
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        PoolingForward.complete(values)
        if "y" in values:
            values.setdefault("dy", values["y"])
        if "x" in values:
            values.setdefault("dx", values["x"])

    def validate(self) -> None:
        super().validate()
        _check_spatial(self.x)
        check_same(self.y, "y", self.dy, "dy", strides=True)
        check_same(self.x, "x", self.dx, "dx", strides=True)
        self._check_output()

    def bytes(self) -> int:
        reads_x = self.mode is PoolingMode.MAX  # to find the maxima; averages need dy only
        return self.dy.nbytes + (2 if reads_x else 1) * self.dx.nbytes


def _checked(pooling: Any) -> PoolingDescriptor:
    if not isinstance(pooling, PoolingDescriptor):
        raise BadParam(argument="pooling", expected="a PoolingDescriptor", got=shown(pooling))
    return pooling


@computes
def pooling_forward(
    handle: Handle,
    x: Any,
    pooling: PoolingDescriptor,
    y: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Pool: ``y = alpha * pool(x) + beta * y`` (guide section 4.75).

    Parameters
    ----------
    handle
        Where to compute.
    x
        (n, c, [d,] h, w), float16, bfloat16, float32 or float64, any strides.
    pooling
        Mode, window, padding, stride.
    y
        (n, c, [o,] p, q) with ``p = 1 + (h + 2*pad - window) // stride``, any strides; may be left out.
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims or types that do not fit.
    NotSupported
        Other than 2 or 3 spatial dims.
    """
    return execute(handle, PoolingForward, (x, y), _checked(pooling), (alpha, beta))


@computes
def pooling_backward(
    handle: Handle,
    y: Any,
    dy: Any,
    x: Any,
    pooling: PoolingDescriptor,
    dx: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Return the gradient of a pooling blended into dx (guide section 4.76).

    The first maximum of a window in row-major order takes its gradient; the result is deterministic.

    Parameters
    ----------
    handle
        Where to compute.
    y, dy
        Output and its gradient, (n, c, [o,] p, q), with the same strides.
    x, dx
        Input and its gradient, (n, c, [d,] h, w), with the same strides; `dx` may be left out.
    pooling
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
        Dims, types or strides that do not fit.
    NotSupported
        Other than 2 or 3 spatial dims.
    """
    return execute(handle, PoolingBackward, (y, dy, x, dx), _checked(pooling), (alpha, beta))


@public
def get_pooling_nd_forward_output_dim(
    pooling: PoolingDescriptor, x: TensorDescriptor | Sequence[int]
) -> tuple[int, ...]:
    """Return the dims (n, c, [o,] p, q) of a pooling's output (guide section 4.74).

    Raises
    ------
    BadParam
        Numbers of dims that do not match, or a window larger than the padded input.
    """
    return _output_dims(pooling, x)


def _output_dims(pooling: Any, x: Any) -> tuple[int, ...]:
    pooling = _checked(pooling)
    dims = logical_dims(x, "x", TensorDescriptor)
    return pooling_output_dims(dims, pooling.window, pooling.padding or (), pooling.stride or ())


@public
def get_pooling_2d_forward_output_dim(
    pooling: PoolingDescriptor, x: TensorDescriptor | Sequence[int]
) -> tuple[int, ...]:
    """Return the dims (n, c, p, q) of a 2-D pooling's output (guide section 4.73).

    Raises
    ------
    BadParam
        The pooling is not 2-D or the input not 4-D, or the window does not fit.
    """
    dims = _output_dims(pooling, x)
    if len(dims) != 4:
        raise BadParam(argument="x.dims", expected="4 dims", got=len(dims))
    return dims
