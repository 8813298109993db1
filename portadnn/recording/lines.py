"""The lines of a recording, checked field by field: whoever wrote the file, what is read has the schema's types."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from typing import Any

from .._io.outside import Fields
from ..enums import DataType
from ..errors import BadParam
from ..problem import MAX_SPAN, TensorSpec
from .writer import SCHEMA_VERSION

LONGEST = 16 << 20  # characters of a line: a form has some thousands, a graph of a large network some hundred thousands
MOST_DIMS = 64
_LARGEST = 2**63 - 1
_LATEST = 1e9  # seconds of a recording
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def number_of(value: Any) -> float:
    """Return a number from JSON, where not all can stand as themselves.

    Raises
    ------
    ValueError, TypeError, OverflowError
        It is none.
    """
    return _FLOATS[value["float"]] if isinstance(value, Mapping) else float(value)


def numbers(facts: Fields, name: str) -> list[float]:
    """Return a field's list of numbers; none where there is no such field."""
    found = facts.take(name, list, "a list of numbers", [])
    try:
        if any(isinstance(value, (bool, str)) for value in found):
            raise TypeError
        return [number_of(value) for value in found]
    except (KeyError, TypeError, ValueError, OverflowError):
        facts.refuse(name, "a list of numbers", found)


def addresses(facts: Fields, name: str = "at") -> tuple[int, ...]:
    """Return a field's list of addresses; none where there is no such field."""
    return facts.integers(name, most=_LARGEST, length=1 << 20) if name in facts else ()


def check_header(head: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return a recording's first line.

    Raises
    ------
    BadParam
        It is none, or of a newer version.
    """
    version = head.get("portadnn_recording")
    if isinstance(version, bool) or not isinstance(version, int):
        raise BadParam(
            argument=path, expected="a recording, whose first line has portadnn_recording", got="another file"
        )
    if version > SCHEMA_VERSION:
        made = str(head.get("portadnn", "unknown"))[:40]
        raise BadParam(
            f"a newer portadnn ({made}) made this recording; please update",
            argument=path,
            expected=f"version {SCHEMA_VERSION} or less",
            got=str(version)[:40],
        )
    facts = Fields(dict(head), f"{path}:1")
    started = facts.text("started", "1970-01-01T00:00:00+00:00")
    try:
        datetime.datetime.fromisoformat(started)
    except ValueError:
        facts.refuse("started", "a date and a time", started)
    return {**head, "started": started, "process": facts.integer("process", default=0)}


def check_handle(facts: Fields) -> int:
    """Return the number of a handle's line."""
    for name in facts.values.keys() - {"handle"}:
        facts.text(name)
    for name in ("backend", "device"):
        facts.text(name)
    return facts.integer("handle")


def check_form(facts: Fields, graphs: Mapping[int, Any]) -> int:
    """Return the number of a form, all of whose fields have the right types."""
    for name in ("library", "function"):
        facts.text(name)
    site = facts.take("site", list, "[file, line]")
    if len(site) != 2 or not isinstance(site[0], str) or type(site[1]) is not int or not 0 <= site[1] <= _LARGEST:
        facts.refuse("site", "[file, line]", site)
    facts.integer("thread")
    if facts.values.get("handle", ...) is not None:
        facts.integer("handle")
    for name in ("problem", "inside", "module", "why_not"):
        facts.text(name, None)
    tensors = facts.mapping("tensors", {})
    for name, spec in tensors.items():
        check_spec(Fields(spec, f"{facts.place}: tensors: {name}"))
    scalars = facts.take("scalars", list, "a list of names", [])
    if not all(isinstance(name, str) for name in scalars):
        facts.refuse("scalars", "a list of names", scalars)
    for name, value in facts.mapping("arguments").items():
        place = f"{facts.place}: arguments: {name}"
        check_value(value, place)
        if isinstance(value, dict) and "problem" not in facts:
            if "of" in value and value["of"] not in tensors:
                raise BadParam(argument=place, expected="one of the form's tensors", got=value["of"])
            if "scalar" in value:
                raise BadParam(argument=place, expected="a problem, which has scalars", got="none")
    if "graph" in facts and facts.integer("graph") not in graphs:
        facts.refuse("graph", "the number of a graph above", facts.values["graph"])
    return facts.integer("form")


def check_spec(facts: Fields) -> None:
    """Check a recorded tensor: its bytes are those of its type, shape and strides, so that they can be relied upon."""
    known = {dtype.type_name: dtype for dtype in DataType}
    dtype = known.get(facts.text("dtype"))
    facts.integer("at", most=_LARGEST, default=None)
    for name in ("format",):
        facts.text(name, None)
    size = facts.integer("bytes", most=_LARGEST, default=0)
    if dtype is None or "strides" not in facts:
        _any_integers(facts, "shape")
        _any_integers(facts, "byte_strides")
        return
    shape, strides = (facts.integers(name, most=MAX_SPAN, length=MOST_DIMS) for name in ("shape", "strides"))
    if len(shape) != len(strides):
        facts.refuse("strides", f"{len(shape)} strides, as there are dims", strides)
    due = TensorSpec(dtype, shape, strides).span * dtype.itemsize
    if "bytes" in facts and size != due:
        facts.refuse("bytes", f"{due}, as shape and strides say", size)


def _any_integers(facts: Fields, name: str) -> None:
    """Check a list of whatever integers a wrong call had."""
    if name in facts:
        facts.integers(name, least=-_LARGEST, length=1 << 16)


def check_value(value: Any, place: str) -> None:
    """Check an argument or a result, as docs/recordings.md lists them.

    Raises
    ------
    BadParam
        It is none of them; the place names the field.
    """
    if isinstance(value, list):
        for number, item in enumerate(value):
            check_value(item, f"{place}[{number}]")
    elif isinstance(value, dict):
        facts, tag = Fields(value, place), next(iter(value), "")
        if tag not in _TAGS:
            raise BadParam(argument=place, expected=f"one of {', '.join(_TAGS)}", got=tag[:60] or "an empty object")
        _TAGS[tag](facts)


def _float(facts: Fields) -> None:
    if facts.text("float") not in _FLOATS:
        facts.refuse("float", "nan, inf or -inf", facts.values["float"])


def _host(facts: Fields) -> None:
    inner = Fields(facts.mapping("host"), f"{facts.place}: host")
    inner.text("dtype")
    inner.integers("shape", most=MAX_SPAN, length=MOST_DIMS)


def _descriptor(facts: Fields) -> None:
    facts.text("descriptor")
    for name, value in facts.mapping("values").items():
        if name in ("shape", "strides", "bytes", "byte_strides") or not isinstance(value, dict):
            _plain(value, f"{facts.place}: values: {name}")
        else:
            check_value(value, f"{facts.place}: values: {name}")


def _plain(value: Any, place: str) -> None:
    if isinstance(value, list):
        check_value(value, place)


def _enum(facts: Fields) -> None:
    facts.text("enum"), facts.text("name")


def _handle(facts: Fields) -> None:
    if facts.values["handle"] is not None:
        facts.integer("handle")


_TAGS: dict[str, Callable[[Fields], object]] = {
    "of": lambda facts: facts.text("of"),
    "scalar": lambda facts: facts.text("scalar"),
    "tensor": lambda facts: check_spec(Fields(facts.mapping("tensor"), f"{facts.place}: tensor")),
    "handle": _handle,
    "workspace": lambda facts: facts.integer("workspace", most=_LARGEST),
    "descriptor": _descriptor,
    "enum": _enum,
    "host": _host,
    "dtype": lambda facts: facts.text("dtype"),
    "spec": lambda facts: facts.text("spec"),
    "class": lambda facts: facts.text("class"),
    "float": _float,
    "object": lambda facts: facts.text("object"),
}


def check_times(facts: Fields) -> tuple[float, float]:
    """Return when a call began and how long it took."""
    found = facts.number("start"), facts.number("seconds")
    for name, value in zip(("start", "seconds"), found, strict=True):
        if not (-_LATEST <= value <= _LATEST):
            facts.refuse(name, f"seconds, {_LATEST:g} at most", value)
    return found
