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
from ..generated.enums import miopenBatchNormMode_t, miopenStatus_t
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
    alpha: Any,
    beta: Any,
    xDesc: Any,
    x: Any,
    yDesc: Any,
    y: Any,
    scaleDesc: Any,
    biasVarDesc: Any,
    savedMeanDesc: Any,
    savedVarDesc: Any,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: Any,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: Any,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
    copies: Sequence[tuple[Any, Any]] = (),
) -> None:
    """Run the training pass; `copies` are what :func:`averages` returned, made once nothing can be refused any more."""
    mode = mode_of(bn_mode)
    tensors = (
        tensor(handle, xDesc, x, "x"),
        tensor(handle, scaleDesc, bnScale, "bnScale", "scaleDesc"),
        tensor(handle, biasVarDesc, bnBias, "bnBias", "biasDesc"),
        tensor(handle, yDesc, y, "y"),
        optional(handle, savedMeanDesc, resultRunningMean, "resultRunningMean", "savedMeanDesc"),
        optional(handle, savedVarDesc, resultRunningVariance, "resultRunningVariance", "savedVarDesc"),
        optional(handle, savedMeanDesc, resultSaveMean, "resultSaveMean", "savedMeanDesc"),
        optional(handle, savedVarDesc, resultSaveInvVariance, "resultSaveInvVariance", "savedVarDesc"),
    )
    check_packed(xDesc, "xDesc")
    one_and_zero(alpha, beta)
    check_pair(resultRunningMean, resultRunningVariance, "resultRunningVariance")
    check_pair(resultSaveMean, resultSaveInvVariance, "resultSaveInvVariance")
    scalars = (1.0, 0.0, number(expAvgFactor, "expAvgFactor"), check_epsilon(epsilon))
    if copies:
        numbers_used = {"expAvgFactor": scalars[2], "epsilon": scalars[3]}
        check_call(handle, BatchNormalizationForwardTraining, tensors, (mode,), numbers_used)
    for before, after in copies:
        transform_tensor(handle, before, after)
    execute(handle, BatchNormalizationForwardTraining, tensors, (mode,), scalars)


def inference(
    handle: Handle,
    bn_mode: Any,
    alpha: Any,
    beta: Any,
    xDesc: Any,
    x: Any,
    yDesc: Any,
    y: Any,
    scaleDesc: Any,
    biasDesc: Any,
    estMeanDesc: Any,
    estVarianceDesc: Any,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: Any,
) -> None:
    """Run the inference pass; without mean and variance the batch's own are taken, as MIOpen does."""
    if estimatedMean is None and estimatedVariance is None:
        image, descs = (xDesc, x, yDesc, y), (scaleDesc, biasDesc, estMeanDesc, estVarianceDesc)
        rest = (bnScale, bnBias, 1.0, None, None, epsilon, None, None)
        training(handle, bn_mode, alpha, beta, *image, *descs, *rest)
        return
    mode = mode_of(bn_mode)
    tensors = (
        tensor(handle, xDesc, x, "x"),
        tensor(handle, scaleDesc, bnScale, "bnScale", "scaleDesc"),
        tensor(handle, biasDesc, bnBias, "bnBias", "biasDesc"),
        tensor(handle, estMeanDesc, estimatedMean, "estimatedMean", "estMeanDesc"),
        tensor(handle, estVarianceDesc, estimatedVariance, "estimatedVariance", "estVarianceDesc"),
        tensor(handle, yDesc, y, "y"),
    )
    one_and_zero(alpha, beta, status=BAD)
    scalars = (1.0, 0.0, check_epsilon(epsilon))
    execute(handle, BatchNormalizationForwardInference, tensors, (mode,), scalars)


def inference_inverse(
    handle: Handle,
    scaleDesc: Any,
    bnScale: Any,
    estInvVarianceDesc: Any,
    estimatedInvVariance: Any,
    **c: Any,
) -> None:
    """Run the inference pass with the inverse deviation given: scale is multiplied by it, the variance is 1."""
    factor = tensor(handle, scaleDesc, bnScale, "bnScale", "scaleDesc")
    deviation = tensor(handle, estInvVarianceDesc, estimatedInvVariance, "estimatedInvVariance", "estInvVarianceDesc")
    device = check_handle(handle).device
    product = op_tensor(handle, "mul", factor, deviation, device.empty(_packed(scaleDesc.wide)))
    one = set_tensor(handle, device.empty(_packed(estInvVarianceDesc.wide)), 1.0)
    scale = {"scaleDesc": _made(scaleDesc), "bnScale": product}
    variance = {"estVarianceDesc": _made(estInvVarianceDesc), "estimatedVariance": one, "epsilon": 0.0}
    inference(handle, **scale, **variance, **c)


def _packed(spec: TensorSpec) -> TensorSpec:
    return TensorSpec.packed(spec.dtype, spec.dims)


def _made(desc: Desc) -> Desc:
    packed = miopenTensorDescriptor_t()
    packed.set(_packed(desc.wide))
    return packed


def gradient(
    handle: Handle,
    bn_mode: Any,
    alphaDataDiff: Any,
    betaDataDiff: Any,
    alphaParamDiff: Any,
    betaParamDiff: Any,
    xDesc: Any,
    x: Any,
    dyDesc: Any,
    dy: Any,
    dxDesc: Any,
    dx: Any,
    scaleDesc: Any,
    biasDesc: Any,
    savedMeanDesc: Any,
    savedVarDesc: Any,
    bnScale: Any,
    resultBnScaleDiff: Any,
    resultBnBiasDiff: Any,
    epsilon: Any,
    savedMean: Any,
    savedInvVariance: Any,
) -> None:
    """Run the backward pass."""
    mode = mode_of(bn_mode)
    tensors = (
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, scaleDesc, bnScale, "bnScale", "scaleDesc"),
        optional(handle, savedMeanDesc, savedMean, "savedMean", "savedMeanDesc"),
        optional(handle, savedVarDesc, savedInvVariance, "savedInvVariance", "savedVarDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        tensor(handle, scaleDesc, resultBnScaleDiff, "resultBnScaleDiff", "scaleDesc"),
        tensor(handle, biasDesc, resultBnBiasDiff, "resultBnBiasDiff", "biasDesc"),
    )
    one_and_zero(alphaDataDiff, betaDataDiff, status=BAD)
    one_and_zero(alphaParamDiff, betaParamDiff, status=BAD)
    check_pair(savedMean, savedInvVariance, "savedInvVariance")
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
