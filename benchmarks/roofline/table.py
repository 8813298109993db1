"""The table of a roofline report."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from .ceilings import Ceilings
from .layers import TITLES, Measured, summary


def show(console: Console, done: Sequence[Measured], ceilings: Ceilings, title: str) -> None:
    """Print a table for each direction, with its means below, and what could not run."""
    means = summary(done, ceilings)
    for direction in means:
        layers = [layer for layer in done if layer.direction == direction]
        console.print(_table(layers, ceilings, f"{TITLES[direction]}: {title}"))
        parts = []
        if "share_of_attainable" in means[direction]:
            parts.append(f"{means[direction]['share_of_attainable']:.0%} of what is attainable")
        if "ratio_to_peer" in means[direction]:
            parts.append(f"{means[direction]['ratio_to_peer']:.2f} times the peer")
        if parts:
            console.print(f"geometric mean: {', '.join(parts)}")
        for layer in layers:
            if layer.note:
                console.print(f"{layer.layer}: {layer.note}", style="yellow", markup=False)


def _table(layers: Sequence[Measured], ceilings: Ceilings, title: str) -> Table:
    table = Table(title=title)
    if len({layer.network for layer in layers}) > 1:
        table.add_column("network")
    table.add_column("layer", no_wrap=True)
    table.add_column("algorithm: engine", no_wrap=True)
    for name in ("GFLOP", "MB", "FLOP/B", "ms", "TFLOP/s", "GB/s", "of attainable", "peer ms", "times peer"):
        table.add_column(name, justify="right")
    several = len(table.columns) > 11
    for layer in layers:
        cells = [layer.network, layer.layer] if several else [layer.layer]
        row, plot = layer.row, layer.plot(ceilings)
        if row is None or plot is None:
            table.add_row(*cells, "could not run")
            continue
        table.add_row(
            *cells,
            f"{layer.algo}: {row.engine}",
            f"{row.flops / 1e9:.3g}",
            f"{row.bytes / 1e6:.3g}",
            f"{plot.intensity:.3g}",
            f"{row.seconds * 1e3:.3f}",
            f"{plot.rate / 1e12:.3g}",
            f"{row.bytes / row.seconds / 1e9:.3g}",
            f"{plot.rate / plot.attainable:.0%}",
            f"{row.peer_seconds * 1e3:.3f}" if row.peer_seconds else "",
            f"{row.ratio:.2f}" if row.ratio else "",
        )
    return table
