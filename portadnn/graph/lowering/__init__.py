"""Nodes as steps that Problems compute: what the fallback engine runs on any handle's own plans."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import fail
from ..operation_graph import Operation, OperationGraph
from . import moving, norms, pointwise, products, windows
from .steps import Lowering

LOWERINGS: dict[str, Callable[[Lowering], None]] = {
    **moving.LOWERINGS,
    **norms.LOWERINGS,
    **pointwise.LOWERINGS,
    **products.LOWERINGS,
    **windows.LOWERINGS,
}


def lower(graph: OperationGraph, operation: Operation) -> Lowering:
    """Return an operation's steps.

    Raises
    ------
    cudnnGraphNotSupportedError
        Problems do not compute it, or not in these types (PG-ENGINE-002 to 004).
    """
    lowering = LOWERINGS.get(operation.kind)
    if lowering is None:
        raise fail(
            "PG-ENGINE-002",
            node=operation.label,
            argument="fallback",
            expected=", ".join(sorted(LOWERINGS)),
            got=operation.kind,
            fix="run it on a handle of the reference backend: create_handle('reference')",
        )
    made = Lowering(graph, operation)
    lowering(made)
    return made
