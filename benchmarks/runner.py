"""Time problem lines on one device against a peer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portadnn.dispatch.choice import choose
from portadnn.enums import DnnEnum
from portadnn.handle import Handle
from portadnn.problem import parse_line

from .call import other_work, portadnn_call
from .peers.peer import NoEquivalent, Peer
from .timing import MOST_QUEUED, Side, Timing, alternate, processor_ratio, queued, ratio

CPU_ROUND, GPU_ROUND = 0.02, 0.01  # seconds of a side's share; other processes do not disturb a GPU's clock
SHORT = 5e-5  # seconds of a call in which the host's enqueueing counts
_QUEUED = 2e-3  # seconds of such calls that are enqueued at a time


@dataclass(frozen=True)
class Alone:
    """What a short call takes the device, where the host's part of it counts.

    Attributes
    ----------
    queued, peer_queued
        Medians of seconds, with calls enqueued while the device is busy; None for a peer's call that is not short.
    device_ratio, device_copy_fraction
        A row's `ratio` and `copy_fraction`, of these seconds.
    same_size_copy_fraction
        The seconds of a copy of as many bytes, called likewise in the same run, over the call's own.
    """

    queued: float
    peer_queued: float | None
    device_ratio: float | None
    device_copy_fraction: float
    same_size_copy_fraction: float


@dataclass(frozen=True)
class Row:
    """One measured line, beside one of the peer's ways to compute it.

    Attributes
    ----------
    seconds, peer_seconds, ratio
        Medians, and how many times as fast as the peer (None without one).
    flops, bytes
        What the definition needs.
    copy_fraction
        Bytes per second over those of a large device copy measured in the same run.
    processor_ratio
        On CPUs, the ratio of the processor time of all threads: what a shared machine leaves of the comparison.
    peer_call
        Which way of the peer's, or why it has none.
    alone
        What a short call on a GPU takes it, where the run measures copies.
    """

    line: str
    engine: str
    seconds: float
    peer_seconds: float | None
    ratio: float | None
    flops: int
    bytes: int
    copy_fraction: float | None
    rounds: int
    processor_ratio: float | None = None
    peer_call: str = ""
    alone: Alone | None = None


def _copies(handle: Handle, peer: Peer | None, elements: int) -> list[Side]:
    """Return every side's plain copy of so many floats."""
    problem, scalars = parse_line(f"transform_tensor x=f32:1x1x1x{elements} y=f32:1x1x1x{elements}")
    ours = Side("portadnn", portadnn_call(handle, problem, scalars), handle.device.time)
    return [ours, *(peer.sides(problem, scalars) if peer else ())]


def copy_rate(handle: Handle, peer: Peer | None, megabytes: int) -> float:
    """Return the bytes per second, read and written, of a plain copy of that size: the best of all sides' best."""
    elements = megabytes << 18
    sides = _copies(handle, peer, elements)
    for side in sides:
        side.call()
    return 8 * elements / min(side.timer(side.call) for side in sides for _ in range(20))


class Bench:
    """Times lines on one device against a peer.

    Parameters
    ----------
    handle, peer
        The device, and what it is held against.
    copy
        Bytes per second of a large copy; None where only the calls are asked for.
    rounds
        Rounds of which the median counts.
    """

    def __init__(self, handle: Handle, peer: Peer | None, copy: float | None, rounds: int) -> None:
        self.handle, self.peer, self.copy, self.rounds = handle, peer, copy, rounds
        self._busy = other_work(handle)
        self._copies: dict[int, float] = {}

    def _copy_seconds(self, nbytes: int) -> float:
        """Return the seconds of the fastest side's copy that reads and writes so many bytes together."""
        elements = max(1, nbytes // 8)
        if elements not in self._copies:
            timings = alternate(_copies(self.handle, self.peer, elements), self.rounds, GPU_ROUND, gpu=True)
            self._copies[elements] = min(timing.median for timing in timings)
        return self._copies[elements]

    def _queued(self, side: Side, timing: Timing) -> float | None:
        """Return what a short call takes the device alone; None for others, and where that cannot be told."""
        if side.busy is None or timing.median > SHORT:
            return None
        return queued(side, max(1, min(MOST_QUEUED, round(_QUEUED / timing.median))), self.rounds)

    def _alone(self, sides: list[Side], timings: list[Timing], nbytes: int) -> list[Alone | None]:
        """Return what our short call, the first side's, takes the device, beside each other side; at least one."""
        ours = timings[0]
        others: list[tuple[Side, Timing] | None] = [*zip(sides[1:], timings[1:], strict=True)] or [None]
        seconds = self._queued(sides[0], ours) if self.copy and self.handle.info.kind == "gpu" else None
        if self.copy is None or seconds is None:
            return [None for _ in others]
        found: list[Alone | None] = []
        for other in others:
            peer = None if other is None else self._queued(*other)
            ratio = None if other is None else (peer or other[1].median) / seconds
            copies = nbytes / seconds / self.copy, self._copy_seconds(nbytes) / ours.median
            found.append(Alone(seconds, peer, ratio, *copies))
        return found

    def measure(self, line: str, algo: DnnEnum | None = None) -> list[Row]:
        """Time one problem line, alternating with each of the peer's ways, which get a row each; at least one row.

        `algo` is for convolutions.
        """
        handle, rounds, copy = self.handle, self.rounds, self.copy
        problem, scalars = parse_line(line)
        engine = choose(handle, problem, algo)
        call = portadnn_call(handle, problem, scalars if algo is None else {**scalars, "algo": algo})
        sides, reason = [Side("portadnn", call, handle.device.time, self._busy)], ""
        try:
            sides.extend(self.peer.sides(problem, scalars) if self.peer else ())
        except NoEquivalent as error:
            reason = str(error)
        cpu = handle.info.kind == "cpu"
        ours, *others = timings = alternate(sides, rounds, CPU_ROUND if cpu else GPU_ROUND, gpu=not cpu)

        def row(other: Timing | None, alone: Alone | None) -> Row:
            return Row(
                line=line,
                engine=engine.name,
                seconds=ours.median,
                peer_seconds=other.median if other else None,
                ratio=ratio(ours, other) if other else None,
                flops=problem.flops(),
                bytes=problem.bytes(),
                copy_fraction=problem.bytes() / ours.median / copy if copy else None,
                rounds=rounds,
                processor_ratio=processor_ratio(ours, other) if other and cpu else None,
                peer_call=other.name if other else reason,
                alone=alone,
            )

        return list(map(row, others or [None], self._alone(sides, timings, problem.bytes())))


def brief(error: Exception) -> str:
    """Return an exception's name and the first lines of what it says, for a record."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return ": ".join([type(error).__name__, *lines[:3]])[:500]


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def by_operation(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return each operation's geometric mean and lowest ratio over its rows of a record, and those on the device."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["line"].split()[0], []).append(row)
    return {op: {"calls": len(some), **means(some)} for op, some in sorted(found.items())}


def means(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the geometric mean and the lowest of the rows' ratios, and of those on the device."""
    found = {}
    for word in ("ratio", "device_ratio"):
        ratios = [row.get(word, row["ratio"]) for row in rows]  # a long call's is the device's
        found.update({f"geometric_mean_{word}": geometric_mean(ratios), f"lowest_{word}": min(ratios)})
    return found


def as_dict(row: Row) -> dict[str, Any]:
    """Return a row for the record, with the derived rates that people look for."""
    facts = dict(row.__dict__)
    alone = facts.pop("alone")
    return {
        **facts,
        **(alone.__dict__ if alone else {}),
        "gflops_per_second": row.flops / row.seconds / 1e9,
        "gigabytes_per_second": row.bytes / row.seconds / 1e9,
    }
