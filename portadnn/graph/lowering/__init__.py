"""Nodes as steps that Problems compute: what the fallback engine runs on any handle's own plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..errors import GraphError
from ..operation_graph import Operation, OperationGraph
from ..rules import fail
from . import moving, norms, pointwise, products, windows
from .steps import FIX, Lowering

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
            fix=FIX,
        )
    made = Lowering(graph, operation)
    lowering(made)
    return made


def mistyped(graph: OperationGraph, operation: Operation) -> Iterator[GraphError]:
    """Yield an error for each tensor of an operation whose type Problems do not take, and for the compute type."""
    low = Lowering(graph, operation)
    ports = [port for port, uid in operation.inputs + operation.outputs if not graph.by_uid[uid].by_value]
    wanted = None
    if operation.kind not in norms.LOWERINGS and operation.outputs:  # parameters of these have types of their own
        wanted = low.info(operation.outputs[0][0]).data_type.problem_type
    for port in ports:
        try:
            low.view(port, wanted)
        except GraphError as error:
            yield error
    if wanted is not None and wanted.is_float and operation.kind not in moving.LOWERINGS:
        try:
            low.check_compute(wanted)
        except GraphError as error:
            yield error
