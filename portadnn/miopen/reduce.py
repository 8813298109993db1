"""Reductions of a tensor."""

from __future__ import annotations

from ..dispatch.problems import check_handle
from ..enums import NanPropagation, ReduceTensorIndices, ReduceTensorIndicesType, ReduceTensorOp
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
    made,
    wide_of,
)
from .generated.enums import (
    miopenDataType_t,
    miopenIndicesType_t,
    miopenNanPropagation_t,
    miopenReduceTensorIndices_t,
    miopenReduceTensorOp_t,
)
from .names import integer, parse, unified
from .workspaces import given_workspace


class miopenReduceTensorDescriptor_t(Opaque):
    """Operation, types and options of a reduction."""


def miopenSetReduceTensorDescriptor(
    reduceTensorDesc,
    reduceTensorOp,
    reduceTensorCompType,
    reduceTensorNanOpt,
    reduceTensorIndices,
    reduceTensorIndicesType,
):
    desc = made(reduceTensorDesc, miopenReduceTensorDescriptor_t, "reduceTensorDesc")
    kind = parse(miopenDataType_t, reduceTensorCompType, "reduceTensorCompType")
    desc.value = ReduceTensorDescriptor(
        ReduceTensorOp(parse(miopenReduceTensorOp_t, reduceTensorOp, "reduceTensorOp").value),
        unified(DATA_TYPES, kind, "reduceTensorCompType"),
        NanPropagation(parse(miopenNanPropagation_t, reduceTensorNanOpt, "reduceTensorNanOpt").value),
        ReduceTensorIndices(parse(miopenReduceTensorIndices_t, reduceTensorIndices, "reduceTensorIndices").value),
        ReduceTensorIndicesType(parse(miopenIndicesType_t, reduceTensorIndicesType, "reduceTensorIndicesType").value),
    )


def miopenGetReduceTensorDescriptor(reduceTensor):
    return (
        miopenReduceTensorOp_t(reduceTensor.op.value),
        MIOPEN_TYPES[reduceTensor.compute_type],
        miopenNanPropagation_t(reduceTensor.nan_propagation.value),
        miopenReduceTensorIndices_t(reduceTensor.indices.value),
        miopenIndicesType_t(reduceTensor.indices_type.value),
    )


def miopenGetReductionIndicesSize(handle, reduceTensor, aDesc, cDesc):
    return get_reduction_indices_size(handle, reduceTensor, wide_of(aDesc, "aDesc"), wide_of(cDesc, "cDesc"))


def miopenGetReductionWorkspaceSize(handle, reduceTensor, aDesc, cDesc):
    return get_reduction_workspace_size(handle, reduceTensor, wide_of(aDesc, "aDesc"), wide_of(cDesc, "cDesc"))


def miopenReduceTensor(
    handle,
    reduceTensor,
    indices,
    indicesSizeInBytes,
    A,
    C,
    aDesc,
    cDesc,
    workspace,
    workspaceSizeInBytes,
    alpha,
    beta,
):
    check_handle(handle)
    integer(indicesSizeInBytes, "indicesSizeInBytes")
    needed = get_reduction_workspace_size(handle, reduceTensor, aDesc.wide, cDesc.wide)
    scratch = given_workspace(handle, workspace, workspaceSizeInBytes, needed, "workspace")
    kept = None
    if reduceTensor.gives_indices:
        size = get_reduction_indices_size(handle, reduceTensor, aDesc.wide, cDesc.wide)
        kept = given_workspace(handle, indices, indicesSizeInBytes, size, "indices")
    reduce_tensor(handle, reduceTensor, A, C, indices=kept, workspace=scratch, alpha=alpha, beta=beta)
