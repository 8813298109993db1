"""Which of the nodes after a product can be computed in the kernel that stores it."""

from __future__ import annotations

from collections.abc import Sequence

from ..layout import Dims, refines
from ..operation_graph import Operation, OperationGraph


def after_product(
    graph: OperationGraph, product: Operation, following: Sequence[Operation], late: set[int]
) -> list[Operation]:
    """Return the pointwise nodes of `following` that need a product's result, with those that these alone need.

    Parameters
    ----------
    following
        Operations in order.
    late
        Uids that are written after the product's kernel has to run, those of `following` among them.
    """
    made = {uid for _, uid in product.outputs}
    dims = graph.at(product, product.outputs[0][0]).dims
    left = [one for one in following if one.kind == "pointwise" and _within(graph, one, dims)]
    while True:
        reachable = _reachable(left, late - made)
        needing = _needing(reachable, made)
        chosen = _with_ancestors(reachable, needing)
        apart = [one for one in chosen if one not in needing and not _private(graph, one, chosen)]
        if not apart:
            return chosen
        left = [one for one in left if one not in apart]


def _within(graph: OperationGraph, operation: Operation, dims: Dims) -> bool:
    return refines(graph.at(operation, "OUT_0").dims, dims)


def _reads(operation: Operation) -> set[int]:
    return {uid for _, uid in operation.inputs}


def _writes(operation: Operation) -> set[int]:
    return {uid for _, uid in operation.outputs}


def _reachable(operations: Sequence[Operation], late: set[int]) -> list[Operation]:
    """Return the operations that need nothing late but each other."""
    found: list[Operation] = []
    missing = set(late)
    for operation in operations:
        if not _reads(operation) & missing:
            found.append(operation)
            missing -= _writes(operation)
    return found


def _needing(operations: Sequence[Operation], made: set[int]) -> list[Operation]:
    """Return the operations that need what is made."""
    found, known = [], set(made)
    for operation in operations:
        if _reads(operation) & known:
            found.append(operation)
            known |= _writes(operation)
    return found


def _with_ancestors(operations: Sequence[Operation], chosen: Sequence[Operation]) -> list[Operation]:
    """Return the chosen operations with what they need of the others, in order."""
    wanted = {uid for operation in chosen for uid in _reads(operation)}
    found = []
    for operation in reversed(operations):
        if operation in chosen or _writes(operation) & wanted:
            wanted |= _reads(operation)
            found.append(operation)
    return found[::-1]


def _private(graph: OperationGraph, operation: Operation, chosen: Sequence[Operation]) -> bool:
    """Tell whether only chosen operations read an operation's results."""
    results = _writes(operation)
    others = [one for one in graph.operations if one not in chosen and _reads(one) & results]
    return not others and all(graph.by_uid[uid].virtual for uid in results)
