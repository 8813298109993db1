"""The engine that works on every handle: a graph cut into nodes, each computed by Problems on the handle's plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..descriptors import TensorView
from ..enums import DataType
from ..errors import DnnError, NotSupported
from ..plan import choose, execute, make_problem
from ..problem import TensorSpec
from ..registry import get_backend
from .engine import GraphEngine, GraphPlan
from .errors import GraphError, fail
from .lowering import lower
from .lowering.steps import ByValue, Lowering, Step, View
from .operation_graph import Operation, OperationGraph
from .pack import in_workspace

if TYPE_CHECKING:
    from ..handle import Handle

ALIGNMENT = 256  # bytes, of what lies in the workspace


class FallbackEngine(GraphEngine):
    """Node by node: by Problems, or else by an engine of the backend that takes the node alone.

    Virtual tensors lie in the workspace, each in its own type.
    """

    name = "fallback"

    def why_not(self, graph: OperationGraph, handle: Handle) -> Sequence[GraphError]:
        return [part for part in _parts(graph, handle) if isinstance(part, GraphError)]

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        parts: list[Lowering | GraphPlan] = []
        for part in _parts(graph, handle):
            if isinstance(part, GraphError):
                raise part
            parts.append(part)
        memory = _Memory(graph, parts)

        def run(arrays: Mapping[int, Any], workspace: Any) -> None:
            for number, part in enumerate(parts):
                if isinstance(part, Lowering):
                    _run_steps(handle, memory, number, part, arrays, workspace)
                else:
                    _run_plan(handle, memory, number, part, arrays, workspace)

        return GraphPlan(self, graph, memory.size, run)


def _parts(graph: OperationGraph, handle: Handle) -> Iterator[Lowering | GraphPlan | GraphError]:
    """Yield what computes each node, or why nothing does."""
    for operation in graph.operations:
        try:
            lowered = lower(graph, operation)
            for step in lowered.steps:
                _check(handle, step, operation.label)
            yield lowered
        except GraphError as error:
            alone = _alone(graph, operation)
            engines = get_backend(handle.backend).graph_engines()
            other = next((engine for engine in engines if not engine.why_not(alone, handle)), None)
            yield error if other is None else other.prepare(alone, handle)


def _alone(graph: OperationGraph, operation: Operation) -> OperationGraph:
    """Return the graph of one node, whose tensors all are in memory."""
    tensors = (replace(graph.by_uid[uid], virtual=False) for uid in dict.fromkeys(operation.uids.values()))
    return OperationGraph(operation.name, (operation,), tuple(tensors))


def _run_steps(
    handle: Handle, memory: _Memory, number: int, low: Lowering, arrays: Mapping[int, Any], workspace: Any
) -> None:
    for step in low.steps:
        tensors: list[Any] = []
        for view in step.tensors:
            if view is None:
                tensors.append(None)
                continue
            base, offset = memory.place(number, view, arrays, workspace)
            tensors.append(handle.device.wrap(TensorView(view.spec, base, offset), low.operation.name))
        scalars = tuple(float(arrays[s.uid]) if isinstance(s, ByValue) else s for s in step.scalars)
        execute(handle, step.kind, tuple(tensors), step.params, scalars)


def _run_plan(
    handle: Handle, memory: _Memory, number: int, plan: GraphPlan, arrays: Mapping[int, Any], workspace: Any
) -> None:
    used = {}
    for info in plan.graph.packed:
        known = info.uid in arrays
        used[info.uid] = (
            arrays[info.uid] if known else in_workspace(handle.device, workspace, memory.offsets[info.uid], info)
        )
    scratch = None
    if plan.workspace_size:
        spec = TensorSpec(DataType.UINT8, (plan.workspace_size,), (1,))
        scratch = handle.device.wrap(TensorView(spec, workspace, memory.temporaries[number][0]), "workspace")
    plan.run(used, scratch)


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

    def __init__(self, graph: OperationGraph, parts: Sequence[Lowering | GraphPlan]) -> None:
        self.offsets: dict[int, int] = {}
        size = 0
        for info in graph.tensors:
            if info.virtual:
                self.offsets[info.uid] = size
                size += _rounded(info.extent)
        self.temporaries: list[list[int]] = []
        self.size = size
        for part in parts:
            places, end = [], size
            sizes = map(_extent, part.temporaries) if isinstance(part, Lowering) else [part.workspace_size]
            for nbytes in sizes:
                places.append(end)
                end += _rounded(nbytes)
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
