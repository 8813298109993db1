"""Fit the figures of tiles to what ``portadnn.benchmarks.tiles`` measured, and tell how well they choose.

``python -m portadnn.benchmarks.tiles_fit FILE...`` prints for each engine's tiles the share and wait (`Tile` in
``engines/conv/tensor_core_tiles.py``) with the least mean error of the estimate's logarithm, and for each engine how
the tile and splits that the estimates choose compare with the fastest ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import portadnn as dnn
from portadnn_backends.base import DeviceInfo
from portadnn_backends.cuda.devices import features
from portadnn_backends.engines.conv import planes, tensor_core, tensor_core_choice
from portadnn_backends.engines.conv.tensor_core_tiles import Choice, Product, Tile

from .runner import geometric_mean
from .tiles import product_of

# What the estimates ask of an H100, as its driver tells
H100 = {
    "compute_units": 132,
    "flops": 66.9e12,
    "bandwidth": 3.35e12,
    "dynamic_memory": 227 << 10,
    "local_memory": 48 << 10,
}
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
        max_allocation=1 << 36,
        features=features(9),
        **H100,  # type: ignore[arg-type]
    )


@dataclass(frozen=True)
class Timing:
    """A row of the file, with what its estimate consists of.

    Attributes
    ----------
    product, splits :
        Of the choice, without its tile.
    rest : float
        What the engine's estimate adds to the product's: packing and launches.
    """

    problem: str
    engine: str
    tile: tuple[int, ...]
    product: Product
    splits: int
    rest: float
    seconds: float
    peer_seconds: float

    def estimate(self, share: float, wait: float, info: DeviceInfo) -> float:
        """Return the engine's estimate with such figures of the tile."""
        sizes, loaders = self.tile[:6], sum(self.tile[6:])
        tile = Tile(*sizes, share, wait=round(wait), warpgroups=True, loaders=loaders)  # type: ignore[arg-type]
        return Choice(self.product, tile, self.splits).seconds(info) + self.rest


def timings(rows: Sequence[dict[str, Any]], info: DeviceInfo) -> list[Timing]:
    """Return the timings of tiles of warpgroups."""
    engines = {engine.name: engine for engine in (*tensor_core.ENGINES, *planes.ENGINES)}
    known: dict[tuple[str, str], tuple[Product, float]] = {}
    found = []
    for line, row in ((call, tile) for call in rows for tile in call["tiles"] if tile["engine"] in engines):
        key = line["problem"], row["engine"]
        if key not in known:
            problem = dnn.parse(line["problem"])
            product = product_of(engines[row["engine"]], problem, info)
            best = tensor_core_choice.best_choice(product, info)
            assert best is not None
            known[key] = product, engines[row["engine"]].seconds(problem, info) - best.seconds(info)
        figures = row["splits"], known[key][1], row["seconds"], line["peer_seconds"]
        found.append(Timing(*key, tuple(row["tile"]), known[key][0], *figures))
    return found


def _error(some: Sequence[Timing], share: float, wait: float, info: DeviceInfo) -> float:
    return sum(min(abs(math.log(one.estimate(share, wait, info) / one.seconds)), 1.0) for one in some) / len(some)


def fit(some: Sequence[Timing], info: DeviceInfo) -> tuple[float, float, float]:
    """Return a tile's share and wait with the least error, and that error: by coarse steps, then near the best."""
    coarse = [(i, j) for i in range(0, len(SHARES), 5) for j in range(0, len(WAITS), 5)]
    _, first, second = min((_error(some, SHARES[i], WAITS[j], info), i, j) for i, j in coarse)
    error, share, wait = min(
        (_error(some, SHARES[i], WAITS[j], info), SHARES[i], WAITS[j])
        for i in range(max(0, first - 5), min(len(SHARES), first + 6))
        for j in range(max(0, second - 5), min(len(WAITS), second + 6))
    )
    return share, wait, error


def report(rows: Sequence[dict[str, Any]], info: DeviceInfo) -> None:
    """Print the fit of every family of tiles, and what the estimates choose with it."""
    known = timings(rows, info)
    defaults = {line["problem"]: line["default"]["seconds"] for line in rows}
    families: dict[tuple[int, str, bool], list[Timing]] = {}
    for one in known:
        families.setdefault((one.product.products, one.product.planes, one.product.across), []).append(one)
    for family, some in sorted(families.items()):
        print("products {}, planes {!r}, across {}".format(*family))
        figures: dict[tuple[int, ...], tuple[float, float]] = {}
        for tile in sorted({one.tile for one in some}):
            these = [one for one in some if one.tile == tile]
            share, wait, error = fit(these, info)
            figures[tile] = (share, wait)
            print(f"  Tile{tile} share {share:.2f} wait {10 * round(wait / 10)}, error {error:.2f} of {len(these)}")
        for engine in sorted({one.engine for one in some}):
            _choices([one for one in some if one.engine == engine], defaults, figures, info)


def _choices(
    some: Sequence[Timing],
    defaults: dict[str, float],
    figures: dict[tuple[int, ...], tuple[float, float]],
    info: DeviceInfo,
) -> None:
    of_best, of_peer, over_default = [], [], []
    for problem in dict.fromkeys(one.problem for one in some):
        here = [one for one in some if one.problem == problem]
        chosen = min(here, key=lambda one: one.estimate(*figures[one.tile], info))
        of_best.append(min(one.seconds for one in here) / chosen.seconds)
        of_peer.append(chosen.peer_seconds / chosen.seconds)
        over_default.append(defaults[problem] / chosen.seconds)
    means = [f"{geometric_mean(ratios):.3f} (lowest {min(ratios):.2f})" for ratios in (of_best, of_peer, over_default)]
    best, peer, default = means
    print(f"  {some[0].engine}: {len(of_best)} calls, of the fastest {best}, the peer {peer}, the default {default}")


def run(files: Annotated[list[Path], typer.Argument(help="Files that portadnn.benchmarks.tiles wrote.")]) -> None:
    """Fit tiles' figures."""
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    report(rows, info_of())


if __name__ == "__main__":
    typer.run(run)
