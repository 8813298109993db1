"""Graphs as pictures: DOT and Mermaid as text, SVG through graphviz; what a plan computes together stands in a box."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from .layout import channels_last, row_major
from .node import KINDS
from .operation_graph import Operation, OperationGraph, TensorInfo
from .rules import fail

Parts = Sequence[Sequence[str]]
_COLOURS = ("#dbe9f6", "#fde3cf", "#dcefd9", "#ecdff2", "#fbe3ec", "#e9e6d0")  # of boxes, one after another


_USUAL = {"stride": 1, "dilation": 1, "pre_padding": 0, "post_padding": 0}


def _attributes(operation: Operation) -> Iterator[str]:
    """Yield what is not as usual of an operation."""
    usual = {attribute.name: attribute.default for attribute in KINDS[operation.kind].attributes}
    for name, value in operation.attributes:
        if isinstance(value, tuple) and set(value) == {_USUAL.get(name)}:
            continue
        if value is not None and value != usual.get(name) and not (operation.kind == "pointwise" and name == "mode"):
            shown = getattr(value, "name", None) or (list(map(str, value)) if isinstance(value, tuple) else value)
            yield f"{name} {' x '.join(shown) if isinstance(shown, list) else shown}"


def _label(graph: OperationGraph, operation: Operation) -> str:
    """Return a node's text: kind and name, attributes, and the numbers that the graph states."""
    kind = operation["mode"].name if operation.kind == "pointwise" else operation.kind
    numbers = [(port, graph.by_uid[uid]) for port, uid in operation.inputs if graph.by_uid[uid].constant]
    said = (f"{port} = {info.value:g}" for port, info in numbers)
    return "\n".join([f"{kind} '{operation.name}'", *_attributes(operation), *said])


def _layout(info: TensorInfo) -> str:
    """Return strides in words where there are some."""
    if info.strides == row_major(info.dims):
        return ""
    if info.strides == channels_last(info.dims):
        return " channels last"
    return f" strides {list(info.strides)}"


def _shape(info: TensorInfo) -> str:
    if info.by_value:
        return f"{info.data_type} by value"
    return f"{info.data_type} {' x '.join(map(str, info.dims))}{_layout(info)}"


def _edges(graph: OperationGraph) -> Iterator[tuple[str, str, str]]:
    """Yield where from, where to and what for every tensor that a node reads, and for every result."""
    number = {operation.name: f"n{i}" for i, operation in enumerate(graph.operations)}
    writers = {uid: number[o.name] for o in graph.operations for _, uid in o.outputs}
    for operation in graph.operations:
        for port, uid in operation.inputs:
            info = graph.by_uid[uid]
            if info.constant:
                continue
            what = f"{port}: {_shape(info)}" if uid in writers else port
            yield writers.get(uid, f"t{uid}"), number[operation.name], what
        for port, uid in operation.outputs:
            if not graph.by_uid[uid].virtual:
                yield number[operation.name], f"t{uid}", port


def _ends(graph: OperationGraph) -> list[TensorInfo]:
    """Return the tensors that are drawn: those that come from outside, and results."""
    return list(graph.packed)


def _boxes(graph: OperationGraph, parts: Parts) -> list[tuple[int, list[int]]]:
    """Return the numbers of the nodes of each box; a node of several boxes is in the first one."""
    numbers = {operation.name: i for i, operation in enumerate(graph.operations)}
    seen: set[int] = set()
    found = []
    for place, part in enumerate(parts):
        inside = [numbers[name] for name in part if name in numbers and numbers[name] not in seen]
        seen.update(inside)
        if len(inside) > 1:
            found.append((place, inside))
    return found


def to_dot(graph: OperationGraph, parts: Parts = ()) -> str:
    """Return a graph in graphviz's language."""

    def quoted(text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'

    nodes = {
        i: f"n{i} [shape=box, style=filled, fillcolor=white, label=" + quoted(_label(graph, operation)) + "]"
        for i, operation in enumerate(graph.operations)
    }
    lines = [
        f"digraph {quoted(graph.name)} {{",
        '  node [fontname="Helvetica"]; edge [fontname="Helvetica", fontsize=10];',
    ]
    for place, inside in _boxes(graph, parts):
        colour = _COLOURS[place % len(_COLOURS)]
        lines += [f"  subgraph cluster_{place} {{", f'    label="together"; style=filled; color="{colour}";']
        lines += [f"    {nodes.pop(i)};" for i in inside]
        lines.append("  }")
    lines += [f"  {text};" for text in nodes.values()]
    for info in _ends(graph):
        style = "filled, bold" if info.uid in graph.results else "filled"
        label = quoted(f"{info.name}\n{_shape(info)}")
        lines.append(f'  t{info.uid} [shape=ellipse, style="{style}", fillcolor="#f2f2f2", label={label}];')
    lines += [f"  {start} -> {end} [label={quoted(what)}];" for start, end, what in _edges(graph)]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(graph: OperationGraph, parts: Parts = ()) -> str:
    """Return a graph as a flowchart of Mermaid, which GitHub and many editors show."""

    def quoted(text: str) -> str:
        escaped = text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
        return '"' + escaped.replace("\n", "<br/>") + '"'

    nodes = {i: f"n{i}[{quoted(_label(graph, operation))}]" for i, operation in enumerate(graph.operations)}
    lines = ["flowchart TD"]
    for place, inside in _boxes(graph, parts):
        lines += [f'  subgraph part{place}["together"]', *(f"    {nodes.pop(i)}" for i in inside), "  end"]
        lines.append(f"  style part{place} fill:{_COLOURS[place % len(_COLOURS)]}")
    lines += [f"  {text}" for text in nodes.values()]
    lines += [f"  t{info.uid}([{quoted(info.name + chr(10) + _shape(info))}])" for info in _ends(graph)]
    lines += [f"  {start} -->|{quoted(what)}| {end}" for start, end, what in _edges(graph)]
    return "\n".join(lines) + "\n"


def to_svg(dot: str) -> str:
    """Return a picture of DOT text, laid out by graphviz.

    Raises
    ------
    cudnnGraphNotSupportedError
        graphviz is not installed, or fails (PG-PICTURE-001).
    """
    program = shutil.which("dot")
    facts: dict[str, Any] = {"argument": "to_svg", "expected": "graphviz's program 'dot'"}
    if program is None:
        fix = "install graphviz (apt install graphviz, brew install graphviz), or use to_mermaid()"
        raise fail("PG-PICTURE-001", **facts, got="no such program", fix=fix)
    done = subprocess.run([program, "-Tsvg"], input=dot.encode(), capture_output=True, check=False)
    if done.returncode:
        raise fail("PG-PICTURE-001", **facts, got=done.stderr.decode(errors="replace").strip()[:500])
    return done.stdout.decode()
