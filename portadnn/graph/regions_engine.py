"""The engine that fuses what can be fused of any graph, and computes the other nodes one by one."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .engine import GraphEngine, GraphPlan
from .enums import behavior_note
from .errors import GraphError, fail
from .fallback_parts import Alone, Cut, add_node, prepared, seconds_of
from .fallback_run import Running
from .operation_graph import OperationGraph
from .regions import Region, hidden, regions_of, subgraph

if TYPE_CHECKING:
    from ..handle import Handle

MOST_KNOWN = 64  # graphs of a handle


@dataclass
class _Known:
    """A graph's regions, in a cut with its single nodes as the fallback engine has them."""

    cut: Cut
    regions: list[Region] = field(default_factory=list)


_KNOWN: weakref.WeakKeyDictionary[Handle, dict[OperationGraph, _Known]] = weakref.WeakKeyDictionary()


def _known(graph: OperationGraph, handle: Handle) -> _Known:
    known = _KNOWN.setdefault(handle, {})
    if graph not in known:
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[graph] = _cut(graph, handle)
    return known[graph]


def _cut(graph: OperationGraph, handle: Handle) -> _Known:
    regions = regions_of(graph, handle)
    made = _Known(Cut(graph), [region for region in regions if region.joined or region.before])
    for region in regions if made.regions else ():
        made.cut.parts += [low for _, low in region.before]
        if region.engine is not None and region.joined:
            made.cut.parts.append(Alone(region.engine, subgraph(graph, region)))
        elif region.operations:
            add_node(made.cut, region.operations[0], handle, ())
    return made


def _names(regions: Sequence[Region]) -> Iterator[tuple[str, ...]]:
    for region in regions:
        for chain, _ in region.before:
            yield tuple(operation.name for operation in (chain.product, *chain.operations))
        if region.joined:
            yield tuple(operation.name for operation in region.operations)


class RegionsEngine(GraphEngine):
    """Regions of a graph by the backend's engine that joins nodes, products and whatever else it has by other kernels.

    Products and convolutions add biases and residuals and activate where they store their sums. Tensors between regions
    lie in the workspace; those within one do not.
    """

    name = "regions"
    behavior_notes = frozenset({behavior_note.RUNTIME_COMPILATION})

    def why_not(self, graph: OperationGraph, handle: Handle) -> Sequence[GraphError]:
        known = _known(graph, handle)
        if not known.regions:
            node = graph.operations[0].label
            return [fail("PG-REGION-001", node=node, argument="graph", fix="take the plan of the fallback engine")]
        first = known.cut.parts[0] if known.cut.parts else None
        if isinstance(first, Alone) and len(first.graph.operations) == len(graph.operations):
            fix = f"take the plan of the engine {first.engine.name}"
            return [fail("PG-ENGINE-007", argument=self.name, got=first.engine.name, fix=fix)]
        return known.cut.errors

    def seconds(self, graph: OperationGraph, handle: Handle) -> float:
        return sum(seconds_of(part, handle) for part in _known(graph, handle).cut.parts)

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        known = _known(graph, handle)
        if known.cut.errors:
            raise known.cut.errors[0]
        parts = prepared(known.cut, handle)
        inside = {uid for region in known.regions for uid in hidden(graph, region)}
        tensors = tuple(info for info in known.cut.graph.tensors if info.uid not in inside)
        running = Running(handle, replace(known.cut.graph, tensors=tensors), parts, {})
        source = "\n\n".join(part.source for part in parts if isinstance(part, GraphPlan) and part.source)
        names = tuple(_names(known.regions))
        return GraphPlan(self, graph, running.memory.size, running.run, running.bind, {}, names, source)
