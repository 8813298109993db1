"""The parts of a fused batch normalisation: ``y = activation(norm(x) + z)``, or without z, or the normalisation alone.

A fused call is made of the calls for each part, so that half tensors are rounded after each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import portadnn as dnn

from ...arguments import as_integer, as_real
from ...c_names.composed import check_call
from ...dispatch.problems import check_handle
from ...enums import ActivationMode, BatchNormMode
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...ops.batch_norm import BatchNormalizationBackward, check_epsilon
from ...ops.tensor import AddTensor
from ..descriptors import ActivationDescriptor, TensorDescriptor, value_of
from ..memory import tensor, view

PLAIN, ACTIVATION, ADD_ACTIVATION = range(3)  # cudnnBatchNormOps_t and cudnnNormOps_t


_FACTORS = ("alphaDataDiff", "betaDataDiff", "alphaParamDiff", "betaParamDiff")


def relu(descriptor: Any, ops: int) -> Any:
    """Return the activation, None where nothing is fused; RELU is the one whose gradient y alone tells."""
    if ops == PLAIN:
        return None
    activation = value_of(descriptor, ActivationDescriptor, "activationDesc")
    if activation.mode is not ActivationMode.RELU:
        raise NotSupported(
            "activate with cudnnActivationForward after a plain normalisation",
            argument="activationDesc",
            expected="CUDNN_ACTIVATION_RELU",
            got=str(activation.mode),
        )
    return activation


def unblended(ops: int, **numbers: Any) -> None:
    """Demand that what is fused is not blended as well."""
    for name, (value, wanted) in numbers.items():
        if ops != PLAIN and as_real(value, name) != wanted:
            raise NotSupported("fused calls do not blend", argument=name, expected=str(wanted), got=value)


def check_finish(handle: Handle, ops: int, z: Any, y: Any) -> None:
    """Refuse what :func:`finish` would refuse, before y is written."""
    if ops == ADD_ACTIVATION:
        check_call(handle, AddTensor, (z, y))


def finish(handle: Handle, ops: int, z: Any, activation: Any, y: Any) -> None:
    """Add z and activate, in place."""
    if ops == ADD_ACTIVATION:
        dnn.add_tensor(handle, z, y)
    if ops != PLAIN:
        dnn.activation_forward(handle, y, activation, y)


def train(
    handle: Handle,
    mode: BatchNormMode,
    ops: int,
    alpha: Any,
    beta: Any,
    x: Any,
    z: Any,
    y: Any,
    scale: list[Any],
    statistics: list[Any],
    factor: Any,
    epsilon: Any,
    activation_desc: Any,
) -> None:
    """Normalise by the batch's own statistics, and what follows."""
    activation = relu(activation_desc, ops)
    unblended(ops, alpha=(alpha, 1), beta=(beta, 0))
    check_finish(handle, ops, z, y)
    dnn.batch_normalization_forward_training(
        handle,
        x,
        scale[0],
        scale[1],
        y,
        statistics[0],
        statistics[1],
        statistics[2],
        statistics[3],
        mode=mode,
        exponential_average_factor=factor,
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
    )
    finish(handle, ops, z, activation, y)


def _gradient(
    handle: Handle,
    ops: int,
    activation: Any,
    y: tuple[Any, Any],
    dy: Any,
    dz: Any,
    workspace: Any,
    size: Any,
    check: Callable[[], None],
) -> Any:
    """Return the gradient of what was activated: in dz, or in the workspace where nothing was added."""
    if ops == PLAIN:
        return dy
    check()
    y_desc, y_memory = y
    activated = tensor(handle, y_desc, y_memory, "yData", desc="yDesc")
    if ops == ACTIVATION:
        spec = y_desc.spec
        needed = spec.span * spec.dtype.itemsize
        if workspace is None:
            dz = check_handle(handle).device.empty(spec)
        elif as_integer(size, "workSpaceSizeInBytes", 0) < needed:
            raise BadParam(argument="workSpaceSizeInBytes", expected=f"at least {needed}", got=size)
        else:
            dz = view(handle, y_desc.views, workspace, spec, "workSpace")
    return dnn.activation_backward(handle, activated, dy, activated, activation, dz)


def backward(
    handle: Handle,
    mode: BatchNormMode,
    ops: int,
    factors: tuple[Any, Any, Any, Any],
    x: Any,
    y: tuple[Any, Any],
    dy: Any,
    dz: Any,
    dx: Any,
    scale: list[Any],
    saved: list[Any],
    epsilon: Any,
    activation_desc: Any,
    workspace: Any,
    size: Any,
) -> None:
    """Return to x, z and the parameters."""
    activation = relu(activation_desc, ops)

    def check() -> None:
        """Refuse what the second operation would refuse, before the first one writes dz."""
        check_epsilon(epsilon, dnn.BN_MIN_EPSILON)
        numbers = {name: as_real(factor, name) for name, factor in zip(_FACTORS, factors, strict=True)}
        numbers["epsilon"] = as_real(epsilon, "epsilon")
        tensors = (x, dy if dz is None else dz, scale[0], saved[0], saved[1], dx, scale[1], scale[2])
        check_call(handle, BatchNormalizationBackward, tensors, (mode,), numbers)

    gradient = _gradient(handle, ops, activation, y, dy, dz, workspace, size, check)
    dnn.batch_normalization_backward(
        handle,
        x,
        gradient,
        scale[0],
        saved[0],
        saved[1],
        dx,
        scale[1],
        scale[2],
        mode=mode,
        epsilon=epsilon,
        alpha_data_diff=factors[0],
        beta_data_diff=factors[1],
        alpha_param_diff=factors[2],
        beta_param_diff=factors[3],
    )


def backward_size(handle: Handle, ops: int, y_desc: Any) -> int:
    """Return the bytes of the gradient that is neither dy nor dz."""
    _ = check_handle(handle).device
    if ops != ACTIVATION:
        return 0
    return int(value_of(y_desc, TensorDescriptor, "yDesc").size_in_bytes)
