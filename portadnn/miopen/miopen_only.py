"""Gates, rotary embeddings, margin losses, concatenation and selection, which MIOpen alone has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam, NotSupported, shown
from ..handle import Handle
from ..ops.gates import glu_backward, glu_forward, prelu_backward, rope_backward, rope_forward
from ..ops.getitem import MOST_INDICES, getitem_backward
from ..ops.indexing import MOST_PARTS, cat_forward, kthvalue_forward
from ..ops.losses import (
    LossReduction,
    multi_margin_loss_forward,
    soft_margin_loss_backward,
    soft_margin_loss_forward,
)
from ..problem import TensorSpec
from .descriptors import spec_of, tensor, view, wide_of
from .generated.enums import miopenLossReductionMode_t
from .names import boolean, integer, integers, number, parse
from .reduce import reduced_dim, without_dim
from .workspaces import given_workspace


def miopenGLUForward(handle, input, output, dim):
    glu_forward(handle, input, output, dim=integer(dim, "dim"))


def miopenGLUBackward(handle, input, outputGrad, inputGrad, dim):
    glu_backward(handle, input, outputGrad, inputGrad, dim=integer(dim, "dim"))


def _behind_ones(handle: Handle, desc: Any, data: Any, name: str) -> Any:
    """Return memory with 3 dims or more, ones before those of its descriptor: the last dim is what it was."""
    spec = spec_of(desc, f"{name}Desc")
    ones = (1,) * max(0, 3 - len(spec.dims))
    return view(handle, TensorSpec(spec.dtype, ones + spec.dims, ones + spec.strides), data, name)


def miopenRoPEForward(handle, xDesc, raw_x, cosDesc, raw_cos, sinDesc, raw_sin, yDesc, raw_y):
    pairs = ((xDesc, raw_x, "x"), (cosDesc, raw_cos, "cos"), (sinDesc, raw_sin, "sin"), (yDesc, raw_y, "y"))
    rope_forward(handle, *(_behind_ones(handle, *pair) for pair in pairs))


def miopenRoPEBackward(handle, dyDesc, raw_dy, cosDesc, raw_cos, sinDesc, raw_sin, dxDesc, raw_dx):
    pairs = ((dyDesc, raw_dy, "dy"), (cosDesc, raw_cos, "cos"), (sinDesc, raw_sin, "sin"), (dxDesc, raw_dx, "dx"))
    rope_backward(handle, *(_behind_ones(handle, *pair) for pair in pairs))


def _weight(handle: Handle, input_: TensorSpec, desc: Any, data: Any, name: str) -> Any:
    """Return weights of one dim as PReLU's problems have them."""
    spec = spec_of(desc, f"{name}Desc")
    channels = input_.dims[1] if len(input_.dims) > 1 else 1
    if len(spec.dims) != 1 or spec.dims[0] not in (1, channels):
        raise BadParam(argument=f"{name}Desc", expected=f"(1,) or ({channels},)", got=spec.dims)
    ones = max(len(input_.dims), 3) - 2
    dims, strides = (1, spec.dims[0], *(1,) * ones), (1, spec.strides[0], *(1,) * ones)
    return view(handle, TensorSpec(spec.dtype, dims, strides), data, name)


def miopenGetPReLUBackwardWorkspaceSize(handle, inputDesc, weightDesc):
    check_handle(handle)
    spec_of(inputDesc, "inputDesc")
    spec_of(weightDesc, "weightDesc")
    return 0


def miopenPReLUBackward(
    handle,
    workspace,
    workspaceSizeInBytes,
    inputDesc,
    input,
    weightDesc,
    raw_weight,
    doutput,
    dinput,
    dweightDesc,
    raw_dweight,
):
    given_workspace(handle, workspace, workspaceSizeInBytes, 0, "workspace")
    spec = spec_of(inputDesc, "inputDesc")
    weight = _weight(handle, spec, weightDesc, raw_weight, "weight")
    dweight = None if raw_dweight is None else _weight(handle, spec, dweightDesc, raw_dweight, "dweight")
    prelu_backward(handle, input, weight, doutput, dinput, dweight)


def _reduction(reduction: Any) -> LossReduction:
    return LossReduction(parse(miopenLossReductionMode_t, reduction, "reduction").value)


def _one_number(handle: Handle, desc: Any, data: Any, rank: int, name: str) -> Any:
    """Return one number of any dims as a tensor of `rank` ones."""
    spec = spec_of(desc, f"{name}Desc")
    if spec.size != 1:
        raise BadParam(argument=f"{name}Desc", expected="one number", got=spec.dims)
    return view(handle, TensorSpec.packed(spec.dtype, (1,) * rank), data, name)


def miopenGetSoftMarginLossForwardWorkspaceSize(handle, inputDesc, targetDesc, outputDesc, reduction):
    check_handle(handle)
    for desc, name in ((inputDesc, "inputDesc"), (targetDesc, "targetDesc"), (outputDesc, "outputDesc")):
        spec_of(desc, name)
    _reduction(reduction)
    return 0


def miopenSoftMarginLossForward(
    handle, inputDesc, input, target, outputDesc, raw_output, reduction, workspace=None, workspaceSizeInBytes=0
):
    how = _reduction(reduction)
    given_workspace(handle, workspace, workspaceSizeInBytes, 0, "workspace")
    if how is LossReduction.NONE:
        output = tensor(handle, outputDesc, raw_output, "output")
    else:
        output = _one_number(handle, outputDesc, raw_output, len(wide_of(inputDesc, "inputDesc").dims), "output")
    soft_margin_loss_forward(handle, input, target, output, reduction=how)


def miopenSoftMarginLossBackward(handle, input, target, doutput, dinput, reduction):
    soft_margin_loss_backward(handle, input, target, doutput, dinput, reduction=_reduction(reduction))


def _narrow(handle: Handle, desc: Any, data: Any, name: str) -> Any:
    """Return memory with the very dims of its descriptor."""
    return view(handle, spec_of(desc, f"{name}Desc"), data, name)


def miopenGetMultiMarginLossForwardWorkspaceSize(
    handle, inputDesc, targetDesc, weightDesc, outputDesc, p, margin, reduction
):
    check_handle(handle)
    names = ("inputDesc", "targetDesc", "weightDesc", "outputDesc")
    for desc, name in zip((inputDesc, targetDesc, weightDesc, outputDesc), names, strict=True):
        spec_of(desc, name)
    _power(p)
    number(margin, "margin")
    _reduction(reduction)
    return 0


def _power(p: Any) -> int:
    if p not in (1, 2):
        raise BadParam(argument="p", expected="1 or 2", got=shown(p))
    return int(p)


def miopenMultiMarginLossForward(
    handle,
    inputDesc,
    raw_input,
    targetDesc,
    raw_target,
    weightDesc,
    raw_weight,
    outputDesc,
    raw_output,
    p,
    margin,
    reduction,
    workspace,
    workspaceSizeInBytes,
):
    how, power = _reduction(reduction), _power(p)
    given_workspace(handle, workspace, workspaceSizeInBytes, 0, "workspace")
    target = spec_of(targetDesc, "targetDesc").dtype
    if target is not DataType.INT64:
        raise BadParam(argument="targetDesc", expected="miopenInt64", got=target)
    tensors = (
        _narrow(handle, inputDesc, raw_input, "input"),
        _narrow(handle, targetDesc, raw_target, "target"),
        _narrow(handle, weightDesc, raw_weight, "weight"),
        _narrow(handle, outputDesc, raw_output, "output"),
    )
    multi_margin_loss_forward(handle, *tensors, p=power, margin=number(margin, "margin"), reduction=how)


def array_of(values: Any, count: int, name: str) -> Sequence[Any]:
    """Return the first `count` of an array of C: descriptors or memory."""
    if not isinstance(values, (list, tuple)) or len(values) < count:
        raise BadParam(argument=name, expected=f"a list of {count}", got=shown(values))
    return values[:count]


def miopenCatForward(handle, xCount, xDescs, xs, yDesc, y, dim):
    count = integer(xCount, "xCount", 1)
    if count > MOST_PARTS:
        raise NotSupported(argument="xCount", expected=f"at most {MOST_PARTS}", got=count)
    rank = len(spec_of(yDesc, "yDesc").dims)
    descs, memory = array_of(xDescs, count, "xDescs"), array_of(xs, count, "xs")
    for i, desc in enumerate(descs):
        if len(spec_of(desc, f"xDescs[{i}]").dims) != rank:
            raise BadParam(argument=f"xDescs[{i}]", expected=f"{rank} dims as y", got=spec_of(desc, "xDescs").dims)
    axis = integer(dim, "dim")
    if axis >= rank:
        raise BadParam(argument="dim", expected=f"less than {rank}, the dims of y", got=axis)
    parts = [tensor(handle, *pair, f"xs[{i}]", "xDescs") for i, pair in enumerate(zip(descs, memory, strict=True))]
    cat_forward(handle, parts, y, dim=axis)


def miopenKthvalueForward(
    handle, inputDesc, input, outputDesc, raw_output, indices, indicesDesc, k, dim=-1, keepDim=False
):
    rank = len(spec_of(inputDesc, "inputDesc").dims)
    axis = reduced_dim(inputDesc, rank - 1 if type(dim) is int and dim == -1 else dim)
    kept = boolean(keepDim, "keepDim")
    y = view(handle, without_dim(inputDesc, axis, outputDesc, "outputDesc", kept=kept), raw_output, "output")
    places = view(handle, without_dim(inputDesc, axis, indicesDesc, "indicesDesc", kept=kept), indices, "indices")
    kthvalue_forward(handle, input, y, places, k=integer(k, "k", 1), dim=axis)


def _indices(indexCount: Any, indexDescs: Any) -> list[TensorSpec]:
    """Return what descriptors of indices say, each of one dim."""
    count = integer(indexCount, "indexCount")
    if count > MOST_INDICES:
        raise NotSupported(argument="indexCount", expected=f"at most {MOST_INDICES}", got=count)
    found = []
    for i, desc in enumerate(array_of(indexDescs, count, "indexDescs") if count else ()):
        spec = spec_of(desc, f"indexDescs[{i}]")
        if spec.size != spec.dims[0]:
            raise BadParam(argument=f"indexDescs[{i}]", expected="one dim", got=spec.dims)
        found.append(TensorSpec(spec.dtype, spec.dims[:1], spec.strides[:1]))
    return found


def miopenGetGetitemWorkspaceSize(handle, indexCount, indexDescs):
    check_handle(handle)
    _indices(indexCount, indexDescs)
    return 0


def miopenGetitemBackward(
    handle,
    workspace,
    workspaceSizeInBytes,
    dyDesc,
    raw_dy,
    indexCount,
    indexDescs,
    indexs,
    dxDesc,
    raw_dx,
    errorDesc,
    raw_error,
    dimCount,
    dims,
    sliceCount,
    slices,
    offset,
):
    given_workspace(handle, workspace, workspaceSizeInBytes, 0, "workspace")
    specs = _indices(indexCount, indexDescs)
    memory = array_of(indexs, len(specs), "indexs") if specs else ()
    places = [
        view(handle, spec, data, f"indexs[{i}]") for i, (spec, data) in enumerate(zip(specs, memory, strict=True))
    ]
    given, sliced = integer(dimCount, "dimCount"), integer(sliceCount, "sliceCount")
    if given < len(specs):
        raise BadParam(argument="dimCount", expected=f"a dim for each of {len(specs)} indices", got=given)
    getitem_backward(
        handle,
        _narrow(handle, dyDesc, raw_dy, "dy"),
        places,
        _narrow(handle, dxDesc, raw_dx, "dx"),
        _narrow(handle, errorDesc, raw_error, "error") if specs else None,
        dims=integers(dims, "dims", count=given)[: len(specs)] if specs else (),
        slices=integers(slices, "slices", count=4 * sliced) if sliced else (),
        offset=integer(offset, "offset"),
        add=True,
    )
