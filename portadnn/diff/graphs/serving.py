"""What a process of a campaign of graphs does: it draws a graph, runs it on each target, or makes a failure small."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...handle import Handle
from ..campaign.process import Channel
from ..campaign.serving import Answer, Order, Setup, is_well, open_targets
from ..verdict import Judgement, Verdict
from .cases import GraphCase, GraphResult, examine, random_case, reproducer
from .shrink import shrunk

PROCESS = "process"  # stands for the engine of what ended its process


@dataclass(frozen=True)
class GraphTask:
    """A random graph to run on targets.

    Attributes
    ----------
    number, seed : int
        Which graph.
    options : dict
        Of :func:`~portadnn.diff.generate.graphs.random_graph`.
    result : GraphResult or None
        What failed, where the smallest graph that fails so is wanted.
    """

    number: int
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    result: GraphResult | None = None


@dataclass
class GraphJudgement(Judgement):
    """What came of a graph on one target.

    Attributes
    ----------
    results : tuple of GraphResult
        By plan; of a graph that was made small, its one result.
    kinds : tuple of str
        What the graph's nodes are.
    script : str
        A program that shows how the graph fails, where the smallest one was wanted.
    """

    results: tuple[GraphResult, ...] = ()
    kinds: tuple[str, ...] = ()
    script: str = ""


def serve_graphs(channel: Channel, setup: Setup) -> None:
    """Run graphs as they come, in lists of orders of :class:`GraphTask`; each gives an answer."""
    handles = open_targets(channel, setup)
    if handles is None:
        return
    while True:
        for order in channel.receive():
            answer = _answer(channel, order, handles)
            channel.says("answers", answer)
            for one in answer.judgements:
                if one.verdict is Verdict.ERROR and not is_well(handles[one.target]):
                    channel.lost(f"{one.target} does not compute any more after graph {order.case.number}")


def _answer(channel: Channel, order: Order, handles: Mapping[str, Handle]) -> Answer:
    """Return what comes of an order; a device that does not compute any more ends the graph's run on it."""
    task: GraphTask = order.case
    channel.begins((order.number, ""))
    try:
        case = random_case(task.number, task.seed, **task.options)
    except Exception as error:  # of the generator's
        return Answer(order.number, [], {}, f"{type(error).__name__}: {error}")
    found: list[Judgement] = []
    for word in order.targets:
        channel.begins((order.number, word))

        def tell(engine: str, word: str = word) -> None:
            channel.begins((order.number, word, f"engine {engine}"))

        run = _every_plan if task.result is None else _smallest
        found.append(run(case, word, handles[word], task, tell))
    return Answer(order.number, found, {})


def _every_plan(
    case: GraphCase, word: str, handle: Handle, task: GraphTask, tell: Callable[[str], None]
) -> GraphJudgement:
    """Run a graph by each of its plans."""
    results: list[GraphResult] = []
    for result in examine(case, handle, tell=tell):
        results.append(result)
        if result.verdict is Verdict.ERROR and not is_well(handle):
            break
    verdicts = [result.verdict for result in results]
    worst = next((one for one in (Verdict.ERROR, Verdict.FAILED) if one in verdicts), Verdict.PASSED)
    return GraphJudgement(word, worst, results=tuple(results), kinds=tuple(case.kinds))


def signature(result: GraphResult) -> tuple[str, ...]:
    """Return what failures of one kind share: verdict, the kind of node, and the words of the message's first line."""
    words = re.findall(r"[A-Za-z]{4,}", "" if result.node else result.message.split("\n")[0].split("; expected")[0])
    return (result.verdict.value, result.node.split(" ")[0], " ".join(words))


def _smallest(
    case: GraphCase, word: str, handle: Handle, task: GraphTask, tell: Callable[[str], None]
) -> GraphJudgement:
    """Make a graph that fails as small as can be; what ended its process is left as it is."""
    assert task.result is not None
    wanted, last = signature(task.result), task.result
    if last.engine == PROCESS:
        return GraphJudgement(
            word, last.verdict, results=(last,), kinds=tuple(case.kinds), script=reproducer(case, handle)
        )
    engines = [last.engine, *(["fallback"] if last.engine == "fallback_host" else [])]  # one or the other takes it

    def fails(smaller: GraphCase) -> bool:
        nonlocal last
        tell(engines[0])
        alike = (one for one in examine(smaller, handle, engines) if one.wrong and signature(one) == wanted)
        one = next(alike, None)
        last = one or last
        return one is not None

    name = re.search("'(.*)'", last.node)
    least = shrunk(case, fails, "" if name is None else name[1])
    script = reproducer(least, handle, last.engine)
    return GraphJudgement(word, last.verdict, results=(last,), kinds=tuple(least.kinds), script=script)
