"""``portadnn diff torch -- python train.py``: a PyTorch program beside another backend, call by call."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from .shrink import told

SHOWN = 5


def torch(
    program: Annotated[list[str], typer.Argument(help="The Python program and its arguments, behind --.")],
    target: Annotated[str, typer.Option("--target", "-t", help="The backend beside it, such as opencl or cuda:1.")] = (
        "opencl"
    ),
    checks: Annotated[int, typer.Option(min=1, help="Calls of each module and problem that are compared.")] = 2,
    format: Annotated[str, typer.Option(help="What to print: text or json.")] = "text",
) -> None:
    """Run a PyTorch program, compute its calls on another backend as well, and name the first layer that is off.

    Each call gets the inputs that it had in the program, and both results are held against the exact one. Exits with 0
    where all agree, with 1 where a call is off, and with the program's own status where that fails.
    """
    from ...diff import Target
    from .. import pytorch

    if format not in ("text", "json"):
        raise typer.BadParameter(f"text or json is expected, not {format}", param_hint="--format")
    with told():
        kind = pytorch.recording().comparer()
        chosen = Target.parse(target)
        with chosen.open() as handle:
            comparer = kind(handle, str(chosen), checks=checks)
            with comparer:
                code = pytorch.run_program(program)
    typer.echo(
        json.dumps(_facts(comparer), indent=1) if format == "json" else _text(comparer, pytorch.summary(comparer))
    )
    raise typer.Exit(code or (1 if comparer.differences else 0))


def _facts(comparer: Any) -> dict[str, Any]:
    return {
        "target": comparer.name,
        "calls": dict(comparer.counts),
        "problems": dict(comparer.posed),
        "compared": dict(comparer.compared_calls),
        "differences": [asdict(one) for one in comparer.differences],
        "left_out": [[*what, count] for what, count in comparer.left.items()],
        "refused": [[*what, count] for what, count in comparer.refused.items()],
    }


def _text(comparer: Any, summary: str) -> str:
    lines = [summary, f"{comparer.compared_calls.total()} problems were compared with {comparer.name}"]
    lines += [
        f"  {comparer.name} does not compute {count}: {op}: {reason}"
        for (op, reason), count in comparer.refused.most_common(SHOWN)
    ]
    if not comparer.differences:
        return "\n".join([*lines, "no call is off"])
    first = comparer.differences[0]
    lines.append(f"FIRST OFF: {first}")
    rest = comparer.differences[1:]
    places = dict.fromkeys(f"{one.module or one.function} ({one.target})" for one in rest)
    if rest:
        told_of = ", ".join(list(places)[:SHOWN])
        lines.append(f"{len(rest)} more differences, in {told_of}{', ...' if len(places) > SHOWN else ''}")
    return "\n".join(lines)


def mount(app: typer.Typer) -> None:
    """Add the command to those of ``portadnn diff``."""
    app.command()(torch)
