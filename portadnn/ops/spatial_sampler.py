"""Spatial transformer: bilinear sampling (guide sections 4.123 and 4.124)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..dispatch.execute import computes, execute
from ..enums import DataType, SamplerType
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..problem import TensorSpec, check_same
from .spatial_transformer import SpatialTransformer, SpatialTransformerDescriptor, checked

__all__ = ["spatial_tf_sampler_backward", "spatial_tf_sampler_forward"]


def _check_image(spec: TensorSpec, name: str) -> None:
    if len(spec.dims) > 4:
        raise NotSupported(
            "only 2-D transformations are supported", argument=f"{name}.dims", expected="4 dims", got=spec.dims
        )
    if len(spec.dims) < 4:
        raise BadParam(argument=f"{name}.dims", expected="(n, c, h, w)", got=spec.dims)


def _check_places(x: TensorSpec, y: TensorSpec, name: str, grid: TensorSpec) -> None:
    """Demand an output with x's images and channels and one pixel for each point of the grid."""
    expected = (*x.dims[:2], *grid.dims[1:3])
    if y.dims != expected:
        raise BadParam(argument=f"{name}.dims", expected=f"{expected} (x's n and c, grid's h and w)", got=y.dims)
    if grid.dims[0] != x.dims[0]:
        raise BadParam(argument="grid.dims[0]", expected=f"{x.dims[0]} as x", got=grid.dims[0])


@dataclass(frozen=True)
class SpatialTfSamplerForward(SpatialTransformer):
    """y = alpha * (x sampled at grid) + beta * y."""

    op: ClassVar[str] = "spatial_tf_sampler_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "grid")
    outputs: ClassVar[tuple[str, ...]] = ("y",)

    x: TensorSpec
    grid: TensorSpec
    y: TensorSpec
    dims: tuple[int, ...] = ()
    data_type: DataType | None = None
    sampler: SamplerType = SamplerType.BILINEAR

    @property
    def grid_spec(self) -> TensorSpec:
        return self.grid

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        _complete_places(values, "y")
        cls.settle(values, "grid", "y", "x")

    def validate(self) -> None:
        super().validate()
        _check_image(self.x, "x")
        _check_image(self.y, "y")
        self.check("grid", "x", "y")
        _check_places(self.x, self.y, "y", self.grid)

    def flops(self) -> int:
        return 7 * self.y.size


def _complete_places(values: dict[str, Any], name: str) -> None:
    """Infer the sampled tensor's spec from x and the grid."""
    if {"x", "grid"} <= values.keys() and len(values["x"].dims) == len(values["grid"].dims) == 4:
        x, grid = values["x"], values["grid"]
        values.setdefault(name, x.like((*x.dims[:2], *grid.dims[1:3])))


@dataclass(frozen=True)
class SpatialTfSamplerBackward(SpatialTransformer):
    """dx and dgrid: the gradients of a sampling, blended with separate pairs of factors."""

    op: ClassVar[str] = "spatial_tf_sampler_backward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "dy", "grid")
    outputs: ClassVar[tuple[str, ...]] = ("dx", "dgrid")
    scalars: ClassVar[dict[str, float]] = {"alpha": 1.0, "beta": 0.0, "alpha_dgrid": 1.0, "beta_dgrid": 0.0}

    x: TensorSpec
    dy: TensorSpec
    grid: TensorSpec
    dx: TensorSpec
    dgrid: TensorSpec
    dims: tuple[int, ...] = ()
    data_type: DataType | None = None
    sampler: SamplerType = SamplerType.BILINEAR

    @property
    def grid_spec(self) -> TensorSpec:
        return self.grid

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        _complete_places(values, "dy")
        cls.settle(values, "grid", "dy", "x")
        if "x" in values:
            values.setdefault("dx", values["x"].like(values["x"].dims))
        if "grid" in values:
            values.setdefault("dgrid", values["grid"].like(values["grid"].dims))

    def validate(self) -> None:
        super().validate()
        _check_image(self.x, "x")
        _check_image(self.dy, "dy")
        self.check("grid", "x", "dy")
        _check_places(self.x, self.dy, "dy", self.grid)
        check_same(self.x, "x", self.dx, "dx")
        check_same(self.grid, "grid", self.dgrid, "dgrid")

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        pairs = (("dx", "beta"), ("dgrid", "beta_dgrid"))
        return {name for name, number in pairs if numbers[number] == 0}

    def flops(self) -> int:
        return 20 * self.dy.size

    def reduction_length(self, output: str) -> int:
        """Return the channels behind an element of dgrid, or the samples that may meet in one pixel of dx."""
        return self.x.dims[1] if output == "dgrid" else self.dy.dims[2] * self.dy.dims[3]


@computes
def spatial_tf_sampler_forward(
    handle: Handle,
    x: Any,
    grid: Any,
    transformer: SpatialTransformerDescriptor,
    y: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Sample x at the grid's places: ``y = alpha * sample(x, grid) + beta * y`` (guide section 4.123).

    -1 is the centre of the first pixel, 1 that of the last. Pixels outside the image count as zero, so samples fade
    over one pixel beyond its border; places that are not finite give zero.

    Parameters
    ----------
    handle
        Where to compute.
    x
        (n, c, h_in, w_in), float16, bfloat16, float32 or float64, any strides.
    grid
        (n, h, w, 2), x before y, the same type, any strides.
    transformer
        Size (n, c, h, w) of the output, type and sampler.
    y
        (n, c, h, w), any strides; may be left out.
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
        Other than 4 dims.
    """
    return execute(handle, SpatialTfSamplerForward, (x, grid, y), checked(transformer), (alpha, beta))


@computes
def spatial_tf_sampler_backward(
    handle: Handle,
    x: Any,
    dy: Any,
    grid: Any,
    transformer: SpatialTransformerDescriptor,
    dx: Any = None,
    dgrid: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    alpha_dgrid: float = 1.0,
    beta_dgrid: float = 0.0,
) -> tuple[Any, Any]:
    """Return the gradients of a sampling, blended into dx and dgrid (guide section 4.124).

    Deterministic: the samples that meet in a pixel of dx are added in their order. Where a place is a pixel's centre
    the sample's slope has a kink; dgrid is then the slope towards the next pixel.

    Parameters
    ----------
    handle
        Where to compute.
    x, dx
        (n, c, h_in, w_in), the input and its gradient, any strides; `dx` may be left out.
    dy
        (n, c, h, w), the output's gradient, any strides.
    grid, dgrid
        (n, h, w, 2), the places and their gradient, any strides; `dgrid` may be left out.
    transformer
        As given to the forward call.
    alpha, beta
        Blending factors of dx; with ``beta == 0`` dx is not read.
    alpha_dgrid, beta_dgrid
        Blending factors of dgrid; with ``beta_dgrid == 0`` dgrid is not read.

    Returns
    -------
    (array, array)
        `dx` and `dgrid`.

    Raises
    ------
    BadParam
        Dims or types that do not fit.
    NotSupported
        Other than 4 dims.
    """
    numbers = (alpha, beta, alpha_dgrid, beta_dgrid)
    tensors = (x, dy, grid, dx, dgrid)
    return execute(handle, SpatialTfSamplerBackward, tensors, checked(transformer), numbers)  # type: ignore[no-any-return]
