"""From integers to what portadnn's functions take: one plan for the parameters of each function."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..c_names.objects import Layout
from ..enums import DataType
from ..errors import BadParam
from .memory import as_number, at, host_integers
from .objects import object_of
from .signatures import Parameter

_NUMBERS = {DataType.DOUBLE: np.float64, DataType.HALF: np.float16, DataType.INT32: np.int32}


def converted(parameters: Sequence[Parameter], given: Sequence[Any]) -> list[Any]:
    """Return a call's arguments as the C function of portadnn takes them."""
    numbers: list[Any] = [
        float(value) if parameter.mark == "%" else as_number(value)
        for parameter, value in zip(parameters, given, strict=True)
    ]
    by_name = dict(zip((p.name for p in parameters), numbers, strict=True))
    values = [_described(p, n, by_name) for p, n in zip(parameters, numbers, strict=True)]
    tensor = next((value for value in values if isinstance(value, Layout) and value.value is not None), None)
    for place, parameter in enumerate(parameters):
        if parameter.mark == "*":
            dtype = DataType(by_name.get("dataType", 0)) if tensor is None else tensor.spec.dtype
            values[place] = _scalar(numbers[place], dtype, parameter.name)
        elif parameter.mark == "@":
            empty = place > 0 and parameters[place - 1].is_descriptor and values[place - 1] is None
            values[place] = None if empty else at(numbers[place])
    return values


def _described(parameter: Parameter, number: Any, by_name: dict[str, Any]) -> Any:
    """Return the value of a parameter that is no memory."""
    if parameter.is_descriptor and parameter.counted_by:
        found = host_integers(number, by_name[parameter.counted_by], ctypes.c_size_t)
        return [object_of(each, parameter.name) for each in found]
    if parameter.is_descriptor or parameter.name == "handle":
        return object_of(number, parameter.name)
    if parameter.counted_by:
        return host_integers(number, by_name[parameter.counted_by])
    return int(DataType.FLOAT) if parameter.mark == "^" and number == DataType.HALF else number


def _scalar(place: int, dtype: DataType, name: str) -> float | int | None:
    """Return the number at an address: alpha and beta are double for double tensors and float for others.

    `valuePtr` and `paddingFill` are of the tensor's own type, and the latter may be NULL.
    """
    if place == 0 and name == "paddingFill":
        return None
    if place == 0:
        raise BadParam(argument=name, expected="the address of a number", got="NULL")
    own = dtype is DataType.DOUBLE or name in ("valuePtr", "paddingFill")
    kind = np.dtype(_NUMBERS.get(dtype, np.float32) if own else np.float32)
    memory: Any = (ctypes.c_ubyte * kind.itemsize).from_address(place)
    return np.frombuffer(memory, kind)[0].item()  # type: ignore[no-any-return]
