"""Dropout (guide sections 4.111 to 4.117)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..dispatch.problems import check_handle
from ..errors import BadParam
from ..handle import Handle
from .calls import c_function
from .descriptors import DropoutDescriptor, TensorDescriptor, creator, destroy, made, value_of
from .memory import raw, tensor

cudnnCreateDropoutDescriptor = creator("cudnnCreateDropoutDescriptor", DropoutDescriptor)


class InvalidValue(BadParam):
    """States are smaller than they must be: the one call for which the guide has a status of its own."""

    status = 5


@c_function
def cudnnDestroyDropoutDescriptor(dropoutDesc: DropoutDescriptor) -> None:
    destroy(dropoutDesc, DropoutDescriptor, "dropoutDesc")


@c_function
def cudnnDropoutGetStatesSize(handle: Handle) -> int:
    return dnn.dropout_get_states_size(handle)


@c_function
def cudnnDropoutGetReserveSpaceSize(xdesc: TensorDescriptor) -> int:
    return dnn.dropout_get_reserve_space_size(value_of(xdesc, TensorDescriptor, "xdesc"))


def _states(handle: Handle, states: Any, size: Any) -> Any:
    """Return the states as bytes; fewer than needed have a status of their own."""
    least, given = dnn.dropout_get_states_size(handle), as_integer(size, "stateSizeInBytes", 0)
    if given < least:
        raise InvalidValue(argument="stateSizeInBytes", expected=f"at least {least}", got=given)
    return raw(handle, states, given, "states", "stateSizeInBytes")


@c_function
def cudnnSetDropoutDescriptor(
    dropoutDesc: DropoutDescriptor, handle: Handle, dropout: float, states: Any, stateSizeInBytes: int, seed: int
) -> None:
    """Random numbers are portadnn's own: one seed gives the same masks on every backend, and others than cuDNN's.

    With NULL for the states only the probability is set. Too small a size has the status CUDNN_STATUS_INVALID_VALUE.
    """
    made(dropoutDesc, DropoutDescriptor, "dropoutDesc")
    check_handle(handle)
    if states is None:
        dropoutDesc.value = dnn.DropoutDescriptor(dropout, None, seed)
        return
    dropoutDesc.value = dnn.set_dropout_descriptor(handle, dropout, _states(handle, states, stateSizeInBytes), seed)


@c_function
def cudnnRestoreDropoutDescriptor(
    dropoutDesc: DropoutDescriptor, handle: Handle, dropout: float, states: Any, stateSizeInBytes: int, seed: int
) -> None:
    """`states` hold what they held when they were saved; `seed` is what cudnnGetDropoutDescriptor is to return."""
    made(dropoutDesc, DropoutDescriptor, "dropoutDesc")
    saved = _states(handle, states, stateSizeInBytes)
    dropoutDesc.value = dnn.restore_dropout_descriptor(handle, dropout, saved, seed)


@c_function
def cudnnGetDropoutDescriptor(dropoutDesc: DropoutDescriptor, handle: Handle) -> tuple[float, Any, int]:
    check_handle(handle)
    return dnn.get_dropout_descriptor(value_of(dropoutDesc, DropoutDescriptor, "dropoutDesc"))


@c_function
def cudnnDropoutForward(
    handle: Handle,
    dropoutDesc: DropoutDescriptor,
    xdesc: TensorDescriptor,
    x: Any,
    ydesc: TensorDescriptor,
    y: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """`y` may be `x`."""
    dnn.dropout_forward(
        handle,
        tensor(handle, xdesc, x, "x", desc="xdesc"),
        value_of(dropoutDesc, DropoutDescriptor, "dropoutDesc"),
        tensor(handle, ydesc, y, "y", desc="ydesc"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
    )


@c_function
def cudnnDropoutBackward(
    handle: Handle,
    dropoutDesc: DropoutDescriptor,
    dydesc: TensorDescriptor,
    dy: Any,
    dxdesc: TensorDescriptor,
    dx: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """`dx` may be `dy`."""
    dnn.dropout_backward(
        handle,
        tensor(handle, dydesc, dy, "dy", desc="dydesc"),
        value_of(dropoutDesc, DropoutDescriptor, "dropoutDesc"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        tensor(handle, dxdesc, dx, "dx", desc="dxdesc"),
    )
