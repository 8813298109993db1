"""The graph engine for a matrix product or a convolution with pointwise nodes around it, in one kernel."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from portadnn.descriptors import TensorView
from portadnn.enums import DataType
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
from portadnn.ops.convolution import Convolution, ConvolutionBackwardData, ConvolutionBackwardFilter, ConvolutionForward
from portadnn.plan import make_problem, serves
from portadnn.problem import ALIGNMENT, Problem

from ..base import DeviceInfo, Engine, Plan
from ..engines.conv_epilogue import WrittenBackwardData, WrittenBackwardFilter, WrittenForward
from ..engines.conv_prologue import (
    OPERANDS,
    Computed,
    ComputedBackwardData,
    ComputedForward,
    ComputesOperands,
    WithComputed,
    computed,
    operand_of,
)
from ..engines.conv_sums import AddsUp, Parts, Sums, sums_over
from ..graph_engines import bound_launches
from . import product
from .before import Split, split, write
from .expand import expand
from .prepare import BY_SIZE, uid_of
from .product_sums import Totals, join_launch
from .values import STORAGE, Value, register_of

if TYPE_CHECKING:
    from portadnn.handle import Handle

PRODUCTS = ("conv_dgrad", "conv_fprop", "conv_wgrad", "matmul")
WrittenProblem = WrittenForward | WrittenBackwardData | WrittenBackwardFilter
WRITTEN: dict[type[Problem], type[WrittenProblem]] = {
    ConvolutionForward: WrittenForward,
    ConvolutionBackwardData: WrittenBackwardData,
    ConvolutionBackwardFilter: WrittenBackwardFilter,
}
COMPUTED: dict[type[Problem], type[WrittenForward] | type[WrittenBackwardData]] = {
    ConvolutionForward: ComputedForward,
    ConvolutionBackwardData: ComputedBackwardData,
}
SUMS = ("genstats", "reduction")
AFTER = ("pointwise", *SUMS)
MOST_KNOWN = 64  # graphs of a handle
_FIX = "leave the graph to the engine 'regions', which computes the nodes around the product apart"


@functools.lru_cache(maxsize=256)
def _split(graph: OperationGraph) -> Split | None:
    """Return the graph cut at its product; None where it has not just one, pointwise nodes around and sums after it."""
    parts = split(graph, PRODUCTS)
    if parts is None or not parts.nodes:
        return None
    before = (node for one in parts.before.values() for node in one.operations)
    fits = all(one.kind == "pointwise" for one in before)
    return parts if fits and all(one.kind in AFTER for one in parts.rest.operations[1:]) else None


def _nodes(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    if _split(graph) is None:
        products = [one for one in graph.operations if one.kind in PRODUCTS]
        wrong = [one for one in graph.operations if one.kind != "pointwise" and one not in products[:1]]
        wrong.sort(key=lambda one: one.kind in AFTER)
        yield fail(
            "PG-PRODUCT-001",
            node=(wrong or graph.operations)[0].label,
            argument="operations",
            expected=f"{' or '.join(PRODUCTS)}, pointwise nodes, and reduction or genstats after it",
            got=wrong[0].kind if wrong else "one node" if products else "no product",
            fix=_FIX,
        )


def _types(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    parts = _split(graph)
    if parts is None:
        return
    first = parts.product
    kinds = {graph.by_uid[uid].data_type for _, uid in first.inputs}
    known = {kind for kind in STORAGE if register_of(kind) == "F" and kind is not data_type.BOOLEAN}
    texts = (product.After.of(parts.rest).graph, *parts.before.values())
    wide = any(expand(one).needs_doubles for one in texts)
    if not kinds <= known or first.compute_type is data_type.DOUBLE or wide:
        got = "numbers of 64 bits" if wide else ", ".join(sorted(map(str, kinds)))
        yield fail(
            "PG-PRODUCT-002",
            node=first.label,
            argument="types",
            expected="numbers of at most 16 bits or FLOAT, and no DOUBLE, INT32 or INT64 in between",
            got=got,
            fix=_FIX,
        )


def _shapes(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    parts = _split(graph)
    if parts is None:
        return
    first = parts.product
    result = graph.by_uid[first.outputs[0][1]]
    gaps = not result.virtual and result.span != result.size
    places = (one for one in parts.rest.operations if one.kind not in SUMS)
    outputs = [graph.by_uid[uid] for operation in places for _, uid in operation.outputs]
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


def _shared(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    parts = _split(graph)
    if parts is not None and parts.shared is not None:
        yield fail(
            "PG-PRODUCT-005",
            node=parts.product.label,
            tensor=parts.shared.describe(),
            expected="tensors before the product that are virtual and that nothing after it reads",
            got="a virtual tensor that is read after it" if parts.shared.virtual else "an output",
            fix="leave the graph to the engine 'regions', which stores that tensor",
        )


def _sums(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    parts = _split(graph)
    if parts is None:
        return
    nodes = [one for one in parts.rest.operations if one.kind in SUMS]
    made = {uid for one in nodes for _, uid in one.outputs}
    late = next((one for one in parts.rest.operations if any(uid in made for _, uid in one.inputs)), None)
    totals = product.totals_of(product.After.of(parts.rest)) if nodes and late is None else None
    gradient = parts.product.kind == "conv_wgrad"
    if late is not None or (totals is not None and (gradient or not totals.allowed())):
        yield fail(
            "PG-PRODUCT-006",
            node=(late or nodes[0]).label,
            expected="sums at the end, all over the same axes of the product's result, and not of a filter's gradient",
            got="a node after a sum" if late else "a filter's gradient" if gradient else "sums of other dims or axes",
            fix="leave the graph to the engine 'regions', which computes the sums apart",
        )


def _device(graph: OperationGraph, handle: Handle) -> Iterator[GraphError]:
    if _split(graph) is None or any(True for rule in (_types, _shapes, _shared, _sums) for _ in rule(graph, handle)):
        return
    try:
        _chosen(graph, handle)
    except DnnError as error:
        yield fail(
            "PG-PRODUCT-004",
            node=_cut(graph).product.label,
            argument=handle.info.name,
            expected="one convolution, by an engine that takes written text for its operands and its sums",
            got=str(error),
            fix=_FIX,
        )


def _cut(graph: OperationGraph) -> Split:
    parts = _split(graph)
    assert parts is not None
    return parts


@dataclass(frozen=True)
class _Chosen:
    """A graph's convolution and the engine that is the fastest to compute it.

    Attributes
    ----------
    texts : tuple of Text
        For what follows, then for the operands in the order of ``conv_prologue.OPERANDS``, where these are computed.
    views : tuple of View or None
        The operands; None for those that are computed.
    """

    texts: tuple[product.Text, ...]
    views: tuple[View | None, ...]
    problem: WrittenProblem
    engine: Engine

    @property
    def totals(self) -> Totals | None:
        """The sums over the product's results."""
        return self.texts[0].totals

    @property
    def memory(self) -> list[Value]:
        """The tensors of all texts, and the results of sums."""
        own = [value for text in self.texts for value in text.memory]
        return [*own, *(self.totals.outputs if self.totals else ())]

    @property
    def numbers(self) -> list[Value]:
        """The numbers of all texts."""
        return [value for text in self.texts for value in text.numbers]

    @property
    def source(self) -> str:
        """The texts."""
        return self.problem.text


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
    parts = _cut(graph)
    single, first = parts.alone, parts.product
    after = product.After.of(parts.rest)
    y = replace(after.result, data_type=single.by_uid[first.inputs[0][1]].data_type)
    low = lower(replace(single, tensors=tuple(y if one.uid == y.uid else one for one in single.tensors)), first)
    if len(low.steps) != 1 or low.temporaries or low.steps[0].kind not in WRITTEN:
        raise NotSupported(f"{first.label} takes {len(low.steps)} steps")
    (step,) = low.steps
    views = [view for view in step.tensors if view is not None]
    plain = make_problem(handle, step.kind, [view.spec for view in views], step.params)
    vectors = handle.info.schedule == "cpu"
    after_text = product.write(after, first.label, vectors)
    made = {first.uids[port]: part for port, part in parts.before.items()}
    if made and step.kind not in COMPUTED:
        raise NotSupported(f"{first.label} reads its operands from memory")
    names = {operand_of(name): view for name, view in zip(plain.inputs, views, strict=False)}
    before = {
        operand: write(made[names[operand].memory], names[operand].memory, operand, vectors)
        for operand in OPERANDS
        if made and names[operand].memory in made
    }
    texts = (after_text, *before.values())
    if any(text.wide for text in texts):
        raise NotSupported("a tensor has more than 2 Gi elements")
    if any(names[operand].offset for operand in before):
        raise NotSupported("a computed operand is read from its middle on")
    kinds = COMPUTED if before else WRITTEN
    given: dict[str, Any] = {one.name: getattr(plain, one.name) for one in fields(plain)}
    given |= {f"before_{operand}": _computed(text, made[names[operand].memory]) for operand, text in before.items()}
    problem = kinds[step.kind](
        **given,
        text="\n".join(text.text for text in (*before.values(), after_text)),
        vectors=vectors,
        storage=_storage(after_text),
        numbers=len(after_text.numbers),
        sums=_taken(after_text.totals, plain),
    )
    read = tuple(None if view.memory in made else view for view in views[:2])
    return _Chosen(texts, read, problem, _engine(problem, handle))


def _taken(totals: Totals | None, problem: Problem) -> Sums | None:
    """Return how the kernel takes sums."""
    if totals is None:
        return None
    assert isinstance(problem, Convolution)
    over = sums_over(problem, totals.walked)
    if over is None:
        raise NotSupported("sums are over neither all columns nor all rows of the product")
    return Sums(len(totals.nodes), totals.results, *over)


def _computed(text: product.Text, part: OperationGraph) -> Computed:
    return Computed(_storage(text), len(text.numbers), len(part.operations))


def _storage(text: product.Text) -> tuple[DataType, ...]:
    return tuple(BY_SIZE[value.memory_type.itemsize] for value in text.memory)


def _engine(problem: WrittenProblem, handle: Handle) -> Engine:
    """Return the fastest engine by its estimate."""
    engines = [engine for engine in handle.engines if type(problem) in engine.problems]
    reasons = {engine.name: engine.refusal(problem, handle.info) for engine in engines}
    takers = [engine for engine in engines if reasons[engine.name] is None and serves(engine, problem, None)]
    if not takers:
        raise NotSupported("; ".join(f"{name}: {reason}" for name, reason in reasons.items()) or "no engine does that")
    return min(takers, key=lambda engine: engine.seconds(problem, handle.info) + _before(engine, problem, handle))


def _before(engine: Engine, problem: Problem, handle: Handle) -> float:
    """Estimate what computing an engine's operands takes beside reading them."""
    if not isinstance(problem, WithComputed):
        return 0.0
    assert isinstance(engine, ComputesOperands)
    elements, total = engine.computed_elements(problem, handle.info), 0.0
    for name in OPERANDS:
        one = computed(problem, name)
        if one is not None:
            total += one.steps(handle.info.schedule, name) * elements[name]
    return total / (SHARE * handle.info.flops)


def _parts(engine: Engine, problem: WrittenProblem, info: DeviceInfo) -> Parts:
    assert isinstance(engine, AddsUp)
    return engine.parts(problem, info)


def _bytes(problem: WrittenProblem, parts: Parts) -> int:
    """Return the bytes of the parts of sums."""
    return 4 * problem.sums.count * problem.sums.pitch(parts.slices) if problem.sums else 0


class _Running:
    """A convolution with its text, ready to run."""

    def __init__(self, graph: OperationGraph, handle: Handle) -> None:
        self.chosen, self.device, self.label = _chosen(graph, handle), handle.device, _cut(graph).product.label
        self.source = self.chosen.source
        self.plans: dict[int, Plan] = {}  # by the alignment of the operands
        self.workspace_size = max(self._plan(alignment).workspace_size for alignment in self._alignments())

    def _alignments(self) -> tuple[int, ...]:
        return ALIGNMENT, self.chosen.problem.dtype.itemsize

    def _plan(self, alignment: int) -> Plan:
        if alignment not in self.plans:
            problem, engine = self.chosen.problem, self.chosen.engine
            specs: dict[str, Any] = {
                name: replace(spec, alignment=min(spec.alignment, alignment))
                for name, spec, view in zip(problem.inputs, problem.tensors, self.chosen.views, strict=False)
                if view is not None
            }
            problem = replace(problem, **specs)
            self.plans[alignment] = self._joined(engine.prepare(problem, self.device), problem)
        return self.plans[alignment]

    def _joined(self, plan: Plan, problem: WrittenProblem) -> Plan:
        """Return the plan with the launch that joins the parts of sums."""
        totals, engine = self.chosen.totals, plan.engine
        if totals is None or problem.sums is None:
            return plan
        parts = _parts(engine, problem, self.device.info)
        kernel, launch = join_launch(
            totals, problem.sums, parts, len(problem.names) + len(self.chosen.memory), self.device
        )
        self.source = f"{self.chosen.source}\n\n{kernel.text}"
        launches = (*plan.launches, launch)
        size = parts.offset + _bytes(problem, parts)
        return Plan(problem, engine, max(plan.workspace_size, size), self.device.bind(launches), launches)

    def used(self, arrays: Mapping[int, Any]) -> tuple[Plan, list[Any], list[float]]:
        """Return the plan for some memory, its tensors and its numbers."""
        others = [arrays[uid_of(value)] for value in self.chosen.memory]
        unread = arrays[uid_of(self.chosen.memory[-1])]  # stands for what the text reads and writes itself
        operands = [None if view is None else self._operand(view, arrays[view.memory]) for view in self.chosen.views]
        aligned = all(one is None or self.device.address(one) % ALIGNMENT == 0 for one in operands)
        numbers = [float(arrays[uid_of(value)]) for value in self.chosen.numbers]
        plan = self._plan(self._alignments()[not aligned])
        tensors = [unread if one is None else one for one in (*operands, None)]
        return plan, [*tensors, *others], [1.0, 0.0, *numbers]

    def _operand(self, view: View, base: Any) -> Any:
        if view.offset or not lies_as(base, view.spec):
            return self.device.wrap(TensorView(view.spec, base, view.offset), self.label)
        return base

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
    convolutions. What computes an operand is text, too, where these read it. Virtual tensors never reach memory.
    """

    name = "product"
    follows = True
    behavior_notes = frozenset({behavior_note.RUNTIME_COMPILATION})
    rules = (
        SupportRule(
            "PG-PRODUCT-001",
            "one node is a matmul or a convolution, the others are pointwise, or reduction and genstats",
            _nodes,
        ),
        SupportRule("PG-PRODUCT-002", "its numbers are FLOAT or of at most 16 bits, and so are all others", _types),
        SupportRule("PG-PRODUCT-003", "outputs have the dims of the product's result, which has no gaps", _shapes),
        SupportRule("PG-PRODUCT-004", "the product is one convolution by an engine that takes text", _device),
        SupportRule(
            "PG-PRODUCT-005", "what comes before the product is virtual and needed by the product alone", _shared
        ),
        SupportRule("PG-PRODUCT-006", "reduction and genstats come last, over the same axes of the result", _sums),
    )

    def seconds(self, graph: OperationGraph, handle: Handle) -> float:
        chosen, info = _chosen(graph, handle), handle.info
        output = chosen.problem.tensors[-1]
        more = sum(value.size * value.memory_type.itemsize for value in chosen.memory) - output.nbytes
        for view, spec in zip(chosen.views, chosen.problem.tensors, strict=False):
            more -= 0 if view else spec.nbytes
        nodes = (len(_cut(graph).rest.operations) - 1) * output.size / (SHARE * info.flops)
        nodes += _before(chosen.engine, chosen.problem, handle)
        launches = 1
        if chosen.problem.sums is not None:
            launches = 2
            more = max(more, 0) + 2 * _bytes(chosen.problem, _parts(chosen.engine, chosen.problem, info))
        moved = max(more, 0) / (SHARE * info.bandwidth)
        if info.schedule == "cpu" and isinstance(chosen.problem, ConvolutionBackwardFilter):
            moved += 2 * output.nbytes / info.bandwidth  # no gain: a pass over so little finds it in the caches
        return chosen.engine.seconds(chosen.problem, info) + moved + nodes + launches * LAUNCH_SECONDS

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        running = _Running(graph, handle)
        names = (tuple(operation.name for operation in graph.operations),)
        return GraphPlan(self, graph, running.workspace_size, running.run, running.bind, {}, names, running.source)
