"""Two replays of one recording, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bfloat16 import as_float64
from ..problem import Problem, TensorSpec, parse
from ..recording.reader import Event, Recording, Step
from ..recording.replay import Replay
from .compare import bounds, compare
from .oracle import exact, terms
from .programs.compare import GAIN, Divergence
from .targets import Target

Numbers = dict[str, npt.NDArray[Any]]
NEAR = 64  # units of rounding up to which results agree without a look at the exact one
_BANDWIDTH = 2e9  # bytes per second between a device and the host, roughly


class Sides:
    """A recording on two targets.

    Parameters
    ----------
    recording, targets
        What to replay, and where; the first target's results are the inputs of both.
    seed
        Of the data.
    """

    def __init__(self, recording: Recording, targets: tuple[Target, Target], seed: int) -> None:
        self._recording, self._targets, self._seed = recording, targets, seed
        self.compared = 0

    def _open(self, events: Sequence[Event]) -> tuple[Replay, Replay]:
        part = replace(self._recording, events=list(events))
        first, second = (Replay(part, open=target.open, seed=self._seed) for target in self._targets)
        return first, second

    def walk(self, events: Sequence[Event]) -> Divergence | None:
        """Return the first call at which the targets differ, comparing all."""
        sides = self._open(events)
        try:
            return next(filter(None, (self._compared(sides, event) for event in events)), None)
        finally:
            _close(sides)

    def diverges(self, events: Sequence[Event]) -> bool:
        """Tell whether the targets differ at the last call, and not before."""
        found = self.walk(events)
        return found is not None and found.call == events[-1].number

    # one call on both

    def _compared(self, sides: tuple[Replay, Replay], event: Event) -> Divergence | None:
        """Make a call on both targets with the same inputs, and compare; then let both have the first one's results."""
        for side in sides:
            _fill(side, event)
        before = [_load(sides[0], event, step) for step in event.steps] if len(event.steps) == 1 else []
        outcomes = [side.make(event) for side in sides]
        if outcomes[0].status != outcomes[1].status:
            told = " / ".join(f"{outcome.status}: {outcome.reason}" for outcome in outcomes)
            return self._divergence("status", event, 0, self._words, told)
        if outcomes[0].kind != "ok" or outcomes[0].status != "SUCCESS":
            return None
        self.compared += bool(event.steps)
        for index, step in enumerate(event.steps):
            found = self._judged(sides, event, index, before[index] if before else None)
            if found is not None:
                return found
            _give(sides, event, step)
        return None

    def _judged(
        self, sides: tuple[Replay, Replay], event: Event, index: int, before: Numbers | None
    ) -> Divergence | None:
        step = event.steps[index]
        problem = parse(step.problem)
        one, other = (_results(side, event, step) for side in sides)
        apart = {name: _apart(problem, name, one[name], other[name]) for name in one}
        if all(distance <= NEAR for distance in apart.values()):
            return None
        if before is None:  # the inputs of a later step are an earlier one's results
            worst = max(apart, key=lambda name: apart[name])
            if apart[worst] <= GAIN:
                return None
            told = f"{worst}: differ by {apart[worst]:.3g} units of rounding of the largest number"
            return self._divergence("parted", event, index, self._words, told)
        for word, found in zip(self._words, (one, other), strict=True):
            told = _wrong(problem, step, before, found)
            if told:
                return self._divergence("wrong", event, index, (word,), told)
        return None

    @property
    def _words(self) -> tuple[str, ...]:
        return tuple(map(str, self._targets))

    @staticmethod
    def _divergence(kind: str, event: Event, index: int, words: tuple[str, ...], told: str) -> Divergence:
        step = event.steps[index] if event.steps else None
        what = step.problem if step else ""
        return Divergence(
            kind, event.number, words, f"{event.site[0]}:{event.site[1]}", f"{event.function}: {what}", told
        )

    # binary search

    def prefixes_cost_less(self) -> bool:
        """Tell whether replaying parts of the recording moves less data than comparing after every call."""
        events = [event for event in self._recording.events if event.steps]
        if len(events) < 2:
            return False
        each = [sum(spec.nbytes for step in event.steps for spec in parse(step.problem).tensors) for event in events]
        memory = {(name, at): spec.nbytes for event in events for _, name, spec, at in _outputs(*event.steps)}
        looks = math.ceil(math.log2(len(events))) + 1
        replays = looks * (sum(event.seconds for event in events) + 2 * sum(memory.values()) / _BANDWIDTH)
        return replays < 2 * sum(each) / _BANDWIDTH

    def search(self, events: Sequence[Event]) -> Divergence | None:
        """Return the first call after which memory differs; None where no call explains by itself that it does."""
        least, most = 0, len(events)
        if self._apart_after(events) <= GAIN:
            return None
        while most - least > 1:
            middle = (least + most) // 2
            if self._apart_after(events[:middle]) > GAIN:
                most = middle
            else:
                least = middle
        sides = self._open(events)
        try:
            for event in events[: most - 1]:
                for side in sides:
                    side.make(event)
                for step in event.steps:
                    _give(sides, event, step)
            return self._compared(sides, events[most - 1])
        finally:
            _close(sides)

    def _apart_after(self, events: Sequence[Event]) -> float:
        """Return how far the results in memory are apart after some calls, in units of rounding."""
        sides = self._open(self._recording.events)
        try:
            for event in events:
                for side in sides:
                    side.make(event)
            worst = 0.0
            for event in events:
                for problem, name, spec, at in _outputs(*event.steps):
                    one, other = (side.memory(event).load(spec, at) for side in sides)
                    worst = max(worst, _apart(problem, name, one, other))
            self.compared += 1
            return worst
        finally:
            _close(sides)


def _close(sides: Sequence[Replay]) -> None:
    for side in sides:
        side.close()


def _outputs(*steps: Step) -> Iterator[tuple[Problem, str, TensorSpec, int]]:
    """Yield what problems write, without byte buffers, whose contents are an engine's own."""
    for step in steps:
        problem = parse(step.problem)
        for name, spec, at in zip(problem.names, problem.tensors, step.addresses, strict=True):
            if name in problem.written and name not in problem.raw:
                yield problem, name, spec, at


def _fill(side: Replay, event: Event) -> None:
    """Fill what a call is about to read and nothing was written to."""
    for step in event.steps if event.status == "SUCCESS" else ():
        problem = parse(step.problem)
        unread = problem.unread(dict(zip(problem.scalars, step.scalars, strict=True)))
        for name, spec, at in zip(problem.names, problem.tensors, step.addresses, strict=True):
            if name not in unread:
                side.memory(event).read(spec, at, name)


def _load(side: Replay, event: Event, step: Step) -> Numbers:
    """Return all numbers of a step's tensors."""
    problem = parse(step.problem)
    places = zip(problem.names, problem.tensors, step.addresses, strict=True)
    return {name: side.memory(event).load(spec, at).copy() for name, spec, at in places}


def _results(side: Replay, event: Event, step: Step) -> Numbers:
    """Return the numbers that a step wrote."""
    return {name: side.memory(event).load(spec, at) for _, name, spec, at in _outputs(step)}


def _give(sides: tuple[Replay, Replay], event: Event, step: Step) -> None:
    """Let the second target have the first one's results, where they differ."""
    for _, _, spec, at in _outputs(step):
        if spec.dtype.is_float:
            one, other = (side.memory(event).load(spec, at) for side in sides)
            if one.tobytes() != other.tobytes():
                sides[1].memory(event).store(spec, at, one)


def _apart(problem: Problem, name: str, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Return the largest difference in units of rounding of the largest number; infinite for NaN and the like."""
    dtype = problem.tensors[problem.index(name)].dtype
    a, b = as_float64(one), as_float64(other)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap = np.where(same, 0.0, np.abs(a - b))
        size = np.abs(a).max(initial=0.0, where=np.isfinite(a)) * (dtype.limits.eps if dtype.is_float else 0.0)
        units = np.where(gap > 0, gap / size, np.where(same, 0.0, np.inf))
    return float(units.max(initial=0.0))


def _wrong(problem: Problem, step: Step, before: Numbers, found: Numbers) -> str:
    """Return how a target's results differ from the exact ones of the inputs that there were; "" where they do not."""
    numbers = dict(zip(problem.scalars, step.scalars, strict=True))
    tensors = [before[name] for name in problem.names]
    want, sums = exact(problem, tensors, numbers), terms(problem, tensors, numbers)
    for name in found.keys() & want.keys():
        due, bound, unknown = bounds(problem, name, want[name], sums.get(name))
        difference = compare(problem, name, found[name], due, bound, unknown)
        if difference.wrong:
            return f"{name}: {difference}"
    return ""
