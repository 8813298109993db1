"""What cuDNN's functions are made with: their frame, and the choices of their enumerations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from ..c_names.enumerations import CEnum
from ..dispatch.call_cache import cached_call
from ..enums import DnnEnum, named, plain_number
from ..errors import BadParam, NotSupported, foreign
from ..handle import Handle
from .enumerations import enumeration

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=DnnEnum)

_mark = foreign("cudnn")


def c_function(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as cuDNN's: it is watched under its C name, and errors carry that."""
    function.__module__ = "portadnn.cudnn"
    return cached_call(function, _mark(function), Handle)


class Choice(Generic[E]):
    """The values of an enumeration of C that portadnn has, by number.

    Parameters
    ----------
    c_name
        The enumeration's name in C.
    members
        portadnn's enumeration, whose numbers are cuDNN's.
    also
        Further numbers and what they are taken for.
    nearest
        What to use in place of the values that portadnn lacks.
    """

    def __init__(self, c_name: str, members: type[E], also: dict[int, E] | None = None, nearest: str = "") -> None:
        self.c_name = c_name
        self._class = members
        self._nearest = nearest
        self._members: dict[int, E] = {**{int(member): member for member in members}, **(also or {})}

    def __call__(self, value: Any, argument: str) -> E:
        """Return portadnn's member for a number or a member.

        Raises
        ------
        BadParam
            The enumeration of C has no such value, or `value` belongs to another one.
        NotSupported
            It has, but portadnn has not.
        """
        kind = type(value)
        if kind is int or kind is self._class or kind.__name__ == self.c_name:
            member = self._members.get(value)
            if member is not None:
                return member
        return self._sought(value, argument)

    def _sought(self, value: Any, argument: str) -> E:
        values = enumeration(self.c_name).__members__
        number = plain_number(value, self.c_name)
        if number in self._members:
            return self._members[number]
        name = next((name for name, known in values.items() if known == number), None)
        if name is None:
            raise BadParam(argument=argument, expected=f"a {self.c_name} ({', '.join(values)})", got=named(value))
        offered = ", ".join(name for name, known in values.items() if known in self._members)
        raise NotSupported(
            argument=argument, expected=f"one of {offered}{f'; {self._nearest}' if self._nearest else ''}", got=name
        )

    def c(self, member: Any) -> CEnum:
        """Return the member of the enumeration of C with the same number."""
        return enumeration(self.c_name)(int(member))


def c_value(c_name: str, value: Any, argument: str) -> CEnum:
    """Return the member of an enumeration of C that portadnn does not have.

    Raises
    ------
    BadParam
        There is no such value.
    """
    kind = enumeration(c_name)
    if isinstance(value, kind):
        return value
    number = plain_number(value, c_name)
    if number is not None and number in kind._value2member_map_:
        return kind(number)
    names = ", ".join(kind.__members__)
    raise BadParam(argument=argument, expected=f"a {c_name} ({names})", got=named(value))
