"""``portadnn bench``: time problem lines or named sets on any backend against a peer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from portadnn.enums import MathType
from portadnn.errors import DnnError, NotSupported
from portadnn.graph.data_types import data_type
from portadnn.handle import Handle
from portadnn.problem import every_problem

from . import capture as captures
from . import first_calls, graphs, memory, record, runner, scaling, sets
from . import host as host_time
from .peers.choice import frontend_peer, peer_of
from .roofline import ceilings
from .roofline import layers as roofline
from .roofline import plot as roofline_plot
from .roofline import table as roofline_table
from .sets.layers import NETWORKS
from .timing import keep_pages

app = typer.Typer(help="Time problem lines against a peer, alternating.", no_args_is_help=True)
console = Console() if Console().is_terminal else Console(width=180)  # logs and files are wide enough


def _table(rows: list[runner.Row], title: str) -> Table:
    table = Table(title=title)
    table.add_column("problem", overflow="fold")
    columns = ["engine", "us", "TFLOP/s", "GB/s", "of copy", "peer us", "times peer"]
    if any(row.alone for row in rows):
        columns += ["of same copy", "device us", "of copy", "peer us", "times peer"]
    for name in columns:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [
            row.line,
            row.engine,
            _us(row.seconds),
            f"{row.flops / row.seconds / 1e12:.2f}",
            f"{row.bytes / row.seconds / 1e9:.0f}",
            _share(row.copy_fraction),
            _us(row.peer_seconds),
            f"{row.ratio:.2f}" if row.ratio else row.peer_call,
        ]
        if alone := row.alone:
            cells += [_share(alone.same_size_copy_fraction), _us(alone.queued), _share(alone.device_copy_fraction)]
            cells += [_us(alone.peer_queued), f"{alone.device_ratio:.2f}" if alone.device_ratio else ""]
        table.add_row(*cells)
    return table


def _us(seconds: float | None) -> str:
    return f"{seconds * 1e6:.1f}" if seconds else ""


def _share(fraction: float | None) -> str:
    return f"{fraction:.0%}" if fraction else ""


Backends = Annotated[str, typer.Option("--backend", help="Backend to time.")]
DeviceNumber = Annotated[int | None, typer.Option("--device", help="Its device number.")]
PeerName = Annotated[str, typer.Option("--peer", help="torch, cudnn (its legacy calls), another backend, or none.")]
Rounds = Annotated[int, typer.Option("--rounds", min=3, help="Rounds that count.")]
Output = Annotated[Path | None, typer.Option("--json", help="Write the record here.")]


def _measure(
    handle: Handle,
    groups: dict[str, tuple[str, ...]],
    peer: str,
    rounds: int,
    path: Path | None = None,
    **more: Any,
) -> None:
    """Time groups of lines, print their tables as they are done, and write the record so far after each."""
    other = peer_of(console, handle, peer)
    copy = runner.copy_rate(handle, other, ceilings.COPY_MEGABYTES[handle.info.kind])
    result: dict[str, Any] = {
        **record.environment(),
        "device": record.device(handle),
        "peer": other.describe() if other else None,
        "copy_bytes_per_second": copy,
        **more,
        "groups": {},
    }
    console.print(f"{handle.info.name} ({handle.backend}): copy {copy / 1e9:.0f} GB/s")
    bench = runner.Bench(handle, other, copy, rounds)
    for name, lines in groups.items():
        rows = [row for line in lines for row in bench.measure(line)]
        summary: dict[str, Any] = {"rows": [runner.as_dict(row) for row in rows]}
        console.print(_table(rows, f"{name} on {handle.info.name} ({handle.backend})"))
        ratios = [row.ratio for row in rows if row.ratio]
        if len(ratios) > 1:
            summary["geometric_mean_ratio"] = runner.geometric_mean(ratios)
            console.print(f"geometric mean: {summary['geometric_mean_ratio']:.2f} times the peer")
        busy = [row.processor_ratio for row in rows if row.processor_ratio]
        if len(busy) > 1:
            summary["geometric_mean_processor_ratio"] = runner.geometric_mean(busy)
            console.print(f"by processor time: {summary['geometric_mean_processor_ratio']:.2f} times the peer")
        result["groups"][name] = summary
        if path:
            record.write(path, result)
    found = [row for group in result["groups"].values() for row in group["rows"] if row["ratio"]]
    if len(groups) > 1 and found:
        result["all"], result["operations"] = runner.means(found), runner.by_operation(found)
        for op, summary in {**result["operations"], "all": result["all"]}.items():
            called, alone = (
                f"{summary[f'geometric_mean_{word}']:.2f} times the peer, lowest {summary[f'lowest_{word}']:.2f}"
                for word in ("ratio", "device_ratio")
            )
            console.print(f"{op}: {called}" + (f"; on the device {alone}" if alone != called else ""))
        if path:
            record.write(path, result)


def _host(handle: Handle) -> list[dict[str, Any]]:
    """Measure and print what cached calls cost the host."""
    rows = host_time.measure(handle, sets.HOST)
    table = Table(title=f"host time of a cached call, {handle.info.name} ({handle.backend})")
    table.add_column("call")
    table.add_column("launches", justify="right")
    table.add_column("us", justify="right")
    for row in rows:
        table.add_row(row.call, "" if row.launches is None else str(row.launches), f"{row.seconds * 1e6:.1f}")
    console.print(table)
    return host_time.as_dicts(rows)


@contextmanager
def _opened(backend: str, device: int | None) -> Iterator[Handle]:
    """Open a handle; a mistake of the caller's ends the command with one line."""
    keep_pages()
    try:
        with Handle(backend, device) as handle:
            yield handle
    except DnnError as error:
        console.print(f"error: {error}", style="red", markup=False)
        raise typer.Exit(2) from None


def _recorded(path: str) -> tuple[str, ...]:
    """Return the problem lines of a recording, without its graphs."""
    from portadnn.recording import read
    from portadnn.recording.problems import posed

    return tuple(line for line in posed(read(path)) if line.split()[0] in every_problem())


@app.command()
def run(
    lines: Annotated[list[str], typer.Argument(help="Problem lines (quoted), names of sets, or recordings.")],
    backend: Backends = "auto",
    device: DeviceNumber = None,
    peer: PeerName = "torch",
    rounds: Rounds = 11,
    output: Output = None,
) -> None:
    """Time problem lines, named sets (see ``portadnn bench sets``), or the operations of a recording."""
    with _opened(backend, device) as handle:
        groups = {name: sets.beside(sets.SETS[name], peer) for name in lines if name in sets.SETS}
        groups |= {name: _recorded(name) for name in lines if name.endswith(".jsonl")}
        loose = tuple(line for line in lines if line not in groups)
        if loose:
            groups["lines"] = loose
        _measure(handle, groups, peer, rounds, output)


@app.command()
def conv(
    networks: Annotated[list[str], typer.Option("--set", help=f"{', '.join(NETWORKS)}; may be repeated.")],
    batch: Annotated[int | None, typer.Option(min=1, help="Images. [default: 64 on GPUs, 8 on CPUs]")] = None,
    direction: Annotated[str, typer.Option(help="forward, data, filter or all.")] = "forward",
    dtype: Annotated[str, typer.Option(help="f32, f16, bf16 or f64.")] = "f32",
    math: Annotated[str, typer.Option(help="fp32 (exact), tf32 or fma (no tensor cores).")] = "fp32",
    layout: Annotated[str, typer.Option(help="nchw or nhwc.")] = "nchw",
    algo: Annotated[str, typer.Option(help="find (the fastest), default, or an algorithm's name.")] = "find",
    backend: Backends = "auto",
    device: DeviceNumber = None,
    peer: PeerName = "torch",
    rounds: Rounds = 11,
    output: Annotated[
        Path, typer.Option("--output", help="Record to write; the plot gets the same name with .png.")
    ] = Path("portadnn-roofline.json"),
    plot: Annotated[bool, typer.Option(help="Draw the plot.")] = True,
) -> None:
    """Report on a network's convolution layers: their speed beside the device's ceilings and the peer."""
    _demand(networks, NETWORKS, "--set")
    _demand([direction], (*roofline.DIRECTIONS, "all"), "--direction")
    _demand([dtype], ("f32", "f16", "bf16", "f64"), "--dtype")
    _demand([layout], ("nchw", "nhwc"), "--layout")
    if plot and (missing := roofline_plot.missing()):
        console.print(f"error: {missing}", style="red", markup=False)
        raise typer.Exit(2)
    with _opened(backend, device) as handle:
        n = batch or (64 if handle.info.kind == "gpu" else 8)
        other, math_type = peer_of(console, handle, peer), MathType.parse(math, "--math")
        todo = roofline.lines(networks, direction, n, dtype, layout, math_type)
        limits = ceilings.measure(handle, other, dtype, layout, math_type)
        done = list(track(roofline.run(handle, todo, other, algo, rounds), total=len(todo), transient=True))
        limits = ceilings.best(limits, ceilings.measure(handle, other, dtype, layout, math_type))
        title = f"{', '.join(networks)}, n={n}, {dtype} {layout}{'' if math_type is MathType.DEFAULT else f', {math}'}"
        title = f"{title}, on {handle.info.name} ({handle.backend})"
        for source, rate in limits.sources.items():
            console.print(f"{source}: {rate / 1e12:.4g} TFLOP/s")
        console.print(f"copy: {limits.bandwidth / 1e9:.4g} GB/s")
        roofline_table.show(console, done, limits, title)
        settings = {"batch": n, "dtype": dtype, "math": math_type.name, "layout": layout, "algo": algo}
        result = {
            **record.environment(),
            "device": record.device(handle),
            "peer": other.describe() if other else None,
            **settings,
            **roofline.as_record(done, limits),
        }
        record.write(output, result)
        console.print(f"wrote {output}")
        if plot:
            picture = output.with_suffix(".png")
            roofline_plot.draw(picture, done, limits, title, other and other.title)
            console.print(f"wrote {picture}")


def _demand(values: list[str], known: Iterable[str], option: str) -> None:
    for value in values:
        if value not in known:
            raise typer.BadParameter(f"expected one of {', '.join(known)}, got {value!r}", param_hint=option)


@app.command()
def host(
    folder: Annotated[Path | None, typer.Argument(help="Folder for a record, such as benchmarks/results.")] = None,
    backend: Backends = "auto",
    device: DeviceNumber = None,
) -> None:
    """Measure what a cached call costs the host, beside a bare launch and with other libraries' arrays.

    With a folder, into host-BACKEND-DEVICE.json there.
    """
    with _opened(backend, device) as handle:
        rows = _host(handle)
        if folder is not None:
            path = folder / f"host-{_slug(handle)}.json"
            record.write(path, {**record.environment(), "device": record.device(handle), "host": rows})
            console.print(f"wrote {path}")


@app.command("memory")
def resident_memory(
    count: Annotated[
        int, typer.Option("--shapes", min=2, max=30_000, help="Different shapes, a call of each.")
    ] = 10_000,
    calls: Annotated[int, typer.Option(min=200, help="Calls of 100 shapes, made before these.")] = 100_000,
    backend: Backends = "auto",
    device: DeviceNumber = None,
    output: Output = None,
) -> None:
    """Measure the memory that stays: 100 convolutions again and again, then a new one each call (Linux)."""
    with _opened(backend, device) as handle:
        runs = []
        for run, number in ((memory.few_shapes, calls), (memory.new_shapes, count)):
            runs.append(done := run(handle, number))
            first, last = done.samples[0], done.samples[-1]
            console.print(
                f"{done.name}: {done.calls} calls, {done.shapes} shapes in {last.seconds:.0f} s; resident "
                f"{first.resident / 1e6:.0f} MB at first, {last.resident / 1e6:.0f} MB at last, "
                f"{done.peak / 1e6:.0f} MB at most; {done.growth:.1f} bytes a call in the second half"
            )
            if output:
                facts = {**record.environment(), "device": record.device(handle), "runs": memory.as_record(runs)}
                record.write(output, facts)


@app.command("scaling")
def scaling_table(
    folder: Annotated[Path, typer.Argument(help="Folder for the record, such as benchmarks/results.")],
    backend: Backends = "auto",
    device: DeviceNumber = None,
    rounds: Rounds = 11,
    names: Annotated[list[str] | None, typer.Option("--set", help="Sets of sizes. [default: growing-*]")] = None,
) -> None:
    """Time calls on tensors of 16 MB to 4 GB, with the launches' cost and without, into scaling-BACKEND-DEVICE.json.

    The names of other sets are added to the file's.
    """
    suffix = "".join(f"-{name}" for name in names or ())
    names = names or [name for name in sets.SETS if name.startswith("growing-")]
    _demand(names, sets.SETS, "--set")
    with _opened(backend, device) as handle:
        if handle.info.kind != "gpu":
            raise NotSupported(argument="device", expected="a GPU, whose queue waits for it", got=handle.info.name)
        bare = host_time.as_dicts(host_time.measure(handle, ()))
        copy = runner.copy_rate(handle, None, ceilings.COPY_MEGABYTES["gpu"])
        rows = scaling.measure(handle, [line for name in names for line in sets.SETS[name]], rounds)
        table = Table(title=f"us a call, and per byte relative to the largest, {handle.info.name} ({handle.backend})")
        table.add_column("problem", overflow="fold")
        ways = ("called", "queued", "graph", "in_turn")
        for way in ways:
            table.add_column(way.replace("_", " "), justify="right")
        table.add_column("queued / copy", justify="right")
        for row, ratios in zip(rows, scaling.relative(rows), strict=True):
            cells = [f"{getattr(row, way) * 1e6:.2f} ({r:.2f})" if (r := ratios[way]) else "" for way in ways]
            table.add_row(row.line, *cells, f"{row.bytes / row.queued / copy:.2f}")
        console.print(table)
        facts = {**record.environment(), "device": record.device(handle), "copy_bytes_per_second": copy, "host": bare}
        facts.update(scaling.as_record(rows, copy))
        path = folder / f"scaling-{_slug(handle)}{suffix}.json"
        record.write(path, facts)
        console.print(f"wrote {path}")


def _slug(handle: Handle) -> str:
    """Return what a record's file is called after."""
    return re.sub(r"[^a-z0-9]+", "-", f"{handle.backend} {handle.info.name}".lower()).strip("-")


def _cells(row: graphs.GraphRow) -> list[str]:
    """Return a row of the table of graphs."""

    def times(ratio: float | None) -> str:
        return f"{ratio:.2f}" if ratio else ""

    cells = [row.graph, row.plan, _us(row.seconds), _us(row.node_by_node), times(row.ratio), times(row.processor_ratio)]
    cells += [_us(row.host_seconds), _us(row.host_processor_seconds), _us(row.peer_seconds)]
    return [*cells, times(row.peer_ratio), _us(row.peer_host_seconds)]


@app.command("graphs")
def fused_graphs(
    folder: Annotated[Path, typer.Argument(help="Folder for the record, such as benchmarks/results.")],
    size: Annotated[int | None, typer.Option(min=1, help="Images. [default: 32 on GPUs, 8 on CPUs]")] = None,
    dtype: Annotated[
        str | None, typer.Option(help="float, half or bfloat16. [default: half on GPUs, float on CPUs]")
    ] = None,
    names: Annotated[list[str] | None, typer.Option("--graph", help="Names of graphs. [default: all]")] = None,
    backend: Backends = "auto",
    device: DeviceNumber = None,
    peer: Annotated[str, typer.Option("--peer", help="cudnn (by cudnn-frontend, on backend cuda) or none.")] = "cudnn",
    rounds: Rounds = 11,
) -> None:
    """Time twelve graphs of networks fused, node by node and by cuDNN, into graphs-BACKEND-DEVICE.json."""
    _demand([dtype or "half"], ("float", "half", "bfloat16"), "--dtype")
    _demand(names or [], graphs.GRAPHS, "--graph")
    with _opened(backend, device) as handle:
        gpu = handle.info.kind == "gpu"
        count, kind = size or (32 if gpu else 8), data_type.parse(dtype or ("half" if gpu else "float"))
        other = frontend_peer(console, handle, peer)
        table = Table(title=f"graphs of {count} images, {kind}, on {handle.info.name} ({handle.backend})")
        table.add_column("graph")
        columns = ("plan", "us", "node by node, us", "times", "by processor time", "host us", "caller's processor us")
        for column in (*columns, "cuDNN us", "times cuDNN", "cuDNN host us"):
            table.add_column(column, justify="right")
        rows: list[graphs.GraphRow] = []
        facts: dict[str, Any] = {}
        path = folder / f"graphs-{_slug(handle)}.json"
        for name in track(names or list(graphs.GRAPHS), transient=True):
            row = graphs.attempt(handle, name, count, kind, rounds, other)
            rows.append(row)
            table.add_row(*_cells(row))
            for said in filter(None, (row.error, row.peer_note and f"cuDNN {row.peer_note}")):
                console.print(f"{name}: {said}", style="yellow", markup=False)
            facts = graphs.as_record(rows, count, kind, other)
            record.write(path, {**record.environment(), "device": record.device(handle), **facts})
        console.print(table)
        means = {"node by node": facts["geometric_mean_ratio"]}
        for group, mean in facts.get("geometric_mean_peer_ratio", {}).items():
            means[f"cuDNN, {group.replace('_', ' ')}"] = mean
        for what, mean in means.items():
            if mean:
                console.print(f"geometric mean: {mean:.2f} times {what}")
        console.print(f"wrote {path}")


@app.command("capture")
def captured_steps(
    folder: Annotated[Path, typer.Argument(help="Folder for the record, such as benchmarks/results.")],
    names: Annotated[list[str] | None, typer.Option("--network", help="lenet, resnet50. [default: both]")] = None,
    sizes: Annotated[
        list[int] | None, typer.Option("--size", min=1, help="Images. [default: LeNet 64 and 256, ResNet-50 1 and 32]")
    ] = None,
    backend: Backends = "auto",
    device: DeviceNumber = None,
    rounds: Rounds = 11,
) -> None:
    """Time LeNet's training step and ResNet-50's forward pass as calls and replayed, into capture-BACKEND-DEVICE.json.

    Beside them stands the sum of their kernels' own times.
    """
    _demand(names or [], captures.NETWORKS, "--network")
    with _opened(backend, device) as handle:
        path, rows = folder / f"capture-{_slug(handle)}.json", []
        usual = captures.IMAGES[handle.info.kind]
        todo = [(name, count) for name in names or captures.NETWORKS for count in sizes or usual[name]]
        for name, count in todo:
            rows.append(captures.measure(handle, name, count, rounds))
            console.print(captures.table(rows[-1:], f"{name} on {handle.info.name} ({handle.backend})"))
            facts = {**record.environment(), "device": record.device(handle), **captures.as_record(rows)}
            record.write(path, facts)
        console.print(f"wrote {path}")


@app.command("record")
def record_all(
    folder: Annotated[Path, typer.Argument(help="Folder for the record, such as benchmarks/results.")],
    backend: Backends = "auto",
    device: DeviceNumber = None,
    peer: PeerName = "torch",
    rounds: Rounds = 11,
) -> None:
    """Time every named set that suits the device, and host time, into ``FOLDER/BACKEND-DEVICE.json``.

    Beside cuDNN's legacy calls, or another backend, those are the bandwidth-bound calls, and the file's name ends in
    the peer's.
    """
    with _opened(backend, device) as handle:
        path = folder / (f"{_slug(handle)}.json" if peer == "torch" else f"{_slug(handle)}-{peer}.json")
        groups = {name: sets.beside(sets.SETS[name], peer) for name in sets.for_device(handle.info, peer)}
        _measure(handle, groups, peer, rounds, path, host=_host(handle))
        console.print(f"wrote {path}")


app.command("first-calls")(first_calls.run)


@app.command("sets")
def list_sets() -> None:
    """List the named sets and their lines."""
    for name, lines in sets.SETS.items():
        console.print(name, style="bold")
        for line in lines:
            console.print(f"  {line}", highlight=False)


if __name__ == "__main__":
    app()
