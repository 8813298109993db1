"""Times: seconds, GB/s and TFLOP/s of what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from ..cases import Case
from ..results import RunReport
from .summary import operation


@dataclass(frozen=True)
class Timing:
    """A case's time on a target.

    Attributes
    ----------
    case, op, target, engine : str
    seconds : float
        Device time of a call.
    bytes, flops : int
        That the problem has to move and to compute at least.
    """

    case: str
    op: str
    target: str
    engine: str
    seconds: float
    bytes: int
    flops: int

    @property
    def gigabytes(self) -> float:
        """GB/s."""
        return self.bytes / self.seconds / 1e9 if self.seconds > 0 else 0.0

    @property
    def teraflops(self) -> float:
        """TFLOP/s."""
        return self.flops / self.seconds / 1e12 if self.seconds > 0 else 0.0


def timings(report: RunReport) -> list[Timing]:
    """Return what was measured, in the order of the cases."""
    found = []
    for result in report.results:
        timed = [judgement for judgement in result.judgements if judgement.seconds is not None]
        if timed:
            problem = Case.parse(result.case).problem
            moved, computed, op = problem.bytes(), problem.flops(), operation(result)
            found += [Timing(result.case, op, j.target, j.engine, j.seconds or 0.0, moved, computed) for j in timed]
    return found


@dataclass(frozen=True)
class Speed:
    """The times of several cases together.

    Attributes
    ----------
    cases : int
    seconds, gigabytes, teraflops : float
        Medians.
    most_gigabytes, most_teraflops : float
        The largest of each.
    """

    cases: int
    seconds: float
    gigabytes: float
    teraflops: float
    most_gigabytes: float
    most_teraflops: float


def speeds(found: Iterable[Timing]) -> dict[str, dict[str, Speed]]:
    """Return the speeds by operation and target."""
    groups: dict[str, dict[str, list[Timing]]] = {}
    for timing in found:
        groups.setdefault(timing.op, {}).setdefault(timing.target, []).append(timing)
    return {op: {target: _speed(some) for target, some in row.items()} for op, row in sorted(groups.items())}


def _speed(some: list[Timing]) -> Speed:
    gigabytes, teraflops = [t.gigabytes for t in some], [t.teraflops for t in some]
    median = statistics.median
    seconds = median(t.seconds for t in some)
    return Speed(len(some), seconds, median(gigabytes), median(teraflops), max(gigabytes), max(teraflops))


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it: ``"12.3 us"``, ``"4.5 ms"``, ``"1.2 s"``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
