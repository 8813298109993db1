"""``portadnn warm``: compile the kernels of problems, recordings and logs ahead of the programs that need them."""

from __future__ import annotations

import io
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._io.outside import open_regular
from .._io.text import clean
from ..errors import DnnError
from ..handle import Handle

if TYPE_CHECKING:
    from ..problem import Problem


@dataclass(frozen=True)
class Asked:
    """What is to be prepared: files, named sets with batch, type and layout; and on which device."""

    files: tuple[Path, ...]
    sets: tuple[str, ...]
    batch: int
    dtype: str
    layout: str
    backend: str
    device: int | None


def warm(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Recordings, files of problem lines or MIOpenDriver commands, logs of cuDNN and MIOpen."),
    ] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", help="A network, such as resnet50.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Of the networks' convolutions.")] = 1,
    dtype: Annotated[str, typer.Option(help="f32, f16, bf16 or f64.")] = "f32",
    layout: Annotated[str, typer.Option(help="nchw or nhwc.")] = "nchw",
    backend: Annotated[str, typer.Option(help="Backend to compile for.")] = "auto",
    device: Annotated[int | None, typer.Option(min=0, help="Device number, as `portadnn info` lists it.")] = None,
) -> None:
    """Compile the kernels that a program will need, side by side, into the kernel cache.

    Exits with 1 where the device does not take some problem, and with 2 for options or files that cannot be right.
    """
    if not files and not sets:
        raise typer.BadParameter("a file or --set is expected", param_hint="files")
    asked = Asked(tuple(files or ()), tuple(sets or ()), batch, dtype, layout, backend, device)
    try:
        code = _run(asked)
    except (DnnError, OSError) as error:
        typer.secho(f"portadnn: {clean(str(error))}", fg=typer.colors.RED, err=True)
        raise typer.Exit(2) from None
    raise typer.Exit(code)


def _run(asked: Asked) -> int:
    """Prepare, print what came of it, and return the exit code: 1 where something was refused.

    Raises
    ------
    DnnError, OSError
        A file is none of the kinds, or the backend is not there.
    """
    from ..recording import read

    start = time.perf_counter()
    with Handle(asked.backend, asked.device, profile="") as handle:
        problems = graphs = 0
        refused: dict[str, str] = {}
        for file in asked.files:
            if _is_recording(file):
                made = handle.prepare(read(file))
                problems, graphs = problems + made.problems, graphs + made.graphs
                refused.update(made.refused)
        lines = list(dict.fromkeys(_problems(asked)))
        if lines:
            made = handle.prepare(lines)
            problems += made.problems
            refused.update(made.refused)
        handle.synchronize()
        seconds, name = time.perf_counter() - start, handle.info.name
    for line, reason in refused.items():
        typer.secho(clean(f"left out: {line}: {reason}"), fg=typer.colors.YELLOW, err=True)
    typer.echo(f"{problems} problems and {graphs} graphs on {name}, {len(refused)} left out, in {seconds:.1f} s")
    return 1 if refused else 0


def _problems(asked: Asked) -> Iterator[Problem]:
    from ..diff import sources

    for file in asked.files:
        if not _is_recording(file):
            found = sources.from_log(file) if _is_log(file) else sources.from_file(file)
            yield from (case.problem for case in found.counts)
    for name in asked.sets:
        found = sources.from_set(name, batch=asked.batch, dtype=asked.dtype, layout=asked.layout)
        yield from (case.problem for case in found.counts)


def _head(file: Path) -> list[str]:
    with io.TextIOWrapper(open_regular(file, "file"), "utf-8", "replace") as text:
        return list(itertools.islice(iter(lambda: text.readline(4096), ""), 50))


def _is_recording(file: Path) -> bool:
    return os.fspath(file) != "-" and any("portadnn_recording" in line for line in _head(file)[:1])


def _is_log(file: Path) -> bool:
    """Tell whether a file is a log of cuDNN or MIOpen, which name their functions in the first lines."""
    if os.fspath(file) == "-":
        return False
    lines = [line for line in _head(file) if line.strip() and not line.lstrip().startswith("#")]
    return any("cudnn" in line or "miopen" in line for line in lines) and "MIOpenDriver" not in "".join(lines)
