"""Make drawn calls with ``portadnn.cudnn`` and with NVIDIA's library, and compare what they give.

``python -m tests.beside_cudnn --count 1000`` on a machine with an NVIDIA GPU, CuPy and cuDNN. Each call is one program:
descriptors, sizes, the call, its gradients. Processes share the numbers; a program that ends one (a wrong call may
end the CUDA context) is noted, and another process goes on behind it. ``--self`` compares a backend with itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tests.beside_cudnn import programs  # noqa: E402
from tests.beside_cudnn.judging import KINDS, refused  # noqa: E402

EXAMPLES = 3  # of each kind and function that are printed


class Shard:
    """A process that compares the programs `start`, `start` + `step` and so on."""

    def __init__(self, given: Any, start: int, folder: str, until: float) -> None:
        self.given, self.first, self.next, self.until = given, start, start, until
        self.path = Path(folder, f"{start}.jsonl")
        self.path.touch()
        self.process: Any = None
        self._start()

    def _start(self) -> None:
        given = self.given
        words = ["--work", self.path, "--start", self.next, "--step", given.jobs, "--count", given.count]
        words += ["--seed", given.seed, "--seconds", max(self.until - time.monotonic(), 0), "--backend", given.backend]
        words += ["--only", given.only, *(["--self"] if given.self else [])]
        with Path(f"{self.path}.output").open("ab") as output:
            command = [sys.executable, "-m", "tests.beside_cudnn", *map(str, words)]
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)

    def poll(self) -> bool:
        """Tell whether all is done; start a process anew behind a program that ended one."""
        if self.process.poll() is None and time.monotonic() < self.until + 15:
            return False
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            return True
        lines = self.lines()
        if self.process.returncode == 0 or (not lines and self.next == self.first):
            return True
        begun = [line for line in lines if "begun" in line]
        if begun and begun[-1]["begun"] != lines[-1].get("number"):
            self._note_end(begun[-1])
        following = begun[-1]["begun"] + self.given.jobs if begun else self.next
        if following == self.next or following >= self.given.count:
            return True
        self.next = following
        self._start()
        return False

    def _note_end(self, begun: dict[str, Any]) -> None:
        """Note a program that ended its process; deliberate where portadnn refused a wrong argument before."""
        kind = "deliberate" if begun.get("refused") else "ended"
        words = {"number": begun["begun"], "name": begun["name"], "kind": kind, "detail": begun.get("ours", "")}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(words) + "\n")

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]


def work(given: argparse.Namespace) -> None:
    """Compare in this process."""
    until = time.monotonic() + given.seconds
    pair = programs.Pair(given.backend, given.self)
    with Path(given.work).open("a", encoding="utf-8", buffering=1) as file:
        for number in range(given.start, given.count, given.step):
            if time.monotonic() > until:
                break
            begun = {"begun": number, "name": programs.name_of(number, given.only)}
            name = begun["name"]
            file.write(json.dumps(begun) + "\n")
            ours = pair.ours(number, given.seed, given.only)
            file.write(json.dumps({**begun, "ours": str(ours.calls[-1:]), "refused": refused(ours)}) + "\n")
            found = pair.beside(ours, number, given.seed, given.only)
            words = {"number": number, "name": name, "kind": found.kind, "detail": found.detail, "tags": ours.tags}
            file.write(json.dumps({**words, "calls": len(ours.calls)}) + "\n")
            if pair.lost:
                os._exit(3)
    os._exit(0)


def report(lines: list[dict[str, Any]], seed: int, seconds: float) -> int:
    """Print the table by function and the first differences; return how many there are."""
    kinds = (*KINDS, "ended")
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        table[line["name"]][line["kind"]] += 1
    width = max(map(len, table), default=0)
    print(" " * width, *(f"{kind:>13}" for kind in kinds))
    for name in sorted(table):
        print(f"{name:<{width}}", *(f"{table[name][kind]:>13}" for kind in kinds))
    calls = sum(line.get("calls", 0) for line in lines)
    print(f"{len(lines)} programs of {calls} calls in {seconds:.0f} s")
    shown: Counter[tuple[str, str]] = Counter()
    for line in lines:
        key = line["name"], line["kind"]
        if line["kind"] not in ("equal", "deliberate") and shown[key] < EXAMPLES:
            shown[key] += 1
            tags = ", ".join(line.get("tags", ()))
            print(f"--seed {seed} --case {line['number']} {key[0]}: {key[1]}: {line['detail'][:200]} [{tags}]")
    return sum(line["kind"] not in ("equal", "deliberate") for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.beside_cudnn", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=80)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--self", action="store_true", help="portadnn on both sides")
    parser.add_argument("--only", default="", help="programs whose name has these characters")
    parser.add_argument("--case", type=int, help="make one program in this process")
    parser.add_argument("--out", help="a file for all results, a line of JSON each")
    for name, kind in (("work", str), ("start", int), ("step", int)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given)
    if given.case is not None:
        pair = programs.Pair(given.backend, given.self)
        ours, found = pair.compare(given.case, given.seed, given.only)
        print(programs.name_of(given.case, given.only), *ours.calls, found, ours.tags, sep="\n")
        return found.kind not in ("equal", "deliberate")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="beside-cudnn-") as folder:
        shards = [Shard(given, start, folder, begun + given.seconds) for start in range(given.jobs)]
        running = list(shards)
        while running:
            time.sleep(0.1)
            running = [shard for shard in running if not shard.poll()]
        lines = [line for shard in shards for line in shard.lines() if "number" in line]
        if not lines:
            print(Path(f"{shards[0].path}.output").read_text(encoding="utf-8", errors="replace")[-2000:])
    if given.out:
        Path(given.out).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return int(bool(report(sorted(lines, key=lambda line: line["number"]), given.seed, time.monotonic() - begun)))


if __name__ == "__main__":
    sys.exit(main())
