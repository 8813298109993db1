"""Spatial transformer: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function
from ..descriptors import SpatialTransformerDescriptor, TensorDescriptor, destroy
from ..memory import tensor
from ..spatial import (
    cudnnSetSpatialTransformerNdDescriptor as _SetSpatialTransformerNdDescriptor,
    cudnnSpatialTfGridGeneratorBackward as _SpatialTfGridGeneratorBackward,
    cudnnSpatialTfGridGeneratorForward as _SpatialTfGridGeneratorForward,
    cudnnSpatialTfSamplerBackward as _SpatialTfSamplerBackward,
    cudnnSpatialTfSamplerForward as _SpatialTfSamplerForward,
)


@c_function
def cudnnCreateSpatialTransformerDescriptor() -> SpatialTransformerDescriptor:
    """Return stDesc (guide 4.118, since 5.0).

    C: ``cudnnStatus_t cudnnCreateSpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t *stDesc)``

    In portadnn: ``SpatialTransformerDescriptor``.
    """
    return SpatialTransformerDescriptor()


@c_function
def cudnnDestroySpatialTransformerDescriptor(stDesc: SpatialTransformerDescriptor) -> None:
    """Return nothing (guide 4.119, since 5.0).

    C: ``cudnnStatus_t cudnnDestroySpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t stDesc)``

    In portadnn: ``SpatialTransformerDescriptor``.
    """
    destroy(stDesc, SpatialTransformerDescriptor, "stDesc")


@c_function
def cudnnSetSpatialTransformerNdDescriptor(
    stDesc: SpatialTransformerDescriptor, samplerType: int, dataType: int, nbDims: int, dimA: Any
) -> None:
    """Return nothing (guide 4.120, since 5.0).

    C: ``cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t stDesc, cudnnSamplerType_t samplerType, cudnnDataType_t dataType, const int nbDims, const int dimA[])``

    In portadnn: ``SpatialTransformerDescriptor.set_nd``.

    `dimA` is the size (n, c, h, w) of the transformed tensor.
    """
    _SetSpatialTransformerNdDescriptor(stDesc, samplerType, dataType, nbDims, dimA)


@c_function
def cudnnSpatialTfGridGeneratorForward(
    handle: Handle, stDesc: SpatialTransformerDescriptor, theta: Any, grid: Any
) -> None:
    """Return nothing (guide 4.121, since 5.0).

    C: ``cudnnStatus_t cudnnSpatialTfGridGeneratorForward(cudnnHandle_t handle, const cudnnSpatialTransformerDescriptor_t stDesc, const void *theta, void *grid)``

    In portadnn: ``spatial_tf_grid_generator_forward``.

    `theta` is packed (n, 2, 3), `grid` packed (n, h, w, 2).
    """
    _SpatialTfGridGeneratorForward(handle, stDesc, theta, grid)


@c_function
def cudnnSpatialTfGridGeneratorBackward(
    handle: Handle, stDesc: SpatialTransformerDescriptor, dgrid: Any, dtheta: Any
) -> None:
    """Return nothing (guide 4.122, since 5.0).

    C: ``cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t handle, const cudnnSpatialTransformerDescriptor_t stDesc, const void *dgrid, void *dtheta)``

    In portadnn: ``spatial_tf_grid_generator_backward``.

    `dtheta` is packed (n, 2, 3), `dgrid` packed (n, h, w, 2).
    """
    _SpatialTfGridGeneratorBackward(handle, stDesc, dgrid, dtheta)


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
    """Return nothing (guide 4.123, since 5.0).

    C: ``cudnnStatus_t cudnnSpatialTfSamplerForward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t stDesc, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *grid, const void *beta, cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``spatial_tf_sampler_forward``.
    """
    _SpatialTfSamplerForward(
        handle, stDesc, tensor(handle, xDesc, x, "x"), grid, tensor(handle, yDesc, y, "y"), alpha, beta
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
    """Return nothing (guide 4.124, since 5.0).

    C: ``cudnnStatus_t cudnnSpatialTfSamplerBackward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t stDesc, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx, const void *alphaDgrid, const cudnnTensorDescriptor_t dyDesc, const void *dy, const void *grid, const void *betaDgrid, void *dgrid)``

    In portadnn: ``spatial_tf_sampler_backward``.
    """
    _SpatialTfSamplerBackward(
        handle,
        stDesc,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, dy, "dy"),
        grid,
        tensor(handle, dxDesc, dx, "dx"),
        dgrid,
        alpha,
        beta,
        alphaDgrid,
        betaDgrid,
    )
