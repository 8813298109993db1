"""Fused graphs beside the same graphs node by node, and beside cuDNN's on a GPU that has it.

``portadnn bench graphs DIR`` measures the graphs of `graph_blocks` and writes the record.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import portadnn.graph as pg
from portadnn.graph.data_types import data_type
from portadnn.graph.memory.host import number
from portadnn.handle import Handle

from .call import normal_values
from .runner import brief, geometric_mean
from .sets.graph_blocks import GRAPHS, PRODUCTS, Block
from .timing import Side, Timer, alternate, processor_ratio, ratio

BATCH = 200  # calls of a small graph between two waits
_QUEUED = 3e-4  # seconds of calls that are timed together where the device is kept busy while they are enqueued


class Refused(Exception):
    """The peer has no plan for a graph; the message says why."""


class GraphPeer(Protocol):
    """Another library that runs the graphs, on the default stream of the handle's device."""

    def describe(self) -> dict[str, Any]:
        """Return what a record has to say of the peer."""

    def busy(self) -> None:
        """Enqueue some milliseconds of other work, in which the host enqueues what is timed."""

    def synchronize(self) -> None:
        """Wait for what is enqueued."""

    def call(self, name: str, size: int, dtype: data_type) -> Callable[[], None]:
        """Return a call of a built graph on memory of its own.

        Raises
        ------
        Refused
            There is no plan for the graph.
        """


@dataclass(frozen=True)
class GraphRow:
    """One graph: seconds of the device fused and node by node, how often as fast, and the host's for a call.

    `host_seconds` is what a caller waits for a call that is only enqueued, `host_processor_seconds` the processor time
    of the calling thread in it: on a CPU the kernels' threads may take the caller's core away.
    On CPUs that other processes share, the ratio of processor time tells more. What could not be measured is None, and
    `error` or `peer_note` says why.
    """

    graph: str
    products: bool = False
    plan: str = ""
    seconds: float | None = None
    node_by_node: float | None = None
    ratio: float | None = None
    processor_ratio: float | None = None
    host_seconds: float | None = None
    host_processor_seconds: float | None = None
    peer_seconds: float | None = None
    peer_ratio: float | None = None
    peer_host_seconds: float | None = None
    peer_note: str = ""
    error: str = ""


def build(handle: Handle, name: str, size: int, dtype: data_type, without: tuple[str, ...] = ()) -> Any:
    """Return a built graph; `without` names engines that are left out."""
    g = pg.pygraph(
        name=name,
        io_data_type=dtype,
        intermediate_data_type=data_type.FLOAT,
        compute_data_type=data_type.FLOAT,
        handle=handle,
    )
    for out in GRAPHS[name](Block(pg, g, size)):
        out.set_output(True)
    g.deselect_engines(list(without))
    g.build([pg.heur_mode.A, pg.heur_mode.FALLBACK])
    return g


def _call(g: Any, handle: Handle) -> Callable[[], None]:
    """Return a call on new memory of the handle's device, of random numbers."""
    pack = {}
    for info in g._graph_frozen().packed:
        if info.by_value:
            pack[info.uid] = number(info.value, info)
            continue
        values = normal_values(info.data_type.stored, info.span, info.uid, deviation=0.5)
        pack[info.uid] = handle.asarray(values.reshape(1, 1, -1))
    return lambda: g.execute(pack)


def _host_seconds(call: Callable[[], None], synchronize: Callable[[], None]) -> tuple[float, float]:
    """Return the host's seconds for a call that is only enqueued: by the clock, and the calling thread's alone."""
    clock, processor = [], []
    for _ in range(7):
        synchronize()
        start, own = time.perf_counter(), time.thread_time()
        for _ in range(BATCH):
            call()
        processor.append((time.thread_time() - own) / BATCH)
        clock.append((time.perf_counter() - start) / BATCH)
    synchronize()
    return statistics.median(clock), statistics.median(processor)


def _peer_call(peer: GraphPeer, name: str, size: int, dtype: data_type) -> tuple[Callable[[], None] | None, str]:
    """Return a call that has run, or None and why not."""
    try:
        call = peer.call(name, size, dtype)
        call()
        peer.synchronize()
    except Refused as refused:
        return None, f"refused: {refused}"[:500]
    except Exception as error:  # whatever it is, the other graphs are measured
        return None, f"error: {brief(error)}"
    return call, ""


def _keeping_busy(timer: Timer, busy: Callable[[], None]) -> Timer:
    """Return a timer of the device alone: what it times is enqueued while the device does other work."""

    def timed(function: Callable[[], None]) -> float:
        busy()
        return timer(function)

    return timed


def measure(
    handle: Handle, name: str, size: int, dtype: data_type, rounds: int, peer: GraphPeer | None = None
) -> GraphRow:
    """Time one graph, fused, node by node, and by the peer in turn.

    Beside a peer the device is kept busy while calls are enqueued, so that times are of the device alone.
    """
    fused = build(handle, name, size, dtype)
    apart = build(handle, name, size, dtype, ("fusion", "regions", "product"))
    timer = _keeping_busy(handle.device.time, peer.busy) if peer else handle.device.time
    sides = [Side(label, _call(g, handle), timer) for label, g in (("fused", fused), ("node by node", apart))]
    theirs, note = _peer_call(peer, name, size, dtype) if peer else (None, "")
    if theirs is not None:
        sides.append(Side("peer", theirs, timer))
    ours, *others = alternate(sides, rounds, _QUEUED) if peer else alternate(sides, rounds)
    small = _call(build(handle, name, 1, dtype), handle)
    facts: dict[str, Any] = {"peer_note": note}
    if peer and len(others) > 1:
        facts = {"peer_seconds": others[1].median, "peer_ratio": ratio(ours, others[1])}
        tiny, facts["peer_note"] = _peer_call(peer, name, 1, dtype)
        if tiny is not None:
            facts["peer_host_seconds"], _ = _host_seconds(tiny, peer.synchronize)
    return GraphRow(
        name,
        any(operation.kind in PRODUCTS for operation in fused._graph_frozen().operations),
        fused.get_plan_name(),
        ours.median,
        others[0].median,
        ratio(ours, others[0]),
        processor_ratio(ours, others[0]),
        *_host_seconds(small, handle.synchronize),
        **facts,
    )


def attempt(
    handle: Handle, name: str, size: int, dtype: data_type, rounds: int, peer: GraphPeer | None = None
) -> GraphRow:
    """Return `measure`, or a row that says what went wrong."""
    try:
        return measure(handle, name, size, dtype, rounds, peer)
    except Exception as error:  # one graph's failure does not end the run
        return GraphRow(name, error=brief(error))


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the geometric mean of what was measured."""
    found = [value for value in values if value]
    return geometric_mean(found) if found else None


def as_record(rows: Sequence[GraphRow], size: int, dtype: data_type, peer: GraphPeer | None = None) -> dict[str, Any]:
    """Return what a record says of the rows."""
    facts: dict[str, Any] = {
        "size": size,
        "type": dtype.name,
        "peer": peer.describe() if peer else None,
        "geometric_mean_ratio": _mean([row.ratio for row in rows]),
        "geometric_mean_processor_ratio": _mean([row.processor_ratio for row in rows]),
    }
    if peer:
        groups = {
            "all": rows,
            "products": [row for row in rows if row.products],
            "pointwise_and_norms": [row for row in rows if not row.products],
        }
        facts["geometric_mean_peer_ratio"] = {k: _mean([row.peer_ratio for row in g]) for k, g in groups.items()}
        ratios = [
            row.peer_host_seconds / row.host_seconds for row in rows if row.peer_host_seconds and row.host_seconds
        ]
        facts["geometric_mean_peer_host_ratio"] = _mean(ratios)
    return {**facts, "graphs": [asdict(row) for row in rows]}
