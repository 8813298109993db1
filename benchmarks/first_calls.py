"""First calls: how long a network's convolutions take when they are made for the first time.

Every measurement is a process of its own. Layers are called forward and through both gradients, each call waited for:

    calls      the calls alone, as a program makes them that prepares nothing
    prepared   ``handle.prepare`` of all problems, and the calls after it

with an empty kernel cache, and again with what the first run left there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import portadnn as dnn
from portadnn.handle import Handle

from . import record
from .sets import layers

DIRECTIONS = ("forward", "backward_data", "backward_filter")
MODES = ("calls", "prepared")
_SAID = (
    "{mode}, {cache} cache: {total_s:.2f} s (prepare {prepare_s:.2f} s, {problems} calls {calls_s:.2f} s, the slowest "
    "{slowest_call_s:.3f} s), {processor_s:.2f} s of processor time"
)


def measure(backend: str, device: int | None, network: str, batch: int, dtype: str, layout: str, mode: str) -> Any:
    """Make the calls in this process; return seconds, and what the device is."""
    start = time.perf_counter()
    handle = Handle(backend, device)
    opened = time.perf_counter() - start
    lines = [
        layers.problem_line(layer, direction, batch, dtype, layout)
        for layer in layers.NETWORKS[network]
        for direction in DIRECTIONS
    ]
    problems = [dnn.parse(line) for line in lines]
    start, before = time.perf_counter(), time.process_time()
    if mode == "prepared":
        made = handle.prepare(problems)
        assert not made.refused, made.refused
    ahead = time.perf_counter() - start
    calls, slowest = 0.0, 0.0
    for problem in problems:
        arrays = {name: _array(handle, spec) for name, spec in zip(problem.names, problem.tensors, strict=True)}
        positional, keywords = problem.call_arguments(arrays)
        handle.synchronize()
        start = time.perf_counter()
        getattr(dnn, problem.op)(handle, *positional, **keywords)
        handle.synchronize()
        seconds = time.perf_counter() - start
        calls, slowest = calls + seconds, max(slowest, seconds)
    return {
        "open_s": opened,
        "prepare_s": ahead,
        "calls_s": calls,
        "slowest_call_s": slowest,
        "total_s": ahead + calls,
        "processor_s": time.process_time() - before,
        "problems": len(problems),
        "device": record.device(handle),
    }


def _array(handle: Handle, spec: Any) -> Any:
    packed = np.zeros(spec.span, spec.dtype.numpy)
    return handle.device.wrap(dnn.TensorView(spec, handle.device.asarray(packed)), "array")


def run(
    folder: Annotated[Path, typer.Argument(help="Folder for the record, such as benchmarks/results.")],
    backend: Annotated[str, typer.Option(help="Backend to measure.")] = "auto",
    device: Annotated[int | None, typer.Option(min=0, help="Device number, as `portadnn info` lists it.")] = None,
    network: Annotated[str, typer.Option(help="Whose convolutions.")] = "resnet50",
    batch: Annotated[int, typer.Option(min=1, help="Images.")] = 1,
    dtype: Annotated[str, typer.Option(help="f32, f16, bf16 or f64.")] = "f32",
    layout: Annotated[str, typer.Option(help="nchw or nhwc.")] = "nchw",
) -> None:
    """Time first calls of a network with empty and filled caches, into first-calls-[nhwc-]BACKEND-DEVICE.json."""
    rows, facts = [], {}
    asked = {"network": network, "batch": batch, "dtype": dtype, "layout": layout}
    for mode in MODES:
        with tempfile.TemporaryDirectory(prefix="portadnn-first-calls-") as cache:
            for filled in (False, True):
                found = _process((backend, device, network, batch, dtype, layout, mode), cache)
                facts = found.pop("device")
                rows.append({"mode": mode, "cache": "filled" if filled else "empty", **found})
                typer.echo(_SAID.format(**rows[-1]))
    slug = "".join(c if c.isalnum() else "-" for c in facts["name"].lower()).strip("-")
    kind = "" if layout == "nchw" else f"{layout}-"
    path = folder / f"first-calls-{kind}{facts['backend']}-{slug}.json"
    record.write(path, {**record.environment(), "device": facts, "cores": os.cpu_count(), **asked, "rows": rows})
    typer.echo(f"wrote {path}")


def _process(arguments: tuple[Any, ...], cache: str) -> dict[str, Any]:
    """Measure in a new process with caches of its own, NVIDIA's too."""
    environment = {
        **os.environ,
        "PORTADNN_CACHE_DIR": str(Path(cache) / "kernels"),
        "CUDA_CACHE_PATH": str(Path(cache) / "driver"),
    }
    environment.pop("POCL_CACHE_DIR", None)
    words = [sys.executable, "-m", "portadnn.benchmarks.first_calls", json.dumps(arguments)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    if done.stderr.strip():
        typer.echo(f"on the terminal: {done.stderr.strip()[:500]!r}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
