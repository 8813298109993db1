"""Runs the default campaign of ``portadnn diff`` on copies of portadnn that have one fault each.

    python tests/mutation/harness.py --output record.json            # all faults of faults.toml
    python tests/mutation/harness.py --only pool-border-cell         # some
    python tests/mutation/harness.py --first 8000                    # on a busy machine, where time says little
    python tests/mutation/harness.py --clean 50000                   # no fault: how many cases fail that should not

A fault is caught where the campaign, stopped at its first failure, fails within the time limit. The failing case is
then shrunk, and the smallest one is run again on portadnn as it is, where it has to pass: what fails there as well is
no proof.

With ``--first N`` a fault is caught where one of the first N cases of the campaign fails. Those of operations in which
it cannot show are left out: an operation's cases are the same without the others.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import tomllib

from portadnn.operation import operations

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("faults.toml")
PACKAGES = {  # installed name: folder
    "portadnn": "portadnn",
    "portadnn/benchmarks": "benchmarks",
    "portadnn/examples": "examples",
    "portadnn_backends": "backends",
    "portadnn_backends/kernels_shared": "kernels_shared",
    "portadnn_backends/kernels_cuda": "kernels_cuda",
    "portadnn_backends/kernels_hip": "kernels_hip",
    "portadnn_backends/kernels_opencl": "kernels_opencl",
}
LIMIT = 300  # seconds of a campaign


@dataclass(frozen=True)
class Fault:
    """A replacement of text in one file; see faults.toml."""

    id: str
    kind: str
    ops: str
    file: str
    old: str
    new: str
    nth: int = 0
    target: str = "opencl"

    def changed(self, text: str) -> str:
        """Return the file's text with the fault; the text to replace must be there as often as the fault says."""
        places = text.count(self.old)
        if places == 0 or (places > 1 and not self.nth) or self.nth > places:
            raise ValueError(f"{self.id}: {self.file} has {self.old!r} {places} times")
        parts = text.split(self.old)
        at = max(self.nth, 1)
        return self.old.join(parts[:at]) + self.new + self.old.join(parts[at:])


@dataclass
class Outcome:
    """What the campaign made of a fault.

    Attributes
    ----------
    caught : bool
    seconds, cases : float, int
        Until the first failure; all of the campaign where nothing failed.
    case, smallest : str
        The first failing case, and what it was shrunk to.
    reason : str
        How it fails.
    proof : bool
        Whether the smallest case passes on portadnn without the fault.
    """

    id: str
    kind: str
    target: str
    caught: bool = False
    seconds: float = 0.0
    cases: int = 0
    case: str = ""
    smallest: str = ""
    reason: str = ""
    proof: bool = False


def read_faults() -> list[Fault]:
    """Return all faults, each of which fits its file."""
    faults = [Fault(**entry) for entry in tomllib.loads(FAULTS.read_text("utf-8"))["fault"]]
    for fault in faults:
        fault.changed((ROOT / fault.file).read_text("utf-8"))
    return faults


def shadow(folder: Path, fault: Fault | None) -> None:
    """Make an importable tree of links to this checkout, in which the file of the fault is a changed copy."""
    for installed, source in PACKAGES.items():
        _link(folder / installed, ROOT / source, fault)


def _link(target: Path, source: Path, fault: Fault | None) -> None:
    """Link the files of a folder; folders are made, because one file below may be a copy."""
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name == "__pycache__":
            continue
        if path.is_dir():
            _link(target / path.name, path, fault)
        elif fault is not None and path == ROOT / fault.file:
            (target / path.name).write_text(fault.changed(path.read_text("utf-8")), "utf-8")
        else:
            (target / path.name).symlink_to(path)


def _environment(folder: Path, tree: Path) -> dict[str, str]:
    """Return an environment with the tree in front and caches of its own."""
    own = {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(tree), os.environ.get("PYTHONPATH")))),
        "PORTADNN_CACHE_DIR": "",
        "PORTADNN_FIND_DB": "",
        "TMPDIR": str(folder),
    }
    return {**os.environ, **own}


def _diff(folder: Path, tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command; one that takes too long is interrupted, which keeps what it has found."""
    command = [sys.executable, "-m", "portadnn", "diff", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=_environment(folder, tree), cwd=folder, **streams) as process:
        try:
            out, err = process.communicate(timeout=None if "--count" in words else 3 * LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def share(fault: Fault, first: int) -> list[str]:
    """Return options for those of the first cases of the campaign whose operations the fault can show in.

    Operations take turns, so that each has about as many cases.
    """
    patterns, known = fault.ops.split(), list(operations())
    matching = sum(any(fnmatch(op, pattern) for pattern in patterns) for op in known)
    assert matching, f"{fault.id}: no operation is {fault.ops}"
    words = [word for pattern in patterns for word in ("--op", pattern)]
    return [*words, "--count", str(-(-first * matching // len(known)))]


def hunt(fault: Fault, options: argparse.Namespace) -> Outcome:
    """Run the default campaign on portadnn with a fault."""
    outcome = Outcome(fault.id, fault.kind, fault.target)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shadow(folder / "tree", fault)
        shadow(folder / "clean", None)
        began = time.monotonic()
        words = ["-t", fault.target, "--seed", str(options.seed), "--jobs", str(options.jobs)]
        words += share(fault, options.first) if options.first else ["--time", f"{options.limit:.0f}s"]
        done = _diff(folder, folder / "tree", "run", *words, "--stop-after", "1", "--shrink", "-o", "out")
        outcome.seconds = round(time.monotonic() - began, 1)
        report = folder / "out" / "report.json"
        if not report.is_file():
            outcome.reason = f"no report, exit {done.returncode}: {(done.stderr or done.stdout)[-500:]}"
            return outcome
        found = json.loads(report.read_text("utf-8"))
        outcome.cases = len(found["results"])
        failed = [r for r in found["results"] if r["verdict"] in ("FAILED", "ERROR")]
        if not failed:
            return outcome
        first = failed[0]
        outcome.caught = True
        outcome.case, outcome.reason = first["case"], first["reason"][:400]
        shrunk = found["reproducers"].get(first["case"])
        outcome.smallest = shrunk["smallest"] if shrunk else ""
        again = _diff(folder, folder / "clean", outcome.smallest or outcome.case, "-t", fault.target, "--no-shrink")
        outcome.proof = again.returncode == 0
    return outcome


def clean(count: int, target: str, seed: int, jobs: int) -> dict[str, object]:
    """Run many cases on portadnn as it is; return the counts of verdicts and what failed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shadow(folder / "clean", None)
        began = time.monotonic()
        words = ["-t", target, "--seed", str(seed), "--jobs", str(jobs), "--count", str(count), "--no-shrink"]
        command = [sys.executable, "-m", "portadnn", "diff", "run", *words, "-o", "out"]
        subprocess.run(command, env=_environment(folder, folder / "clean"), cwd=folder, check=False)
        found = json.loads((folder / "out" / "report.json").read_text("utf-8"))
    failed = [r for r in found["results"] if r["verdict"] in ("FAILED", "ERROR")]
    return {
        "target": target,
        "seed": seed,
        "cases": len(found["results"]),
        "counts": found["counts"],
        "targets": found["targets"],
        "seconds": round(time.monotonic() - began, 1),
        "failures": [{"case": r["case"], "reason": r["reason"][:300]} for r in failed[:50]],
    }


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", default=[], help="ids of faults; the record keeps the others; default: all"
    )
    parser.add_argument("--at-once", type=int, default=1, help="faults hunted at the same time")
    parser.add_argument("--jobs", type=int, default=2, help="processes of a campaign")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a campaign")
    parser.add_argument("--first", type=int, default=0, help="cases of the campaign to run, instead of a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clean", type=int, default=0, help="cases to run without a fault, instead")
    parser.add_argument("--target", help="only faults of this target; with --clean: where [default: opencl]")
    parser.add_argument(
        "--kernels", type=Path, help="folder of compiled kernels that campaigns share: ten times as fast"
    )
    parser.add_argument("--output", type=Path, help="JSON record")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    options = arguments(words)
    if options.kernels:
        options.kernels.mkdir(parents=True, exist_ok=True)
        os.environ["PORTADNN_DIFF_KERNELS"] = str(options.kernels.resolve())
    if options.clean:
        record: dict[str, object] = {
            "clean": clean(options.clean, options.target or "opencl", options.seed, options.jobs)
        }
        good = not record["clean"]["failures"]  # type: ignore[index]
    else:
        faults = read_faults()
        unknown = set(options.only) - {fault.id for fault in faults}
        if unknown:
            raise SystemExit(f"there are no faults {', '.join(sorted(unknown))}")
        faults = [fault for fault in faults if not options.only or fault.id in options.only]
        faults = [fault for fault in faults if options.target in (None, fault.target)]
        known = []
        if options.only and options.output and options.output.exists():
            before = json.loads(options.output.read_text("utf-8"))["outcomes"]
            known = [Outcome(**o) for o in before if o["id"] not in options.only]
        record = {}
        with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            hunts = {pool.submit(hunt, f, options): f for f in faults}
            for done in concurrent.futures.as_completed(hunts):
                known.append(done.result())
                tell(known[-1])
                record = summary(known, options)
                write(record, options.output)  # a run that is ended keeps what it has found
        print(f"{record['caught']} of {record['faults']} caught")
        good = record["share"] >= 0.95
    write(record, options.output)
    return 0 if good else 1


def tell(outcome: Outcome) -> None:
    """Print what became of a fault."""
    said = "caught" if outcome.caught else "MISSED"
    doubt = "" if outcome.proof or not outcome.caught else " (fails without the fault as well)"
    print(f"{said} {outcome.id}: {outcome.seconds:.0f} s, {outcome.cases} cases{doubt}", flush=True)
    print(f"    {outcome.smallest or outcome.case}\n    {outcome.reason[:200]}", flush=True)


def summary(outcomes: list[Outcome], options: argparse.Namespace) -> dict[str, object]:
    """Return the record of the faults that were hunted."""
    caught = [o for o in outcomes if o.caught and o.proof]
    return {
        "faults": len(outcomes),
        "caught": len(caught),
        "share": round(len(caught) / len(outcomes), 4),
        "settings": {
            "seed": options.seed,
            "jobs": options.jobs,
            **({"first": options.first} if options.first else {"limit": options.limit}),
            "kernels": "shared" if options.kernels else "compiled anew for each fault",
        },
        "cores": os.cpu_count(),
        "outcomes": [dataclasses.asdict(o) for o in sorted(outcomes, key=lambda o: o.id)],
    }


def write(record: dict[str, object], output: Path | None) -> None:
    """Write a record, where one is wanted."""
    if output is not None:
        output.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
