"""The report as JUnit XML: a suite for each operation, a test for each case."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from ..._io.junit import document
from ..._io.text import clean, line_of
from ..results import RunReport
from ..verdict import CaseResult, Verdict
from .summary import blamed, command, decided, measure, operation, wrong_judgements

_NOTHING = (Verdict.SKIPPED, Verdict.UNSUPPORTED, Verdict.MISTRUSTED)


def as_junit(report: RunReport) -> str:
    """Return a report as JUnit XML; what proves nothing counts as skipped."""
    return document("portadnn diff", _suites(report), report.seconds)


def _suites(report: RunReport) -> Iterator[tuple[str, list[ET.Element]]]:
    groups: dict[str, list[ET.Element]] = {}
    for result in report.results:
        groups.setdefault(operation(result), []).append(_case(report, result))
    yield from sorted(groups.items())


def _case(report: RunReport, result: CaseResult) -> ET.Element:
    case = ET.Element("testcase", classname=clean(operation(result)), name=line_of(result.case))
    times = [judgement.seconds for judgement in result.judgements if judgement.seconds is not None]
    if times:
        case.set("time", f"{sum(times):.9f}")
    if result.verdict in (Verdict.FAILED, Verdict.ERROR):
        tag = "failure" if result.verdict is Verdict.FAILED else "error"
        message = f"{blamed(result)} ({measure(result)}): {result.reason}"
        ET.SubElement(case, tag, type=result.verdict.value, message=line_of(message)).text = _told(report, result)
    elif result.verdict in _NOTHING:
        ET.SubElement(case, "skipped", message=line_of(f"{result.verdict.value}: {result.reason}"))
    return case


def _told(report: RunReport, result: CaseResult) -> str:
    lines = [f"blamed: {blamed(result)}"]
    lines += [f"{j.target} ({decided(j)}): {j.reason}" for j in wrong_judgements(result)]
    lines += ["reproduce:", command(report, result)]
    reproducer = report.reproducers.get(result.case)
    if reproducer and reproducer.script:
        lines += ["", reproducer.script.rstrip()]
    return clean("\n".join(lines))
