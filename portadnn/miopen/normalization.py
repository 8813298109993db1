"""Layer, group and root-mean-square (T5) normalisation."""

from __future__ import annotations

import math
from typing import Any

from ..dispatch.problems import check_handle
from ..enums import NormMode
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..ops.normalization import normalization_backward, normalization_forward
from ..ops.tensor import op_tensor, set_tensor
from ..problem import TensorSpec
from .descriptors import miopenTensorDescriptor_t, spec_of, tensor, view, wide_of
from .enums import miopenNormMode_t as Mode
from .names import function, integer, number, parse
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


@function
def miopenLayerNormForward(
    handle: Handle,
    mode: Any,
    xDesc: Desc,
    x: Any,
    weightDesc: Desc,
    weight: Any,
    biasDesc: Desc,
    bias: Any,
    epsilon: float,
    normalized_dim: int,
    yDesc: Desc,
    y: Any,
    meanDesc: Desc,
    mean: Any,
    rstdDesc: Desc,
    rstd: Any,
) -> None:
    """Normalise each sample over its dims from `normalized_dim` on.

    MIOPEN_ELEMENTWISE_AFFINE ignores weight and bias, as MIOpen does; MIOPEN_WEIGHT_BIAS uses them. mean and rstd take
    the statistics, both or neither (None).
    """
    named = _mode(mode, Mode.MIOPEN_ELEMENTWISE_AFFINE, Mode.MIOPEN_WEIGHT_BIAS)
    given, out = tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y")
    axis, parameters, statistics = _layer_dims(xDesc.wide, normalized_dim)
    pairs = (weightDesc, weight, "weight"), (biasDesc, bias, "bias")
    scale, shift = _affine(handle, named, Mode.MIOPEN_ELEMENTWISE_AFFINE, pairs, parameters)
    first, second = _statistics(handle, statistics, ((meanDesc, mean, "mean"), (rstdDesc, rstd, "rstd")))
    least = number(epsilon, "epsilon")
    normalization_forward(handle, given, scale, shift, out, first, second, axis=axis, epsilon=least)


@function
def miopenAddLayerNormForward(
    handle: Handle,
    mode: Any,
    xDesc: Desc,
    x: Any,
    x2Desc: Desc,
    x2: Any,
    weightDesc: Desc,
    weight: Any,
    biasDesc: Desc,
    bias: Any,
    epsilon: float,
    normalized_dim: int,
    yDesc: Desc,
    y: Any,
    meanDesc: Desc,
    mean: Any,
    rstdDesc: Desc,
    rstd: Any,
) -> None:
    """Normalise x + x2 as miopenLayerNormForward does, in the modes with FUSED_ADD."""
    plain = Mode.MIOPEN_ELEMENTWISE_AFFINE_FUSED_ADD
    named = _mode(mode, plain, Mode.MIOPEN_WEIGHT_BIAS_FUSED_ADD)
    given, other, out = tensor(handle, xDesc, x, "x"), tensor(handle, x2Desc, x2, "x2"), tensor(handle, yDesc, y, "y")
    axis, parameters, statistics = _layer_dims(xDesc.wide, normalized_dim)
    pairs = (weightDesc, weight, "weight"), (biasDesc, bias, "bias")
    scale, shift = _affine(handle, named, plain, pairs, parameters)
    first, second = _statistics(handle, statistics, ((meanDesc, mean, "mean"), (rstdDesc, rstd, "rstd")))
    least = number(epsilon, "epsilon")
    memory = check_handle(handle).device.empty(TensorSpec.packed(xDesc.wide.dtype, xDesc.wide.dims))
    total = op_tensor(handle, "add", given, other, memory)
    normalization_forward(handle, total, scale, shift, out, first, second, axis=axis, epsilon=least)


@function
def miopenGroupNormForward(
    handle: Handle,
    mode: Any,
    xDesc: Desc,
    x: Any,
    weightDesc: Desc,
    weight: Any,
    biasDesc: Desc,
    bias: Any,
    num_groups: int,
    epsilon: float,
    yDesc: Desc,
    y: Any,
    meanDesc: Desc,
    mean: Any,
    rstdDesc: Desc,
    rstd: Any,
) -> None:
    """Normalise groups of neighbouring channels of each image; weight and bias have a number for each channel."""
    named = _mode(mode, Mode.MIOPEN_ELEMENTWISE_AFFINE, Mode.MIOPEN_WEIGHT_BIAS)
    given, out = tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y")
    dims = xDesc.wide.dims
    groups = integer(num_groups, "num_groups", 1)
    rest = (1,) * (len(dims) - 2)
    pairs = (weightDesc, weight, "weight"), (biasDesc, bias, "bias")
    scale, shift = _affine(handle, named, Mode.MIOPEN_ELEMENTWISE_AFFINE, pairs, (1, dims[1], *rest))
    statistics = (dims[0], groups, *rest)
    first, second = _statistics(handle, statistics, ((meanDesc, mean, "mean"), (rstdDesc, rstd, "rstd")))
    normalization_forward(
        handle,
        given,
        scale,
        shift,
        out,
        first,
        second,
        mode=NormMode.GROUP_NORM,
        groups=groups,
        epsilon=number(epsilon, "epsilon"),
    )


_T5, _T5_WEIGHT = Mode.MIOPEN_ELEMENTWISE_AFFINE_T5, Mode.MIOPEN_WEIGHT_BIAS_T5


def _last(spec: TensorSpec, desc: Desc) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    return _layer_dims(spec, len(spec_of(desc, "xDesc").dims) - 1)


@function
def miopenT5LayerNormForward(
    handle: Handle,
    mode: Any,
    xDesc: Desc,
    x: Any,
    weightDesc: Desc,
    weight: Any,
    epsilon: float,
    yDesc: Desc,
    y: Any,
    rstdDesc: Desc,
    rstd: Any,
) -> None:
    """Divide by the root of the mean of squares over the last dim; rstd takes its inverse, or is None."""
    named = _mode(mode, _T5, _T5_WEIGHT)
    given, out = tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y")
    axis, parameters, statistics = _last(xDesc.wide, xDesc)
    (factor,) = _affine(handle, named, _T5, ((weightDesc, weight, "weight"),), parameters)
    (saved,) = _statistics(handle, statistics, ((rstdDesc, rstd, "rstd"),))
    normalization_forward(
        handle,
        given,
        factor,
        None,
        out,
        None,
        saved,
        mode=NormMode.RMS_NORM,
        axis=axis,
        epsilon=number(epsilon, "epsilon"),
    )


@function
def miopenGetT5LayerNormBackwardWorkspaceSize(
    handle: Handle,
    mode: Any,
    dyDesc: Desc,
    xDesc: Desc,
    weightDesc: Desc,
    rstdDesc: Desc,
    dxDesc: Desc,
    dwDesc: Desc,
) -> int:
    """Return 0: the handle has what is needed."""
    _mode(mode, _T5, _T5_WEIGHT)
    check_handle(handle)
    for desc, name in ((dyDesc, "dyDesc"), (xDesc, "xDesc"), (rstdDesc, "rstdDesc"), (dxDesc, "dxDesc")):
        wide_of(desc, name)
    return 0


@function
def miopenT5LayerNormBackward(
    handle: Handle,
    mode: Any,
    workspace: Any,
    workspaceSizeInBytes: int,
    dyDesc: Desc,
    dy: Any,
    xDesc: Desc,
    x: Any,
    weightDesc: Desc,
    weight: Any,
    rstdDesc: Desc,
    rstd: Any,
    dxDesc: Desc,
    dx: Any,
    dwDesc: Desc,
    dw: Any,
) -> None:
    """Compute the gradients of miopenT5LayerNormForward; dw may be None in the mode without weights."""
    named = _mode(mode, _T5, _T5_WEIGHT)
    given_workspace(handle, workspace, workspaceSizeInBytes, 0, "workspace")
    change, given, out = (
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dxDesc, dx, "dx"),
    )
    axis, parameters, statistics = _last(xDesc.wide, xDesc)
    (factor,) = _affine(handle, named, _T5, ((weightDesc, weight, "weight"),), parameters)
    (saved,) = _statistics(handle, statistics, ((rstdDesc, rstd, "rstd"),))
    if saved is None:
        raise BadParam(argument="rstd", expected="what the forward call saved", got=None)
    gradient = None if dw is None else _parameter(handle, dwDesc, dw, parameters, "dw")
    if factor is None and gradient is not None:  # a weight of ones, whose gradient is wanted all the same
        ones = TensorSpec.packed(xDesc.wide.dtype.accumulator, parameters)
        factor = set_tensor(handle, handle.device.empty(ones), 1.0)
    normalization_backward(handle, given, change, factor, None, saved, out, gradient, mode=NormMode.RMS_NORM, axis=axis)
