"""Cases on processes of this machine: who runs what, and what becomes of a case whose process dies."""

from __future__ import annotations

import abc
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from ...errors import ExecutionFailed
from ..cases import Case
from ..verdict import CaseResult, Judgement, Verdict, vote
from .process import Died, Worker
from .serving import Answer, Order, Setup, serve

BATCH = 8  # cases that a process is given at a time, beyond which no geometry is kept together
WINDOW = 512  # cases among which those of one geometry are brought together
RETIRING = 4000
ATTEMPTS = 3  # processes in a row that may die before their first case

Facts = dict[str, dict[str, Any]]


class Runner(abc.ABC):
    """Runs cases somewhere."""

    @abc.abstractmethod
    def open(self) -> Facts:
        """Open the targets and return the facts of each; see :func:`portadnn.diff.results.facts_of`."""

    @abc.abstractmethod
    def results(self, cases: Iterable[tuple[int, Case]]) -> Generator[tuple[int, CaseResult] | None, None, None]:
        """Yield each case's number and result as it is finished, and None now and then when nothing is.

        Closing the iterator ends what is under way.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """End all processes."""

    def examine(self, case: Case) -> CaseResult:
        """Run one case and return its result, as :func:`portadnn.diff.examine` does.

        Raises
        ------
        ExecutionFailed
            Targets cannot be opened any more.
        """
        with closing(self.results([(0, case)])) as results:
            return next(found[1] for found in results if found is not None)


@dataclass
class Item:
    """An order on its way.

    Attributes
    ----------
    order : Order
    dead : dict of str to str
        What a process died of on each target that ended one.
    """

    order: Order
    dead: dict[str, str] = field(default_factory=dict)

    def left(self) -> Order:
        """Return the order without the targets that ended a process."""
        return self.order._replace(targets=tuple(t for t in self.order.targets if t not in self.dead))

    def answered(self, answer: Answer) -> Answer:
        """Return the answer with an ERROR for each target that ended its process."""
        if answer.problem or not self.dead:
            return answer
        return merged(self.order.targets, [answer, broken(self.order.number, self.dead)])


def broken(number: int, reasons: Mapping[str, str]) -> Answer:
    """Return the answer of targets that could not run a case, each for its reason."""
    judgements = [Judgement(t, Verdict.ERROR, why, status="CRASHED") for t, why in reasons.items()]
    return Answer(number, judgements, {})


def merged(targets: Iterable[str], answers: Sequence[Answer]) -> Answer:
    """Return one answer of several to the same case, with judgements in the order of the targets."""
    found = {judgement.target: judgement for answer in answers for judgement in answer.judgements}
    runs = {name: ran for answer in answers for name, ran in answer.runs.items()}
    problem = next((answer.problem for answer in answers if answer.problem), "")
    return Answer(answers[0].number, [found[t] for t in targets if t in found], runs, problem)


def result_of(case: Case, answer: Answer) -> CaseResult:
    """Return what an answer says of its case."""
    if answer.problem:
        return CaseResult(str(case), Verdict.ERROR, (), answer.problem)
    return vote(case, answer.judgements, answer.runs)


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield orders in batches; those of one geometry follow each other, because kernels are compiled for it."""
    window: list[Item] = []
    for item in items:
        window.append(item)
        if len(window) == WINDOW:
            yield from _batches(window)
            window = []
    yield from _batches(window)


def _batches(window: list[Item]) -> Iterator[list[Item]]:
    geometries: dict[str, list[Item]] = {}
    for item in window:
        geometries.setdefault(geometry(item.order.case), []).append(item)
    batch: list[Item] = []
    for group in geometries.values():
        if batch and len(batch) + len(group) > BATCH:
            yield batch
            batch = []
        batch = batch + group
        while len(batch) > BATCH:
            yield batch[:BATCH]
            batch = batch[BATCH:]
    if batch:
        yield batch


def geometry(case: Case) -> str:
    """Return what a case's kernels are compiled for: its line without run-time numbers."""
    try:
        numbers = case.numbers
    except Exception:  # the process that runs it will say why
        return case.line
    return " ".join(word for word in case.line.split() if word.partition("=")[0] not in numbers)


@dataclass
class _Place:
    """A process of the pool and what it has not answered yet."""

    worker: Worker
    owed: dict[int, Item] = field(default_factory=dict)
    done: int = 0
    opened: bool = False
    vain: int = 0


class LocalRunner(Runner):
    """Runs cases in processes of this machine, each of which opens all targets.

    Parameters
    ----------
    setup
        What each process needs to know.
    jobs
        Processes.
    timeout
        Seconds that a case may take on a target.
    environment
        Variables of the processes besides the parent's.
    serve
        What a process does; as :func:`portadnn.diff.campaign.serving.serve`, which runs cases.
    alone
        Whether a process is given orders one at a time: they have no geometries, and each takes long.
    retiring
        Orders after which a process is replaced, since each leaves compiled kernels behind.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        jobs: int = 1,
        timeout: float = 120.0,
        environment: Mapping[str, str] | None = None,
        serve: Callable[..., None] = serve,
        alone: bool = False,
        retiring: int = RETIRING,
    ) -> None:
        self.setup = setup
        self.timeout = timeout
        self._alone = alone
        self._retiring = retiring
        self._facts: Facts | None = None
        self._places = [_Place(Worker(serve, setup, environment=environment)) for _ in range(jobs)]

    @property
    def jobs(self) -> int:
        """How many processes there are at most."""
        return len(self._places)

    def open(self) -> Facts:
        """Start the first process, if that was not done, and return the facts of its targets.

        Raises
        ------
        BadParam, NotSupported
            A target cannot be opened.
        ExecutionFailed
            A target ends the process that opens it.
        """
        if self._facts is not None:
            return self._facts
        place = self._places[0]
        place.worker.start([])
        while True:
            said = self._hear(place)
            if isinstance(said, tuple) and said[0] == "opened":
                facts: Facts = said[1]
                self._facts = facts
                return facts
            if said is None:
                self._wait()

    def results(self, cases: Iterable[tuple[int, Case]]) -> Generator[tuple[int, CaseResult] | None, None, None]:
        """Yield results as they come; see :class:`Runner`.

        Raises
        ------
        ExecutionFailed
            Processes cannot open their targets any more.
        """
        under_way: dict[int, Case] = {}

        def orders() -> Iterator[Order]:
            for number, case in cases:
                under_way[number] = case
                yield Order(number, case, self.setup.targets)

        with closing(self.answers(orders())) as answers:
            for answer in answers:
                if answer is None:
                    yield None
                else:
                    yield answer.number, result_of(under_way.pop(answer.number), answer)

    def answers(self, orders: Iterable[Order]) -> Generator[Answer | None, None, None]:
        """Yield the answer to each order, and None now and then; see :class:`Runner`.

        Raises
        ------
        ExecutionFailed
            Processes cannot open their targets any more.
        """
        items = map(Item, orders)
        source = ([item] for item in items) if self._alone else batches(items)
        again: deque[Item] = deque()
        try:
            while True:
                for place in self._places:
                    yield from self._attend(place, again)
                    if not place.owed:
                        batch = [again.popleft()] if again else next(source, None)
                        if batch is not None:
                            self._give(place, batch)
                if not any(place.owed for place in self._places) and not again:
                    return
                self._wait()
                yield None
        finally:
            for place in self._places:
                if place.owed:
                    place.worker.stop()
                    place.owed = {}

    def _give(self, place: _Place, batch: list[Item]) -> None:
        if place.done >= self._retiring:
            place.worker.stop()
            place.done = 0
        place.owed = {item.order.number: item for item in batch}
        place.worker.start([item.left() for item in batch])

    def _attend(self, place: _Place, again: deque[Item]) -> Iterator[Answer]:
        """Yield the answers that a process has; let others do what it died before."""
        while place.owed or place.worker.has_words:
            said = self._hear(place)
            if said is None:
                return
            if isinstance(said, Died):
                yield from self._bury(place, said, again)
                return
            kind, value = said
            if kind == "answers":
                place.done, place.vain = place.done + 1, 0
                yield place.owed.pop(value.number).answered(value)

    def _bury(self, place: _Place, died: Died, again: deque[Item]) -> Iterator[Answer]:
        number, target, *part = died.begun or (None, "")
        left, place.owed, place.done = place.owed, {}, 0
        item = None if number is None else left.pop(number, None)
        again.extend(left.values())
        if item is None:
            return
        place.vain = 0
        if not target:
            yield Answer(item.order.number, [], {}, f"the exact result: {died.why}")
            return
        item.dead[target] = f"{died.why}, with {part[0]}" if part else died.why
        if item.left().targets:
            again.appendleft(item)
        else:
            yield broken(item.order.number, item.dead)

    def _hear(self, place: _Place) -> tuple[str, Any] | Died | None:
        """Return what a process says; raise where its targets cannot be opened."""
        said = place.worker.poll(self.timeout)
        if isinstance(said, Died):
            number, target, *_ = said.begun or (None, "")
            if number is None:
                place.vain += 1
                if place.vain >= ATTEMPTS or not place.opened:
                    raise ExecutionFailed(f"{target or 'a process'} cannot be opened: {said.why}")
        elif said is not None and said[0] == "opened":
            place.opened = True
        elif said is not None and said[0] == "closed":
            raise said[1]
        return said

    def _wait(self) -> None:
        """Wait until a process says something, or a little."""
        connections = [p.worker.connection for p in self._places if p.worker.connection is not None]
        if connections:
            wait(connections, 0.1)
        else:
            time.sleep(0.01)

    def close(self) -> None:
        """End all processes."""
        for place in self._places:
            place.worker.stop()
