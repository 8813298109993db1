"""A campaign: cases from anywhere, run by anything, with a journal, budgets and an orderly end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ...errors import BadParam
from ..cases import Case
from ..results import RunReport, environment, now
from ..verdict import CaseResult, Verdict
from .journal import Journal
from .pool import Facts, Runner

BROKEN = (Verdict.FAILED, Verdict.ERROR)


@dataclass(frozen=True)
class Budget:
    """When a campaign ends before its cases do.

    Attributes
    ----------
    seconds : float or None
        Of this run; what is under way when they are over is not waited for.
    failures : int or None
        Cases that failed or broke.
    """

    seconds: float | None = None
    failures: int | None = None

    def spent(self, seconds: float, results: Iterable[CaseResult]) -> bool:
        """Tell whether a run of so many seconds ends with these results."""
        if self.seconds is not None and seconds >= self.seconds:
            return True
        return self.failures is not None and sum(r.verdict in BROKEN for r in results) >= self.failures


class Interrupted(KeyboardInterrupt):
    """A signal ended a campaign; `report` holds what was finished."""

    def __init__(self, report: RunReport) -> None:
        super().__init__("interrupted")
        self.report = report


class Signals:
    """Notes SIGINT and SIGTERM instead of ending what is being written; a second one ends it."""

    def __init__(self) -> None:
        self.came = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True

    @contextmanager
    def watched(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run_campaign(
    cases: Iterable[Case],
    runner: Runner,
    *,
    settings: Mapping[str, Any] | None = None,
    journal: Journal | None = None,
    budget: Budget = Budget(),
    observe: Callable[[CaseResult, bool], None] | None = None,
) -> RunReport:
    """Run cases and return the report; what the journal has already is not run again.

    Parameters
    ----------
    cases
        In an order that is the same whenever the settings are. They are drawn while others run.
    runner
        Where cases run; it is left open.
    settings
        What decides cases and verdicts, as values that JSON has; a journal is continued with the same ones alone.
    journal
        Gets each result as soon as there is one.
    budget
        When to end before the cases do.
    observe
        Called with each result, and whether it came from the journal.

    Raises
    ------
    BadParam
        The journal is of other settings, targets or cases.
    Interrupted
        SIGINT or SIGTERM came; the journal is complete.
    """
    began = time.monotonic()
    facts = runner.open()
    settings = dict(settings or {})
    if journal is not None:
        journal.begin(settings, facts)
    report = RunReport(
        facts, settings, started=(journal.started if journal else "") or now(), environment=environment()
    )
    found: dict[int, CaseResult] = {}
    signals = Signals()

    def note(number: int, result: CaseResult, *, old: bool) -> None:
        found[number] = result
        if observe is not None:
            observe(result, old)

    def is_over() -> bool:
        return signals.came or budget.spent(time.monotonic() - began, found.values())

    todo = _fresh(cases, journal, lambda number, result: note(number, result, old=True))
    with signals.watched():
        results = runner.results(todo)
        try:
            for finished in results:
                if finished is not None:
                    number, result = finished
                    if journal is not None:
                        journal.add(number, result)
                    note(number, result, old=False)
                if is_over():
                    report.complete = False
                    break
        finally:
            results.close()
    report.results = [found[number] for number in sorted(found)]
    report.seconds = time.monotonic() - began
    if signals.came:
        raise Interrupted(report)
    return report


def _fresh(
    cases: Iterable[Case], journal: Journal | None, known: Callable[[int, CaseResult], None]
) -> Iterator[tuple[int, Case]]:
    """Yield the cases that the journal lacks, numbered; the others are told."""
    done = dict(journal.results) if journal is not None else {}
    for number, case in enumerate(cases):
        result = done.pop(number, None)
        if result is None:
            yield number, case
        elif result.case != str(case):
            raise BadParam(argument="resume", expected=f"case {number} as in the journal, {result.case}", got=str(case))
        else:
            known(number, result)
    if done:
        number, result = min(done.items())
        raise BadParam(argument="resume", expected=f"case {number} as in the journal, {result.case}", got="fewer cases")


__all__ = ["BROKEN", "Budget", "Facts", "Interrupted", "run_campaign"]
