"""Cutting graphs into regions: nodes that an engine of the backend computes together, and single ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..registry import get_backend
from .engine import GraphEngine
from .fallback_parts import alone
from .operation_graph import Operation, OperationGraph

if TYPE_CHECKING:
    from ..handle import Handle

MOST_NODES = 32  # of a region: kernels have limits to their arguments


@dataclass(eq=False)
class Region:
    """Operations that are computed one after another, or together where there is an engine for it."""

    engine: GraphEngine | None
    operations: list[Operation] = field(default_factory=list)

    @property
    def read(self) -> set[int]:
        """Uids of what its operations read."""
        return {uid for operation in self.operations for _, uid in operation.inputs}

    @property
    def written(self) -> set[int]:
        """Uids of what its operations write."""
        return {uid for operation in self.operations for _, uid in operation.outputs}

    @property
    def joined(self) -> bool:
        """Whether it is more than a node."""
        return len(self.operations) > 1


def regions_of(graph: OperationGraph, handle: Handle) -> list[Region]:
    """Return a graph's regions in an order in which they can run."""
    engines = [engine for engine in get_backend(handle.backend).graph_engines() if engine.joins]
    regions: list[Region] = []
    home: dict[int, int] = {}  # the region that writes a tensor
    for operation in graph.operations:
        single = alone(graph, operation)
        engine = next((one for one in engines if not one.why_not(single, handle)), None)
        first = max((home[uid] for _, uid in operation.inputs if uid in home), default=0)
        place = _fitting(graph, regions, first, operation, engine)
        if place is None:
            place = len(regions)
            regions.append(Region(engine))
        regions[place].operations.append(operation)
        home.update({uid: place for _, uid in operation.outputs})
    _sink(graph, regions)
    return [region for region in regions if region.operations]


def _fitting(
    graph: OperationGraph, regions: Sequence[Region], first: int, operation: Operation, engine: GraphEngine | None
) -> int | None:
    """Return the first region, from `first` on, that shares a tensor with an operation, if one may take it."""
    uids = {uid for _, uid in operation.inputs if not graph.by_uid[uid].by_value}
    for place in range(first, len(regions)):
        region = regions[place]
        if engine is None or region.engine is not engine or len(region.operations) >= MOST_NODES:
            continue
        if uids & (region.read | region.written):
            return place
    return None


def _sink(graph: OperationGraph, regions: Sequence[Region]) -> None:
    """Move operations to the later region that alone reads their results, where what they read is in memory anyway."""
    for place, region in enumerate(regions):
        if region.engine is None:
            continue
        for operation in reversed(region.operations[:]):
            target = _reader(graph, regions, place, operation)
            if target is not None:
                region.operations.remove(operation)
                target.operations.insert(0, operation)


def _reader(graph: OperationGraph, regions: Sequence[Region], place: int, operation: Operation) -> Region | None:
    outputs = {uid for _, uid in operation.outputs}
    readers = [region for region in regions if region.read & outputs]
    inputs = [graph.by_uid[uid] for _, uid in operation.inputs]
    apart = all(not info.virtual or info.uid not in regions[place].written for info in inputs)
    smaller = sum(info.extent for info in inputs) <= 2 * sum(graph.by_uid[uid].extent for uid in outputs)
    hidden = all(graph.by_uid[uid].virtual for uid in outputs)
    if len(readers) == 1 and apart and smaller and hidden:
        (reader,) = readers
        if reader is not regions[place] and reader.engine is regions[place].engine:
            return reader
    return None


def subgraph(graph: OperationGraph, region: Region) -> OperationGraph:
    """Return a region's operations as a graph; tensors that others read as well are in memory."""
    inside = region.written - _read_elsewhere(graph, region)
    uids = dict.fromkeys(uid for operation in region.operations for uid in operation.uids.values())
    infos = (graph.by_uid[uid] for uid in uids)
    tensors = (replace(info, virtual=info.virtual and info.uid in inside) for info in infos)
    name = "+".join(operation.name for operation in region.operations)
    return OperationGraph(name, tuple(region.operations), tuple(tensors))


def _read_elsewhere(graph: OperationGraph, region: Region) -> set[int]:
    mine = {id(operation) for operation in region.operations}
    others = (operation for operation in graph.operations if id(operation) not in mine)
    return {uid for operation in others for _, uid in operation.inputs}


def hidden(graph: OperationGraph, region: Region) -> Iterator[int]:
    """Yield the uids of a region's tensors that never reach memory."""
    yield from (info.uid for info in subgraph(graph, region).tensors if info.virtual)
