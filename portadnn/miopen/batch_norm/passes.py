"""The passes of batch normalisation, for the functions with MIOpen's names.

MIOpen sets no lower bound for epsilon, and neither do these (but 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...c_names.composed import check_call
from ...dispatch.execute import execute
from ...dispatch.problems import check_handle
from ...enums import BatchNormMode
from ...errors import BadParam, DnnError
from ...handle import Handle
from ...ops.batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)
from ...ops.tensor import TransformTensor, op_tensor, set_tensor, transform_tensor
from ...problem import TensorSpec
from ..descriptors import miopenTensorDescriptor_t, optional, tensor
from ..enums import miopenBatchNormMode_t, miopenStatus_t
from ..names import number, one_and_zero, parse

Desc = miopenTensorDescriptor_t
BAD = miopenStatus_t.miopenStatusBadParm
_MODES = {mode: BatchNormMode(mode.value) for mode in miopenBatchNormMode_t}


def mode_of(bn_mode: Any) -> BatchNormMode:
    """Return portadnn's mode."""
    return _MODES[parse(miopenBatchNormMode_t, bn_mode, "bn_mode")]


def check_epsilon(epsilon: Any) -> float:
    """Demand a number that is not negative."""
    value = number(epsilon, "epsilon")
    if value < 0:
        raise BadParam(argument="epsilon", expected="a number >= 0", got=value)
    return value


def check_packed(desc: Desc, argument: str) -> None:
    """Refuse tensors with gaps, as MIOpen does (migration rule V27)."""
    if desc.wide.format is None:
        raise BadParam("MIOpen supports packed tensors only", argument=argument, expected="no gaps", got=desc.strides)


def check_pair(first: Any, second: Any, name: str) -> None:
    """Demand both or neither."""
    if (first is None) != (second is None):
        raise BadParam(argument=name, expected="both of the pair, or neither", got="one")


def training(
    handle: Handle,
    bn_mode: Any,
    numbers: tuple[Any, Any, Any, Any],
    descs: tuple[Any, Any, Any, Any, Any, Any],
    data: tuple[Any, Any, Any, Any, Any, Any, Any, Any],
    copies: Sequence[tuple[Any, Any]] = (),
) -> None:
    """Run the training pass.

    Parameters
    ----------
    numbers
        alpha, beta, the averaging factor and epsilon.
    descs
        Of x, y, scale, bias, mean and variance.
    data
        x, y, scale, bias, running mean and variance, saved mean and inverse variance.
    copies
        What :func:`averages` returned: made once nothing of the call can be refused any more.
    """
    alpha, beta, factor, epsilon = numbers
    x_desc, y_desc, scale_desc, bias_desc, mean_desc, variance_desc = descs
    x, y, scale, bias, running_mean, running_variance, saved_mean, saved_inverse = data
    mode = mode_of(bn_mode)
    tensors = (
        tensor(handle, x_desc, x, "x"),
        tensor(handle, scale_desc, scale, "bnScale", "scaleDesc"),
        tensor(handle, bias_desc, bias, "bnBias", "biasDesc"),
        tensor(handle, y_desc, y, "y"),
        optional(handle, mean_desc, running_mean, "resultRunningMean", "savedMeanDesc"),
        optional(handle, variance_desc, running_variance, "resultRunningVariance", "savedVarDesc"),
        optional(handle, mean_desc, saved_mean, "resultSaveMean", "savedMeanDesc"),
        optional(handle, variance_desc, saved_inverse, "resultSaveInvVariance", "savedVarDesc"),
    )
    check_packed(x_desc, "xDesc")
    one_and_zero(alpha, beta)
    check_pair(running_mean, running_variance, "resultRunningVariance")
    check_pair(saved_mean, saved_inverse, "resultSaveInvVariance")
    scalars = (1.0, 0.0, number(factor, "expAvgFactor"), check_epsilon(epsilon))
    if copies:
        numbers_used = {"expAvgFactor": scalars[2], "epsilon": scalars[3]}
        check_call(handle, BatchNormalizationForwardTraining, tensors, (mode,), numbers_used)
    for before, after in copies:
        transform_tensor(handle, before, after)
    execute(handle, BatchNormalizationForwardTraining, tensors, (mode,), scalars)


def inference(
    handle: Handle,
    bn_mode: Any,
    numbers: tuple[Any, Any, Any],
    descs: tuple[Any, Any, Any, Any, Any, Any],
    data: tuple[Any, Any, Any, Any, Any, Any],
) -> None:
    """Run the inference pass; `numbers` are alpha, beta and epsilon, `data` x, y, scale, bias, mean and variance.

    Without mean and variance the batch's own are taken, as MIOpen does.
    """
    alpha, beta, epsilon = numbers
    x_desc, y_desc, scale_desc, bias_desc, mean_desc, variance_desc = descs
    x, y, scale, bias, mean, variance = data
    if mean is None and variance is None:
        training(handle, bn_mode, (alpha, beta, 1.0, epsilon), descs, (x, y, scale, bias, None, None, None, None))
        return
    mode = mode_of(bn_mode)
    tensors = (
        tensor(handle, x_desc, x, "x"),
        tensor(handle, scale_desc, scale, "bnScale", "scaleDesc"),
        tensor(handle, bias_desc, bias, "bnBias", "biasDesc"),
        tensor(handle, mean_desc, mean, "estimatedMean", "estMeanDesc"),
        tensor(handle, variance_desc, variance, "estimatedVariance", "estVarianceDesc"),
        tensor(handle, y_desc, y, "y"),
    )
    one_and_zero(alpha, beta, status=BAD)
    scalars = (1.0, 0.0, check_epsilon(epsilon))
    execute(handle, BatchNormalizationForwardInference, tensors, (mode,), scalars)


def inference_inverse(
    handle: Handle,
    bn_mode: Any,
    numbers: tuple[Any, Any],
    descs: tuple[Any, Any, Any, Any, Any, Any],
    data: tuple[Any, Any, Any, Any, Any, Any],
) -> None:
    """Run the inference pass with the inverse deviation given: scale is multiplied by it, the variance is 1."""
    _, _, scale_desc, _, _, inverse_desc = descs
    x, y, scale, bias, mean, inverse = data
    factor = tensor(handle, scale_desc, scale, "bnScale", "scaleDesc")
    deviation = tensor(handle, inverse_desc, inverse, "estimatedInvVariance", "estInvVarianceDesc")
    device = check_handle(handle).device
    product = op_tensor(handle, "mul", factor, deviation, device.empty(_packed(scale_desc.wide)))
    one = set_tensor(handle, device.empty(_packed(inverse_desc.wide)), 1.0)
    inference(
        handle,
        bn_mode,
        (*numbers, 0.0),
        (*descs[:2], _made(scale_desc), descs[3], descs[4], _made(inverse_desc)),
        (x, y, product, bias, mean, one),
    )


def _packed(spec: TensorSpec) -> TensorSpec:
    return TensorSpec.packed(spec.dtype, spec.dims)


def _made(desc: Desc) -> Desc:
    packed = miopenTensorDescriptor_t()
    packed.set(_packed(desc.wide))
    return packed


def gradient(
    handle: Handle,
    bn_mode: Any,
    numbers: tuple[Any, Any, Any, Any, Any],
    descs: tuple[Any, Any, Any, Any, Any, Any, Any],
    data: tuple[Any, Any, Any, Any, Any, Any, Any, Any],
) -> None:
    """Run the backward pass.

    Parameters
    ----------
    numbers
        alpha and beta of dx, of the parameters, and epsilon.
    descs
        Of x, dy, dx, scale, bias, mean and variance.
    data
        x, dy, dx, scale, the scale's and the bias' gradient, saved mean and inverse variance.
    """
    *factors, epsilon = numbers
    x_desc, dy_desc, dx_desc, scale_desc, bias_desc, mean_desc, variance_desc = descs
    x, dy, dx, scale, dscale, dbias, saved_mean, saved_inverse = data
    mode = mode_of(bn_mode)
    tensors = (
        tensor(handle, x_desc, x, "x"),
        tensor(handle, dy_desc, dy, "dy"),
        tensor(handle, scale_desc, scale, "bnScale", "scaleDesc"),
        optional(handle, mean_desc, saved_mean, "savedMean", "savedMeanDesc"),
        optional(handle, variance_desc, saved_inverse, "savedInvVariance", "savedVarDesc"),
        tensor(handle, dx_desc, dx, "dx"),
        tensor(handle, scale_desc, dscale, "resultBnScaleDiff", "scaleDesc"),
        tensor(handle, bias_desc, dbias, "resultBnBiasDiff", "biasDesc"),
    )
    one_and_zero(factors[0], factors[1], status=BAD)
    one_and_zero(factors[2], factors[3], status=BAD)
    check_pair(saved_mean, saved_inverse, "savedInvVariance")
    scalars = (1.0, 0.0, 1.0, 0.0, check_epsilon(epsilon))
    execute(handle, BatchNormalizationBackward, tensors, (mode,), scalars)


def averages(
    handle: Handle, descs: tuple[Desc, Desc], before: tuple[Any, Any], after: tuple[Any, Any]
) -> list[tuple[Any, Any]]:
    """Return the copies of running statistics to make, where a call has others for before and after."""
    copies = []
    names = ("Mean", "savedMeanDesc"), ("Variance", "savedVarDesc")
    for desc, old, new, (name, what) in zip(descs, before, after, names, strict=True):
        if new is not None and new is not old:
            source = tensor(handle, desc, old, f"prevResultRunning{name}", what)
            copy = tensor(handle, desc, new, f"nextResultRunning{name}", what)
            try:
                check_call(handle, TransformTensor, (source, copy))
            except DnnError as error:
                error.argument = f"nextResultRunning{name}"
                raise
            copies.append((source, copy))
    return copies
