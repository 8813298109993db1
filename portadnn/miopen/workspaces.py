"""Workspaces: that they are as large as they are said to be, and who filled them last.

MIOpen's pooling and LRN leave in the workspace what their gradients need, and read garbage where a program passes
another one. portadnn's gradients need no such memory; but a program that brings the wrong one is told so. What is
remembered is where a workspace begins and what it was filled for: its bytes stay as they are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any

from ..dispatch.problems import check_handle
from ..errors import BadParam
from ..handle import Handle
from .generated.enums import miopenStatus_t
from .names import integer

MOST = 1 << 16  # workspaces that are remembered

_FILLED: OrderedDict[tuple[str, int], Hashable] = OrderedDict()
_LOCK = Lock()


def given_workspace(handle: Handle, workspace: Any, size: Any, needed: int, argument: str = "workSpace") -> Any:
    """Return the workspace if one is needed, else None.

    Raises
    ------
    BadParam
        It is None, or smaller than needed, or smaller than said.
    """
    said = size if type(size) is int and size >= 0 else integer(size, f"{argument}Size")
    device = check_handle(handle).device
    if workspace is None:
        if needed or said:
            raise BadParam(argument=argument, expected=f"a buffer of {max(needed, said)} bytes", got=None)
        return None
    actual = device.workspace_size(workspace)
    if said > actual:
        raise BadParam(argument=f"{argument}Size", expected=f"at most the buffer's {actual} bytes", got=said)
    if said < needed:
        raise BadParam(argument=f"{argument}Size", expected=f"at least {needed} bytes", got=said)
    return workspace if needed else None


def demand(handle: Handle, workspace: Any, needed: int, argument: str) -> None:
    """Demand a workspace that is large enough, where C takes no size."""
    if workspace is None:
        raise BadParam(argument=argument, expected=f"a buffer of {needed} bytes", got=None)
    actual = check_handle(handle).device.workspace_size(workspace)
    if actual < needed:
        raise BadParam(argument=argument, expected=f"at least {needed} bytes", got=f"{actual} bytes")


def _place(handle: Handle, workspace: Any) -> tuple[str, int]:
    device = handle.device
    return handle.backend, device.address(device.native_workspace(workspace))


def fill(handle: Handle, workspace: Any, what: Hashable) -> None:
    """Note that a forward call left in a workspace what its gradient needs."""
    key = _place(handle, workspace)
    with _LOCK:
        _FILLED[key] = what
        _FILLED.move_to_end(key)
        while len(_FILLED) > MOST:
            _FILLED.popitem(last=False)


def demand_filled(handle: Handle, workspace: Any, what: Hashable, forward: str, argument: str = "workspace") -> None:
    """Demand the workspace that a forward call of the same problem filled last.

    Raises
    ------
    BadParam
        It is another one, or was filled for something else since; with MIOpen, results would be wrong.
    """
    expected = f"the workspace that {forward} filled, with do_backward=True and the same descriptors"
    if workspace is None:
        raise BadParam(argument=argument, expected=expected, got=None)
    check_handle(handle).device.workspace_size(workspace)
    found = _FILLED.get(_place(handle, workspace))
    if found != what:
        got = "one that it did not fill" if found is None else "one that was filled for another problem since"
        error = BadParam("MIOpen would compute with what lies there", argument=argument, expected=expected, got=got)
        error.status = miopenStatus_t.miopenStatusUnknownError
        raise error
