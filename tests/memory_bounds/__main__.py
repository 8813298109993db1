"""Random views from the command line: ``python -m tests.memory_bounds --backend opencl --count 5000 --seed 7``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from oclgrind.compiler import optimise

import portadnn as dnn
from memory_bounds.cases import VARIANTS, Case


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.memory_bounds", description=__doc__)
    parser.add_argument("--backend", default="opencl", choices=["reference", "opencl"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--once", action="store_true", help="one case of each layout, not all of its variants")
    parser.add_argument("--only", default="", help="operations whose names begin so")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    ended: Counter[str] = Counter()
    failed = 0
    step = VARIANTS if given.once else 1
    with optimise(dnn.Handle(given.backend)) as handle:
        print(f"{given.backend}: {handle.info.name}, {handle.info.schedule} schedule", flush=True)
        for number in range(given.start, given.start + given.count * step, step):
            outcome = Case(handle, given.seed, number, given.only).run()
            ended[outcome.ended.split(":")[0]] += 1
            if outcome.faults or given.verbose:
                print(f"{number}: {outcome.what}: {outcome.ended}: {'; '.join(outcome.faults)}", flush=True)
            failed += bool(outcome.faults)
    print(f"{dict(ended)}, {failed} failed")
    return 1 if failed or not ended["computed"] else 0


if __name__ == "__main__":
    sys.exit(main())
