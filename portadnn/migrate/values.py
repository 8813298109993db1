"""What is known of a value: of an argument, a variable, a descriptor's field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["known", "items", "thing", "pointer", "unknown", "one of"]


@dataclass(frozen=True)
class Value:
    """What is known of a value. Equal values are the same value, but for unknown ones without a key.

    Attributes
    ----------
    kind : str
        ``"known"``: `data` is an int, float, bool, a str (an enumerator by its name, or a string), or None for NULL.
        ``"items"``: `data` is a tuple of Values, those of an array or of braces.
        ``"thing"``: `data` is the id of a thing of the model: a descriptor, a handle, memory.
        ``"pointer"``: `data` is the path of the variable that it points to.
        ``"unknown"``: `data` is a key; two unknown values with the same key are equal. None: equal to nothing.
        ``"one of"``: `data` is a tuple of Values; which of them is not known (branches, loops).
    type : str
        The C type, where it was read, such as ``"double"``; "" otherwise.
    origins : tuple of int
        The calls that it came from, by ``Event.number``: the size that a query returned, the algorithm that Find chose,
        also after arithmetic, copies and through memory that was allocated with that size. A negative number: what a
        branch sets in place of what that call gives in another.
    """

    kind: Kind
    data: Any = None
    type: str = ""
    origins: tuple[int, ...] = ()

    @property
    def is_null(self) -> bool:
        """Whether it is certainly NULL."""
        return self.kind == "known" and (self.data is None or (self.data == 0 and isinstance(self.data, int)))

    @property
    def options(self) -> tuple[Value, ...]:
        """The values that it may be, as far as they were enumerated: itself where it is not one of several."""
        return self.data if self.kind == "one of" else (self,)

    def typed(self, type_: str) -> Value:
        """Return the value with another C type."""
        return self if type_ == self.type else replace(self, type=type_)

    def from_call(self, number: int) -> Value:
        """Return the value with one more origin."""
        return self if number in self.origins else replace(self, origins=(*self.origins, number))


UNKNOWN = Value("unknown")
POSSIBLY = Value("unknown", "possibly")  # beside what something was set to in another object
NULL = Value("known", None)


def known(data: Any, type_: str = "") -> Value:
    """Return a known value."""
    return Value("known", data, type_)


def unknown(key: str | None, type_: str = "", origins: Iterable[int] = ()) -> Value:
    """Return a value of which only is known that it is the same wherever it has this key."""
    return Value("unknown", key, type_, tuple(origins))


def items(values: Iterable[Value], type_: str = "") -> Value:
    """Return an array of values."""
    return Value("items", tuple(values), type_)


def thing(name: str, type_: str = "") -> Value:
    """Return a reference to a thing of the model."""
    return Value("thing", name, type_)


def pointer(path: str, type_: str = "") -> Value:
    """Return the address of a variable."""
    return Value("pointer", path, type_)


_MANY = 32  # more options than that say nothing: enumerations have fewer


def join(values: Iterable[Value]) -> Value:
    """Return what is known where paths meet on which a variable has these values."""
    options: dict[Value, None] = {}
    for value in values:
        for option in value.options:
            options[option] = None
    found = list(options)
    if len(found) == 1:
        return found[0]
    origins = tuple(dict.fromkeys(number for option in found for number in option.origins))
    types = {option.type for option in found}
    type_ = types.pop() if len(types) == 1 else ""
    if not found or len(found) > _MANY:
        return Value("unknown", None, type_, origins)
    return Value("one of", tuple(found), type_, origins)


def same(a: Value, b: Value) -> bool | None:
    """Tell whether two values are equal; None where that is not known."""
    if "one of" in (a.kind, b.kind):
        said = {same(x, y) for x in a.options for y in b.options}
        return said.pop() if len(said) == 1 else None
    if a.is_null and b.is_null:
        return True
    if a.kind == b.kind == "items":
        if len(a.data) != len(b.data):
            return False
        said = {same(x, y) for x, y in zip(a.data, b.data, strict=True)}
        return False if False in said else None if None in said else True
    if a.kind == b.kind:
        if a.kind == "unknown":
            return True if a.data is not None and a.data == b.data else None
        if a.kind == "thing":
            return True if a.data == b.data else None  # two names may stand for one thing
        return bool(a.data == b.data)
    if "unknown" in (a.kind, b.kind):
        return None
    return False if a.is_null or b.is_null else None


def constants(value: Value) -> Iterator[Any]:
    """Yield the constants that a value may be; nothing of what is not known."""
    for option in value.options:
        if option.kind == "known":
            yield option.data
