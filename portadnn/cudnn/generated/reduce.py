"""Reduction: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function
from ..descriptors import ReduceTensorDescriptor, TensorDescriptor, destroy, value_of
from ..memory import scratch
from ..reductions import (
    cudnnGetReduceTensorDescriptor as _GetReduceTensorDescriptor,
    cudnnGetReductionIndicesSize as _GetReductionIndicesSize,
    cudnnGetReductionWorkspaceSize as _GetReductionWorkspaceSize,
    cudnnReduceTensor as _ReduceTensor,
    cudnnSetReduceTensorDescriptor as _SetReduceTensorDescriptor,
)
from .enums.reduce import cudnnIndicesType_t, cudnnReduceTensorIndices_t, cudnnReduceTensorOp_t
from .enums.tensor import cudnnDataType_t, cudnnNanPropagation_t


@c_function
def cudnnCreateReduceTensorDescriptor() -> ReduceTensorDescriptor:
    """Return reduceTensorDesc (since 6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateReduceTensorDescriptor(cudnnReduceTensorDescriptor_t *reduceTensorDesc)``

    In portadnn: ``ReduceTensorDescriptor``.
    """
    return ReduceTensorDescriptor()


@c_function
def cudnnSetReduceTensorDescriptor(
    reduceTensorDesc: ReduceTensorDescriptor,
    reduceTensorOp: int,
    reduceTensorCompType: int,
    reduceTensorNanOpt: int,
    reduceTensorIndices: int,
    reduceTensorIndicesType: int,
) -> None:
    """Return nothing (since 6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc, cudnnReduceTensorOp_t reduceTensorOp, cudnnDataType_t reduceTensorCompType, cudnnNanPropagation_t reduceTensorNanOpt, cudnnReduceTensorIndices_t reduceTensorIndices, cudnnIndicesType_t reduceTensorIndicesType)``

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


@c_function
def cudnnGetReduceTensorDescriptor(
    reduceTensorDesc: ReduceTensorDescriptor
) -> tuple[cudnnReduceTensorOp_t, cudnnDataType_t, cudnnNanPropagation_t, cudnnReduceTensorIndices_t, cudnnIndicesType_t]:
    """Return (reduceTensorOp, reduceTensorCompType, reduceTensorNanOpt, reduceTensorIndices, reduceTensorIndicesType) (since 6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetReduceTensorDescriptor(const cudnnReduceTensorDescriptor_t reduceTensorDesc, cudnnReduceTensorOp_t *reduceTensorOp, cudnnDataType_t *reduceTensorCompType, cudnnNanPropagation_t *reduceTensorNanOpt, cudnnReduceTensorIndices_t *reduceTensorIndices, cudnnIndicesType_t *reduceTensorIndicesType)``

    In portadnn: ``ReduceTensorDescriptor``.
    """
    return _GetReduceTensorDescriptor(
        value_of(reduceTensorDesc, ReduceTensorDescriptor, "reduceTensorDesc"), reduceTensorDesc
    )


@c_function
def cudnnDestroyReduceTensorDescriptor(reduceTensorDesc: ReduceTensorDescriptor) -> None:
    """Return nothing (since 6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc)``

    In portadnn: ``ReduceTensorDescriptor``.
    """
    destroy(reduceTensorDesc, ReduceTensorDescriptor, "reduceTensorDesc")


@c_function
def cudnnGetReductionIndicesSize(
    handle: Handle, reduceTensorDesc: ReduceTensorDescriptor, aDesc: TensorDescriptor, cDesc: TensorDescriptor
) -> int:
    """Return sizeInBytes (since 6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetReductionIndicesSize(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduceTensorDesc, const cudnnTensorDescriptor_t aDesc, const cudnnTensorDescriptor_t cDesc, size_t *sizeInBytes)``

    In portadnn: ``get_reduction_indices_size``.
    """
    return _GetReductionIndicesSize(
        handle,
        value_of(reduceTensorDesc, ReduceTensorDescriptor, "reduceTensorDesc"),
        value_of(aDesc, TensorDescriptor, "aDesc"),
        value_of(cDesc, TensorDescriptor, "cDesc"),
        reduceTensorDesc,
    )


@c_function
def cudnnGetReductionWorkspaceSize(
    handle: Handle, reduceTensorDesc: ReduceTensorDescriptor, aDesc: TensorDescriptor, cDesc: TensorDescriptor
) -> int:
    """Return sizeInBytes (since 6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduceTensorDesc, const cudnnTensorDescriptor_t aDesc, const cudnnTensorDescriptor_t cDesc, size_t *sizeInBytes)``

    In portadnn: ``get_reduction_workspace_size``.
    """
    return _GetReductionWorkspaceSize(
        handle,
        value_of(reduceTensorDesc, ReduceTensorDescriptor, "reduceTensorDesc"),
        value_of(aDesc, TensorDescriptor, "aDesc"),
        value_of(cDesc, TensorDescriptor, "cDesc"),
    )


@c_function
def cudnnReduceTensor(
    handle: Handle,
    reduceTensorDesc: ReduceTensorDescriptor,
    indices: Any,
    indicesSizeInBytes: int,
    workspace: Any,
    workspaceSizeInBytes: int,
    alpha: float,
    aDesc: TensorDescriptor,
    A: Any,
    beta: float,
    cDesc: TensorDescriptor,
    C: Any,
) -> None:
    """Return nothing (since 6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduceTensorDesc, void *indices, size_t indicesSizeInBytes, void *workspace, size_t workspaceSizeInBytes, const void *alpha, const cudnnTensorDescriptor_t aDesc, const void *A, const void *beta, const cudnnTensorDescriptor_t cDesc, void *C)``

    In portadnn: ``reduce_tensor``.

    `indices` is memory of cudnnGetReductionIndicesSize bytes (integers of the descriptor's size); NULL where there are none. HALF, BFLOAT16 and INT8 mix with FLOAT.
    """
    _ReduceTensor(
        handle,
        value_of(reduceTensorDesc, ReduceTensorDescriptor, "reduceTensorDesc"),
        aDesc,
        A,
        cDesc,
        C,
        reduceTensorDesc,
        indices,
        indicesSizeInBytes,
        scratch(handle, workspace, workspaceSizeInBytes),
        alpha,
        beta,
    )
