"""``portadnn diff graphs``: random graphs by every engine of the Graph API, against the definition."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..._io.files import write_whole
from .shrink import told, words_of
from .time import finite, seconds_of

if TYPE_CHECKING:
    from rich.console import Console

    from ...diff.graphs.campaign import GraphReport

COUNT = 200
SHOWN = 20  # failures
WRONG = 1


def graphs(
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--targets", "-t", help="Where to run. [default: every backend that works here, but for the definition]"
        ),
    ] = None,
    line: Annotated[str | None, typer.Option(help="Run the graph of this problem line instead of random ones.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="Run the graph of this file, of portadnn, hipDNN or cudnn-frontend.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Graphs, or data for the one graph. [default: 200, or 1]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the graphs.")] = 0,
    first: Annotated[int, typer.Option(min=0, help="Number of the first one; a failure's is told.")] = 0,
    nodes: Annotated[int, typer.Option(min=1, max=64, help="Nodes of a graph at most.")] = 12,
    time: Annotated[str | None, typer.Option(help="End after this time: 90s, 5m, 2h.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. [default: half the cores, 2 at least]")] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, callback=finite, help="Seconds that a plan of a graph may take.")
    ] = 120.0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the record, as JSON.")] = None,
    shrink: Annotated[bool, typer.Option(help="Look for the smallest graph that fails like each failure.")] = True,
    progress: Annotated[bool, typer.Option(help="Draw progress on terminals.")] = True,
) -> None:
    """Run random graphs by every engine that takes them, and hold each node against its definition.

    Graphs run in processes of their own, each of which opens all targets: one that crashes or hangs costs its graph.
    A failure is shrunk to the smallest graph that shows it, and printed as a program. Exits with 0 where all is right,
    with 1 where something failed, and with 130 when interrupted; what was done is kept.
    """
    from rich.console import Console

    from ...diff.campaign import Setup, quiet_environment
    from ...diff.graphs.campaign import graph_runner, run_graphs, shrink_failures
    from ...diff.graphs.cases import case_of_line
    from ..graph import graph_of_file
    from .run import INTERRUPTED, default_jobs, working_targets

    if file is not None:
        if line is not None:
            raise typer.BadParameter("--line and --file exclude each other", param_hint="--file")
        with told():
            line = str(graph_of_file(file)[1])
    limit, count = seconds_of(time), count or (1 if line else COUNT)
    options: dict[str, Any] = {"line": line} if line else {"most": nodes}
    with told(), ExitStack() as stack:
        if line:
            case_of_line(line)  # which says what is wrong with it
        words = words_of(targets or [name for name in working_targets() if name != "reference"] or ["reference"])
        folder = stack.enter_context(TemporaryDirectory(prefix="portadnn-"))
        environment = {**quiet_environment(folder), "PORTADNN_CACHE_DIR": f"{folder}/kernels"}  # of all processes
        runner = graph_runner(Setup(words), jobs=jobs or default_jobs(), timeout=timeout, environment=environment)
        stack.callback(runner.close)
        with _progress(count, progress) as after:
            report = run_graphs(runner, count, seed=seed, first=first, seconds=limit, told=after, **options)
        save(report, output)
        if shrink and not (report.passed or report.interrupted):
            shrink_failures(report, runner)
            save(report, output)
    show(report, Console())
    raise typer.Exit(INTERRUPTED if report.interrupted else WRONG if report.failures else 0)


@contextmanager
def _progress(count: int, wanted: bool) -> Iterator[Callable[[GraphReport], None]]:
    """Yield what draws progress on terminals, where that is wanted."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    errors = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, disable=not (wanted and errors.is_terminal)) as bar:
        task = bar.add_task("graphs", total=count)

        def after(report: GraphReport) -> None:
            failed = len(report.failures)
            bar.update(task, completed=report.graphs, description=f"graphs, {failed} failures")

        yield after


def save(report: GraphReport, path: Path | None) -> None:
    """Write the record, where one is wanted."""
    if path is not None:
        write_whole(path, f"{json.dumps(report.as_json(), indent=1)}\n".encode())


def show(report: GraphReport, console: Console) -> None:
    """Print counts by engine and verdict, and the first failures with their programs."""
    from rich.table import Table

    verdicts = sorted({verdict for _, _, verdict in report.verdicts})
    table = Table(title=f"{report.graphs} graphs in {report.seconds:.0f} s{'' if report.complete else ', ended early'}")
    for name in ("Target", "Engine", *verdicts):
        table.add_column(name, justify="left" if name in ("Target", "Engine") else "right")
    for target, engine in sorted({key[:2] for key in report.verdicts}):
        table.add_row(target, engine, *(str(report.verdicts[target, engine, verdict]) for verdict in verdicts))
    console.print(table)
    for target, found in report.plans.items():
        console.print(f"{target}: {found['right']} of {found['runs']} runs of plans are right", highlight=False)
    shown = [failure for failure in report.failures if failure.script][:SHOWN]
    for failure in shown:
        console.rule(f"{failure.verdict}: {failure.engine} on {failure.target}, graph {failure.graph}")
        console.print(failure.message, markup=False, highlight=False)
        console.print(f"The smallest graph that shows it: {', '.join(failure.smallest)}", markup=False)
        console.print(failure.script, markup=False, highlight=False, soft_wrap=True)
    if report.failures:
        alike = f"; {len(shown)} kinds are shown" if len(shown) < len(report.failures) else ""
        console.print(f"{len(report.failures)} failures{alike}", markup=False)


def mount(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command()(graphs)
