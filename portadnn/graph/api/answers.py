"""The methods of :class:`~portadnn.graph.api.pygraph` that answer questions about a graph."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..._version import __version__
from ...errors import shown
from .. import pictures
from ..checks.validation import notes
from ..engine import Config
from ..errors import GraphError
from ..explain import Explanation
from ..explain import explain as ask_engines
from ..other_libraries import Judgement, judge
from ..plans import engines_of
from ..reproducer import script
from ..rules import fail
from .arguments import integers, text, whole
from .builder import method
from .files import to_json
from .handles import handle_of
from .planned import Planned


@method
def explain(self: Planned, handle: Any = None) -> Explanation:
    """Ask each engine of a handle, by default the graph's, whether it takes the graph, and why not.

    The filters of the program count. ``print(graph.explain())`` shows all reasons with node, tensor and fix;
    ``as_dict`` and ``to_json`` have it as data. ``cudnnGraphNotSupportedError.explanation`` is such an object.

    Raises
    ------
    GraphValidationError
        The graph is wrong whatever the engine.
    """
    graph, opened = self._as_it_is(), handle_of(self._handle if handle is None else handle)
    engines = engines_of(opened)
    takers = [Config(engine) for engine in engines if not engine.reasons(graph, opened.info)]
    judged = [self._filters.refusal(one, functools.partial(one.prepare, graph, opened.device)) for one in takers]
    excluded = [reason for reason in judged if reason is not None]
    built = self._plans.get(opened.serial)
    chosen = None
    if built is not None and self._chosen is not None and opened is handle_of(self._handle):
        chosen = built.config(self._chosen).name
    remarks = (*notes(self._graph), *self._notes.values())
    return ask_engines(graph, opened, engines, excluded, chosen, remarks)


@method
def check_against(self: Planned, library: str, cc: Sequence[int] | None = None) -> Judgement:
    """Tell whether another library would take the graph, by its documentation, and which rules it breaks if not.

    Parameters
    ----------
    library
        ``"cudnn-9"``, ``"miopen-3"`` or ``"hipdnn"``.
    cc
        The compute capability of the NVIDIA GPU, such as (8, 0). Without it, what depends on it is unknown.

    Returns
    -------
    Judgement
        ``answer`` is "yes", "no" or "unknown"; ``broken`` are the rules of the surface that comes nearest, with
        node, tensor and source; ``print`` shows all.

    Raises
    ------
    InvalidValue
        No such library or compute capability (PG-SURFACE-001, 002).
    """
    return judge(self._as_it_is(), text(library, "library"), _capability(cc))


def _parts(self: Planned, handle: Any) -> Sequence[Sequence[str]]:
    """Return the names of the nodes that the chosen plan computes together, once there is one."""
    if self._chosen is None:
        return ()
    plans = self._plans_on(self._handle if handle is None else handle)
    return plans.plan(self._index(plans)).parts


@method
def to_dot(self: Planned, handle: Any = None) -> str:
    """Return a picture of the graph in graphviz's language, with what the plan computes together in boxes."""
    return pictures.to_dot(self._as_it_is(), _parts(self, handle))


@method
def to_mermaid(self: Planned, handle: Any = None) -> str:
    """Return a picture of the graph as a flowchart of Mermaid, with what the plan computes together in boxes."""
    return pictures.to_mermaid(self._as_it_is(), _parts(self, handle))


@method
def to_svg(self: Planned, handle: Any = None) -> str:
    """Return :meth:`to_dot` as an SVG picture, laid out by graphviz.

    Raises
    ------
    cudnnGraphNotSupportedError
        graphviz is not installed (PG-PICTURE-001).
    """
    return pictures.to_svg(pictures.to_dot(self._as_it_is(), _parts(self, handle)))


@method
def reproducer(self: Planned, seed: int = 0) -> str:
    """Return a script that builds the graph, runs its plan on seeded data and checks it node by node.

    It needs nothing but portadnn. Without the plan's engine it takes another one, and says so.
    """
    seed, handle = whole(seed, "seed"), handle_of(self._handle)
    if seed < 0:
        raise fail("PG-NODE-004", argument="seed", expected="an integer >= 0", got=seed)
    facts = {"library": f"portadnn {__version__}", "backend": handle.backend, "device": handle.info.name}
    return script(self._as_it_is(), to_json(self), planned=self._chosen is not None, seed=seed, **facts)


def _capability(cc: Any) -> tuple[int, int] | None:
    if cc is None:
        return None
    expected = "two numbers, such as (8, 0)"
    numbers = integers(cc, "cc", "PG-SURFACE-002", expected)
    if len(numbers) != 2:
        raise fail("PG-SURFACE-002", argument="cc", expected=expected, got=shown(numbers))
    return numbers[0], numbers[1]


def picture(self: Planned) -> str | None:
    """Show in notebooks the graph as a picture, where graphviz is installed and the graph is valid."""
    try:
        return to_svg(self)
    except GraphError:
        return None


def nodes_as_html(self: Planned) -> str:
    """Show in notebooks the graph's nodes with their tensors."""
    from ..._page.cells import table

    try:
        graph = self._as_it_is()
    except GraphError as error:
        return table("a graph that is not valid", (), (), note=str(error))
    rows = [
        (
            operation.kind,
            operation.name,
            ", ".join(f"{port} {graph.by_uid[uid]}" for port, uid in operation.inputs),
            ", ".join(f"{port} {graph.by_uid[uid]}" for port, uid in operation.outputs),
        )
        for operation in graph.operations
    ]
    return table(f"graph '{graph.name}'", ("node", "name", "inputs", "outputs"), rows)
