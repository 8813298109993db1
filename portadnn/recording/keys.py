"""What recorded calls have in common: the keys of forms, made of a call's arguments as quickly as possible."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from types import FrameType
from typing import Any

import numpy as np

from ..descriptors import FilterDescriptor, Parameters, TensorDescriptor, TensorView
from ..dispatch.arrays import spec_of
from ..enums import DnnEnum
from ..errors import DnnError
from ..handle import Handle
from ..hooks import Call
from ..problem import TensorSpec
from .encode import fields_of, spec_json
from .forms import device_of

# How an argument is told from another one, by its type.
VALUE, NUMBER, HANDLE, LIST, OPAQUE, ARRAY = 1, 2, 3, 4, 5, 6
_VALUES = (type(None), bool, int, str, tuple, type, np.dtype, np.integer, DnnEnum)
_DESCRIPTORS = (Parameters, TensorDescriptor, FilterDescriptor, TensorSpec)


class _Modes(dict[type, int]):
    def __missing__(self, kind: type) -> int:
        return _mode(kind)


MODES = _Modes()


def _mode(kind: type) -> int:
    if issubclass(kind, (*_VALUES, *_DESCRIPTORS)):
        mode = VALUE
    elif issubclass(kind, (float, np.floating)):
        mode = NUMBER
    elif issubclass(kind, Handle):
        mode = HANDLE
    elif issubclass(kind, list):
        mode = LIST
    else:
        ours = kind.__module__.startswith("portadnn.") and not issubclass(kind, TensorView)
        mode = OPAQUE if ours else ARRAY  # a C library's handle or descriptor: known by what it holds
    MODES[kind] = mode
    return mode


_HELD: dict[Any, Any] = {}  # by class and by what is set: an object may have more than another of its class


def _held(value: Any) -> Any:
    """Return what tells a C library's object from itself after a Set call: its value is never changed, but replaced."""
    kind = (type(value), *getattr(value, "__dict__", ()))
    getter = _HELD.get(kind)
    if getter is None:
        names = [name for name in fields_of(value) if name != "value"]
        getter = _HELD[kind] = operator.attrgetter("__class__", "__class__", *names)
    return id(getattr(value, "value", value)), getter(value)


def _listed(values: list[Any]) -> tuple[Any, ...]:
    return tuple(_held(item) if MODES[type(item)] == OPAQUE else item for item in values)


def kept(values: Iterable[Any]) -> list[Any]:
    """Return what the ids in a key belong to, which has to stay alive as long as the key."""
    return [kept(value) if isinstance(value, list) else getattr(value, "value", None) for value in values]


def _seen(call: Call, array: Any) -> tuple[Any, tuple[int, ...]] | None:
    """Return what an array of a call without a problem is, and where, if it is the device's; None for others."""
    if call.function == "Handle.asarray":
        return ((array.dtype, array.shape), ()) if type(array) is np.ndarray else None
    device = device_of(call)
    try:
        if device is not None and device.owns(array):
            return device.signature(array), (device.address(array),)
    except (DnnError, AttributeError):
        pass
    return None


def arrays_of(call: Call) -> dict[str, dict[str, Any]]:
    """Return the device's arrays among the arguments by name, in the order in which they were given.

    Raises
    ------
    DnnError
        One has a type or strides that portadnn does not take.
    """
    if call.function == "Handle.asarray":
        return {}
    device = device_of(call)
    names = [*list(call.arguments)[: len(call.args)], *call.kwargs]
    given = zip(names, (*call.args, *call.kwargs.values()), strict=True)
    arrays = {name: value for name, value in given if MODES[type(value)] == ARRAY}
    return {name: spec_json(spec_of(device.signature(value), name)) for name, value in arrays.items()}


def key_of(call: Call, frame: FrameType) -> tuple[Any, Sequence[int]] | None:
    """Return what calls with one form have in common, and where the call's tensors lie.

    None where a form cannot say it all: of calls that failed, were made inside of others, computed several problems, or
    were given arrays that are not the device's without a problem that has them.

    Raises
    ------
    TypeError
        When the key is looked up: an argument cannot be hashed.
    """
    if call.error is not None or call.earlier or call.parent is not None:
        return None
    problem = call.problem
    scalars = problem.scalars if problem is not None and call.library == "portadnn" else ()
    key: Any = [call.target, id(problem), id(frame.f_code), frame.f_lasti, threading.get_ident()]
    places: Sequence[int] = call.addresses
    modes = MODES
    for name, value in chain(zip(repeat(""), call.args), call.kwargs.items()):
        if name:
            if name in scalars:
                continue
            key.append(name)
        mode = modes[type(value)]
        if mode == VALUE:
            key.append(value)
        elif mode == ARRAY:
            if problem is not None:
                key.append(device_of(call).workspace_size(value) if name == "workspace" else ARRAY)
            else:
                seen = None if name == "workspace" else _seen(call, value)
                if seen is None:
                    return None
                key.append(seen[0])
                places = (*places, *seen[1])
        elif mode == HANDLE:
            key.append(value.serial)
        elif mode == OPAQUE:
            key.append(_held(value))
        elif mode == LIST:
            key.append(_listed(value))
        elif name or not scalars:
            key.append(value)
    return tuple(key), places
