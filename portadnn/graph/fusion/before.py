"""Which of the nodes before a product can be computed in the kernel that reads its operands."""

from __future__ import annotations

from collections.abc import Iterator

from ..operation_graph import Operation, OperationGraph


def before_product(graph: OperationGraph, product: Operation) -> Iterator[list[Operation]]:
    """Yield choices of pointwise nodes that only serve a product: for all its operands, and for each of several.

    Each node computes as many numbers as the operand has, virtual ones that nothing else reads.
    """
    each = {uid: _serving(graph, product, uid) for _, uid in product.inputs}
    found = [nodes for nodes in each.values() if nodes]
    if len(found) > 1:
        chosen = {id(node) for nodes in found for node in nodes}
        yield [node for node in graph.operations if id(node) in chosen]
    yield from found


def _serving(graph: OperationGraph, product: Operation, operand: int) -> list[Operation]:
    """Return the nodes that compute an operand, in order."""
    dims = graph.by_uid[operand].dims
    wanted, found = {operand}, []
    done = {id(product)}
    for node in reversed(graph.operations):
        results = {uid for _, uid in node.outputs}
        if not results & wanted or node.kind != "pointwise":
            continue
        infos = [graph.by_uid[uid] for uid in results]
        readers = [one for one in graph.operations if any(uid in results for _, uid in one.inputs)]
        if all(info.virtual and info.dims == dims for info in infos) and all(id(one) in done for one in readers):
            found.append(node)
            done.add(id(node))
            wanted |= {uid for _, uid in node.inputs}
    return found[::-1]
