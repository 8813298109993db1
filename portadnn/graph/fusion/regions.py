"""Cutting graphs into regions: nodes that an engine of the backend computes together, and single ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from portadnn_backends.base import LAUNCH_SECONDS, host_seconds

from ...enums import ActivationMode
from ...registry import get_backend
from ..engine import GraphEngine
from ..errors import GraphError
from ..fallback.parts import Cut, add_node, alone, check_step, seconds_of
from ..lowering.epilogue import Chain, chain_of, lowered
from ..lowering.steps import Lowering
from ..operation_graph import Operation, OperationGraph
from .after import after_product
from .before import before_product
from .closing import closing
from .moving import moves, turns

if TYPE_CHECKING:
    from ...handle import Handle

MOST_NODES = 32  # of a region: kernels have limits to their arguments


@dataclass(eq=False)
class Region:
    """Operations that are computed together where there is an engine for it.

    Attributes
    ----------
    before : list of (Chain, Lowering)
        Products with what follows them, to be computed before the operations.
    """

    engine: GraphEngine | None
    operations: list[Operation] = field(default_factory=list)
    before: list[tuple[Chain, Lowering]] = field(default_factory=list)

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


def regions_of(graph: OperationGraph, handle: Handle, finish: bool | None = None) -> list[Region]:
    """Return a graph's regions in an order in which they can run.

    Parameters
    ----------
    finish
        Whether products compute what is around them where there is a step for it; None for where that is faster.
    """
    offered = get_backend(handle.backend).graph_engines()
    engines = [engine for engine in offered if engine.joins]
    regions: list[Region] = []
    home: dict[int, int] = {}  # the region that writes a tensor
    for operation in graph.operations:
        single = alone(graph, operation)
        engine = next((one for one in engines if not one.reasons(single, handle.info)), None)
        first = max((home[uid] for _, uid in operation.inputs if uid in home), default=0)
        place = _fitting(graph, handle, regions, first, operation, engine)
        if place is None:
            place = len(regions)
            regions.append(Region(engine))
        regions[place].operations.append(operation)
        home.update({uid: place for _, uid in operation.outputs})
    _sink(graph, handle, regions)
    followers = [engine for engine in offered if engine.follows]
    for region in regions[:] if finish is not False else ():
        _join(graph, handle, region, regions, followers, finish is True)
    for operation in graph.operations if finish is not False else ():
        _lead(graph, handle, operation, regions, followers, finish is True)
    return [region for region in regions if region.operations or region.before]


def _fitting(
    graph: OperationGraph,
    handle: Handle,
    regions: Sequence[Region],
    first: int,
    operation: Operation,
    engine: GraphEngine | None,
) -> int | None:
    """Return the first region, from `first` on, that shares a tensor with an operation, if one may take it."""
    uids = {uid for _, uid in operation.inputs if not graph.by_uid[uid].by_value}
    for place in range(first, len(regions)):
        region = regions[place]
        if engine is None or region.engine is not engine or len(region.operations) >= MOST_NODES:
            continue
        if uids & (region.read | region.written) and _together(graph, handle, region, [*region.operations, operation]):
            return place
    return None


def _together(graph: OperationGraph, handle: Handle, region: Region, operations: list[Operation]) -> bool:
    """Tell whether a region's engine takes operations that it takes one by one, and whether they go well together."""
    if not moves(operations):
        return True
    assert region.engine is not None
    if any(turns(graph, operation) for operation in operations):
        return False
    return not region.engine.reasons(subgraph(graph, Region(region.engine, operations)), handle.info)


def _sink(graph: OperationGraph, handle: Handle, regions: Sequence[Region]) -> None:
    """Move operations to the later region that alone reads their results, where what they read is in memory anyway."""
    for place, region in enumerate(regions):
        if region.engine is None:
            continue
        for operation in reversed(region.operations[:]):
            target = _reader(graph, regions, place, operation)
            if target is not None and _together(graph, handle, target, [operation, *target.operations]):
                region.operations.remove(operation)
                target.operations.insert(0, operation)


def _reader(graph: OperationGraph, regions: Sequence[Region], place: int, operation: Operation) -> Region | None:
    outputs = {uid for _, uid in operation.outputs}
    readers = [region for region in regions if region.read & outputs]
    inputs = [graph.by_uid[uid] for _, uid in operation.inputs]
    apart = all(not info.virtual or info.uid not in regions[place].written for info in inputs)
    smaller = sum(info.extent for info in inputs) <= 2 * sum(graph.by_uid[uid].extent for uid in outputs)
    smaller = smaller or moves([operation])
    hidden = all(graph.by_uid[uid].virtual for uid in outputs)
    if len(readers) == 1 and apart and smaller and hidden:
        (reader,) = readers
        if reader is not regions[place] and reader.engine is regions[place].engine:
            return reader
    return None


def _join(
    graph: OperationGraph,
    handle: Handle,
    region: Region,
    regions: list[Region],
    followers: Sequence[GraphEngine],
    always: bool,
) -> None:
    """Let a product compute what follows it: by a step of kernels that has just that, by text, or what a step has."""
    if region.engine is not None or not region.operations[0].inputs:
        return
    results, place = region.written, regions.index(region)
    reader = next((one for one in regions[place + 1 :] if one.read & results), None)
    if reader is None or reader.engine is None:
        return
    late = {uid for one in regions[regions.index(reader) :] for uid in one.written}
    nodes = after_product(graph, region.operations[0], reader.operations, late)[: MOST_NODES - 1]
    sums = closing(graph, region.operations[0], nodes, reader.operations)
    every = [*nodes, *sums]
    joint = _follow(graph, handle, region, every, followers, always, len(every)) if sums else None
    if joint is None:
        short = graph.by_uid[region.operations[0].inputs[0][1]].data_type.itemsize < 4
        slow = short and handle.info.schedule == "cpu"  # steps convert number by number, text does so in vectors
        if nodes and not slow and _finish(graph, handle, region, reader, always, len(nodes)):
            return
        joint = _follow(graph, handle, region, nodes, followers, always)
    if joint is None:
        _finish(graph, handle, region, reader, always, 1)
        return
    regions.remove(region)
    regions.insert(regions.index(reader), joint)
    reader.operations = [one for one in reader.operations if one not in joint.operations]


def _follow(
    graph: OperationGraph,
    handle: Handle,
    region: Region,
    nodes: list[Operation],
    followers: Sequence[GraphEngine],
    always: bool,
    least: int = 1,
) -> Region | None:
    """Return a product with the first nodes after it, as many as an engine takes; None where that does not pay.

    No fewer than `least` are taken.
    """
    for engine in followers:
        for count in range(len(nodes), least - 1, -1):
            joint = Region(engine, [*region.operations, *nodes[:count]])
            part = subgraph(graph, joint)
            if not engine.reasons(part, handle.info):
                return joint if always or _gains(part, joint, handle) else None
    return None


def _gains(part: OperationGraph, region: Region, handle: Handle) -> bool:
    """Tell whether a product with what follows it is faster than the product, written and read again, beside that."""
    assert region.engine is not None
    return region.engine.seconds(part, handle.info) < _seconds_apart(part, region.operations[0], handle)


def _seconds_apart(graph: OperationGraph, product: Operation, handle: Handle) -> float:
    """Return the estimate for a product whose result is written and read by one more launch; infinite for none."""
    result = graph.at(product, product.outputs[0][0])
    moved = 2 * result.extent / handle.info.bandwidth
    single = _single_seconds(graph, product, handle)
    if single is None:
        return float("inf")
    floor = host_seconds(2, handle.info) if handle.info.schedule == "gpu" else 0.0
    return max(single + moved + LAUNCH_SECONDS, floor)


def _single_seconds(graph: OperationGraph, product: Operation, handle: Handle) -> float | None:
    """Return the estimate for a node by itself; None where nothing computes it."""
    made = Cut(alone(graph, product))
    add_node(made, product, handle, ())
    return sum(seconds_of(one, handle) for one in made.parts) if made.parts else None


def _lead(
    graph: OperationGraph,
    handle: Handle,
    product: Operation,
    regions: list[Region],
    followers: Sequence[GraphEngine],
    always: bool,
) -> None:
    """Let a product compute what comes before it, where an engine takes that and it is faster."""
    region = next((one for one in regions if product in _with_before(one)), None)
    if product.kind == "pointwise" or region is None:
        return
    chain = next((pair for pair in region.before if pair[0].product is product), None)
    if chain is None and region.engine not in (None, *followers):
        return
    own = [product, *chain[0].operations] if chain else region.operations
    beside = {uid for other, _ in region.before if chain and other is not chain[0] for uid in _results(other)}
    best, limit = None, float("inf") if always else 0.0
    for nodes in before_product(graph, product):
        homes = [one for one in regions if one.engine not in followers and set(nodes) & set(one.operations)]
        if sum(node in one.operations for one in homes for node in nodes) < len(nodes):
            continue  # a product computes some of them already
        for engine in followers:
            joint = Region(engine, [*nodes, *own])
            part = subgraph(graph, joint)
            if len(joint.operations) > MOST_NODES or joint.read & beside or engine.reasons(part, handle.info):
                continue
            apart = seconds_of(chain[1], handle) if chain else _seconds(graph, region, handle)
            saved = sum(_seconds(graph, one, handle) - _seconds(graph, _without(one, nodes), handle) for one in homes)
            cost = engine.seconds(part, handle.info) - apart - saved
            if cost < limit:
                best, limit = joint, cost
    if best is None:
        return
    for one in regions:
        one.operations = [node for node in one.operations if node in own or node not in best.operations]
    if chain:
        region.before.remove(chain)
        regions.insert(regions.index(region), best)
    else:
        regions[regions.index(region)] = best


def _with_before(region: Region) -> list[Operation]:
    return [*region.operations, *(chain.product for chain, _ in region.before)]


def _results(chain: Chain) -> set[int]:
    return {uid for one in (chain.product, *chain.operations) for _, uid in one.outputs}


def _without(region: Region, nodes: Sequence[Operation]) -> Region:
    return Region(region.engine, [node for node in region.operations if node not in nodes])


def _seconds(graph: OperationGraph, region: Region, handle: Handle) -> float:
    """Return the estimate for a region, without what is before it; infinite for a product that nothing computes."""
    if region.engine is not None:
        return region.engine.seconds(subgraph(graph, region), handle.info) if region.operations else 0.0
    single = _single_seconds(graph, region.operations[0], handle)
    return float("inf") if single is None else single


def _pays(chain: Chain, handle: Handle) -> bool:
    """Tell whether a product might compute what follows: on CPUs products are faster without, and activations apart.

    Shorter types than that of sums need conversions where the product's result is not of their type.
    """
    narrow = chain.result.data_type is not chain.kind
    cheap = chain.activation is None or chain.activation[0] in (ActivationMode.RELU, ActivationMode.CLIPPED_RELU)
    return narrow or handle.info.schedule == "gpu" or (cheap and chain.product.kind != "matmul")


def _finish(graph: OperationGraph, handle: Handle, region: Region, reader: Region, always: bool, least: int) -> bool:
    """Let a product compute what follows it by a step of kernels, if one has `least` nodes of that."""
    product = region.operations[0]
    chain = chain_of(graph, product, reader.operations)
    if chain is None or len(chain.operations) < least or not (always or _pays(chain, handle)):
        return False
    low = lowered(graph, chain)
    if low is None:
        return False
    try:
        for step in low.problems:
            check_step(handle, step, product.label)
    except GraphError:
        return False
    slower = handle.info.schedule == "gpu" and seconds_of(low, handle) >= _seconds_apart(graph, product, handle)
    if slower and not always:
        return False
    region.operations.clear()
    reader.operations = [one for one in reader.operations if one not in chain.operations]
    reader.before.append((chain, low))
    return True


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
    for chain, _ in region.before:
        yield from (uid for one in (chain.product, *chain.operations[:-1]) for _, uid in one.outputs)
    yield from (info.uid for info in subgraph(graph, region).infos if info.virtual)
