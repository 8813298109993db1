"""From operations to plans: graphs, engines, their configurations, heuristics. All of it is portadnn.graph's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...c_names.graph_descriptors import kinds
from ...errors import BadParam
from ...graph.api.core import Graph
from ...graph.api.files import deserialize, to_json
from ...graph.api.planned import Planned
from ...graph.api.plans import (
    build_plans,
    create_execution_plan,
    create_execution_plans,
    get_engine_and_knobs_at_index,
    get_execution_plan_count,
    get_workspace_size,
)
from ...graph.engine import Config, GraphEngine, checked
from ...graph.kernel_cache import DeviceProperties, create_device_properties
from ...graph.knobs import knob
from ...graph.operation_graph import OperationGraph
from ...graph.plans import engines_of
from ...graph.rules import fail
from ...handle import Handle
from .objects import BackendDescriptor, Given
from .operations import new_graph
from .tensors import Tensors
from .values import c_member


@dataclass(frozen=True)
class Built:
    """A finalized graph: as it was described, as engines see it, and the handle that it is for."""

    graph: Graph
    frozen: OperationGraph
    handle: Handle


class PlannedGraph(Planned):
    """A finalized graph with a plan, or the candidates of heuristics."""

    _exact_packs = True

    def __init__(self, built: Built, handle: Handle) -> None:
        super().__init__(built.graph, handle, None)
        self._frozen = built.frozen

    @functools.cached_property
    def needed(self) -> int:
        """Bytes of workspace that the plan needs; it stays the one that it is."""
        return get_workspace_size(self)

    @property
    def handle(self) -> Handle:
        """The handle that it is planned for."""
        return self._handle


@dataclass(frozen=True)
class Engine:
    """An engine of a graph, by its number."""

    built: Built
    number: int
    engine: GraphEngine


@dataclass(frozen=True)
class Choice:
    """A configuration of an engine: what plans are made of."""

    engine: Engine
    config: Config


def finalize_graph(descriptor: BackendDescriptor) -> Built:
    """Join the operations by their tensors' uids, check the whole, freeze it.

    Raises
    ------
    BadParam
        Cycles, operations in place, uids of two tensors, virtual tensors that nobody writes, and more.
    """
    operations = descriptor.many("OPERATIONGRAPH_OPS")
    graph, tensors = new_graph(), Tensors()
    for i, operation in enumerate(operations):
        operation.add(graph, tensors, f"{operation.kind}_{i}", alone=len(operations) == 1)
    graph.validate()
    return Built(graph, graph.freeze(), descriptor.one("OPERATIONGRAPH_HANDLE"))


def finalize_engine(descriptor: BackendDescriptor) -> Engine:
    """Find an engine by its number; it has to take the graph.

    Raises
    ------
    BadParam
        There is none of that number.
    NotSupported
        It does not take the graph, with its reasons.
    """
    built, number = descriptor.one("ENGINE_OPERATION_GRAPH"), descriptor.one("ENGINE_GLOBAL_INDEX")
    engines = engines_of(built.handle)
    if not 0 <= number < len(engines):
        raise BadParam(argument="CUDNN_ATTR_ENGINE_GLOBAL_INDEX", expected=f"0 to {len(engines) - 1}", got=number)
    reasons = engines[number].reasons(built.frozen, built.handle.info)
    if reasons:
        name = engines[number].name
        raise fail("PG-ENGINE-001", argument=f"engine {number} ({name})", reasons=reasons)
    return Engine(built, number, engines[number])


def finalize_choice(descriptor: BackendDescriptor) -> Choice:
    """Set an engine's knobs.

    Raises
    ------
    BadParam
        A knob that the engine does not have, a value out of its range, or a knob that is set twice.
    """
    engine: Engine = descriptor.one("ENGINECFG_ENGINE")
    pairs = descriptor.many("ENGINECFG_KNOB_CHOICES")
    knobs = dict(pairs)
    if len(knobs) < len(pairs):
        raise BadParam(
            argument="CUDNN_ATTR_ENGINECFG_KNOB_CHOICES", expected="each knob once", got=[str(k) for k, _ in pairs]
        )
    return Choice(engine, checked(engine.engine, engine.built.frozen, engine.built.handle.info, knobs))


def finalize_heuristics(descriptor: BackendDescriptor) -> list[Choice]:
    """Ask for the engines that take the graph, ranked.

    Raises
    ------
    NotSupported
        None does, with the reasons of all.
    """
    built: Built = descriptor.one("ENGINEHEUR_OPERATION_GRAPH")
    planned = PlannedGraph(built, built.handle)
    create_execution_plans(planned, [descriptor.one("ENGINEHEUR_MODE")])
    found = (get_engine_and_knobs_at_index(planned, i) for i in range(get_execution_plan_count(planned)))
    engines = engines_of(built.handle)
    choices = [(Engine(built, number, engines[number]), knobs) for number, knobs in found]
    return [Choice(engine, Config(engine.engine, knobs)) for engine, knobs in choices]


def planned_choice(choice: Choice, handle: Handle) -> PlannedGraph:
    """Return the graph with the plan of one configuration, built.

    Raises
    ------
    BadParam
        The handle is of another backend than the graph's.
    """
    built = choice.engine.built
    if handle.backend != built.handle.backend:
        raise BadParam(
            argument="CUDNN_ATTR_EXECUTION_PLAN_HANDLE",
            expected=f"a handle on {built.handle.backend}, as the graph's",
            got=f"one on {handle.backend}",
        )
    planned = PlannedGraph(built, handle)
    create_execution_plan(planned, choice.engine.number, choice.config.knobs)
    build_plans(planned)
    return planned


def finalize_plan(descriptor: BackendDescriptor) -> PlannedGraph:
    """Build the plan of a configuration, or that of a JSON representation.

    Raises
    ------
    BadParam
        Neither is set, or both are; text that is no plan.
    NotSupported
        The plan's engine is not there.
    """
    handle: Handle = descriptor.one("EXECUTION_PLAN_HANDLE")
    choice = descriptor.one("EXECUTION_PLAN_ENGINE_CONFIG")
    text = descriptor.one("EXECUTION_PLAN_JSON_REPRESENTATION")
    if (choice is None) == (text is None):
        raise BadParam(
            argument="descriptor",
            expected="CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG or CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION",
            got="none" if choice is None else "both",
        )
    if choice is not None:
        return planned_choice(choice, handle)
    graph = new_graph()
    planned = PlannedGraph(Built(graph, OperationGraph("", (), ()), handle), handle)
    deserialize(planned, handle, text)
    if not get_execution_plan_count(planned):
        raise BadParam(argument="CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION", expected="a plan", got="a graph")
    return planned


def finalize_properties(descriptor: BackendDescriptor) -> DeviceProperties:
    """Describe a device: a handle's, one of a number, or the one that a text describes."""
    given = [name for name in descriptor.kind.attributes if name in descriptor.given]
    if len(given) != 1:
        names = ", ".join(attribute.c_name for attribute in descriptor.kind.attributes.values())
        raise BadParam(argument="descriptor", expected=f"one of {names}", got=f"{len(given)} of them")
    return create_device_properties(descriptor.one(given[0]))


# What is got of finalized descriptors


def described(name: str, value: Any, **given: tuple[str, Any, Any]) -> BackendDescriptor:
    """Return a finalized descriptor of a kind; `given` has (type, element, meaning) of its attributes by name."""
    found = BackendDescriptor(kinds()[name])
    found.given = {name: Given(type, (kept,), (meaning,)) for name, (type, kept, meaning) in given.items()}
    found.value = value
    return found


def _graph_of(built: Built) -> BackendDescriptor:
    return described("OPERATIONGRAPH", built, OPERATIONGRAPH_HANDLE=("HANDLE", built.handle, built.handle))


def _choice(choice: Choice) -> BackendDescriptor:
    """Return a configuration as a program would have made it."""
    number, graph = choice.engine.number, _graph_of(choice.engine.built)
    engine = described(
        "ENGINE",
        choice.engine,
        ENGINE_OPERATION_GRAPH=("BACKEND_DESCRIPTOR", graph, graph.value),
        ENGINE_GLOBAL_INDEX=("INT64", number, number),
    )
    made = described("ENGINECFG", choice, ENGINECFG_ENGINE=("BACKEND_DESCRIPTOR", engine, choice.engine))
    knobs = [
        described(
            "KNOB_CHOICE",
            (kind, value),
            KNOB_CHOICE_KNOB_TYPE=("KNOB_TYPE", c_member("KNOB_TYPE", kind), kind),
            KNOB_CHOICE_KNOB_VALUE=("INT64", value, value),
        )
        for kind, value in choice.config.knobs.items()
    ]
    if knobs:
        pairs = tuple(each.value for each in knobs)
        made.given["ENGINECFG_KNOB_CHOICES"] = Given("BACKEND_DESCRIPTOR", tuple(knobs), pairs)
    return made


def _knob(one: knob) -> BackendDescriptor:
    return described(
        "KNOB_INFO",
        one,
        KNOB_INFO_TYPE=("KNOB_TYPE", c_member("KNOB_TYPE", one.type), one.type),
        KNOB_INFO_MAXIMUM_VALUE=("INT64", one.max_value, one.max_value),
        KNOB_INFO_MINIMUM_VALUE=("INT64", one.min_value, one.min_value),
        KNOB_INFO_STRIDE=("INT64", one.stride, one.stride),
    )


def _workspace(choice: Choice) -> list[Any]:
    return [planned_choice(choice, choice.engine.built.handle).needed]


RESULTS: dict[str, Callable[[Any], list[Any]]] = {
    "OPERATIONGRAPH_ENGINE_GLOBAL_COUNT": lambda built: [len(engines_of(built.handle))],
    "ENGINE_KNOB_INFO": lambda e: [_knob(one) for one in e.engine.knobs(e.built.frozen, e.built.handle.info)],
    "ENGINE_NUMERICAL_NOTE": lambda e: [c_member("NUMERICAL_NOTE", n) for n in sorted(e.engine.numerical_notes)],
    "ENGINE_BEHAVIOR_NOTE": lambda e: [c_member("BEHAVIOR_NOTE", n) for n in sorted(e.engine.behavior_notes)],
    "ENGINE_LAYOUT_INFO": lambda _: [],
    "ENGINECFG_INTERMEDIATE_INFO": lambda _: [],
    "ENGINECFG_WORKSPACE_SIZE": _workspace,
    "ENGINEHEUR_RESULTS": lambda choices: [_choice(choice) for choice in choices],
    "EXECUTION_PLAN_WORKSPACE_SIZE": lambda planned: [planned.needed],
    "EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS": lambda _: [],
    "EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS": lambda _: [],
    "EXECUTION_PLAN_JSON_REPRESENTATION": lambda planned: [to_json(planned)],
    "DEVICEPROP_JSON_REPRESENTATION": lambda properties: [properties.serialize()],
}
