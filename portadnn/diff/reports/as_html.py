"""The report as one HTML page: who disagrees where, by how much, and how to see it again.

Cases that passed are no elements of the page: they are lines of data, and the script shows some when asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..._io.text import count, line_of
from ..._page import escape, page
from ..results import RunReport
from ..verdict import Verdict
from .drawing import LEVEL_NAMES, histogram
from .html_failures import chosen
from .summary import MEANINGS, WRONG, errors, failures, matrix, operation, reasons, state, targets
from .timing import Timing, duration, speeds, timings

FOLDER = Path(__file__).parent
ROOM = 2_500_000  # characters of cases' lines
REASONS = 30  # of each verdict
SLOWEST = 30  # cases
_CODES = dict(zip(Verdict, "PFSMUE", strict=True))
_ORDER = (*WRONG, Verdict.MISTRUSTED, Verdict.PASSED, Verdict.UNSUPPORTED, Verdict.SKIPPED)  # the first one colours


def as_html(report: RunReport) -> str:
    """Return a report as an HTML page."""
    cards = chosen(report)
    data = json.dumps(_data(report, {case: number for number, case in enumerate(cards)}), separators=(",", ":"))
    title = f"portadnn diff: {', '.join(targets(report)) or 'no targets'}"
    body = "\n".join(_body(report, cards))
    return page(title, body, style=FOLDER / "report.css", script=FOLDER / "report.js", data=data)


def _data(report: RunReport, cards: Mapping[str, int]) -> dict[str, Any]:
    """Return the cases by operation, for the script: verdicts of the targets, a tab, the line, a tab, its card."""
    names = targets(report)
    rank = {verdict: i for i, verdict in enumerate(_ORDER)}
    lines: dict[str, list[str]] = {}
    room, left_out = ROOM, 0
    for result in sorted(report.results, key=lambda result: rank[result.verdict]):
        by_target = {judgement.target: _CODES[judgement.verdict] for judgement in result.judgements}
        op = operation(result)
        rest = line_of(result.case)[len(op) + 1 :]
        card = cards.get(result.case)
        text = f"{''.join(by_target.get(name, '-') for name in names)}\t{rest}\t{'' if card is None else card}"
        room -= len(text)
        if room < 0:
            left_out += 1
        else:
            lines.setdefault(op, []).append(text)
    codes = {code: verdict.value for verdict, code in _CODES.items()}
    return {"targets": names, "codes": codes, "cases": lines, "left_out": left_out}


def _body(report: RunReport, cards: Mapping[str, str]) -> Iterator[str]:
    yield from _head(report)
    yield '<div class="controls"><input id="words" type="search" placeholder="filter by words of a case" size="40"/>'
    yield '<span id="found" class="dim" role="status"></span>'
    yield '<nav><a href="#matrix">matrix</a> <a href="#failures">failures</a> <a href="#errors">errors</a> '
    yield '<a href="#times">times</a> ' if _timed(report) else ""
    yield '<a href="#reasons">reasons</a> <a href="#run">run</a></nav></div>'
    yield from _matrix(report)
    yield from _failures(report, cards)
    yield from _errors(report)
    yield from _times(timings(report))
    yield from _reasons(report)
    yield from _run(report)


def _timed(report: RunReport) -> bool:
    return any(j.seconds is not None for result in report.results for j in result.judgements)


def _head(report: RunReport) -> Iterator[str]:
    bad = "bad" if not report.passed else "good"
    yield f'<p class="state {bad}">{escape(state(report))}</p>'
    counts = report.counts
    parts = [(verdict, counts[verdict.value]) for verdict in _ORDER if counts[verdict.value]]
    yield '<div class="bar">'
    for verdict, number in parts:
        told = f"{number:,} {MEANINGS[verdict]}"
        yield f'<span class="fill {verdict.value}" style="flex: {number}" title="{escape(told)}"></span>'
    yield '</div><p class="legend">'
    for verdict, number in parts:
        word, _, more = MEANINGS[verdict].partition(":")
        yield (
            f'<span title="{escape(more.strip() or word)}"><span class="dot fill {verdict.value}"></span>'
            f"{number:,} {word}</span>"
        )
    yield "</p>"


def _matrix(report: RunReport) -> Iterator[str]:
    names = targets(report)
    yield '<section id="matrix"><h2>Operations and targets</h2> <span class="dim">a cell lists its cases</span>'
    yield '<div class="beside"><div class="wide"><table class="matrix"><thead><tr><th scope="col">operation</th>'
    yield "".join(f'<th scope="col">{escape(name)}</th>' for name in names) + "</tr></thead><tbody>"
    for op, row in matrix(report).items():
        cells = "".join(_cell(op, i, name, row.get(name, Counter())) for i, name in enumerate(names))
        yield f'<tr><th scope="row">{escape(op)}</th>{cells}</tr>'
    yield "</tbody></table></div>"
    yield '<div id="cases" hidden="hidden"><h3 id="which" tabindex="-1"></h3><div id="kinds"></div>'
    yield '<ol id="list"></ol><button id="more">more</button></div></div></section>'


def _cell(op: str, column: int, name: str, counts: Counter[str]) -> str:
    if not counts:
        return '<td class="cell"></td>'
    worst = next(verdict for verdict in _ORDER if counts[verdict.value])
    told = [f"{counts[verdict.value]:,} {verdict.value.lower()}" for verdict in _ORDER if counts[verdict.value]]
    label = f"{op} on {name}: {', '.join(told)}"
    return (
        f'<td class="cell"><button class="fill {worst.value}" data-op="{escape(op)}" data-target="{column}" '
        f'aria-label="{escape(label)}"><b>{escape(told[0])}</b> '
        f"{' '.join(f'<span>{escape(more)}</span>' for more in told[1:])}</button></td>"
    )


def _failures(report: RunReport, cards: Mapping[str, str]) -> Iterator[str]:
    found = failures(report)
    yield f'<section id="failures"><h2>{count(len(found), "failure") if found else "No failures"}</h2>'
    if len(cards) < len(found):
        yield f'<p class="dim">{len(cards):,} of them in full, some of each kind; the others are listed above.</p>'
    if cards:
        levels = "".join(f'<span class="swatch x{i}"></span>{name} ' for i, name in enumerate(LEVEL_NAMES))
        yield f'<p class="legend dim">Colours of heat maps, errors as multiples of the tolerance: {levels}</p>'
    previous = ""
    for number, (case, card) in enumerate(cards.items()):
        op = case.split(maxsplit=1)[0]
        if op != previous:
            yield f'{"</div>" if previous else ""}<div class="group"><h3>{escape(op)}</h3>'
            previous = op
        opened = 'open="open" ' if number == 0 else ""
        yield card.replace("<details ", f'<details id="f{number}" {opened}', 1)
    yield f"{'</div>' if previous else ''}</section>"


def _errors(report: RunReport) -> Iterator[str]:
    found = errors(report.results)
    if not found:
        return
    names = targets(report)
    yield '<section id="errors"><h2>Errors in units of the last place</h2>'
    yield (
        '<p class="dim">Bars: elements with errors from 0, ½, 1, 2, 4, 16, 256, 65536 ulp on, as logarithms. Below: '
        "the largest error, and how near passed cases came to the tolerance.</p>"
    )
    yield '<div class="wide"><table class="matrix"><thead><tr><th>operation</th>'
    yield "".join(f'<th scope="col">{escape(name)}</th>' for name in names) + "</tr></thead><tbody>"
    for op, row in found.items():
        yield f'<tr><th scope="row">{escape(op)}</th>'
        for name in names:
            if name in row:
                told = f"{row[name].ulp:.3g} ulp; {row[name].margin:.0%}"
                yield f'<td>{histogram(row[name].histogram)}<br/><span class="dim">{told}</span></td>'
            else:
                yield "<td></td>"
        yield "</tr>"
    yield "</tbody></table></div></section>"


def _times(found: list[Timing]) -> Iterator[str]:
    if not found:
        return
    yield '<section id="times"><h2>Times</h2> <span class="dim">of a call on the device; medians, and the most</span>'
    head = ("operation", "target", "cases", "time", "GB/s", "most", "TFLOP/s", "most")
    yield from _table(
        head,
        (
            (op, target, f"{s.cases:,}", duration(s.seconds), *map(_short, _rates(s)))
            for op, row in speeds(found).items()
            for target, s in row.items()
        ),
        words=2,
    )
    slowest = sorted(found, key=lambda timing: -timing.seconds)[:SLOWEST]
    yield f"<details><summary>The slowest {count(len(slowest), 'call')}</summary>"
    yield from _table(
        ("case", "target", "engine", "time", "GB/s", "TFLOP/s"),
        ((t.case, t.target, t.engine, duration(t.seconds), _short(t.gigabytes), _short(t.teraflops)) for t in slowest),
        words=3,
    )
    yield "</details></section>"


def _rates(speed: Any) -> tuple[float, ...]:
    return (speed.gigabytes, speed.most_gigabytes, speed.teraflops, speed.most_teraflops)


def _short(number: float) -> str:
    return f"{number:.3g}"


def _table(head: tuple[str, ...], rows: Any, *, words: int) -> Iterator[str]:
    """Yield a table whose first columns are words and whose others are numbers."""
    classes = [""] * words + [' class="number"'] * (len(head) - words)
    cells = "".join(f"<th{css}>{escape(text)}</th>" for css, text in zip(classes, head, strict=True))
    yield f'<div class="wide"><table class="plain"><thead><tr>{cells}</tr></thead><tbody>'
    for row in rows:
        yield "<tr>" + "".join(f"<td{css}>{escape(t)}</td>" for css, t in zip(classes, row, strict=True)) + "</tr>"
    yield "</tbody></table></div>"


def _reasons(report: RunReport) -> Iterator[str]:
    yield '<section id="reasons"><h2>What was not compared, and why</h2>'
    some = False
    for verdict in (Verdict.MISTRUSTED, Verdict.UNSUPPORTED, Verdict.SKIPPED):
        found = reasons(report, verdict)
        if not found:
            continue
        some = True
        number = len({case for reason in found for case in reason.cases})
        yield f'<details><summary><span class="verdict {verdict.value}">{verdict.value}</span> '
        yield f'{count(number, "case")} <span class="dim">{escape(MEANINGS[verdict])}</span></summary>'
        rows = ((f"{len(r.cases):,}", ", ".join(r.targets), r.text, next(iter(r.cases))) for r in found[:REASONS])
        yield from _table(("cases", "targets", "why", "for example"), rows, words=4)
        if len(found) > REASONS:
            yield f'<p class="dim">and {count(len(found) - REASONS, "other reason")}</p>'
        yield "</details>"
    yield f"{'' if some else '<p>Nothing.</p>'}</section>"


def _run(report: RunReport) -> Iterator[str]:
    yield '<section id="run"><h2>The run</h2><dl>'
    for name, facts in report.targets.items():
        told = ", ".join(f"{key} {value}" for key, value in facts.items() if value not in ("", None))
        yield f"<dt>{escape(name)}</dt><dd>{escape(told)}</dd>"
    for title, values in (("environment", report.environment), ("settings", report.settings)):
        told = ", ".join(f"{key} {value}" for key, value in values.items())
        yield f"<dt>{title}</dt><dd>{escape(told or 'not recorded')}</dd>"
    when = f"{report.started or 'at an unknown time'}, for {report.seconds:.1f} s"
    yield f"<dt>started</dt><dd>{escape(when)}{'' if report.complete else ', not complete'}</dd></dl></section>"
