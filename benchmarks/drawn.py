"""Convolutions that no record was tuned on: layers drawn at random, beside PyTorch in one process on one device.

``python -m portadnn.benchmarks.drawn FOLDER`` draws layers with sizes log-uniform, grouped ones and pointwise ones of
networks, and for each call writes what both take the device, the error against float64, the engine chosen and its
kernels, and what every other engine takes. On a GPU it needs torch with CUDA (cuDNN) and CuPy; on a CPU, where smaller
layers are drawn, times are of the processor, all threads together (oneDNN).
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import portadnn as dnn
from portadnn.dispatch.choice import candidates
from portadnn.enums import MathType
from portadnn.handle import Handle

from . import record
from .peers.torch_convolution import Cpu, Gpu
from .runner import geometric_mean
from .sets.layers import NETWORKS, Layer, problem_line

DIRECTIONS = ("forward", "backward_data", "backward_filter")
TYPES = {  # problem_line's words, the rest of the line, the largest error over the result's root mean square
    "fp16": ("f16", "nhwc", "", 6e-3),
    "bf16": ("bf16", "nhwc", "", 5e-2),
    "tf32": ("f32", "nchw", " math=tf32", 1e-2),
    "fp32": ("f32", "nchw", "", 1e-4),
    "fp32-nhwc": ("f32", "nhwc", "", 1e-4),
}
LIMITS = {"gpu": (1 << 24, 3e10), "cpu": (1 << 21, 1.5e9)}  # elements of a drawn layer's tensor, operations of a call


@dataclass(frozen=True)
class Drawn:
    """A layer, its batch and what kind it is: ``drawn``, ``grouped`` or ``pointwise``, or its network."""

    layer: Layer
    batch: int
    kind: str


def _log_uniform(rng: random.Random, low: int, high: int, step: int = 1) -> int:
    """Return a multiple of `step` between two bounds, small ones as often as large ones in proportion."""
    value = low * float(high / low) ** rng.random()
    return int(max(low, round(value / step) * step))


def _fits(layer: Layer, batch: int, kind: str) -> bool:
    most, most_flops = LIMITS[kind]
    p, q = layer.output
    if p < 1 or q < 1:
        return False
    outputs = batch * layer.k * p * q
    flops = 2 * outputs * layer.c // layer.groups * layer.r * layer.s
    return max(outputs, batch * layer.c * layer.h * layer.w) <= most and 1e7 <= flops <= most_flops


def _draw(rng: random.Random, grouped: bool, kind: str) -> Drawn:
    """Return one layer: channels in multiples of 8 mostly, square filters of 1 to 7, strides 1 and 2."""
    while True:
        batch = _log_uniform(rng, 1, 128)
        size = _log_uniform(rng, 7, 128)
        taps = rng.choice((1, 1, 2, 3, 3, 3, 3, 4, 5, 7))
        stride = rng.choice((1, 1, 2))
        if grouped:
            each = rng.choice((4, 8, 8, 16, 16, 24, 32))
            groups = _log_uniform(rng, 4, 64)
            c, k, taps = each * groups, each * groups, rng.choice((3, 3, 3, 5))
        else:
            step = 8 if rng.random() < 0.8 else 1
            c, k, groups = _log_uniform(rng, 16, 768, step), _log_uniform(rng, 16, 768, step), 1
        padding = taps // 2 if rng.random() < 0.85 else 0
        layer = Layer(f"{taps}x{taps}", c, size, size, k, taps, taps, stride, padding, 1, groups)
        if size >= taps and _fits(layer, batch, kind):
            return Drawn(layer, batch, "grouped" if grouped else "drawn")


# ConvNeXt-T, EfficientNet-B0, MobileNet-V3, ResNet's short cuts: batch, channels, filters, size, stride
_POINTWISE = (
    (32, 96, 384, 56, 1),
    (32, 768, 3072, 7, 1),
    (32, 16, 96, 112, 1),
    (32, 144, 24, 56, 1),
    (32, 672, 112, 14, 1),
    (32, 1152, 320, 7, 1),
    (32, 72, 24, 56, 1),
    (32, 256, 512, 56, 2),
)
# ResNeXt-50 32x4d and RegNetX/Y: batch, channels, groups, size, stride
_GROUPED = ((32, 128, 32, 56, 1), (32, 256, 32, 28, 1), (32, 512, 32, 14, 2), (32, 240, 10, 28, 1), (32, 168, 7, 14, 1))


def layers(count: int, seed: int = 0, kind: str = "gpu") -> list[Drawn]:
    """Return `count` drawn layers, a fifth as many grouped ones, and as many pointwise ones, mixed in a fixed order.

    Those of networks have batches of 32 on a GPU, of 4 on a CPU.
    """
    rng = random.Random(seed)
    plain = [_draw(rng, False, kind) for _ in range(count)]
    few, share = max(1, count // 5), 1 if kind == "gpu" else 8
    grouped = [
        Drawn(Layer("3x3", c, hw, hw, c, 3, 3, stride, 1, 1, groups), n // share, "grouped")
        for n, c, groups, hw, stride in _GROUPED[: (few + 1) // 2]
    ]
    grouped += [_draw(rng, True, kind) for _ in range(few - len(grouped))]
    pointwise = [
        Drawn(Layer("1x1", c, hw, hw, k, 1, 1, s, 0), n // share, "pointwise") for n, c, k, hw, s in _POINTWISE[:few]
    ]
    found: list[Drawn] = []
    for number, one in enumerate(plain):
        found.append(one)
        if number % 5 == 4:
            found += [*grouped[number // 5 : number // 5 + 1], *pointwise[number // 5 : number // 5 + 1]]
    return found


def of_networks(words: str, depthwise: bool = False) -> list[Drawn]:
    """Return the distinct layers of networks, each word of which is a name and a batch: ``resnet50:32,unet:1``.

    `depthwise`: only those with a filter for each channel.

    Raises
    ------
    ValueError
        For other words.
    """
    found = []
    for name, _, batch in (word.partition(":") for word in words.split(",")):
        if name not in NETWORKS or not batch.isdecimal():
            raise ValueError(f"{name}:{batch} is none of {', '.join(NETWORKS)} with a batch, such as resnet50:32")
        layers = [one for one in dict.fromkeys(NETWORKS[name]) if not depthwise or one.groups == one.c]
        found += [Drawn(layer, int(batch), name) for layer in layers]
    return found


class Contest:
    """Times problems on both sides."""

    def __init__(self, handle: Handle) -> None:
        self.handle, self.peer = handle, Gpu() if handle.info.kind == "gpu" else Cpu()

    def engines(self, problem: Any) -> list[Any]:
        """Return the default engines that take a problem, the chosen one first."""
        handle = self.handle
        return candidates(handle.engines_for(problem), problem, handle.device.info)

    def build(self, problems: Sequence[tuple[Any, bool]]) -> None:
        """Build the kernels side by side; a problem with True those of every engine."""
        scout = self.handle.device.scout()
        if scout is None:
            return
        for problem, every in problems:
            engines = self.engines(problem)
            for engine in engines if every else engines[:1]:
                scout.visit(functools.partial(engine.prepare, problem))
        scout.wait()

    def _finished(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Return a call that has ended when it returns, where the host's clock measures."""
        if self.handle.info.kind == "gpu":
            return call

        def whole() -> None:
            call()
            self.handle.synchronize()

        return whole

    def measure(self, problem: Any, every: bool, alone: bool) -> dict[str, Any]:
        """Return a row's figures; `alone`: neither the peer's nor the error."""
        handle, torch = self.handle, self.peer.torch
        device = handle.device
        tensors = [self.peer.tensor(spec) for spec in problem.tensors]
        arrays = [self.peer.array(handle, spec, tensor) for spec, tensor in zip(problem.tensors, tensors, strict=True)]
        scalars = list(problem.scalars.values())
        torch.backends.cudnn.allow_tf32 = problem.math is MathType.TENSOR_OP_ALLOW_CONVERSION
        theirs = self.peer.call(problem, tensors)
        engines = self.engines(problem)
        with torch.no_grad():
            plan = engines[0].prepare(problem, device)
            workspace = device.workspace(plan.workspace_size) if plan.workspace_size else None
            tensors[-1].fill_(float("nan"))
            self._finished(lambda: plan.run(arrays, scalars, workspace))()
            error = None if alone else self.peer.error(tensors[-1], self.peer.exact(problem, tensors))
            ours_call = self._finished(lambda: plan.run(arrays, scalars, workspace))
            ours, *others = self.peer.device_seconds([ours_call, *([] if alone else [theirs])])
            steps = [device.bind((launch,)) for launch in plan.launches]
            parts = [self._finished(functools.partial(step, arrays, scalars, workspace)) for step in steps]
            times = self.peer.device_seconds(parts, 3) if len(parts) > 1 else [ours]
            found = {engines[0].name: ours}
            for engine in engines[1:] if every else ():
                found |= self._trial(engine, problem, arrays, scalars, min(found.values()))
        best = min(found, key=lambda name: found[name])
        return {
            "engine": engines[0].name,
            "seconds": ours,
            "peer_seconds": None if alone else others[0],
            "ratio": None if alone else others[0] / ours,
            "error": error,
            "estimate": engines[0].seconds(problem, device.info),
            "kernels": [
                {"name": launch.kernel.name, "grid": list(launch.grid), "block": launch.block[0], "seconds": spent}
                for launch, spent in zip(plan.launches, times, strict=True)
            ],
            "found": found if every else {},
            "of_found": found[best] / ours if every else None,
        }

    def _trial(self, engine: Any, problem: Any, arrays: Any, scalars: Any, best: float) -> dict[str, float]:
        device = self.handle.device
        plan = engine.prepare(problem, device)
        workspace = device.workspace(plan.workspace_size) if plan.workspace_size else None
        plan.run(arrays, scalars, workspace)
        device.synchronize()
        first = device.time(lambda: plan.run(arrays, scalars, workspace))
        if first > 5 * best + 1e-4:
            return {engine.name: first}
        call = self._finished(lambda: plan.run(arrays, scalars, workspace))
        return {engine.name: self.peer.device_seconds([call], 3)[0]}


def _cases(
    drawn: Sequence[Drawn], types: Sequence[tuple[str, int]], find: int
) -> Iterator[tuple[Drawn, str, str, bool]]:
    """Yield layers with a type and direction, and whether all engines are timed."""
    for word, most in types:
        dtype, layout, rest, _ = TYPES[word]
        for number, one in enumerate(drawn[:most]):
            for direction in DIRECTIONS:
                line = problem_line(one.layer, direction, one.batch, dtype, layout) + rest
                yield one, word, line, number < find


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, of each type, kind and direction, means and lowest ratios beside the peer and beside the best engine."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["type"], row["kind"], row["line"].split()[0].partition("_")[2]), []).append(row)
    found = []
    for (word, kind, direction), some in sorted(groups.items()):
        ratios = [row["ratio"] for row in some]
        choices = [row["of_found"] for row in some if row["of_found"]]
        found.append(
            {
                "type": word,
                "kind": kind,
                "direction": direction,
                "calls": len(some),
                "geometric_mean": geometric_mean(ratios),
                "lowest": min(ratios),
                "below_0.6": sum(ratio < 0.6 for ratio in ratios),
                "wrong": sum(not row["error"] < TYPES[word][3] for row in some),
                **({"of_found": geometric_mean(choices), "lowest_of_found": min(choices)} if choices else {}),
            }
        )
    return found


def run(
    folder: Annotated[Path, typer.Argument(help="Folder for the record, such as benchmarks/results.")],
    count: Annotated[int, typer.Option(min=1, help="Layers drawn; grouped and pointwise ones come with them.")] = 40,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    networks: Annotated[str, typer.Option(help="Time layers of these instead, with batches: resnet50:32,unet:1.")] = "",
    depthwise: Annotated[bool, typer.Option(help="Of the networks' layers, only depthwise ones.")] = False,
    types: Annotated[str, typer.Option(help="Types, each with how many layers: fp16:300,tf32:50.")] = "fp16:999",
    find: Annotated[int, typer.Option(min=0, help="Layers of each type of which all engines are timed.")] = 0,
    seconds: Annotated[float, typer.Option(help="Begin no more calls after so many seconds.")] = 1e9,
    name: Annotated[str, typer.Option(help="Of the record, before the device's.")] = "drawn",
    backend: Annotated[str, typer.Option(help="cuda, or opencl with a CPU.")] = "cuda",
    alone: Annotated[bool, typer.Option(help="Time portadnn only, without a peer and unchecked.")] = False,
) -> None:
    """Time drawn convolutions beside PyTorch, into NAME-DEVICE.json."""
    start = time.perf_counter()
    handle = Handle(backend)
    contest = Contest(handle)
    words = [(word, int(most or 1 << 30)) for word, _, most in (part.partition(":") for part in types.split(","))]
    chosen = of_networks(networks, depthwise) if networks else layers(count, seed, handle.info.kind)
    cases = list(_cases(chosen, words, find))
    problems = [dnn.parse(line) for *_, line, _ in cases]
    contest.build([(problem, case[3]) for problem, case in zip(problems, cases, strict=True)])
    typer.echo(f"built after {time.perf_counter() - start:.1f} s")
    rows = []
    for (one, word, line, every), problem in zip(cases, problems, strict=True):
        if time.perf_counter() - start > seconds:
            break
        try:
            figures = contest.measure(problem, every, alone)
        except (dnn.DnnError, RuntimeError) as error:
            typer.echo(f"{line}: {error}")
            continue
        rows.append({"type": word, "kind": one.kind, "line": line, **figures})
    slug = "".join(c if c.isalnum() else "-" for c in handle.info.name.lower()).strip("-")
    path = folder / f"{name}-{slug}.json"
    facts = contest.peer.facts()
    table = [] if alone else summary(rows)
    made = {**record.environment(), "device": record.device(handle), **facts, "seed": seed, "summary": table}
    record.write(path, {**made, "rows": rows})
    for row in table:
        choices = (
            f", of Find's {row['of_found']:.2f} (lowest {row['lowest_of_found']:.2f})" if "of_found" in row else ""
        )
        typer.echo(
            f"{row['type']} {row['kind']} {row['direction']}: {row['calls']} calls, {row['geometric_mean']:.2f}, "
            f"lowest {row['lowest']:.2f}, {row['below_0.6']} below 0.6, {row['wrong']} wrong{choices}"
        )
    typer.echo(f"{len(rows)} of {len(cases)} calls, {time.perf_counter() - start:.0f} s, wrote {path}")


if __name__ == "__main__":
    typer.run(run)
