"""Who takes a graph: the engines of the devices that there are, and what other libraries document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..capability.tables import table_names
from ..graph.explain import answer
from ..graph.operation_graph import OperationGraph
from ..graph.other_libraries import judge, libraries
from ..graph.plans import engines_of
from ..graph.support.on_paper import DEVICES, PaperHandle
from ..handle import Handle
from ..problem import Problem
from ..registry import backend_names, get_backend
from .opinion import Opinion

_ANSWERS = {"yes": "yes", "no": "no", "unknown": "limits"}


def graph_opinions(graph: Problem, names: Sequence[str]) -> Iterator[Opinion]:
    """Yield what backends and foreign libraries say to a graph: those of some names, or all of them."""
    assert isinstance(graph, OperationGraph)
    for name in names or dict.fromkeys([*table_names(), *libraries()]):
        if name in backend_names():
            yield from _of_backend(graph, name)
        elif name in libraries():
            judged = judge(graph, name)
            first = judged.broken[0] if judged.broken else None
            source = judged.surfaces[0].source if first is None else first.source
            note = "a foreign library: what its documentation says of graphs"
            yield Opinion(name, _ANSWERS[judged.answer], "" if first is None else str(first), source, [], note=note)
        else:
            yield Opinion(name, "no", "it has no graphs", "", [])


def _of_backend(graph: OperationGraph, name: str) -> Iterator[Opinion]:
    backend = get_backend(name)
    missing = backend.why_unavailable()
    if missing is None:
        for number, info in enumerate(backend.devices()):
            with Handle(name, device=number) as handle:
                yield _of_handle(graph, handle, info.name)
    elif name in DEVICES:
        note = f"not on this machine, so engines were asked for a usual device ({missing})"
        yield _of_handle(graph, PaperHandle(name), "", note)
    else:
        yield Opinion(name, "no", missing, "", [], note="not on this machine")


def _of_handle(graph: OperationGraph, handle: Handle, device: str, note: str = "") -> Opinion:
    answers = [answer(engine, graph, handle.info) for engine in engines_of(handle)]
    takers = sorted((one for one in answers if one.takes), key=lambda one: one.seconds or 0.0)
    others = [one for one in answers if not one.takes]
    engines: list[tuple[str, str | None]] = [(one.engine, None) for one in takers]
    engines += [(one.engine, "; ".join(map(str, one.reasons))) for one in others]
    reason = "" if takers else "no engine takes it"
    return Opinion(handle.backend, "yes" if takers else "no", reason, "", [], device, note, engines)
