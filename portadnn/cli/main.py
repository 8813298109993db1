"""The ``portadnn`` command. What a sub-command needs is imported when it runs, so that ``--help`` stays quick."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .._io.text import clean
from .._version import __version__
from ..errors import DnnError
from .cache import app as cache_app
from .diff.app import app as diff_app
from .warm import warm

app = typer.Typer(
    help="cuDNN's operations on every GPU and CPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.add_typer(cache_app, name="cache")
app.command()(warm)
app.add_typer(diff_app, name="diff")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"portadnn {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options that belong to no command."""


def _fail(message: object, code: int = 1) -> typer.Exit:
    typer.secho(f"portadnn: {clean(str(message))}", fg=typer.colors.RED, err=True)
    return typer.Exit(code)


def _words(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


@app.command()
def info(
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """List every backend, device, driver and version; and for what is missing, what brings it."""
    from . import info as cli_info

    typer.echo(cli_info.as_json(), nl=False) if as_json else cli_info.show()


@app.command()
def demo(
    backend: Annotated[
        list[str] | None, typer.Option(help="Backend to run on; several may be given. [default: all that work]")
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option(help="Device number, as `portadnn info` lists it. [default: all]")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the digits. [default: enough to learn them]")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Images per step.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Of the first weights and the order of the images.")] = 1,
    data: Annotated[
        Path | None, typer.Option(help="Folder with MNIST's IDX files. [default: the digits inside scikit-learn]")
    ] = None,
    output: Annotated[Path, typer.Option(help="Picture to write (PNG).")] = Path("portadnn-demo.png"),
    json: Annotated[Path | None, typer.Option(help="Also write the table, with all versions, as JSON.")] = None,
) -> None:
    """Let LeNet learn handwritten digits on every device, and compare what they learned."""
    from portadnn.examples import demo as program
    from portadnn.examples.digits import DataError

    numbers = _words(device or ())
    if not all(number.isdecimal() for number in numbers):
        raise typer.BadParameter(f"{', '.join(numbers)}: device numbers are expected", param_hint="--device")
    for path in (output, json):
        if path is not None and not path.parent.is_dir():
            raise typer.BadParameter(f"there is no folder {path.parent}", param_hint=str(path))
    settings = program.Settings(
        _words(backend or ()), tuple(map(int, numbers)), epochs, batch, seed, data, output, json
    )
    try:
        code = program.main(settings)
    except (DnnError, DataError) as error:
        raise _fail(error) from None
    raise typer.Exit(code)


@app.command()
def selftest(
    backend: Annotated[str, typer.Option(help="Backend to test. [default: the one that Handle() takes]")] = "auto",
    device: Annotated[int | None, typer.Option(min=0, help="Device number, as `portadnn info` lists it.")] = None,
    seconds: Annotated[float, typer.Option(min=5, max=86400, help="How long it takes, about.")] = 300.0,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write and to send.")] = Path(
        "portadnn-selftest.json"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Of the random cases and graphs.")] = 1,
    timeout: Annotated[float, typer.Option(min=1, max=3600, help="Seconds that a case may take.")] = 60.0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. [default: half the cores, from 2 to 4]")] = None,
    part: Annotated[
        list[str] | None, typer.Option(help="operations, graphs, lenet, speed or drawn, in this order. [default: all]")
    ] = None,
    progress: Annotated[bool, typer.Option(help="Draw progress on terminals.")] = True,
) -> None:
    """Test a device: operations, graphs, LeNet and speed, in about five minutes, as one JSON file to send.

    Exits with 0 where all is right, with 1 where something is wrong, with 2 where it could not run, and with 130 when
    interrupted. The file is whole at any time, and holds no names of people, machines and folders.
    """
    from .selftest.command import selftest as run
    from .selftest.report import PARTS
    from .selftest.run import Asked

    parts = _words(part or ()) or PARTS
    if not set(parts) <= set(PARTS):
        raise typer.BadParameter(f"some of {', '.join(PARTS)} are expected", param_hint="--part")
    try:
        code = run(Asked(out, backend, device, seconds, seed, timeout, jobs, parts), progress)
    except OSError as error:
        raise _fail(error, 2) from None
    raise typer.Exit(code)


@app.command()
def caps(
    why: Annotated[str | None, typer.Option(help="A problem line: who takes it, and why not.")] = None,
    algo: Annotated[str | None, typer.Option(help="With --why: the algorithm that is asked for.")] = None,
    op: Annotated[
        list[str] | None,
        typer.Option(help="Operation, such as 'pooling_*': every feature, with reasons. [default: a line each]"),
    ] = None,
    backend: Annotated[
        list[str] | None, typer.Option(help="Backend or foreign library; several may be given. [default: all]")
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="md, json or html; json with --why. [default: drawn for the terminal]")
    ] = None,
    recording: Annotated[
        Path | None, typer.Option(help="A recording: who takes each of its problems. [default: --backend miopen-3]")
    ] = None,
) -> None:
    """Print what backends, cuDNN and MIOpen take, feature by feature, or who takes a problem."""
    from . import caps as cli_caps

    if why is None and algo is not None:
        raise typer.BadParameter("--why is expected with it", param_hint="--algo")
    if why is not None and (op or format not in (None, "json")):
        raise typer.BadParameter("--backend, --algo and --format json alone go with it", param_hint="--why")
    try:
        form = None if format is None else cli_caps.Format(format)
    except ValueError:
        raise typer.BadParameter(f"md, json or html is expected, not {format}", param_hint="--format") from None
    ops, tables = _words(op or ()), _words(backend or ())
    if recording is not None and (why is not None or ops or format not in (None, "json")):
        raise typer.BadParameter("--backend and --format json alone go with it", param_hint="--recording")
    try:
        if recording is not None:
            from . import caps_recording

            caps_recording.show(recording, tables or ("miopen-3",), as_json=form is not None)
            return
        if why is not None:
            cli_caps.show_why(why, algo, tables, as_json=form is not None)
        elif form is not None:
            typer.echo(cli_caps.written(form, ops, tables), nl=False)
        else:
            cli_caps.show(ops, tables)
    except (DnnError, OSError) as error:
        raise _fail(error) from None


@app.command()
def graph(
    file: Annotated[
        Path, typer.Argument(help="A graph of portadnn, hipDNN or cudnn-frontend, in any of their formats.")
    ],
    to: Annotated[
        str | None,
        typer.Option(help="Write it instead: portadnn, hipdnn, hipdnn-json, cudnn-frontend, line, dot or mermaid."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="With --to: the file to write.")] = None,
    backend: Annotated[
        list[str] | None, typer.Option(help="Backend or foreign library to ask; several may be given. [default: all]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")] = False,
) -> None:
    """Say who takes a graph that a library wrote to a file, or write it in another format.

    `portadnn diff graphs --file` runs it. Exits with 1 if the file is no graph, or has what does not exist here.
    """
    from . import graph as cli_graph

    if to is not None and to not in cli_graph.WORDS:
        raise typer.BadParameter(f"one of {', '.join(cli_graph.WORDS)} is expected, not {to}", param_hint="--to")
    if (to is None and output is not None) or (to is not None and (backend or as_json)):
        raise typer.BadParameter("--output goes with --to; --backend and --json do not", param_hint="--to")
    try:
        if to is not None:
            cli_graph.convert(file, to, output)
        else:
            cli_graph.judge(file, _words(backend or ()), as_json=as_json)
    except BrokenPipeError:  # whoever read has enough
        raise
    except (DnnError, OSError) as error:
        raise _fail(error) from None


@app.command()
def check(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Sources, folders, logs, recordings; - reads the standard input.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="Where to: miopen-3, miopen-1, hipdnn, cudnn-9, portadnn-opencl, portadnn-cuda. [default: miopen-3]"
        ),
    ] = None,
    cudnn_version: Annotated[
        str | None, typer.Option(help="The cuDNN that the code is written for, such as 7.6. [default: any]")
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="terminal, json, sarif, junit, md or html. [default: terminal]")
    ] = None,
    output: Annotated[
        list[str] | None, typer.Option("--output", "-o", help="File to write, or format:file; several may be given.")
    ] = None,
    fail_on: Annotated[
        str | None, typer.Option(help="Gravest first: E, W!, W, I: exit with 1 from which on; or never. [default: E]")
    ] = None,
    incomplete: Annotated[
        str | None, typer.Option(help="When calls may have been missed: fail (exit with 2), or pass. [default: fail]")
    ] = None,
    select: Annotated[list[str] | None, typer.Option(help="Only these rules: S01, S (all S rules), V1*.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Without these rules.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Paths to leave out, as in .gitignore.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="A file of known findings, which are not told again.")] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(help="Write all findings to a file, as known ones, and exit with 0.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="File of settings. [default: the nearest .portadnn.toml or pyproject.toml]")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes that read. [default: one for each core]")] = None,
    stdin_name: Annotated[str | None, typer.Option(help="Name of what the standard input holds: net.cu.")] = None,
    progress: Annotated[bool, typer.Option(help="Draw progress on terminals.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="A line for each finding, nothing else.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Each finding in full, and each call.")] = False,
) -> None:
    """Say what breaks, changes or is lost when cuDNN code goes to MIOpen; judge code that was ported.

    Exits with 0 if nothing as grave as --fail-on was found, with 1 if something was, and with 2 if calls may have
    been missed (no call was understood, all was left out, a file was not read) or the options cannot be right.
    """
    from . import check as cli_check

    options = {
        "target": target,
        "cudnn_version": cudnn_version,
        "fail_on": fail_on,
        "incomplete": incomplete,
        "select": _words(select) if select else None,
        "ignore": _words(ignore) if ignore else None,
        "exclude": tuple(exclude) if exclude else None,
        "baseline": baseline,
    }
    asked = cli_check.Asked(
        tuple(paths or (".",)),
        options,
        config,
        format,
        tuple(output or ()),
        write_baseline,
        jobs,
        stdin_name,
        progress,
        quiet,
        verbose,
    )
    try:
        code = cli_check.check(asked)
    except BrokenPipeError:  # whoever read has enough
        raise
    except (DnnError, OSError) as error:
        raise _fail(error, cli_check.USAGE) from None
    raise typer.Exit(code)


@app.command()
def explain(
    name: Annotated[
        str | None, typer.Argument(help="A rule, such as S01, or a function, such as cudnnPoolingForward.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All rules, as Markdown.")] = False,
    format: Annotated[str | None, typer.Option(help="md. [default: drawn for the terminal; md with --all]")] = None,
) -> None:
    """Print what a rule of `portadnn check` says and why, or what becomes of a function."""
    from . import explain as cli_explain

    if (name is None) is not everything:
        wanted = "a rule (S01), a function (cudnnPoolingForward) or --all is expected, and not both"
        raise typer.BadParameter(wanted, param_hint="name")
    if format not in (None, "md"):
        raise typer.BadParameter(f"md is expected, not {format}", param_hint="--format")
    try:
        if name is None:
            typer.echo(cli_explain.everything(), nl=False)
        else:
            cli_explain.show(name, as_markdown=format is not None)
    except DnnError as error:
        raise _fail(error) from None


@app.command()
def port(
    paths: Annotated[list[Path], typer.Argument(help="Sources and folders in C, C++ and CUDA, which belong together.")],
    diff: Annotated[
        bool, typer.Option("--diff", help="Print a patch, and change nothing; this is the default.")
    ] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="Write the files.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the patch.")] = None,
    target: Annotated[str, typer.Option(help="miopen-3, miopen-1, or cudnn-9.")] = "miopen-3",
    exclude: Annotated[list[str] | None, typer.Option(help="Paths to leave out, as in .gitignore.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if something is left to you.")] = False,
) -> None:
    """Rewrite cuDNN code for MIOpen where that is certain; what is not gets a comment, and stays as it is."""
    from . import port as cli_port

    if in_place and (diff or output is not None):
        raise typer.BadParameter("it does not go with --diff and --output", param_hint="--in-place")
    try:
        code = cli_port.port(
            paths, target, in_place=in_place, output=output, exclude=tuple(exclude or ()), strict=strict
        )
    except BrokenPipeError:  # whoever read has enough
        raise
    except (DnnError, OSError) as error:
        raise _fail(error, cli_port.USAGE) from None
    raise typer.Exit(code)


@app.command("map")
def map_names(
    name: Annotated[
        str | None, typer.Argument(help="A function, type or value of cuDNN or MIOpen, or a name of portadnn.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="The whole table.")] = False,
    format: Annotated[
        str | None, typer.Option(help="md, json or html. [default: drawn for the terminal; md with --all]")
    ] = None,
) -> None:
    """Print what stands for a name in cuDNN, portadnn and MIOpen, or the whole porting guide."""
    from . import map as cli_map

    if (name is None) is not everything:
        raise typer.BadParameter("a name or --all is expected, and not both", param_hint="name")
    try:
        form = None if format is None else cli_map.Format(format)
    except ValueError:
        raise typer.BadParameter(f"md, json or html is expected, not {format}", param_hint="--format") from None
    try:
        if name is None or form is not None:
            typer.echo(cli_map.written(name, form or cli_map.Format.MD))
        else:
            cli_map.show(name)
    except DnnError as error:
        raise _fail(error) from None


@app.command(
    context_settings={"allow_extra_args": True, "allow_interspersed_args": False, "ignore_unknown_options": True}
)
def record(
    context: typer.Context,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; %p is the process. [default: portadnn-trace.jsonl]"),
    ] = None,
    nested: Annotated[bool, typer.Option("--nested", help="Also calls that portadnn makes inside of others.")] = False,
    torch: Annotated[bool, typer.Option("--torch", help="PyTorch's calls, of a Python program.")] = False,
) -> None:
    """Run a program and record its calls: portadnn record -- python train.py.

    Exits as the program does; with 127 where there is no such program, 126 where it cannot be run, as shells do, and 2
    for options or files that cannot be right.
    """
    from . import record as cli_record

    if not context.args:
        raise typer.BadParameter("a program is expected, such as: portadnn record -- python train.py")
    try:
        if torch:
            raise typer.Exit(cli_record.record_torch(context.args, output or cli_record.DEFAULT))
        cli_record.record(context.args, output or cli_record.DEFAULT, nested)
    except DnnError as error:
        raise _fail(error, cli_record.USAGE) from None
    except OSError as error:
        raise _fail(f"{context.args[0]}: {error.strerror}", cli_record.exit_code(error)) from None


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A recording.")],
    backend: Annotated[str, typer.Option(help="Backend to compute on.")] = "auto",
    device: Annotated[int | None, typer.Option(min=0, help="Device number, as `portadnn info` lists it.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the data, which recordings do not hold.")] = 0,
    repeat: Annotated[int, typer.Option(min=1, help="How often, one after another.")] = 1,
    sync: Annotated[bool, typer.Option("--sync", help="Wait after each call: times are then the device's.")] = False,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
    printed_as: Annotated[
        str | None, typer.Option("--as", help="Only print the calls: cudnn-log, miopen-driver, or problem lines.")
    ] = None,
    cudnn: Annotated[int, typer.Option(min=7, max=9, help="Whose log, with --as cudnn-log.")] = 9,
) -> None:
    """Make the calls of a recording again, on any backend, with seeded data.

    Exits with 0 where all end as recorded, with 1 where one does not, and with 2 for options or files that cannot be
    right.
    """
    from . import replay as cli_replay

    if format not in ("table", "json"):
        raise typer.BadParameter(f"table or json is expected, not {format}", param_hint="--format")
    if printed_as not in (None, "cudnn-log", "miopen-driver", "lines"):
        raise typer.BadParameter(f"cudnn-log, miopen-driver or lines is expected, not {printed_as}", param_hint="--as")
    try:
        if printed_as is not None:
            cli_replay.print_as(file, printed_as, cudnn)
            return
        code = cli_replay.replay(file, backend, device, seed=seed, repeat=repeat, sync=sync, as_json=format == "json")
    except BrokenPipeError:  # whoever read has enough
        raise
    except (DnnError, OSError) as error:
        raise _fail(error, 2) from None
    raise typer.Exit(code)


if importlib.util.find_spec("portadnn.benchmarks.cli") is not None:

    @app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
    def bench(context: typer.Context) -> None:
        """Time problems on any backend; see `portadnn bench --help`."""
        from portadnn.benchmarks.cli import app as benchmarks

        benchmarks(context.args, prog_name="portadnn bench")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default the process's own, and exit."""
    app(None if arguments is None else list(arguments), prog_name="portadnn")


if __name__ == "__main__":
    main()
