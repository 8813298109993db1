"""What computes a matrix product or a convolution with pointwise nodes around it: the Problem, its text, its engine."""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from portadnn.enums import DataType
from portadnn.errors import NotSupported
from portadnn.graph.lowering import lower
from portadnn.graph.lowering.steps import View
from portadnn.graph.operation_graph import OperationGraph
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem

from ...base import EFFICIENCY, DeviceInfo, Engine
from ...engines.conv.epilogue import WrittenBackwardData, WrittenBackwardFilter, WrittenForward
from ...engines.conv.prologue import (
    OPERANDS,
    Computed,
    ComputedBackwardData,
    ComputedBackwardFilter,
    ComputedForward,
    ComputesOperands,
    WithComputed,
    computed,
    operand_of,
)
from ...engines.conv.sums import AddsUp, Parts, Sums, sums_over
from ..before import Split, split, write
from ..prepare import BY_SIZE
from ..values import Value
from . import kernels as product
from .sums import Totals

if TYPE_CHECKING:
    from portadnn.handle import Handle

PRODUCTS = ("conv_dgrad", "conv_fprop", "conv_wgrad", "matmul")
WrittenProblem = WrittenForward | WrittenBackwardData | WrittenBackwardFilter
WRITTEN: dict[type[Problem], type[WrittenProblem]] = {
    ConvolutionForward: WrittenForward,
    ConvolutionBackwardData: WrittenBackwardData,
    ConvolutionBackwardFilter: WrittenBackwardFilter,
}
COMPUTED: dict[type[Problem], type[WrittenProblem]] = {
    ConvolutionForward: ComputedForward,
    ConvolutionBackwardData: ComputedBackwardData,
    ConvolutionBackwardFilter: ComputedBackwardFilter,
}
SUMS = ("genstats", "reduction")
AFTER = ("pointwise", *SUMS)
MOST_KNOWN = 64  # graphs of a handle


@functools.lru_cache(maxsize=256)
def split_at_product(graph: OperationGraph) -> Split | None:
    """Return the graph cut at its product; None where it has not just one, pointwise nodes around and sums after it."""
    parts = split(graph, PRODUCTS)
    if parts is None or not parts.nodes:
        return None
    before = (node for one in parts.before.values() for node in one.operations)
    fits = all(one.kind == "pointwise" for one in before)
    return parts if fits and all(one.kind in AFTER for one in parts.rest.operations[1:]) else None


def must_split(graph: OperationGraph) -> Split:
    """Return the graph cut at its product, which it is known to have."""
    parts = split_at_product(graph)
    assert parts is not None
    return parts


@dataclass(frozen=True)
class Chosen:
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


_KNOWN: weakref.WeakKeyDictionary[Handle, dict[OperationGraph, Chosen]] = weakref.WeakKeyDictionary()


def chosen_for(graph: OperationGraph, handle: Handle) -> Chosen:
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


def _choose(graph: OperationGraph, handle: Handle) -> Chosen:
    parts = must_split(graph)
    single, first = parts.alone, parts.product
    after = product.After.of(parts.rest)
    y = replace(after.result, data_type=single.by_uid[first.inputs[0][1]].data_type)
    low = lower(replace(single, infos=tuple(y if one.uid == y.uid else one for one in single.infos)), first)
    if len(low.steps) != 1 or low.temporaries or low.steps[0].kind not in WRITTEN:
        raise NotSupported(f"{first.label} takes {len(low.steps)} steps")
    (step,) = low.steps
    views = [view for view in step.tensors if view is not None]
    plain = step.kind.of([view.spec for view in views], step.params)
    vectors = handle.info.schedule == "cpu"
    after_text = product.write(after, first.label, vectors)
    made = {first.uids[port]: part for port, part in parts.before.items()}
    names = {operand_of(plain, name): view for name, view in zip(plain.inputs, views, strict=False)}
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
    return Chosen(texts, read, problem, _engine(problem, handle))


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
    takers = [engine for engine in engines if reasons[engine.name] is None and engine.serves(problem, None)]
    if not takers:
        raise NotSupported("; ".join(f"{name}: {reason}" for name, reason in reasons.items()) or "no engine does that")

    def seconds(engine: Engine) -> float:
        return engine.seconds(problem, handle.info) + computing_seconds(engine, problem, handle)

    return min(takers, key=seconds)


def computing_seconds(engine: Engine, problem: Problem, handle: Handle) -> float:
    """Estimate what computing an engine's operands takes beside reading them."""
    if not isinstance(problem, WithComputed):
        return 0.0
    assert isinstance(engine, ComputesOperands)
    elements, total = engine.computed_elements(problem, handle.info), 0.0
    for name in OPERANDS:
        one = computed(problem, name)
        if one is not None:
            total += one.steps(handle.info.schedule, name) * elements[name]
    return total / (EFFICIENCY * handle.info.flops)


def parts_of(engine: Engine, problem: WrittenProblem, info: DeviceInfo) -> Parts:
    """Return where an engine's kernel leaves the parts of sums."""
    assert isinstance(engine, AddsUp)
    return engine.parts(problem, info)


def bytes_of(problem: WrittenProblem, parts: Parts) -> int:
    """Return the bytes of the parts of sums."""
    return 4 * problem.sums.count * problem.sums.pitch(parts.slices) if problem.sums else 0
