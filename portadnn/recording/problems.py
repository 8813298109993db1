"""The different problems of a recording: their lines, how often they were computed, and where."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadParam, DnnError
from ..problem import Problem, parse
from .reader import Recording


@dataclass
class Posed:
    """A problem of a recording.

    Attributes
    ----------
    line : str
        Of an operation or of a graph, without run-time numbers.
    calls : int
        How often it was computed.
    modules : list of str
        Of PyTorch programs: the modules that did, in order.
    layout : str
        Of its first tensor: NCHW, NHWC or strided; "plain" of tensors that are no images.
    kind : str
        Of PyTorch programs: convolution, norm, product, ...
    """

    line: str
    calls: int = 0
    modules: list[str] = field(default_factory=list)
    layout: str = ""
    kind: str = ""


@functools.lru_cache(4096)
def layout_of(line: str) -> str:
    """Return the layout of a problem's first tensor of floating-point numbers."""
    problem = parse(line)
    spec = next((spec for spec in problem.tensors if spec.dtype.is_float), None)
    if spec is None or len(spec.dims) < 4 or problem.op in ("", "softmax_forward", "softmax_backward"):
        return "plain"
    return "strided" if spec.format is None else spec.format.name


def posed(recording: Recording) -> dict[str, Posed]:
    """Return the different problems of calls that succeeded, by line, in the order in which they came first.

    Raises
    ------
    BadParam
        A call's line is no problem.
    """
    found: dict[str, Posed] = {}
    graphs: dict[int, str] = {}
    for event in recording.events:
        if event.status != "SUCCESS" or (event.inside and event.library == "portadnn"):
            continue
        lines = [step.problem for step in event.steps]
        if event.graph is not None:
            if event.graph not in graphs:
                graphs[event.graph] = str(_graph(recording.graphs[event.graph], event.number))
            lines = [graphs[event.graph]]
        for line in lines:
            if line not in found:
                try:
                    kind = str(event.arguments.get("kind", "")) if event.library == "torch" else ""
                    found[line] = Posed(line, layout=layout_of(line), kind=kind)
                except DnnError as error:
                    raise BadParam(f"call {event.number} of the recording: {error}") from None
            one = found[line]
            one.calls += 1
            if event.module and event.module not in one.modules:
                one.modules.append(event.module)
    return found


def _graph(data: Any, number: int) -> Problem:
    from ..graph.files import graph_of

    try:
        graph = graph_of(data)
        graph.validate()
        return graph.freeze()
    except DnnError as error:
        raise BadParam(f"call {number} of the recording: {error}") from None
