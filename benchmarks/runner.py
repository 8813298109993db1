"""Time problem lines on one device against a peer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portadnn.enums import DnnEnum
from portadnn.handle import Handle
from portadnn.plan import choose
from portadnn.problem import parse_line

from .call import portadnn_call
from .peer import NoEquivalent, Peer
from .timing import Side, alternate, processor_ratio, ratio

CPU_ROUND, GPU_ROUND = 0.02, 0.01  # seconds of a side's share; other processes do not disturb a GPU's clock


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


def copy_rate(handle: Handle, peer: Peer | None, megabytes: int) -> float:
    """Return the bytes per second, read and written, of a plain copy of that size: the best of all sides' best."""
    line = f"transform_tensor x=f32:{megabytes}x256x32x32 y=f32:{megabytes}x256x32x32"
    problem, scalars = parse_line(line)
    sides = [Side("portadnn", portadnn_call(handle, problem, scalars), handle.device.time)]
    if peer:
        sides.extend(peer.sides(problem, scalars))
    for side in sides:
        side.call()
    return problem.bytes() / min(side.timer(side.call) for side in sides for _ in range(20))


def measure(
    handle: Handle, line: str, peer: Peer | None, copy: float | None, rounds: int, algo: DnnEnum | None = None
) -> list[Row]:
    """Time one problem line, alternating with each of the peer's ways, which get a row each; at least one row.

    `algo` is for convolutions.
    """
    problem, scalars = parse_line(line)
    engine = choose(handle, problem, algo)
    call = portadnn_call(handle, problem, scalars if algo is None else {**scalars, "algo": algo})
    sides, reason = [Side("portadnn", call, handle.device.time)], ""
    try:
        sides.extend(peer.sides(problem, scalars) if peer else ())
    except NoEquivalent as error:
        reason = str(error)
    cpu = handle.info.kind == "cpu"
    ours, *others = alternate(sides, rounds, CPU_ROUND if cpu else GPU_ROUND)

    def row(index: int | None) -> Row:
        other = None if index is None else others[index]
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
        )

    return [row(index) for index in range(len(others))] or [row(None)]


def brief(error: Exception) -> str:
    """Return an exception's name and the first lines of what it says, for a record."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return ": ".join([type(error).__name__, *lines[:3]])[:500]


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def by_operation(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return each operation's geometric mean and lowest ratio over its rows of a record."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        ratios.setdefault(row["line"].split()[0], []).append(row["ratio"])
    return {
        op: {"calls": len(found), "geometric_mean_ratio": geometric_mean(found), "lowest_ratio": min(found)}
        for op, found in sorted(ratios.items())
    }


def as_dict(row: Row) -> dict[str, Any]:
    """Return a row for the record, with the derived rates that people look for."""
    return {
        **row.__dict__,
        "gflops_per_second": row.flops / row.seconds / 1e9,
        "gigabytes_per_second": row.bytes / row.seconds / 1e9,
    }
