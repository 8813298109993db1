"""Runs cudnn-frontend's own tests and notebooks with `portadnn.graph` in the place of its module. Fetches nothing.

    git clone https://github.com/NVIDIA/cudnn-frontend
    python tests/foreign/run.py cudnn-frontend                       # tensors on the CPU
    python tests/foreign/run.py cudnn-frontend --device cuda         # on the GPU
    python tests/foreign/run.py cudnn-frontend --only mhas --stride 1

PyTorch, pytest and looseversion are needed. Each file runs in a process of its own, at level L0 and sampled by the
strides below; each notebook as well, judged by its own assertions. A table says how many passed; `--logs` has how long
each test took, and where one was that took too long.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LEFT_OUT = {  # files, and why
    "fe_api": "CuTe-DSL kernels for Blackwell, called past the graph",
    "test_sm100_prefill_oss_engine": "an engine in CuTe-DSL for Blackwell",
    "test_sm90_prefill_oss_engine": "an engine in CuTe-DSL for Hopper",
    "test_sm100_rms_norm_silu_graph_api": "an engine in CuTe-DSL for Blackwell",
}
NOTHING = 5  # pytest's exit status where no test is chosen
STRIDES = {  # of files with thousands of tests, on CPUs: one of so many of each function is run
    "test_mhas": 500,
    "test_mhas_v2": 25,
    "test_conv_fuzzer": 20,
    "test_matmul_fuzzer": 100,
}


def command_of(file: Path, options: argparse.Namespace, journal: Path, seconds: float) -> list[str]:
    """Return what runs a file of tests, or a notebook; no test begins after so many seconds."""
    if file.suffix == ".ipynb":
        return [sys.executable, "-c", program(file)]
    stride = options.stride or (1 if options.device == "cuda" else STRIDES.get(file.stem, 1))
    given = ["-q", "-m", "L0", "-k", options.keyword, "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short"]
    sample = [f"--stride={stride}", f"--first={options.first}", f"--seconds={seconds}", f"--each={options.each}"]
    return [sys.executable, "-m", "pytest", *given, *sample, f"--journal={journal}", file.name]


def program(notebook: Path) -> str:
    """Return a notebook's code."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return "import stand_in\n" + re.sub(r"^(\s*)([!%].*)$", r"\1pass  # \2", text, flags=re.M)  # commands of the shell


def run(file: Path, options: argparse.Namespace, journal: Path) -> tuple[Counter[str], str]:
    """Run a file; return how many tests passed, failed and were skipped, and what it printed.

    A test that takes too long ends its process, and counts as failed; another process goes on behind it.
    """
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "FOREIGN_DEVICE": options.device}
    environment["PYTEST_PLUGINS"] = "stand_in"  # of the processes that tests start as well
    environment["PORTADNN_BACKEND"] = options.backend or ("cuda" if options.device == "cuda" else "opencl")
    end, printed = time.monotonic() + options.limit, ""
    while True:
        left = end - time.monotonic()
        command = command_of(file, options, journal, max(left - 0.2 * options.limit, 0))
        try:
            done = subprocess.run(
                command, cwd=file.parent, env=environment, capture_output=True, text=True, timeout=left, check=False
            )
        except subprocess.TimeoutExpired as late:
            printed += f"the time is over: more than {options.limit:.0f} s\n{(late.stdout or b'').decode()}"
            return counts(journal) or Counter(failed=1), printed
        printed += done.stdout + done.stderr
        if file.suffix == ".ipynb":
            return Counter(failed=1) if done.returncode else Counter(passed=1), printed
        broken = stuck(journal)
        if broken is None:
            found = counts(journal)
            return found if found or done.returncode == NOTHING else Counter(failed=1), printed
        with journal.open("a") as file_of_outcomes:
            file_of_outcomes.write(json.dumps({"test": broken, "outcome": "failed", "seconds": options.each}) + "\n")
        stacks = journal.with_suffix(".stacks")
        printed += f"\nended in {broken}, after {options.each:.0f} s or by a fault\n{stacks.read_text()}\n"
        stacks.unlink()


def outcomes(journal: Path) -> dict[str, dict[str, Any]]:
    """Return the last line of each test."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    return {said["test"]: said for said in map(json.loads, lines)}


def stuck(journal: Path) -> str | None:
    """Return the test that a process ended in."""
    return next((test for test, said in outcomes(journal).items() if "outcome" not in said), None)


def counts(journal: Path) -> Counter[str]:
    """Return how many tests passed, failed and were skipped; one that never ended failed."""
    return Counter(said.get("outcome", "failed") for said in outcomes(journal).values())


def files_of(checkout: Path, only: str) -> list[Path]:
    """Return the tests and notebooks whose names match, without those that are left out."""
    tests = sorted((checkout / "test" / "python").glob("test_*.py"))
    notebooks = sorted((checkout / "samples" / "python").glob("*.ipynb"))
    return [one for one in tests + notebooks if re.search(only, one.name) and one.name != "test_utils.py"]


def main() -> int:
    """Run a checkout's tests and notebooks and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path, nargs="?", default=os.environ.get("CUDNN_FRONTEND"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where tensors are")
    parser.add_argument("--backend", help="portadnn's; opencl on the CPU and cuda on the GPU by default")
    parser.add_argument("--only", default="", help="a regular expression that the names of files match")
    parser.add_argument("--stride", type=int, help="run one of so many tests of each function, in all files")
    parser.add_argument("--keyword", default="", help="an expression of pytest's -k that the names of tests match")
    parser.add_argument("--first", type=int, default=0, help="begin with test K of each function, 0 to stride - 1")
    parser.add_argument(
        "--limit", type=float, default=1800, help="seconds for a file; no test begins after 4/5 of them"
    )
    parser.add_argument("--each", type=float, default=120, help="seconds for one test; what takes longer failed")
    parser.add_argument("--logs", type=Path, help="a folder for what each file prints")
    options = parser.parse_args()
    if options.checkout is None:
        parser.error("name a checkout of cudnn-frontend, or set CUDNN_FRONTEND")
    total: Counter[str] = Counter()
    print(f"{'file':44} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>7}")
    for file in files_of(options.checkout.resolve(), options.only):
        if file.stem in LEFT_OUT:
            print(f"{file.stem[:44]:44} left out: {LEFT_OUT[file.stem]}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            journal = Path(folder) / "journal.jsonl"
            found, printed = run(file, options, journal)
            slow = sorted(outcomes(journal).values(), key=lambda said: -said.get("seconds", options.limit))
        total += found
        row = f"{found['passed']:6} {found['failed']:6} {found['skipped']:7} {time.monotonic() - began:7.0f}"
        row += "  the time was over before all had run" * ("the time is over" in printed)
        print(f"{file.stem[:44]:44} {row}", flush=True)
        if options.logs:
            options.logs.mkdir(parents=True, exist_ok=True)
            slowest = [f"{said.get('seconds')} s {said.get('outcome')} {said['test']}\n" for said in slow]
            (options.logs / f"{file.stem}.log").write_text(printed + "\n" + "".join(slowest))
    print(f"{'all':44} {total['passed']:6} {total['failed']:6} {total['skipped']:7}")
    return total["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
