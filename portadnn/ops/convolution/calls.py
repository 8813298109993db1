"""Convolution (guide sections 4.36, 4.39, 4.44 to 4.46, 4.50, 4.51, 4.55 and 4.56)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...descriptors import FilterDescriptor, TensorDescriptor, check_descriptor
from ...descriptors.layers import ConvolutionDescriptor
from ...dispatch.execute import computes, execute
from ...dispatch.problems import check_handle, make_problem
from ...enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DataType,
    DnnEnum,
    MathType,
)
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...hooks import CALL_HOOKS, computing
from ...problem import Problem, TensorSpec
from ...shapes import convolution_output_dims

__all__ = [
    "convolution_backward_bias",
    "convolution_backward_data",
    "convolution_backward_filter",
    "convolution_forward",
]


class Convolution(Problem):
    """What the three directions share; each declares the fields in the order of its C function.

    Attributes
    ----------
    image, filter, result : TensorSpec
        x or dx; w or dw; y or dy, whatever the direction calls them.
    """

    roles: ClassVar[tuple[str, str, str]] = ("x", "w", "y")
    letters: ClassVar[Mapping[str, str]] = {"w": "kctrs", "dw": "kctrs", "y": "nkopq", "dy": "nkopq"}

    @property
    def image(self) -> TensorSpec:
        """(n, c, [d,] h, w): x or dx."""
        return getattr(self, self.roles[0])  # type: ignore[no-any-return]

    @property
    def filter(self) -> TensorSpec:
        """(k, c/groups, [t,] r, s): w or dw."""
        return getattr(self, self.roles[1])  # type: ignore[no-any-return]

    @property
    def result(self) -> TensorSpec:
        """(n, k, [o,] p, q): y or dy."""
        return getattr(self, self.roles[2])  # type: ignore[no-any-return]

    padding: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    mode: ConvolutionMode
    compute_type: DataType | None
    math: MathType

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        image, filter, result = cls.roles
        spatial = next((len(values[name].dims) - 2 for name in cls.roles if name in values), 2)
        values.setdefault("padding", (0,) * spatial)
        values.setdefault("stride", (1,) * spatial)
        values.setdefault("dilation", (1,) * spatial)
        if result not in values and {image, filter} <= values.keys():
            values[result] = values[image].like(
                convolution_output_dims(
                    values[image].dims,
                    values[filter].dims,
                    values["padding"],
                    values["stride"],
                    values["dilation"],
                    values.get("groups", 1),
                    (image, filter),
                )
            )

    def validate(self) -> None:
        super().validate()
        image, filter, result = self.image, self.filter, self.result
        name_x, name_w, name_y = self.roles
        for name, spec in zip((name_w, name_y), (filter, result), strict=True):
            if len(spec.dims) != len(image.dims):
                raise BadParam(argument=f"{name}.dims", expected=f"{len(image.dims)} dims as {name_x}", got=spec.dims)
            if spec.dtype is not image.dtype:
                raise BadParam(argument=f"{name}.dtype", expected=f"{image.dtype} as {name_x}", got=spec.dtype)
        dims = convolution_output_dims(
            image.dims, filter.dims, self.padding, self.stride, self.dilation, self.groups, (name_x, name_w)
        )
        if result.dims != dims:
            raise BadParam(argument=f"{name_y}.dims", expected=f"{dims}", got=result.dims)
        if len(image.dims) not in (4, 5):
            raise NotSupported(argument=f"{name_x}.dims", expected="4 or 5 dims", got=image.dims)
        if self.compute_type not in (None, image.dtype.accumulator):
            raise NotSupported(
                argument="conv.compute_type",
                expected=f"{image.dtype.accumulator} for {image.dtype} data",
                got=self.compute_type,
            )

    def flops(self) -> int:
        return 2 * self.result.size * math.prod(self.filter.dims[1:])

    @property
    def descriptor(self) -> ConvolutionDescriptor:
        """What the public call takes."""
        return ConvolutionDescriptor(
            self.padding, self.stride, self.dilation, self.groups, self.mode, self.compute_type, self.math
        )

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        first, second, out = (arrays[name] for name in self.tensor_names())
        return [first, second, self.descriptor, out], {}


@dataclass(frozen=True)
class ConvolutionForward(Convolution):
    """y = alpha * conv(x, w) + beta * y."""

    op: ClassVar[str] = "convolution_forward"
    algorithms: ClassVar[type[DnnEnum]] = ConvolutionFwdAlgo
    inputs: ClassVar[tuple[str, ...]] = ("x", "w")
    outputs: ClassVar[tuple[str, ...]] = ("y",)

    x: TensorSpec
    w: TensorSpec
    y: TensorSpec
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    mode: ConvolutionMode = ConvolutionMode.CROSS_CORRELATION
    compute_type: DataType | None = None
    math: MathType = MathType.DEFAULT

    def reduction_length(self, output: str) -> int:
        return math.prod(self.w.dims[1:])


@dataclass(frozen=True)
class ConvolutionBackwardData(Convolution):
    """dx = alpha * (gradient with respect to the input) + beta * dx."""

    op: ClassVar[str] = "convolution_backward_data"
    algorithms: ClassVar[type[DnnEnum]] = ConvolutionBwdDataAlgo
    inputs: ClassVar[tuple[str, ...]] = ("w", "dy")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)
    roles: ClassVar[tuple[str, str, str]] = ("dx", "w", "dy")

    w: TensorSpec
    dy: TensorSpec
    dx: TensorSpec
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    mode: ConvolutionMode = ConvolutionMode.CROSS_CORRELATION
    compute_type: DataType | None = None
    math: MathType = MathType.DEFAULT

    def reduction_length(self, output: str) -> int:
        return self.w.dims[0] // self.groups * math.prod(self.w.dims[2:])


@dataclass(frozen=True)
class ConvolutionBackwardFilter(Convolution):
    """dw = alpha * (gradient with respect to the filter) + beta * dw."""

    op: ClassVar[str] = "convolution_backward_filter"
    algorithms: ClassVar[type[DnnEnum]] = ConvolutionBwdFilterAlgo
    inputs: ClassVar[tuple[str, ...]] = ("x", "dy")
    outputs: ClassVar[tuple[str, ...]] = ("dw",)
    roles: ClassVar[tuple[str, str, str]] = ("x", "dw", "dy")

    x: TensorSpec
    dy: TensorSpec
    dw: TensorSpec
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    mode: ConvolutionMode = ConvolutionMode.CROSS_CORRELATION
    compute_type: DataType | None = None
    math: MathType = MathType.DEFAULT

    def reduction_length(self, output: str) -> int:
        return self.dy.dims[0] * math.prod(self.dy.dims[2:])


@dataclass(frozen=True)
class ConvolutionBackwardBias(Problem):
    """db = alpha * (sum of dy over all but channels) + beta * db."""

    op: ClassVar[str] = "convolution_backward_bias"
    inputs: ClassVar[tuple[str, ...]] = ("dy",)
    outputs: ClassVar[tuple[str, ...]] = ("db",)
    letters: ClassVar[Mapping[str, str]] = {"dy": "nkopq"}

    dy: TensorSpec
    db: TensorSpec

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "dy" in values:
            dims = values["dy"].dims
            channels = dims[1] if len(dims) > 1 else 1
            values.setdefault("db", TensorSpec.packed(values["dy"].dtype, (1, channels, *[1] * (len(dims) - 2))))

    def validate(self) -> None:
        super().validate()
        dims = (1, self.dy.dims[1], *[1] * (len(self.dy.dims) - 2))
        if self.db.dims != dims:
            raise BadParam(argument="db.dims", expected=f"{dims}", got=self.db.dims)
        if self.db.dtype is not self.dy.dtype:
            raise BadParam(argument="db.dtype", expected=f"{self.dy.dtype} as dy", got=self.db.dtype)

    def flops(self) -> int:
        return self.dy.size

    def reduction_length(self, output: str) -> int:
        return self.dy.dims[0] * math.prod(self.dy.dims[2:])


check_convolution = functools.partial(check_descriptor, kind=ConvolutionDescriptor, argument="conv")


@computes
def convolution_forward(
    handle: Handle,
    x: Any,
    w: Any,
    conv: ConvolutionDescriptor,
    y: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    algo: ConvolutionFwdAlgo | int | str | None = None,
    workspace: Any = None,
) -> Any:
    """Convolve: ``y = alpha * conv(x, w) + beta * y`` (guide section 4.45).

    Parameters
    ----------
    handle
        Where to compute.
    x
        (n, c, [d,] h, w), float16, bfloat16, float32 or float64, any strides.
    w
        (k, c/groups, [t,] r, s), same type, any strides.
    conv
        Padding, stride, dilation, groups, mode.
    y
        (n, k, [o,] p, q) with ``p = 1 + (h + 2*pad - ((r-1)*dilation + 1)) // stride``; may be left out.
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.
    algo
        An algorithm of the guide; None takes the best known.
    workspace
        Scratch memory of at least :func:`get_convolution_forward_workspace_size` bytes; None lets the handle
        provide it.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims, types or channels that do not fit, or a workspace that is too small.
    NotSupported
        Other than 2 or 3 spatial dims, or an algorithm that cannot.

    Notes
    -----
    Sums are kept in float32 for float16, bfloat16 and float32 data, in float64 for float64 data. Deterministic.
    """
    wanted = None if algo is None else ConvolutionFwdAlgo.parse(algo, "algo")
    return execute(
        handle,
        ConvolutionForward,
        (x, w, y),
        check_convolution(conv),
        (alpha, beta),
        algo=wanted,
        workspace=workspace,
    )


@computes
def convolution_backward_data(
    handle: Handle,
    w: Any,
    dy: Any,
    conv: ConvolutionDescriptor,
    dx: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    algo: ConvolutionBwdDataAlgo | int | str | None = None,
    workspace: Any = None,
) -> Any:
    """Return the gradient with respect to the input, blended into dx (guide section 4.56).

    Parameters
    ----------
    handle
        Where to compute.
    w
        (k, c/groups, [t,] r, s), any strides.
    dy
        (n, k, [o,] p, q), same type, any strides.
    conv
        As given to the forward call.
    dx
        (n, c, [d,] h, w), any strides; or a :class:`TensorDescriptor` of it, and then allocated.
    alpha, beta, algo, workspace
        As for :func:`convolution_forward`.

    Returns
    -------
    array
        dx.

    Raises
    ------
    BadParam, NotSupported
        As for :func:`convolution_forward`.
    """
    wanted = None if algo is None else ConvolutionBwdDataAlgo.parse(algo, "algo")
    out = _allocated(handle, dx, "dx")
    return execute(
        handle,
        ConvolutionBackwardData,
        (w, dy, out),
        check_convolution(conv),
        (alpha, beta),
        algo=wanted,
        workspace=workspace,
    )


@computes
def convolution_backward_filter(
    handle: Handle,
    x: Any,
    dy: Any,
    conv: ConvolutionDescriptor,
    dw: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    algo: ConvolutionBwdFilterAlgo | int | str | None = None,
    workspace: Any = None,
) -> Any:
    """Return the gradient with respect to the filter, blended into dw (guide section 4.51).

    Parameters
    ----------
    handle
        Where to compute.
    x
        (n, c, [d,] h, w), any strides.
    dy
        (n, k, [o,] p, q), same type, any strides.
    conv
        As given to the forward call.
    dw
        (k, c/groups, [t,] r, s), any strides; or a :class:`FilterDescriptor` of it, and then allocated.
    alpha, beta, algo, workspace
        As for :func:`convolution_forward`.

    Returns
    -------
    array
        dw.

    Raises
    ------
    BadParam, NotSupported
        As for :func:`convolution_forward`.
    """
    wanted = None if algo is None else ConvolutionBwdFilterAlgo.parse(algo, "algo")
    out = _allocated(handle, dw, "dw")
    return execute(
        handle,
        ConvolutionBackwardFilter,
        (x, dy, out),
        check_convolution(conv),
        (alpha, beta),
        algo=wanted,
        workspace=workspace,
    )


@computes
def convolution_backward_bias(handle: Handle, dy: Any, db: Any = None, *, alpha: float = 1.0, beta: float = 0.0) -> Any:
    """Return the gradient with respect to the bias, blended into db (guide section 4.46).

    Parameters
    ----------
    handle
        Where to compute.
    dy
        (n, k, [o,] p, q), 3 to 8 dims, any strides.
    db
        (1, k, 1, ...) of the same type; may be left out.
    alpha, beta
        Blending factors; with ``beta == 0`` db is not read.

    Returns
    -------
    array
        `db`.

    Raises
    ------
    BadParam
        db has dims other than (1, k, 1, ...), or another type.
    """
    return execute(handle, ConvolutionBackwardBias, (dy, db), (), (alpha, beta))


def _allocated(handle: Handle, out: Any, name: str) -> Any:
    if out is None:
        raise BadParam(argument=name, expected="a tensor or a descriptor (its dims do not follow)", got=None)
    if isinstance(out, (TensorDescriptor, FilterDescriptor)):
        return check_handle(handle).device.empty(out.spec)
    return out


def convolution_problem(
    handle: Handle, kind: type[Convolution], tensors: tuple[Any, ...], conv: ConvolutionDescriptor
) -> Problem:
    """Return the problem of a convolution whose tensors are given as arrays or as descriptors."""
    check_handle(handle)
    specs = [t.spec if isinstance(t, (TensorDescriptor, FilterDescriptor)) else t for t in tensors]
    problem = make_problem(handle, kind, specs, check_convolution(conv))
    if CALL_HOOKS:
        computing(problem)
    return problem
