"""The cases that somebody asks for: given lines, files, or the generators', with the algorithms and engines wanted.

Generators and engines' refusals read targets, which are opened in a process of its own: the campaign itself touches
no driver.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from multiprocessing.connection import wait
from typing import Any

from ...errors import DnnError, ExecutionFailed
from ...handle import Handle
from ..cases import Case
from ..generate import SIZES
from ..generate import cases as generated
from ..running import algorithm
from .process import STARTING, Channel, Died, Worker
from .serving import Setup, open_targets

_PORTION = 256  # cases that are drawn at a time


@dataclass(frozen=True)
class Wanted:
    """Which cases to run.

    Attributes
    ----------
    given : tuple of Case or None
        These, in this order; None for generated ones.
    ops : tuple of str
        Operations, or patterns of them; empty for all.
    seed : int
        Of the generators.
    count : int or None
        Cases at most; None for all there are, and for the default number of generated ones.
    endless : bool
        Whether generators go on for as long as there is time where there is no count.
    data : tuple of str
        Data modes of generated cases; empty for the generators' choice.
    algo : str
        The algorithm to ask for in operations that have it; "" for what cases say.
    engines : bool
        Run each case on each engine that takes it, by name.
    """

    given: tuple[Case, ...] | None = None
    ops: tuple[str, ...] = ()
    seed: int = 0
    count: int | None = None
    endless: bool = False
    data: tuple[str, ...] = ()
    algo: str = ""
    engines: bool = False

    def settings(self) -> dict[str, Any]:
        """Return what decides the cases, as values that JSON has."""
        found: dict[str, Any] = {"seed": self.seed, "count": self.count, "algo": self.algo, "engines": self.engines}
        found |= {"ops": list(self.ops), "data": list(self.data), "endless": self.endless}
        if self.given is not None:
            text = "\n".join(map(str, self.given))
            found["cases"] = f"{len(self.given)}, SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"
        return found

    def cases(self, handles: Mapping[str, Handle]) -> Iterator[Case]:
        """Yield the cases; `handles` are the targets, opened.

        Raises
        ------
        BadParam
            An unknown operation or data mode.
        """
        found = self._source(handles)
        if self.algo:
            found = (_with_algo(case, self.algo) for case in found)
        if self.engines:
            found = (each for case in found for each in on_each_engine(case, handles))
        return itertools.islice(found, self.count)

    def _source(self, handles: Mapping[str, Handle]) -> Iterator[Case]:
        if self.given is not None:
            return (case for case in self.given if not self.ops or _is_of(case, self.ops))
        count = self.count if self.count is not None or self.endless else SIZES["default"]
        return generated(self.ops, seed=self.seed, count=count, data=self.data, handles=handles.values())

    @property
    def total(self) -> int | None:
        """How many cases there are at most; None where that is not known."""
        if self.engines or self.given is None:
            return self.count if self.count or self.endless or self.engines else SIZES["default"]
        return len(self.given) if self.count is None else min(len(self.given), self.count)

    @property
    def reads_targets(self) -> bool:
        """Whether the cases depend on the targets."""
        return self.given is None or self.engines


def _is_of(case: Case, ops: Iterable[str]) -> bool:
    return any(fnmatch(case.line.split(maxsplit=1)[0], pattern) for pattern in ops)


def _with_algo(case: Case, algo: str) -> Case:
    """Return the case with an algorithm; as it is where its operation has none of that name."""
    try:
        algorithm(case.problem, algo)
    except DnnError:
        return case
    return replace(case, algo=algo)


def on_each_engine(case: Case, handles: Mapping[str, Handle]) -> Iterator[Case]:
    """Yield a case for each engine of the targets that takes it; the case itself where it must fail or none does."""
    names: dict[str, None] = {}
    if case.expect == "SUCCESS" and not case.algo:
        problem = case.problem
        for handle in handles.values():
            engines = handle.engines_for(problem)
            names |= dict.fromkeys(e.name for e in engines if e.refusal(problem, handle.info) is None)
    yield from (replace(case, engine=name) for name in names) if names else (case,)


def _serve(channel: Channel, setup: Setup, wanted: Wanted) -> None:
    handles = open_targets(channel, setup)
    if handles is None:
        return
    found = wanted.cases(handles)
    while True:
        channel.receive()
        try:
            channel.says("cases", list(itertools.islice(found, _PORTION)))
        except DnnError as error:
            channel.says("closed", error)
            return


def draw(wanted: Wanted, setup: Setup, environment: Mapping[str, str] | None = None) -> Iterator[Case]:
    """Yield the cases that are wanted.

    Parameters
    ----------
    setup
        How targets are opened, in a process of its own.
    environment
        Of that process.

    Raises
    ------
    BadParam, NotSupported
        Something unknown is wanted, or a target cannot be opened.
    ExecutionFailed
        Drawing ended its process.
    """
    if not wanted.reads_targets:
        yield from wanted.cases({})
        return
    worker = Worker(_serve, setup, wanted, environment=environment)
    try:
        while True:
            worker.start(None)
            portion = _portion(worker)
            if not portion:
                return
            yield from portion
    finally:
        worker.stop()


def _portion(worker: Worker) -> list[Case]:
    while True:
        said = worker.poll(10 * STARTING)
        if isinstance(said, Died):
            raise ExecutionFailed(f"drawing cases: {said.why}")
        if said is None:
            assert worker.connection is not None
            wait([worker.connection], 0.1)
        elif said[0] == "closed":
            raise said[1]
        elif said[0] == "cases":
            portion: list[Case] = said[1]
            return portion


__all__ = ["Wanted", "draw", "on_each_engine"]
