"""Wrong calls from the command line: ``python -m tests.wrong_calls --count 20000 --backend reference``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.wrong_calls import running
from tests.wrong_calls.breaking import case


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wrong_calls", description=__doc__)
    parser.add_argument("--backend", default="reference")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="one vocabulary or one function")
    parser.add_argument("--case", type=int, help="make one case in this process, and show what it raises")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        running.work(given.backend, given.seed, given.start, given.step, given.count, given.work, given.only)
    if given.case is not None:
        running.limit_memory()
        made = case(given.case, given.seed, running.open_handles(given.backend), given.only)
        print(made)
        try:
            made.call()
            print("accepted")
        except Exception:
            traceback.print_exc()
        print("written:", made.scene.written())
        return 0
    parts = [(given.backend, given.start + job, given.jobs) for job in range(given.jobs)]
    report = running.run(parts, {given.backend: given.start + given.count}, given.seed, given.only)[given.backend]
    groups = defaultdict(list)
    for failure in report.failures:
        groups[failure.signature].append(failure)
    for signature, failures in sorted(groups.items(), key=lambda item: -len(item[1])):
        first = min(failures, key=lambda failure: failure.number)
        print(f"{len(failures)} x {signature[0]} at {signature[1]}: {first.call}: {first.message}")
        print(f"    {running.command(first.number, first.backend, given.seed, given.only)}")
    print(f"{dict(report.made)}: {report.refused} refused, {report.accepted} accepted, {report.signatures} signatures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
