"""Reductions of a tensor."""

from __future__ import annotations

from typing import Any

from ..dispatch.problems import check_handle
from ..enums import NanPropagation, ReduceTensorIndices, ReduceTensorIndicesType, ReduceTensorOp
from ..handle import Handle
from ..ops.reduce import (
    ReduceTensorDescriptor,
    get_reduction_indices_size,
    get_reduction_workspace_size,
    reduce_tensor,
)
from .descriptors import (
    DATA_TYPES,
    MIOPEN_TYPES,
    Opaque,
    creator,
    destroy,
    made,
    miopenTensorDescriptor_t,
    tensor,
    value_of,
    wide_of,
)
from .enums import (
    miopenDataType_t,
    miopenIndicesType_t,
    miopenNanPropagation_t,
    miopenReduceTensorIndices_t,
    miopenReduceTensorOp_t,
)
from .names import function, integer, parse, unified
from .workspaces import given_workspace


class miopenReduceTensorDescriptor_t(Opaque):
    """Operation, types and options of a reduction."""


miopenCreateReduceTensorDescriptor = creator("miopenCreateReduceTensorDescriptor", miopenReduceTensorDescriptor_t)


@function
def miopenSetReduceTensorDescriptor(
    reduceTensorDesc: miopenReduceTensorDescriptor_t,
    reduceTensorOp: Any,
    reduceTensorCompType: Any,
    reduceTensorNanOpt: Any,
    reduceTensorIndices: Any,
    reduceTensorIndicesType: Any,
) -> None:
    """Choose operation, type of the arithmetic (miopenFloat, or miopenDouble for double tensors), NaN and indices."""
    desc = made(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc")
    kind = parse(miopenDataType_t, reduceTensorCompType, "reduceTensorCompType")
    desc.value = ReduceTensorDescriptor(
        ReduceTensorOp(parse(miopenReduceTensorOp_t, reduceTensorOp, "reduceTensorOp").value),
        unified(DATA_TYPES, kind, "reduceTensorCompType"),
        NanPropagation(parse(miopenNanPropagation_t, reduceTensorNanOpt, "reduceTensorNanOpt").value),
        ReduceTensorIndices(parse(miopenReduceTensorIndices_t, reduceTensorIndices, "reduceTensorIndices").value),
        ReduceTensorIndicesType(parse(miopenIndicesType_t, reduceTensorIndicesType, "reduceTensorIndicesType").value),
    )


@function
def miopenGetReduceTensorDescriptor(
    reduceTensorDesc: miopenReduceTensorDescriptor_t,
) -> tuple[
    miopenReduceTensorOp_t,
    miopenDataType_t,
    miopenNanPropagation_t,
    miopenReduceTensorIndices_t,
    miopenIndicesType_t,
]:
    """Return what a descriptor was set to."""
    value = value_of(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc")
    return (
        miopenReduceTensorOp_t(value.op.value),
        MIOPEN_TYPES[value.compute_type],
        miopenNanPropagation_t(value.nan_propagation.value),
        miopenReduceTensorIndices_t(value.indices.value),
        miopenIndicesType_t(value.indices_type.value),
    )


@function
def miopenDestroyReduceTensorDescriptor(reduceTensorDesc: miopenReduceTensorDescriptor_t) -> None:
    """Destroy a descriptor."""
    destroy(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc")


@function
def miopenGetReductionIndicesSize(
    handle: Handle,
    reduceTensorDesc: miopenReduceTensorDescriptor_t,
    aDesc: miopenTensorDescriptor_t,
    cDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes of the indices; 0 where there are none."""
    value = value_of(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc")
    return get_reduction_indices_size(handle, value, wide_of(aDesc, "aDesc"), wide_of(cDesc, "cDesc"))


@function
def miopenGetReductionWorkspaceSize(
    handle: Handle,
    reduceTensorDesc: miopenReduceTensorDescriptor_t,
    aDesc: miopenTensorDescriptor_t,
    cDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes of the workspace."""
    value = value_of(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc")
    return get_reduction_workspace_size(handle, value, wide_of(aDesc, "aDesc"), wide_of(cDesc, "cDesc"))


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
    """Reduce: ``C = alpha * reduce(A) + beta * C`` over the dims that are 1 in C."""
    value = value_of(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc")
    check_handle(handle)
    integer(indicesSizeInBytes, "indicesSizeInBytes")
    a, c = tensor(handle, aDesc, A, "A"), tensor(handle, cDesc, C, "C")
    needed = get_reduction_workspace_size(handle, value, aDesc.wide, cDesc.wide)
    scratch = given_workspace(handle, workspace, workspaceSizeInBytes, needed, "workspace")
    kept = None
    if value.gives_indices:
        size = get_reduction_indices_size(handle, value, aDesc.wide, cDesc.wide)
        kept = given_workspace(handle, indices, indicesSizeInBytes, size, "indices")
    reduce_tensor(handle, value, a, c, indices=kept, workspace=scratch, alpha=alpha, beta=beta)
