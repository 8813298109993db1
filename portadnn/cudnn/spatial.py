"""Spatial transformers (guide sections 4.118 to 4.124)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..enums import SamplerType
from ..errors import BadParam
from ..handle import Handle
from ..ops.spatial_transformer import check_four
from ..problem import TensorSpec
from .calls import Choice, c_function
from .descriptors import SpatialTransformerDescriptor, TensorDescriptor, creator, destroy, integers, made, value_of
from .memory import tensor, view
from .tensors import data_type

sampler_type = Choice("cudnnSamplerType_t", SamplerType)

cudnnCreateSpatialTransformerDescriptor = creator(
    "cudnnCreateSpatialTransformerDescriptor", SpatialTransformerDescriptor
)


@c_function
def cudnnDestroySpatialTransformerDescriptor(stDesc: SpatialTransformerDescriptor) -> None:
    destroy(stDesc, SpatialTransformerDescriptor, "stDesc")


@c_function
def cudnnSetSpatialTransformerNdDescriptor(
    stDesc: SpatialTransformerDescriptor, samplerType: int, dataType: int, nbDims: int, dimA: Any
) -> None:
    """`dimA` is the size (n, c, h, w) of the transformed tensor."""
    made(stDesc, SpatialTransformerDescriptor, "stDesc")
    sampler, dtype = sampler_type(samplerType, "samplerType"), data_type(dataType, "dataType")
    stDesc.value = dnn.SpatialTransformerDescriptor(integers(dimA, nbDims, "dimA"), dtype, sampler)
    stDesc.views = {}


def _value(descriptor: Any) -> dnn.SpatialTransformerDescriptor:
    return value_of(descriptor, SpatialTransformerDescriptor, "stDesc")  # type: ignore[no-any-return]


def _packed(handle: Handle, descriptor: Any, memory: Any, name: str, theta: bool = False) -> Any:
    """Return a grid (n, h, w, 2), or matrices theta (n, 2, 3), which have no descriptor: they are packed."""
    value = _value(descriptor)
    dims = value.dims
    check_four(dims)
    shape = (dims[0], 2, 3) if theta else (dims[0], *dims[2:], 2)
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {shape}", got="NULL")
    return view(handle, descriptor.views, memory, TensorSpec.packed(value.dtype, shape), name, theta)


@c_function
def cudnnSpatialTfGridGeneratorForward(
    handle: Handle, stDesc: SpatialTransformerDescriptor, theta: Any, grid: Any
) -> None:
    """`theta` is packed (n, 2, 3), `grid` packed (n, h, w, 2)."""
    matrices, places = _packed(handle, stDesc, theta, "theta", theta=True), _packed(handle, stDesc, grid, "grid")
    dnn.spatial_tf_grid_generator_forward(handle, matrices, _value(stDesc), places)


@c_function
def cudnnSpatialTfGridGeneratorBackward(
    handle: Handle, stDesc: SpatialTransformerDescriptor, dgrid: Any, dtheta: Any
) -> None:
    """`dtheta` is packed (n, 2, 3), `dgrid` packed (n, h, w, 2)."""
    places, matrices = _packed(handle, stDesc, dgrid, "dgrid"), _packed(handle, stDesc, dtheta, "dtheta", theta=True)
    dnn.spatial_tf_grid_generator_backward(handle, places, _value(stDesc), matrices)


@c_function
def cudnnSpatialTfSamplerForward(
    handle: Handle,
    stDesc: SpatialTransformerDescriptor,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    grid: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    dnn.spatial_tf_sampler_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        _packed(handle, stDesc, grid, "grid"),
        _value(stDesc),
        tensor(handle, yDesc, y, "y"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnSpatialTfSamplerBackward(
    handle: Handle,
    stDesc: SpatialTransformerDescriptor,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
    alphaDgrid: float,
    dyDesc: TensorDescriptor,
    dy: Any,
    grid: Any,
    betaDgrid: float,
    dgrid: Any,
) -> None:
    dnn.spatial_tf_sampler_backward(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, dy, "dy"),
        _packed(handle, stDesc, grid, "grid"),
        _value(stDesc),
        tensor(handle, dxDesc, dx, "dx"),
        _packed(handle, stDesc, dgrid, "dgrid"),
        alpha=alpha,
        beta=beta,
        alpha_dgrid=alphaDgrid,
        beta_dgrid=betaDgrid,
    )
