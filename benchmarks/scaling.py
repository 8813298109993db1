"""How the time of a call grows with its tensors: what callers see, and what the device takes for itself.

A launch costs the host some microseconds, in which a GPU reads some 20 MB; so each call is timed in several ways:

- called: one after the other, as Python makes them; the slower of host and device counts;
- queued: the same launches, enqueued while the device is busy with other work, so that it never waits for the host;
- graph (CUDA): the same launches, replayed from a CUDA graph;
- in turn: as graph (else as queued), but on several sets of arrays in turn that no cache holds together. The other ways
  use one set, so that small tensors are read from the cache where the call before left them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from portadnn.handle import Handle
from portadnn.problem import Problem, parse_line

from .call import other_work, portadnn_call
from .timing import MOST_QUEUED, Side, alternate, queued, repeated

WITHIN = 1.2  # times the time per element of the largest tensors
_CACHED = 256 << 20  # bytes that no cache holds
_ROUND = 2e-3  # seconds of calls to be timed

Call = Callable[[], Any]


@dataclass(frozen=True)
class ScalingRow:
    """One call at one size: medians of seconds a call; `sets` is how many sets of arrays `in_turn` had."""

    line: str
    bytes: int
    called: float
    queued: float
    graph: float | None
    in_turn: float
    sets: int

    @property
    def op(self) -> str:
        """The operation."""
        return self.line.split()[0]


class _Meter:
    """Times calls on a handle's device; on CUDA the handle gets a stream of its own, which graphs need."""

    def __init__(self, handle: Handle, rounds: int) -> None:
        self.handle, self.rounds = handle, rounds
        self.time = handle.device.time
        self.cupy: Any = None
        if handle.backend == "cuda":
            import cupy

            self.cupy = cupy
            handle.set_stream(cupy.cuda.Stream(non_blocking=True))
        self.busy = other_work(handle)

    def called(self, call: Call) -> float:
        """Return the seconds of a call among others."""
        return alternate([Side("", call, self.time)], self.rounds, 5 * _ROUND, gpu=True)[0].median

    def queued(self, calls: Sequence[Call], count: int) -> float:
        """Return the seconds that the device takes for a call when all of them are already enqueued."""
        return queued(Side("", calls[0], self.time, self.busy), count, self.rounds, calls)

    def graph(self, calls: Sequence[Call], count: int) -> float:
        """Return the seconds of a call of a CUDA graph of so many."""
        stream = self.handle.get_stream()
        self.handle.synchronize()
        stream.begin_capture()
        try:
            repeated(calls, count)()
        finally:
            graph = stream.end_capture()
        graph.launch(stream)
        return statistics.median(self.time(lambda: graph.launch(stream)) for _ in range(self.rounds)) / count


def _sets(handle: Handle, problem: Problem, scalars: dict[str, Any]) -> list[Call]:
    """Return the call on as many sets of arrays as no cache holds, each made once."""
    calls = [portadnn_call(handle, problem, scalars) for _ in range(1 + _CACHED // problem.bytes())]
    for call in calls:
        call()
    handle.synchronize()
    return calls


def measure(handle: Handle, lines: Sequence[str], rounds: int = 11, most: int = MOST_QUEUED) -> list[ScalingRow]:
    """Time problem lines in every way.

    Parameters
    ----------
    rounds
        Rounds of which the median counts.
    most
        The most launches that are enqueued at a time.
    """
    meter, rows = _Meter(handle, rounds), []
    for line in lines:
        problem, scalars = parse_line(line)
        calls = _sets(handle, problem, scalars)
        called = meter.called(calls[0])
        count = max(1, min(most, round(_ROUND / called)))
        queued = meter.queued(calls[:1], count)
        graph = meter.graph(calls[:1], count) if meter.cupy else None
        whole = -(-count // len(calls)) * len(calls)
        in_turn = (meter.graph if meter.cupy else meter.queued)(calls, whole)
        rows.append(ScalingRow(line, problem.bytes(), called, queued, graph, in_turn, len(calls)))
    return rows


def relative(rows: Sequence[ScalingRow]) -> list[dict[str, float | None]]:
    """Return each row's times per byte, in every way, over that of the same operation's largest tensors as called."""
    largest = {row.op: row for row in sorted(rows, key=lambda row: row.bytes)}

    def of(row: ScalingRow, seconds: float | None) -> float | None:
        base = largest[row.op]
        return None if seconds is None else seconds / row.bytes / (base.called / base.bytes)

    ways = ("called", "queued", "graph", "in_turn")
    return [{way: of(row, getattr(row, way)) for way in ways} for row in rows]


def slowest(rows: Sequence[ScalingRow]) -> dict[str, dict[str, float | None]]:
    """Return, for every operation and way, the most that a size takes per byte, relative to the largest tensors."""
    found: dict[str, dict[str, float | None]] = {}
    for row, ratios in zip(rows, relative(rows), strict=True):
        worst = found.setdefault(row.op, dict.fromkeys(ratios))
        for way, ratio in ratios.items():
            if ratio is not None:
                worst[way] = max(ratio, worst[way] or 0.0)
    return found


def as_record(rows: Sequence[ScalingRow], copy: float) -> dict[str, Any]:
    """Return what a record holds of the rows; `copy` is the bytes per second of a large copy."""
    both = [
        {**asdict(row), "copy_fraction_queued": row.bytes / row.queued / copy, "relative": ratios}
        for row, ratios in zip(rows, relative(rows), strict=True)
    ]
    return {"within": WITHIN, "slowest": slowest(rows), "rows": both}
