"""Batch normalisation and activation in one call, composed of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...dispatch.problems import check_handle
from ...handle import Handle
from ...ops.tensor import transform_tensor
from ...problem import TensorSpec
from ..activation import activation_settings, backward, forward
from ..descriptors import miopenTensorDescriptor_t, tensor, wide_of
from .calls import miopenBatchNormalizationForwardTraining_V3
from .passes import gradient, inference, inference_inverse, training

Desc = miopenTensorDescriptor_t


def _activate(activDesc: Any, c: Mapping[str, Any]) -> None:
    """Apply the activation to the normalised tensor in place."""
    handle, desc = c["handle"], c["yDesc"]
    out = tensor(handle, desc, c["y"], "y")
    forward(handle, activation_settings(activDesc), desc.wide, out, out)


def _packed(handle: Handle, desc: Desc) -> tuple[Desc, Any]:
    """Return a new tensor with the dims of a descriptor, packed, and its descriptor."""
    spec, made = wide_of(desc, "xDesc"), miopenTensorDescriptor_t()
    made.set(TensorSpec.packed(spec.dtype, spec.dims))
    return made, check_handle(handle).device.empty(made.wide)


def miopenBatchNormForwardTrainingActivation(activDesc, **c):
    activation_settings(activDesc)
    training(**c)
    _activate(activDesc, c)


def miopenBatchNormForwardTrainingActivation_V2(activDesc, **c):
    activation_settings(activDesc)
    miopenBatchNormalizationForwardTraining_V3(**c)
    _activate(activDesc, c)


def miopenBatchNormForwardInferenceActivation(activDesc, **c):
    activation_settings(activDesc)
    inference(**c)
    _activate(activDesc, c)


def miopenBatchNormForwardInferenceActivationInvVariance(activDesc, **c):
    activation_settings(activDesc)
    inference_inverse(**c)
    _activate(activDesc, c)


def miopenBatchNormBackwardActivation(
    activ, dy, handle, bn_mode, xDesc, raw_x, bnBias, epsilon, savedVarianceDesc, **c
):
    desc, z = _packed(handle, xDesc)  # what the activation was applied to
    _, y = _packed(handle, xDesc)
    _, dz = _packed(handle, xDesc)
    descs = (c["scaleDesc"], c["biasDesc"], c["savedMeanDesc"], savedVarianceDesc)
    rest = (c["bnScale"], bnBias, 1.0, None, None, epsilon, None, None)
    training(handle, bn_mode, 1.0, 0.0, xDesc, raw_x, desc, z, *descs, *rest)
    forward(handle, activ, desc.wide, z, y)
    dy_packed = transform_tensor(handle, dy, _packed(handle, xDesc)[1])
    backward(handle, activ, desc.wide, y, dy_packed, z, dz)
    given = {
        "xDesc": xDesc,
        "x": raw_x,
        "dyDesc": desc,
        "dy": dz,
        "savedVarDesc": savedVarianceDesc,
        "epsilon": epsilon,
    }
    gradient(handle, bn_mode, **given, **c)
