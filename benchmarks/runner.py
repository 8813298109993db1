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
from .peers import TorchPeer
from .timing import Side, alternate, processor_ratio, ratio


@dataclass(frozen=True)
class Row:
    """One measured line.

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


def copy_rate(handle: Handle, peer: TorchPeer | None, megabytes: int) -> float:
    """Return the bytes per second, read and written, of a plain copy of that size: the best of both sides' best."""
    line = f"transform_tensor x=f32:{megabytes}x256x32x32 y=f32:{megabytes}x256x32x32"
    problem, scalars = parse_line(line)
    sides = [Side("portadnn", portadnn_call(handle, problem, scalars), handle.device.time)]
    other = peer.side(problem) if peer else None
    if other:
        sides.append(other)
    for side in sides:
        side.call()
    return problem.bytes() / min(side.timer(side.call) for side in sides for _ in range(20))


def measure(
    handle: Handle, line: str, peer: TorchPeer | None, copy: float | None, rounds: int, algo: DnnEnum | None = None
) -> Row:
    """Time one problem line, alternating with the peer where there is one; `algo` is for convolutions."""
    problem, scalars = parse_line(line)
    engine = choose(handle, problem, algo)
    call = portadnn_call(handle, problem, scalars if algo is None else {**scalars, "algo": algo})
    sides = [Side("portadnn", call, handle.device.time)]
    other = peer.side(problem) if peer else None
    if other:
        sides.append(other)
    timings = alternate(sides, rounds)
    ours = timings[0].median
    return Row(
        line=line,
        engine=engine.name,
        seconds=ours,
        peer_seconds=timings[1].median if other else None,
        ratio=ratio(timings[0], timings[1]) if other else None,
        flops=problem.flops(),
        bytes=problem.bytes(),
        copy_fraction=problem.bytes() / ours / copy if copy else None,
        rounds=rounds,
        processor_ratio=processor_ratio(*timings) if other and handle.info.kind == "cpu" else None,
    )


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def as_dict(row: Row) -> dict[str, Any]:
    """Return a row for the record, with the derived rates that people look for."""
    return {
        **row.__dict__,
        "gflops_per_second": row.flops / row.seconds / 1e9,
        "gigabytes_per_second": row.bytes / row.seconds / 1e9,
    }
