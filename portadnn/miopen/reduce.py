"""Reductions of a tensor."""

from __future__ import annotations

from typing import Any

from ..descriptors import TensorView
from ..dispatch.problems import check_handle
from ..enums import NanPropagation, ReduceTensorIndices, ReduceTensorIndicesType, ReduceTensorOp
from ..errors import BadParam
from ..handle import Handle
from ..ops.reduce import (
    ReduceTensorDescriptor,
    get_reduction_indices_size,
    get_reduction_workspace_size,
    reduce_tensor,
)
from ..problem import TensorSpec
from .descriptors import (
    DATA_TYPES,
    Opaque,
    made,
    spec_of,
    view,
    wide_of,
)
from .generated.enums import (
    miopenDataType_t,
    miopenIndicesType_t,
    miopenNanPropagation_t,
    miopenReduceCalculationNanPropagation_t,
    miopenReduceCalculationOp_t,
    miopenReduceExtremeOp_t,
    miopenReduceTensorIndices_t,
    miopenReduceTensorOp_t,
)
from .names import integer, parse, unified
from .workspaces import given_workspace


class miopenReduceTensorDescriptor_t(Opaque):
    """Operation, types and options of a reduction; the types are the ones that were stated."""

    index_type = miopenIndicesType_t.MIOPEN_32BIT_INDICES
    compute_type = miopenDataType_t.miopenFloat


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
    indices = ReduceTensorIndices(parse(miopenReduceTensorIndices_t, reduceTensorIndices, "reduceTensorIndices").value)
    index_type = parse(miopenIndicesType_t, reduceTensorIndicesType, "reduceTensorIndicesType")
    asked = indices is ReduceTensorIndices.FLATTENED_INDICES  # else any type does, as in MIOpen
    counted = index_type if asked else miopenIndicesType_t.MIOPEN_32BIT_INDICES
    computed = unified(DATA_TYPES, kind, "reduceTensorCompType")
    desc.value = ReduceTensorDescriptor(
        ReduceTensorOp(parse(miopenReduceTensorOp_t, reduceTensorOp, "reduceTensorOp").value),
        None if computed.itemsize == 2 else computed,  # halves are summed in float
        NanPropagation(parse(miopenNanPropagation_t, reduceTensorNanOpt, "reduceTensorNanOpt").value),
        indices,
        ReduceTensorIndicesType(counted.value),
    )
    desc.index_type, desc.compute_type = index_type, kind


def miopenGetReduceTensorDescriptor(reduceTensor, reduceTensorDesc):
    return (
        miopenReduceTensorOp_t(reduceTensor.op.value),
        reduceTensorDesc.compute_type,
        miopenNanPropagation_t(reduceTensor.nan_propagation.value),
        miopenReduceTensorIndices_t(reduceTensor.indices.value),
        reduceTensorDesc.index_type,
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


_CALCULATIONS = {
    miopenReduceCalculationOp_t.MIOPEN_REDUCE_CALCULATION_SUM: ReduceTensorOp.ADD,
    miopenReduceCalculationOp_t.MIOPEN_REDUCE_CALCULATION_PROD: ReduceTensorOp.MUL,
}
_EXTREMES = {
    miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_ARGMIN: ReduceTensorOp.MIN,
    miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_ARGMAX: ReduceTensorOp.MAX,
    miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_MIN: ReduceTensorOp.MIN,
    miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_MAX: ReduceTensorOp.MAX,
}
_PLACES_ONLY = (
    miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_ARGMIN,
    miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_ARGMAX,
)


def without_dim(xDesc: Any, dim: int, desc: Any, argument: str, *, kept: bool = False) -> TensorSpec:
    """Return a tensor that lacks a dim of x (or with `kept` has 1 there), with 1 in its place and 3 dims or more.

    Raises
    ------
    BadParam
        Its other dims are not those of x. Of an x of one dim the result has one number.
    """
    dims, spec = spec_of(xDesc, "xDesc").dims, spec_of(desc, argument)
    whole = (*dims[:dim], 1, *dims[dim + 1 :])
    left = whole if kept or len(dims) == 1 else (*dims[:dim], *dims[dim + 1 :])
    if spec.dims != left:
        raise BadParam(argument=argument, expected=f"dims {left}: those of x but for dim {dim}", got=spec.dims)
    missing = max(0, 3 - len(whole))
    steps = spec.strides if left == whole and len(left) == len(whole) else _with_one(spec.strides, dim)
    return TensorSpec(spec.dtype, whole + (1,) * missing, steps + (1,) * missing)


def _with_one(strides: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*strides[:dim], 1, *strides[dim:])


def reduced_dim(xDesc: Any, dim: Any) -> int:
    """Return a dim of x."""
    rank, number = len(spec_of(xDesc, "xDesc").dims), integer(dim, "dim")
    if number >= rank:
        raise BadParam(argument="dim", expected=f"less than {rank}, the dims of x", got=number)
    return number


def _calculation(op: Any, nan: Any = 1) -> ReduceTensorDescriptor:
    kind = _CALCULATIONS[parse(miopenReduceCalculationOp_t, op, "reduceCalculationOp")]
    keep = parse(miopenReduceCalculationNanPropagation_t, nan, "nanPropagation")
    skip = keep is miopenReduceCalculationNanPropagation_t.MIOPEN_REDUCE_CALCULATION_NOT_PROPAGATE_NAN
    return ReduceTensorDescriptor(kind, skip_nan=skip)


def miopenGetReduceCalculationWorkspaceSize(handle, xDesc, dim, reduceCalculationOp, reduceDesc):
    check_handle(handle)
    reduce = _calculation(reduceCalculationOp)
    c = without_dim(xDesc, reduced_dim(xDesc, dim), reduceDesc, "reduceDesc")
    return get_reduction_workspace_size(handle, reduce, wide_of(xDesc, "xDesc"), c)


def miopenReduceCalculationForward(
    handle, nanPropagation, workspace, workspaceSizeInBytes, xDesc, x, dim, reduceCalculationOp, reduceDesc, raw_y
):
    reduce = _calculation(reduceCalculationOp, nanPropagation)
    c = without_dim(xDesc, reduced_dim(xDesc, dim), reduceDesc, "reduceDesc")
    needed = get_reduction_workspace_size(handle, reduce, wide_of(xDesc, "xDesc"), c)
    scratch = given_workspace(handle, workspace, workspaceSizeInBytes, needed, "workspace")
    reduce_tensor(handle, reduce, x, view(handle, c, raw_y, "y"), workspace=scratch)


def miopenReduceExtremeForward(handle, xDesc, x, dim, reduceExtremeOp, yDesc, raw_y, indiceDesc, raw_indice):
    named = parse(miopenReduceExtremeOp_t, reduceExtremeOp, "reduceExtremeOp")
    axis = reduced_dim(xDesc, dim)
    reduce = ReduceTensorDescriptor(_EXTREMES[named], indices=ReduceTensorIndices.FLATTENED_INDICES)
    places = view(handle, without_dim(xDesc, axis, indiceDesc, "indiceDesc"), raw_indice, "indice")
    reduce_tensor(handle, reduce, x, _extremes(handle, named, xDesc, axis, yDesc, raw_y), indices=places)


def _extremes(
    handle: Handle, named: miopenReduceExtremeOp_t, xDesc: Any, axis: int, yDesc: Any, raw_y: Any
) -> TensorView | Any:
    """Return memory for the extremes: y, or some that is forgotten where places alone are wanted."""
    if named not in _PLACES_ONLY:
        return view(handle, without_dim(xDesc, axis, yDesc, "yDesc"), raw_y, "y")
    spec = wide_of(xDesc, "xDesc")
    return handle.device.empty(TensorSpec.packed(spec.dtype, (*spec.dims[:axis], 1, *spec.dims[axis + 1 :])))
