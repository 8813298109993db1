"""Which sums over a product's results can be taken in the kernel that stores it."""

from __future__ import annotations

from collections.abc import Sequence

from ..operation_graph import Operation, OperationGraph

KINDS = ("genstats", "reduction")


def closing(
    graph: OperationGraph, product: Operation, chosen: Sequence[Operation], following: Sequence[Operation]
) -> list[Operation]:
    """Return the sums of `following` over what a product and the chosen nodes give, where nothing else reads that.

    A launch that reads it anyway takes sums along.

    Parameters
    ----------
    chosen
        Pointwise nodes that the product's kernel computes.
    following
        Operations in order, among them these.
    """
    size = graph.at(product, product.outputs[0][0]).size
    made = {uid for one in (product, *chosen) for _, uid in one.outputs if graph.by_uid[uid].size == size}
    readers = [one for one in graph.operations if one not in chosen and {uid for _, uid in one.inputs} & made]
    sums = [one for one in following if one.kind in KINDS and one.inputs[0][1] in made]
    return sums if len(sums) == len(readers) else []
