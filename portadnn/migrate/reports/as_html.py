"""The report as one HTML page, each call beside what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..._io.text import count
from ..._page import escape as _e
from ..._page import page
from ..events import Place
from ..findings import ANSWERS, SEVERITIES, Finding
from ..report import Call, Report
from .text import APART, REACH, Excerpt, apart, excerpt, work

CONTEXT = 2  # lines above and below a call
LONGEST = 40  # lines of a call that are shown
FOLDER = Path(__file__).parent


def as_html(report: Report) -> str:
    """Return a report as an HTML page."""
    body = "\n".join(_body(report))
    return page(f"cuDNN to {report.goal}", body, style=FOLDER / "report.css", script=FOLDER / "report.js")


@dataclass
class _Card:
    """A call with its findings, as it is shown."""

    place: Place
    call: Call | None = None
    findings: list[Finding] = field(default_factory=list)


def _cards(report: Report) -> dict[str, list[_Card]]:
    """Return what to show by file: every call and every place of a finding, in order."""
    cards: dict[tuple[str, int, int], _Card] = {}
    for call in report.calls:
        cards[_key(call.place)] = _Card(call.place, call)
    for finding in report.findings:
        place = finding.event.place if finding.event else finding.place
        cards.setdefault(_key(place), _Card(place)).findings.append(finding)
    files: dict[str, list[_Card]] = {}
    for key in sorted(cards):
        files.setdefault(key[0], []).append(cards[key])
    return files


def _key(place: Place) -> tuple[str, int, int]:
    return (place.file, place.line, place.column)


def _body(report: Report) -> Iterator[str]:
    yield from _effort(report)
    yield from _controls(report)
    for file, cards in _cards(report).items():
        yield from _file(report, file, cards)
    if report.skipped:
        places = count(len(report.skipped), "place")
        yield f'<details class="skipped"><summary><h2>Not read: {places}</h2></summary><ul>'
        for item in report.skipped:
            where = f"{item.file}:{item.line}" if item.line else item.file
            yield f"<li><code>{_e(where)}</code>: {_e(item.reason)}</li>"
        yield "</ul></details>"


def _effort(report: Report) -> Iterator[str]:
    effort = report.effort
    yield (f"<p>{work(effort)}. Looked at {count(report.files, 'file')}, {count(report.lines, 'line')}.</p>")
    if report.apart:
        yield f'<p id="apart">{APART}: {_e(apart(report.apart))}.</p>'
    if report.judged:
        yield f"<p>Ported already: {count(report.judged, 'call')} of MIOpen, judged.</p>"
    if report.coverage:
        yield f'<p id="coverage">Coverage: {report.coverage}.</p>'
    rows = [(str(answer), meaning, effort.answers[answer]) for answer, meaning in ANSWERS.items()]
    if effort.unrecognised:
        rows.append(("unknown", "without an answer: not in the tables", effort.unrecognised))
    if effort.calls:
        parts = "".join(
            f'<span class="{name}" style="flex: {number}" title="{number} {_e(meaning)}"></span>'
            for name, meaning, number in rows
            if number
        )
        yield f'<div class="bar">{parts}</div>'
    yield '<table id="effort">'
    for name, meaning, number in rows:
        yield (
            f'<tr><td><span class="dot {name}"></span>{_e(meaning)}</td>'
            f'<td class="number">{number}</td><td class="number">{effort.share(number):.0%}</td></tr>'
        )
    yield "</table>"


def _controls(report: Report) -> Iterator[str]:
    yield '<div class="controls">'
    for severity, number in report.severities().items():
        yield (
            f'<label title="{_e(SEVERITIES[severity])}"><input type="checkbox" name="severity" value="{severity}" '
            f'checked="checked"/> {severity} {_e(SEVERITIES[severity].split(":")[0])} ({number})</label>'
        )
    rewritten = sum(1 for _ in report.rewritten)
    yield f'<label><input type="checkbox" id="rewrites"/> rewrites ({rewritten})</label>'
    yield '<label><input type="checkbox" id="calls"/> calls without findings</label>'
    yield '<label><input type="checkbox" id="wrap"/> wrap lines</label>'
    yield '<select id="rule"><option value="">every rule</option>'
    for rule, findings in report.by_rule(report.findings).items():
        yield f'<option value="{_e(rule)}">{_e(rule)} ({len(findings)}): {_e(report.title(rule))}</option>'
    yield '</select><input id="words" type="search" placeholder="search" size="20"/></div>'


def _file(report: Report, file: str, cards: list[_Card]) -> Iterator[str]:
    alarms = sum(not finding.per_call for card in cards for finding in card.findings)
    calls = sum(card.call is not None for card in cards)
    yield f'<details class="file" open="open"><summary><h2>{_e(file)}</h2>'
    yield f' <span class="dim">{count(alarms, "finding")}, {count(calls, "call")}</span></summary>'
    for card in cards:
        yield from _card(report, card)
    yield "</details>"


def _card(report: Report, card: _Card) -> Iterator[str]:
    place, call = card.place, card.call
    yield '<section class="call"><header>'
    what = call.function if call else next((f.function for f in card.findings), "")
    yield f'<code>{_e(what)}</code> <span class="dim">line {place.line}'
    if call and call.within:
        yield f"in <code>{_e(call.within)}</code>"
    if call and call.times > 1:
        yield f", {call.times} times"
    yield "</span>"
    if call:
        answer = call.answer or "unknown"
        meaning = ANSWERS[call.answer] if call.answer else "without an answer: not in the tables"
        yield f'<span class="right"><span class="dot {answer}"></span>{_e(meaning)}</span>'
    yield "</header>"
    source = _source(report, card)
    becomes = f"<pre>{_e(call.becomes)}</pre>" if call and call.becomes else ""
    if call and call.note:
        becomes = f'<div>{becomes}<p class="note">{_e(call.note)}</p></div>'
    if becomes:
        yield f'<div class="sides">{source}{becomes}</div>'
    else:
        yield source
    for here in _by_place(card.findings):
        yield from _finding(report, here, call)
    yield "</section>"


def _by_place(findings: Sequence[Finding]) -> Iterable[list[Finding]]:
    """Return findings together that one rule has at one place, for other callers or branches; proven ones first."""
    found: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.rule, finding.place, finding.severity), []).append(finding)
    return (sorted(here, key=lambda one: one.certainty != "proven") for here in found.values())


def _source(report: Report, card: _Card) -> str:
    """Return the lines of a call with what is at fault marked; the text itself where the source is not at hand."""
    place = card.place
    findings = sorted(card.findings, key=lambda finding: not finding.per_call)  # of a line, the last is marked: alarms
    here = [(finding.place, finding.function) for finding in findings if finding.place.file == place.file]
    marks = {mark.number: mark for where, name in here if (mark := excerpt(report.sources, where, name))}
    last = max([place.line, place.end_line, *marks])
    first = max(1, min([place.line, *marks]) - CONTEXT)
    last = min(last + CONTEXT, first + LONGEST)
    lines = [(number, report.sources.line(place.file, number)) for number in range(first, last + 1)]
    if not any(text.strip() for _, text in lines):
        return f"<pre>{_e(card.call.text if card.call else '')}</pre>"
    width = len(str(last))
    rows = (f'<span class="n">{number:>{width}} </span>{_marked(text, marks.get(number))}' for number, text in lines)
    return f"<pre>{chr(10).join(rows)}</pre>"


def _marked(text: str, mark: Excerpt | None) -> str:
    if mark is None:
        return _e(text[:REACH].rstrip()) + "…" * (len(text) > REACH)
    parts = mark.text[: mark.start], mark.text[mark.start : mark.end], mark.text[mark.end :]
    return f"{_e(parts[0])}<mark>{_e(parts[1])}</mark>{_e(parts[2])}"


def _finding(report: Report, here: Sequence[Finding], call: Call | None) -> Iterator[str]:
    finding = here[0]
    style = "silent" if finding.severity == "W!" else finding.severity
    rewrite = int(finding.per_call)
    yield (
        f'<div class="finding {style}" data-severity="{finding.severity}" data-rule="{_e(finding.rule)}" '
        f'data-rewrite="{rewrite}">'
    )
    possible = "possibly: " if finding.certainty == "possible" else ""
    title = f' title="{_e(report.title(finding.rule))}"'
    yield f"<p><b{title}>{finding.severity} {_e(finding.rule)}</b> {possible}{_e(finding.message)}</p>"
    for place, what in finding.related:
        yield f'<p class="dim"><code>{_e(str(place))}</code>: {_e(what)}</p>'
    if finding.fix and (call is None or finding.fix != call.becomes):
        yield f"<pre>{_e(finding.fix)}</pre>"
    others = list(dict.fromkeys(one.message for one in here[1:] if one.message != finding.message))
    if others:
        yield f"<details><summary>{len(others)} more, for other callers or branches</summary><ul>"
        yield "".join(f"<li>{_e(message)}</li>" for message in others)
        yield "</ul></details>"
    yield "</div>"
