"""Tiles of the convolutions on tensor cores: what each takes, for fitting the estimates that they are chosen by.

``python -m portadnn.benchmarks.tiles FILE`` draws layers as ``portadnn.benchmarks.drawn`` does, runs each of their
calls with every tile and a few numbers of splits, and appends a line of JSON for each call to a file. Needs torch with
CUDA and CuPy.
``portadnn.benchmarks.tiles_fit`` fits the tiles' figures to such a file.
"""

from __future__ import annotations

import functools
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from unittest import mock

import typer

import portadnn as dnn
from portadnn.handle import Handle
from portadnn_backends.engines.conv import planes, tensor_core, tensor_core_choice
from portadnn_backends.engines.conv.tensor_core_tiles import Choice, Product

from .drawn import DIRECTIONS, TYPES, Contest, Drawn, layers
from .sets.layers import problem_line

ENGINES = (*tensor_core.ENGINES, *planes.ENGINES)


@dataclass(frozen=True)
class Variant:
    """An engine with a tile and a number of splits; None: as it chooses."""

    engine: Any
    choice: Choice | None

    def prepare(self, problem: Any, device: Any) -> Any:
        """Return the engine's plan with that tile."""
        if self.choice is None:
            return self.engine.prepare(problem, device)
        with mock.patch.object(tensor_core_choice, "best_choice", lambda *_, **__: self.choice):
            return self.engine.prepare(problem, device)


def product_of(engine: Any, problem: Any, info: Any) -> Product:
    """Return the matrix product that an engine chooses a tile for."""
    products: list[Product] = []
    best = tensor_core_choice.best_choice

    def seen(product: Product, *args: Any, **named: Any) -> Choice | None:
        products.append(product)
        return best(product, *args, **named)

    with mock.patch.object(tensor_core_choice, "best_choice", seen):
        engine.seconds(problem, info)
    return products[0]


def variants(engine: Any, problem: Any, info: Any) -> Iterator[Variant]:
    """Yield an engine with each of its tiles: with the splits estimated best, and those that fill the device once."""
    if engine.why_not(problem, info) is not None:
        return
    product = product_of(engine, problem, info)
    by_tile: dict[Any, list[Choice]] = {}
    for choice in tensor_core_choice.choices(product, info):
        by_tile.setdefault(choice.tile, []).append(choice)
    for tile, some in by_tile.items():
        side = some[0].resident if product.planes else tile.side_by_side
        full = max((one.splits for one in some if one.work_groups <= side * info.compute_units), default=1)
        wanted = {full, min(some, key=lambda one: one.seconds(info)).splits}
        yield from (Variant(engine, one) for one in some if one.splits in wanted)


class Sweep:
    """Runs variants and writes their rows."""

    def __init__(self, handle: Handle, out: Any) -> None:
        self.contest, self.out = Contest(handle), out
        self.handle, self.device = handle, handle.device
        self._kept: Any = None

    def build(self, jobs: list[tuple[Any, list[Variant]]]) -> None:
        """Compile the kernels of all jobs side by side."""
        scout: Any = self.device.scout()
        for problem, some in jobs:
            for one in some:
                scout.visit(functools.partial(one.prepare, problem))
        scout.wait()
        self._kept = scout  # with it the device keeps the kernels in memory

    def run(self, problem: Any, some: list[Variant]) -> dict[str, Any]:
        """Time every variant, the engine chosen by default and the peer, in turns."""
        peer, device = self.contest.peer, self.device
        tensors = [peer.tensor(spec) for spec in problem.tensors]
        arrays = [peer.array(self.handle, spec, tensor) for spec, tensor in zip(problem.tensors, tensors, strict=True)]
        scalars = list(problem.scalars.values())
        peer.torch.backends.cudnn.allow_tf32 = problem.math is dnn.MathType.TENSOR_OP_ALLOW_CONVERSION
        theirs = peer.call(problem, tensors)
        true = peer.exact(problem, tensors)
        calls: list[Any] = [theirs]
        rows: list[dict[str, Any]] = []
        for one in (Variant(self.contest.engines(problem)[0], None), *some):
            plan = one.prepare(problem, device)
            workspace = device.workspace(plan.workspace_size) if plan.workspace_size else None
            tensors[-1].fill_(float("nan"))
            plan.run(arrays, scalars, workspace)
            device.synchronize()
            row = {"engine": one.engine.name, "error": float(f"{peer.error(tensors[-1], true):.2g}")}
            if one.choice is not None:
                tile = one.choice.tile
                row["tile"] = [tile.bm, tile.bn, tile.wm, tile.wn, tile.slice, tile.stages, tile.loaders]
                row["splits"] = one.choice.splits
            rows.append(row)
            calls.append(functools.partial(plan.run, arrays, scalars, workspace))
        theirs_took, *took = peer.device_seconds(calls, 3)
        for row, seconds in zip(rows, took, strict=True):
            row["seconds"] = float(f"{seconds:.4g}")
        default, *tiles = rows
        line = {
            "problem": str(problem),
            "peer_seconds": float(f"{theirs_took:.4g}"),
            "default": default,
            "tiles": tiles,
        }
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()
        return line


def _jobs(drawn: list[Drawn], types: list[str], words: list[str], info: Any) -> Iterator[tuple[Any, list[Variant]]]:
    """Yield the calls of layers with the variants that take them."""
    chosen = [one for one in ENGINES if any(word in one.name for word in words)]
    for one in drawn:
        for word in types:
            dtype, layout, rest, _ = TYPES[word]
            for direction in DIRECTIONS:
                problem: Any = dnn.parse(problem_line(one.layer, direction, one.batch, dtype, layout) + rest)
                taking = [engine for engine in chosen if isinstance(problem, engine.problems)]
                some = [found for engine in taking for found in variants(engine, problem, info)]
                if some:
                    yield problem, some


def run(
    file: Annotated[Path, typer.Argument(help="File of JSON lines that rows are appended to.")],
    types: Annotated[str, typer.Option(help="Types, by commas.")] = "tf32,fp32",
    engines: Annotated[str, typer.Option(help="Words in the engines' names, by commas.")] = "planes,three",
    seeds: Annotated[str, typer.Option(help="Of the draws, by commas.")] = "1,0",
    count: Annotated[int, typer.Option(help="Layers of each draw.")] = 15,
    seconds: Annotated[float, typer.Option(help="Begin no more calls after so many seconds.")] = 1e9,
) -> None:
    """Time tiles on layers drawn at random."""
    start = time.perf_counter()
    handle = Handle("cuda")
    drawn = [one for seed in map(int, seeds.split(",")) for one in layers(count, seed)]
    random.Random(0).shuffle(drawn)
    jobs = list(_jobs(drawn, types.split(","), engines.split(","), handle.device.info))
    print(f"{sum(len(some) for _, some in jobs)} variants of {len(jobs)} calls", flush=True)
    with file.open("a", encoding="utf-8") as out:
        sweep = Sweep(handle, out)
        with sweep.contest.peer.torch.no_grad():
            for number, (problem, some) in enumerate(jobs):
                if time.perf_counter() - start > seconds:
                    print(f"no time for {len(jobs) - number} calls")
                    return
                if number % 12 == 0:
                    sweep.build(jobs[number : number + 12])
                line = sweep.run(problem, some)
                best = min(line["tiles"], key=lambda row: row["seconds"])
                worst = max(row["error"] for row in line["tiles"])
                peer, now = line["peer_seconds"], line["default"]["seconds"]
                print(
                    f"{str(problem).replace('convolution_', '')[:66]:66} peer {peer * 1e6:6.1f} now {now * 1e6:6.1f} "
                    f"best {best['seconds'] * 1e6:6.1f} {best['tile']} {best['splits']} error {worst:.1e}",
                    flush=True,
                )


if __name__ == "__main__":
    typer.run(run)
