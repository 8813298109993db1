"""What the mapping table says of a library's functions and enumerations, in one small file that is quick to read.

Each front end has its own, ``declarations.json``, made from ``portadnn/porting_guide/``: reading that takes as long as
importing portadnn.
"""

from __future__ import annotations

import functools
import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..mapping import Enumeration, Function, Library, Parameter, Row, Table

# Results that their types do not show as such: host memory that is filled, in place of device memory; and what MIOpen's
# porting guide calls an input.
_RETURNED = {
    ("cudnnBackendGetAttribute", "arrayOfElements"),
    ("cudnnGetRNNDataDescriptor", "paddingFill"),
    ("miopenFindConvolutionForwardAlgorithm", "perfResults"),
    ("miopenGetRNNDataSeqTensorDescriptor", "paddingMarker"),
}


def returned(function: str, parameter: Parameter) -> bool:
    """Tell whether a call returns what C writes through that pointer.

    Device memory and descriptors that exist already are arguments in C and stay arguments.
    """
    if (function, parameter.name) in _RETURNED:
        return True
    if parameter.direction != "out":
        return False
    return not (parameter.type.replace("const ", "") == "void *" or parameter.type.endswith("Descriptor_t"))


class Declarations:
    """The declarations of one library.

    Parameters
    ----------
    library
        ``"cudnn"`` or ``"miopen"``.
    folder
        Where its ``declarations.json`` is.
    """

    def __init__(self, library: Library, folder: Path) -> None:
        self.library = library
        self.file = folder / "declarations.json"

    def generate(self) -> str:
        """Return the file's text: one line for each function and each enumeration."""
        from ..mapping import table

        found = table()
        functions: dict[str, Any] = {}
        for row in found.rows:
            for function in (row.cudnn,) if self.library == "cudnn" else row.miopen:
                if function is not None and function.name not in functions:
                    functions[function.name] = self._declaration(found, row, function)
        enumerations = {}
        for enumeration in found.enumerations if self.library == "cudnn" else ():
            if enumeration.cudnn:
                enumerations[enumeration.cudnn] = _values(enumeration)
        parts = []
        for title, entries in (("functions", functions), ("enumerations", enumerations)):
            lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
            parts.append(f'"{title}": {{\n{lines}\n}}')
        return "{\n" + ",\n".join(parts) + "\n}\n"

    def write(self) -> None:
        """Write the file anew."""
        self.file.write_text(self.generate(), encoding="utf-8")

    def _declaration(self, table: Table, row: Row, function: Function) -> dict[str, Any]:
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
        if self.library == "miopen":
            entry |= _comparison(table, row, function)
        return entry

    @functools.cached_property
    def content(self) -> dict[str, Any]:
        """What the file says: ``functions`` and ``enumerations`` by their names in C."""
        return json.loads(self.file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]

    def docstring(self, name: str, remark: str | None) -> str:
        """Return the documentation of a function: the declaration in C, what is returned, and what differs."""
        entry = self.content["functions"][name]
        library = "cuDNN" if self.library == "cudnn" else "MIOpen"
        said = inspect.cleandoc(remark) if remark else ""
        lines = [_summary(entry, library), "", f"C: ``{entry['c']}``"]
        if self.library == "miopen" and said:  # whose remarks begin with what the function does
            first, _, said = said.partition("\n\n")
            lines = [first, "", *lines]
        if "later" in entry:
            version, parameters = entry["later"]
            lines += ["", f"In {library} {version} the parameters are: {', '.join(parameters)}."]
        if "cudnn" in entry:
            lines += ["", f"In cuDNN: ``{entry['cudnn']}``; what a port changes: {'; '.join(entry['differs'])}."]
        if entry["portadnn"]:
            lines += ["", "In portadnn: " + ", ".join(f"``{place}``" for place in entry["portadnn"]) + "."]
        if said:
            lines += ["", said]
        return "\n".join(lines)


def _comparison(table: Table, row: Row, function: Function) -> dict[str, Any]:
    """Return cuDNN's function of the row and how MIOpen's differs."""
    from ..mapping_text import changes

    return {"cudnn": row.cudnn.name, "differs": changes(table, row, function)} if row.cudnn else {}


def _values(enumeration: Enumeration) -> dict[str, int]:
    return {v.cudnn: v.number for v in enumeration.values if v.cudnn and v.number is not None}


def _summary(entry: dict[str, Any], library: str) -> str:
    results = entry["returns"]
    if "type" in entry and entry["type"] != "void":
        told = f"Return a {entry['type'].replace('const char *', 'string')}"
    elif not results:
        told = "Return nothing"
    elif len(results) == 1:
        told = f"Return {results[0]}"
    else:
        told = f"Return ({', '.join(results)})"
    return f"{told} ({entry['history'] or library})."
