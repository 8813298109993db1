"""Dropout of arrays, and the states of its random numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from portadnn import cudnn

from .bindings import BINDINGS
from .descriptors import Descriptor, current_handle, get_handle, new_descriptor, tensor_descriptor
from .errors import cudnn_errors
from .layers import like
from .memory import alloc, as_bytes, as_number, contiguous, library, native
from .objects import object_of


def create_dropout_descriptor(
    handle: int, dropout: float, states: int, state_size_in_bytes: int, seed: int
) -> Descriptor:
    """Return a descriptor of dropout whose states, at the address `states`, start with a seed."""
    made, _ = new_descriptor("Dropout")
    BINDINGS["setDropoutDescriptor"](made.value, handle, dropout, states, state_size_in_bytes, seed)
    return made


def set_dropout_descriptor(desc: Descriptor, handle: int, dropout: float) -> None:
    """Set the probability of dropout and leave its states as they are."""
    BINDINGS["setDropoutDescriptor"](desc.value, handle, dropout, 0, 0, 0)


def create_dropout_states(handle: int) -> Any:
    """Return memory for states. Use DropoutStates."""
    warnings.warn(
        "create_dropout_states is deprecated. Please use DropoutStates class instead.", DeprecationWarning, stacklevel=2
    )
    return library().empty((BINDINGS["dropoutGetStatesSize"](handle),), np.int8)


class DropoutStates:
    """The random numbers of dropout.

    Parameters
    ----------
    handle
        A handle's integer, or None for that of the current device.
    seed
        Where they start.
    """

    def __init__(self, handle: int | None, seed: int) -> None:
        number = get_handle() if handle is None else as_number(handle)
        size = BINDINGS["dropoutGetStatesSize"](number)
        self._states = alloc(size)
        self._desc = create_dropout_descriptor(number, 0.0, self._states.ptr, size, int(seed))

    def set_dropout_ratio(self, dropout_ratio: float) -> None:
        """Set the share of elements that become 0."""
        set_dropout_descriptor(self._desc, get_handle(), dropout_ratio)

    def _set(self, handle: int | None, ratio: float, array: Any) -> tuple[Any, Any, Any, Any]:
        """Return what both directions begin with: handle, descriptor of dropout, the array and its layout."""
        number = get_handle() if handle is None else as_number(handle)
        set_dropout_descriptor(self._desc, number, ratio)
        array = contiguous(array)
        first = array.shape[0] if array.ndim else 1
        layout = tensor_descriptor((first, array.size // max(first, 1), 1, 1), array.dtype)
        return current_handle(number), object_of(self._desc.value, "dropoutDesc"), array, layout

    @cudnn_errors
    def forward(self, handle: int | None, x: Any, dropout_ratio: float) -> tuple[Any, Any]:
        """Return the reserve space, which the gradient needs, and x with dropout."""
        on, dropout, given, (_, layout) = kept = self._set(handle, dropout_ratio, x)
        y, size = like(x), int(cudnn.cudnnDropoutGetReserveSpaceSize(kept[3][1]))
        reserve = library().empty((size,), np.int8)
        cudnn.cudnnDropoutForward(on, dropout, layout, given, layout, native(y), as_bytes(reserve), size)
        return reserve, y

    @cudnn_errors
    def backward(self, handle: int | None, dy: Any, dropout_ratio: float, reserve_space: Any) -> Any:
        """Return the gradient of dropout with respect to its input."""
        on, dropout, given, (_made, layout) = self._set(handle, dropout_ratio, dy)
        dx, space = like(dy), as_bytes(reserve_space)
        cudnn.cudnnDropoutBackward(on, dropout, layout, given, layout, native(dx), space, space.size)
        return dx
