"""Batch normalisation and activation in one call, composed of both."""

from __future__ import annotations

from typing import Any

from ...dispatch.problems import check_handle
from ...handle import Handle
from ...ops.tensor import transform_tensor
from ...problem import TensorSpec
from ..activation import activation_settings, backward, forward, miopenActivationDescriptor_t
from ..descriptors import miopenTensorDescriptor_t, tensor, wide_of
from ..names import function
from .passes import averages, gradient, inference, inference_inverse, training

Desc = miopenTensorDescriptor_t


def _activate(handle: Handle, activDesc: Any, yDesc: Any, y: Any) -> None:
    """Apply the activation to the normalised tensor in place."""
    out = tensor(handle, yDesc, y, "y")
    forward(handle, activation_settings(activDesc), yDesc.wide, out, out)


def _packed(handle: Handle, desc: Desc) -> tuple[Desc, Any]:
    """Return a new tensor with the dims of a descriptor, packed, and its descriptor."""
    spec, made = wide_of(desc, "xDesc"), miopenTensorDescriptor_t()
    made.set(TensorSpec.packed(spec.dtype, spec.dims))
    return made, check_handle(handle).device.empty(made.wide)


@function
def miopenBatchNormForwardTrainingActivation(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    scaleDesc: Desc,
    biasVarDesc: Desc,
    savedMeanDesc: Desc,
    savedVarDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Normalise by the batch's statistics and apply an activation."""
    activation_settings(activDesc)
    numbers = alpha, beta, expAvgFactor, epsilon
    descs = xDesc, yDesc, scaleDesc, biasVarDesc, savedMeanDesc, savedVarDesc
    data = x, y, bnScale, bnBias, resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance
    training(handle, bn_mode, numbers, descs, data)
    _activate(handle, activDesc, yDesc, y)


@function
def miopenBatchNormForwardTrainingActivation_V2(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    scaleDesc: Desc,
    biasVarDesc: Desc,
    savedMeanDesc: Desc,
    savedVarDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    prevResultRunningMean: Any,
    prevResultRunningVariance: Any,
    nextResultRunningMean: Any,
    nextResultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Normalise and apply an activation; running statistics are read from one place and written to another."""
    activation_settings(activDesc)
    numbers = alpha, beta, expAvgFactor, epsilon
    descs = xDesc, yDesc, scaleDesc, biasVarDesc, savedMeanDesc, savedVarDesc
    before = prevResultRunningMean, prevResultRunningVariance
    running = nextResultRunningMean, nextResultRunningVariance
    copies = averages(handle, (savedMeanDesc, savedVarDesc), before, running)
    data = x, y, bnScale, bnBias, *running, resultSaveMean, resultSaveInvVariance
    training(handle, bn_mode, numbers, descs, data, copies)
    _activate(handle, activDesc, yDesc, y)


@function
def miopenBatchNormForwardInferenceActivation(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    scaleDesc: Desc,
    biasDesc: Desc,
    estMeanDesc: Desc,
    estVarianceDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Normalise by given statistics and apply an activation."""
    activation_settings(activDesc)
    descs = xDesc, yDesc, scaleDesc, biasDesc, estMeanDesc, estVarianceDesc
    data = x, y, bnScale, bnBias, estimatedMean, estimatedVariance
    inference(handle, bn_mode, (alpha, beta, epsilon), descs, data)
    _activate(handle, activDesc, yDesc, y)


@function
def miopenBatchNormForwardInferenceActivationInvVariance(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    scaleDesc: Desc,
    biasDesc: Desc,
    estMeanDesc: Desc,
    estInvVarianceDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedInvVariance: Any,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Normalise by a given mean and inverse deviation and apply an activation."""
    activation_settings(activDesc)
    descs = xDesc, yDesc, scaleDesc, biasDesc, estMeanDesc, estInvVarianceDesc
    data = x, y, bnScale, bnBias, estimatedMean, estimatedInvVariance
    inference_inverse(handle, bn_mode, (alpha, beta), descs, data)
    _activate(handle, activDesc, yDesc, y)


@function
def miopenBatchNormBackwardActivation(
    handle: Handle,
    bn_mode: Any,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: Desc,
    x: Any,
    dyDesc: Desc,
    dy: Any,
    dxDesc: Desc,
    dx: Any,
    scaleDesc: Desc,
    biasDesc: Desc,
    savedMeanDesc: Desc,
    savedVarianceDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    resultBnScaleDiff: Any,
    resultBnBiasDiff: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Compute the gradients of a normalisation and the activation after it, whose input is computed anew."""
    settings = activation_settings(activDesc)
    change = tensor(handle, dyDesc, dy, "dy")
    desc, z = _packed(handle, xDesc)  # what the activation was applied to
    _, y = _packed(handle, xDesc)
    _, dz = _packed(handle, xDesc)
    descs = xDesc, desc, scaleDesc, biasDesc, savedMeanDesc, savedVarianceDesc
    data = x, z, bnScale, bnBias, None, None, None, None
    training(handle, bn_mode, (1.0, 0.0, 1.0, epsilon), descs, data)
    forward(handle, settings, desc.wide, z, y)
    dy_packed = transform_tensor(handle, change, _packed(handle, xDesc)[1])
    backward(handle, settings, desc.wide, y, dy_packed, z, dz)
    numbers = alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff, epsilon
    all_descs = xDesc, desc, dxDesc, scaleDesc, biasDesc, savedMeanDesc, savedVarianceDesc
    parts = x, dz, dx, bnScale, resultBnScaleDiff, resultBnBiasDiff, savedMean, savedInvVariance
    gradient(handle, bn_mode, numbers, all_descs, parts)
