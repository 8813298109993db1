"""``portadnn diff onnx model.onnx``: a model's nodes on backends beside their definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ..._io.outside import open_regular
from ...errors import BadParam, DnnError
from .shrink import told

SHOWN = 5


def onnx(
    model: Annotated[Path, typer.Argument(help="An ONNX model.")],
    targets: Annotated[
        list[str] | None, typer.Option("--targets", "-t", help="Where to run. [default: every backend that works here]")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="Inputs by name, in a file of numpy.savez. [default: random numbers]")
    ] = None,
    dim: Annotated[
        list[str] | None, typer.Option(help="A dim that the model leaves open: batch=4. [default: 1]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random numbers.")] = 0,
) -> None:
    """Run a model on backends and name the first node whose result is off.

    Each node is held against the same node in float64, of the same inputs. What portadnn lacks is named, and computed
    by ONNX's reference evaluator. Exits with 0 where all nodes are right, with 1 where one is off.
    """
    from ...diff import Target
    from ...onnx import compare, lacking, random_inputs
    from .run import working_targets

    with told():
        sizes = {}
        for word in dim or ():
            name, _, size = word.partition("=")
            if not size.isdecimal():
                raise BadParam(argument="--dim", expected="name=size", got=word)
            sizes[name] = int(size)
        for op, count in lacking(model).items():
            typer.echo(f"not portadnn's: {count} x {op}")
        given = _arrays(inputs) if inputs is not None else random_inputs(model, sizes, seed)
        names = [word for text in targets or () for word in text.split(",")] or list(working_targets())
        wrong = False
        for target in map(Target.parse, names):
            with target.open() as handle:
                found = compare(model, given, handle, str(target))
            nodes = ", ".join(f"{op} {count}" for op, count in sorted(found.compared.items()))
            typer.echo(f"{found.target}: {found.compared.total()} nodes compared ({nodes})")
            for difference in found.differences[:SHOWN]:
                typer.echo(f"  OFF: {difference}")
            if not found.differences:
                typer.echo("  all are right")
            wrong = wrong or bool(found.differences)
    raise typer.Exit(1 if wrong else 0)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return what numpy.savez wrote."""
    try:
        with open_regular(path, "--inputs") as stream, np.load(stream, allow_pickle=False) as found:
            return dict(found)
    except (OSError, MemoryError, DnnError):
        raise
    except Exception as error:  # of zip files and headers: of many kinds
        raise BadParam(argument="--inputs", expected="a file of numpy.savez", got=f"{path}: {error}") from None


def mount(app: typer.Typer) -> None:
    """Add the command to those of ``portadnn diff``."""
    app.command()(onnx)
