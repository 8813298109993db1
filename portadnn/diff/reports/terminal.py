"""The report in a terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..._io.text import clean, count, line_of
from ..results import RunReport
from ..verdict import CaseResult, Verdict
from .summary import (
    MEANINGS,
    blamed,
    command,
    matrix,
    measure,
    operation,
    ranked,
    reasons,
    state,
    targets,
    wrong_judgements,
)
from .timing import duration, speeds, timings

SIGNS = {
    Verdict.PASSED: ("✓", "green"),
    Verdict.FAILED: ("✗", "bold red"),
    Verdict.ERROR: ("!", "bold magenta"),
    Verdict.MISTRUSTED: ("?", "yellow"),
    Verdict.UNSUPPORTED: ("–", "dim"),
    Verdict.SKIPPED: ("○", "dim"),
}
SHOWN = 20  # failures in full
REASONS = 8  # of each kind
SINGLE = 30  # times that are shown case by case


def show(report: RunReport, console: Console, *, verbose: bool = False) -> None:
    """Print a report; with `verbose` every failure and reason."""
    for name, facts in report.targets.items():
        _put(console, (f"{name}: ", "bold"), _device(facts))
    if report.results:
        console.print(_matrix(report), _legend(report))
    _failures(report, console, None if verbose else SHOWN)
    for verdict in (Verdict.MISTRUSTED, Verdict.UNSUPPORTED, Verdict.SKIPPED):
        _reasons(report, console, verdict, None if verbose else REASONS)
    _times(report, console)
    counts = ", ".join(f"{number:,} {name.lower()}" for name, number in report.counts.items() if number)
    style = "bold green" if report.passed and report.counts["PASSED"] else "bold red"
    _put(console, (state(report), style), f" {counts or 'nothing'}; {report.seconds:.1f} s.")


def _put(console: Console, *parts: str | tuple[str, str], indent: int = 0) -> None:
    """Print a line of parts, plain or styled, made safe."""
    text = Text.assemble(*((clean(p), "") if isinstance(p, str) else (clean(p[0]), p[1]) for p in parts))
    console.print(Text(" " * indent) + text, soft_wrap=True, highlight=False)


def _plain(text: str) -> Text:
    """Return text without markup."""
    return Text(line_of(text))


def _device(facts: dict[str, object]) -> str:
    named = [str(facts[key]) for key in ("name", "platform", "version", "driver") if facts.get(key)]
    return line_of(", ".join(dict.fromkeys(named)))


def _matrix(report: RunReport) -> Table:
    names = targets(report)
    table = Table("operation")
    for name in names:
        table.add_column(_plain(name))
    for op, row in matrix(report).items():
        table.add_row(_plain(op), *(_cell(row.get(name, Counter())) for name in names))
    return table


def _cell(counts: Counter[str]) -> Text:
    parts = [
        (f"{counts[verdict.value]:,}{sign}", style) for verdict, (sign, style) in SIGNS.items() if counts[verdict.value]
    ]
    return Text(" ").join(Text(*part) for part in parts)


def _legend(report: RunReport) -> Text:
    met = {judgement.verdict for result in report.results for judgement in result.judgements}
    signs = [Text(f"{sign} {MEANINGS[v].split(':')[0]}", style) for v, (sign, style) in SIGNS.items() if v in met]
    return Text(", ").join(signs)


def _failures(report: RunReport, console: Console, shown: int | None) -> None:
    found = list(ranked(report))
    for result in found[:shown]:
        _failure(report, console, result)
    if shown is not None and len(found) > shown:
        groups = Counter(f"{operation(result)} on {blamed(result)}: {measure(result)}" for result in found[shown:])
        _put(console, (f"and {count(len(found) - shown, 'failure')} more:", "bold"))
        for text, number in groups.most_common(REASONS):
            _put(console, f"{number:,} of {text}", indent=2)
        if len(groups) > REASONS:
            _put(console, f"and {count(len(groups) - REASONS, 'more kind')}", indent=2)


def _failure(report: RunReport, console: Console, result: CaseResult) -> None:
    _put(console)
    head = (result.verdict.value, SIGNS[result.verdict][1])
    _put(console, head, " ", (blamed(result), "bold"), f" ({measure(result)})")
    _put(console, result.case, indent=2)
    for judgement in wrong_judgements(result):
        _put(console, (f"{judgement.target}: ", "bold"), judgement.reason, indent=4)
    if "reference" in result.blamed:
        _put(console, result.reason, indent=4)
    _put(console, ("reproduce: ", "dim"), command(report, result), indent=4)


def _reasons(report: RunReport, console: Console, verdict: Verdict, shown: int | None) -> None:
    found = reasons(report, verdict)
    if not found:
        return
    _put(console)
    sign, style = SIGNS[verdict]
    _put(console, (f"{sign} {MEANINGS[verdict]}", style))
    for reason in found[:shown]:
        _put(console, f"{len(reason.cases):>6,} ", (", ".join(reason.targets), "bold"), f": {line_of(reason.text)}")
    if shown is not None and len(found) > shown:
        rest = sum(len(reason.cases) for reason in found[shown:])
        _put(console, f"{rest:>6,} for {count(len(found) - shown, 'other reason')}")


def _times(report: RunReport, console: Console) -> None:
    found = timings(report)
    if not found:
        return
    _put(console)
    if len(found) <= SINGLE:
        table = Table("case", "target", "engine", "time", "GB/s", "TFLOP/s")
        for one in found:
            numbers: tuple[str, ...] = (duration(one.seconds), f"{one.gigabytes:.4g}", f"{one.teraflops:.3g}")
            table.add_row(_plain(one.case), _plain(one.target), _plain(one.engine), *numbers)
    else:
        table = Table("operation", "target", "cases", "median time", "GB/s", "most", "TFLOP/s", "most")
        for op, row in speeds(found).items():
            for target, speed in row.items():
                rates = (speed.gigabytes, speed.most_gigabytes, speed.teraflops, speed.most_teraflops)
                numbers = (f"{speed.cases:,}", duration(speed.seconds), *(f"{rate:.4g}" for rate in rates))
                table.add_row(_plain(op), _plain(target), *numbers)
    for column in table.columns[3 if len(found) <= SINGLE else 2 :]:
        column.justify = "right"
    console.print(table)
