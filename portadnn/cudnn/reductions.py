"""Reductions (cuDNN 6)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..enums import ReduceTensorIndices, ReduceTensorIndicesType, ReduceTensorOp
from ..handle import Handle
from .calls import Choice, c_function
from .descriptors import ReduceTensorDescriptor, TensorDescriptor, creator, destroy, made, value_of
from .memory import raw, tensor, workspace
from .tensors import data_type, nan_option

reduce_op = Choice("cudnnReduceTensorOp_t", ReduceTensorOp)
reduce_indices = Choice("cudnnReduceTensorIndices_t", ReduceTensorIndices)
indices_type = Choice("cudnnIndicesType_t", ReduceTensorIndicesType)

cudnnCreateReduceTensorDescriptor = creator("cudnnCreateReduceTensorDescriptor", ReduceTensorDescriptor)


@c_function
def cudnnSetReduceTensorDescriptor(
    reduceTensorDesc: ReduceTensorDescriptor,
    reduceTensorOp: int,
    reduceTensorCompType: int,
    reduceTensorNanOpt: int,
    reduceTensorIndices: int,
    reduceTensorIndicesType: int,
) -> None:
    made(reduceTensorDesc, ReduceTensorDescriptor, "reduceTensorDesc")
    reduceTensorDesc.value = dnn.ReduceTensorDescriptor(
        reduce_op(reduceTensorOp, "reduceTensorOp"),
        data_type(reduceTensorCompType, "reduceTensorCompType"),
        nan_option(reduceTensorNanOpt, "reduceTensorNanOpt"),
        reduce_indices(reduceTensorIndices, "reduceTensorIndices"),
        indices_type(reduceTensorIndicesType, "reduceTensorIndicesType"),
    )


def _value(descriptor: Any) -> dnn.ReduceTensorDescriptor:
    return value_of(descriptor, ReduceTensorDescriptor, "reduceTensorDesc")  # type: ignore[no-any-return]


@c_function
def cudnnGetReduceTensorDescriptor(reduceTensorDesc: ReduceTensorDescriptor) -> tuple[Any, ...]:
    value = _value(reduceTensorDesc)
    return (
        reduce_op.c(value.op),
        data_type.c(value.compute_type),
        nan_option.c(value.nan_propagation),
        reduce_indices.c(value.indices),
        indices_type.c(value.indices_type),
    )


@c_function
def cudnnDestroyReduceTensorDescriptor(reduceTensorDesc: ReduceTensorDescriptor) -> None:
    destroy(reduceTensorDesc, ReduceTensorDescriptor, "reduceTensorDesc")


def _two(a: Any, c: Any) -> tuple[Any, Any]:
    return value_of(a, TensorDescriptor, "aDesc"), value_of(c, TensorDescriptor, "cDesc")


@c_function
def cudnnGetReductionIndicesSize(
    handle: Handle, reduceTensorDesc: ReduceTensorDescriptor, aDesc: TensorDescriptor, cDesc: TensorDescriptor
) -> int:
    return dnn.get_reduction_indices_size(handle, _value(reduceTensorDesc), *_two(aDesc, cDesc))


@c_function
def cudnnGetReductionWorkspaceSize(
    handle: Handle, reduceTensorDesc: ReduceTensorDescriptor, aDesc: TensorDescriptor, cDesc: TensorDescriptor
) -> int:
    return dnn.get_reduction_workspace_size(handle, _value(reduceTensorDesc), *_two(aDesc, cDesc))


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
    """`indices` is memory of cudnnGetReductionIndicesSize bytes (32-bit integers); NULL where there are none."""
    value = _value(reduceTensorDesc)
    wanted = value.gives_indices
    dnn.reduce_tensor(
        handle,
        value,
        tensor(handle, aDesc, A, "A", desc="aDesc"),
        tensor(handle, cDesc, C, "C", desc="cDesc"),
        indices=raw(handle, indices, indicesSizeInBytes, "indices") if wanted else None,
        workspace=_scratch(handle, workspace, workspaceSizeInBytes),
        alpha=alpha,
        beta=beta,
    )


def _scratch(handle: Handle, memory: Any, size: Any) -> Any:
    return workspace(handle, memory, size)
