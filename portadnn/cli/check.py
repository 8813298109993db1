"""``portadnn check``: what happens to this cuDNN code on another library."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .._io.files import write_whole
from ..errors import BadParam, shown
from ..migrate import baseline as baselines
from ..migrate import checker, reports
from ..migrate import config as configs
from ..migrate.report import Report
from ..migrate.reports.terminal import show
from ..migrate.selection import one_of
from .garbage import rarely_collected

OFTEN = 0.1  # seconds between two drawings of the progress
CLEAN, FOUND, USAGE = 0, 1, 2  # the last one also where calls may have been missed


@dataclass(frozen=True)
class Output:
    """Where a report goes: ``"-"`` is the standard output."""

    format: str
    path: str


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    paths: tuple[str, ...]
    options: dict[str, Any]
    config: Path | None = None
    format: str | None = None
    outputs: tuple[str, ...] = ()
    write_baseline: Path | None = None
    jobs: int | None = None
    stdin_name: str | None = None
    progress: bool = True
    quiet: bool = False
    verbose: bool = False


def outputs(given: Sequence[str], format: str | None) -> list[Output]:
    """Return where reports go, by ``path``, ``format:path`` and ``--format``.

    Raises
    ------
    BadParam
        A format is not known, or that of a file cannot be told.
    """
    if format is not None:
        one_of(format, reports.FORMATS, "--format")
    found = []
    plain = False
    for text in given:
        name, colon, path = text.partition(":")
        if colon and name in reports.FORMATS and path:
            found.append(Output(name, path))
            continue
        guessed = format or reports.SUFFIXES.get(Path(text).suffix.lower())
        if guessed is None:
            formats = ", ".join(reports.FORMATS)
            raise BadParam(argument="--output", expected=f"format:path with one of {formats}", got=shown(text))
        plain = plain or format is not None
        found.append(Output(guessed, text))
    if not any(output.path == "-" for output in found):
        if format is not None and not plain:
            found.append(Output(format, "-"))
        else:
            found.append(Output("terminal", "-"))
    for output in found:
        folder = Path(output.path).parent
        if output.path != "-" and not folder.is_dir():
            raise BadParam(argument="--output", expected="a path in a folder that is there", got=shown(output.path))
    return found


def settings(asked: Asked) -> configs.Config:
    """Return the settings: those of the file that holds for the first path, and the command line's, which win.

    Raises
    ------
    BadParam
        The file or an option cannot be right.
    """
    path = asked.config or configs.find(_start(asked.paths))
    config = configs.Config(root=Path.cwd()) if path is None else configs.read(path)
    options = dict(asked.options)
    if options.get("exclude") is not None:
        options["exclude"] = (*config.exclude, *options["exclude"])
    return config.with_options(**options)


def _start(paths: Sequence[str]) -> Path:
    first = Path(paths[0]) if paths and paths[0] != "-" else Path.cwd()
    return first if first.is_dir() else first.parent


@rarely_collected()
def check(asked: Asked) -> int:
    """Check, report, and return the exit code.

    Raises
    ------
    DnnError, OSError
        Something that was asked for cannot be.
    """
    to = outputs(asked.outputs, asked.format)
    config = settings(asked)
    if asked.write_baseline is not None:  # it replaces the one there is
        config = replace(config, baseline=None)
    report = _run(asked, config)
    if asked.write_baseline is not None:
        comments = {id(item.finding) for item in report.silenced}
        number = baselines.write(asked.write_baseline, report.every, config.root, lambda one: id(one) not in comments)
        print(f"{number} findings, rewrites included, written to {asked.write_baseline}", file=sys.stderr)
    for output in to:
        _write(report, output, asked)
    if asked.write_baseline is not None:
        return CLEAN
    if report.failed:
        return FOUND
    if not report.missing or config.incomplete == "pass":
        return CLEAN
    print(f"portadnn check: calls may have been missed: {report.missing}", file=sys.stderr)
    return USAGE


def _run(asked: Asked, config: configs.Config) -> Report:
    with _progress(asked.progress) as progress:
        name = asked.stdin_name or "<stdin>"
        return checker.check(asked.paths, config, jobs=asked.jobs, progress=progress, stdin_name=name)


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[str, int, int], None]]:
    console = Console(stderr=True)
    if not (wanted and console.is_terminal):
        yield checker.silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # No thread draws it: reading starts processes, and those must not begin between two threads.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("looking for sources", total=None)

        drawn = 0.0

        def told(stage: str, done: int, total: int) -> None:
            nonlocal drawn
            bar.update(task, description=stage, completed=done, total=total or None)
            if time.monotonic() - drawn > OFTEN:
                bar.refresh()
                drawn = time.monotonic()

        yield told


def _write(report: Report, output: Output, asked: Asked) -> None:
    if output.path != "-":
        text = reports.write(report, output.format, quiet=asked.quiet, verbose=asked.verbose)
        write_whole(Path(output.path), text.encode("utf-8", "backslashreplace"))
    elif output.format == "terminal":
        console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100)
        show(report, console, quiet=asked.quiet, verbose=asked.verbose)
    else:
        sys.stdout.write(reports.write(report, output.format))
