"""``portadnn replay``: the calls of a recording on another backend, as a table; or as other libraries log them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .._io.text import clean
from ..recording import Recording, read
from ..recording.replay import Outcome, Replay, Report

SHOWN = 20  # differences in the terminal
KINDS = {"calls": "calls", "ok": "ok", "different": "different", "unsupported": "unsup.", "left_out": "left out"}


def replay(path: Path, backend: str, device: int | None, *, seed: int, repeat: int, sync: bool, as_json: bool) -> int:
    """Replay a file, print the report, and return the exit code: 0 where everything went as recorded, else 1.

    Raises
    ------
    DnnError, OSError
        The file is no recording, the backend is not there, or there is too little memory.
    """
    recording = read(path)
    run = Replay(recording, backend, device, seed=seed, sync=sync)
    try:
        report = run.run(repeat)
    finally:
        run.close()
    if as_json:
        print(json.dumps(facts(path, recording, report), indent=1))
    else:
        show(recording, report)
    return 0 if report.same else 1


def print_as(path: Path, form: str, version: int) -> None:
    """Print the calls as cuDNN's log, as command lines of MIOpenDriver, or their problems with counts.

    Raises
    ------
    DnnError, OSError
        The file is no recording.
    """
    recording = read(path)
    if form == "lines":
        from ..recording.problems import posed

        for line, one in posed(recording).items():
            where = f" {', '.join(one.modules)}" if one.modules else ""
            print(clean(f"{line}  # {one.calls} times{where}"))
        return
    if form == "cudnn-log":
        from ..recording.cudnn_log import cudnn_log

        lines = cudnn_log(recording, version)
    else:
        from ..recording.driver_lines import driver_lines

        lines = driver_lines(recording)
    for line in lines:
        print(clean(line))


def facts(path: Path, recording: Recording, report: Report) -> dict[str, Any]:
    """Return a report as JSON."""
    return {
        "recording": str(path),
        "complete": recording.complete,
        "recorded": list(recording.handles.values()),
        "device": report.device,
        "bytes": report.nbytes,
        "same": report.same,
        "functions": [{name: value for name, value in vars(row).items() if name != "times"} for row in report.rows],
        "differences": [_difference(outcome) for outcome in report.outcomes if outcome.kind != "ok"],
    }


def _difference(outcome: Outcome) -> dict[str, Any]:
    event = outcome.event
    return {
        "call": event.number,
        "function": event.function,
        "site": list(event.site),
        "kind": outcome.kind,
        "recorded": event.status,
        "replayed": outcome.status,
        "reason": outcome.reason,
        "problem": event.problem,
    }


def _micro(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:,.1f}"


def show(recording: Recording, report: Report) -> None:
    """Print a report as a table, and what did not go as recorded below it."""
    console = Console()
    console.print(_table(report))
    where = ", ".join(f"{h['backend']}: {h['device']}" for h in recording.handles.values()) or "no device"
    console.print(
        escape(
            f"Recorded on {where}; replayed on {report.device}, in {report.nbytes / 2**20:,.1f} MiB; times are medians."
        )
    )
    if not recording.complete:
        console.print("The recording was cut off; what it has was replayed.")
    wrong = [outcome for outcome in report.outcomes if outcome.kind in ("different", "unsupported")]
    for outcome in wrong[:SHOWN]:
        event = outcome.event
        told = f"{event.site[0]}:{event.site[1]}: {event.function}: {event.status}, here {outcome.status}"
        console.print(escape(clean(f"{told}: {outcome.reason}")), style="red", highlight=False, soft_wrap=True)
    if len(wrong) > SHOWN:
        console.print(f"and {len(wrong) - SHOWN} more (--format json has all)", style="red")
    for reason, count in _left_out(report).items():
        console.print(escape(clean(f"left out: {reason} ({count})")), style="dim", highlight=False)


def _table(report: Report) -> Table:
    """Return the rows as a table, with a column for each thing that happened."""
    kinds = [kind for kind in KINDS if kind in ("calls", "ok") or any(getattr(row, kind) for row in report.rows)]
    table = Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("function", overflow="fold")
    for heading in (*(KINDS[kind] for kind in kinds), "µs then", "µs now"):
        table.add_column(heading, justify="right")
    for row in report.rows:
        cells = [str(getattr(row, kind) or "") for kind in kinds]
        style = "red" if row.different or row.unsupported else None
        table.add_row(row.function, *cells, _micro(row.recorded), _micro(row.replayed), style=style)
    return table


def _left_out(report: Report) -> dict[str, int]:
    counts: dict[str, int] = {}
    for outcome in report.outcomes:
        if outcome.kind == "left out":
            counts[outcome.reason] = counts.get(outcome.reason, 0) + 1
    return counts
