"""The graph engine for a matrix product or a convolution with pointwise nodes after it, in one kernel's stores."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from portadnn.descriptors import TensorView
from portadnn.errors import DnnError, NotSupported
from portadnn.graph.cost import LAUNCH_SECONDS, SHARE
from portadnn.graph.data_types import data_type
from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.enums import behavior_note
from portadnn.graph.errors import GraphError, fail
from portadnn.graph.lowering import lower
from portadnn.graph.lowering.steps import View
from portadnn.graph.operation_graph import OperationGraph
from portadnn.graph.pack import lies_as
from portadnn.ops.convolution import ConvolutionBackwardData, ConvolutionForward
from portadnn.plan import make_problem, serves
from portadnn.problem import ALIGNMENT, Problem

from ..base import Engine, Plan
from ..engines.conv_epilogue import WrittenBackwardData, WrittenForward
from ..graph_engines import bound_launches
from . import product
from .expand import expand
from .prepare import BY_SIZE, uid_of

if TYPE_CHECKING:
    from portadnn.handle import Handle

PRODUCTS = ("conv_dgrad", "conv_fprop", "matmul")
WRITTEN: dict[type[Problem], type[WrittenForward] | type[WrittenBackwardData]] = {
    ConvolutionForward: WrittenForward,
    ConvolutionBackwardData: WrittenBackwardData,
}
MOST_KNOWN = 64  # graphs of a handle
KINDS = {data_type.FLOAT, data_type.HALF, data_type.BFLOAT16}
_FIX = "leave the graph to the engine 'regions', which computes the nodes after the product apart"


def _nodes(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    first, *others = graph.operations
    wrong = next((one for one in others if one.kind != "pointwise"), None)
    if first.kind not in PRODUCTS or wrong is not None or not others:
        yield fail(
            "PG-PRODUCT-001",
            node=(wrong or first).label,
            argument="operations",
            expected=f"{' or '.join(PRODUCTS)}, then pointwise nodes",
            got=(wrong or first).kind if others else "one node",
            fix=_FIX,
        )


def _types(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    if next(_nodes(graph, handle), None) is not None:
        return
    first = graph.operations[0]
    kinds = {graph.by_uid[uid].data_type for _, uid in first.inputs}
    after = product.After.of(graph)
    wide = expand(after.graph).needs_doubles
    if len(kinds) != 1 or not kinds <= KINDS or first.compute_type is data_type.DOUBLE or wide:
        got = "numbers of 64 bits" if wide else ", ".join(sorted(map(str, kinds)))
        yield fail(
            "PG-PRODUCT-002",
            node=first.label,
            argument="types",
            expected="operands of one of FLOAT, HALF, BFLOAT16, and no DOUBLE, INT32 or INT64 in between",
            got=got,
            fix=_FIX,
        )


def _shapes(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    if next(_nodes(graph, handle), None) is not None:
        return
    first = graph.operations[0]
    result = graph.by_uid[first.outputs[0][1]]
    gaps = not result.virtual and result.span != result.size
    outputs = [graph.by_uid[uid] for operation in graph.operations for _, uid in operation.outputs]
    wrong = next((one for one in outputs if not one.virtual and one.dims != result.dims), result if gaps else None)
    ragged = next((one for one in graph.tensors if one.ragged_offset is not None or one.size == 0), None)
    wrong = wrong or ragged
    if wrong is not None:
        yield fail(
            "PG-PRODUCT-003",
            node=first.label,
            tensor=wrong.describe(),
            expected=f"outputs of dims {list(result.dims)}, a product's result without gaps, nothing empty or ragged",
            got=list(wrong.dims),
            fix=_FIX,
        )


def _device(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    if any(True for rule in (_nodes, _types, _shapes) for _ in rule(graph, handle)):
        return
    try:
        _chosen(graph, handle)
    except DnnError as error:
        yield fail(
            "PG-PRODUCT-004",
            node=graph.operations[0].label,
            argument=handle.info.name,
            expected="one convolution, by an engine that hands its sums to written text as it stores them",
            got=str(error),
            fix=_FIX,
        )


@dataclass(frozen=True)
class _Chosen:
    """A graph's convolution and the engine that is the fastest to compute it."""

    text: product.Text
    views: tuple[View, View]
    problem: WrittenForward | WrittenBackwardData
    engine: Engine


_KNOWN: weakref.WeakKeyDictionary[Handle, dict[OperationGraph, _Chosen]] = weakref.WeakKeyDictionary()


def _chosen(graph: OperationGraph, handle: Handle) -> _Chosen:
    """Return what computes a graph that its nodes, types and shapes allow.

    Raises
    ------
    DnnError
        The product is no single convolution, or no engine takes it.
    """
    known = _KNOWN.setdefault(handle, {})
    if graph not in known:
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[graph] = _choose(graph, handle)
    return known[graph]


def _choose(graph: OperationGraph, handle: Handle) -> _Chosen:
    after, first = product.After.of(graph), graph.operations[0]
    y = replace(after.result, data_type=graph.by_uid[first.inputs[0][1]].data_type)
    low = lower(replace(graph, tensors=tuple(y if one.uid == y.uid else one for one in graph.tensors)), first)
    if len(low.steps) != 1 or low.temporaries or low.steps[0].kind not in WRITTEN:
        raise NotSupported(f"{first.label} takes {len(low.steps)} steps")
    (step,) = low.steps
    views = [view for view in step.tensors if view is not None]
    plain = make_problem(handle, step.kind, [view.spec for view in views], step.params)
    vectors = handle.info.schedule == "cpu"
    text = product.write(after, first.label, vectors)
    if text.wide:
        raise NotSupported("a tensor has more than 2 Gi elements")
    problem = WRITTEN[step.kind](
        **{one.name: getattr(plain, one.name) for one in fields(plain)},
        text=text.text,
        vectors=vectors,
        storage=tuple(BY_SIZE[value.memory_type.itemsize] for value in text.memory),
        numbers=len(text.numbers),
    )
    return _Chosen(text, (views[0], views[1]), problem, _engine(problem, handle))


def _engine(problem: WrittenForward | WrittenBackwardData, handle: Handle) -> Engine:
    """Return the fastest engine by its estimate."""
    engines = [engine for engine in handle.engines if type(problem) in engine.problems]
    reasons = {engine.name: engine.refusal(problem, handle.info) for engine in engines}
    takers = [engine for engine in engines if reasons[engine.name] is None and serves(engine, problem, None)]
    if not takers:
        raise NotSupported("; ".join(f"{name}: {reason}" for name, reason in reasons.items()) or "no engine does that")
    return min(takers, key=lambda engine: engine.seconds(problem, handle.info))


class _Running:
    """A convolution with its text, ready to run."""

    def __init__(self, graph: OperationGraph, handle: Handle) -> None:
        self.chosen, self.device, self.label = _chosen(graph, handle), handle.device, graph.operations[0].label
        self.plans: dict[int, Plan] = {}  # by the alignment of the operands
        self.workspace_size = max(self._plan(alignment).workspace_size for alignment in self._alignments())

    def _alignments(self) -> tuple[int, ...]:
        return ALIGNMENT, self.chosen.problem.dtype.itemsize

    def _plan(self, alignment: int) -> Plan:
        if alignment not in self.plans:
            problem, engine = self.chosen.problem, self.chosen.engine
            specs: dict[str, Any] = {
                name: replace(spec, alignment=min(spec.alignment, alignment))
                for name, spec in zip(problem.inputs, problem.tensors, strict=False)
            }
            self.plans[alignment] = engine.prepare(replace(problem, **specs), self.device)
        return self.plans[alignment]

    def used(self, arrays: Mapping[int, Any]) -> tuple[Plan, list[Any], list[float]]:
        """Return the plan for some memory, its tensors and its numbers."""
        operands = []
        for view in self.chosen.views:
            base = arrays[view.memory]
            if view.offset or not lies_as(base, view.spec):
                base = self.device.wrap(TensorView(view.spec, base, view.offset), self.label)
            operands.append(base)
        aligned = all(self.device.address(one) % ALIGNMENT == 0 for one in operands)
        others = [arrays[uid_of(value)] for value in self.chosen.text.memory]
        numbers = [float(arrays[uid_of(value)]) for value in self.chosen.text.numbers]
        plan = self._plan(self._alignments()[not aligned])
        return plan, [*operands, others[-1], *others], [1.0, 0.0, *numbers]  # the output is not written

    def run(self, arrays: Mapping[int, Any], workspace: Any) -> None:
        """Enqueue the launches; see :class:`GraphPlan`."""
        plan, tensors, numbers = self.used(arrays)
        plan.run(tensors, numbers, workspace)

    def bind(self, arrays: Mapping[int, Any], workspace: Any) -> Callable[[], bool]:
        """Return what enqueues them again; see :class:`GraphPlan`."""
        plan, tensors, numbers = self.used(arrays)
        return bound_launches(self.device, plan.launches, (tensors, numbers, workspace))


class ProductEngine(GraphEngine):
    """A matrix product or a convolution that hands its sums to generated text instead of storing them.

    The text computes the pointwise nodes after it and stores what is a result, in the kernels of the engines for
    convolutions. Virtual tensors never reach memory.
    """

    name = "product"
    follows = True
    behavior_notes = frozenset({behavior_note.RUNTIME_COMPILATION})
    rules = (
        SupportRule("PG-PRODUCT-001", "a matmul or a convolution comes first, the other nodes are pointwise", _nodes),
        SupportRule("PG-PRODUCT-002", "its operands have one type of at most 32 bits, and so have all numbers", _types),
        SupportRule("PG-PRODUCT-003", "outputs have the dims of the product's result, which has no gaps", _shapes),
        SupportRule("PG-PRODUCT-004", "the product is one convolution by an engine that takes text", _device),
    )

    def seconds(self, graph: OperationGraph, handle: Handle) -> float:
        chosen, info = _chosen(graph, handle), handle.info
        output = chosen.problem.tensors[-1]
        more = sum(value.size * value.memory_type.itemsize for value in chosen.text.memory) - output.nbytes
        nodes = (len(graph.operations) - 1) * output.size / (SHARE * info.flops)
        moved = max(more, 0) / (SHARE * info.bandwidth)
        return chosen.engine.seconds(chosen.problem, info) + moved + nodes + LAUNCH_SECONDS

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        running = _Running(graph, handle)
        names = (tuple(operation.name for operation in graph.operations),)
        source = running.chosen.text.text
        return GraphPlan(self, graph, running.workspace_size, running.run, running.bind, {}, names, source)
