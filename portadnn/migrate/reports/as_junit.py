"""The report as JUnit XML: each alarm is a test, which fails from the severity on that ``--fail-on`` says."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from ..._io.junit import document
from ..._io.text import clean, line_of
from ..findings import Finding
from ..report import Report


def as_junit(report: Report) -> str:
    """Return a report as JUnit XML: a suite for each file, a test for each alarm; a file without any is one test."""
    return document("portadnn check", _suites(report), report.seconds)


def _suites(report: Report) -> Iterator[tuple[str, list[ET.Element]]]:
    groups = report.by_file(report.alarms)
    for file in dict.fromkeys([*(checked.file for checked in report.checked), *groups]):
        cases = [_case(report, file, finding) for finding in groups.get(file, ())]
        yield file, cases or [ET.Element("testcase", classname=clean(file), name="no findings")]
    if report.coverage:
        case = ET.Element("testcase", classname="portadnn", name="coverage")
        ET.SubElement(case, "system-out").text = str(report.coverage)
        yield "portadnn", [case]
    for item in report.skipped:
        case = ET.Element("testcase", classname=clean(item.file), name="is read")
        ET.SubElement(case, "skipped", message=line_of(item.reason))
        yield item.file or "portadnn", [case]


def _case(report: Report, file: str, finding: Finding) -> ET.Element:
    place = finding.place
    what = " ".join(filter(None, (f"PD-{finding.rule}", finding.function)))  # sources have findings without a call
    name = f"{what} at {place.line}:{place.column}"
    case = ET.Element("testcase", classname=clean(file), name=clean(name), file=clean(file), line=str(place.line))
    possible = "possibly: " if finding.certainty == "possible" else ""
    message = possible + line_of(finding.message)
    lines = [clean(str(place)), clean(finding.message)]
    lines += [f"{clean(str(where))}: {clean(what)}" for where, what in finding.related]
    lines += ["fix:", clean(finding.fix)] if finding.fix else []
    text = "\n".join(lines)
    if report.counts(finding):
        ET.SubElement(case, "failure", type=finding.severity, message=message).text = text
    else:
        ET.SubElement(case, "system-out").text = f"{finding.severity}: {text}"
    return case
