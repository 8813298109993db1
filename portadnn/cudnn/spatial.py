"""Spatial transformers (guide sections 4.118 to 4.124)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..enums import SamplerType
from ..errors import BadParam
from ..handle import Handle
from ..ops.spatial_transformer import check_four
from ..problem import TensorSpec
from .calls import Choice
from .descriptors import SpatialTransformerDescriptor, integers, made, value_of
from .memory import view
from .tensors import data_type

sampler_type = Choice("cudnnSamplerType_t", SamplerType)


def cudnnSetSpatialTransformerNdDescriptor(stDesc, samplerType, dataType, nbDims, dimA):
    made(stDesc, SpatialTransformerDescriptor, "stDesc")
    sampler, dtype = sampler_type(samplerType, "samplerType"), data_type(dataType, "dataType")
    stDesc.value = dnn.SpatialTransformerDescriptor(integers(dimA, nbDims, "dimA"), dtype, sampler)
    stDesc.views = {}


def _packed(handle: Handle, descriptor: Any, memory: Any, name: str, theta: bool = False) -> Any:
    """Return a grid (n, h, w, 2), or matrices theta (n, 2, 3), which have no descriptor: they are packed."""
    value = value_of(descriptor, SpatialTransformerDescriptor, "stDesc")
    dims = value.dims
    check_four(dims)
    shape = (dims[0], 2, 3) if theta else (dims[0], *dims[2:], 2)
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {shape}", got="NULL")
    return view(handle, descriptor.views, memory, TensorSpec.packed(value.dtype, shape), name, theta)


def cudnnSpatialTfGridGeneratorForward(handle, stDesc, theta, grid):
    matrices, places = _packed(handle, stDesc, theta, "theta", theta=True), _packed(handle, stDesc, grid, "grid")
    dnn.spatial_tf_grid_generator_forward(handle, matrices, stDesc.value, places)


def cudnnSpatialTfGridGeneratorBackward(handle, stDesc, dgrid, dtheta):
    places, matrices = _packed(handle, stDesc, dgrid, "dgrid"), _packed(handle, stDesc, dtheta, "dtheta", theta=True)
    dnn.spatial_tf_grid_generator_backward(handle, places, stDesc.value, matrices)


def cudnnSpatialTfSamplerForward(handle, stDesc, x, grid, y, alpha, beta):
    places = _packed(handle, stDesc, grid, "grid")
    dnn.spatial_tf_sampler_forward(handle, x, places, stDesc.value, y, alpha=alpha, beta=beta)


def cudnnSpatialTfSamplerBackward(handle, stDesc, x, dy, grid, dx, dgrid, alpha, beta, alphaDgrid, betaDgrid):
    places, gradients = _packed(handle, stDesc, grid, "grid"), _packed(handle, stDesc, dgrid, "dgrid")
    numbers = {"alpha": alpha, "beta": beta, "alpha_dgrid": alphaDgrid, "beta_dgrid": betaDgrid}
    dnn.spatial_tf_sampler_backward(handle, x, dy, places, stDesc.value, dx, gradients, **numbers)
