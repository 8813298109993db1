"""How long `portadnn check` takes, and how it grows: ``python -m portadnn.benchmarks.checker [--output FILE]``.

Each input is written by ``checker_inputs`` and checked in a process of its own; memory is the peak of that process and
of those that it starts, whichever is largest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import record
from .sets import checker_inputs as inputs

LINES = (62_500, 250_000, 1_000_000)
MEGABYTES = (6, 25, 100)
_CHILD = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # not the working directory
import json, resource, time
from portadnn.cli.main import main
began = time.perf_counter()
try:
    main(sys.argv[1:])
except SystemExit as end:
    code = end.code
used = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({"code": code, "seconds": time.perf_counter() - began, "peak_mib": max(used) / 1024}), file=sys.stderr)
"""


def check(path: Path, report: Path) -> dict[str, Any]:
    """Check a path in a process of its own, and return what it took and found."""
    options = ["check", str(path), "-o", f"json:{report}", "--no-progress", "--fail-on", "never", "--quiet"]
    began, used = time.perf_counter(), _processor_time()
    command = [sys.executable, "-c", _CHILD, *options]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    seconds, used = time.perf_counter() - began, _processor_time() - used
    if done.returncode:
        raise SystemExit(done.stderr)
    told = json.loads(done.stderr.strip().splitlines()[-1])
    found = json.loads(report.read_text(encoding="utf-8"))
    return {
        "seconds": round(seconds, 2),
        "processor_seconds": round(used, 2),
        "peak_mib": round(told["peak_mib"], 1),
        "calls": sum(call["times"] for call in found["calls"]),
        "findings": len(found["findings"]),
    }


def sources(folder: Path, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Time trees of so many lines."""
    rows = []
    for size in sizes:
        lines = inputs.write_tree(folder / f"tree{size}", size)
        rows.append({"lines": lines, **check(folder / f"tree{size}", folder / "report.json")})
        _show(rows, "lines")
    return rows


def logs(folder: Path, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Time logs of so many megabytes."""
    rows = []
    for size in sizes:
        path = folder / f"calls{size}.log"
        written = inputs.write_log(path, size * 1_000_000)
        rows.append({"bytes": written, **check(path, folder / "report.json")})
        _show(rows, "bytes")
        path.unlink()
    return rows


def _processor_time() -> float:
    """Return what the processes that have ended took of the processor."""
    times = os.times()
    return times.children_user + times.children_system


def _show(rows: list[dict[str, Any]], unit: str) -> None:
    """Print the latest row, and how much longer it took than the first for each unit."""
    row, first = rows[-1], rows[0]
    growth = (row["processor_seconds"] / row[unit]) / (first["processor_seconds"] / first[unit])
    print(
        f"{row[unit]:>12,} {unit:5} {row['seconds']:>7.2f} s ({row['processor_seconds']:.2f} s of the processor) "
        f"{row['peak_mib']:>6.0f} MiB {growth:>5.2f} x the time a {unit.rstrip('s')} of the first; "
        f"{row['calls']:,} calls, {row['findings']:,} findings",
        flush=True,
    )


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m portadnn.benchmarks.checker", description=__doc__)
    parser.add_argument("--lines", type=int, nargs="*", default=LINES, help="sizes of trees")
    parser.add_argument("--megabytes", type=int, nargs="*", default=MEGABYTES, help="sizes of logs")
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {"sources": sources(folder, asked.lines), "logs": logs(folder, asked.megabytes)}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = {**record.environment(), "cores": cores, "processor": _processor(), **rows}
    if asked.output is not None:
        record.write(asked.output, facts)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else "unknown"


if __name__ == "__main__":
    main()
