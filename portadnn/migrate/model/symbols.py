"""Arithmetic on values of which not everything is known."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..values import UNKNOWN, Value, join, known, unknown

_LONGEST_KEY = 160
_LARGEST = 1 << 70
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_COMMUTES = frozenset({"+", "*", "&", "|", "^", "==", "!="})
ALGORITHM = re.compile(r"CUDNN_CONVOLUTION_\w+_ALGO_|miopenConvolution\w+Algo")
_FLOATS = ("float", "double", "half", "double?")  # the last as the program is built


def operate(sign: str, a: Value, b: Value) -> Value:
    """Return ``a sign b``: known where both are, else an unknown value that is the same for the same operands."""
    if "one of" in (a.kind, b.kind):
        if len(a.options) * len(b.options) <= 16:
            return join(operate(sign, x, y) for x in a.options for y in b.options)
        return with_origins(UNKNOWN, a, b)
    if a.kind == b.kind == "known":
        result = _compute(sign, a, b)
        if result is not None:
            return with_origins(result, a, b)
    if sign in ("==", "!="):
        equal = _equal(a, b)
        if equal is not None:
            return known(equal if sign == "==" else not equal, "bool")
    if sign in ("+", "-") and (neutral := _shifted(sign, a, b)) is not None:
        return neutral
    return with_origins(unknown(_key(sign, a, b), _type(a, b)), a, b)


def _equal(a: Value, b: Value) -> bool | None:
    if (a.is_null and exists(b)) or (b.is_null and exists(a)):
        return False
    if a.kind == b.kind == "pointer" and a.data == b.data:
        return True
    return True if a.kind == b.kind == "unknown" and a.data is not None and a.data == b.data else None


def _shifted(sign: str, a: Value, b: Value) -> Value | None:
    """Return a pointer or thing that nothing is added to."""
    if b.kind == "known" and b.data == 0 and a.kind in ("pointer", "thing", "unknown"):
        return a
    if sign == "+" and a.kind == "known" and a.data == 0 and b.kind in ("pointer", "thing", "unknown"):
        return b
    return None


def _compute(sign: str, a: Value, b: Value) -> Value | None:
    x, y = a.data, b.data
    if sign in COMPARISONS:
        if isinstance(x, str) != isinstance(y, str) or x is None or y is None:
            if sign in ("==", "!=") and (x is None or y is None) and not isinstance(x, str) and not isinstance(y, str):
                return known((not x and not y) == (sign == "=="), "bool")
            return None  # an enumerator and a number
        if isinstance(x, str) and sign not in ("==", "!="):
            return None
        return known(COMPARISONS[sign](x, y), "bool")
    if sign in ("&&", "||"):
        if isinstance(x, str) or isinstance(y, str):
            return None
        return known(bool(x) and bool(y) if sign == "&&" else bool(x) or bool(y), "bool")
    if not isinstance(x, int | float) or not isinstance(y, int | float):
        return None
    try:
        result = _number(sign, x, y)
    except (ArithmeticError, TypeError, ValueError):
        return None
    if result is None or (isinstance(result, float) and not math.isfinite(result)) or abs(result) > _LARGEST:
        return None
    return known(result, _type(a, b))


def _number(sign: str, x: Any, y: Any) -> Any:
    if sign in _ARITHMETIC:
        return _ARITHMETIC[sign](x, y)
    if sign == "/":
        if isinstance(x, int) and isinstance(y, int):
            return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return x / y
    if sign == "%":
        return math.fmod(x, y) if not (isinstance(x, int) and isinstance(y, int)) else int(math.fmod(x, y))
    if sign in ("<<", ">>") and isinstance(x, int) and isinstance(y, int) and 0 <= y <= 64:
        return x << y if sign == "<<" else x >> y
    return None


def _type(a: Value, b: Value) -> str:
    for type_ in ("double", "float", "size_t"):
        if type_ in (a.type, b.type):
            return type_
    return a.type or b.type


def key_of(value: Value) -> str | None:
    """Return a short text that stands for a value; None for what is not known at all."""
    if value.kind == "known":
        return "NULL" if value.data is None else str(value.data)
    if value.kind in ("unknown", "thing"):
        return None if value.data is None else str(value.data)
    if value.kind == "pointer":
        return f"&{value.data}"
    parts = [key_of(part) for part in value.data]
    if None in parts:
        return None
    brackets = "{}" if value.kind == "items" else "<>"
    return brackets[0] + ",".join(part for part in parts if part is not None) + brackets[1]


def combine(name: str, parts: Iterable[Value]) -> str | None:
    """Return the key of what a function without effects gives for some values."""
    keys = [key_of(part) for part in parts]
    if None in keys:
        return None
    text = f"{name}({','.join(key for key in keys if key is not None)})"
    return text if len(text) <= _LONGEST_KEY else None


def _key(sign: str, a: Value, b: Value) -> str | None:
    keys = (key_of(a), key_of(b))
    if keys[0] is None or keys[1] is None or len(keys[0]) + len(keys[1]) > _LONGEST_KEY:
        return None
    first, second = sorted((keys[0], keys[1])) if sign in _COMMUTES else (keys[0], keys[1])
    return f"({first}{sign}{second})"


def with_origins(value: Value, *sources: Value) -> Value:
    """Return a value that came from others: with their origins."""
    for source in sources:
        for number in source.origins:
            value = value.from_call(number)
    return value


def exists(value: Value) -> bool:
    """Whether a pointer or a thing is certainly not NULL: an address, or what was made before one's eyes."""
    return value.kind == "pointer" or (value.kind == "thing" and "@" in value.data)


def negate(value: Value) -> Value:
    """Return ``!value``."""
    if value.kind == "known" and not isinstance(value.data, str):
        return known(not value.data, "bool")
    if exists(value):
        return known(False, "bool")
    return unknown(combine("!", (value,)), "bool", value.origins)


def truth(value: Value) -> bool | None:
    """Tell whether a condition holds; None where that is not known."""
    if value.kind == "known":
        return None if isinstance(value.data, str) else bool(value.data)
    if exists(value) or value.kind == "items":
        return True
    if value.kind == "one of":
        said = {truth(option) for option in value.options}
        return said.pop() if len(said) == 1 else None
    return None


def converted(value: Value, type_: str) -> Value:
    """Return a value after conversion to an arithmetic type; others only get its name."""
    if value.kind == "one of":
        return join(converted(option, type_) for option in value.options)
    if value.kind == "known" and isinstance(value.data, int | float):
        if type_ in _FLOATS:
            return Value("known", float(value.data), type_, value.origins)
        if type_ == "bool":
            return Value("known", bool(value.data), type_, value.origins)
        if isinstance(value.data, float) and is_integer(type_):
            return Value("known", int(value.data), type_, value.origins)
        if isinstance(value.data, bool) and is_integer(type_):
            return Value("known", int(value.data), type_, value.origins)
    if value.kind == "unknown" and value.type == "bool" and type_ in _FLOATS:
        return join(Value("known", number, type_, value.origins) for number in (0.0, 1.0))
    return value.typed(type_) if value.kind in ("known", "unknown") and type_ else value


def in_place_of(values: Sequence[Value], searches: range) -> list[Value]:
    """Return values of several branches: an algorithm that one fixes says which search of another it stands for."""
    found = [number for value in values for number in value.origins if number in searches]
    if not found:
        return list(values)
    return [replace(value, origins=(-found[0],)) if _is_algorithm(value) else value for value in values]


def _is_algorithm(value: Value) -> bool:
    return value.kind == "known" and isinstance(value.data, str) and ALGORITHM.match(value.data) is not None


_SIZES = {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_INTEGERS = frozenset({"int", "unsigned", "signed", "long", "short", "char", "size_t", "ssize_t", "ptrdiff_t", *_SIZES})


def is_integer(type_: str) -> bool:
    """Whether a type's words are those of an integer."""
    return bool(type_) and all(word in _INTEGERS for word in type_.split())
