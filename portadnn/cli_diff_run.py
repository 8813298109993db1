"""``portadnn diff run``: a campaign with progress, its reports, and an exit code."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from .diff.campaign import Budget, Interrupted, Journal, LocalRunner, Runner, Setup, quiet_environment, run_campaign
from .diff.campaign.cache import default_folder
from .diff.campaign.campaign import BROKEN
from .diff.campaign.drawing import Wanted, draw
from .diff.cases import Case
from .diff.results import RunReport, by_operation, report_as_json
from .diff.verdict import CaseResult, Verdict
from .errors import BadParam, NotSupported
from .registry import default_backend_names, get_backend

USAGE, INTERRUPTED = 2, 130
FORMATS = ("table", "json")
SHOWN = 20  # failures in the terminal


@dataclass(frozen=True)
class Asked:
    """The options of ``portadnn diff run``."""

    cases: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    seed: int = 0
    count: int | None = None
    seconds: float | None = None
    stop_after: int | None = None
    data: tuple[str, ...] = ()
    jobs: int | None = None
    timeout: float = 120.0
    output: Path | None = None
    resume: bool = False
    logs: tuple[Path, ...] = ()
    recordings: tuple[Path, ...] = ()
    sets: tuple[str, ...] = ()
    lines: tuple[Path, ...] = ()
    engines: bool = False
    algo: str = ""
    perf: bool = False
    shrink: bool = True
    format: str = "table"
    scheduler: str | None = None
    progress: bool = True


def working_targets() -> tuple[str, ...]:
    """Return the names of the backends that work here."""
    return tuple(name for name in default_backend_names() if get_backend(name).why_unavailable() is None)


def default_jobs() -> int:
    """Return half the cores that this process may use, at least 1."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def given_cases(asked: Asked) -> tuple[Case, ...] | None:
    """Return the cases of the command line and of files, logs, recordings and named sets; None where there are none.

    Raises
    ------
    BadParam, NotSupported, OSError
        One of them is none.
    """
    files = [Path(word) for word in asked.cases if _is_file(word)]
    found = [Case.parse(word) for word in asked.cases if not _is_file(word)]
    for path in (*files, *asked.lines):
        found += lines_of(path)
    if asked.logs or asked.recordings or asked.sets:
        found += _from_sources(asked)
    given = (asked.cases, asked.lines, asked.logs, asked.recordings, asked.sets)
    return tuple(found) if any(given) else None


def _is_file(word: str) -> bool:
    return "=" not in word and " " not in word and Path(word).is_file()


def lines_of(path: Path) -> list[Case]:
    """Return the cases of a file with one in each line; empty lines and those that begin with # are left out.

    Raises
    ------
    BadParam
        A line is no case; its number is told.
    """
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                found.append(Case.parse(line))
            except (BadParam, NotSupported) as error:
                raise BadParam(f"{path}, line {number}: {error}") from None
    return found


def _from_sources(asked: Asked) -> list[Case]:
    if importlib.util.find_spec("portadnn.diff.sources") is None:
        raise NotSupported("this version reads no logs, recordings and named sets")
    raise NotSupported("this version reads no logs, recordings and named sets")


def run(asked: Asked) -> int:
    """Run the campaign, print what came of it, write the reports, and return the exit code.

    Raises
    ------
    DnnError, OSError
        The options or files cannot be right, or targets cannot be opened.
    """
    targets = asked.targets or working_targets()
    if len(set(targets)) < len(targets):
        raise BadParam(argument="targets", expected="different ones", got=", ".join(targets))
    given = given_cases(asked)
    wanted = Wanted(
        given, asked.ops, asked.seed, asked.count, asked.seconds is not None, asked.data, asked.algo, asked.engines
    )
    with ExitStack() as stack:
        environment = quiet_environment(stack.enter_context(tempfile.TemporaryDirectory(prefix="portadnn-")))
        setup = Setup(targets, asked.perf, str(default_folder() or ""))
        journal = Journal(asked.output, resume=asked.resume) if asked.output is not None else None
        if journal is not None:
            stack.enter_context(journal)
        runner = _runner(asked, setup, environment)
        stack.callback(runner.close)
        settings = {**wanted.settings(), "targets": list(targets), "perf": asked.perf, "timeout": asked.timeout}
        try:
            with _Show(asked, len(given) if given is not None else asked.count).shown() as show:
                report = run_campaign(
                    draw(wanted, setup, environment),
                    runner,
                    settings=settings,
                    journal=journal,
                    budget=Budget(asked.seconds, asked.stop_after),
                    observe=show.add,
                )
        except Interrupted as interrupted:
            finish(asked, interrupted.report)
            print(f"portadnn: interrupted; {_how_to_resume(asked)}", file=sys.stderr)
            return INTERRUPTED
        finish(asked, report)
    return 0 if report.passed else 1


def _runner(asked: Asked, setup: Setup, environment: dict[str, str]) -> Runner:
    if asked.scheduler is not None:
        raise NotSupported("--scheduler is not there yet")
    jobs = asked.jobs or default_jobs()
    return LocalRunner(setup, jobs=jobs, timeout=asked.timeout, environment=environment)


def _how_to_resume(asked: Asked) -> str:
    if asked.output is None:
        return "with --output DIR, a later run can go on with --resume"
    return f"to go on, give the same command with --resume (the journal is in {asked.output})"


@dataclass
class _Show:
    """Progress on a terminal: cases, failures, rate and the time that is left."""

    asked: Asked
    total: int | None
    progress: Progress | None = None
    task: TaskID | None = None
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    old: int = 0
    failed: int = 0

    @contextmanager
    def shown(self) -> Iterator[_Show]:
        console = Console(stderr=True)
        if not (self.asked.progress and console.is_terminal):
            yield self
            return
        words = TextColumn("{task.fields[failed]} failed, {task.fields[rate]:.1f}/s")
        with Progress(BarColumn(), MofNCompleteColumn(), words, TimeRemainingColumn(), console=console) as progress:
            self.progress = progress
            self.task = progress.add_task("cases", total=self.total, failed=0, rate=0.0)
            yield self

    def add(self, result: CaseResult, old: bool) -> None:
        """Count a result; `old` ones were in the journal."""
        self.done += 1
        self.old += old
        self.failed += result.verdict in BROKEN
        if self.progress is not None and self.task is not None:
            rate = (self.done - self.old) / max(time.monotonic() - self.began, 1e-3)
            self.progress.update(self.task, completed=self.done, failed=self.failed, rate=rate)
            if result.verdict in BROKEN and not old:
                self.progress.print(escape(f"{result.verdict.value} {result.case}"), style="red")


def finish(asked: Asked, report: RunReport) -> None:
    """Print a report, and write it to the folder."""
    values: dict[str, Any] = report_as_json(report) if asked.output is not None or asked.format == "json" else {}
    if asked.output is not None:
        (asked.output / "report.json").write_text(json.dumps(values, indent=1) + "\n")
    if asked.format == "json":
        print(json.dumps(values, indent=1))
    else:
        show_table(report)


def show_table(report: RunReport, console: Console | None = None) -> None:
    """Print how often each operation got each verdict, and what failed."""
    console = console or Console()
    table = Table("operation", "target", *(verdict.value for verdict in Verdict))
    for op, row in sorted(by_operation(report.results).items()):
        for target, counts in row.items():
            table.add_row(op, target, *(str(counts[verdict.value] or "") for verdict in Verdict))
    console.print(table)
    failed = [result for result in report.results if result.verdict in BROKEN]
    for result in failed[:SHOWN]:
        console.print(f"{result.verdict.value} {result.case}\n    {result.reason}", markup=False, highlight=False)
    if len(failed) > SHOWN:
        console.print(f"... and {len(failed) - SHOWN} more")
    told = ", ".join(f"{count} {name.lower()}" for name, count in report.counts.items() if count)
    state = "" if report.complete else "; not all cases were run"
    console.print(f"{len(report.results)} cases in {report.seconds:.1f} s: {told or 'none'}{state}")
