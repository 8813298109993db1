"""The smallest case of each kind of failure that a campaign found, with a program that shows it."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import BadParam, NotSupported
from ..cases import Case
from ..reproduce import program
from ..results import RunReport
from ..shrink.shrink import Failure, Shrunk, failures, shrink
from ..verdict import CaseResult
from .campaign import BROKEN

MOST = 10  # kinds of failures to shrink a case of
TRIES = 200  # cases to run for each


def find_smallest(
    report: RunReport, examine: Callable[[Case], CaseResult], *, most: int = MOST, tries: int = TRIES
) -> None:
    """Add reproducers to a report: of one case for each operation, target and way to fail.

    Parameters
    ----------
    examine
        Runs a case on the report's targets, in a process of its own.
    most
        Reproducers to make.
    tries
        Cases to run for each at most.

    Raises
    ------
    ExecutionFailed
        Targets cannot be opened any more.
    """
    seen: set[tuple[str, Failure]] = set()
    for result in report.results:
        if result.verdict not in BROKEN or len(report.reproducers) >= most:
            continue
        kinds = {(result.case.split(maxsplit=1)[0], failure) for failure in failures(result)}
        if not kinds - seen:
            continue
        seen |= kinds
        try:
            found = shrink(Case.parse(result.case), examine, budget=tries)
        except (BadParam, NotSupported):  # a line that is none: there is nothing to make smaller
            continue
        if found is not None:
            report.reproducers[result.case] = found.reproducer(_program(report, found))


def _program(report: RunReport, found: Shrunk) -> str:
    target = found.failure.target
    try:
        return program(found.smallest, target, result=found.result, facts=report.targets.get(target))
    except (BadParam, NotSupported):  # the target is on another machine
        return ""
