"""The report as JUnit XML: each alarm is a test, which fails from the severity on that ``--fail-on`` says."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from ..findings import Finding
from ..report import Report
from .text import clean, line_of


def as_junit(report: Report) -> str:
    """Return a report as JUnit XML: a suite for each file, a test for each alarm; a file without any is one test."""
    root = ET.Element("testsuites", name="portadnn check")
    groups = report.by_file(report.alarms)
    totals = {"tests": 0, "failures": 0, "skipped": 0}
    for file in dict.fromkeys([*(checked.file for checked in report.checked), *groups]):
        cases = [_case(report, file, finding) for finding in groups.get(file, ())]
        if not cases:
            cases = [ET.Element("testcase", classname=clean(file), name="no findings")]
        _suite(root, file, cases, totals)
    for item in report.skipped:
        case = ET.Element("testcase", classname=clean(item.file), name="is read")
        ET.SubElement(case, "skipped", message=line_of(item.reason))
        _suite(root, item.file or "portadnn", [case], totals)
    root.attrib |= {name: str(number) for name, number in totals.items()} | {"time": f"{report.seconds:.3f}"}
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, file: str, cases: list[ET.Element], totals: dict[str, int]) -> None:
    numbers = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    suite = ET.SubElement(root, "testsuite", name=clean(file), errors="0")
    suite.attrib |= {name: str(number) for name, number in numbers.items()}
    suite.extend(cases)
    for name, number in numbers.items():
        totals[name] += number


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
