"""How arguments of graphs are read: whatever a program passes, a value of the right kind or a GraphError comes out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ...arguments import as_integer, as_items
from ...errors import BadParam, shown
from ..enums import GraphEnum
from ..rules import fail

MOST_WHOLE = 2**63 - 1


P = ParamSpec("P")
R = TypeVar("R")


def also_named(**others: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take keywords by other names as well: ``other="own"``."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def renamed(*args: P.args, **kwargs: P.kwargs) -> R:
            for other, own in others.items():
                if other in kwargs and own not in kwargs:
                    kwargs[own] = kwargs.pop(other)
            return function(*args, **kwargs)

        return renamed

    return decorate


def flag(value: Any, name: str) -> bool:
    """Return a bool, False for None."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise fail("PG-NODE-004", argument=name, expected="True or False", got=shown(value))
    return bool(value)


def truth(value: Any, name: str) -> bool:
    """Return whether a value is true to Python."""
    try:
        return bool(value)
    except Exception:  # an array; a user's __bool__ may raise anything
        raise fail("PG-NODE-004", argument=name, expected="True or False", got=shown(value)) from None


def is_array(value: Any, least: int = 0) -> bool:
    """Tell whether a value is an array of any library with that many dims at least, and no number of NumPy's."""
    try:
        return not isinstance(value, np.generic) and hasattr(value, "dtype") and len(tuple(value.shape)) >= least
    except Exception:  # a user's attributes may raise anything
        return False


def plain(value: Any) -> Any:
    """Return a real number of NumPy's as Python's, anything else as it is."""
    if isinstance(value, np.integer):
        return int(value)
    return float(value) if isinstance(value, np.floating) else value


def number(value: Any, name: str, id: str = "PG-NODE-004", expected: str = "a number") -> float:
    """Return a number, an int if it is one."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise fail(id, argument=name, expected=expected, got=shown(value))
    if isinstance(value, float):
        return float.__float__(value)
    found: int = int.__int__(value)
    if not -MOST_WHOLE - 1 <= found <= MOST_WHOLE:
        raise fail(id, argument=name, expected=f"{expected}; integers of 64 bits", got=shown(found))
    return found


def maybe_number(value: Any, name: str) -> float | None:
    """Return a number, or None where nothing was given."""
    return None if value is None else number(value, name)


def whole(value: Any, name: str, id: str = "PG-NODE-004", expected: str = "an integer", fix: str | None = None) -> int:
    """Return an integer of 64 bits."""
    try:
        found = as_integer(value, name, -MOST_WHOLE - 1)
    except BadParam:
        found = MOST_WHOLE + 1
    if found > MOST_WHOLE:
        raise fail(id, argument=name, expected=expected, got=shown(value), fix=fix)
    return found


def maybe_whole(value: Any, name: str) -> int | None:
    """Return an integer, or None where nothing was given."""
    return None if value is None else whole(value, name)


def listed(
    value: Any, name: str, id: str = "PG-NODE-004", expected: str = "a list", fix: str | None = None
) -> list[Any]:
    """Return the items of a sequence that has an end."""
    try:
        return list(as_items(value, name, expected))
    except BadParam as error:
        raise fail(id, argument=name, expected=error.expected, got=error.got, fix=fix) from None


def integers(
    value: Any, name: str, id: str = "PG-NODE-004", expected: str = "a list of integers", fix: str | None = None
) -> tuple[int, ...]:
    """Return integers of 64 bits."""
    return tuple(whole(one, name, id, expected, fix) for one in listed(value, name, id, expected, fix))


def text(value: Any, name: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise fail("PG-NODE-004", argument=name, expected="a string", got=shown(value))
    return str.__str__(value)


def pairs(value: Any, name: str, id: str, expected: str) -> dict[Any, Any]:
    """Return a mapping as a dict."""
    if type(value) is dict:
        return value
    try:
        if isinstance(value, Mapping):
            return dict(value)
    except Exception:  # a user's mapping may raise anything
        pass
    raise fail(id, argument=name, expected=expected, got=type(value).__name__)


def member_of(kind: type[GraphEnum]) -> Callable[[Any, str], Any]:
    """Return what reads a member of an enumeration, other than NOT_SET."""

    def parse(value: Any, name: str) -> GraphEnum:
        found = kind.parse(value, name)
        if found.name == "NOT_SET":
            choices = ", ".join(member for member in kind.__members__ if member != "NOT_SET")
            raise fail("PG-NODE-003", argument=name, expected=f"a {kind.__name__} ({choices})", got="NOT_SET")
        return found

    return parse
