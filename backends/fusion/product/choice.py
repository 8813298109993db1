"""What computes a matrix product or a convolution with the nodes around it: the Problem, and the fastest engine."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any

from portadnn.errors import NotSupported
from portadnn.graph.operation_graph import OperationGraph
from portadnn.ops.convolution.calls import ConvolutionBackwardData, ConvolutionBackwardFilter, ConvolutionForward
from portadnn.problem import Problem

from ...base import EFFICIENCY, DeviceInfo, Engine
from ...engines import kernel_engines
from ...engines.conv.epilogue import (
    BackwardDataWithEpilogue,
    BackwardFilterWithEpilogue,
    ForwardOfBytes,
    ForwardWithEpilogue,
)
from ...engines.conv.prologue import (
    BackwardDataWithPrologue,
    BackwardFilterWithPrologue,
    ComputesOperands,
    ForwardWithPrologue,
    WithPrologue,
    computed,
    steps_of,
)
from ...engines.conv.sums import AddsUp, Parts, Sums
from .byte_pairs import takes_bytes, with_float_sums
from .texts import OPERANDS, Fused, fused

FusedProblem = ForwardWithEpilogue | BackwardDataWithEpilogue | BackwardFilterWithEpilogue
KINDS: dict[type[Problem], tuple[type[FusedProblem], type[FusedProblem]]] = {
    ConvolutionForward: (ForwardWithEpilogue, ForwardWithPrologue),
    ConvolutionBackwardData: (BackwardDataWithEpilogue, BackwardDataWithPrologue),
    ConvolutionBackwardFilter: (BackwardFilterWithEpilogue, BackwardFilterWithPrologue),
}


@dataclass(frozen=True)
class Chosen:
    """A graph's convolution and the engine that is the fastest to compute it."""

    problem: FusedProblem
    engine: Engine

    @property
    def fused(self) -> Fused:
        """The texts of what is around the convolution."""
        return self.problem.fused


@functools.lru_cache(maxsize=256)
def chosen_for(graph: OperationGraph, info: DeviceInfo, aligned: bool = True) -> Chosen:
    """Return what computes a graph that its nodes, types and shapes allow; `aligned`: operands begin at whole chunks.

    Raises
    ------
    DnnError
        The product is no single convolution, or no engine takes it.
    """
    vectors = info.schedule == "cpu"
    if takes_bytes(graph):
        try:
            if not aligned:
                raise NotSupported("bytes that do not lie at multiples of 16 bytes")
            return _chosen(graph, fused(graph, vectors, pairs=True), vectors, info, ForwardOfBytes)
        except NotSupported as error:
            if with_float_sums(graph) is not graph:
                raise NotSupported(f"sums of INT32: {error}") from None
    return _chosen(graph, fused(graph, vectors), vectors, info)


def _chosen(
    graph: OperationGraph, made: Fused, vectors: bool, info: DeviceInfo, kind: type[FusedProblem] | None = None
) -> Chosen:
    """Return the convolution as a problem of a kind, the plain one's by default, and its fastest engine."""
    given: dict[str, Any] = {one.name: getattr(made.plain, one.name) for one in fields(made.plain)}
    kind = kind or KINDS[type(made.plain)][bool(made.before)]
    problem = kind(**given, graph=graph, vectors=vectors)
    return Chosen(problem, fastest(problem, info))


def fastest(problem: Problem, info: DeviceInfo) -> Engine:
    """Return the fastest engine for a convolution by its estimate.

    Raises
    ------
    NotSupported
        No engine takes it.
    """
    engines = [engine for engine in kernel_engines() if type(problem) in engine.problems]
    reasons = {engine.name: engine.refusal(problem, info) for engine in engines}
    takers = [engine for engine in engines if reasons[engine.name] is None and engine.serves(problem, None)]
    if not takers:
        raise NotSupported("; ".join(f"{name}: {reason}" for name, reason in reasons.items()) or "no engine does that")

    def seconds(engine: Engine) -> float:
        return engine.seconds(problem, info) + computing_seconds(engine, problem, info)

    return min(takers, key=seconds)


def computing_seconds(engine: Engine, problem: Problem, info: DeviceInfo) -> float:
    """Estimate what computing an engine's operands takes beside reading them."""
    if not isinstance(problem, WithPrologue):
        return 0.0
    assert isinstance(engine, ComputesOperands)
    elements, total = engine.computed_elements(problem, info), 0.0
    for name in OPERANDS:
        one = computed(problem, name)
        if one is not None:
            total += steps_of(one, info.schedule, name) * elements[name]
    return total / (EFFICIENCY * info.flops)


def parts_of(engine: Engine, problem: FusedProblem, info: DeviceInfo) -> Parts:
    """Return where an engine's kernel leaves the parts of sums."""
    assert isinstance(engine, AddsUp)
    return engine.parts(problem, info)


def bytes_of(sums: Sums | None, parts: Parts) -> int:
    """Return the bytes of the parts of sums."""
    return 4 * sums.count * sums.pitch(parts.slices) if sums else 0
