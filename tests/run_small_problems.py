"""Run every small problem once on a backend; what oclgrind and compute-sanitizer watch.

Usage: python run_small_problems.py BACKEND. PORTADNN_NO_POOL=1 gives each CUDA array an allocation of its own.
"""

from __future__ import annotations

import os
import sys
import time

from small_problems import LINES, run, uncovered

import portadnn as dnn


def main(backend: str) -> int:
    started = time.perf_counter()
    ran: set[str] = set()
    failures = []
    if backend == "cuda" and os.environ.get("PORTADNN_NO_POOL") == "1":
        import cupy

        cupy.cuda.set_allocator(None)
    with dnn.Handle(backend) as handle:
        print(f"{backend}: {handle.info.name}, {handle.info.schedule} schedule, {len(LINES)} problems", flush=True)
        for line in LINES:
            begun = time.perf_counter()
            try:
                ran |= run(handle, line)
            except dnn.DnnError as error:
                failures.append(f"{line}\n    {type(error).__name__}: {error}")
            if time.perf_counter() - begun > 5:
                print(f"slow ({time.perf_counter() - begun:.0f} s): {line}", flush=True)
    print(f"{len(ran)} kernels in {time.perf_counter() - started:.0f} s", flush=True)
    print("not reached:", *uncovered(ran, backend), flush=True)
    for failure in failures:
        print("FAILED", failure, flush=True)
    print(f"{len(LINES) - len(failures)} passed, {len(failures)} failed", flush=True)
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
