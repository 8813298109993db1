"""Cases on many machines: the workers of a Dask scheduler, each of which runs what its targets allow.

A worker is asked which targets it can open. A case goes to one that has all of its targets; where none has, each part
of them runs where it is, and the verdict is given here. On a worker, cases run in processes of their own as they do on
this machine, so that a crash costs it nothing. What a worker had when it disappears goes to another one.
"""

from __future__ import annotations

import asyncio
import importlib
import queue
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from typing import Any

from ..._io.disk_cache import process_folder
from ...errors import BadParam, NotSupported
from ..cases import Case
from ..verdict import CaseResult
from .cache import default_folder
from .pool import Facts, Item, LocalRunner, Runner, batches, broken, merged, result_of
from .process import STARTING, Died, Worker, quiet_environment
from .serving import Answer, Order, Setup, survey

AHEAD = 2  # batches that a worker has for each of its threads
PATIENCE = 20.0  # seconds to wait for a worker that has a target, when the last one has disappeared
CONNECTING = 10.0  # seconds in which a scheduler has to answer
_LOOK = 1.0  # seconds between two looks at which workers there are


# on a worker

_idle: dict[tuple[Setup, float], list[LocalRunner]] = {}
_guard = threading.Lock()


def _environment() -> dict[str, str]:
    return quiet_environment(process_folder())


def probe(setup: Setup) -> tuple[Facts, dict[str, str]]:
    """Return the facts of the targets that can be opened here, and why the others cannot."""
    facts: Facts = {}
    reasons: dict[str, str] = {}
    worker = Worker(survey, setup.opener, environment=_environment())
    try:
        for word in setup.targets:
            worker.start(word)
            while (said := worker.poll(STARTING)) is None:
                wait([worker.connection] if worker.connection is not None else [], 0.1)
            if isinstance(said, Died):
                reasons[word] = said.why
            elif said[0] == "facts":
                facts[word] = said[1]
            else:
                reasons[word] = said[1]
    finally:
        worker.stop()
    return facts, reasons


def attend(setup: Setup, timeout: float, orders: Sequence[Order]) -> list[Answer]:
    """Run cases in a process that has the setup's targets open, and stays for the next ones."""
    with _guard:
        waiting = _idle.setdefault((setup, timeout), [])
        runner = waiting.pop() if waiting else None
    if runner is None:
        here = replace(setup, cache=str(default_folder() or "") if setup.cache else "")
        runner = LocalRunner(here, timeout=timeout, environment=_environment())
    try:
        answers = [answer for answer in runner.answers(orders) if answer is not None]
    except BaseException:
        runner.close()
        raise
    with _guard:
        waiting.append(runner)
    return answers


# here


@dataclass
class _Machine:
    """A worker as the campaign sees it."""

    address: str
    targets: tuple[str, ...]
    threads: int
    tasks: int = 0


@dataclass
class _Case:
    """A case on its way: what is still owed for it, and what has come."""

    case: Case
    owed: set[str]
    answers: list[Answer] = field(default_factory=list)


class DistributedRunner(Runner):
    """Runs cases on the workers of a Dask scheduler (the extra ``distributed``).

    Parameters
    ----------
    address
        Of the scheduler, such as ``"tcp://host:8786"``.
    setup
        What to run. Targets that no worker has are left out where `choose` is true, and refused else.
    timeout
        Seconds that a case may take on a target.
    patience
        Seconds to wait for another worker that has a target, when the last one has disappeared.

    Raises
    ------
    NotSupported
        ``distributed`` is not installed, or there is no scheduler.
    """

    def __init__(
        self, address: str, setup: Setup, *, timeout: float = 120.0, choose: bool = False, patience: float = PATIENCE
    ) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise NotSupported("a scheduler needs Dask: pip install 'portadnn[distributed]'") from None
        try:
            self._client: Any = distributed.Client(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError) as error:
            raise NotSupported(f"no Dask scheduler answers at {address}: {error}") from None
        self.setup = setup
        self.timeout = timeout
        self.patience = patience
        self._choose = choose
        self._machines: dict[str, _Machine] = {}
        self._facts: Facts = {}
        self._reasons: dict[str, str] = {}
        self._looked = 0.0

    def open(self) -> Facts:
        """Ask the workers for their targets and return the facts of these.

        Raises
        ------
        BadParam
            No worker has a target.
        """
        self._look()
        missing = [word for word in self.setup.targets if word not in self._facts]
        if self._choose and len(missing) < len(self.setup.targets):
            self.setup = replace(self.setup, targets=tuple(t for t in self.setup.targets if t in self._facts))
        elif missing:
            why = "; ".join(self._reasons.get(word, "there is no worker") for word in missing)
            raise BadParam(argument="targets", expected="some that a worker has", got=f"{', '.join(missing)}: {why}")
        return {word: self._facts[word] for word in self.setup.targets}

    def _look(self) -> None:
        """Find out which workers came and went; ask the new ones for their targets."""
        if time.monotonic() - self._looked < _LOOK:
            return
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        for address in self._machines.keys() - there.keys():
            del self._machines[address]
        new = {a: values["nthreads"] for a, values in there.items() if a not in self._machines}
        if new:
            found = self._client.run(probe, self.setup, workers=list(new), on_error="ignore")
            for address, (facts, reasons) in found.items():
                self._machines[address] = _Machine(address, tuple(facts), new[address])
                self._reasons |= reasons
                for word, values in facts.items():
                    self._facts[word] = _joined(self._facts.get(word), values)
        self._looked = time.monotonic()

    def results(self, cases: Iterable[tuple[int, Case]]) -> Generator[tuple[int, CaseResult] | None, None, None]:
        """Yield results as they come; see :class:`portadnn.diff.campaign.pool.Runner`."""
        run = _Run(self, self._client)
        try:
            yield from run.results(cases)
        finally:
            run.cancel()

    def machines(self) -> Mapping[str, _Machine]:
        """Return the workers that there are now, by address."""
        self._look()
        return self._machines

    def close(self) -> None:
        """Leave the scheduler; the processes on its workers stay for the next campaign."""
        self._client.close()


def _joined(before: Mapping[str, Any] | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a target that several workers have; where they differ, both values."""
    if before is None:
        return dict(facts)
    return {
        name: value if value == before[name] else " / ".join(sorted({*str(before[name]).split(" / "), str(value)}))
        for name, value in facts.items()
    }


class _Run:
    """One pass over cases: what is where, and what to do when a worker disappears."""

    def __init__(self, runner: DistributedRunner, client: Any) -> None:
        self.runner = runner
        self.client = client
        self.cases: dict[int, _Case] = {}
        self.futures: dict[Any, tuple[str, list[Order]]] = {}
        self.finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.waiting: list[Order] = []  # orders whose worker is gone
        self.alone: float | None = None  # since when nobody can take what is waiting

    def results(self, cases: Iterable[tuple[int, Case]]) -> Iterator[tuple[int, CaseResult] | None]:
        source = batches(Item(Order(number, case, self.runner.setup.targets)) for number, case in cases)
        more = True
        while True:
            machines = self.runner.machines()
            self._recall(machines)
            waiting, self.waiting = self.waiting, []
            for order in waiting:
                self._place([order], machines)
            while more and not self.waiting and self._has_room(machines):
                batch = next(source, None)
                if batch is None:
                    more = False
                    break
                orders = [item.order for item in batch]
                self.cases |= {order.number: _Case(order.case, set(order.targets)) for order in orders}
                self._place(orders, machines)
            yield from self._given_up()
            if not (more or self.futures or self.waiting):
                return
            yield from self._collect()
            yield None

    def _has_room(self, machines: Mapping[str, _Machine]) -> bool:
        return bool(machines) and any(m.tasks < AHEAD * m.threads for m in machines.values() if m.targets)

    def _place(self, orders: Sequence[Order], machines: Mapping[str, _Machine]) -> None:
        """Send cases of the same targets to as few workers as have these; what nobody has waits."""
        left = list(orders[0].targets)
        while left:
            best = max(
                machines.values(), key=lambda m: (len(set(left) & set(m.targets)), -m.tasks / m.threads), default=None
            )
            here = tuple(t for t in left if best is not None and t in best.targets)
            if best is None or not here:
                self.waiting += [order._replace(targets=tuple(left)) for order in orders]
                return
            self._send(best, [order._replace(targets=here) for order in orders])
            left = [t for t in left if t not in here]

    def _send(self, machine: _Machine, orders: list[Order]) -> None:
        setup = replace(self.runner.setup, targets=tuple(t for t in self.runner.setup.targets if t in machine.targets))
        future = self.client.submit(
            attend, setup, self.runner.timeout, orders, workers=[machine.address], allow_other_workers=False, pure=False
        )
        machine.tasks += 1
        self.futures[future] = (machine.address, orders)
        future.add_done_callback(self.finished.put)

    def _recall(self, machines: Mapping[str, _Machine]) -> None:
        """Take back what workers had that are gone."""
        for future, (address, orders) in list(self.futures.items()):
            if address not in machines and future.status != "finished":
                del self.futures[future]
                future.cancel()
                self.waiting += orders

    def _given_up(self) -> Iterator[tuple[int, CaseResult]]:
        """Yield the results of cases whose targets nobody has had for too long."""
        if not self.waiting:
            self.alone = None
            return
        now = time.monotonic()
        self.alone = self.alone or now
        if now - self.alone < self.runner.patience:
            return
        waiting, self.waiting = self.waiting, []
        for order in waiting:
            reasons = dict.fromkeys(order.targets, "the worker that had it has disappeared, and no other one came")
            yield from self._note(broken(order.number, reasons))

    def _collect(self) -> Iterator[tuple[int, CaseResult]]:
        """Yield the results of what has come; wait a little for it."""
        try:
            future = self.finished.get(timeout=0.2)
        except queue.Empty:
            return
        address, orders = self.futures.pop(future, ("", []))
        if not orders:  # it was taken back
            return
        machine = self.runner.machines().get(address)
        if machine is not None:
            machine.tasks -= 1
        answers = self._fetched(future, address) if future.status == "finished" else None
        if answers is not None:
            for answer in answers:
                yield from self._note(answer)
        elif machine is None or address not in self.runner.machines() or future.status in ("cancelled", "lost"):
            self.waiting += orders
        else:
            reason = str(future.exception())
            for order in orders:
                yield from self._note(broken(order.number, dict.fromkeys(order.targets, reason)))

    def _fetched(self, future: Any, address: str) -> list[Answer] | None:
        """Return what a worker found, which it keeps until it is fetched; None where the worker is gone by then."""
        while True:
            try:
                answers: list[Answer] = future.result(timeout=_LOOK)
            except (TimeoutError, asyncio.TimeoutError, CancelledError):
                if address not in self.runner.machines():
                    future.cancel()
                    return None
            else:
                return answers

    def _note(self, answer: Answer) -> Iterator[tuple[int, CaseResult]]:
        """Keep an answer; yield the result once everything that is owed has come."""
        found = self.cases.get(answer.number)
        if found is None:  # another part of it could not be run at all
            return
        found.answers.append(answer)
        found.owed -= {judgement.target for judgement in answer.judgements}
        if answer.problem or not found.owed:
            del self.cases[answer.number]
            targets = self.runner.setup.targets
            yield answer.number, result_of(found.case, merged(targets, found.answers))

    def cancel(self) -> None:
        """Take back everything."""
        for future in self.futures:
            future.cancel()
        self.futures = {}
