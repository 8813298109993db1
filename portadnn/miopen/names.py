"""What the functions with MIOpen's names share: the frame, statuses, and the reading of arguments."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, TypeVar

from ..arguments import as_integer, as_integers, as_real
from ..c_names.enumerations import CEnum
from ..c_names.objects import integers as c_integers
from ..dispatch.call_cache import cached_call
from ..enums import DnnEnum, named
from ..errors import AllocFailed, BadParam, DnnError, InternalError, NotInitialized, NotSupported, foreign, shown
from ..handle import Handle
from .generated.enums import miopenStatus_t

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=CEnum)
U = TypeVar("U", bound=DnnEnum)

_STATUSES = (  # the first that fits
    (BadParam, miopenStatus_t.miopenStatusBadParm),
    (NotSupported, miopenStatus_t.miopenStatusNotImplemented),
    (AllocFailed, miopenStatus_t.miopenStatusAllocFailed),
    (NotInitialized, miopenStatus_t.miopenStatusNotInitialized),
    (InternalError, miopenStatus_t.miopenStatusInternalError),
    (DnnError, miopenStatus_t.miopenStatusUnknownError),
)


def function(target: Callable[P, R]) -> Callable[P, R]:
    """Make a function of MIOpen's: watched under its name, which errors carry, with MIOpen's status."""
    target.__module__ = "portadnn.miopen"

    @functools.wraps(target)
    def translated(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return target(*args, **kwargs)
        except DnnError as error:
            _translate(error)
            raise

    return cached_call(target, foreign("miopen")(translated), Handle, _translate)


def _translate(error: DnnError) -> None:
    """Give an error MIOpen's status."""
    if not isinstance(error.status, miopenStatus_t):
        error.status = status_of(error)


def status_of(error: DnnError) -> miopenStatus_t:
    """Return MIOpen's status for an error of portadnn's."""
    return next(status for kind, status in _STATUSES if isinstance(error, kind))


def refuse(
    message: str = "",
    *,
    argument: str,
    expected: str,
    got: Any,
    status: miopenStatus_t = miopenStatus_t.miopenStatusUnknownError,
) -> NoReturn:
    """Refuse what MIOpen refuses, with the status that it returns."""
    error = NotSupported(message, argument=argument, expected=expected, got=got)
    error.status = status
    raise error


def one_and_zero(alpha: Any, beta: Any, **status: miopenStatus_t) -> None:
    """Demand alpha = 1 and beta = 0, where MIOpen does."""
    for argument, value, wanted in (("alpha", alpha, 1), ("beta", beta, 0)):
        if not equals(value, wanted):
            message = "MIOpen supports alpha=1 and beta=0 only"
            refuse(message, argument=argument, expected=str(wanted), got=shown(value), **status)


def equals(value: Any, wanted: int) -> bool:
    """Tell whether a value of any type is that number."""
    try:
        return bool(value == wanted)
    except Exception:  # arrays; a user's __eq__ may raise anything
        return False


def parse(kind: type[E], value: Any, argument: str) -> E:
    """Return the member that a member or its number stands for; another enumeration's members are refused."""
    if isinstance(value, kind):
        return value
    if type(value) is int:
        found = kind._value2member_map_.get(value)
        if found is not None:
            return found  # type: ignore[return-value]
    names = ", ".join(f"{member.name}={member.value}" for member in kind)
    raise BadParam(argument=argument, expected=f"a {kind.__name__} ({names})", got=named(value))


def unified(mapping: dict[E, U], value: E, argument: str, hint: str = "") -> U:
    """Return portadnn's member for MIOpen's.

    Raises
    ------
    NotSupported
        portadnn has none; the message names those that it has.
    """
    found = mapping.get(value)
    if found is None:
        names = ", ".join(member.name for member in mapping)
        raise NotSupported(hint, argument=argument, expected=f"one of {names}", got=value.name)
    return found


def boolean(value: Any, argument: str) -> bool:
    """Demand C's bool: True, False, 0 or 1."""
    if isinstance(value, int) and int.__index__(value) in (0, 1):
        return bool(int.__index__(value))
    raise BadParam(argument=argument, expected="True or False", got=shown(value))


def integer(value: Any, argument: str, least: int = 0) -> int:
    """Demand an integer that is not too small."""
    return as_integer(value, argument, least)


def integers(values: Any, argument: str, least: int = 0, count: int | None = None) -> tuple[int, ...]:
    """Demand C's array: at least `count` integers, of which the first `count` are taken."""
    if count is None:
        return as_integers(values, argument, least)
    return c_integers(values, count, argument, least=least)


def number(value: Any, argument: str) -> float:
    """Demand a finite number."""
    found = as_real(value, argument)
    if not math.isfinite(found):
        raise BadParam(argument=argument, expected="a finite number", got=found)
    return found
