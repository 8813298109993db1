"""Activations (guide sections 4.77 to 4.86)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_real
from ..enums import ActivationMode
from ..errors import BadParam
from .calls import Choice
from .descriptors import ActivationDescriptor, made
from .tensors import nan_option

activation_mode = Choice("cudnnActivationMode_t", ActivationMode)


def _made(mode: ActivationMode, nan: Any, coef: float, swish_beta: float) -> dnn.ActivationDescriptor:
    """Return portadnn's descriptor: C's one number is the ceiling or ELU's alpha, and SWISH has a call of its own."""
    if mode is ActivationMode.CLIPPED_RELU:
        return dnn.ActivationDescriptor(mode, nan, ceiling=coef)
    if mode in (ActivationMode.ELU, ActivationMode.SWISH):
        return dnn.ActivationDescriptor(mode, nan, coef=coef if mode is ActivationMode.ELU else swish_beta)
    return dnn.ActivationDescriptor(mode, nan)


def cudnnSetActivationDescriptor(activationDesc, mode, reluNanOpt, reluCeiling):
    made(activationDesc, ActivationDescriptor, "activationDesc")
    how, nan = activation_mode(mode, "mode"), nan_option(reluNanOpt, "reluNanOpt")
    coef = as_real(reluCeiling, "reluCeiling")
    activationDesc.value = _made(how, nan, coef, activationDesc.swish_beta)
    activationDesc.coef = coef


def cudnnGetActivationDescriptor(activation, activationDesc):
    return activation_mode.c(activation.mode), nan_option.c(activation.nan_propagation), activationDesc.coef


def cudnnSetActivationDescriptorSwishBeta(activationDesc, swish_beta):
    made(activationDesc, ActivationDescriptor, "activationDesc")
    beta, value = as_real(swish_beta, "swish_beta"), activationDesc.value
    if value is not None:
        activationDesc.value = _made(value.mode, value.nan_propagation, activationDesc.coef, beta)
    activationDesc.swish_beta = beta


def cudnnGetActivationDescriptorSwishBeta(activationDesc):
    return made(activationDesc, ActivationDescriptor, "activationDesc").swish_beta


_PLAIN: dict[ActivationMode, dnn.ActivationDescriptor] = {}


def _plain(mode: Any) -> dnn.ActivationDescriptor:
    """Return the descriptor of a mode alone, as _v3 has it: CLIPPED_RELU, which needs a ceiling, is refused."""
    how = activation_mode(mode, "mode")
    if how is ActivationMode.CLIPPED_RELU:
        raise BadParam(argument="mode", expected="a mode without a ceiling, which this call lacks", got=str(how))
    if how not in _PLAIN:
        _PLAIN[how] = dnn.ActivationDescriptor(how)
    return _PLAIN[how]


def cudnnActivationForward_v3(handle, x, y, mode, alpha, beta):
    dnn.activation_forward(handle, x, _plain(mode), y, alpha=alpha, beta=beta)


def cudnnActivationBackward_v3(handle, y, dy, x, mode, dx, alpha, beta):
    dnn.activation_backward(handle, y, dy, x, _plain(mode), dx, alpha=alpha, beta=beta)
