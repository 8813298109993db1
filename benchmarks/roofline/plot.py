"""The picture of a roofline report: layers under the roof, and each layer's share of it."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .ceilings import Ceilings
from .layers import TITLES, Measured

COLORS = {"forward": "tab:blue", "data": "tab:orange", "filter": "tab:green"}

PEER = "0.35"
_ANCHOR = {"rotation_mode": "anchor", "ha": "left", "va": "bottom"}


def missing() -> str | None:
    """Return what to install where matplotlib is missing, else None."""
    if importlib.util.find_spec("matplotlib") is None:
        return (
            'the plot is drawn by matplotlib: pip install "portadnn[demo]", or --no-plot for the table and record only'
        )
    return None


def draw(path: Path, done: Sequence[Measured], ceilings: Ceilings, title: str, peer: str | None) -> None:
    """Write the picture as PNG.

    Parameters
    ----------
    title
        Says what was measured where.
    peer
        Name of the peer, None without one.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [layer for layer in done if layer.row]
    directions = [name for name in TITLES if any(layer.direction == name for layer in shown)]
    names = list(dict.fromkeys((layer.network, layer.layer) for layer in shown))
    height = max(5.5, 1.6 + 0.2 * len(names))
    figure = Figure(figsize=(7.5 + 3.2 * max(len(directions), 1), height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    left, right = figure.subfigures(1, 2, width_ratios=(6.2, 1.6 + 3.2 * max(len(directions), 1)))
    _draw_roof(left.subplots(), shown, ceilings, peer)
    if directions:
        columns = right.subplots(1, len(directions), sharex=True, sharey=True, squeeze=False)[0]
        for axes, direction in zip(columns, directions, strict=True):
            _draw_shares(axes, [layer for layer in shown if layer.direction == direction], names, ceilings, peer)
            axes.set_title(TITLES[direction], color=COLORS[direction])
    figure.savefig(path, dpi=110, format="png")


def _draw_roof(axes: Any, shown: Sequence[Measured], ceilings: Ceilings, peer: str | None) -> None:
    unit, name = (1e12, "TFLOP/s") if ceilings.flops > 2e12 else (1e9, "GFLOP/s")
    ridge = ceilings.flops / ceilings.bandwidth
    intensities = [layer.row.flops / layer.row.bytes for layer in shown if layer.row]
    span = np.geomspace(min([ridge, *intensities]) / 2, max([ridge, *intensities]) * 2, 200)
    roof = np.minimum(ceilings.flops, span * ceilings.bandwidth) / unit
    lowest, highest = roof.min(), roof.max()
    for direction, color in COLORS.items():
        rows = [layer.row for layer in shown if layer.direction == direction and layer.row]
        if not rows:
            continue
        theirs = [(row.flops / row.bytes, row.flops / row.peer_seconds / unit) for row in rows if row.peer_seconds]
        if theirs:
            axes.plot(*zip(*theirs, strict=True), "_", color=color, markersize=9, markeredgewidth=1.6, alpha=0.75)
        ours = [(row.flops / row.bytes, row.flops / row.seconds / unit) for row in rows]
        style = {"markersize": 5, "alpha": 0.85, "markeredgewidth": 0}
        axes.plot(*zip(*ours, strict=True), "o", color=color, label=TITLES[direction], **style)
        rates = [rate for _, rate in (*ours, *theirs)]
        lowest, highest = min([lowest, *rates]), max([highest, *rates])
    if peer and any(layer.row and layer.row.peer_seconds for layer in shown):
        axes.plot([], [], "_", color=PEER, markersize=9, markeredgewidth=1.6, label=peer)
    axes.plot(span, roof, color="black", linewidth=1.5)
    axes.fill_between(span, roof, highest * 10, color="0.94", linewidth=0)
    axes.set(xscale="log", yscale="log", xlim=(span[0], span[-1]), ylim=(lowest / 1.6, highest * 2))
    axes.set(xlabel="operations per byte", ylabel=name)
    text = {"textcoords": "offset points", "fontsize": "small", "va": "bottom"}
    axes.annotate(f"{ceilings.flops / unit:.3g} {name}", (span[-1], roof[-1]), (-6, 3), ha="right", **text)
    slope = {"rotation": math.degrees(math.atan(roof[0] / span[0])), "transform_rotates_text": True}
    axes.text(span[8], roof[8] * 1.12, f"{ceilings.bandwidth / 1e9:.4g} GB/s", fontsize="small", **slope, **_ANCHOR)
    axes.grid(alpha=0.3, which="both", linewidth=0.5)
    axes.legend(loc="lower right", fontsize="small")
    axes.set_box_aspect(1)
    axes.set_anchor("N")


def _draw_shares(
    axes: Any, layers: Sequence[Measured], names: Sequence[tuple[str, str]], ceilings: Ceilings, peer: str | None
) -> None:
    """Draw a bar for each layer: its percentage of what is attainable, and the peer's as a mark."""
    several = len({network for network, _ in names}) > 1
    for layer in layers:
        plot, row = layer.plot(ceilings), layer.row
        if plot is None or row is None:
            continue
        place = names.index((layer.network, layer.layer))
        axes.barh(place, 100 * plot.rate / plot.attainable, color=COLORS[layer.direction], height=0.7, alpha=0.85)
        if row.peer_seconds:
            share = 100 * row.flops / row.peer_seconds / plot.attainable
            axes.plot([share, share], [place - 0.42, place + 0.42], color=PEER, linewidth=2)
    axes.axvline(100, color="black", linewidth=1)
    labels = [f"{network} {layer}" if several else layer for network, layer in names]
    axes.set_yticks(range(len(names)), labels, fontsize="small", family="monospace")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("% of attainable" + (f" (line: {peer})" if peer else ""))
    axes.grid(alpha=0.3, axis="x", linewidth=0.5)
    axes.tick_params(axis="y", length=0)
