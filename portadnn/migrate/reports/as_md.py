"""The report as Markdown, for pull requests and wikis."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..._io.text import clean, count, line_of
from ..findings import ANSWERS, SEVERITIES, Finding
from ..report import Report
from .text import APART, apart, excerpt, work

_MARKUP = re.compile(r"([\\`*_\[\]<>#|~&])")


def as_md(report: Report) -> str:
    """Return a report as Markdown."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """Return text on one line, without what Markdown would take for markup."""
    return _MARKUP.sub(r"\\\1", line_of(text))


def code(text: str) -> str:
    """Return text on one line as code, whatever it holds."""
    text = line_of(text)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def block(text: str, language: str = "cpp") -> list[str]:
    """Return text as a block of code, whatever it holds."""
    text = clean(text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return [f"{fence}{language}", *text.rstrip().split("\n"), fence]


def _lines(report: Report) -> Iterator[str]:
    effort = report.effort
    yield f"# cuDNN to {report.goal}"
    yield ""
    yield (f"{work(effort)}. Looked at {count(report.files, 'file')}, {count(report.lines, 'line')}.")
    yield ""
    if report.apart:
        yield f"{APART}: {escaped(apart(report.apart))}."
        yield ""
    if report.judged:
        yield f"Ported already: {count(report.judged, 'call')} of MIOpen, judged."
        yield ""
    if report.coverage:
        yield f"Coverage: {report.coverage}."
        yield ""
    yield from ("| What becomes of the calls | Calls | Share |", "|---|--:|--:|")
    for answer, meaning in ANSWERS.items():
        yield f"| {meaning} | {effort.answers[answer]} | {effort.share(effort.answers[answer]):.0%} |"
    if effort.unrecognised:
        share = effort.share(effort.unrecognised)
        yield f"| without an answer: not in the tables | {effort.unrecognised} | {share:.0%} |"
    yield ""
    yield from ("| Findings | |", "|---|--:|")
    for severity, number in report.severities().items():
        yield f"| {severity}: {SEVERITIES[severity]} | {number} |"
    yield ""
    for rule, findings in report.by_rule(report.alarms).items():
        yield from _rule(report, rule, findings)
    rewrites = report.by_rule(report.rewritten)
    if rewrites:
        yield from ("## Rewrites: the ordinary work of the port", "", "| Rule | | Calls |", "|---|---|--:|")
        for rule, findings in rewrites.items():
            yield f"| PD-{rule} | {escaped(report.title(rule))} | {len(findings)} |"
        yield ""
    unknown = [call for call in report.calls if call.answer is None]
    if unknown:
        yield from ("## Calls without an answer", "")
        yield from (f"- {code(str(call.place))}: {code(call.function)}" for call in unknown)
        yield ""
    if report.skipped:
        yield from ("## Not read", "")
        yield from (f"- {code(item.file)}: {escaped(item.reason)}" for item in report.skipped)
        yield ""


def _rule(report: Report, rule: str, findings: list[Finding]) -> Iterator[str]:
    yield f"## PD-{rule}: {escaped(report.title(rule))}"
    yield ""
    for finding in findings:
        possible = "possibly: " if finding.certainty == "possible" else ""
        yield f"**{finding.severity}** {code(str(finding.place))}: {possible}{escaped(finding.message)}"
        yield ""
        found = excerpt(report.sources, finding.place, finding.function)
        if found is not None:
            yield from block(found.text)
            yield ""
        for place, what in finding.related:
            yield f"- {code(str(place))}: {escaped(what)}"
        if finding.related:
            yield ""
        if finding.fix:
            yield "Fix:"
            yield ""
            yield from block(finding.fix)
            yield ""
