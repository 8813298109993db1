"""What the mapping table says of cuDNN's functions and enumerations, in one small file that is quick to read.

``python -m portadnn.cudnn.declarations`` writes ``declarations.json`` anew from ``portadnn/porting_guide/``. A test
demands that it is up to date.
"""

from __future__ import annotations

import functools
import inspect
import json
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..mapping import Enumeration, Function, Parameter, Row

FILE = Path(__file__).with_name("declarations.json")

# Results that their types do not show as such: host memory that is filled, in place of device memory.
_RETURNED = {("cudnnGetRNNDataDescriptor", "paddingFill")}


def returned(function: str, parameter: Parameter) -> bool:
    """Tell whether a call returns what C writes through that pointer.

    Device memory and descriptors that exist already are arguments in C and stay arguments.
    """
    if parameter.direction != "out":
        return False
    opaque_or_memory = parameter.type.replace("const ", "") == "void *" or parameter.type.endswith("Descriptor_t")
    return not opaque_or_memory or (function, parameter.name) in _RETURNED


def _declaration(row: Row, function: Function) -> dict[str, Any]:
    first = {p.name for p in function.parameters}
    results = [p.name for p in function.parameters if returned(function.name, p)]
    entry: dict[str, Any] = {
        "topic": row.topic,
        "c": function.c,
        "parameters": [p.name for p in function.parameters if p.name not in results],
        "returns": results,
        "history": function.history,
        "portadnn": list(row.portadnn),
    }
    later = [p.name for change in function.changes for p in change.parameters if p.name not in first]
    if later:
        entry["later"] = function.changes[-1].version, [p.name for p in function.latest]
    if function.returns:
        entry["type"] = function.returns
    return entry


def _enumeration(enumeration: Enumeration) -> dict[str, int]:
    return {v.cudnn: v.number for v in enumeration.values if v.cudnn and v.number is not None}


def generate() -> str:
    """Return the file's text: one line for each function and each enumeration."""
    from ..mapping import table

    found = table()
    functions = {row.cudnn.name: _declaration(row, row.cudnn) for row in found.rows if row.cudnn}
    enumerations = {e.cudnn: _enumeration(e) for e in found.enumerations if e.cudnn}
    parts = []
    for title, entries in (("functions", functions), ("enumerations", enumerations)):
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        parts.append(f'"{title}": {{\n{lines}\n}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


@functools.cache
def declarations() -> dict[str, Any]:
    """Return what the file says: ``functions`` and ``enumerations`` by their names in C."""
    return json.loads(FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


# Enumerations -------------------------------------------------------------------------------------


class CEnum(IntEnum):
    """Base of cuDNN's enumerations: members are the integers of the C headers."""

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return self.name


@functools.cache
def constants() -> dict[str, str]:
    """Return the enumeration of each of its values."""
    return {value: name for name, values in declarations()["enumerations"].items() for value in values}


@functools.cache
def enumeration(name: str) -> type[CEnum]:
    """Return an enumeration of the C header, such as ``cudnnDataType_t``."""
    values = declarations()["enumerations"][name]
    functional: Any = CEnum
    made: type[CEnum] = functional(name, values, module="portadnn.cudnn")
    made.__doc__ = f"{name} of cuDNN's header, with its values."
    return made


# Functions ----------------------------------------------------------------------------------------


def docstring(name: str, remark: str | None) -> str:
    """Return the documentation of a function: the declaration in C, what is returned, and what differs."""
    entry = declarations()["functions"][name]
    lines = [_summary(entry), "", f"C: ``{entry['c']}``"]
    if "later" in entry:
        version, parameters = entry["later"]
        lines += ["", f"In cuDNN {version} the parameters are: {', '.join(parameters)}."]
    if entry["portadnn"]:
        lines += ["", "In portadnn: " + ", ".join(f"``{place}``" for place in entry["portadnn"]) + "."]
    if remark:
        lines += ["", inspect.cleandoc(remark)]
    return "\n".join(lines)


def _summary(entry: dict[str, Any]) -> str:
    results = entry["returns"]
    if "type" in entry and entry["type"] != "void":
        told = f"Return a {entry['type'].replace('const char *', 'string')}"
    elif not results:
        told = "Return nothing"
    elif len(results) == 1:
        told = f"Return {results[0]}"
    else:
        told = f"Return ({', '.join(results)})"
    return f"{told} ({entry['history'] or 'cuDNN'})."


if __name__ == "__main__":
    FILE.write_text(generate(), encoding="utf-8")
