"""How a program is cut into launches: each goes over one space of places, and may take sums along some of its axes.

Values within a launch are never in memory. What several launches need is computed in each of them, but for results of
reductions, which the first of them leaves in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from portadnn.graph.layout import Dims

from .values import Node, Program, Value

SplitsPasses = Callable[[Dims, tuple[int, ...]], bool]


@dataclass(eq=False)
class Stage:
    """One launch: a loop over `dims`, of which the reduced `axes` are innermost.

    Attributes
    ----------
    reductions : list of Node
        Those that it computes; all of x of `dims`, over `axes`.
    stores : list of Value
        What it leaves in memory, of `dims` or with ones along `axes`.
    loads : list of Value
        What it reads; in the order in which it is met.
    passes : dict of Node to int
        For each reduction the reading of the data that it is computed in, from 1 on; 0 for one place's alone.
    """

    dims: Dims
    axes: tuple[int, ...] = ()
    reductions: list[Node] = field(default_factory=list)
    stores: list[Value] = field(default_factory=list)
    loads: list[Value] = field(default_factory=list)
    passes: dict[Node, int] = field(default_factory=dict)

    @property
    def kept(self) -> Dims:
        """The dims with ones along the reduced axes."""
        return tuple(1 if axis in self.axes else size for axis, size in enumerate(self.dims))

    @property
    def sums(self) -> bool:
        """Whether it reduces."""
        return bool(self.reductions)

    def inner(self, value: Value) -> bool:
        """Tell whether a value differs along the reduced axes."""
        return self.sums and not value.within(self.kept)

    def pass_of(self, value: Value) -> int:
        """Return the pass in which a value can be computed: after those of the reductions that it needs."""
        found = [self.passes[node] + 1 for node in _reductions_of(value) if node in self.passes]
        return max(found, default=1)

    @property
    def last_pass(self) -> int:
        """Number of readings of the data."""
        inner = [self.pass_of(value) for value in self.stores if self.inner(value)]
        return max([*self.passes.values(), *inner], default=0)

    @property
    def totals(self) -> list[Node]:
        """The reductions that take all places."""
        return [node for node in self.reductions if not node.samples]

    @property
    def divisible(self) -> bool:
        """Whether several work-groups can share a result, in slices: the data are read once, and all of them.

        What is written place by place may be in an input's place, of which slices would look for the first.
        """
        alone = len(self.totals) == len(self.reductions) or not any(self.inner(value) for value in self.stores)
        return self.last_pass == 1 and bool(self.totals) and alone

    def cone(self, roots: Iterable[Value]) -> list[Value]:
        """Return what has to be there for some values, themselves included, in an order in which it can be computed."""
        ordered: dict[int, Value] = {}

        def visit(value: Value) -> None:
            if id(value) in ordered:
                return
            if value.node is not None and id(value) not in self._given:
                for one in value.node.inputs:
                    visit(one)
            ordered[id(value)] = value

        for root in roots:
            visit(root)
        return list(ordered.values())

    def computes(self, value: Value) -> bool:
        """Tell whether a value of the cone is computed here by a pointwise node."""
        return value.node is not None and id(value) not in self._given and not value.node.reduces

    def settle(self, stored: set[int]) -> None:
        """Find out what is loaded, given what earlier launches have stored."""
        self._given = stored
        roots = [*self.stores, *(node.inputs[0] for node in self.reductions)]
        self.loads = [
            value for value in self.cone(roots) if (value.node is None or id(value) in stored) and not _is_number(value)
        ]

    _given: set[int] = field(default_factory=set)


def _is_number(value: Value) -> bool:
    return value.info is not None and value.info.by_value


def _reductions_of(value: Value) -> set[Node]:
    """Return the reductions that a value needs at once, itself if it is one."""
    found: set[Node] = set()
    seen: set[int] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if id(one) in seen or one.node is None:
            continue
        seen.add(id(one))
        if one.node.reduces:
            found.add(one.node)
        else:
            stack.extend(one.node.inputs)
    return found


class Cutter:
    """Assigns reductions and outputs to launches."""

    def __init__(self, program: Program, splits: SplitsPasses) -> None:
        self.program, self.splits = program, splits
        self.stages: list[Stage] = []
        self.home: dict[Node, Stage] = {}

    def cut(self) -> list[Stage]:
        """Return the launches in order."""
        needed = self._needed()
        for node in self.program.nodes:
            if node in needed and node.reduces:
                self._place_reduction(node)
        for value in self.program.outputs:
            if value.node is not None and not value.node.reduces:
                self._place_output(value)
        self._leave_results()
        stages = self._in_order()
        stored: set[int] = set()
        for stage in stages:
            stage.settle(stored - {id(node.out) for node in stage.reductions})
            stored |= {id(value) for value in stage.stores}
        return stages

    def _needed(self) -> set[Node]:
        needed: set[Node] = set()
        stack = list(self.program.outputs)
        while stack:
            node = stack.pop().node
            if node is not None and node not in needed:
                needed.add(node)
                stack.extend(node.inputs)
        return needed

    def _after(self, needs: set[Node]) -> int:
        """Return the number of the first stage in which some reductions are known, or become so."""
        return max((self.stages.index(self.home[node]) for node in needs), default=0)

    def _place_reduction(self, node: Node) -> None:
        dims, axes = node.inputs[0].dims, node.axes
        needs = _reductions_of(node.inputs[0])
        for stage in self.stages[self._after(needs) :]:
            inside = any(self.home[need] is stage and stage.passes[need] for need in needs)
            if stage.sums and (stage.dims, stage.axes) == (dims, axes) and not (inside and self.splits(dims, axes)):
                break
        else:
            stage = Stage(dims, axes)
            self.stages.append(stage)
        self.home[node] = stage
        before = [stage.passes[need] for need in needs if need in stage.passes]
        stage.passes[node] = 0 if node.samples and not before else 1 + max(before, default=0)
        stage.reductions.append(node)

    def _place_output(self, value: Value) -> None:
        needs = _reductions_of(value)
        first = self._after(needs)
        for stage in self.stages[first:]:
            inside = any(self.home[need] is stage for need in needs)
            if inside and self.splits(stage.dims, stage.axes) and value.dims != stage.kept:
                continue
            shares = inside or (stage.sums and self._passes_by(stage, value)) or not stage.sums
            if shares and value.dims in (stage.dims, stage.kept):
                break
        else:
            stage = Stage(value.dims)
            self.stages.append(stage)
        stage.stores.append(value)

    def _passes_by(self, stage: Stage, value: Value) -> bool:
        """Tell whether a launch computes a value anyway."""
        stack, seen = [node.inputs[0] for node in stage.reductions], set()
        while stack:
            one = stack.pop()
            if one is value:
                return True
            if id(one) not in seen and one.node is not None:
                seen.add(id(one))
                stack.extend(one.node.inputs)
        return False

    def _leave_results(self) -> None:
        """Have each reduction's result stored that is an output, or that another launch needs."""
        for node, home in self.home.items():
            wanted = any(value is node.out for value in self.program.outputs)
            for stage in self.stages:
                if stage is not home and not wanted:
                    roots = [*stage.stores, *(other.inputs[0] for other in stage.reductions)]
                    wanted = any(node in _reductions_of(root) for root in roots)
            if wanted:
                home.stores.append(node.out)

    def _in_order(self) -> list[Stage]:
        """Return the launches so that those which write whole tensors come late: these may be in an input's place."""
        order: list[Stage] = []
        waiting = list(self.stages)
        while waiting:
            ready = [stage for stage in waiting if not any(other in waiting for other in self._before(stage))]
            quiet = [stage for stage in ready if all(value.dims == stage.kept != stage.dims for value in stage.stores)]
            chosen = (quiet or ready)[0]
            waiting.remove(chosen)
            order.append(chosen)
        return order

    def _before(self, stage: Stage) -> set[Stage]:
        roots = [*stage.stores, *(node.inputs[0] for node in stage.reductions)]
        found = {self.home[node] for root in roots for node in _reductions_of(root)}
        for node in stage.reductions:
            found |= {self.home[need] for need in _reductions_of(node.inputs[0])}
        return found - {stage}


def cut(program: Program, splits: SplitsPasses) -> list[Stage]:
    """Return a program's launches in order.

    Parameters
    ----------
    splits
        ``splits(dims, axes)`` tells whether a reduction that needs another one of the same space goes to a launch of
        its own, because a work-group for each result would leave most of the device idle.
    """
    return Cutter(program, splits).cut()
