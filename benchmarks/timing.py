"""Alternating timing: both sides in the same rounds, so that drift of the machine hits both alike."""

from __future__ import annotations

import ctypes
import functools
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import processors

Timer = Callable[[Callable[[], None]], float]  # returns the seconds of what the function enqueues


@dataclass(frozen=True)
class Side:
    """One contender: a call to repeat, and the timer of its device.

    `busy` enqueues some milliseconds of other work where the call's goes; None where that cannot be.
    """

    name: str
    call: Callable[[], Any]
    timer: Timer
    busy: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Timing:
    """Seconds per call of each round, and the seconds that all threads of the process were busy with one."""

    name: str
    seconds: tuple[float, ...]
    processor: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """The figure to quote."""
        return statistics.median(self.seconds)


def wall(function: Callable[[], None]) -> float:
    """Time a function that returns when its work is done."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def keep_pages() -> None:
    """Let the C allocator keep large blocks, or else every large CPU result pays for fresh pages on each call."""
    try:
        libc = ctypes.CDLL(None)
        m_trim_threshold, m_mmap_threshold = -1, -3
        libc.mallopt(m_trim_threshold, 1 << 30)
        libc.mallopt(m_mmap_threshold, 1 << 30)
    except (OSError, AttributeError):
        return  # another C library: nothing to set


def repeated(calls: Sequence[Callable[[], Any]], count: int) -> Callable[[], None]:
    """Return a function that makes so many calls, in turn."""

    def run() -> None:
        for call in itertools.islice(itertools.cycle(calls), count):
            call()

    return run


MOST_QUEUED = 100  # launches, which every queue holds
_BUSY = 4e-3  # seconds of other work, in which a host enqueues as many


class OtherWork:
    """What keeps a device busy, for as long as a host takes to enqueue calls; made when it is first asked for.

    Parameters
    ----------
    make
        Returns a call that takes the device some tens of microseconds or more.
    timer
        The device's.
    """

    def __init__(self, make: Callable[[], Callable[[], Any]], timer: Timer) -> None:
        self._make, self._timer = make, timer

    @functools.cached_property
    def _work(self) -> Callable[[], None]:
        call = self._make()
        call()
        return repeated([call], max(1, round(_BUSY / min(self._timer(call) for _ in range(3)))))

    def __call__(self) -> None:
        """Enqueue it."""
        self._work()


def queued(side: Side, count: int, rounds: int, calls: Sequence[Callable[[], Any]] = ()) -> float:
    """Return the seconds that a device takes for a call when all of them are already enqueued; the median of rounds.

    Parameters
    ----------
    side
        It can make its device busy.
    calls
        Several in turn instead of the side's one.
    """
    work, other = repeated(calls or [side.call], count), side.busy
    assert other is not None

    def both() -> None:
        other()
        work()

    return statistics.median(side.timer(both) - side.timer(other) for _ in range(rounds)) / count


def _count(side: Side, target: float) -> int:
    """Return how often a side repeats its call to take so many seconds, at most a thousand times.

    A call alone takes longer than one of many, by the wait for its end: a clock of the host's sees that.
    """
    side.timer(side.call)
    once, count = min(side.timer(side.call) for _ in range(2)), 1
    for _ in range(2):
        count = max(count, min(1000, round(target / max(once, 1e-7))))
        if count < 10:
            break
        once = side.timer(repeated([side.call], count)) / count
    return count


def alternate(sides: list[Side], rounds: int = 11, target: float = 0.02, *, gpu: bool = False) -> list[Timing]:
    """Time all sides in turn, round by round.

    Parameters
    ----------
    sides
        The contenders.
    rounds
        Rounds that count, after two that do not.
    target
        Seconds that one side's share of a round should take; it repeats its call accordingly.
    gpu
        Whether all computing is a GPU's. Each round is then called from the fastest processor.
    """
    counts = [_count(side, target) for side in sides]
    seconds: list[list[float]] = [[] for _ in sides]
    processor: list[list[float]] = [[] for _ in sides]
    with processors.fastest(gpu) as move:
        for number in range(rounds + 2):
            move()
            for side, count, record, busy in zip(sides, counts, seconds, processor, strict=True):
                start = time.process_time()
                spent = side.timer(repeated([side.call], count)) / count
                if number >= 2:
                    record.append(spent)
                    busy.append((time.process_time() - start) / count)
    return [Timing(side.name, tuple(s), tuple(p)) for side, s, p in zip(sides, seconds, processor, strict=True)]


def ratio(ours: Timing, peer: Timing) -> float:
    """Return how many times as fast as the peer we are: the median over rounds of peer / ours."""
    return statistics.median(p / o for o, p in zip(ours.seconds, peer.seconds, strict=True))


def processor_ratio(ours: Timing, peer: Timing) -> float:
    """Return the same of processor time, which tells more where a CPU is shared with other processes."""
    return statistics.median(p / o for o, p in zip(ours.processor, peer.processor, strict=True))
