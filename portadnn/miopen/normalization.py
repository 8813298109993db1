"""Layer, group and root-mean-square (T5) normalisation."""

from __future__ import annotations

import math
from typing import Any

from ..dispatch.problems import check_handle
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..ops.normalization import NormMode, normalization_backward, normalization_forward
from ..ops.tensor import op_tensor, set_tensor
from ..problem import TensorSpec
from .descriptors import miopenTensorDescriptor_t, spec_of, view, wide_of
from .generated.enums import miopenNormMode_t as Mode
from .names import integer, number, parse
from .workspaces import given_workspace

Desc = miopenTensorDescriptor_t


def _parameter(handle: Handle, desc: Any, data: Any, dims: tuple[int, ...], name: str) -> Any:
    """Return a packed tensor with as many numbers as `dims` read with those dims."""
    spec = spec_of(desc, f"{name}Desc")
    if spec.size != math.prod(dims):
        raise BadParam(argument=f"{name}Desc", expected=f"{math.prod(dims)} numbers", got=spec.dims)
    if not spec.is_packed():
        raise NotSupported(argument=f"{name}Desc", expected="a packed tensor", got=spec.strides)
    return view(handle, TensorSpec.packed(spec.dtype, dims), data, name)


def _affine(
    handle: Handle, mode: Mode, plain: Mode, pairs: tuple[tuple[Any, Any, str], ...], dims: tuple[int, ...]
) -> list[Any]:
    """Return weight and bias, or None for both in the mode that has none: they are 1 and 0 there."""
    if mode is plain:
        return [None] * len(pairs)
    return [_parameter(handle, desc, data, dims, name) for desc, data, name in pairs]


def _mode(mode: Any, plain: Mode, weighted: Mode) -> Mode:
    named = parse(Mode, mode, "mode")
    if named not in (plain, weighted):
        raise BadParam(argument="mode", expected=f"{plain.name} or {weighted.name}", got=named.name)
    return named


def _statistics(handle: Handle, dims: tuple[int, ...], pairs: tuple[tuple[Any, Any, str], ...]) -> list[Any]:
    return [None if data is None else _parameter(handle, desc, data, dims, name) for desc, data, name in pairs]


def _layer_dims(spec: TensorSpec, normalized_dim: Any) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return the axis, the dims of the parameters and those of the statistics."""
    axis = integer(normalized_dim, "normalized_dim", 0)
    if axis >= len(spec.dims):
        raise BadParam(argument="normalized_dim", expected=f"less than {len(spec.dims)}", got=axis)
    return axis, (1,) * axis + spec.dims[axis:], spec.dims[:axis] + (1,) * (len(spec.dims) - axis)


def miopenLayerNormForward(
    handle,
    mode,
    xDesc,
    x,
    y,
    normalized_dim,
    weightDesc,
    raw_weight,
    biasDesc,
    raw_bias,
    meanDesc,
    raw_mean,
    rstdDesc,
    raw_rstd,
    epsilon,
):
    named = _mode(mode, Mode.MIOPEN_ELEMENTWISE_AFFINE, Mode.MIOPEN_WEIGHT_BIAS)
    axis, parameters, statistics = _layer_dims(xDesc.wide, normalized_dim)
    pairs = (weightDesc, raw_weight, "weight"), (biasDesc, raw_bias, "bias")
    scale, shift = _affine(handle, named, Mode.MIOPEN_ELEMENTWISE_AFFINE, pairs, parameters)
    first, second = _statistics(handle, statistics, ((meanDesc, raw_mean, "mean"), (rstdDesc, raw_rstd, "rstd")))
    normalization_forward(handle, x, scale, shift, y, first, second, axis=axis, epsilon=number(epsilon, "epsilon"))


def miopenAddLayerNormForward(
    handle,
    mode,
    xDesc,
    x,
    x2,
    y,
    normalized_dim,
    weightDesc,
    raw_weight,
    biasDesc,
    raw_bias,
    meanDesc,
    raw_mean,
    rstdDesc,
    raw_rstd,
    epsilon,
):
    plain = Mode.MIOPEN_ELEMENTWISE_AFFINE_FUSED_ADD
    named = _mode(mode, plain, Mode.MIOPEN_WEIGHT_BIAS_FUSED_ADD)
    axis, parameters, statistics = _layer_dims(xDesc.wide, normalized_dim)
    pairs = (weightDesc, raw_weight, "weight"), (biasDesc, raw_bias, "bias")
    scale, shift = _affine(handle, named, plain, pairs, parameters)
    first, second = _statistics(handle, statistics, ((meanDesc, raw_mean, "mean"), (rstdDesc, raw_rstd, "rstd")))
    least = number(epsilon, "epsilon")
    memory = check_handle(handle).device.empty(TensorSpec.packed(xDesc.wide.dtype, xDesc.wide.dims))
    total = op_tensor(handle, "add", x, x2, memory)
    normalization_forward(handle, total, scale, shift, y, first, second, axis=axis, epsilon=least)


def miopenGroupNormForward(
    handle,
    mode,
    xDesc,
    x,
    y,
    num_groups,
    weightDesc,
    raw_weight,
    biasDesc,
    raw_bias,
    meanDesc,
    raw_mean,
    rstdDesc,
    raw_rstd,
    epsilon,
):
    named = _mode(mode, Mode.MIOPEN_ELEMENTWISE_AFFINE, Mode.MIOPEN_WEIGHT_BIAS)
    dims = xDesc.wide.dims
    groups, rest = integer(num_groups, "num_groups", 1), (1,) * (len(dims) - 2)
    pairs = (weightDesc, raw_weight, "weight"), (biasDesc, raw_bias, "bias")
    scale, shift = _affine(handle, named, Mode.MIOPEN_ELEMENTWISE_AFFINE, pairs, (1, dims[1], *rest))
    statistics = (dims[0], groups, *rest)
    first, second = _statistics(handle, statistics, ((meanDesc, raw_mean, "mean"), (rstdDesc, raw_rstd, "rstd")))
    given, least = (x, scale, shift, y, first, second), number(epsilon, "epsilon")
    normalization_forward(handle, *given, mode=NormMode.GROUP_NORM, groups=groups, epsilon=least)


_T5, _T5_WEIGHT = Mode.MIOPEN_ELEMENTWISE_AFFINE_T5, Mode.MIOPEN_WEIGHT_BIAS_T5


def _last(spec: TensorSpec, desc: Desc) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    return _layer_dims(spec, len(spec_of(desc, "xDesc").dims) - 1)


def miopenT5LayerNormForward(handle, mode, xDesc, x, y, weightDesc, raw_weight, rstdDesc, raw_rstd, epsilon):
    named = _mode(mode, _T5, _T5_WEIGHT)
    axis, parameters, statistics = _last(xDesc.wide, xDesc)
    (factor,) = _affine(handle, named, _T5, ((weightDesc, raw_weight, "weight"),), parameters)
    (saved,) = _statistics(handle, statistics, ((rstdDesc, raw_rstd, "rstd"),))
    given, least = (x, factor, None, y, None, saved), number(epsilon, "epsilon")
    normalization_forward(handle, *given, mode=NormMode.RMS_NORM, axis=axis, epsilon=least)


def miopenGetT5LayerNormBackwardWorkspaceSize(handle, mode, dyDesc, xDesc, rstdDesc, dxDesc):
    _mode(mode, _T5, _T5_WEIGHT)
    check_handle(handle)
    for desc, name in ((dyDesc, "dyDesc"), (xDesc, "xDesc"), (rstdDesc, "rstdDesc"), (dxDesc, "dxDesc")):
        wide_of(desc, name)
    return 0


def miopenT5LayerNormBackward(
    handle,
    mode,
    workspace,
    workspaceSizeInBytes,
    dy,
    xDesc,
    x,
    dx,
    weightDesc,
    raw_weight,
    rstdDesc,
    raw_rstd,
    dwDesc,
    raw_dw,
):
    named = _mode(mode, _T5, _T5_WEIGHT)
    given_workspace(handle, workspace, workspaceSizeInBytes, 0, "workspace")
    axis, parameters, statistics = _last(xDesc.wide, xDesc)
    (factor,) = _affine(handle, named, _T5, ((weightDesc, raw_weight, "weight"),), parameters)
    (saved,) = _statistics(handle, statistics, ((rstdDesc, raw_rstd, "rstd"),))
    if saved is None:
        raise BadParam(argument="rstd", expected="what the forward call saved", got=None)
    gradient = None if raw_dw is None else _parameter(handle, dwDesc, raw_dw, parameters, "dw")
    if factor is None and gradient is not None:  # a weight of ones, whose gradient is wanted all the same
        ones = TensorSpec.packed(xDesc.wide.dtype.accumulator, parameters)
        factor = set_tensor(handle, handle.device.empty(ones), 1.0)
    normalization_backward(handle, x, dy, factor, None, saved, dx, gradient, mode=NormMode.RMS_NORM, axis=axis)
