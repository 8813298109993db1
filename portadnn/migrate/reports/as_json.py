"""The report as JSON (docs/check.md describes it, ``schema.json`` defines it)."""

from __future__ import annotations

import json
from typing import Any

from ..._version import __version__
from ..baseline import fingerprints
from ..events import Place
from ..findings import Finding
from ..report import Call, Report

VERSION = 1


def as_json(report: Report) -> str:
    """Return a report as JSON text, ASCII only: whatever names files and variables have, every parser takes it."""
    return json.dumps(facts(report), indent=1) + "\n"


def facts(report: Report) -> dict[str, Any]:
    """Return a report as what JSON can say."""
    effort = report.effort
    prints = {id(finding): mark for finding, mark in fingerprints(report.every, report.root)}
    return {
        "portadnn-check": VERSION,
        "tool": {"name": "portadnn", "version": __version__},
        "target": report.target,
        "cudnn_version": report.cudnn_version,
        "effort": {
            "calls": effort.calls,
            "functions": effort.functions,
            "answers": dict(effort.answers),
            "unrecognised": effort.unrecognised,
            "judged": report.judged,
            "lines": effort.lines,
            "files": effort.files,
        },
        "coverage": {word.replace(" ", "_"): number for word, number in report.coverage.counts.items()},
        "severities": report.severities(),
        "findings": [_finding(report, finding, prints[id(finding)]) for finding in report.findings],
        "silenced": [
            {**_finding(report, item.finding, prints[id(item.finding)]), "by": item.by} for item in report.silenced
        ],
        "calls": [_call(call) for call in report.calls],
        "miopen_calls": [_call_of_miopen(call) for call in report.ported],
        "files": {
            "looked_at": report.files,
            "lines": report.lines,
            "checked": [
                {
                    "file": file.file,
                    "kind": file.kind,
                    "lines": file.lines,
                    "touched": file.touched,
                    **({"apart": file.apart} if file.apart else {}),
                }
                for file in report.checked
            ],
        },
        "missing": report.missing,
        "skipped": [{"file": item.file, "line": item.line or None, "reason": item.reason} for item in report.skipped],
        "unused_comments": [{"file": file, "line": line, "rules": list(rules)} for file, line, rules in report.unused],
        "outdated_baseline_entries": report.outdated,
        "seconds": round(report.seconds, 3),
    }


def place_facts(place: Place) -> dict[str, Any]:
    """Return a place; the end is left out where it is not known."""
    known: dict[str, Any] = {"file": place.file, "line": place.line, "column": place.column}
    if place.end_line:
        known |= {"end_line": place.end_line, "end_column": place.end_column}
    return known


def _finding(report: Report, finding: Finding, print_: str) -> dict[str, Any]:
    event = finding.event
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "certainty": finding.certainty,
        "rewrite": finding.per_call,
        "place": place_facts(finding.place),
        "function": finding.function,
        "call": "" if event is None else event.text,
        "within": "" if event is None else event.within,
        "message": finding.message,
        "fix": finding.fix,
        "related": [{"place": place_facts(place), "message": what} for place, what in finding.related],
        "times": 1 + report.repeats.get(finding.key, 0),
        "fingerprint": print_,
    }


def _call_of_miopen(call: Call) -> dict[str, Any]:
    return {
        "function": call.function,
        "place": place_facts(call.place),
        "text": call.text,
        "within": call.within,
        "times": call.times,
        "known": call.known,
    }


def _call(call: Call) -> dict[str, Any]:
    return {
        "function": call.function,
        "place": place_facts(call.place),
        "text": call.text,
        "within": call.within,
        "answer": call.answer,
        "becomes": call.becomes,
        "note": call.note,
        "certain": call.certain,
        "times": call.times,
        "known": call.known,
    }
