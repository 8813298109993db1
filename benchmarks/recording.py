"""What recording adds to a call: ``python -m portadnn.benchmarks.recording [--backend NAME] [--output FILE]``.

Batches of calls alternate between not recorded and recorded. Times are the processor's: of the calling thread, which
other programs on a busy machine lengthen little, and of all threads, with the one that writes. Differences are taken
batch by batch; their median is shown, and the difference of the quickest batches.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn
from portadnn.hooks import CALL_HOOKS

BATCH = 100
ROUNDS = 300


def calls(handle: dnn.Handle) -> dict[str, Callable[[], Any]]:
    """Return calls whose plans are known: small ones, one with many arguments, two that compute nothing."""
    x, w = handle.zeros((1, 2, 5, 5)), handle.zeros((3, 2, 3, 3))
    y, z = handle.zeros((1, 3, 3, 3)), handle.zeros((1, 2, 5, 5))
    one, mean = handle.asarray(np.ones((1, 2, 1, 1)), "float32"), handle.zeros((1, 2, 1, 1))
    relu, conv = dnn.ActivationDescriptor("relu"), dnn.ConvolutionDescriptor()
    c_x, c_relu = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(c_x, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, *x.shape)
    cudnn.cudnnSetActivationDescriptor(c_relu, cudnn.CUDNN_ACTIVATION_RELU, cudnn.CUDNN_NOT_PROPAGATE_NAN, 0.0)
    made = {
        "activation_forward": lambda: dnn.activation_forward(handle, x, relu, z),
        "convolution_forward": lambda: dnn.convolution_forward(handle, x, w, conv, y, alpha=2.0, beta=0.0),
        "batch_normalization_forward_inference": lambda: dnn.batch_normalization_forward_inference(
            handle, x, one, mean, mean, one, z, mode="spatial", epsilon=1e-3
        ),
        "cudnnActivationForward": lambda: cudnn.cudnnActivationForward(handle, c_relu, 1.0, c_x, x, 0.0, c_x, z),
        "get_error_string": lambda: dnn.get_error_string(0),
        "Handle.empty": lambda: handle.empty((1, 2, 5, 5)),
    }
    for call in made.values():
        call()
    return made


def measure(handle: dnn.Handle, call: Callable[[], Any], recorder: Any, rounds: int) -> dict[str, float]:
    """Return seconds that a call takes its thread, and what recording adds for this thread and for all."""
    off, added, everywhere = [], [], []
    for _ in range(rounds):
        caller, process = [], []
        for recorded in (False, True):
            handle.synchronize()
            if recorded:
                CALL_HOOKS.append(recorder)
            busy, start = time.process_time(), time.thread_time()
            for _ in range(BATCH):
                call()
            caller.append((time.thread_time() - start) / BATCH)
            if recorded:
                CALL_HOOKS.remove(recorder)
                recorder._writer.drain()
            handle.synchronize()
            process.append((time.process_time() - busy) / BATCH)
        off.append(caller[0])
        added.append(caller[1] - caller[0])
        everywhere.append(process[1] - process[0])
    quickest = min(o + a for o, a in zip(off, added, strict=True)) - min(off)
    median = statistics.median
    return {"off": median(off), "added": median(added), "quickest": quickest, "threads": median(everywhere)}


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m portadnn.benchmarks.recording", description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="batches of each kind")
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    arguments = parser.parse_args(words)
    rows = {}
    with dnn.Handle(arguments.backend) as handle, tempfile.TemporaryDirectory() as folder:
        recorder = dnn.trace(Path(folder) / "run.jsonl").start()
        CALL_HOOKS.remove(recorder)
        print(f"{handle.backend}: {handle.info.name}; {arguments.rounds} batches of {BATCH}, microseconds a call")
        print(f"{'call':40} {'not recorded':>12} {'added: median':>14} {'quickest':>9} {'all threads':>12}")
        for name, call in calls(handle).items():
            rows[name] = row = measure(handle, call, recorder, arguments.rounds)
            off, added, quickest, threads = (1e6 * row[key] for key in ("off", "added", "quickest", "threads"))
            print(f"{name:40} {off:12.2f} {added:14.2f} {quickest:9.2f} {threads:12.2f}")
        CALL_HOOKS.append(recorder)
        recorder.stop()
        facts = {"backend": handle.backend, "device": handle.info.name, "portadnn": dnn.__version__, "seconds": rows}
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
