"""Run the small problems on a backend; what oclgrind and compute-sanitizer watch.

Usage: python run_small_problems.py BACKEND [--once]. With --once an engine is left out where all its kernels ran
before with the same branches. PORTADNN_NO_POOL=1 gives each CUDA array an allocation of its own. Fails where
a problem fails, or where a kernel that is made for the device was not reached.
"""

from __future__ import annotations

import os
import sys
import time

from small_problems import LINES, run, uncovered

import portadnn as dnn


def main(backend: str, once: bool) -> int:
    started = time.process_time()
    ran: set[tuple[str, str]] = set()
    seen: set[str] | None = set() if once else None
    failures = []
    if backend == "cuda" and os.environ.get("PORTADNN_NO_POOL") == "1":
        import cupy

        cupy.cuda.set_allocator(None)
    with dnn.Handle(backend) as handle:
        print(f"{backend}: {handle.info.name}, {handle.info.schedule} schedule, {len(LINES)} problems", flush=True)
        for line in LINES:
            begun = time.process_time()
            try:
                ran |= run(handle, line, seen)
            except dnn.DnnError as error:
                failures.append(f"{line}\n    {type(error).__name__}: {error}")
            if time.process_time() - begun > 5:
                print(f"slow ({time.process_time() - begun:.0f} s): {line}", flush=True)
        missed = uncovered(ran, handle.info)
    print(f"{len(ran)} kernels in {time.process_time() - started:.0f} s of processor time", flush=True)
    for kernel in missed:
        print("NOT REACHED", kernel, flush=True)
    for failure in failures:
        print("FAILED", failure, flush=True)
    print(f"{len(LINES) - len(failures)} passed, {len(failures)} failed", flush=True)
    return bool(failures or missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--once" in sys.argv[2:]))
