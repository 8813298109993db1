"""Spatial transformer: its descriptor and affine grids (guide sections 4.118 to 4.122)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from ..descriptors import Parameters, check_descriptor, make_spec
from ..dispatch.execute import computes, execute
from ..enums import DataType, SamplerType
from ..errors import BadParam, NotSupported, public
from ..handle import Handle
from ..problem import Problem, TensorSpec

__all__ = ["SpatialTransformerDescriptor", "spatial_tf_grid_generator_backward", "spatial_tf_grid_generator_forward"]


@dataclass(frozen=True)
class SpatialTransformerDescriptor(Parameters):
    """Size, type and sampler of a spatial transformer (guide sections 4.118 to 4.120).

    Parameters
    ----------
    dims
        Size (n, c, h, w) of the transformed tensor, that is of the output. Calls refuse other than 4 dims.
    dtype
        Type of all tensors: float16, bfloat16, float32 or float64.
    sampler
        BILINEAR.

    Raises
    ------
    BadParam
        Fewer than 3 dims, negative ones, or an unknown type or sampler.
    NotSupported
        More than 8 dims.
    """

    dims: tuple[int, ...]
    dtype: DataType = DataType.FLOAT
    sampler: SamplerType = SamplerType.BILINEAR

    @public
    def __post_init__(self) -> None:
        spec = make_spec(self.dims, self.dtype)
        self._set(dims=spec.dims, dtype=spec.dtype, sampler=SamplerType.parse(self.sampler, "sampler"))

    __hash__ = Parameters.__hash__

    @classmethod
    @public
    def set_nd(
        cls, sampler: SamplerType | int | str, dtype: npt.DTypeLike | DataType, dims: tuple[int, ...]
    ) -> SpatialTransformerDescriptor:
        """Make a descriptor with the arguments in C's order (guide section 4.120)."""
        return cls(dims, DataType.of(dtype), SamplerType.parse(sampler, "sampler"))

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the spatial transformer Problems' fields."""
        return (self.dims, self.dtype, self.sampler)


@dataclass(frozen=True)
class SpatialTransformer(Problem):
    """Base of the four problems.

    `dims` and `data_type` are what a descriptor states of the transformed tensor. Where the tensors say the same, as
    they do in every valid call, they are left empty: the problem is then told by its tensors.
    """

    @property
    def grid_spec(self) -> TensorSpec:
        """The grid, or its gradient."""
        raise NotImplementedError

    @property
    def descriptor(self) -> SpatialTransformerDescriptor:
        """A descriptor to call the operation with."""
        n, h, w, _ = self.grid_spec.dims
        channels = self.tensors[0].dims[1]  # of x; a grid has none
        return SpatialTransformerDescriptor((n, channels, h, w), self.tensors[0].dtype)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        given = [arrays.get(name) for name in self.tensor_names()]
        inputs = len(self.inputs)
        return [*given[:inputs], self.descriptor, *given[inputs:]], {}

    @classmethod
    def settle(cls, values: dict[str, Any], grid: str, image: str, typed: str) -> None:
        """Infer the grid's and the transformed image's specs, and drop what they repeat."""
        dims, dtype = values.get("dims", ()), values.get("data_type")
        check_four(dims)
        source = values.get(typed)
        if source is not None and dtype is source.dtype:
            values["data_type"] = None
        if len(dims) == 4 and source is not None:
            n, _, h, w = dims
            values.setdefault(grid, TensorSpec.packed(source.dtype, (n, h, w, 2)))
            if image:
                values.setdefault(image, source.like(dims))
        if grid in values and (not image or image in values):
            said = values[image].dims if image else None
            n_h_w = values[grid].dims
            if len(dims) == 4 and n_h_w == (dims[0], *dims[2:], 2) and said in (None, dims):
                values["dims"] = ()

    def check(self, grid: str, typed: str, image: str) -> None:
        """Check dims and type that the descriptor states, and the grid."""
        dims: tuple[int, ...] = self.dims  # type: ignore[attr-defined]  # a field of every subclass
        data_type: DataType | None = self.data_type  # type: ignore[attr-defined]
        spec: TensorSpec = getattr(self, typed)
        check_four(dims)
        if data_type not in (None, spec.dtype):
            raise BadParam(argument=f"{typed}.dtype", expected=f"{data_type} as transformer", got=spec.dtype)
        for name in (*self.inputs, *self.outputs):
            if getattr(self, name).dtype is not spec.dtype:
                got = getattr(self, name).dtype
                raise BadParam(argument=f"{name}.dtype", expected=f"{spec.dtype} as {typed}", got=got)
        shape = self.grid_spec.dims
        if len(shape) != 4 or shape[3] != 2 or (dims and shape != (dims[0], *dims[2:], 2)):
            expected = str((dims[0], *dims[2:], 2)) if dims else "(n, h, w, 2)"
            raise BadParam(argument=f"{grid}.dims", expected=expected, got=shape)
        if dims and image and getattr(self, image).dims != dims:
            got = getattr(self, image).dims
            raise BadParam(argument=f"{image}.dims", expected=f"{dims} as transformer", got=got)


def check_four(dims: tuple[int, ...]) -> None:
    """Demand four dims, as 2-D transformations have."""
    if dims and len(dims) != 4:
        raise NotSupported(
            "only 2-D transformations are supported", argument="transformer.dims", expected="4 dims", got=dims
        )


def _check_theta(theta: TensorSpec, name: str, n: int) -> None:
    if theta.dims != (n, 2, 3):
        raise BadParam(argument=f"{name}.dims", expected=str((n, 2, 3)), got=theta.dims)


@dataclass(frozen=True)
class SpatialTfGridGeneratorForward(SpatialTransformer):
    """grid[n, h, w] = theta[n] @ (x_w, y_h, 1)."""

    op: ClassVar[str] = "spatial_tf_grid_generator_forward"
    inputs: ClassVar[tuple[str, ...]] = ("theta",)
    outputs: ClassVar[tuple[str, ...]] = ("grid",)
    scalars: ClassVar[dict[str, float]] = {}

    theta: TensorSpec
    grid: TensorSpec
    dims: tuple[int, ...] = ()
    data_type: DataType | None = None
    sampler: SamplerType = SamplerType.BILINEAR

    @property
    def grid_spec(self) -> TensorSpec:
        return self.grid

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        cls.settle(values, "grid", "", "theta")

    def validate(self) -> None:
        super().validate()
        self.check("grid", "theta", "")
        _check_theta(self.theta, "theta", self.grid.dims[0])

    def flops(self) -> int:
        return 4 * self.grid.size


@dataclass(frozen=True)
class SpatialTfGridGeneratorBackward(SpatialTransformer):
    """dtheta[n] = sum over h and w of dgrid[n, h, w] (x_w, y_h, 1)^T."""

    op: ClassVar[str] = "spatial_tf_grid_generator_backward"
    inputs: ClassVar[tuple[str, ...]] = ("dgrid",)
    outputs: ClassVar[tuple[str, ...]] = ("dtheta",)
    scalars: ClassVar[dict[str, float]] = {}

    dgrid: TensorSpec
    dtheta: TensorSpec
    dims: tuple[int, ...] = ()
    data_type: DataType | None = None
    sampler: SamplerType = SamplerType.BILINEAR

    @property
    def grid_spec(self) -> TensorSpec:
        return self.dgrid

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "dgrid" in values:
            dgrid = values["dgrid"]
            values.setdefault("dtheta", TensorSpec.packed(dgrid.dtype, (*dgrid.dims[:1], 2, 3)))
        cls.settle(values, "dgrid", "", "dgrid")

    def validate(self) -> None:
        super().validate()
        self.check("dgrid", "dgrid", "")
        _check_theta(self.dtheta, "dtheta", self.dgrid.dims[0])

    def flops(self) -> int:
        return 6 * self.dgrid.size

    def reduction_length(self, output: str) -> int:
        """Return how many grid points are added up for an element of dtheta."""
        return self.dgrid.dims[1] * self.dgrid.dims[2]


def checked(transformer: Any) -> SpatialTransformerDescriptor:
    """Demand a descriptor."""
    return check_descriptor(transformer, SpatialTransformerDescriptor, "transformer")


@computes
def spatial_tf_grid_generator_forward(
    handle: Handle, theta: Any, transformer: SpatialTransformerDescriptor, grid: Any = None
) -> Any:
    """Map every pixel of the output to a place in the input: ``grid = theta @ (x, y, 1)`` (guide section 4.121).

    Pixel i of n sits at ``-1 + 2*i/(n - 1)``: corners are aligned; the only pixel of a size of 1 sits at -1.

    Parameters
    ----------
    handle
        Where to compute.
    theta
        (n, 2, 3), one affine matrix for each image; float16, bfloat16, float32 or float64, any strides.
    transformer
        Size (n, c, h, w) of the output, and the type.
    grid
        (n, h, w, 2), x before y, any strides; may be left out.

    Returns
    -------
    array
        `grid`.

    Raises
    ------
    BadParam
        Dims or types that do not fit.
    NotSupported
        A transformer of other than 4 dims.
    """
    return execute(handle, SpatialTfGridGeneratorForward, (theta, grid), checked(transformer), ())


@computes
def spatial_tf_grid_generator_backward(
    handle: Handle, dgrid: Any, transformer: SpatialTransformerDescriptor, dtheta: Any = None
) -> Any:
    """Return the gradient of the affine matrices (guide section 4.122).

    Parameters
    ----------
    handle
        Where to compute.
    dgrid
        (n, h, w, 2), the gradient of the grid, any strides.
    transformer
        As given to the forward call.
    dtheta
        (n, 2, 3), any strides; may be left out.

    Returns
    -------
    array
        `dtheta`.

    Raises
    ------
    BadParam
        Dims or types that do not fit.
    NotSupported
        A transformer of other than 4 dims.
    """
    return execute(handle, SpatialTfGridGeneratorBackward, (dgrid, dtheta), checked(transformer), ())
