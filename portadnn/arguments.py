"""Checks of plain arguments: integers, numbers and sequences of these, as Python or NumPy has them."""

from __future__ import annotations

import itertools
import math
from operator import index
from typing import Any

import numpy as np

from .errors import BadParam, DnnError, shown

_MOST_VALUES = 1 << 20  # of a sequence: the steps of an RNN, at most


def as_integer(value: Any, argument: str, least: float = -math.inf, expected: str = "an integer") -> int:
    """Return an integer of Python's or NumPy's, of at most 64 bits, as Python's."""
    try:
        number = None if isinstance(value, (bool, np.bool_)) else int.__index__(index(value))
    except Exception:  # a user's __index__ may raise anything
        number = None
    if number is None:
        raise BadParam(argument=argument, expected=expected, got=shown(value))
    if number < least:
        raise BadParam(argument=argument, expected=f"an integer >= {least}", got=shown(number))
    if number >= 2**64:
        raise BadParam(argument=argument, expected="an integer of 64 bits", got=shown(number))
    return number


def as_real(value: Any, argument: str, expected: str = "a number") -> float:
    """Return a number of Python's or NumPy's, which float64 has to hold, as a float."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise BadParam(argument=argument, expected=expected, got=shown(value))
    try:
        number = float(value)
        beyond = math.isinf(number) and bool(value != number)  # too large for float64: a long double
    except OverflowError:
        beyond = True
    except Exception:  # a user's subclass may raise anything
        raise BadParam(argument=argument, expected=expected, got=shown(value)) from None
    if beyond:
        raise BadParam(argument=argument, expected=f"{expected} that float64 can hold", got=shown(value))
    return number


def as_items(values: Any, argument: str, expected: str) -> tuple[Any, ...]:
    """Return the items of a sequence, which is not endless."""
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        items = tuple(itertools.islice(values, _MOST_VALUES + 1))
    except DnnError:  # of a generator that makes problems of lines
        raise
    except Exception:  # a user's __iter__ may raise anything
        raise BadParam(argument=argument, expected=expected, got=shown(values)) from None
    if len(items) > _MOST_VALUES:
        raise BadParam(argument=argument, expected=f"{expected}, at most {_MOST_VALUES}", got="more")
    return items


def as_integers(values: Any, argument: str, least: int, count: int | None = None) -> tuple[int, ...]:
    """Return the integers of a sequence."""
    numbers = as_items(values, argument, "a sequence of integers")
    if count is not None and len(numbers) != count:
        raise BadParam(argument=argument, expected=f"{count} integers", got=shown(numbers))
    return tuple(as_integer(v, f"{argument}[{i}]", least) for i, v in enumerate(numbers))
