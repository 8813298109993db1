"""What recording a PyTorch program costs: CPU seconds of training steps with and without it, in turn.

``python -m portadnn.benchmarks.torch_recording`` trains the ResNet-50 of the examples; ``-o FILE`` writes a record.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from portadnn.examples import torch_models
from portadnn.torch import record


def timed(step: Callable[[], Any], context: contextlib.AbstractContextManager[Any]) -> tuple[float, float]:
    """Return CPU and wall seconds of a step in a context, whose begin and end count."""
    begun = time.process_time(), time.perf_counter()
    with context:
        step()
    return time.process_time() - begun[0], time.perf_counter() - begun[1]


def measure(name: str, batch: int, size: int, rounds: int) -> dict[str, Any]:
    """Return CPU and wall seconds of steps without and with a recording of their own, medians and all."""
    torch.manual_seed(1)
    model, x = torch_models.MODELS[name](), torch_models.inputs(name, batch, size)
    step = functools.partial(torch_models.train, model, x, 1)
    times: dict[str, list[tuple[float, float]]] = {"plain": [], "recorded": []}
    with tempfile.TemporaryDirectory() as folder:
        recorder = record(Path(folder) / "run.jsonl")
        first = timed(step, contextlib.nullcontext()), timed(step, recorder)
        for place in range(rounds):
            contexts = {"plain": contextlib.nullcontext(), "recorded": record(Path(folder) / "run.jsonl")}
            for kind in sorted(contexts, reverse=bool(place % 2)):
                times[kind].append(timed(step, contexts[kind]))
    cpu, wall = ({kind: [pair[place] for pair in pairs] for kind, pairs in times.items()} for place in (0, 1))
    return {
        "model": name,
        "batch": batch,
        "size": size,
        "overhead": _overhead(cpu),
        "wall_overhead": _overhead(wall),
        "problems": recorder.posed.total(),
        "calls": recorder.counts.total(),
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "first_steps": dict(zip(times, first, strict=True)),
        "torch": torch.__version__,
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
    }


def _overhead(seconds: dict[str, list[float]]) -> float:
    return statistics.median(seconds["recorded"]) / statistics.median(seconds["plain"]) - 1


def main() -> None:
    """Measure, and print or write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=torch_models.MODELS, default="resnet50")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    found = measure(asked.model, asked.batch, asked.size, asked.rounds)
    shares = f"{found['overhead']:+.1%} CPU seconds a step, {found['wall_overhead']:+.1%} on the clock"
    print(f"{asked.model}, {asked.batch} of {asked.size}: {shares}, {found['problems']} problems")
    if asked.output is not None:
        asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
