"""Making wrong calls, and judging what comes of them: in processes of their own, because some of them might crash."""

from __future__ import annotations

import inspect
import json
import logging
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import portadnn as dnn

from .breaking import Case, case
from .scene import GUARD

ROOT = Path(__file__).parents[2]
MEMORY = 3 << 30  # bytes that cases may take beyond what handles do
STALL = 60.0  # seconds that a call may take
_SIGNATURE = re.compile(r"^[\w.<>]+\(\) (takes|missing|got an unexpected|got multiple|got some)")


@dataclass
class Failure:
    """A call that raised what it must not raise, wrote before it raised, or ended the process."""

    number: int
    backend: str
    kind: str
    where: str
    call: str
    message: str

    @property
    def signature(self) -> tuple[str, str]:
        return self.kind, self.where


@dataclass
class Report:
    """What came of a number of cases."""

    made: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    accepted: int = 0
    signatures: int = 0
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.made += other.made
        self.refused += other.refused
        self.accepted += other.accepted
        self.signatures += other.signatures
        self.failures += other.failures


def command(number: int, backend: str, seed: int, only: str = "") -> str:
    """Return the line that makes a case again."""
    which = f" --only {only}" if only else ""
    return f"python -m tests.wrong_calls --backend {backend} --seed {seed} --case {number}{which}"


def open_handles(backend: str) -> dict[str, dnn.Handle]:
    """Return the handles that cases share."""
    handles = {"handle": dnn.Handle(backend), "other": dnn.Handle(backend), "closed": dnn.Handle(backend)}
    handles["closed"].close()
    if backend == "opencl":
        handles["handle"].device.compiler.options += " -cl-opt-disable"  # half of the time of its kernels
    handles["foreign"] = dnn.Handle("opencl") if backend == "reference" and _has_opencl() else dnn.Handle("reference")
    return handles


def _has_opencl() -> bool:
    from portadnn.registry import get_backend

    return get_backend("opencl").why_unavailable() is None


def limit_memory() -> None:
    """Let what asks for endless memory fail before the machine does."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def judge(made: Case, backend: str) -> Failure | str:
    """Make the call; return what is wrong, or what came of it."""

    def failed(kind: str, where: str, error: BaseException | str) -> Failure:
        try:
            text = str(error)
        except Exception as again:
            text = f"no text: {type(again).__name__}"
        return Failure(made.number, backend, kind, where, str(made), text[:300])

    try:
        made.call()
        outcome = "accepted"
    except dnn.DnnError as error:
        if isinstance(error, dnn.InternalError):
            return failed("InternalError", _where(error), error)
        try:
            text = str(error)
        except Exception as again:
            return failed(f"{type(again).__name__} in the message", _where(again), "")
        if not text or len(text) > 30_000:
            return failed("no message" if not text else "a long message", _where(error), text)
        outcome = "refused"
    except TypeError as error:
        if not _is_signatures(error, made.call.name):
            return failed("TypeError", _where(error), error)
        outcome = "signature"
    except (Exception, RecursionError) as error:
        return failed(type(error).__name__, _where(error), error)
    if outcome == "accepted":
        outside = [k.what for k in made.scene.kept if k.what == "array" and _outside(k.read(), k.before)]
        return failed("wrote outside of its memory", made.call.name, outside[0]) if outside else outcome
    written = made.scene.written()
    return failed("a failed call wrote", made.call.name, written[0]) if written else outcome


def _is_signatures(error: TypeError, name: str) -> bool:
    """Tell whether a TypeError is Python's own about the signature of the function that was called."""
    if traceback.extract_tb(error.__traceback__)[-1].filename == inspect.__file__:  # Signature.bind
        return True
    return bool(_SIGNATURE.match(str(error))) and name.rpartition(".")[2] in str(error).replace("__init__", name)


def _outside(now: bytes, before: bytes) -> bool:
    return len(now) > 2 * GUARD and (now[:GUARD] != before[:GUARD] or now[-GUARD:] != before[-GUARD:])


def _where(error: BaseException) -> str:
    """Return the innermost place of portadnn's in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        path = Path(frame.filename)
        if ROOT in path.parents and "tests" not in path.parts and ".venv" not in path.parts:
            return f"{path.relative_to(ROOT)}:{frame.name}"
    return "outside"


def work(backend: str, seed: int, start: int, step: int, count: int, journal: str, only: str = "") -> None:
    """Make cases in this process; the journal's first line says which one is under way."""
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp(prefix="wrong-calls-"))
    logging.disable(logging.CRITICAL)
    handles = open_handles(backend)
    limit_memory()
    report = Report()
    with (
        Path(journal).open("r+b", buffering=0) as file,
        Path(f"{journal}.failures").open("a", encoding="utf-8") as failures,
    ):
        for number in range(start, count, step):
            file.seek(0)
            file.write(f"{number:>12}\n".encode())
            try:
                made = case(number, seed, handles, only)
            except Exception as error:
                failures.write(json.dumps(asdict(Failure(number, backend, "no case", _where(error), "", repr(error)))))
                failures.write("\n")
                traceback.print_exc()
                continue
            outcome = judge(made, backend)
            report.made[made.vocabulary] += 1
            if isinstance(outcome, Failure):
                failures.write(json.dumps(asdict(outcome)) + "\n")
                failures.flush()
            elif outcome == "accepted":
                report.accepted += 1
            elif outcome == "refused":
                report.refused += 1
            else:
                report.signatures += 1
            made.scene.close()
            if number % 64 == start % 64:
                _save(journal, report)
    _save(journal, report)
    Path(f"{journal}.done").touch()
    os._exit(0)  # what wrong calls left behind is not to be taken apart


def _save(journal: str, report: Report) -> None:
    content = {"made": report.made, "refused": report.refused, "accepted": report.accepted}
    Path(f"{journal}.report").write_text(json.dumps({**content, "signatures": report.signatures}), encoding="utf-8")


class Worker:
    """A process that makes every `step`-th case; it is started anew behind a case that ended it."""

    def __init__(self, backend: str, seed: int, start: int, step: int, count: int, only: str = "") -> None:
        self.backend, self.seed, self.step, self.count, self.only = backend, seed, step, count, only
        self.folder = tempfile.TemporaryDirectory(prefix="wrong-calls-")
        self.report = Report()
        self.part = 0
        self._start(start)

    def _start(self, start: int) -> None:
        self.part += 1
        self.journal = str(Path(self.folder.name) / f"journal{self.part}")
        Path(self.journal).write_bytes(b" " * 13)
        words = ["--work", self.journal, "--backend", self.backend, "--seed", self.seed, "--start", start]
        words += ["--step", self.step, "--count", self.count, "--only", self.only]
        self.seen, self.since = b"", time.monotonic()
        with Path(f"{self.journal}.output").open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-m", "tests.wrong_calls", *map(str, words)],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )

    def poll(self) -> bool:
        """Look after the process; tell whether all is done."""
        status = self.process.poll()
        now = Path(self.journal).read_bytes()[:12]
        if now != self.seen:
            self.seen, self.since = now, time.monotonic()
        stalled = status is None and time.monotonic() - self.since > STALL
        if status is None and not stalled:
            return False
        if stalled:
            self.process.kill()
            self.process.wait()
        self._gather()
        if not stalled and Path(f"{self.journal}.done").exists():
            self.folder.cleanup()
            return True
        output = Path(f"{self.journal}.output").read_text(encoding="utf-8", errors="replace")
        number = int(now or b"-1") if now.strip() else -1
        kind = "no answer" if stalled else f"the process ended ({status})"
        self.report.failures.append(Failure(number, self.backend, kind, _crash(output), "", output[-2000:]))
        if number < 0 or self.part > 50:
            self.folder.cleanup()
            return True
        self._start(number + self.step)
        return False

    def _gather(self) -> None:
        found = Path(f"{self.journal}.report")
        if found.exists():
            content: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
            made = Counter(content.pop("made"))
            self.report.add(Report(made=made, **content))
        failures = Path(f"{self.journal}.failures")
        if failures.exists():
            for line in failures.read_text(encoding="utf-8").splitlines():
                self.report.failures.append(Failure(**json.loads(line)))


def _crash(output: str) -> str:
    """Return the innermost place of portadnn's that faulthandler prints."""
    for match in re.finditer(r'File "([^"]+)", line \d+ in (\S+)', output):
        path = Path(match[1])
        if ROOT in path.parents and "tests" not in path.parts and ".venv" not in path.parts:
            return f"{path.relative_to(ROOT)}:{match[2]}"
    return "unknown"


def run(parts: list[tuple[str, int, int]], count_by: dict[str, int], seed: int, only: str = "") -> dict[str, Report]:
    """Run the cases of backends in parallel: `parts` lists (backend, start, step)."""
    workers = [Worker(backend, seed, start, step, count_by[backend], only) for backend, start, step in parts]
    open_workers = list(workers)
    while open_workers:
        time.sleep(0.05)
        open_workers = [worker for worker in open_workers if not worker.poll()]
    reports: dict[str, Report] = {}
    for worker in workers:
        reports.setdefault(worker.backend, Report()).add(worker.report)
    return reports
