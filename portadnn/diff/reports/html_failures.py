"""The failures of a page: measures, pictures of errors, reproducers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..._page import escape
from ...errors import DnnError
from ...problem import Problem, every_problem
from ..cases import Case
from ..compare import Difference
from ..results import RunReport
from ..verdict import CaseResult, Judgement, Verdict
from .drawing import histogram, strip, worst_place
from .summary import WRONG, blamed, command, decided, failures, measure, operation, ranked, smallest, wrong_judgements

ROOM = 2_000_000  # characters of failures that are shown in full


def chosen(report: RunReport) -> dict[str, str]:
    """Return the cards of failures by their cases: some of each kind first, as many as there is room for."""
    cards: dict[str, str] = {}
    room = ROOM
    for result in ranked(report):
        if result.case not in cards:
            cards[result.case] = "\n".join(_card(report, result))
            room -= len(cards[result.case])
            if room < 0:
                break
    return {result.case: cards[result.case] for result in failures(report) if result.case in cards}


def _card(report: RunReport, result: CaseResult) -> Iterator[str]:
    mark = result.verdict.value
    yield f'<details class="failure {mark}"><summary><b class="verdict {mark}">{mark}</b> '
    yield f'<b>{escape(blamed(result))}</b> <span class="dim">{escape(measure(result))}</span>'
    yield f"<code>{escape(result.case)}</code></summary>"
    if "reference" in result.blamed:
        yield f'<p class="reason">{escape(result.reason)}</p>'
    for judgement in wrong_judgements(result):
        yield from _judgement(result, judgement)
    others = [j for j in result.judgements if j.verdict not in WRONG]
    if others:
        told = ", ".join(f"{escape(j.target)} {_badge(j.verdict)}" for j in others)
        yield f'<p class="others">Others: {told}</p>'
    yield from _reproducer(report, result)
    yield "</details>"


def _badge(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.value}">{verdict.value}</span>'


def _judgement(result: CaseResult, judgement: Judgement) -> Iterator[str]:
    yield '<section class="judgement">'
    engine = f' <span class="dim">computed by {escape(judgement.engine)}</span>' if judgement.engine else ""
    yield f"<h4>{escape(judgement.target)}{engine}</h4>"
    if judgement.worst is None:
        kind = f'<b class="decided">{escape(decided(judgement))}</b>'
        yield f'<p class="reason">{kind} {escape(judgement.reason)}</p>'
    for violation in judgement.violations:
        told = str(violation)
        if told != judgement.reason:
            yield f'<p class="reason">{escape(told)}</p>'
    shapes = _shapes(result.case)
    for name, difference in judgement.differences.items():
        if difference.wrong:
            yield from _output(result, name, difference, shapes.get(name, ()))
        elif difference.size:
            yield f'<p class="dim">{escape(name)}: {escape(str(difference))}</p>'
    yield "</section>"


def _shapes(line: str) -> dict[str, tuple[int, ...]]:
    try:
        problem = Case.parse(line).problem
    except DnnError:
        return {}
    return {name: spec.dims for name, spec in zip(problem.names, problem.tensors, strict=True)}


def _output(result: CaseResult, name: str, difference: Difference, dims: Sequence[int]) -> Iterator[str]:
    yield '<div class="output"><div>'
    yield from _measures(name, difference)
    yield "</div><div>"
    if difference.profile:
        yield '<table class="heat"><caption>Largest error by position</caption>'
        for axis, profile in enumerate(difference.profile):
            size = dims[axis] if axis < len(dims) else len(profile)
            label = axis_name(operation(result), name, len(difference.profile), axis)
            worst = f"at {worst_place(profile, size)}" if size > 1 else ""
            drawn = strip(profile, size, label)
            yield f'<tr><th>{label}</th><td class="number dim">{size}</td><td>{drawn}</td>'
            yield f'<td class="dim">{worst}</td></tr>'
        yield "</table>"
    drawn = histogram(difference.histogram, large=True)
    yield f"<figure><figcaption>Elements by ulp, as logarithms</figcaption>{drawn}</figure>"
    yield "</div></div>"


def axis_name(op: str, tensor: str, rank: int, axis: int) -> str:
    """Return the letter of an axis."""
    kind = every_problem().get(op, Problem)
    letters = tuple(kind.letters.get(tensor, "ncdhw"))
    if len(letters) == 5 and rank == 4:
        letters = (*letters[:2], *letters[3:])
    return letters[axis] if len(letters) == rank else str(axis)


def _measures(name: str, difference: Difference) -> Iterator[str]:
    """Yield the table of all measures, the deciding one marked."""
    d = difference
    allowed = d.decided if "tolerance" in d.decided else "tolerance"
    rows = [
        ("wrong", f"{d.wrong:,} of {d.size:,}", d.decided == "bits"),
        ("worst", f"got {d.got!r}, expected {d.want!r} at {_place(d.worst)}", d.decided in ("NaN", "infinity")),
        ("error / " + allowed, f"{d.excess:.4g}", "tolerance" in d.decided),
        ("ulp", f"{d.ulp:.4g}", False),
        ("absolute", f"{d.absolute:.4g}", False),
        ("relative", f"{d.relative:.4g}", False),
        ("RMS (MIOpen)", f"{d.rms:.4g}", False),
        ("L2", f"{d.l2:.4g}", False),
        ("first wrong", _place(d.first), False),
    ]
    if d.left_out:
        rows.append(("not judged", f"{d.left_out:,}", False))
    yield f'<table class="measures"><caption>{escape(name)}</caption>'
    for label, text, deciding in rows:
        mark = f' <b class="decided">decided: {escape(d.decided)}</b>' if deciding else ""
        css = ' class="deciding"' if deciding else ""
        yield f"<tr{css}><th>{escape(label)}</th><td>{escape(text)}{mark}</td></tr>"
    yield "</table>"


def _place(index: Sequence[int]) -> str:
    return f"({', '.join(map(str, index))})" if index else "none"


def _reproducer(report: RunReport, result: CaseResult) -> Iterator[str]:
    reproducer = report.reproducers.get(result.case)
    if reproducer and smallest(report, result) != result.case:
        yield f"<p>Smallest case that fails so: <code>{escape(reproducer.smallest)}</code>"
        yield f' <span class="dim">({reproducer.tried:,} tried)</span></p>' if reproducer.tried else "</p>"
    yield _copied(command(report, result))
    if reproducer and reproducer.script:
        yield "<details><summary>The same as a program</summary>"
        yield f"{_copied(reproducer.script.rstrip())}</details>"


def _copied(text: str) -> str:
    return f'<div class="copied"><button class="copy">copy</button><pre>{escape(text)}</pre></div>'
