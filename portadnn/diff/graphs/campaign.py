"""Many random graphs on several targets: what came of them by verdict, engine and kind of node, and the failures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..campaign import LocalRunner, Setup, Signals
from ..campaign.serving import Answer, Order
from ..results import environment, now
from ..verdict import Judgement, Verdict
from .cases import GraphResult
from .serving import PROCESS, GraphJudgement, GraphTask, serve_graphs, signature

FORMAT = "portadnn.diff.graphs"
RETIRING = 400  # graphs of a process, each of which leaves some megabytes of kernels behind
MOST = 12  # kinds of failures of which a graph is made small


@dataclass(frozen=True)
class GraphFailure:
    """A graph that failed on a target.

    Attributes
    ----------
    graph : str
        Seed and number.
    engine : str
        "process" where the graph ended its process, or took too long.
    node : str
        The first node that was off, if one was.
    smallest : tuple of str
        Kinds of the nodes of the smallest graph that fails so; empty where a failure of this kind was shrunk before.
    script : str
        A program that shows it.
    """

    graph: str
    target: str
    engine: str
    verdict: str
    node: str
    message: str
    smallest: tuple[str, ...] = ()
    script: str = ""

    @property
    def result(self) -> GraphResult:
        """What came of the graph by the plan that failed."""
        return GraphResult(self.engine, Verdict(self.verdict), self.message, self.node)

    @property
    def number(self) -> int:
        """The graph's number."""
        return int(self.graph.partition(":")[2])


@dataclass
class GraphReport:
    """What came of the graphs.

    Attributes
    ----------
    graphs : int
        How many were run.
    verdicts : Counter
        By target, engine and verdict.
    kinds : Counter
        Runs of plans by target, kind of node and engine.
    seconds : float
        That running took; making failures small comes later.
    complete : bool
        False where time ran out or the run was interrupted.
    """

    settings: dict[str, Any]
    targets: dict[str, dict[str, Any]]
    graphs: int = 0
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    failures: list[GraphFailure] = field(default_factory=list)
    started: str = field(default_factory=now)
    seconds: float = 0.0
    complete: bool = True
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing failed or broke."""
        return not self.failures

    @property
    def plans(self) -> dict[str, dict[str, int]]:
        """How many runs of plans each target had, and how many of them were right."""
        found = {target: {"runs": 0, "right": 0} for target in self.targets}
        for (target, _, verdict), count in self.verdicts.items():
            found[target]["runs"] += count
            found[target]["right"] += count * (verdict == Verdict.PASSED.value)
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the report as values that JSON has."""
        plain = ("settings", "targets", "graphs", "started", "seconds", "complete", "plans")
        facts = {name: getattr(self, name) for name in plain}
        tables = {name: nested(getattr(self, name)) for name in ("verdicts", "kinds")}
        failures = [asdict(failure) for failure in self.failures]
        return {"format": FORMAT, "environment": environment(), **facts, **tables, "failures": failures}

    def add(self, graph: str, answer: Answer) -> None:
        """Count what came of a graph."""
        self.graphs += 1
        if answer.problem:
            self.failures.append(GraphFailure(graph, "", PROCESS, Verdict.ERROR.value, "", answer.problem))
        for judgement in answer.judgements:
            kinds = set(judgement.kinds) if isinstance(judgement, GraphJudgement) else ()
            for result in _results(judgement):
                self.verdicts[judgement.target, result.engine, result.verdict.value] += 1
                self.kinds.update((judgement.target, kind, result.engine) for kind in kinds)
                if result.wrong:
                    facts = (result.engine, result.verdict.value, result.node, result.message)
                    self.failures.append(GraphFailure(graph, judgement.target, *facts))


def _results(judgement: Judgement) -> tuple[GraphResult, ...]:
    """Return what came of a graph by plan; of one that ended its process, that."""
    if isinstance(judgement, GraphJudgement):
        return judgement.results
    return (GraphResult(PROCESS, judgement.verdict, judgement.reason),)


def nested(counts: Counter[tuple[str, str, str]]) -> dict[str, Any]:
    """Return counts by three words as dicts in each other."""
    found: dict[str, Any] = {}
    for (target, first, second), count in sorted(counts.items()):
        found.setdefault(target, {}).setdefault(first, {})[second] = count
    return found


def graph_runner(
    setup: Setup, *, jobs: int = 1, timeout: float = 120.0, environment: Mapping[str, str] | None = None
) -> LocalRunner:
    """Return processes that run graphs on the setup's targets; `timeout` is of one plan, in seconds."""
    how: dict[str, Any] = {"serve": serve_graphs, "alone": True, "retiring": RETIRING}
    return LocalRunner(setup, jobs=jobs, timeout=timeout, environment=environment, **how)


def run_graphs(
    runner: LocalRunner,
    count: int,
    *,
    seed: int = 0,
    first: int = 0,
    seconds: float | None = None,
    told: Callable[[GraphReport], None] = lambda report: None,
    **options: Any,
) -> GraphReport:
    """Run random graphs; SIGINT and SIGTERM end it, and what was done is kept.

    Parameters
    ----------
    runner
        Of :func:`graph_runner`; it is left open.
    count, seed, first
        Graphs of a seed, from number `first` on.
    seconds
        After which it ends; what is under way then is not waited for.
    told
        Called after each graph.
    options
        Of :func:`~portadnn.diff.generate.graphs.random_graph`.

    Raises
    ------
    BadParam, NotSupported, ExecutionFailed
        A target cannot be opened.
    """
    settings: dict[str, Any] = {"seed": seed, "first": first, "count": count, "seconds": seconds, "jobs": runner.jobs}
    settings["options"] = options
    report = GraphReport(settings, runner.open())
    begun = time.monotonic()
    numbers = range(first, first + count)
    orders = (Order(number, GraphTask(number, seed, options), runner.setup.targets) for number in numbers)
    signals = Signals()
    with signals.watched(), closing(runner.answers(orders)) as answers:
        for answer in answers:
            report.seconds = round(time.monotonic() - begun, 1)
            if answer is not None:
                report.add(f"{seed}:{answer.number}", answer)
                told(report)
            report.interrupted = signals.came
            if signals.came or (seconds is not None and time.monotonic() - begun >= seconds):
                report.complete = report.graphs == count
                break
    report.failures.sort(key=lambda failure: failure.number)  # stable: by target and plan within a graph
    return report


def shrink_failures(report: GraphReport, runner: LocalRunner, *, most: int = MOST) -> None:
    """Give the first failure of each kind the smallest graph that fails so, and a program that shows it.

    Parameters
    ----------
    most
        Kinds at most.
    """
    first: dict[tuple[str, ...], int] = {}
    for place, failure in enumerate(report.failures):
        if failure.target and failure.engine != "none":
            first.setdefault((failure.target, failure.engine, *signature(failure.result)), place)
    seed, options = report.settings["seed"], report.settings["options"]

    def orders() -> Iterator[Order]:
        for place in list(first.values())[:most]:
            failure = report.failures[place]
            yield Order(place, GraphTask(failure.number, seed, options, failure.result), (failure.target,))

    signals = Signals()
    with signals.watched(), closing(runner.answers(orders())) as answers:
        for answer in answers:
            if signals.came:
                report.interrupted = True
                return
            for found in answer.judgements if answer is not None else ():
                if answer is not None and isinstance(found, GraphJudgement):
                    failure, (last,) = report.failures[answer.number], found.results
                    least = replace(failure, node=last.node, message=last.message, smallest=found.kinds)
                    report.failures[answer.number] = replace(least, script=found.script)
