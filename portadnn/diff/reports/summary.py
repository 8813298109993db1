"""What all reports tell: targets, failures and what decided them, the command that shows one, reasons."""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..._io.text import count
from ..compare import ULP_BINS, Difference
from ..results import RunReport, by_operation
from ..shrink.shrink import kind_of_failure
from ..verdict import CaseResult, Judgement, Verdict

WRONG = (Verdict.FAILED, Verdict.ERROR)
MEANINGS = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed: wrong numbers, a broken promise, or another status than was due",
    Verdict.ERROR: "error: the call broke, crashed or ran out of time",
    Verdict.MISTRUSTED: "mistrusted: what was due proves nothing, such as zeros everywhere",
    Verdict.UNSUPPORTED: "unsupported: the target says that it does not do this",
    Verdict.SKIPPED: "skipped: the target has no such engine",
}
_NUMBER = re.compile(r"-?\d[\d.,]*(e[+-]?\d+)?|\b(nan|inf)\b")


def operation(result: CaseResult) -> str:
    """Return the operation of a case."""
    return result.case.split(maxsplit=1)[0] if result.case.strip() else ""


def targets(report: RunReport) -> list[str]:
    """Return the targets that cases ran on, in the report's order."""
    met = dict.fromkeys(j.target for result in report.results for j in result.judgements)
    return [*(name for name in report.targets if name in met), *(name for name in met if name not in report.targets)]


def matrix(report: RunReport) -> dict[str, dict[str, Counter[str]]]:
    """Return how often each target got each verdict, by operation in alphabetical order and by target."""
    return dict(sorted(by_operation(report.results).items()))


def failures(report: RunReport) -> list[CaseResult]:
    """Return the cases that failed or broke, operation by operation."""
    found = [result for result in report.results if result.verdict in WRONG]
    return sorted(found, key=operation)


def ranked(report: RunReport) -> Iterator[CaseResult]:
    """Yield the cases that failed: first one of each kind, those with a reproducer before others, then a second."""
    groups: dict[tuple[str, str, str], list[CaseResult]] = {}
    for result in sorted(failures(report), key=lambda result: result.case not in report.reproducers):
        groups.setdefault((operation(result), blamed(result), measure(result)), []).append(result)
    for rank in itertools.zip_longest(*groups.values()):
        yield from filter(None, rank)


def blamed(result: CaseResult) -> str:
    """Return who is wrong."""
    return ", ".join(result.blamed) or "nobody in particular"


def wrong_judgements(result: CaseResult) -> list[Judgement]:
    """Return the judgements of a case that failed."""
    return [judgement for judgement in result.judgements if judgement.verdict in WRONG]


def decided(judgement: Judgement) -> str:
    """Return the measure that a failure came from, such as ``"y: tolerance"`` or ``"input written"``."""
    kind = kind_of_failure(judgement)
    if kind != "numbers" or judgement.worst is None:
        return kind
    name, worst = judgement.worst
    return f"{name}: {worst.decided}"


def measure(result: CaseResult) -> str:
    """Return what decided a case that failed."""
    found = dict.fromkeys(decided(judgement) for judgement in wrong_judgements(result))
    return ", ".join(found) or result.verdict.value.lower()


def smallest(report: RunReport, result: CaseResult) -> str:
    """Return the smallest case known that fails in the same way."""
    reproducer = report.reproducers.get(result.case)
    return reproducer.smallest if reproducer else result.case


def command(report: RunReport, result: CaseResult) -> str:
    """Return the command that runs the smallest case again."""
    names = [name for name in targets(report) if any(j.target == name for j in result.judgements)]
    where = f"--targets {shlex.quote(','.join(names))} " if names else ""
    return f"portadnn diff {where}{shlex.quote(smallest(report, result))}"


@dataclass
class Reason:
    """A reason that several cases have.

    Attributes
    ----------
    text : str
        As the first of them says it.
    targets, cases : dict
        The targets that gave it, and the cases' lines, in order; the values mean nothing.
    """

    text: str
    targets: dict[str, None] = field(default_factory=dict)
    cases: dict[str, None] = field(default_factory=dict)


def reasons(report: RunReport, verdict: Verdict) -> list[Reason]:
    """Return why targets got a verdict, the commonest first; reasons that differ in numbers or target are one."""
    found: dict[str, Reason] = {}
    for result in report.results:
        for judgement in result.judgements:
            if judgement.verdict is verdict:
                text = judgement.reason.removeprefix(f"{judgement.target} ") or "no reason given"
                reason = found.setdefault(_NUMBER.sub("#", text), Reason(text))
                reason.targets[judgement.target] = reason.cases[result.case] = None
    return sorted(found.values(), key=lambda reason: -len(reason.cases))


@dataclass
class Errors:
    """How large the errors of an operation's finite numbers are on a target.

    Attributes
    ----------
    histogram : list of int
        Elements by the bins of :data:`~portadnn.diff.compare.ULP_BINS`.
    ulp : float
        The largest, in units of the last place.
    margin : float
        The largest error of what passed, in units of what is allowed.
    """

    histogram: list[int]
    ulp: float = 0.0
    margin: float = 0.0

    def add(self, difference: Difference) -> None:
        """Count an output."""
        for i, number in enumerate(difference.histogram):
            self.histogram[i] += number
        self.ulp = max(self.ulp, difference.ulp)
        if not difference.wrong:
            self.margin = max(self.margin, difference.excess)


def errors(results: Iterable[CaseResult]) -> dict[str, dict[str, Errors]]:
    """Return the errors by operation and target, where numbers were compared."""
    found: dict[str, dict[str, Errors]] = {}
    for result in results:
        for judgement in result.judgements:
            for difference in judgement.differences.values():
                if difference.histogram:
                    row = found.setdefault(operation(result), {})
                    row.setdefault(judgement.target, Errors([0] * len(ULP_BINS))).add(difference)
    return dict(sorted(found.items()))


def state(report: RunReport) -> str:
    """Return in a sentence how the run ended."""
    bad = report.counts["FAILED"] + report.counts["ERROR"]
    whole = count(len(report.results), "case")
    if not report.results:
        text = "No case was run"
    elif bad:
        text = f"{bad:,} of {whole} failed"
    elif not report.counts["PASSED"]:
        text = f"Nothing to compare in {whole}"
    else:
        text = f"No failure in {whole}"
    return text + ("." if report.complete else "; the run is not complete.")
