"""Running the fallback engine's parts: where each step's tensors lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from portadnn_backends.base import Run, exchange_on, rank_of

from ...descriptors import TensorView
from ...dispatch.execute import execute, run_recorded
from ...dispatch.problems import make_problem
from ...enums import DataType
from ...problem import Problem, TensorSpec
from ..engine import GraphEngine, GraphPlan
from ..knobs import Knobs
from ..lowering.steps import ByValue, Exchange, Lowering, Step, View
from ..operation_graph import OperationGraph
from ..pack import in_workspace, lies_as

if TYPE_CHECKING:
    from portadnn_backends.base import Engine, Plan

    from ...handle import Handle

ALIGNMENT = 256  # bytes, of what lies in the workspace


class Forced:
    """An engine that computes a step whatever the handle would choose."""

    def __init__(self, handle: Handle, engine: Engine, problem: Problem) -> None:
        self.handle, self.engine = handle, engine
        self.plans: dict[Problem, Plan] = {problem: engine.prepare(problem, handle.device)}

    def plan(self, kind: type[Problem], tensors: Sequence[Any], params: Any) -> Plan:
        """Return the plan for some arrays, which may be aligned otherwise than was thought."""
        problem = make_problem(self.handle, kind, tensors, params)
        if problem not in self.plans:
            self.plans[problem] = self.engine.prepare(problem, self.handle.device)
        return self.plans[problem]

    def run(self, kind: type[Problem], tensors: Sequence[Any], params: Any, scalars: Sequence[float]) -> None:
        """Compute the step on arrays."""
        plan = self.plan(kind, tensors, params)
        scratch = self.handle.scratch(plan.workspace_size) if plan.workspace_size else None
        names = zip(kind.tensor_names(), tensors, strict=True)
        used = [tensors[-1] if array is None else array for name, array in names if getattr(plan.problem, name)]
        # what a number of 0 leaves out is not read
        run_recorded(self.handle.device, plan.run, plan.run.recordable, used, scalars, scratch)


class Running:
    """The parts of a graph with their memory, ready to run."""

    def __init__(
        self,
        handle: Handle,
        graph: OperationGraph,
        inside: OperationGraph,
        parts: Sequence[Lowering | GraphPlan],
        forced: Mapping[int, Forced],
    ) -> None:
        self.handle, self.graph, self.parts, self.forced = handle, graph, parts, forced
        self.memory = Memory(inside, parts)
        self.exchanges = {
            id(step): exchange_on(handle.device, step.size)
            for part in parts
            if isinstance(part, Lowering)
            for step in part.steps
            if isinstance(step, Exchange)
        }

    @property
    def recordable(self) -> bool:
        """Whether a recorder of the device sees all that a run does."""
        return all(exchange.recordable for exchange in self.exchanges.values())

    def run(self, given: Sequence[Any], numbers: Sequence[float], workspace: Any) -> None:
        """Compute all parts, one after another."""
        arrays = self.graph.keyed(given, numbers)
        for number, part in enumerate(self.parts):
            if isinstance(part, GraphPlan):
                used = self._of_plan(number, part, arrays, workspace)
                run_recorded(self.handle.device, part.run, part.run.recordable, *used)
                continue
            for step in part.steps:
                if isinstance(step, Exchange):
                    self._exchange(number, part, step, arrays, workspace)
                    continue
                tensors, scalars = self._of_step(number, part, step, arrays, workspace)
                if id(step) in self.forced:
                    self.forced[id(step)].run(step.kind, tensors, step.params, scalars)
                else:
                    execute(self.handle, step.kind, tensors, step.params, scalars)

    def _of_step(
        self, number: int, low: Lowering, step: Step, arrays: Mapping[int, Any], workspace: Any
    ) -> tuple[tuple[Any, ...], tuple[float, ...]]:
        """Return a step's arrays and numbers."""
        tensors = [None if view is None else self._array(number, low, view, arrays, workspace) for view in step.tensors]
        scalars = tuple(float(arrays[s.uid]) if isinstance(s, ByValue) else s for s in step.scalars)
        return tuple(tensors), scalars

    def _array(self, number: int, low: Lowering, view: View, arrays: Mapping[int, Any], workspace: Any) -> Any:
        """Return a view's array."""
        base, offset = self.memory.place(number, view, arrays, workspace)
        if view.memory in arrays and not offset and lies_as(base, view.spec):
            return base
        return self.handle.device.wrap(TensorView(view.spec, base, offset), low.operation.name)

    def _exchange(self, number: int, low: Lowering, step: Exchange, arrays: Mapping[int, Any], workspace: Any) -> None:
        """Meet the other ranks."""
        own, gathered = (
            [self._array(number, low, view, arrays, workspace) for view in views] for views in (step.own, step.gathered)
        )
        peers = [arrays[uid] for uid in step.peers]
        rank = rank_of(self.handle.device, peers, step.rank)
        self.exchanges[id(step)](rank, own, gathered, peers)

    def _of_plan(
        self, number: int, plan: GraphPlan, arrays: Mapping[int, Any], workspace: Any
    ) -> tuple[list[Any], list[float], Any]:
        """Return the arrays, the numbers and the workspace of another engine's plan."""
        device, offsets = self.handle.device, self.memory.offsets
        used = {}
        for info in plan.problem.packed:
            known = info.uid in arrays
            used[info.uid] = arrays[info.uid] if known else in_workspace(device, workspace, offsets[info.uid], info)
        scratch = None
        if plan.workspace_size:
            spec = TensorSpec(DataType.UINT8, (plan.workspace_size,), (1,))
            scratch = device.wrap(TensorView(spec, workspace, self.memory.temporaries[number][0]), "workspace")
        return *plan.problem.arguments(used), scratch


def plan_of_parts(
    engine: GraphEngine,
    handle: Handle,
    graph: OperationGraph,
    inside: OperationGraph,
    parts: Sequence[Lowering | GraphPlan],
    forced: Mapping[int, Forced],
    knobs: Knobs,
    names: tuple[tuple[str, ...], ...] = (),
) -> GraphPlan:
    """Return the plan of a graph in parts; `inside` has the virtual tensors that lie in its workspace."""
    running = Running(handle, graph, inside, parts, forced)
    source = "\n\n".join(part.source for part in parts if isinstance(part, GraphPlan) and part.source)
    run = Run(running.run, composite=running.recordable)
    return GraphPlan(graph, engine, running.memory.size, run, (), knobs, names, source)


class Memory:
    """Where virtual tensors and temporaries lie in the workspace: each in the first place that is free while it lives.

    A tensor lives from the part that writes it to the last one that reads it, a temporary for one part.
    """

    def __init__(self, graph: OperationGraph, parts: Sequence[Lowering | GraphPlan]) -> None:
        lives: dict[int, list[int]] = {}
        for number, part in enumerate(parts):
            for uid in _uids(part):
                if graph.by_uid[uid].virtual:
                    lives.setdefault(uid, [number, number])[1] = number
        room = _Room()
        self.offsets: dict[int, int] = {}
        for uid in sorted(lives, key=lambda uid: -graph.by_uid[uid].extent):  # large ones first leave fewer gaps
            self.offsets[uid] = room.place(graph.by_uid[uid].extent, *lives[uid])
        self.temporaries = [
            [
                room.place(nbytes, number, number)
                for nbytes in (map(_extent, part.temporaries) if isinstance(part, Lowering) else [part.workspace_size])
            ]
            for number, part in enumerate(parts)
        ]
        self.size = room.size

    def place(self, number: int, view: View, arrays: Mapping[int, Any], workspace: Any) -> tuple[Any, int]:
        """Return the memory in which a view of node `number` lies, and the elements to its first one."""
        if view.memory in arrays:
            return arrays[view.memory], view.offset
        start = self.temporaries[number][-1 - view.memory] if view.memory < 0 else self.offsets[view.memory]
        return workspace, start // view.spec.dtype.itemsize + view.offset


def _uids(part: Lowering | GraphPlan) -> Iterable[int]:
    """Return the uids of the tensors that a part reads and writes in memory."""
    if isinstance(part, Lowering):
        return part.operation.uids.values()
    return [info.uid for info in part.problem.packed]


class _Room:
    """A workspace being laid out."""

    def __init__(self) -> None:
        self.size = 0
        self.taken: list[tuple[int, int, int, int]] = []  # first byte, end, first part, last part

    def place(self, nbytes: int, first: int, last: int) -> int:
        """Return the first bytes that are free from one part to another."""
        beside = sorted(one for one in self.taken if one[2] <= last and first <= one[3])
        start, needed = 0, _rounded(nbytes)
        for begin, end, _, _ in beside:
            if start + needed <= begin:
                break
            start = max(start, end)
        self.taken.append((start, start + needed, first, last))
        self.size = max(self.size, start + needed)
        return start


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _extent(spec: TensorSpec) -> int:
    return spec.span * spec.dtype.itemsize
