"""What recording a PyTorch program costs: CPU seconds of training steps with and without it, in turn.

``python -m portadnn.benchmarks.torch_recording`` trains the ResNet-50 of the examples; ``-o FILE`` writes a record.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from portadnn.examples import torch_models
from portadnn.torch import record


def measure(name: str, batch: int, size: int, rounds: int) -> dict[str, Any]:
    """Return CPU seconds of steps without and with a recording, medians and all."""
    torch.manual_seed(1)
    model, x = torch_models.MODELS[name](), torch_models.inputs(name, batch, size)
    times: dict[str, list[float]] = {"plain": [], "recorded": []}
    with tempfile.TemporaryDirectory() as folder:
        recorder = record(Path(folder) / "run.jsonl")
        torch_models.train(model, x, 1)
        with recorder:
            torch_models.train(model, x, 1)
        for _ in range(rounds):
            begun = time.process_time()
            torch_models.train(model, x, 1)
            times["plain"].append(time.process_time() - begun)
            with record(Path(folder) / "run.jsonl"):
                begun = time.process_time()
                torch_models.train(model, x, 1)
                times["recorded"].append(time.process_time() - begun)
    plain, recorded = (statistics.median(found) for found in times.values())
    return {
        "model": name,
        "batch": batch,
        "size": size,
        "overhead": recorded / plain - 1,
        "problems": recorder.posed.total(),
        "calls": recorder.counts.total(),
        "cpu_seconds": times,
        "torch": torch.__version__,
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
    }


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
    print(f"{asked.model}: {found['overhead']:+.1%} CPU seconds a step, {found['problems']} problems")
    if asked.output is not None:
        asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
