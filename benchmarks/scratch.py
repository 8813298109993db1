"""Time calls whose scratch memory holds zeros, denormal numbers or NaN: what it held before must not matter.

``python -m portadnn.benchmarks.scratch FILE`` reads problem lines, ``--set NAME`` takes those of a set of
``portadnn bench``. On a CPU, arithmetic on denormal numbers takes a hundred times as long: a kernel that reads scratch
memory which it did not write is as slow as what lay there makes it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import portadnn as dnn
from portadnn.handle import Handle
from portadnn.problem import TensorSpec, parse_line

from .call import portadnn_call
from .sets import SETS

PATTERNS = {"zeros": 0.0, "denormals": 1e-40, "NaN": float("nan")}


def fill(handle: Handle, value: float) -> None:
    """Fill a handle's scratch memory with a number."""
    for lease in handle.scratches.blocks():
        view = dnn.TensorView(TensorSpec.packed(dnn.DataType.FLOAT, (1, 1, lease.size // 4)), lease.memory)
        dnn.set_tensor(handle, view, value)
    handle.synchronize()


def seconds(handle: Handle, line: str, rounds: int) -> dict[str, float]:
    """Return the shortest processor time of a call by what its scratch memory held; nothing where it has none."""
    handle.scratches.clear(handle.device)
    problem, options = parse_line(line)
    call = portadnn_call(handle, problem, options)
    call()
    handle.synchronize()
    best: dict[str, float] = {}
    for _ in range(rounds if handle.scratches.blocks() else 0):
        for name, value in PATTERNS.items():
            fill(handle, value)
            start = time.process_time()
            call()
            handle.synchronize()
            best[name] = min(best.get(name, 1e9), time.process_time() - start)
    return best


def main(argv: list[str] | None = None) -> None:
    """Print the milliseconds with zeros, the ratios of the others, and the line."""
    made = argparse.ArgumentParser(prog="python -m portadnn.benchmarks.scratch", description=__doc__)
    made.add_argument("file", nargs="?", type=Path, help="problem lines")
    made.add_argument("--set", choices=sorted(SETS), help="problems of a set")
    made.add_argument("--backend", default="opencl")
    made.add_argument("--rounds", type=int, default=5)
    args = made.parse_args(argv)
    lines = args.file.read_text().splitlines() if args.file else SETS[args.set] if args.set else ()
    with Handle(args.backend) as handle:
        for line in filter(None, map(str.strip, lines)):
            best = seconds(handle, line, args.rounds)
            if best:
                ratios = " ".join(f"{name} {best[name] / best['zeros']:.2f}" for name in list(PATTERNS)[1:])
                print(f"{1e3 * best['zeros']:9.3f} ms  {ratios}  {line}", flush=True)


if __name__ == "__main__":
    main()
