"""Activations (guide sections 4.77 to 4.86)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_real
from ..enums import ActivationMode
from ..errors import BadParam
from ..handle import Handle
from .calls import Choice, c_function
from .descriptors import ActivationDescriptor, TensorDescriptor, creator, destroy, made, value_of
from .memory import tensor
from .tensors import nan_option

activation_mode = Choice("cudnnActivationMode_t", ActivationMode)

cudnnCreateActivationDescriptor = creator("cudnnCreateActivationDescriptor", ActivationDescriptor)


def _made(mode: ActivationMode, nan: Any, coef: float, swish_beta: float) -> dnn.ActivationDescriptor:
    """Return portadnn's descriptor: C's one number is the ceiling or ELU's alpha, and SWISH has a call of its own."""
    if mode is ActivationMode.CLIPPED_RELU:
        return dnn.ActivationDescriptor(mode, nan, ceiling=coef)
    if mode in (ActivationMode.ELU, ActivationMode.SWISH):
        return dnn.ActivationDescriptor(mode, nan, coef=coef if mode is ActivationMode.ELU else swish_beta)
    return dnn.ActivationDescriptor(mode, nan)


@c_function
def cudnnSetActivationDescriptor(
    activationDesc: ActivationDescriptor, mode: int, reluNanOpt: int, reluCeiling: float
) -> None:
    """`reluCeiling` is what cuDNN 6 calls `coef`: the ceiling of CLIPPED_RELU or the alpha of ELU. Others ignore it."""
    made(activationDesc, ActivationDescriptor, "activationDesc")
    how, nan = activation_mode(mode, "mode"), nan_option(reluNanOpt, "reluNanOpt")
    coef = as_real(reluCeiling, "reluCeiling")
    activationDesc.value = _made(how, nan, coef, activationDesc.swish_beta)
    activationDesc.coef = coef


@c_function
def cudnnGetActivationDescriptor(activationDesc: ActivationDescriptor) -> tuple[Any, Any, float]:
    value = value_of(activationDesc, ActivationDescriptor, "activationDesc")
    return activation_mode.c(value.mode), nan_option.c(value.nan_propagation), activationDesc.coef


@c_function
def cudnnSetActivationDescriptorSwishBeta(activationDesc: ActivationDescriptor, swish_beta: float) -> None:
    """Before or after the mode is set."""
    made(activationDesc, ActivationDescriptor, "activationDesc")
    beta, value = as_real(swish_beta, "swish_beta"), activationDesc.value
    if value is not None:
        activationDesc.value = _made(value.mode, value.nan_propagation, activationDesc.coef, beta)
    activationDesc.swish_beta = beta


@c_function
def cudnnGetActivationDescriptorSwishBeta(activationDesc: ActivationDescriptor) -> float:
    return made(activationDesc, ActivationDescriptor, "activationDesc").swish_beta


@c_function
def cudnnDestroyActivationDescriptor(activationDesc: ActivationDescriptor) -> None:
    destroy(activationDesc, ActivationDescriptor, "activationDesc")


@c_function
def cudnnActivationForward(
    handle: Handle,
    activationDesc: ActivationDescriptor,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """`y` may be `x`."""
    dnn.activation_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, yDesc, y, "y"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnActivationBackward(
    handle: Handle,
    activationDesc: ActivationDescriptor,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """`dx` may be `dy`."""
    dnn.activation_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
    )


_PLAIN: dict[ActivationMode, dnn.ActivationDescriptor] = {}


def _plain(mode: Any) -> dnn.ActivationDescriptor:
    """Return the descriptor of a mode alone, as _v3 has it: CLIPPED_RELU, which needs a ceiling, is refused."""
    how = activation_mode(mode, "mode")
    if how is ActivationMode.CLIPPED_RELU:
        raise BadParam(argument="mode", expected="a mode without a ceiling, which this call lacks", got=str(how))
    if how not in _PLAIN:
        _PLAIN[how] = dnn.ActivationDescriptor(how)
    return _PLAIN[how]


@c_function
def cudnnActivationForward_v3(
    handle: Handle,
    mode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """NaN does not propagate through RELU. `y` may be `x`."""
    arrays = tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y")
    dnn.activation_forward(handle, arrays[0], _plain(mode), arrays[1], alpha=alpha, beta=beta)


@c_function
def cudnnActivationBackward_v3(
    handle: Handle,
    mode: int,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """`dx` may be `dy`."""
    dnn.activation_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        _plain(mode),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnActivationForward_v4(
    handle: Handle,
    activationDesc: ActivationDescriptor,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """`y` may be `x`."""
    dnn.activation_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, yDesc, y, "y"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnActivationBackward_v4(
    handle: Handle,
    activationDesc: ActivationDescriptor,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """`dx` may be `dy`."""
    dnn.activation_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
    )
