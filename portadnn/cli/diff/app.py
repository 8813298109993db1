"""``portadnn diff``: the sub-commands and their options. What one needs is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..._io.text import clean
from . import golden as cli_diff_golden
from . import graphs as cli_diff_graphs
from . import onnx as cli_diff_onnx
from . import pytorch as cli_diff_pytorch
from . import script as cli_diff_script
from . import shrink as cli_diff_shrink
from .time import finite, seconds_of

SCRIPT = "script"  # the sub-command that `portadnn diff -- python train.py` stands for


class _Default(TyperGroup):
    """A group for which `run` may be left out, and in which -- is followed by a program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if first not in self.commands and first not in ("--help", "-h"):
            args = [SCRIPT if "--" in args else "run", *args]
        found: list[str] = super().parse_args(ctx, args)
        return found


app = typer.Typer(
    cls=_Default,
    help="Run problems on several backends and compare them with the exact result and with each other.",
    epilog="`portadnn diff LINE` and `portadnn diff --op ...` are short for `portadnn diff run ...`.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _words(values: list[str] | None) -> tuple[str, ...]:
    return tuple(word.strip() for value in values or () for word in value.split(",") if word.strip())


@app.command()
def run(
    cases: Annotated[
        list[str] | None,
        typer.Argument(
            help="Case lines, or files of them; - is standard input. [default: generated cases of every operation]"
        ),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--targets",
            "-t",
            help="Where to run: opencl, cuda:1, opencl-cpu, opencl:0/gpu. [default: every backend that works here]",
        ),
    ] = None,
    op: Annotated[list[str] | None, typer.Option(help="Operations, such as 'pooling_*'. [default: all]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the generated cases.")] = 0,
    count: Annotated[int | None, typer.Option(min=1, help="Cases at most. [default: all, or a default number]")] = None,
    time: Annotated[str | None, typer.Option(help="End after this time: 90s, 5m, 2h.")] = None,
    stop_after: Annotated[int | None, typer.Option(min=1, help="End after as many failures.")] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="exact, random, ties, nan, inf, denormal, huge, cancelling.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. [default: half the cores, 2 at least]")] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, callback=finite, help="Seconds that a case may take on a target.")
    ] = 120.0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the journal and the reports.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the journal in the folder.")] = False,
    from_log: Annotated[list[Path] | None, typer.Option(help="cuDNN's or MIOpen's log, whose calls to run.")] = None,
    recording: Annotated[list[Path] | None, typer.Option(help="A recording, whose calls to run.")] = None,
    named: Annotated[list[str] | None, typer.Option("--set", help="A named set of problems.")] = None,
    lines: Annotated[list[Path] | None, typer.Option(help="File with a case in each line.")] = None,
    engines: Annotated[bool, typer.Option("--engines", help="Run each engine that takes a case, by name.")] = False,
    algo: Annotated[str, typer.Option(help="Algorithm to ask for, such as winograd, where there is one.")] = "",
    perf: Annotated[bool, typer.Option("--perf", help="Measure times as well.")] = False,
    shrink: Annotated[bool, typer.Option(help="Look for the smallest case that fails like each failure.")] = True,
    format: Annotated[str, typer.Option(help="What to print: terminal, json, junit or html.")] = "terminal",
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the workers of a Dask scheduler: tcp://host:8786.")
    ] = None,
    progress: Annotated[bool, typer.Option(help="Draw progress on terminals.")] = True,
) -> None:
    """Run cases on every target and say who is wrong.

    Exits with 0 where all agree, with 1 where a case failed, with 2 for options or files that cannot be right, and
    with 130 when interrupted; what was done is kept in the folder that --output names.
    """
    from ...diff.reports import FORMATS
    from ...errors import DnnError
    from . import run as cli_diff_run

    if resume and output is None:
        raise typer.BadParameter("--output is expected with it", param_hint="--resume")
    if format not in FORMATS:
        wanted = ", ".join(FORMATS)
        raise typer.BadParameter(f"{wanted} is expected, not {format}", param_hint="--format")
    asked = cli_diff_run.Asked(
        cases=tuple(cases or ()),
        targets=_words(targets),
        ops=_words(op),
        seed=seed,
        count=count,
        seconds=seconds_of(time),
        stop_after=stop_after,
        data=_words(data),
        jobs=jobs,
        timeout=timeout,
        output=output,
        resume=resume,
        logs=tuple(from_log or ()),
        recordings=tuple(recording or ()),
        sets=_words(named),
        lines=tuple(lines or ()),
        engines=engines,
        algo=algo,
        perf=perf,
        shrink=shrink,
        format=format,
        scheduler=scheduler,
        progress=progress,
    )
    try:
        code = cli_diff_run.run(asked)
    except BrokenPipeError:  # whoever read has enough
        raise
    except (DnnError, OSError, MemoryError) as error:
        typer.secho(f"portadnn: {clean(str(error)) or 'there is not enough memory'}", fg=typer.colors.RED, err=True)
        raise typer.Exit(cli_diff_run.USAGE) from None
    raise typer.Exit(code)


cli_diff_shrink.mount(app)
cli_diff_golden.mount(app)
cli_diff_graphs.mount(app)
cli_diff_script.mount(app)
cli_diff_pytorch.mount(app)
cli_diff_onnx.mount(app)
