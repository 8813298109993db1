"""Nodes that only move elements within regions: what engines may take together, and what is worth it."""

from __future__ import annotations

from collections.abc import Sequence

from ..operation_graph import Operation, OperationGraph

KINDS = ("slice", "reshape", "transpose", "concatenate")
TURNED_BYTES = 1 << 20  # of a tensor in a cache, whose neighbours may be apart without harm


def moves(operations: Sequence[Operation]) -> bool:
    """Tell whether some operations only move elements."""
    return any(operation.kind in KINDS for operation in operations)


def turns(graph: OperationGraph, operation: Operation) -> bool:
    """Tell whether a large tensor is turned so that neighbours come apart, for which there is a kernel of its own."""
    if operation.kind != "transpose":
        return False
    x, y = (graph.at(operation, port) for port in "XY")
    nearest = min((axis for axis, size in enumerate(x.dims) if size > 1), key=lambda axis: x.strides[axis], default=0)
    near = next(place for place, axis in enumerate(operation["permutation"]) if axis == nearest)
    last = max((place for place, size in enumerate(y.dims) if size > 1), default=0)
    return near != last and x.size * x.data_type.itemsize > TURNED_BYTES
