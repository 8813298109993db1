"""What recording adds to a call: ``python -m portadnn.benchmarks.recording [--backend NAME] [--output FILE]``.

Batches of calls alternate between not watched and recorded, so that a machine that is busy elsewhere slows both. The
caller's time is that of a batch; the thread that writes works beside it, and its share is measured as processor time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn.watching import WATCHERS

BATCH = 100
ROUNDS = 300


def calls(handle: dnn.Handle) -> dict[str, Callable[[], Any]]:
    """Return calls whose plans are known: one that is small, one with many arguments, two that compute nothing."""
    x, w = handle.zeros((1, 2, 5, 5)), handle.zeros((3, 2, 3, 3))
    y, z = handle.zeros((1, 3, 3, 3)), handle.zeros((1, 2, 5, 5))
    one, mean = handle.asarray(np.ones((1, 2, 1, 1)), "float32"), handle.zeros((1, 2, 1, 1))
    relu, conv = dnn.ActivationDescriptor("relu"), dnn.ConvolutionDescriptor()
    made = {
        "activation_forward": lambda: dnn.activation_forward(handle, x, relu, z),
        "convolution_forward": lambda: dnn.convolution_forward(handle, x, w, conv, y, alpha=2.0, beta=0.0),
        "batch_normalization_forward_inference": lambda: dnn.batch_normalization_forward_inference(
            handle, x, one, mean, mean, one, z, mode="spatial", epsilon=1e-3
        ),
        "get_error_string": lambda: dnn.get_error_string(0),
        "Handle.empty": lambda: handle.empty((1, 2, 5, 5)),
    }
    for call in made.values():
        call()
    return made


def measure(handle: dnn.Handle, call: Callable[[], Any], recorder: Any) -> dict[str, float]:
    """Return medians of seconds a call: not recorded, recorded, and of the processor time that recording adds."""
    times: dict[bool, list[float]] = {False: [], True: []}
    processor: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for recorded in (False, True):
            if recorded:
                WATCHERS.append(recorder)
            handle.synchronize()
            busy, start = time.process_time(), time.perf_counter()
            for _ in range(BATCH):
                call()
            times[recorded].append((time.perf_counter() - start) / BATCH)
            handle.synchronize()
            if recorded:
                WATCHERS.remove(recorder)
                recorder._writer.drain()
            processor[recorded].append((time.process_time() - busy) / BATCH)
    off, on = statistics.median(times[False]), statistics.median(times[True])
    added = statistics.median(b - a for a, b in zip(times[False], times[True], strict=True))
    cpu = statistics.median(b - a for a, b in zip(processor[False], processor[True], strict=True))
    return {"off": off, "recorded": on, "added": added, "processor": cpu}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m portadnn.benchmarks.recording", description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    arguments = parser.parse_args()
    rows = {}
    with dnn.Handle(arguments.backend) as handle, tempfile.TemporaryDirectory() as folder:
        recorder = dnn.trace(Path(folder) / "run.jsonl").start()
        WATCHERS.remove(recorder)
        print(
            f"{handle.backend}: {handle.info.name}; medians of {ROUNDS} batches of {BATCH} calls, microseconds a call"
        )
        print(f"{'call':40} {'off':>8} {'recorded':>9} {'added':>7} {'processor time added':>21}")
        for name, call in calls(handle).items():
            rows[name] = row = measure(handle, call, recorder)
            off, on, added, cpu = (1e6 * row[key] for key in ("off", "recorded", "added", "processor"))
            print(f"{name:40} {off:8.2f} {on:9.2f} {added:7.2f} {cpu:21.2f}")
        WATCHERS.append(recorder)
        recorder.stop()
        facts = {"backend": handle.backend, "device": handle.info.name, "portadnn": dnn.__version__, "seconds": rows}
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
