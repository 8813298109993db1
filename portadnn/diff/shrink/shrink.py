"""Shrinking: from a case that fails to the smallest one that still fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...errors import DnnError
from ..cases import Case
from ..results import Reproducer
from ..verdict import CaseResult, Judgement, Verdict
from .steps import Step, capped, data_steps, plain_steps, shortened, size_steps

BUDGET = 600  # cases to run
SECONDS = 240.0  # and how long to go on, where each takes long
REPEATS = 3  # runs of a case that may fail at random
CAPS = (1, 2, 3, 4, 8, 16, 32)  # for all sizes at once

Examine = Callable[[Case], CaseResult]


@dataclass(frozen=True)
class Failure:
    """One way to fail.

    Attributes
    ----------
    target : str
        Whose fault it is.
    kind : str
        ``"numbers"``, the kind of a :class:`~portadnn.diff.running.Violation`, or how the call ended, such as
        ``"EXECUTION_FAILED"`` or ``"CRASHED"``.
    """

    target: str
    kind: str


@dataclass(frozen=True)
class Shrunk:
    """What shrinking found.

    Attributes
    ----------
    case, smallest : Case
        The one that failed, and the smallest one that does.
    failure : Failure
        How both fail.
    engine : str
        What computed the wrong numbers, where one did.
    result : CaseResult
        Of the smallest case.
    tried : int
        How many cases were run.
    finished : bool
        False where the budget ended before everything was tried.
    failed, runs : int
        How often the smallest case failed, in how many runs.
    """

    case: Case
    smallest: Case
    failure: Failure
    engine: str
    result: CaseResult
    tried: int
    finished: bool
    failed: int
    runs: int

    @property
    def flaky(self) -> bool:
        """Whether the smallest case fails at random."""
        return self.failed < self.runs

    def __str__(self) -> str:
        told = f"{self.smallest}\n{self.failure.target}: {self.failure.kind}: {self.result.reason}"
        if self.flaky:
            told += f"\nIt fails at random: {self.failed} of {self.runs} runs did."
        if not self.finished:
            told += f"\nA smaller one may exist: the budget ended after {self.tried} runs."
        return told

    def reproducer(self, script: str = "") -> Reproducer:
        """Return it as reports have it."""
        return Reproducer(str(self.case), str(self.smallest), script, self.tried)


def kind_of_failure(judgement: Judgement) -> str:
    """Return in which way a target failed; "" where it did not."""
    if judgement.verdict not in (Verdict.FAILED, Verdict.ERROR):
        return ""
    if judgement.worst is not None:
        return "numbers"
    if judgement.violations:
        return judgement.violations[0].kind
    return judgement.status


def failures(result: CaseResult) -> dict[Failure, Judgement]:
    """Return the ways in which a case fails: those of the targets that are blamed."""
    found = {}
    for judgement in result.judgements:
        kind = kind_of_failure(judgement)
        if kind and judgement.target in result.blamed:
            found[Failure(judgement.target, kind)] = judgement
        elif kind and "reference" in result.blamed:
            found.setdefault(Failure("reference", kind), judgement)
    return found


def shrink(case: Case, examine: Examine, *, budget: int = BUDGET, seconds: float = SECONDS) -> Shrunk | None:
    """Return the smallest case that fails as this one does; None for one that does not fail.

    It is smallest in that no single step of :mod:`~portadnn.diff.shrink.steps` makes it simpler and still fails, on the
    engine that failed, or on whichever is taken where that one declines. The engine is named in the smallest case only
    where dispatch would take another. A call that must fail is made smaller as long as another target refuses it as it
    is due: where none does, nothing says that a smaller one must fail.

    Parameters
    ----------
    case
        A case that fails.
    examine
        Runs a case on all targets, as :func:`portadnn.diff.examine` does, in a process of its own where it may crash.
    budget, seconds
        Cases to run at most, and when to begin no other one.
    """
    return _Shrinking(examine, budget, seconds).run(case)


class _Exhausted(Exception):
    """The budget is spent."""


class _Shrinking:
    """One search. Results are kept by the cases' lines; a case that fails at random is run several times."""

    def __init__(self, examine: Examine, budget: int, seconds: float) -> None:
        self._examine, self._budget, self._end = examine, budget, time.monotonic() + seconds
        self._seen: dict[str, bool] = {}
        self._right: dict[str, bool] = {}  # cases that the engine computed rightly
        self._engine = ""
        self._repeats = 1
        self._failure: Failure | None = None
        self.tried = 0

    def run(self, case: Case) -> Shrunk | None:
        first = [self._look(case) for _ in range(REPEATS)]
        failing = [(result, found) for result, found in first if found]
        if not failing:
            return None
        self._failure = next(iter(failing[0][1]))
        if any(self._failure not in found for _, found in first):
            self._repeats = REPEATS
        self._seen[str(case)] = True
        engine = failing[0][1][self._failure].engine
        self.best, self._engine, finished = case, engine, True
        if _due(case, failing[0][0]):
            try:
                self._search(engine)
            except _Exhausted:
                finished = False
        return self._told(case, failing[0], finished)

    def _look(self, case: Case) -> tuple[CaseResult | None, dict[Failure, Judgement]]:
        """Run a case once."""
        self.tried += 1
        try:
            result = self._examine(case)
        except DnnError:  # no case at all
            return None, {}
        return result, failures(result)

    def _fails(self, case: Case) -> bool:
        """Tell whether a case fails in the same way."""
        text = str(case)
        if text not in self._seen:
            if not case.engine and self._right.get(str(replace(case, engine=self._engine)), False):
                return False
            if self.tried + self._repeats > self._budget or time.monotonic() > self._end:
                raise _Exhausted
            looks = [self._look(case) for _ in range(self._repeats)]
            self._seen[text] = any(self._failure in found and _due(case, result) for result, found in looks)
            self._right[text] = bool(case.engine) and not self._seen[text] and not any(map(self._declined, looks))
        return self._seen[text]

    def _declined(self, look: tuple[CaseResult | None, dict[Failure, Judgement]]) -> bool:
        """Tell whether the engine that a case names did not take it."""
        judgements = look[0].judgements if look[0] is not None else []
        return not any(j.target == self._failure.target and j.engine for j in judgements) if self._failure else False

    def _take(self, case: Case) -> bool:
        """Go on from a case, if it fails."""
        if str(case) == str(self.best) or not self._fails(case):
            return False
        self.best = case
        return True

    def _search(self, engine: str) -> None:
        if engine and not self.best.engine:  # dispatch would take others for smaller problems
            self._take(replace(self.best, engine=engine, algo=""))
        self._settle()
        if engine and self._take(replace(self.best, engine="")):
            self._settle()

    def _settle(self) -> None:
        """Make steps until none is left that fails."""
        before = None
        while before != self.best:
            before = self.best
            self._all_at_once(plain_steps)
            self._cap()
            for steps in (plain_steps, size_steps, data_steps):
                self._each(steps)

    def _all_at_once(self, steps: Callable[[Case], list[tuple[str, Step]]]) -> None:
        case = self.best
        for _, step in steps(case):
            case = next(step(case), case)
        self._take(case)

    def _cap(self) -> None:
        """Find the lowest cap for all sizes with which the case still fails."""
        for most in CAPS:
            if self._take(capped(self.best, most)):
                return

    def _each(self, steps: Callable[[Case], list[tuple[str, Step]]]) -> None:
        """Make each step as far as it goes."""
        done: set[str] = set()
        while True:
            name, step = next(((n, s) for n, s in steps(self.best) if n not in done), ("", None))
            if step is None:
                return
            done.add(name)
            while any(self._take(candidate) for candidate in _some(step, self.best)):
                pass

    def _told(self, case: Case, first: tuple[CaseResult | None, dict[Failure, Judgement]], finished: bool) -> Shrunk:
        """Run the smallest case a few times more and say what was found."""
        assert self._failure is not None
        smallest = shortened(self.best)
        runs = [self._look(smallest) for _ in range(REPEATS)]
        failing = [(result, found) for result, found in runs if self._failure in found]
        result, found = failing[0] if failing else first
        assert result is not None
        return Shrunk(
            case,
            smallest,
            self._failure,
            found[self._failure].engine,
            result,
            self.tried,
            finished,
            len(failing),
            len(runs),
        )


def _due(case: Case, result: CaseResult | None) -> bool:
    """Tell whether what fails is known to be wrong: of a call that must fail, because a target refuses it rightly."""
    if case.expect == "SUCCESS":
        return True
    return result is not None and any(judgement.status == case.expect for judgement in result.judgements)


def _some(step: Step, case: Case) -> Iterator[Case]:
    """Yield a step's candidates; where a candidate cannot be made, there is none."""
    try:
        yield from step(case)
    except DnnError:
        return
