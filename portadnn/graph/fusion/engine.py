"""The engine that fuses what can be fused of any graph, and computes the other nodes one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from portadnn_backends.base import host_seconds

from ..engine import GraphEngine, GraphPlan
from ..enums import behavior_note, knob_type
from ..errors import GraphError
from ..fallback.parts import Alone, Cut, add_node, prepared, seconds_of
from ..fallback.run import plan_of_parts
from ..knobs import Knobs, knob
from ..operation_graph import OperationGraph
from ..per_handle import PerHandle
from ..rules import fail
from .regions import Region, hidden, regions_of, subgraph

if TYPE_CHECKING:
    from portadnn_backends.base import Device, DeviceInfo

    from ...handle import Handle


@dataclass
class _Known:
    """A graph's regions, in a cut with its single nodes as the fallback engine has them."""

    cut: Cut
    regions: list[Region] = field(default_factory=list)


_Finish = bool | None
_KNOWN: PerHandle[tuple[OperationGraph, _Finish], _Known] = PerHandle()


def _known(graph: OperationGraph, handle: Handle, finish: _Finish = None) -> _Known:
    return _KNOWN.get(handle, (graph, finish), lambda: _best_cut(graph, handle, finish))


def _best_cut(graph: OperationGraph, handle: Handle, finish: _Finish) -> _Known:
    # What is slower together may still be asked for, or timed; a way that is another engine's is no other for it
    first = _cut(graph, handle, finish)
    others = (_cut(graph, handle, way) for way in ((False, True) if finish is None else ()))
    return next(filter(_is_joined, itertools.chain([first], others)), first)


def _is_joined(known: _Known) -> bool:
    """Tell whether some nodes are computed together, and not all of them by an engine that has the graph itself."""
    whole = _whole(known)
    return bool(known.regions) and (whole is None or not whole.engine.follows)


def _whole(known: _Known) -> Alone | None:
    """Return the part that is the whole graph, if there is one."""
    first = known.cut.parts[0] if known.cut.parts else None
    if isinstance(first, Alone) and len(first.graph.operations) == len(known.cut.graph.operations):
        return first
    return None


def _cut(graph: OperationGraph, handle: Handle, finish: _Finish) -> _Known:
    regions = regions_of(graph, handle, finish)
    made = _Known(Cut(graph), [region for region in regions if region.joined or region.before])
    for region in regions if made.regions or finish is not None else ():  # else it is not for this engine
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

    Products and convolutions compute the pointwise nodes after them where they store their sums, and those before them
    where they read operands, where that is faster; the knob KERNEL_CFG decides it. Tensors between regions lie in the
    workspace; those within one do not.
    """

    name = "regions"
    behavior_notes = frozenset({behavior_note.RUNTIME_COMPILATION})

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def reasons(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[GraphError]:
        known = _known(graph, self.handle)
        if not known.regions:
            node = graph.operations[0].label
            return [fail("PG-REGION-001", node=node, argument="graph", fix="take the plan of the fallback engine")]
        whole = _whole(known)
        if whole is not None:
            fix = f"take the plan of the engine {whole.engine.name}"
            return [fail("PG-ENGINE-007", argument=self.name, got=whole.engine.name, fix=fix)]
        return known.cut.errors

    def estimate(self, graph: OperationGraph, info: DeviceInfo) -> float:
        parts = _known(graph, self.handle).cut.parts
        floor = host_seconds(len(parts), info) if info.schedule == "gpu" else 0.0
        return max(sum(seconds_of(part, self.handle) for part in parts), floor)

    def knobs(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[knob]:
        regions = _known(graph, self.handle, True).regions
        if not any(region.before or (region.engine and region.engine.follows) for region in regions):
            return ()
        return (knob(knob_type.KERNEL_CFG, 1, says="0 products alone, 1 with what is around them"),)

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        finish = knobs.get(knob_type.KERNEL_CFG)
        known = _known(graph, self.handle, None if finish is None else bool(finish))
        if known.cut.errors:
            raise known.cut.errors[0]
        hides = {uid for region in known.regions for uid in hidden(graph, region)}
        infos = tuple(info for info in known.cut.graph.infos if info.uid not in hides)
        inside, names = replace(known.cut.graph, infos=infos), tuple(_names(known.regions))
        return plan_of_parts(self, self.handle, graph, inside, prepared(known.cut, device), {}, knobs, names)
