"""``portadnn diff -- python train.py``: a program on several targets, compared call by call."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shrink import told
from .time import finite

if TYPE_CHECKING:
    from ...diff.programs import ProgramReport


def script(
    program: Annotated[list[str], typer.Argument(help="The program and its arguments, behind --.")],
    targets: Annotated[
        list[str] | None, typer.Option("--targets", "-t", help="Where to run. [default: every backend that works here]")
    ] = None,
    checks: Annotated[int, typer.Option(min=0, help="Calls of each problem to compare with the exact result.")] = 4,
    timeout: Annotated[
        float | None, typer.Option(min=1.0, callback=finite, help="Seconds that the program may take.")
    ] = None,
    format: Annotated[str, typer.Option(help="What to print: text or json.")] = "text",
) -> None:
    """Run a program on several backends and name the first call that computes something wrong, or at which they part.

    The program has to choose its device by Handle(): PORTADNN_BACKEND and PORTADNN_DEVICE are set for it. Exits with 0
    where the runs agree, else with 1.
    """
    from ...diff import Target
    from ...diff.programs import run
    from .run import working_targets

    if format not in ("text", "json"):
        raise typer.BadParameter(f"text or json is expected, not {format}", param_hint="--format")
    by_name = program[0] in ("python", "python3") and len(program) > 1
    words = program[1:] if by_name else program  # this Python has portadnn
    with told():
        names = [word for text in targets or () for word in text.split(",")] or list(working_targets())
        chosen = [Target.parse(name) for name in names]
        found = run(
            words,
            chosen,
            checks=checks,
            timeout=timeout,
            told=lambda name: typer.echo(f"portadnn diff: running on {name}", err=True),
        )
    typer.echo(json.dumps(_facts(found), indent=1) if format == "json" else _text(found))
    raise typer.Exit(0 if found.passed else 1)


def _facts(report: ProgramReport) -> dict[str, Any]:
    from ...diff.results import plain

    calls = {one.target: len(one.calls) for one in report.runs}
    divergences = [plain(asdict(divergence)) for divergence in report.divergences]
    return {
        "passed": report.passed,
        "calls": calls,
        "checked": report.checked,
        "divergences": divergences,
        "drift": plain(report.drift),
    }


def _text(report: ProgramReport) -> str:
    calls = ", ".join(f"{one.target}: {len(one.calls)} calls" for one in report.runs)
    lines = [f"{calls}; {report.checked} of them compared with the exact result"]
    if report.drift:
        lines.append(f"largest difference between targets: {max(report.drift):.3g} of a tensor's size")
    if report.passed:
        lines.append("no call computes anything wrong, and the runs agree")
    lines += [f"{divergence.kind.upper()} {divergence}" for divergence in report.divergences]
    return "\n".join(lines)


def mount(app: typer.Typer) -> None:
    """Add the command to those of ``portadnn diff``."""
    app.command()(script)
