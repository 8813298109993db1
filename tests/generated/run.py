"""Run every convolution engine of a device on thousands of generated problems, and record what came of it.

    python tests/generated/run.py --backend opencl --count 2000 --jobs 16 --output generated.json
    python tests/generated/run.py --backend opencl --engine implicit_gemm_cpu --line "convolution_forward ..."

Interrupted or out of time, the same command goes on where it stopped: finished parts are kept in OUTPUT.parts.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import portadnn as dnn
from generated import work
from portadnn.diff.campaign import quiet_environment

KEPT = 20  # reasons and failures of an engine that the record lists


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="opencl")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--schedule", choices=("cpu", "gpu"), help="shape of the kernels; by default the device's own")
    parser.add_argument("--engine", action="append", help="only engines of this name; may be repeated")
    parser.add_argument("--count", type=int, default=2000, help="problems that each engine has to take")
    parser.add_argument("--variants", type=int, default=4, help="problems that differ in alpha, beta and data only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin nothing after that time")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one problem")
    parser.add_argument("--output", type=Path, help="the record, as JSON")
    parser.add_argument("--line", help="check this one problem on the engines instead")
    parser.add_argument("--data", choices=("normal", "integer"), default="normal")
    return parser.parse_args(words)


def parts_of(handle, names, count, variants):
    """Return the parts that give each engine `count` problems, shared evenly by its directions; engines take turns."""
    engines = [(e.name, d) for e, d in work.engines_of(handle) if not names or e.name in names]
    directions = Counter(name for name, _ in engines)
    parts = [
        work.Part(name, direction, number)
        for name, direction in engines
        for number in range(-(-count // (directions[name] * work.PART * variants)))
    ]
    return sorted(parts, key=lambda part: part.number)


class Parts:
    """The finished parts, kept in a file that grows by whole lines."""

    def __init__(self, path, settings):
        self.path = path
        self.done = {}
        head = json.dumps({**dataclasses.asdict(settings), "part": work.PART})
        lines = path.read_text().splitlines() if path and path.exists() else []
        if lines and lines[0] == head:
            for line in lines[1:]:
                try:
                    part, outcome = json.loads(line)
                except ValueError:  # the last line of a run that was killed
                    continue
                self.done[work.Part(**part)] = outcome
            if not path.read_text().endswith("\n"):
                path.write_text(path.read_text() + "\n")
        elif path:
            path.write_text(head + "\n")

    def add(self, part, outcome):
        """Keep a part's outcome; those in which a process died are kept as well."""
        self.done[part] = outcome
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps([dataclasses.asdict(part), outcome]) + "\n")


def run_parts(parts, todo, settings, options):
    """Let workers do what is to do; return whether all of it is done."""
    deadline = time.monotonic() + 60 * options.minutes
    workers = [work.Worker(settings) for _ in range(min(options.jobs, len(todo)))]
    useless = Counter()
    waiting = list(reversed(todo))
    try:
        while True:
            for worker in workers:
                if worker.part is not None:
                    part = worker.part
                    outcome = worker.poll(options.limit)
                    if outcome is None:
                        continue
                    parts.add(part, outcome)
                    report(part, outcome)
                    useless[part.engine, part.direction] += not outcome["geometries"] and not outcome["failures"]
                while waiting and time.monotonic() < deadline:
                    part = waiting.pop()
                    if not useless[part.engine, part.direction]:  # others have seen that it takes nothing
                        worker.start(part)
                        break
            if all(worker.part is None for worker in workers):
                return not waiting
            time.sleep(0.01)
    finally:
        for worker in workers:
            worker.stop()


def report(part, outcome):
    times = f"{outcome['seconds']:.1f} s, {outcome['cpu_seconds']:.1f} s of processor"
    state = f"{outcome['problems']} problems in {times}, {len(outcome['failures'])} wrong"
    print(f"{part.engine} {part.direction} {part.number}: {state}", flush=True)


def summary(parts, names):
    """Return a record for every engine: each direction's, added up over its parts."""
    record = defaultdict(dict)
    grouped = defaultdict(list)
    for part, outcome in parts.done.items():
        if not names or part.engine in names:
            grouped[part.engine, part.direction].append(outcome)
    for (engine, direction), outcomes in sorted(grouped.items()):
        refused = sum((Counter(o["refused"]) for o in outcomes), Counter())
        types = sorted({dtype for o in outcomes for dtype in o["worst"]})
        failures = [failure for o in outcomes for failure in o["failures"]]
        record[engine][direction] = {
            "accepted": sum(o["problems"] for o in outcomes),
            "distinct": len({line for o in outcomes for line in o["lines"]}),
            "geometries": sum(o["geometries"] for o in outcomes),
            "exact_integers": sum(o["exact"] for o in outcomes),
            "refused": sum(refused.values()),
            "refused_without_reason": [line for o in outcomes for line in o["silent"]][:KEPT],
            "reasons": dict(refused.most_common(KEPT)),
            "worst": {t: max(o["worst"][t] for o in outcomes if t in o["worst"]) for t in types},
            "wrong": len(failures),
            "failures": failures[:KEPT],
            "seconds": round(sum(o["seconds"] for o in outcomes), 1),
            "cpu_seconds": round(sum(o["cpu_seconds"] for o in outcomes), 1),
        }
    return dict(record)


def one_line(settings, options):
    """Check one problem and say what came of it; return whether it was right on every engine that takes it."""
    right = True
    with work.open_handle(settings) as handle:
        problem = dnn.parse_line(options.line)[0]
        for engine in handle.engines_for(problem):
            if options.engine and engine.name not in options.engine:
                continue
            reason = engine.why_not(problem, handle.info)
            if reason is None:
                error, wrong = work.check(handle, engine, options.line, options.data)
                right &= wrong is None
                reason = wrong or f"right, error {error:.3g} of the bound"
            print(f"{engine.name}: {reason}")
    return right


def main(words=None):
    options = arguments(words)
    places = (options.backend, options.device, options.schedule)
    settings = work.Settings(*places, options.seed, options.variants, work.PATIENCE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(quiet_environment(folder))
        if options.line:
            return 0 if one_line(settings, options) else 1
        began = time.monotonic()
        with work.open_handle(settings) as handle:
            wanted = parts_of(handle, options.engine, options.count, options.variants)
            device = {"name": handle.info.name, "driver": handle.info.driver, "schedule": handle.info.schedule}
        parts = Parts(options.output.with_suffix(".parts") if options.output else None, settings)
        todo = [part for part in wanted if part not in parts.done]
        complete = run_parts(parts, todo, settings, options)
    record = {
        "settings": dataclasses.asdict(settings),
        "count": options.count,
        "device": device,
        "version": dnn.__version__,
        "complete": complete,
        "seconds": round(time.monotonic() - began, 1),
        "engines": summary(parts, options.engine),
    }
    if options.output:
        options.output.write_text(json.dumps(record, indent=1) + "\n")
    return table(record, options.count)


def table(record, count):
    """Print the record; return the exit status: 1 where something is wrong, 2 where something is missing."""
    wrong, few = 0, False
    print(f"{'engine':32} {'direction':16} {'problems':>9} {'refused':>8} {'worst':>6} {'wrong':>6}")
    for engine, directions in record["engines"].items():
        for direction, found in directions.items():
            worst = max((error for t, (error, _) in found["worst"].items() if t in ("FLOAT", "DOUBLE")), default=0.0)
            numbers = f"{found['accepted']:9} {found['refused']:8} {worst:6.2f} {found['wrong']:6}"
            print(f"{engine:32} {direction:16} {numbers}")
            wrong += found["wrong"] + len(found["refused_without_reason"])
            for failure in found["failures"][:3]:
                print(f"    {failure['line']} {failure['data']}: {failure['message'].splitlines()[-1][:200]}")
        accepted = sum(found["accepted"] for found in directions.values())
        if 0 < accepted < count:
            few = True
            print(f"    {engine}: only {accepted} of {count} problems")
    print(f"{record['seconds']:.0f} s, {'complete' if record['complete'] else 'out of time'}, {wrong} wrong")
    return 1 if wrong else 2 if few or not record["complete"] else 0


if __name__ == "__main__":
    sys.exit(main())
