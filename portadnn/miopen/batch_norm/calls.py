"""Batch normalisation: one descriptor for all small tensors, or one for each (_V2, _V3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import BadParam
from ...ops.batch_norm import parameter_dims
from ...problem import TensorSpec
from ..descriptors import made, miopenTensorDescriptor_t, wide_of
from .passes import averages, gradient, inference, inference_inverse, mode_of, training


def miopenDeriveBNTensorDescriptor(derivedBnDesc, xDesc, bn_mode):
    out = made(derivedBnDesc, miopenTensorDescriptor_t, "derivedBnDesc")
    spec = wide_of(xDesc, "xDesc")
    mode = mode_of(bn_mode)
    if len(spec.dims) not in (4, 5):
        raise BadParam(argument="xDesc", expected="4 or 5 dims", got=spec.dims)
    out.set(TensorSpec.packed(spec.dtype.accumulator, parameter_dims(spec.dims, mode)))


def _for_each(c: Mapping[str, Any], shared: str, *names: str) -> dict[str, Any]:
    """Return C's arguments with one descriptor for each small tensor in place of the one for all."""
    return {**{name: value for name, value in c.items() if name != shared}, **dict.fromkeys(names, c[shared])}


def miopenBatchNormalizationForwardTraining(**c):
    names = ("scaleDesc", "biasVarDesc", "savedMeanDesc", "savedVarDesc")
    training(**_for_each(c, "bnScaleBiasMeanVarDesc", *names))


def miopenBatchNormalizationForwardTraining_V2(**c):
    training(**c)


def miopenBatchNormalizationForwardTraining_V3(
    prevResultRunningMean, prevResultRunningVariance, nextResultRunningMean, nextResultRunningVariance, **c
):
    before, after = (
        (prevResultRunningMean, prevResultRunningVariance),
        (nextResultRunningMean, nextResultRunningVariance),
    )
    copies = averages(c["handle"], (c["savedMeanDesc"], c["savedVarDesc"]), before, after)
    training(resultRunningMean=after[0], resultRunningVariance=after[1], copies=copies, **c)


def miopenBatchNormalizationForwardInference(**c):
    names = ("scaleDesc", "biasDesc", "estMeanDesc", "estVarianceDesc")
    inference(**_for_each(c, "bnScaleBiasMeanVarDesc", *names))


def miopenBatchNormalizationForwardInference_V2(**c):
    inference(**c)


def miopenBatchNormalizationForwardInferenceInvVariance(**c):
    inference_inverse(**c)


def miopenBatchNormalizationBackward(**c):
    gradient(**_for_each(c, "bnScaleBiasDiffDesc", "scaleDesc", "biasDesc", "savedMeanDesc", "savedVarDesc"))


def miopenBatchNormalizationBackward_V2(**c):
    gradient(**c)
