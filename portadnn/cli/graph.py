"""``portadnn graph``: graphs that were written here or by another library, judged and written in other formats."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._io.files import write_whole
from .._io.outside import read_bytes
from ..graph import pictures
from ..graph.api.core import Graph
from ..graph.api.files import data_of, graph_and_frozen
from ..graph.files import as_data
from ..graph.foreign_files import FORMATS, write
from ..graph.operation_graph import OperationGraph
from .caps import show_why

_HERE: Mapping[str, Callable[[OperationGraph], str]] = {
    "line": lambda graph: f"{graph}\n",
    "dot": pictures.to_dot,
    "mermaid": pictures.to_mermaid,
}
WORDS = ("portadnn", *FORMATS, *_HERE)


def graph_of_file(path: Path) -> tuple[Graph, OperationGraph]:
    """Read a graph, validated, and as engines see it.

    Raises
    ------
    BadParam, NotSupported
        The file is no graph, or has what does not exist here.
    OSError
        It cannot be read.
    """
    return graph_and_frozen(data_of(read_bytes(path)))


def converted(path: Path, format: str) -> bytes:
    """Return a file's graph in another format."""
    graph, frozen = graph_of_file(path)
    if format in _HERE:
        return _HERE[format](frozen).encode()
    data: dict[str, Any] = as_data(graph, frozen)
    return f"{json.dumps(data, indent=1)}\n".encode() if format == "portadnn" else write(data, format)


def convert(path: Path, format: str, output: Path | None) -> None:
    """Write a file's graph in another format, to a file or to the standard output."""
    content = converted(path, format)
    if output is not None:
        write_whole(output, content)
        return
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def judge(path: Path, tables: Sequence[str], *, as_json: bool) -> None:
    """Print who takes a file's graph and, of those that do not, why."""
    show_why(str(graph_of_file(path)[1]), None, tables, as_json=as_json)
