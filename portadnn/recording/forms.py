"""What a form says of a call: its arguments by name, its arrays, its status."""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import Any

import numpy as np

from ..enums import Status
from ..errors import DnnError
from ..handle import Handle
from ..hooks import Call
from ..problem import Problem
from .encode import encode, place


def handle_of(call: Call) -> Handle | None:
    """Return the handle that a call was given, or is a method of."""
    for value in (*call.args, *call.kwargs.values()):
        if isinstance(value, Handle):
            return value
        inner = getattr(value, "handle", None)  # a C library's handle
        if isinstance(inner, Handle):
            return inner
    return None


def device_of(call: Call) -> Any:
    """Return the device of that handle; None without one."""
    first = call.args[0] if call.args else None
    handle = first if type(first) is Handle else handle_of(call)
    return None if handle is None else handle._device


def arguments_of(call: Call, problem: Problem | None, apart: Collection[str] = ()) -> dict[str, Any]:
    """Return the arguments by name, without those `apart`; what the problem has is only named."""
    device = device_of(call)
    names = () if problem is None else problem.names
    found: dict[str, Any] = {}
    for name, value in call.arguments.items():
        if name in apart:
            found[name] = None  # keeps its place
            continue
        if problem is not None and call.library == "portadnn":
            if name in problem.scalars:
                found[name] = {"scalar": name}
                continue
            if name in names and value is not None:
                found[name] = {"of": name}
                continue
        if name == "workspace" and value is not None and device is not None:
            try:
                found[name] = {"workspace": int(device.workspace_size(value))}
                continue
            except DnnError:
                pass
        if call.function == "Handle.asarray" and name == "array":
            found[name] = {"host": _host(value)}
            continue
        found[name] = encode(value, device)
        if problem is not None and isinstance(found[name], dict) and "tensor" in found[name]:
            at = found[name]["tensor"].pop("at")  # the form's calls have others: only the problem's are noted
            places = list(map(place, call.addresses))
            if at in places:
                same = name in names and places[names.index(name)] == at
                found[name] = {"of": name if same else names[places.index(at)]}
    return found


def _host(value: Any) -> dict[str, Any]:
    """Return type and shape of host data."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return {"dtype": "object", "shape": []}
    return {"dtype": str(array.dtype), "shape": list(array.shape)}


def status_of(error: BaseException) -> str:
    """Return the name of an error's status, or the class of an error without one."""
    if not isinstance(error, DnnError):
        return type(error).__name__
    status = error.status
    return status.name if isinstance(status, enum.Enum) else Status(status).name
