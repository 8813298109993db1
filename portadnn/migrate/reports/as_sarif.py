"""The report as SARIF 2.1.0, the format of code scanning services."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..._io.text import clean
from ..._version import __version__
from ..baseline import fingerprints
from ..events import Place
from ..findings import Finding, Severity
from ..program import Skipped
from ..report import Report
from ..rules.table import Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: dict[Severity, str] = {"E": "error", "W!": "warning", "W": "warning", "I": "note"}
KINDS = {"comment": "inSource", "baseline": "external"}


def as_sarif(report: Report) -> str:
    """Return a report as SARIF, ASCII only."""
    silenced = {id(item.finding): item.by for item in report.silenced}
    every = report.every
    names = sorted({finding.rule for finding in every})
    results = []
    marked = sorted(fingerprints(every, report.root), key=lambda pair: pair[0].per_call)  # rewrites below
    for finding, mark in marked:
        result = _result(report, finding, mark, names.index(finding.rule))
        if silenced:  # either all results tell or none does
            by = silenced.get(id(finding))
            result["suppressions"] = [] if by is None else [{"kind": KINDS[by]}]
        results.append(result)
    driver = {"name": "portadnn", "version": __version__, "rules": [_rule(report, name) for name in names]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": [_notice(item) for item in report.skipped]}
        ],
        "results": results,
        "properties": {
            "target": report.target,
            "cudnnVersion": report.cudnn_version or "",
            "coverage": {word.replace(" ", "_"): number for word, number in report.coverage.counts.items()},
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(report: Report, name: str) -> dict[str, Any]:
    rule: Rule | None = report.rule(name)
    told: dict[str, Any] = {"id": f"PD-{name}"}
    if rule is None:
        return told
    level = "note" if rule.per_call else LEVELS[rule.severity]
    told["shortDescription"] = {"text": clean(rule.title)}
    told["fullDescription"] = {"text": clean(rule.why)}
    told["help"] = {
        "text": clean(f"{rule.why}\n\nSource: {rule.source}\nMore: portadnn explain {rule.name}"),
        "markdown": clean(f"{rule.why}\n\n*Source:* {rule.source}\n\n*More:* `portadnn explain {rule.name}`"),
    }
    told["defaultConfiguration"] = {"level": level}
    told["properties"] = {"severity": rule.severity, "tags": ["migration"]}
    return told


def _result(report: Report, finding: Finding, mark: str, index: int) -> dict[str, Any]:
    possible = "Possibly: " if finding.certainty == "possible" else ""
    fix = f"\n\nFix:\n{finding.fix}" if finding.fix else ""
    result: dict[str, Any] = {
        "ruleId": f"PD-{finding.rule}",
        "ruleIndex": index,
        "level": "note" if finding.per_call else LEVELS[finding.severity],
        "message": {"text": clean(f"{possible}{finding.message}{fix}")},
        "locations": [{"physicalLocation": _location(finding.place)}],
        "partialFingerprints": {"portadnnFinding/v1": mark},
        "properties": {
            "severity": finding.severity,
            "certainty": finding.certainty,
            "function": finding.function,
            "rewrite": finding.per_call,
        },
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": clean(what)}, "physicalLocation": _location(place)}
            for number, (place, what) in enumerate(finding.related, 1)
        ]
    if fixes := _fixes(report, finding):
        result["fixes"] = fixes
    return result


def _fixes(report: Report, finding: Finding) -> Sequence[dict[str, Any]]:
    """Return the replacement of a call, where it is certain."""
    event = finding.event
    if event is None or event.place.start < 0:
        return ()
    call = report.call_at(event.place)
    if call is None or not call.certain or not (finding.per_call or finding.fix.strip().rstrip(";") == call.becomes):
        return ()
    replacement = {"deletedRegion": _region(event.place), "insertedContent": {"text": call.becomes}}
    change = {"artifactLocation": {"uri": uri(event.place.file)}, "replacements": [replacement]}
    return (
        {"description": {"text": f"Write it as {call.becomes.split('(')[0].strip()}"}, "artifactChanges": [change]},
    )


def _location(place: Place) -> dict[str, Any]:
    return {"artifactLocation": {"uri": uri(place.file)}, "region": _region(place)}


def _region(place: Place) -> dict[str, int]:
    region = {"startLine": max(1, place.line), "startColumn": max(1, place.column)}
    if place.end_line >= place.line > 0:
        region["endLine"] = place.end_line
        if place.end_column > 0:
            region["endColumn"] = place.end_column
    return region


def _notice(item: Skipped) -> dict[str, Any]:
    notice: dict[str, Any] = {"level": "warning", "message": {"text": clean(f"not read: {item.reason}")}}
    if item.file:
        location: dict[str, Any] = {"artifactLocation": {"uri": uri(item.file)}}
        if item.line:
            location["region"] = {"startLine": item.line}
        notice["locations"] = [{"physicalLocation": location}]
    return notice


def uri(file: str) -> str:
    """Return a file's name as a URI, relative where the name is; any bytes can be in it."""
    if Path(file).is_absolute():
        return "file://" + quote(os.fsencode(file))
    quoted = quote(os.fsencode(file))
    return f"./{quoted}" if ":" in quoted.split("/")[0] else quoted
