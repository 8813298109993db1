"""Graphs as cases: each is run by every plan that takes it, and judged node by node against the definition."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import BadParam, DnnError
from ...graph.api.core import Graph
from ...graph.api.pygraph import pygraph
from ...graph.enums import heur_mode
from ...graph.errors import GraphCheckFailed, GraphError
from ...graph.files import as_data
from ...graph.operation_graph import OperationGraph, TensorInfo
from ...graph.sample import POISON, gaps_of, pack_of
from ...handle import Handle
from ...problem import parse
from ..generate.graphs import random_graph
from ..verdict import Verdict

MODES = (heur_mode.A, heur_mode.FALLBACK)
PASSED, FAILED, ERROR, MISTRUSTED = Verdict.PASSED, Verdict.FAILED, Verdict.ERROR, Verdict.MISTRUSTED


@dataclass(frozen=True)
class GraphCase:
    """A graph, as data that :meth:`portadnn.graph.pygraph.deserialize` reads, and the seed of its numbers.

    Attributes
    ----------
    data : dict
        What :func:`portadnn.graph.files.as_data` returns.
    seed : int
        Of the data.
    """

    name: str
    data: Mapping[str, Any]
    seed: int = 0

    @property
    def kinds(self) -> list[str]:
        """What its nodes are: kinds, and modes of pointwise nodes and reductions."""
        return [kind_of(entry) for entry in self.data["operations"]]

    def opened(self, handle: Handle) -> pygraph:
        """Return the graph on a handle, without a plan."""
        graph = pygraph(handle=handle)
        graph.deserialize(json.dumps({name: part for name, part in self.data.items() if name != "plan"}))
        return graph


def kind_of(entry: Mapping[str, Any]) -> str:
    """Return an operation's kind, with the mode where it has one."""
    mode = entry["attributes"].get("mode")
    return entry["kind"] if mode is None else f"{entry['kind']} {mode}"


def case_of_line(line: str, number: int = 0, seed: int = 0) -> GraphCase:
    """Return the graph of a problem line as a case, whose data `number` and `seed` choose.

    Raises
    ------
    BadParam, NotSupported
        It is no line of a graph, or the graph is not valid.
    """
    graph = parse(line)
    if not isinstance(graph, OperationGraph):
        raise BadParam(argument="line", expected="the problem line of a graph", got=graph.op)
    return GraphCase(f"{seed}:{number}", as_data(Graph(), graph), seed + number)


def random_case(number: int, seed: int = 0, line: str = "", **options: Any) -> GraphCase:
    """Return a random graph as a case; `options` are those of :func:`~portadnn.diff.generate.graphs.random_graph`.

    With a `line` it is that graph, on random data.
    """
    if line:
        return case_of_line(line, number, seed)
    drawn = random_graph(number, seed, **options)
    return GraphCase(f"{seed}:{number}", as_data(drawn.graph, drawn.graph.freeze()))


@dataclass(frozen=True)
class GraphResult:
    """What came of a graph by one plan.

    Attributes
    ----------
    engine : str
        Name of the plan.
    verdict : Verdict
        FAILED where numbers are wrong or a gap was written, ERROR where something broke, MISTRUSTED where all results
        are NaN.
    message : str
        What was wrong.
    node : str
        The node that was off, if one was.
    """

    engine: str
    verdict: Verdict
    message: str = ""
    node: str = ""

    @property
    def wrong(self) -> bool:
        """Whether it failed or broke."""
        return self.verdict in (FAILED, ERROR)


def examine(
    case: GraphCase, handle: Handle, engines: Collection[str] = (), tell: Callable[[str], None] = lambda name: None
) -> Iterator[GraphResult]:
    """Run a graph by each plan of heuristics A and FALLBACK, and yield what came of each.

    Parameters
    ----------
    engines
        Names of the engines to ask; all without.
    tell
        Called with an engine's name before its plan is run.

    Yields
    ------
    GraphResult
        None for engines that do not take the graph.
    """
    graph = case.opened(handle)
    try:
        graph.create_execution_plans(MODES)
    except GraphError as error:
        if not engines:
            yield GraphResult("none", ERROR, str(error))
        return
    plans = graph._plans_on(handle)
    for number, config in enumerate(list(plans.candidates)):
        if engines and config.engine.name not in engines:
            continue
        tell(config.engine.name)
        yield _run(case, graph, number, config.engine.name)


def _run(case: GraphCase, graph: pygraph, number: int, engine: str) -> GraphResult:
    """Run one plan, and check every node of it."""
    frozen = graph._graph_frozen()
    pack = pack_of(frozen, case.seed)
    try:
        graph.build_plan_at_index(number)
        graph.execute(pack, check="reference")
    except GraphCheckFailed as error:
        return GraphResult(engine, FAILED, str(error), error.node or "")
    except Exception as error:  # whatever an engine stumbles over
        return GraphResult(engine, ERROR, f"{type(error).__name__}: {error}")
    written = gap_written(frozen, pack)
    if written:
        return GraphResult(engine, FAILED, f"outside written: {written}")
    return GraphResult(engine, PASSED if _telling(frozen, pack) else MISTRUSTED)


def gap_written(graph: OperationGraph, pack: Mapping[int, Any]) -> str:
    """Return the first result between whose elements something was written, or nothing."""
    for info in graph.packed:
        if info.uid in graph.results:
            offsets = None if info.ragged_offset is None else _loaded(graph.by_uid[info.ragged_offset], pack)
            if (pack[info.uid][gaps_of(info, offsets)] != POISON).any():
                return info.describe()
    return ""


def _loaded(info: TensorInfo, pack: Mapping[int, Any]) -> npt.NDArray[Any]:
    """Return the numbers of a tensor without gaps."""
    return info.data_type.loaded(pack[info.uid].view(info.data_type.storage))


def _telling(graph: OperationGraph, pack: Mapping[int, Any]) -> bool:
    """Return whether some result has a number."""
    return any(np.isfinite(_loaded(info, pack)).any() for info in graph.packed if info.uid in graph.results)


def reproducer(case: GraphCase, handle: Handle, engine: str = "") -> str:
    """Return a script that shows what an engine does to a graph; without one, what the first plan does."""
    graph = case.opened(handle)
    if not engine:
        return graph.reproducer(case.seed)
    graph.create_execution_plans(MODES)
    names = [config.engine.name for config in graph._plans_on(handle).candidates]
    try:
        graph.build_plan_at_index(names.index(engine))
    except (DnnError, RuntimeError, ValueError):  # without a plan, then
        graph = case.opened(handle)
    return graph.reproducer(case.seed)
