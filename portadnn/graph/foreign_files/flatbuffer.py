"""FlatBuffers by a schema that is data: a reader that trusts nothing, and a writer on the package ``flatbuffers``.

Tables are dicts by field; a union is its member's name and content. https://flatbuffers.dev/internals has the format.
"""

from __future__ import annotations

import importlib
import struct
from typing import Any

from ..rules import fail
from .hipdnn_schema import MEMBERS, TABLES, UNIONS, VALUES, Field
from .nodes import shortest

_CODES = {"bool": "?", "ubyte": "B", "byte": "b", "int": "i", "uint": "I", "long": "q", "float": "f", "double": "d"}
_PREPEND = {"bool": "Bool", "ubyte": "Uint8", "byte": "Int8", "int": "Int32", "long": "Int64", "float": "Float32"}
_PREPEND |= {"double": "Float64"}
_REPEATS = 8  # a buffer's parts may be shared, so that they are read this often on average, at most


class Malformed(ValueError):
    """A buffer whose parts do not lie where they must."""


def _code(type: str) -> str:
    """Return how a number or a member of an enumeration is stored."""
    return "b" if type in MEMBERS else _CODES[type]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.left = _REPEATS * len(data) + 64  # bytes that may still be read

    def take(self, code: str, at: int, count: int = 1) -> tuple[Any, ...]:
        """Return numbers that lie one after another."""
        size = count * struct.calcsize(f"<{code}")
        if at < 0 or at + size > len(self.data):
            raise Malformed(f"bytes {at} to {at + size}, of {len(self.data)}")
        self.left -= size
        if self.left < 0:
            raise Malformed("the same parts are read over and over")
        return struct.unpack_from(f"<{count}{code}", self.data, at)

    def target(self, at: int) -> int:
        """Return where an offset leads to."""
        (offset,) = self.take("I", at)
        if offset == 0:
            raise Malformed(f"an offset of 0 at byte {at}")
        return at + int(offset)

    def table(self, name: str, at: int) -> dict[str, Any]:
        """Return a table's fields; those that are not there have their defaults."""
        (back,) = self.take("i", at)
        vtable = at - back
        (size,) = self.take("H", vtable)
        if size < 4 or size % 2:
            raise Malformed(f"a vtable of {size} bytes at byte {vtable}")
        entries = self.take("H", vtable + 4, (size - 4) // 2)
        return {field.name: self.field(field, at, entries) for field in TABLES[name] if field.type != "struct"}

    def field(self, field: Field, at: int, entries: tuple[int, ...]) -> Any:
        """Return a field's value, or its default."""
        entry, *more = (*entries[field.slot : field.slot + 2], 0, 0)[:2]
        if field.is_union:
            return self.union(field, at, entry, more[0])
        if not entry:
            return field.default
        place = at + entry
        if field.type == "string":
            return self.string(place)
        if field.type[0] == "[":
            return self.vector(field.type[1:-1], place)
        return self.number(field.type, place)

    def number(self, type: str, at: int) -> Any:
        """Return a number, or the name of an enumeration's member."""
        (value,) = self.take(_code(type), at)
        if type not in MEMBERS:
            return shortest(value) if type == "float" else value
        if not 0 <= value < len(MEMBERS[type]):
            raise Malformed(f"{type} {value}, which is none of {', '.join(MEMBERS[type])}")
        return MEMBERS[type][value]

    def string(self, at: int) -> str:
        """Return a string."""
        place = self.target(at)
        (count,) = self.take("I", place)
        (found,) = self.take("s", place + 4, count)
        return str(found.decode())

    def vector(self, type: str, at: int) -> list[Any]:
        """Return a vector of numbers or tables."""
        place = self.target(at)
        (count,) = self.take("I", place)
        if type in TABLES:
            places = [place + 4 + 4 * i + offset for i, offset in enumerate(self.take("I", place + 4, count))]
            return [self.table(type, one) for one in places]
        return list(self.take(_code(type), place + 4, count))

    def union(self, field: Field, at: int, kind: int, content: int) -> tuple[str, Any] | None:
        """Return a union's member and content."""
        number = self.take("B", at + kind)[0] if kind else 0
        if number == 0:
            return None
        if number >= len(UNIONS[field.type]):
            return f"{field.type} {number}", {}  # of a later version
        if not content:
            raise Malformed(f"a {field.type} without content at byte {at}")
        member, place = UNIONS[field.type][number], self.target(at + content)
        return member, self.number(VALUES[member], place) if member in VALUES else self.table(member, place)


def read(data: bytes, root: str) -> dict[str, Any]:
    """Return the table that a buffer holds.

    Raises
    ------
    Malformed, UnicodeDecodeError
        Something does not lie where it must.
    """
    reader = _Reader(data)
    return reader.table(root, reader.target(0))


def write(root: str, record: dict[str, Any]) -> bytes:
    """Return a table as a buffer.

    Raises
    ------
    cudnnGraphNotSupportedError
        The package ``flatbuffers`` is not installed (PG-FILE-005).
    """
    try:
        builder = importlib.import_module("flatbuffers").Builder(1024)
    except ImportError as error:
        fix = 'pip install "portadnn[hipdnn]", or write hipDNN\'s JSON, which needs nothing'
        raise fail("PG-FILE-005", argument="format", expected="flatbuffers", got=str(error), fix=fix) from None
    builder.Finish(_written(builder, root, record))
    return bytes(builder.Output())


def _written(builder: Any, name: str, record: dict[str, Any]) -> int:
    """Write a table, and what it refers to before it; return its place."""
    fields = [field for field in TABLES[name] if record.get(field.name, field.default) != field.default]
    places = {field.slot: _part(builder, field, record[field.name]) for field in fields if _is_apart(field)}
    last = TABLES[name][-1]
    builder.StartObject(last.slot + (2 if last.is_union else 1))
    for field in fields:
        value, slot = record[field.name], field.slot
        if field.is_union:
            builder.PrependUint8(UNIONS[field.type].index(value[0]))
            builder.Slot(slot)
            slot += 1
        if field.slot in places:
            builder.PrependUOffsetTRelative(places[field.slot])
        else:
            _prepend(builder, field.type, value)
        builder.Slot(slot)
    return int(builder.EndObject())


def _is_apart(field: Field) -> bool:
    """Tell whether a table holds an offset to the field."""
    return field.is_union or field.type == "string" or field.type[0] == "["


def _part(builder: Any, field: Field, value: Any) -> int:
    """Write what lies outside of its table; return its place."""
    if field.type == "string":
        return int(builder.CreateString(value))
    if field.is_union:
        member, content = value
        if member not in VALUES:
            return _written(builder, member, content)
        builder.Prep(struct.calcsize(_CODES[VALUES[member]]), 0)
        _prepend(builder, VALUES[member], content)
        return int(builder.Offset())
    type = field.type[1:-1]
    places = [_written(builder, type, one) for one in value] if type in TABLES else value
    size = 4 if type in TABLES else struct.calcsize(_code(type))
    builder.StartVector(size, len(value), size)
    for one in reversed(places):
        builder.PrependUOffsetTRelative(one) if type in TABLES else _prepend(builder, type, one)
    return int(builder.EndVector())


def _prepend(builder: Any, type: str, value: Any) -> None:
    if type in MEMBERS:
        type, value = "byte", MEMBERS[type].index(value)
    getattr(builder, f"Prepend{_PREPEND[type]}")(value)
