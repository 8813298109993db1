"""The report as JSON (docs/diff.md describes it, ``schema.json`` defines it)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..results import RunReport, report_as_json
from .summary import WRONG
from .timing import Timing, timings

_KINDS = tuple(verdict.value for verdict in WRONG)


def as_json(report: RunReport) -> str:
    """Return a report as JSON text, ASCII only, with a line for each result.

    :func:`portadnn.diff.results.report_from_json` reads it back. Where an output is off is told of failures only.
    """
    return "".join(_text(facts(report)))


def facts(report: RunReport) -> dict[str, Any]:
    """Return a report as what JSON can say."""
    values = report_as_json(report)
    for result in values["results"]:
        for judgement in result["judgements"]:
            if judgement["verdict"] not in _KINDS:
                for difference in judgement["differences"].values():
                    difference["profile"] = []
    return {**values, "performance": [_timing(timing) for timing in timings(report)]}


def _timing(timing: Timing) -> dict[str, Any]:
    return {
        "case": timing.case,
        "target": timing.target,
        "engine": timing.engine,
        "seconds": timing.seconds,
        "bytes": timing.bytes,
        "flops": timing.flops,
        "gigabytes_per_second": timing.gigabytes,
        "teraflops_per_second": timing.teraflops,
    }


def _text(values: dict[str, Any]) -> Iterator[str]:
    """Yield the text: a line for each property, and for each item of those that are lists."""
    separator = "{\n"
    for name, value in values.items():
        yield f"{separator} {json.dumps(name)}: "
        if isinstance(value, list) and value:
            yield "[\n  " + ",\n  ".join(json.dumps(item) for item in value) + "\n ]"
        else:
            yield json.dumps(value)
        separator = ",\n"
    yield "\n}\n"
