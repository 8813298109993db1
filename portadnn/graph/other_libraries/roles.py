"""The parts of a graph that rules speak of: the main operation, what is before and after it, and tensors by role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..operation_graph import Operation, OperationGraph, TensorInfo

Place: TypeAlias = tuple[Operation, str, TensorInfo]
MAINS = ("matmul", "conv_fprop", "conv_dgrad", "conv_wgrad")


@dataclass
class Case:
    """A graph as a surface sees it.

    Attributes
    ----------
    main : Operation or None
        The product or convolution.
    before, after : list of Operation
        What it needs, and the others.
    names : dict
        Uids by the names of the surface's pattern.
    """

    graph: OperationGraph
    main: Operation | None = None
    before: list[Operation] = field(default_factory=list)
    after: list[Operation] = field(default_factory=list)
    names: Mapping[str, int] = field(default_factory=dict)

    def places(self, of: str | Sequence[str]) -> list[Place]:
        """Return tensors with a node at which they are: by a name of the pattern, "kind.PORT", or a role."""
        if not isinstance(of, str):
            return [place for one in of for place in self.places(one)]
        if of in self.names:
            return [place for place in self._all() if place[2].uid == self.names[of]][:1]
        if of in _ROLES:
            return list(_ROLES[of](self))
        kind, _, port = of.partition(".")
        return [(o, p, i) for o, p, i in self._all() if o.kind == kind and p == port]

    def operations(self, of: str) -> list[Operation]:
        """Return operations: "main", "before", "after", "all", or of a kind."""
        if of == "main":
            return [] if self.main is None else [self.main]
        known = {"before": self.before, "after": self.after, "all": list(self.graph.operations)}
        return known[of] if of in known else [o for o in self.graph.operations if o.kind == of]

    def _of(self, operations: Sequence[Operation], ports: str = "both") -> Iterator[Place]:
        for operation in operations:
            inputs = operation.inputs if ports != "outputs" else ()
            outputs = operation.outputs if ports != "inputs" else ()
            for port, uid in inputs + outputs:
                info = self.graph.by_uid[uid]
                if not info.by_value:
                    yield operation, port, info

    def _all(self) -> Iterator[Place]:
        yield from self._of(self.graph.operations)

    def readers(self, uid: int) -> list[Operation]:
        """Return the operations that read a tensor."""
        return [o for o in self.graph.operations if any(one == uid for _, one in o.inputs)]


def divided(graph: OperationGraph, main: Operation | None) -> Case:
    """Return a graph with what its main operation needs apart from the rest."""
    case = Case(graph, main)
    needed = set() if main is None else {uid for _, uid in main.inputs}
    before = []
    for operation in reversed(graph.operations):
        if any(uid in needed for _, uid in operation.outputs) and operation is not main:
            before.append(operation)
            needed |= {uid for _, uid in operation.inputs}
    case.before = before[::-1]
    case.after = [o for o in graph.operations if o is not main and o not in before]
    return case


def _outside(case: Case, operations: Sequence[Operation]) -> Iterator[Place]:
    seen = set()
    for place in case._of(operations, "inputs"):
        uid = place[2].uid
        if uid not in case.graph.results and uid not in seen:
            seen.add(uid)
            yield place


def _results(case: Case) -> Iterator[Place]:
    return (place for place in case._of(case.graph.operations, "outputs") if not place[2].virtual)


def _virtual(case: Case) -> Iterator[Place]:
    return (place for place in case._of(case.graph.operations, "outputs") if place[2].virtual)


_ROLES: dict[str, Callable[[Case], Iterable[Place]]] = {
    "inputs": lambda case: _outside(case, case.graph.operations),
    "outputs": _results,
    "virtual": _virtual,
    "all": lambda case: {p[2].uid: p for p in case._all()}.values(),
    "main inputs": lambda case: case._of(case.operations("main"), "inputs"),
    "main output": lambda case: case._of(case.operations("main"), "outputs"),
    "before inputs": lambda case: _outside(case, [*case.before, *case.operations("main")]),
    "before virtual": lambda case: case._of(case.before, "outputs"),
    "after inputs": lambda case: _outside(case, case.after),
    "after tensors": lambda case: case._of(case.after),
    "reduction outputs": lambda case: case._of(case.operations("reduction"), "outputs"),
}
