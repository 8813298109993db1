"""Many random graphs on several targets: what came of them by verdict, engine and kind of node, and the failures."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..handle import Handle
from .graph_cases import GraphCase, GraphResult, examine, random_case, reproducer
from .graph_shrink import shrunk
from .results import environment, facts_of, now
from .targets import Target

FORMAT = "portadnn.diff.graphs"


@dataclass(frozen=True)
class GraphFailure:
    """A graph that failed on a target.

    Attributes
    ----------
    graph : str
        Seed and number.
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

    @property
    def passed(self) -> bool:
        """Whether nothing failed or broke."""
        return not self.failures

    def as_json(self) -> dict[str, Any]:
        """Return the report as values that JSON has."""
        plain = ("settings", "targets", "graphs", "started", "seconds", "complete")
        facts = {name: getattr(self, name) for name in plain}
        tables = {name: nested(getattr(self, name)) for name in ("verdicts", "kinds")}
        failures = [asdict(failure) for failure in self.failures]
        return {"format": FORMAT, "environment": environment(), **facts, **tables, "failures": failures}


def nested(counts: Counter[tuple[str, str, str]]) -> dict[str, Any]:
    """Return counts by three words as dicts in each other."""
    found: dict[str, Any] = {}
    for (target, first, second), count in sorted(counts.items()):
        found.setdefault(target, {}).setdefault(first, {})[second] = count
    return found


def run_graphs(
    targets: Sequence[Target],
    count: int,
    *,
    seed: int = 0,
    seconds: float | None = None,
    told: Callable[[GraphReport], None] = lambda report: None,
    **options: Any,
) -> GraphReport:
    """Run random graphs on targets.

    Parameters
    ----------
    count, seed
        Graphs 0 to `count` of a seed.
    seconds
        After which no other graph begins.
    told
        Called after each graph.
    options
        Of :func:`~portadnn.diff.generate.graphs.random_graph`.
    """
    begun = time.monotonic()
    handles = {str(target): target.open() for target in targets}
    facts = {word: facts_of(handle) for word, handle in handles.items()}
    report = GraphReport({"seed": seed, "count": count, "seconds": seconds}, facts)
    seen: set[tuple[str, ...]] = set()
    try:
        for number in range(count):
            if seconds is not None and time.monotonic() - begun > seconds:
                report.complete = False
                break
            case = random_case(number, seed, **options)
            for word, handle in handles.items():
                _run(case, word, handle, report, seen)
            report.graphs += 1
            report.seconds = round(time.monotonic() - begun, 1)
            told(report)
    except KeyboardInterrupt:
        report.complete = False
    finally:
        for handle in handles.values():
            handle.close()
    return report


def _run(case: GraphCase, word: str, handle: Handle, report: GraphReport, seen: set[tuple[str, ...]]) -> None:
    """Run one graph on one target."""
    for result in examine(case, handle):
        report.verdicts[word, result.engine, result.verdict.value] += 1
        report.kinds.update((word, kind, result.engine) for kind in set(case.kinds))
        if result.wrong:
            alike = (word, result.engine, *signature(result))
            report.failures.append(failure_of(case, word, handle, result, shrink=alike not in seen))
            seen.add(alike)


def signature(result: GraphResult) -> tuple[str, ...]:
    """Return what failures of one kind share: verdict, the kind of node, and the words of the message's first line."""
    words = re.findall(r"[A-Za-z]{4,}", "" if result.node else result.message.split("\n")[0].split("; expected")[0])
    return (result.verdict.value, result.node.split(" ")[0], " ".join(words))


def failure_of(case: GraphCase, word: str, handle: Handle, result: GraphResult, *, shrink: bool) -> GraphFailure:
    """Return a failure, shrunk and with a program where that is wanted."""
    found = GraphFailure(case.name, word, result.engine, result.verdict.value, result.node, result.message)
    if not shrink or result.engine == "none":
        return found
    wanted = signature(result)
    engines = [result.engine, *(["fallback"] if result.engine == "fallback_host" else [])]  # one or the other takes it
    last = result

    def fails(smaller: GraphCase) -> bool:
        nonlocal last
        alike = (one for one in examine(smaller, handle, engines) if one.wrong and signature(one) == wanted)
        one = next(alike, None)
        last = one or last
        return one is not None

    name = re.search("'(.*)'", result.node)
    least = shrunk(case, fails, "" if name is None else name[1])
    facts = {**asdict(found), "node": last.node, "message": last.message}
    return GraphFailure(**{**facts, "smallest": tuple(least.kinds), "script": reproducer(least, handle, last.engine)})
