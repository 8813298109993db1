"""``portadnn diff graphs``: random graphs by every engine of the Graph API, against the definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .cli_diff_shrink import told

if TYPE_CHECKING:
    from rich.console import Console

    from .diff.graph_campaign import GraphReport

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
    count: Annotated[int, typer.Option(min=1, help="Graphs.")] = COUNT,
    seed: Annotated[int, typer.Option(min=0, help="Of the graphs.")] = 0,
    nodes: Annotated[int, typer.Option(min=1, max=64, help="Nodes of a graph at most.")] = 12,
    time: Annotated[str | None, typer.Option(help="End after this time: 90s, 5m, 2h.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the record, as JSON.")] = None,
    progress: Annotated[bool, typer.Option(help="Draw progress on terminals.")] = True,
) -> None:
    """Run random graphs by every engine that takes them, and hold each node against its definition.

    A failure is shrunk to the smallest graph that shows it, and printed as a program. Exits with 0 where all is right,
    with 1 where something failed.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from .cli_diff import seconds_of
    from .cli_diff_run import working_targets
    from .diff.graph_campaign import run_graphs
    from .diff.targets import Target

    limit = seconds_of(time)
    console, errors = Console(), Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with told():
        default = [name for name in working_targets() if name != "reference"] or ["reference"]
        words = [word.strip() for text in targets or default for word in text.split(",") if word.strip()]
        chosen = [Target.parse(word) for word in dict.fromkeys(words)]
        with Progress(*columns, console=errors, disable=not (progress and errors.is_terminal)) as bar:
            task = bar.add_task("graphs", total=count)

            def after(report: GraphReport) -> None:
                failed = len(report.failures)
                bar.update(task, completed=report.graphs, description=f"graphs, {failed} failures")

            report = run_graphs(chosen, count, seed=seed, seconds=limit, told=after, most=nodes)
        if output is not None:
            output.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
    show(report, console)
    raise typer.Exit(0 if report.passed else WRONG)


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
