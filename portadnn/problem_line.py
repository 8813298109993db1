"""Values of Problems as text: the words of problem lines."""

from __future__ import annotations

import functools
import types
import typing
from dataclasses import fields
from typing import Any

from .enums import DataType, DnnEnum
from .errors import BadParam, shown
from .specs import FLOAT_TYPES, MAX_WORD, TensorSpec

_COMPUTED = (*FLOAT_TYPES, DataType.INT32)  # what descriptors take for the type of a computation


def print_value(value: Any) -> str:
    """Return a field's value as problem lines show it."""
    if isinstance(value, DataType):
        return value.code
    if isinstance(value, DnnEnum):
        return value.name.lower()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return repr(value) if isinstance(value, float) else str(value)


def parse_value(kind: Any, text: str, name: str) -> Any:
    """Read a value of a field of type `kind` back; errors name the field."""
    if isinstance(kind, types.UnionType):  # with None, which is not printed
        kind = next(option for option in kind.__args__ if option is not type(None))
    if kind is TensorSpec:
        return TensorSpec.parse(text, name)
    if kind is DataType:
        dtype = DataType.of_code(text)
        if dtype not in _COMPUTED:
            raise BadParam(
                argument=name, expected=f"one of {', '.join(member.code for member in _COMPUTED)}", got=shown(text)
            )
        return dtype
    if isinstance(kind, type) and issubclass(kind, DnnEnum):
        return kind.parse(text, name)
    if kind is bool:
        if text not in ("yes", "no"):
            raise BadParam(argument=name, expected="yes or no", got=shown(text[:60]))
        return text == "yes"
    try:
        if len(text) > MAX_WORD:
            raise ValueError
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
        return tuple(int(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise BadParam(argument=name, expected="numbers", got=shown(text[:60])) from None


@functools.cache
def field_types(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields by name."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
