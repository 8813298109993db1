"""The methods and properties of :class:`~portadnn.graph.api.pygraph` that show its nodes, tensors and plans."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from ..data_types import data_type
from ..enums import knob_type
from ..errors import GraphError
from ..node import Node
from ..plans import engines_of
from ..rules import fail
from ..tensor import tensor
from .arguments import text, whole
from .builder import Builder, method
from .handles import handle_of
from .planned import Planned

Self = TypeVar("Self", bound=Planned)


class GraphContext(NamedTuple):
    """The types that a graph's tensors and computations have unless they say otherwise."""

    io_data_type: data_type
    intermediate_data_type: data_type
    compute_data_type: data_type


class PlanConfig(NamedTuple):
    """A plan of the list: what ``create_execution_plan`` takes to make it again, and its place."""

    engine_id: int
    knobs: dict[knob_type, int]
    cpp_index: int


@method
def nodes(self: Builder) -> list[Node]:
    """Return the nodes, in the order in which they were added."""
    return list(self._graph.nodes)


@method
def tensors(self: Builder) -> dict[str, tensor]:
    """Return the tensors by name; of several with one name the first."""
    found: dict[str, tensor] = {}
    for one in self._graph.tensors():
        found.setdefault(one.get_name(), one)
    return found


@method
def context(self: Builder) -> GraphContext:
    """Return the graph's default types."""
    graph = self._graph
    return GraphContext(graph.io_data_type, graph.intermediate_data_type, graph.compute_data_type)


@method
def plans(self: Planned) -> list[PlanConfig]:
    """Return the plans in the order of the heuristics; none before ``create_execution_plans``."""
    if not self._modes:
        return []
    names = [engine.name for engine in engines_of(handle_of(self._handle))]
    configs = self._plans_on(self._handle).candidates
    return [PlanConfig(names.index(one.engine.name), dict(one.knobs), i) for i, one in enumerate(configs)]


@method
def backend_plan_entries(self: Planned) -> list[PlanConfig]:
    """Return :attr:`plans`: there are no others; none where no engine takes the graph."""
    try:
        return plans(self)
    except GraphError:
        return []


def selected_engine(self: Planned) -> None:
    """Return None: no plan is of a Python engine of cudnn-frontend's."""


@method
def select_plan(self: Self, index: int) -> Self:
    """Take one plan of the list, which ``build_plans`` then builds."""
    number = whole(index, "index", "PG-PLAN-002")
    self._config(number)
    self._pinned, self._chosen = number, None
    return self


@method
def find_tensor(self: Builder, name_or_uid: Any) -> tensor | None:
    """Return the tensor of a name or of a uid; None where there is none.

    Raises
    ------
    InvalidTensorName
        Two tensors have the name (PG-TENSOR-020).
    """
    if not isinstance(name_or_uid, str):
        uid = whole(name_or_uid, "name_or_uid", "PG-TENSOR-022")
        return next((one for one in self._graph.tensors() if one.has_uid() and one.get_uid() == uid), None)
    named = [one for one in self._graph.tensors() if one.get_name() == name_or_uid]
    if len(named) > 1:
        raise fail("PG-TENSOR-020", argument="name_or_uid", expected="a name of one tensor, or a uid", got=name_or_uid)
    return named[0] if named else None


@method
def get_node(self: Builder, name: str) -> Node | None:
    """Return the node of a name; None where there is none."""
    wanted = text(name, "name")
    return next((node for node in self._graph.nodes if node.name == wanted), None)


@method
def get_inputs(self: Builder) -> list[tensor]:
    """Return the tensors that come from outside."""
    return [one for one in self._graph.tensors() if one.producer is None and not one.get_is_virtual()]


@method
def get_outputs(self: Builder) -> list[tensor]:
    """Return the results that leave the graph."""
    return [one for one in self._graph.tensors() if one.producer is not None and not one.get_is_virtual()]


@method
def inspect(self: Builder) -> dict[str, Any]:
    """Return context, nodes and tensors as plain data."""
    graph = self._graph
    return {
        "context": {
            "io_data_type": str(graph.io_data_type),
            "compute_data_type": str(graph.compute_data_type),
        },
        "nodes": [
            {
                "name": node.name,
                "type": node.node_type.name,
                "inputs": {port: one.get_name() for port, one in node.inputs.items()},
                "outputs": {port: one.get_name() for port, one in node.outputs.items()},
                "params": dict(node.params),
            }
            for node in graph.nodes
        ],
        "tensors": {
            one.get_name(): {
                "dim": one.get_dim(),
                "stride": one.get_stride(),
                "dtype": str(one.get_data_type()),
                "is_virtual": one.get_is_virtual(),
                "uid": one.get_uid(),
            }
            for one in graph.tensors()
        },
    }
