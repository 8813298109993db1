"""Reduction: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import destroy, miopenTensorDescriptor_t, tensor, value_of
from ..names import function
from ..reduce import (
    miopenGetReduceCalculationWorkspaceSize as _GetReduceCalculationWorkspaceSize,
    miopenGetReduceTensorDescriptor as _GetReduceTensorDescriptor,
    miopenGetReductionIndicesSize as _GetReductionIndicesSize,
    miopenGetReductionWorkspaceSize as _GetReductionWorkspaceSize,
    miopenReduceCalculationForward as _ReduceCalculationForward,
    miopenReduceExtremeForward as _ReduceExtremeForward,
    miopenReduceTensor as _ReduceTensor,
    miopenReduceTensorDescriptor_t,
    miopenSetReduceTensorDescriptor as _SetReduceTensorDescriptor,
)
from .enums import (
    miopenDataType_t,
    miopenIndicesType_t,
    miopenNanPropagation_t,
    miopenReduceTensorIndices_t,
    miopenReduceTensorOp_t,
)


@function
def miopenCreateReduceTensorDescriptor() -> miopenReduceTensorDescriptor_t:
    """Return reduceTensorDesc (since 2.7.0).

    C: ``miopenStatus_t miopenCreateReduceTensorDescriptor(miopenReduceTensorDescriptor_t *reduceTensorDesc)``

    In cuDNN: ``cudnnCreateReduceTensorDescriptor``; what a port changes: same arguments.

    In portadnn: ``ReduceTensorDescriptor``.
    """
    return miopenReduceTensorDescriptor_t()


@function
def miopenSetReduceTensorDescriptor(
    reduceTensorDesc: miopenReduceTensorDescriptor_t,
    reduceTensorOp: int,
    reduceTensorCompType: int,
    reduceTensorNanOpt: int,
    reduceTensorIndices: int,
    reduceTensorIndicesType: int,
) -> None:
    """Choose operation, type of the arithmetic (miopenFloat, or miopenDouble for double tensors), NaN and indices.

    Return nothing (since 2.7.0).

    C: ``miopenStatus_t miopenSetReduceTensorDescriptor(miopenReduceTensorDescriptor_t reduceTensorDesc, miopenReduceTensorOp_t reduceTensorOp, miopenDataType_t reduceTensorCompType, miopenNanPropagation_t reduceTensorNanOpt, miopenReduceTensorIndices_t reduceTensorIndices, miopenIndicesType_t reduceTensorIndicesType)``

    In cuDNN: ``cudnnSetReduceTensorDescriptor``; what a port changes: same arguments.

    In portadnn: ``ReduceTensorDescriptor``.
    """
    _SetReduceTensorDescriptor(
        reduceTensorDesc,
        reduceTensorOp,
        reduceTensorCompType,
        reduceTensorNanOpt,
        reduceTensorIndices,
        reduceTensorIndicesType,
    )


@function
def miopenGetReduceTensorDescriptor(
    reduceTensorDesc: miopenReduceTensorDescriptor_t
) -> tuple[miopenReduceTensorOp_t, miopenDataType_t, miopenNanPropagation_t, miopenReduceTensorIndices_t, miopenIndicesType_t]:
    """Return what a descriptor was set to.

    Return (reduceTensorOp, reduceTensorCompType, reduceTensorNanOpt, reduceTensorIndices, reduceTensorIndicesType) (since 2.7.0).

    C: ``miopenStatus_t miopenGetReduceTensorDescriptor(const miopenReduceTensorDescriptor_t reduceTensorDesc, miopenReduceTensorOp_t *reduceTensorOp, miopenDataType_t *reduceTensorCompType, miopenNanPropagation_t *reduceTensorNanOpt, miopenReduceTensorIndices_t *reduceTensorIndices, miopenIndicesType_t *reduceTensorIndicesType)``

    In cuDNN: ``cudnnGetReduceTensorDescriptor``; what a port changes: same arguments.

    In portadnn: ``ReduceTensorDescriptor``.
    """
    return _GetReduceTensorDescriptor(
        value_of(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc"), reduceTensorDesc
    )


@function
def miopenDestroyReduceTensorDescriptor(reduceTensorDesc: miopenReduceTensorDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 2.7.0).

    C: ``miopenStatus_t miopenDestroyReduceTensorDescriptor(miopenReduceTensorDescriptor_t reduceTensorDesc)``

    In cuDNN: ``cudnnDestroyReduceTensorDescriptor``; what a port changes: same arguments.

    In portadnn: ``ReduceTensorDescriptor``.
    """
    destroy(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc")


@function
def miopenGetReductionIndicesSize(
    handle: Handle,
    reduceTensorDesc: miopenReduceTensorDescriptor_t,
    aDesc: miopenTensorDescriptor_t,
    cDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes of the indices; 0 where there are none.

    Return sizeInBytes (since 2.7.0).

    C: ``miopenStatus_t miopenGetReductionIndicesSize(miopenHandle_t handle, const miopenReduceTensorDescriptor_t reduceTensorDesc, const miopenTensorDescriptor_t aDesc, const miopenTensorDescriptor_t cDesc, size_t *sizeInBytes)``

    In cuDNN: ``cudnnGetReductionIndicesSize``; what a port changes: same arguments.

    In portadnn: ``get_reduction_indices_size``.
    """
    return _GetReductionIndicesSize(
        handle, value_of(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc"), aDesc, cDesc
    )


@function
def miopenGetReductionWorkspaceSize(
    handle: Handle,
    reduceTensorDesc: miopenReduceTensorDescriptor_t,
    aDesc: miopenTensorDescriptor_t,
    cDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes of the workspace.

    Return sizeInBytes (since 2.7.0).

    C: ``miopenStatus_t miopenGetReductionWorkspaceSize(miopenHandle_t handle, const miopenReduceTensorDescriptor_t reduceTensorDesc, const miopenTensorDescriptor_t aDesc, const miopenTensorDescriptor_t cDesc, size_t *sizeInBytes)``

    In cuDNN: ``cudnnGetReductionWorkspaceSize``; what a port changes: same arguments.

    In portadnn: ``get_reduction_workspace_size``.
    """
    return _GetReductionWorkspaceSize(
        handle, value_of(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc"), aDesc, cDesc
    )


@function
def miopenReduceTensor(
    handle: Handle,
    reduceTensorDesc: miopenReduceTensorDescriptor_t,
    indices: Any,
    indicesSizeInBytes: int,
    workspace: Any,
    workspaceSizeInBytes: int,
    alpha: float,
    aDesc: miopenTensorDescriptor_t,
    A: Any,
    beta: float,
    cDesc: miopenTensorDescriptor_t,
    C: Any,
) -> None:
    """Reduce: ``C = alpha * reduce(A) + beta * C`` over the dims that are 1 in C.

    Return nothing (since 2.7.0).

    C: ``miopenStatus_t miopenReduceTensor(miopenHandle_t handle, const miopenReduceTensorDescriptor_t reduceTensorDesc, void *indices, size_t indicesSizeInBytes, void *workspace, size_t workspaceSizeInBytes, const void *alpha, const miopenTensorDescriptor_t aDesc, const void *A, const void *beta, const miopenTensorDescriptor_t cDesc, void *C)``

    In cuDNN: ``cudnnReduceTensor``; what a port changes: same arguments.

    In portadnn: ``reduce_tensor``.
    """
    _ReduceTensor(
        handle,
        value_of(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc"),
        indices,
        indicesSizeInBytes,
        tensor(handle, aDesc, A, "A", "aDesc"),
        tensor(handle, cDesc, C, "C", "cDesc"),
        aDesc,
        cDesc,
        workspace,
        workspaceSizeInBytes,
        alpha,
        beta,
    )


@function
def miopenReduceCalculationForward(
    handle: Handle,
    nanPropagation: int,
    workspace: Any,
    workspaceSizeInBytes: int,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    dim: int,
    reduceCalculationOp: int,
    reduceDesc: miopenTensorDescriptor_t,
    y: Any,
) -> None:
    """Add up or multiply the numbers along one dim. y has the dims of x without that one. PROPAGATE_NAN makes a row with a NaN NaN, NOT_PROPAGATE_NAN leaves NaN out.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenReduceCalculationForward(miopenHandle_t handle, miopenReduceCalculationNanPropagation_t nanPropagation, void *workspace, size_t workspaceSizeInBytes, const miopenTensorDescriptor_t xDesc, const void *x, const int32_t dim, const miopenReduceCalculationOp_t reduceCalculationOp, const miopenTensorDescriptor_t reduceDesc, void *y)``

    In portadnn: ``reduce_tensor``.
    """
    _ReduceCalculationForward(
        handle,
        nanPropagation,
        workspace,
        workspaceSizeInBytes,
        xDesc,
        tensor(handle, xDesc, x, "x"),
        dim,
        reduceCalculationOp,
        reduceDesc,
        y,
    )


@function
def miopenGetReduceCalculationWorkspaceSize(
    handle: Handle,
    xDesc: miopenTensorDescriptor_t,
    dim: int,
    reduceCalculationOp: int,
    reduceDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes of the workspace of miopenReduceCalculationForward.

    Return sizeInBytes (since 3.3.0).

    C: ``miopenStatus_t miopenGetReduceCalculationWorkspaceSize(miopenHandle_t handle, const miopenTensorDescriptor_t xDesc, const int32_t dim, const miopenReduceCalculationOp_t reduceCalculationOp, const miopenTensorDescriptor_t reduceDesc, size_t *sizeInBytes)``

    In portadnn: ``get_reduction_workspace_size``.
    """
    return _GetReduceCalculationWorkspaceSize(handle, xDesc, dim, reduceCalculationOp, reduceDesc)


@function
def miopenReduceExtremeForward(
    handle: Handle,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    dim: int,
    reduceExtremeOp: int,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    indiceDesc: miopenTensorDescriptor_t,
    indice: Any,
) -> None:
    """Find the least or greatest number along one dim and the first place where it is (32-bit integers). y is not written by ARGMIN and ARGMAX and may be None, with its descriptor.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenReduceExtremeForward(miopenHandle_t handle, const miopenTensorDescriptor_t xDesc, const void *x, const int32_t dim, const miopenReduceExtremeOp_t reduceExtremeOp, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t indiceDesc, void *indice)``

    In portadnn: ``reduce_tensor``.
    """
    _ReduceExtremeForward(
        handle, xDesc, tensor(handle, xDesc, x, "x"), dim, reduceExtremeOp, yDesc, y, indiceDesc, indice
    )
