"""Dropout (guide sections 4.111 to 4.117)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..dispatch.problems import check_handle
from ..errors import BadParam
from ..handle import Handle
from .descriptors import DropoutDescriptor, made, value_of
from .memory import raw


class InvalidValue(BadParam):
    """States are smaller than they must be: the one call for which the guide has a status of its own."""

    status = 5


def _states(handle: Handle, states: Any, size: Any) -> Any:
    """Return the states as bytes; fewer than needed have a status of their own."""
    least, given = dnn.dropout_get_states_size(handle), as_integer(size, "stateSizeInBytes", 0)
    if given < least:
        raise InvalidValue(argument="stateSizeInBytes", expected=f"at least {least}", got=given)
    return raw(handle, states, given, "states", "stateSizeInBytes")


def cudnnSetDropoutDescriptor(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed):
    made(dropoutDesc, DropoutDescriptor, "dropoutDesc")
    check_handle(handle)
    if states is None:  # only the probability is set
        before = dropoutDesc.value
        kept = (None, seed) if before is None else (before.states, before.seed)
        dropoutDesc.value = dnn.DropoutDescriptor(dropout, *kept)
        return
    dropoutDesc.value = dnn.set_dropout_descriptor(handle, dropout, _states(handle, states, stateSizeInBytes), seed)


def cudnnRestoreDropoutDescriptor(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed):
    made(dropoutDesc, DropoutDescriptor, "dropoutDesc")
    saved = _states(handle, states, stateSizeInBytes)
    dropoutDesc.value = dnn.restore_dropout_descriptor(handle, dropout, saved, seed)


def cudnnGetDropoutDescriptor(handle, dropoutDesc):
    check_handle(handle)
    return dnn.get_dropout_descriptor(value_of(dropoutDesc, DropoutDescriptor, "dropoutDesc"))
