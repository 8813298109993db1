"""JUnit XML: suites of tests with their totals."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from .text import clean

_KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def document(name: str, suites: Iterable[tuple[str, Sequence[ET.Element]]], seconds: float) -> str:
    """Return a document of suites, each a name and its ``testcase`` elements."""
    root = ET.Element("testsuites", name=name)
    totals = dict.fromkeys(("tests", *_KINDS), 0)
    for title, cases in suites:
        numbers = {"tests": len(cases)}
        numbers |= {kind: sum(case.find(tag) is not None for case in cases) for kind, tag in _KINDS.items()}
        suite = ET.SubElement(root, "testsuite", name=clean(title))
        suite.attrib |= {kind: str(number) for kind, number in numbers.items()}
        suite.extend(cases)
        for kind, number in numbers.items():
            totals[kind] += number
    root.attrib |= {kind: str(number) for kind, number in totals.items()} | {"time": f"{seconds:.3f}"}
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
