"""What a process keeps of its calls: its resident memory over many shapes, and over many calls of few."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import portadnn as dnn
from portadnn.errors import NotSupported
from portadnn.handle import Handle

SAMPLES = 100  # of each run
_STATM = Path("/proc/self/statm")
Shape = tuple[int, int, int, int, int, int]  # n, c, h, w, k, r


@dataclass(frozen=True)
class Sample:
    """Calls made so far, the process's resident bytes then, and seconds since the start."""

    calls: int
    resident: int
    seconds: float


@dataclass(frozen=True)
class Run:
    """One measured run.

    Attributes
    ----------
    shapes, calls : int
        Different shapes, and calls in all.
    samples : tuple of Sample
        From before the first call to after the last.
    """

    name: str
    shapes: int
    calls: int
    samples: tuple[Sample, ...]

    @property
    def peak(self) -> int:
        """The most resident bytes."""
        return max(sample.resident for sample in self.samples)

    @property
    def growth(self) -> float:
        """Bytes a call from the middle of the run to its end, when all caches are full."""
        middle, last = self.samples[len(self.samples) // 2], self.samples[-1]
        return (last.resident - middle.resident) / max(last.calls - middle.calls, 1)


def resident() -> int:
    """Return the bytes of this process that are in memory.

    Raises
    ------
    NotSupported
        The system does not say, as only Linux does.
    """
    try:
        return int(_STATM.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        raise NotSupported(argument="system", expected="Linux, which has /proc/self/statm", got=os.name) from None


def shapes(count: int, seed: int = 1) -> Sequence[Shape]:
    """Return so many different small convolutions, in no order."""
    every = list(itertools.product((1, 2), range(1, 9), range(4, 15), range(4, 15), range(1, 9), (1, 3)))
    return random.Random(seed).sample(every, count)


def _convolution(handle: Handle, shape: Shape) -> Callable[[], Any]:
    """Return a convolution's call on arrays of its own."""
    n, c, h, w, k, r = shape
    padding = dnn.ConvolutionDescriptor(padding=(r // 2, r // 2))
    x, weights, y = handle.zeros((n, c, h, w)), handle.zeros((k, c, r, r)), handle.empty((n, k, h, w))
    return lambda: dnn.convolution_forward(handle, x, weights, padding, y)


def new_shapes(handle: Handle, count: int) -> Run:
    """Make calls of so many different shapes, one of each."""
    made = (_convolution(handle, shape) for shape in shapes(count))
    return _measured(handle, "a new shape each call", count, made, count)


def few_shapes(handle: Handle, count: int, kinds: int = 100) -> Run:
    """Make so many calls of a few shapes, again and again; every other round with arrays of its own."""
    chosen = shapes(kinds)
    kept = [_convolution(handle, shape) for shape in chosen]

    def calls() -> Iterator[Callable[[], Any]]:
        for turn in range(count):
            which = turn % kinds
            yield kept[which] if turn // kinds % 2 else _convolution(handle, chosen[which])

    return _measured(handle, "few shapes again and again", kinds, calls(), count)


def _measured(handle: Handle, name: str, kinds: int, calls: Iterator[Callable[[], Any]], count: int) -> Run:
    start, every = time.monotonic(), max(count // SAMPLES, 1)
    samples = [Sample(0, resident(), 0.0)]
    for done, call in enumerate(calls, 1):
        call()
        if done % every == 0 or done == count:
            handle.synchronize()
            samples.append(Sample(done, resident(), round(time.monotonic() - start, 1)))
    return Run(name, kinds, count, tuple(samples))


def as_record(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return runs as a record has them."""
    return [
        {**asdict(run), "samples": [list(asdict(sample).values()) for sample in run.samples]}
        | {"peak": run.peak, "growth": run.growth}
        for run in runs
    ]
