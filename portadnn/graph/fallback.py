"""The engine that works on every handle: a graph cut into nodes, each computed by Problems on the handle's plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..descriptors import TensorView
from ..errors import DnnError, NotSupported
from ..plan import choose, execute, make_problem
from ..problem import TensorSpec
from .engine import GraphEngine, GraphPlan
from .errors import GraphError, fail
from .lowering import lower
from .lowering.steps import ByValue, Lowering, Step, View
from .operation_graph import OperationGraph

if TYPE_CHECKING:
    from ..handle import Handle

ALIGNMENT = 256  # bytes, of what lies in the workspace


class FallbackEngine(GraphEngine):
    """Node by node. Virtual tensors lie in the workspace, each in its own type."""

    name = "fallback"

    def why_not(self, graph: OperationGraph, handle: Handle) -> Sequence[GraphError]:
        reasons = []
        for operation in graph.operations:
            try:
                for step in lower(graph, operation).steps:
                    _check(handle, step, operation.label)
            except GraphError as error:
                reasons.append(error)
        return reasons

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        lowered = [lower(graph, operation) for operation in graph.operations]
        memory = _Memory(graph, lowered)

        def run(arrays: Mapping[int, Any], workspace: Any) -> None:
            device = handle.device
            for number, low in enumerate(lowered):
                for step in low.steps:
                    tensors: list[Any] = []
                    for view in step.tensors:
                        if view is None:
                            tensors.append(None)
                            continue
                        base, offset = memory.place(number, view, arrays, workspace)
                        tensors.append(device.wrap(TensorView(view.spec, base, offset), graph.name))
                    scalars = tuple(float(arrays[s.uid]) if isinstance(s, ByValue) else s for s in step.scalars)
                    execute(handle, step.kind, tuple(tensors), step.params, scalars)

        return GraphPlan(self, graph, memory.size, run)


def _check(handle: Handle, step: Step, label: str) -> None:
    """Demand that the device has an engine for a step."""
    specs = [None if view is None else view.spec for view in step.tensors]
    try:
        problem = make_problem(handle, step.kind, specs, step.params)
        choose(handle, problem)
        _check_in_place(step)
    except DnnError as error:
        fix = "create_handle('reference')"
        raise fail("PG-ENGINE-005", node=label, argument=step.kind.op, got=str(error), fix=fix) from error


def _check_in_place(step: Step) -> None:
    """Demand of a step that writes what it reads that its Problem may."""
    views = dict(zip(step.kind.tensor_names(), step.tensors, strict=True))
    for out in step.kind.outputs:
        for name in step.kind.inputs:
            written, read = views[out], views[name]
            if written is None or read is None or written.memory != read.memory:
                continue
            other = step.kind.together.get((out, name))
            if (out, name) not in step.kind.in_place or written != read or (other and views[other] != written):
                raise NotSupported("it does not work in place", argument=out, expected="another tensor", got=name)


class _Memory:
    """Where virtual tensors and temporaries lie in the workspace: the temporaries of all nodes in the same place."""

    def __init__(self, graph: OperationGraph, lowered: Sequence[Lowering]) -> None:
        self.offsets: dict[int, int] = {}
        size = 0
        for info in graph.tensors:
            if info.virtual:
                self.offsets[info.uid] = size
                size += _rounded(info.extent)
        self.temporaries = []
        self.size = size
        for low in lowered:
            places, end = [], size
            for spec in low.temporaries:
                places.append(end)
                end += _rounded(_extent(spec))
            self.temporaries.append(places)
            self.size = max(self.size, end)

    def place(self, number: int, view: View, arrays: Mapping[int, Any], workspace: Any) -> tuple[Any, int]:
        """Return the memory in which a view of node `number` lies, and the elements to its first one."""
        if view.memory in arrays:
            return arrays[view.memory], view.offset
        start = self.temporaries[number][-1 - view.memory] if view.memory < 0 else self.offsets[view.memory]
        return workspace, start // view.spec.dtype.itemsize + view.offset


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _extent(spec: TensorSpec) -> int:
    return spec.span * spec.dtype.itemsize
