"""The parts of a self-test, one after another, in the time that there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from ...diff.campaign import (
    Budget,
    Died,
    Interrupted,
    LocalRunner,
    Setup,
    Signals,
    Worker,
    quiet_environment,
    run_campaign,
)
from ...diff.campaign.campaign import BROKEN
from ...diff.campaign.drawing import Wanted, draw
from ...diff.campaign.process import STARTING
from ...diff.campaign.serving import Order
from ...diff.graphs.campaign import graph_runner, run_graphs
from ...diff.verdict import CaseResult, Judgement
from ...errors import DnnError, ExecutionFailed, NotSupported
from ..diff.run import default_jobs
from .report import PARTS, Report
from .selection import GRAPHS, Selection
from .serving import LENET, SPEED, Measured, Task, serve_info, serve_tasks

RIGHT, WRONG, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130
UNTIL = {"operations": 0.45, "graphs": 0.6, "lenet": 0.7, "speed": 0.8, "drawn": 1.0}  # of the time, at most
LEAST = {"lenet": 30.0, "speed": 20.0}  # seconds that these may take however short the whole is to be
RANDOM, NODES = 150, 6  # random graphs, and their nodes at most
MOST_JOBS = 4
_SAVING = 5.0  # seconds between two states of the file


@dataclass(frozen=True)
class Asked:
    """The options of ``portadnn selftest``."""

    out: Path
    backend: str = "auto"
    device: int | None = None
    seconds: float = 300.0
    seed: int = 1
    timeout: float = 60.0
    jobs: int | None = None
    parts: tuple[str, ...] = PARTS


class Show(Protocol):
    """What a self-test tells while it runs."""

    def part(self, name: str) -> None:
        """Hear that a part begins."""

    def step(self, done: int, total: int | None, failed: int) -> None:
        """Hear how far the part is, and how much is wrong so far."""


class _Stopped(Exception):
    """The self-test was interrupted, and the report has what was done."""


class Selftest:
    """One self-test.

    Parameters
    ----------
    asked
        The options.
    show
        Is told how far it is.
    """

    def __init__(self, asked: Asked, show: Show) -> None:
        self.asked, self.show = asked, show
        settings = ("backend", "device", "seconds", "seed", "timeout")
        self.report = Report({name: getattr(asked, name) for name in settings})
        self._began = self._saved = time.monotonic()
        self._jobs = asked.jobs or min(MOST_JOBS, default_jobs())

    def run(self) -> int:
        """Run all parts; return the exit code. The file is whole at any moment.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        report = self.report
        self.save()
        code = RIGHT
        try:
            with ExitStack() as stack:
                folder = stack.enter_context(TemporaryDirectory(prefix="portadnn-"))
                self._environment = {**quiet_environment(folder), "PORTADNN_CACHE_DIR": f"{folder}/kernels"}
                self._look()
                for name in self.asked.parts:
                    with self._part(name):
                        getattr(self, f"_{name}")()
            ended = any(
                part["state"] == "out of time" for part in report.parts.values() if part is not report.parts["drawn"]
            )
            report.state = "out of time" if ended else "complete"
        except (DnnError, ExecutionFailed) as error:
            report.state, report.problem, code = "could not run", str(error), COULD_NOT_RUN
        except (_Stopped, KeyboardInterrupt):
            report.state, code = "interrupted", INTERRUPTED
        self.save()
        return WRONG if report.failed and code == RIGHT else code

    def save(self) -> None:
        """Write the file."""
        self.report.seconds = round(time.monotonic() - self._began, 1)
        self._saved = time.monotonic()
        self.report.save(self.asked.out)

    def _left(self, name: str) -> float:
        """Return the seconds that a part may take."""
        return max(LEAST.get(name, 1.0), self._began + UNTIL[name] * self.asked.seconds - time.monotonic())

    @contextmanager
    def _part(self, name: str) -> Iterator[None]:
        """Tell, time and save a part."""
        part = self.report.parts[name]
        part["state"], began = "running", time.monotonic()
        self.show.part(name)
        try:
            yield
        except (_Stopped, KeyboardInterrupt):
            part["state"] = "interrupted"
            raise
        except DnnError:
            part["state"] = "could not run"
            raise
        finally:
            part["seconds"] = round(time.monotonic() - began, 1)
        if part["state"] == "running":
            part["state"] = "done"
        self.save()

    def _step(self, done: int, total: int | None, failed: int) -> None:
        self.show.step(done, total, failed)
        if time.monotonic() - self._saved > _SAVING:
            self.save()

    # parts

    def _look(self) -> None:
        """Learn what is here and which device is meant, in a process of its own.

        Raises
        ------
        NotSupported, ExecutionFailed
            The device cannot be opened.
        """
        worker = Worker(serve_info, self.asked.backend, self.asked.device)
        self.show.part("info")
        try:
            worker.start(None)
            while not self.report.device:
                said = worker.poll(STARTING)
                if isinstance(said, Died):
                    raise ExecutionFailed(f"{said.begun or 'the process'}: {said.why}")
                if said is None:
                    wait([worker.connection], 0.1) if worker.connection is not None else None
                elif said[0] == "reason":
                    raise NotSupported(said[1])
                else:
                    setattr(self.report, said[0], said[1])
        finally:
            worker.stop()
        self._target = str(self.report.device["target"])
        self.save()

    def _operations(self) -> None:
        self._cases("operations", Selection())

    def _drawn(self) -> None:
        self._cases("drawn", Wanted(seed=self.asked.seed, endless=True))

    def _cases(self, name: str, wanted: Wanted) -> None:
        """Run cases in processes of their own."""
        setup, part = Setup((self._target,)), self.report.parts[name]
        done: list[CaseResult] = []

        def observe(result: CaseResult, old: bool) -> None:
            done.append(result)
            self._step(len(done), None, sum(one.verdict in BROKEN for one in done))

        with closing(self._runner(LocalRunner, setup)) as runner:
            try:
                found = run_campaign(
                    draw(wanted, setup, self._environment), runner, budget=Budget(self._left(name)), observe=observe
                )
                if not found.complete:
                    part["state"] = "out of time"
            except Interrupted as interrupted:
                raise _Stopped from interrupted
            finally:
                self.report.add_cases(name, self._target, done)

    def _graphs(self) -> None:
        """Run the chosen graphs, then random ones, by every engine that takes them."""
        part, setup = self.report.parts["graphs"], Setup((self._target,))
        limit = time.monotonic() + self._left("graphs")
        with closing(self._runner(graph_runner, setup)) as runner:
            for number, line in enumerate((*GRAPHS, "")):
                left = limit - time.monotonic()
                if left <= 0:
                    part["state"] = "out of time"
                    return
                options: dict[str, Any] = {"line": line} if line else {"most": NODES}
                found = run_graphs(runner, 1 if line else RANDOM, seed=self.asked.seed, seconds=left, **options)
                self.report.add_graphs(self._target, found, line)
                self._step(number + found.graphs, None, self.report.failed)
                if found.interrupted:
                    raise _Stopped
                if not found.complete:
                    part["state"] = "out of time"

    def _lenet(self) -> None:
        for measured in self._measure("lenet", [Task(LENET)]):
            self.report.parts["lenet"] |= _facts(measured)
            if measured.reason:
                rerun = f"portadnn demo --backend {self.report.device['backend']}"
                self.report.fail("lenet", self._target, measured.reason, rerun)

    def _speed(self) -> None:
        """Measure a dozen calls; one that cannot run, for want of memory say, tells why."""
        try:
            from portadnn.benchmarks.sets import SETS
        except ImportError:
            self.report.parts["speed"]["state"] = "not installed"
            return
        lines, rows = SETS[f"selftest-{self.report.device['kind']}"], list[dict[str, Any]]()
        self.report.parts["speed"]["rows"] = rows
        for line, measured in zip(lines, self._measure("speed", [Task(SPEED, line) for line in lines]), strict=False):
            rows.append(_facts(measured) or {"line": line, "error": measured.reason})
            self._step(len(rows), len(lines), self.report.failed)

    def _measure(self, name: str, tasks: list[Task]) -> Iterator[Judgement]:
        """Yield what comes of each task, done one at a time in a process of its own."""
        limit = time.monotonic() + self._left(name)
        orders = (Order(number, task, (self._target,)) for number, task in enumerate(tasks))
        cache = {name: self._environment[name] for name in ("PORTADNN_CACHE_DIR", "PORTADNN_FIND_DB")}
        how: dict[str, Any] = {"serve": serve_tasks, "alone": True, "jobs": 1, "environment": cache}  # on all cores
        signals = Signals()
        with closing(self._runner(LocalRunner, Setup((self._target,)), **how)) as runner, signals.watched():
            runner.open()
            with closing(runner.answers(orders)) as answers:
                for answer in answers:
                    if signals.came:
                        raise _Stopped
                    if answer is not None:
                        yield from answer.judgements
                    elif time.monotonic() > limit:
                        self.report.parts[name]["state"] = "out of time"
                        return

    def _runner(self, make: Callable[..., LocalRunner], setup: Setup, **how: Any) -> LocalRunner:
        """Return processes that have the device open."""
        given = {"jobs": self._jobs, "timeout": self.asked.timeout, "environment": self._environment, **how}
        return make(setup, **given)


def _facts(measured: Judgement) -> dict[str, Any]:
    """Return what was measured; nothing where the process died of it."""
    return dict(measured.facts) if isinstance(measured, Measured) else {}
