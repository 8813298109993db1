"""``portadnn diff run``: a campaign with progress, its reports, and an exit code."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ...diff import reports
from ...diff.campaign import (
    Budget,
    DistributedRunner,
    Interrupted,
    Journal,
    LocalRunner,
    Runner,
    Setup,
    find_smallest,
    quiet_environment,
    run_campaign,
)
from ...diff.campaign.cache import default_folder
from ...diff.campaign.campaign import BROKEN
from ...diff.campaign.drawing import Wanted, draw
from ...diff.cases import Case
from ...diff.reports.terminal import show as show_report
from ...diff.results import RunReport
from ...diff.verdict import CaseResult
from ...errors import BadParam
from ...registry import default_backend_names, get_backend

USAGE, INTERRUPTED = 2, 130
FILES = ("report.json", "junit.xml", "report.html")
SHOWN = 20  # kinds of calls that were left out


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
    format: str = "terminal"
    scheduler: str | None = None
    progress: bool = True


def working_targets() -> tuple[str, ...]:
    """Return the names of the backends that work here."""
    return tuple(name for name in default_backend_names() if get_backend(name).why_unavailable() is None)


def default_jobs() -> int:
    """Return half the cores that this process may use, but two where there are as many."""
    cores = len(os.sched_getaffinity(0))
    return max(min(cores, 2), cores // 2)


def given_cases(asked: Asked) -> tuple[Case, ...] | None:
    """Return the cases of the command line, of files, logs, recordings and named sets; None where none are asked for.

    Raises
    ------
    BadParam, NotSupported, OSError
        One of them is none.
    """
    if not (asked.cases or asked.lines or asked.logs or asked.recordings or asked.sets):
        return None
    from ...diff import sources

    parts = [
        sources.from_file(word) if word == "-" or _is_file(word) else sources.from_lines([word], "argument")
        for word in asked.cases
    ]
    parts += map(sources.from_file, asked.lines)
    parts += map(sources.from_log, asked.logs)
    parts += map(sources.from_recording, asked.recordings)
    parts += map(sources.from_set, asked.sets)
    left_out = sum((part.left_out for part in parts), Counter[tuple[str, str]]())
    for (what, why), count in left_out.most_common(SHOWN):
        print(f"portadnn: left out {count} times: {what}: {why}", file=sys.stderr)
    data = asked.data or ("random",)
    return tuple(dict.fromkeys(case for part in parts for case in part.cases(data, seed=asked.seed)))


def _is_file(word: str) -> bool:
    return "=" not in word and " " not in word and Path(word).is_file()


def run(asked: Asked) -> int:
    """Run the campaign, print what came of it, write the reports, and return the exit code.

    Raises
    ------
    DnnError, OSError
        The options or files cannot be right, or targets cannot be opened.
    """
    targets = asked.targets or (working_targets() if asked.scheduler is None else default_backend_names())
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
        show = stack.enter_context(_Show(asked, wanted.total).shown())
        cases = wanted.cases({}) if asked.scheduler is not None else draw(wanted, setup, environment)
        budget = Budget(asked.seconds, asked.stop_after)
        try:
            report = run_campaign(cases, runner, settings=settings, journal=journal, budget=budget, observe=show.add)
            if asked.shrink and not report.passed:
                _shrink(report, runner)
        except Interrupted as interrupted:
            show.end()
            finish(asked, interrupted.report)
            print(f"portadnn: interrupted; {_how_to_resume(asked)}", file=sys.stderr)
            return INTERRUPTED
        show.end()
        finish(asked, report)
    return 0 if report.passed else 1


def _shrink(report: RunReport, runner: Runner) -> None:
    """Look for the smallest case of each failure; an interrupt ends that, and what was found is kept."""
    try:
        find_smallest(report, runner.examine)
    except KeyboardInterrupt:
        print("portadnn: interrupted while failing cases were made smaller", file=sys.stderr)


def _runner(asked: Asked, setup: Setup, environment: dict[str, str]) -> Runner:
    if asked.scheduler is None:
        jobs = asked.jobs or default_jobs()
        return LocalRunner(setup, jobs=jobs, timeout=asked.timeout, environment=environment)
    if asked.engines or asked.jobs is not None:
        word = "--engines" if asked.engines else "--jobs"
        raise BadParam(argument=word, expected="none with --scheduler", got="it")
    return DistributedRunner(asked.scheduler, setup, timeout=asked.timeout, choose=not asked.targets)


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

    def end(self) -> None:
        """Leave the terminal to the report."""
        if self.progress is not None:
            self.progress.stop()

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
    """Print a report, and write it to the folder in every format."""
    if asked.output is not None:
        for name in FILES:
            reports.save(report, asked.output / name)
    if asked.format == "terminal":
        show_report(report, Console())
    else:
        print(reports.write(report, asked.format), end="")
