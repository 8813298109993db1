"""Whether a graph is a pattern: nodes as text, with optional ones, in the order in which they can run.

A line is ``"Y, MASK = kind X W"``: outputs, a kind of operation in small letters (``reduction:MAX`` with a mode) or
pointwise modes in capitals (several with ``|``), and the first inputs; ``_`` and what is left out may be anything. With
``?`` behind the kind the node may be absent, and its first input stands for its output.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..node import KINDS
from ..operation_graph import Operation, OperationGraph

_COMMUTATIVE = ("ADD", "MUL", "MAX", "MIN")


@dataclass(frozen=True)
class Line:
    """A node of a pattern."""

    outputs: tuple[str, ...]
    kinds: tuple[str, ...]
    inputs: tuple[str, ...]
    optional: bool

    def names(self, operation: Operation) -> bool:
        """Tell whether an operation is of this kind."""
        name = name_of(operation)
        exact = f"{name}:{operation['mode'].name}" if name == "reduction" else name
        return name in self.kinds or exact in self.kinds


def name_of(operation: Operation) -> str:
    """Return a kind's name, or that of a pointwise operation's mode."""
    return operation["mode"].name if operation.kind == "pointwise" else operation.kind


@functools.cache
def parsed(pattern: tuple[str, ...]) -> tuple[Line, ...]:
    """Return a pattern's lines."""
    found = []
    for text in pattern:
        outputs, right = text.split("=")
        kind, *inputs = right.split()
        names = tuple(name.strip() for name in outputs.split(","))
        found.append(Line(names, tuple(kind.rstrip("?").split("|")), tuple(inputs), kind.endswith("?")))
    return tuple(found)


def _choices(lines: Sequence[Line], size: int) -> Iterator[list[Line]]:
    """Yield the lines with so many nodes left that the number is right; names of what is left out are replaced."""
    optional = [i for i, line in enumerate(lines) if line.optional]
    for dropped in itertools.combinations(optional, max(len(lines) - size, 0)):
        names: dict[str, str] = {}
        kept = []
        for i, line in enumerate(lines):
            inputs = tuple(names.get(name, name) for name in line.inputs)
            if i in dropped:
                names[line.outputs[0]] = inputs[0]
            else:
                kept.append(Line(line.outputs, line.kinds, inputs, False))
        if len(kept) == size:
            yield kept


def match(pattern: tuple[str, ...], graph: OperationGraph) -> dict[str, int] | None:
    """Return the uids of a pattern's tensors by name where the graph is that pattern, each node once; else None."""
    for lines in _choices(parsed(pattern), len(graph.operations)):
        found = _assigned(lines, graph, {}, frozenset())
        if found is not None:
            return found
    return None


def _assigned(
    lines: Sequence[Line], graph: OperationGraph, known: Mapping[str, int], used: frozenset[int]
) -> dict[str, int] | None:
    if not lines:
        return dict(known)
    for number, operation in enumerate(graph.operations):
        if number in used or not lines[0].names(operation):
            continue
        for inputs in _orders(lines[0], operation):
            more = _joined(lines[0], operation, inputs, known, graph)
            found = None if more is None else _assigned(lines[1:], graph, more, used | {number})
            if found is not None:
                return found
    return None


def _orders(line: Line, operation: Operation) -> Iterator[tuple[str, ...]]:
    yield line.inputs
    if name_of(operation) in _COMMUTATIVE and len(line.inputs) == 2:
        yield line.inputs[::-1]


def _joined(
    line: Line, operation: Operation, inputs: Sequence[str], known: Mapping[str, int], graph: OperationGraph
) -> dict[str, int] | None:
    """Return the names with those of a node's tensors; None where they are other tensors already."""
    kind = KINDS[operation.kind]
    pairs = [
        *((name, operation.uids.get(port.name)) for name, port in zip(inputs, kind.inputs, strict=False)),
        *((name, operation.uids.get(port.name)) for name, port in zip(line.outputs, kind.outputs, strict=False)),
    ]
    more = dict(known)
    for name, uid in pairs:
        if name == "_" or (uid is None and name in line.outputs):
            continue
        if uid is None or more.setdefault(name, uid) != uid:
            return None
        if name in inputs and name not in known and uid in graph.results:
            return None  # it should come from outside
    return more
