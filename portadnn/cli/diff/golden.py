"""``portadnn diff record`` and ``portadnn diff check``: golden files between machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import BadParam, shown
from .shrink import told

if TYPE_CHECKING:
    from ...diff.golden import Entry, Golden
    from ...handle import Handle

PATIENCE = 6  # cases that are tried for each that is kept
LARGEST = 60_000  # elements of a case's outputs together


@contextmanager
def _progress(title: str, total: int | None, shown: bool) -> Iterator[Callable[[], None]]:
    """Draw progress on a terminal; yields what to call after each case."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True, disable=not shown or not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


def _operations(patterns: Sequence[str]) -> list[str]:
    """Return the operations that some patterns name; all without a pattern."""
    from ...problem import every_problem

    known = sorted(every_problem())
    for pattern in patterns:
        if not any(fnmatch(op, pattern) for op in known):
            raise BadParam(argument="op", expected=f"one of {', '.join(known)}, or a pattern", got=shown(pattern))
    return [op for op in known if not patterns or any(fnmatch(op, pattern) for pattern in patterns)]


def record(
    output: Annotated[Path, typer.Option("--output", "-o", help="The golden file to write, such as nv.pdg.")],
    cases: Annotated[
        list[str] | None, typer.Argument(help="Case lines. [default: generated cases of every operation]")
    ] = None,
    backend: Annotated[str, typer.Option("--backend", "-t", help="Where to record: cuda, cudnn, opencl:1.")] = "auto",
    op: Annotated[list[str] | None, typer.Option(help="Operations, such as 'pooling_*'. [default: all]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the generated cases.")] = 0,
    count: Annotated[int, typer.Option(min=1, help="Generated cases of each operation that are computed.")] = 30,
    progress: Annotated[bool, typer.Option(help="Draw progress on terminals.")] = True,
) -> None:
    """Record what a device computes in a golden file, for devices elsewhere to be held against.

    Inputs are kept as formulas, outputs compressed; refusals are kept with their reasons. Exits with 2 where nothing
    can be recorded.
    """
    from ...diff import Case, Target
    from ...diff.golden import record as record_cases
    from ...diff.golden import write
    from ...handle import Handle

    with told():
        given = [Case.parse(line) for line in cases or ()]
        wanted = _operations(op or ())
        total = len(given) or count * len(wanted)
        opened = Handle(profile="") if backend == "auto" else Target.parse(backend).open()
        with opened as handle, _progress("recording", total, progress) as advance:
            if given:
                golden = record_cases(handle, given, advance)
            else:
                golden = _generated(handle, wanted, seed, count, advance)
        if not any(entry.outputs for entry in golden.entries):
            raise BadParam(f"{backend} computes none of the cases", argument="cases")
        write(golden, output)
    done = sum(entry.status == "SUCCESS" for entry in golden.entries)
    typer.echo(f"{output}: {len(golden.entries)} cases, {done} of them computed, {output.stat().st_size:,} bytes")


def _generated(handle: Handle, ops: Sequence[str], seed: int, count: int, advance: Callable[[], None]) -> Golden:
    """Record generated cases until there are `count` of each operation, or no more come."""
    from ...diff.generate import Mix
    from ...diff.generate import cases as generated
    from ...diff.golden import Golden
    from ...diff.golden import record as record_cases

    kept: list[Entry] = []
    golden: Golden | None = None
    for op in ops:
        done = refused = 0
        for case in islice(generated((op,), seed=seed, handles=(handle,), mix=Mix(engines=False)), PATIENCE * count):
            if sum(case.problem.tensors[case.problem.index(n)].size for n in case.problem.written) > LARGEST:
                continue
            golden = record_cases(handle, [case])
            entry = golden.entries[0]
            if entry.status != case.expect:
                refused += 1
                if refused > count // 10:
                    continue
            else:
                done += 1
                advance()
            kept.append(entry)
            if done >= count:
                break
    if golden is None:
        raise BadParam("there are no cases of this kind", argument="op")
    return Golden(golden.target, golden.environment, golden.created, tuple(kept))


def check(
    file: Annotated[Path, typer.Argument(help="A golden file.")],
    backend: Annotated[
        list[str] | None, typer.Option("--backend", "-t", help="Where to check. [default: the best device]")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the report, as JSON.")] = None,
    format: Annotated[str, typer.Option(help="What to print: table or json.")] = "table",
    progress: Annotated[bool, typer.Option(help="Draw progress on terminals.")] = True,
) -> None:
    """Run the cases of a golden file here, and compare with what was recorded.

    Exits with 0 where all agree, with 1 where one does not, and with 2 for a file that cannot be used.
    """
    from rich.console import Console

    from ..._io.files import write_whole
    from ...diff import Target
    from ...diff.golden import check as check_cases
    from ...diff.golden import read
    from ...diff.reports.terminal import show
    from ...diff.results import report_as_json
    from ...handle import Handle

    if format not in ("table", "json"):
        raise typer.BadParameter(f"table or json is expected, not {format}", param_hint="--format")
    with told():
        golden = read(file)
        with ExitStack() as stack:
            words = [word for text in backend or () for word in text.split(",")]
            handles = {word: stack.enter_context(Target.parse(word).open()) for word in words}
            if not handles:
                best = stack.enter_context(Handle(profile=""))
                handles[best.backend] = best
            with _progress("checking", len(golden.entries), progress) as advance:
                report = check_cases(golden, handles, advance)
        report.settings["file"] = file.name
        values = report_as_json(report) if output is not None or format == "json" else {}
        if output is not None:
            write_whole(output, (json.dumps(values, indent=1) + "\n").encode())
    if format == "json":
        typer.echo(json.dumps(values, indent=1))
    else:
        show(report, Console())
    raise typer.Exit(0 if report.passed else 1)


def mount(app: typer.Typer) -> None:
    """Add the commands to those of ``portadnn diff``."""
    app.command()(record)
    app.command()(check)
