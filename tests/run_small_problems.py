"""Run the small problems on a backend; what oclgrind and compute-sanitizer watch.

Usage: python run_small_problems.py BACKEND [--once] [--convolutions | --others | --persona]. With --once an engine is
left out where all its kernels ran before with the same branches; of --convolutions on GPUs few run, which have each
kernel with each branch, each type and 0, 1 or more of each number, but not each combination. PORTADNN_NO_POOL=1 gives
each CUDA array an allocation of its own. Fails where a problem fails, or where a kernel that is made for the device was
not reached. Of one part only, the kernels that it did not reach are printed: those that the other does not reach either
are missed. With --persona the device assumes the one that PORTADNN_TEST_PERSONA names, and runs what engines choose
otherwise then.
"""

from __future__ import annotations

import os
import sys
import time

import personas
from oclgrind.compiler import optimise
from small_problems import LINES, run, uncovered
from source_recorder import few_runs, new_runs

import portadnn as dnn
from portadnn_backends.base import DeviceInfo


def chosen(options: list[str], info: DeviceInfo) -> tuple[str, ...]:
    """Return the lines of the part that was asked for."""
    lines = LINES
    if "--persona" in options:
        found = personas.chosen_otherwise(os.environ[personas.VARIABLE], info, set())
        lines = tuple(dict.fromkeys(case.line for case in found))
    parts = [part for part in ("--convolutions", "--others") if part in options]
    return tuple(n for n in lines if not parts or n.startswith("convolution") == (parts == ["--convolutions"]))


def main(backend: str, options: list[str]) -> int:
    started = time.process_time()
    ran: set[tuple[str, str]] = set()
    failures = []
    if backend == "cuda" and os.environ.get("PORTADNN_NO_POOL") == "1":
        import cupy

        cupy.cuda.set_allocator(None)
    with optimise(dnn.Handle(backend)) as handle:
        lines = chosen(options, handle.info)
        personas.assume(handle)
        only = None
        if "--once" in options:
            few = "--convolutions" in options and handle.info.schedule == "gpu"
            only = (few_runs if few else new_runs)(handle.device, handle.engines_for, lines)
        print(f"{backend}: {handle.info.name}, {handle.info.schedule} schedule, {len(lines)} problems", flush=True)
        for line in lines:
            begun = time.process_time()
            try:
                ran |= run(handle, line, only)
            except dnn.DnnError as error:
                failures.append(f"{line}\n    {type(error).__name__}: {error}")
            if time.process_time() - begun > 5:
                print(f"slow ({time.process_time() - begun:.0f} s): {line}", flush=True)
        missed = [] if "--persona" in options else uncovered(ran, handle.info)
    print(f"{len(ran)} kernels in {time.process_time() - started:.0f} s of processor time", flush=True)
    for kernel in missed:
        print("NOT REACHED", kernel, flush=True)
    for failure in failures:
        print("FAILED", failure, flush=True)
    print(f"{len(lines) - len(failures)} passed, {len(failures)} failed", flush=True)
    return bool(failures or (missed and lines == LINES))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
