"""Problem lines of graphs, read back; :mod:`~portadnn.graph.operation_graph` has their form."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from ..errors import BadParam, shown
from ..specs import TensorSpec
from .data_types import data_type
from .files import graph_of
from .node import KINDS
from .operation_graph import OperationGraph

_TENSOR = re.compile(
    r"(?:#(?P<mark>\d{1,6}):)?(?P<virtual>~)?(?P<type>\w+):(?P<layout>[^@%=?+]+)(?:@(?P<alignment>\d{1,9}))?"
    r"(?:%(?P<reordering>\w+))?(?:(?P<by_value>[=?])(?P<value>.*)|\+(?P<offset>.+)\*(?P<multiplier>\d{1,18}))?"
)
_EXPECTED = "a tensor such as #1:~f16:8x64x64, or #1 where it came before"


def begins(word: str) -> bool:
    """Tell whether a line that begins with this word is a graph's."""
    return word in KINDS


def read(line: str) -> OperationGraph:
    """Read the problem line of a graph, which is validated.

    Raises
    ------
    BadParam, NotSupported
        The line is none, or the graph is not valid.
    """
    reader = _Reader()
    operations = [reader.operation(words.split()) for words in line.split(";")]
    names = ("io_data_type", "intermediate_data_type", "compute_data_type")
    data = {"name": "", **dict.fromkeys(names, "NOT_SET"), "tensors": reader.tensors, "operations": operations}
    graph = graph_of(data)
    graph.validate()
    return graph.freeze()


class _Reader:
    """The tensors of a line that is being read, as :func:`portadnn.graph.files.graph_of` takes them."""

    def __init__(self) -> None:
        self.tensors: list[dict[str, Any]] = []
        self.marks: dict[str, int] = {}

    def operation(self, words: list[str]) -> dict[str, Any]:
        """Return an operation."""
        kind = KINDS.get(words[0]) if words else None
        if kind is None:
            known = ", ".join(KINDS)
            raise BadParam(argument="line", expected=f"an operation of graphs ({known})", got=shown(words[:1]))
        names = {attribute.name for attribute in kind.attributes}
        ports: tuple[dict[str, int], dict[str, int]] = {}, {}
        made: dict[str, Any] = {"kind": kind.name, "name": "", "attributes": {}}
        made |= {"compute": "FLOAT"} if kind.computes else {}
        for word in words[1:]:
            name, equals, text = word.partition("=")
            output = kind.port(name, output=True) is not None
            if not equals or name in made["attributes"] or name in ports[output]:
                raise BadParam(argument=kind.name, expected="name=value with each name once", got=shown(word[:60]))
            if name == "compute":
                made["compute"] = _type(text, name)
            elif name in names:
                made["attributes"][name] = _value(text)
            elif output or kind.port(name, output=False) is not None:
                ports[output][name] = self.tensor(text, name)
            else:
                known = ", ".join([*(port.name for port in (*kind.inputs, *kind.outputs)), *sorted(names)])
                raise BadParam(argument=kind.name, expected=f"a name of {known}", got=shown(word[:60]))
        return {**made, "inputs": ports[0], "outputs": ports[1]}

    def tensor(self, text: str, name: str) -> int:
        """Return the uid of a tensor, which is new where it is described."""
        if text in self.marks:
            return self.marks[text]
        match = _TENSOR.fullmatch(text)
        if match is None or f"#{match['mark']}" in self.marks:
            raise BadParam(argument=name, expected=_EXPECTED, got=shown(text[:60]))
        layout = TensorSpec.parse(f"u8:{match['layout']}", name)
        made: dict[str, Any] = {
            "type": _type(match["type"], name),
            "dims": list(layout.dims),
            "strides": list(layout.strides),
        }
        if match["offset"]:
            made["ragged_offset"] = self.tensor(match["offset"], name)
            made["ragged_multiplier"] = int(match["multiplier"])
        uid = made["uid"] = len(self.tensors) + 1
        made |= {"name": f"t{uid}", "virtual": bool(match["virtual"]), "alignment": int(match["alignment"] or 16)}
        made["reordering"] = match["reordering"] or "NONE"
        if match["by_value"]:
            value = _number(match["value"], name) if match["value"] else None
            made |= {"by_value": True, "value": value, "constant": match["by_value"] == "="}
        self.tensors.append(made)
        if match["mark"]:
            self.marks[f"#{match['mark']}"] = uid
        return uid


def _type(code: str, name: str) -> str:
    kind = data_type.of_code(code) or data_type.__members__.get(code)
    if kind is None:
        known = ", ".join(one.code for one in data_type if one.is_stored)
        raise BadParam(argument=name, expected=f"a type of {known}", got=shown(code[:60]))
    return kind.name


def _number(text: str, name: str) -> float | int:
    try:
        return int(text) if re.fullmatch(r"-?\d{1,20}", text) else float(text)
    except ValueError:
        raise BadParam(argument=name, expected="a number", got=shown(text[:60])) from None


def _value(text: str) -> Any:
    """Return an attribute's value: a tuple where there are commas, a slice where there are colons."""
    if "," in text or not text:
        return tuple(_value(part) for part in text.removesuffix(",").split(",")) if text else ()
    if re.fullmatch(r"(-?\d{1,18})?:(-?\d{1,18})?:(-?\d{1,18})?", text):
        return tuple(int(part) if part else None for part in text.split(":"))
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float, Fraction):
        try:
            return kind(text[:60])
        except (ValueError, ZeroDivisionError):
            continue
    return text
