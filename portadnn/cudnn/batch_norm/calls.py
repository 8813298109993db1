"""Batch normalisation (guide sections 4.95 to 4.98)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ...enums import BatchNormMode
from ...handle import Handle
from ..calls import Choice, c_function
from ..descriptors import TensorDescriptor, made, value_of
from ..memory import tensor

batch_norm_mode = Choice("cudnnBatchNormMode_t", BatchNormMode)


def parameters(handle: Handle, descriptor: Any, desc: str, **memory: Any) -> list[Any]:
    """Return parameters or statistics that share a descriptor; None for those that are NULL."""
    return [None if m is None else tensor(handle, descriptor, m, name, desc) for name, m in memory.items()]


def demanded(handle: Handle, descriptor: Any, desc: str, **memory: Any) -> list[Any]:
    """Return parameters that share a descriptor, none of which may be NULL."""
    return [tensor(handle, descriptor, m, name, desc) for name, m in memory.items()]


def _shared(
    handle: Handle, descriptor: Any, desc: str, names: tuple[str, ...], memory: tuple[Any, ...], needed: int
) -> tuple[Any, ...]:
    """Return what shares a descriptor; the first `needed` may not be NULL. All at once, because they are many."""
    try:
        if type(descriptor) is TensorDescriptor:
            dims, storage, strides = descriptor.dims, descriptor.storage, descriptor.strides
            for m in memory:
                if m.shape != dims or m.dtype is not storage or m.strides != strides:
                    break
            else:
                return memory
    except Exception:  # something is NULL or no array
        pass
    return tuple(
        None if m is None and i >= needed else tensor(handle, descriptor, m, name, desc)
        for i, (name, m) in enumerate(zip(names, memory, strict=True))
    )


_TRAINING = (
    "bnScale",
    "bnBias",
    "resultRunningMean",
    "resultRunningVariance",
    "resultSaveMean",
    "resultSaveInvVariance",
)
_INFERENCE = ("bnScale", "bnBias", "estimatedMean", "estimatedVariance")
_BACKWARD = ("bnScale", "dBnScaleResult", "dBnBiasResult", "savedMean", "savedInvVariance")


@c_function
def cudnnDeriveBNTensorDescriptor(derivedBnDesc: TensorDescriptor, xDesc: TensorDescriptor, mode: int) -> None:
    """`derivedBnDesc` was created before and is set here."""
    made(derivedBnDesc, TensorDescriptor, "derivedBnDesc")
    x = value_of(xDesc, TensorDescriptor, "xDesc")
    derivedBnDesc.set(dnn.derive_bn_tensor_descriptor(x, batch_norm_mode(mode, "mode")))


@c_function
def cudnnBatchNormalizationForwardTraining(
    handle: Handle,
    mode: int,
    alpha: float,
    beta: float,
    xDesc: TensorDescriptor,
    x: Any,
    yDesc: TensorDescriptor,
    y: Any,
    bnScaleBiasMeanVarDesc: TensorDescriptor,
    bnScale: Any,
    bnBias: Any,
    exponentialAverageFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
) -> None:
    """The running pair and the saved pair may each be NULL, both of it."""
    given = (bnScale, bnBias, resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance)
    scale, bias, mean, variance, saved, inverse = _shared(
        handle, bnScaleBiasMeanVarDesc, "bnScaleBiasMeanVarDesc", _TRAINING, given, 2
    )
    dnn.batch_normalization_forward_training(
        handle,
        tensor(handle, xDesc, x, "x"),
        scale,
        bias,
        tensor(handle, yDesc, y, "y"),
        mean,
        variance,
        saved,
        inverse,
        mode=batch_norm_mode(mode, "mode"),
        exponential_average_factor=exponentialAverageFactor,
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnBatchNormalizationForwardInference(
    handle: Handle,
    mode: int,
    alpha: float,
    beta: float,
    xDesc: TensorDescriptor,
    x: Any,
    yDesc: TensorDescriptor,
    y: Any,
    bnScaleBiasMeanVarDesc: TensorDescriptor,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
) -> None:
    given = (bnScale, bnBias, estimatedMean, estimatedVariance)
    scale, bias, mean, variance = _shared(
        handle, bnScaleBiasMeanVarDesc, "bnScaleBiasMeanVarDesc", _INFERENCE, given, 4
    )
    dnn.batch_normalization_forward_inference(
        handle,
        tensor(handle, xDesc, x, "x"),
        scale,
        bias,
        mean,
        variance,
        tensor(handle, yDesc, y, "y"),
        mode=batch_norm_mode(mode, "mode"),
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnBatchNormalizationBackward(
    handle: Handle,
    mode: int,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: TensorDescriptor,
    x: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    dxDesc: TensorDescriptor,
    dx: Any,
    dBnScaleBiasDesc: TensorDescriptor,
    bnScale: Any,
    dBnScaleResult: Any,
    dBnBiasResult: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
) -> None:
    """`savedMean` and `savedInvVariance` may both be NULL: they are then computed again from x."""
    given = (bnScale, dBnScaleResult, dBnBiasResult, savedMean, savedInvVariance)
    scale, dscale, dbias, mean, inverse = _shared(handle, dBnScaleBiasDesc, "dBnScaleBiasDesc", _BACKWARD, given, 3)
    dnn.batch_normalization_backward(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, dy, "dy"),
        scale,
        mean,
        inverse,
        tensor(handle, dxDesc, dx, "dx"),
        dscale,
        dbias,
        mode=batch_norm_mode(mode, "mode"),
        epsilon=epsilon,
        alpha_data_diff=alphaDataDiff,
        beta_data_diff=betaDataDiff,
        alpha_param_diff=alphaParamDiff,
        beta_param_diff=betaParamDiff,
    )
