"""Fit the figures of tiles to what ``portadnn.benchmarks.tiles`` measured, and tell how well they choose.

``python -m portadnn.benchmarks.tiles_fit FILE...`` prints for each engine's tiles the share and wait (`Tile` in
``engines/conv/tensor_core_tiles.py``) with the least mean error of the estimate's logarithm, and for each engine how the tile
and splits that the estimates choose compare with the fastest ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from portadnn_backends.base import LAUNCH_SECONDS, DeviceInfo
from portadnn_backends.engines.conv.tensor_core_tiles import Choice, Product, Tile

from .runner import geometric_mean

# What the estimates ask of an H100, as its driver tells
H100 = {"compute_units": 132, "flops": 66.9e12, "bandwidth": 3.35e12, "dynamic_memory": 227 << 10, "local_memory": 48 << 10}
SHARES = [0.2 * 1.03**step for step in range(60)]
WAITS = [300 * 1.05**step for step in range(60)]


def info_of(arch: str = "sm_90") -> DeviceInfo:
    """Return what estimates know of the device."""
    return DeviceInfo(
        backend="cuda",
        name="",
        vendor="",
        kind="gpu",
        driver="",
        version="",
        schedule="gpu",
        simd_width=32,
        max_work_group=1024,
        arch=arch,
        **H100,  # type: ignore[arg-type]
    )


def choice_of(row: dict[str, Any], tile: Tile) -> Choice:
    """Return a row's choice with another tile's figures."""
    product = Product(*row["product"], 0, planes=True, products=row["products"])
    return Choice(product, tile, row["splits"])


def tile_of(row: dict[str, Any], share: float, wait: float) -> Tile:
    """Return a row's tile with such figures."""
    return Tile(*row["tile"], share, wait=round(wait), warpgroups=True)


def _error(rows: Sequence[dict[str, Any]], share: float, wait: float, info: DeviceInfo) -> float:
    total = 0.0
    for row in rows:
        estimate = choice_of(row, tile_of(row, share, wait)).seconds(info) + LAUNCH_SECONDS
        total += min(abs(math.log(estimate / row["seconds"])), 1.0)
    return total / len(rows)


def fit(rows: Sequence[dict[str, Any]], info: DeviceInfo) -> tuple[float, float, float]:
    """Return the share and wait of one tile with the least error, and that error: coarse steps first, then all near the best."""
    least = min((_error(rows, s, w, info), i, j) for i, s in enumerate(SHARES) if i % 5 == 0 for j, w in enumerate(WAITS) if j % 5 == 0)
    near = [
        (_error(rows, SHARES[i], WAITS[j], info), SHARES[i], WAITS[j])
        for i in range(max(0, least[1] - 5), min(len(SHARES), least[1] + 6))
        for j in range(max(0, least[2] - 5), min(len(WAITS), least[2] + 6))
    ]
    error, share, wait = min(near)
    return share, wait, error


def report(rows: Sequence[dict[str, Any]], info: DeviceInfo) -> None:
    """Print the fit of every engine family, and what its estimates choose."""
    measured = [row for row in rows if not row["default"]]
    for products in sorted({row["products"] for row in measured}):
        some = [row for row in measured if row["products"] == products]
        figures: dict[tuple[int, ...], tuple[float, float]] = {}
        for tile in sorted({tuple(row["tile"]) for row in some}):
            share, wait, error = fit([row for row in some if tuple(row["tile"]) == tile], info)
            figures[tile] = (share, wait)
            print(f"products {products} Tile{tile} share {share:.2f} wait {wait / 10:.0f}0, error {error:.2f}")
        for engine in sorted({row["engine"] for row in some}):
            _choices([row for row in some if row["engine"] == engine], rows, figures, engine, info)


def _choices(
    some: Sequence[dict[str, Any]],
    rows: Sequence[dict[str, Any]],
    figures: dict[tuple[int, ...], tuple[float, float]],
    engine: str,
    info: DeviceInfo,
) -> None:
    of_best, of_peer, over_old = [], [], []
    for problem in dict.fromkeys(row["problem"] for row in some):
        here = [row for row in some if row["problem"] == problem]
        chosen = min(here, key=lambda row: choice_of(row, tile_of(row, *figures[tuple(row["tile"])])).seconds(info))
        of_best.append(min(row["seconds"] for row in here) / chosen["seconds"])
        of_peer.append(chosen["peer_seconds"] / chosen["seconds"])
        (old,) = (row for row in rows if row["problem"] == problem and row["default"])
        over_old.append(old["seconds"] / chosen["seconds"])
    print(
        f"{engine}: {len(of_best)} calls, of the fastest tile {geometric_mean(of_best):.3f} (lowest {min(of_best):.2f}), beside the peer "
        f"{geometric_mean(of_peer):.2f} ({min(of_peer):.2f}), beside the engine chosen then {geometric_mean(over_old):.2f} ({min(over_old):.2f})"
    )


def run(files: Annotated[list[Path], typer.Argument(help="Files that portadnn.benchmarks.tiles wrote.")]) -> None:
    """Fit tiles' figures."""
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    report(rows, replace(info_of()))


if __name__ == "__main__":
    typer.run(run)
