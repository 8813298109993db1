"""From a graph's operations to primitive nodes: norms and softmax become reductions with pointwise nodes around."""

from __future__ import annotations

import functools
from collections.abc import Callable

from portadnn.graph.enums import pointwise_mode as mode
from portadnn.graph.enums import reduction_mode
from portadnn.graph.operation_graph import OperationGraph

from ..values import Program, Value
from .expander import Expander
from .moving import RULES as MOVING
from .norm import RULES as NORMS


def _pointwise(e: Expander) -> None:
    names = ("relu_lower_clip_slope", "relu_lower_clip", "relu_upper_clip", "elu_alpha", "softplus_beta", "swish_beta")
    attributes = {name: e.operation[name] for name in names}
    if e.operation["axis"] is not None:
        attributes["axis"] = e.axis(e.operation["axis"], "IN_0")
    inputs = [e.input(port) for port, _ in e.operation.inputs]
    e.point(e.operation["mode"], *inputs, out=e.output("OUT_0"), **attributes)


def _reduction(e: Expander) -> None:
    e.reduce(e.operation["mode"], e.input("X"), e.dims("Y"), e.output("Y"))


def _genstats(e: Expander) -> None:
    x, dims = e.input("X"), e.dims("SUM")
    e.reduce(reduction_mode.ADD, x, dims, e.output("SUM"))
    e.reduce(reduction_mode.ADD, e.point(mode.MUL, x, x), dims, e.output("SQ_SUM"))


def _softmax(e: Expander) -> None:
    """exp(x - max) / sum; the logarithm of the sum on request, -inf where all is."""
    x = e.input("P")
    axis = e.axis(e.operation["axis"], "P")
    dims = (*x.dims[:axis], 1, *x.dims[axis + 1 :])
    top = e.reduce(reduction_mode.MAX, x, dims)
    powers = e.point(mode.EXP, e.point(mode.SUB, x, top))
    total = e.reduce(reduction_mode.ADD, powers, dims)
    e.point(mode.DIV, powers, total, out=e.output("S"))
    if e.has("STATS"):
        sums = e.point(mode.ADD, top, e.point(mode.LOG, total))
        finite = e.point(mode.CMP_EQ, sums, sums)  # -inf - -inf is NaN: then all is -inf, or something is NaN
        e.point(mode.BINARY_SELECT, sums, top, finite, out=e.output("STATS"))


RULES: dict[str, Callable[[Expander], None]] = {
    "pointwise": _pointwise,
    "reduction": _reduction,
    "genstats": _genstats,
    "softmax": _softmax,
    **NORMS,
    **MOVING,
}


@functools.lru_cache(maxsize=256)
def expand(graph: OperationGraph) -> Program:
    """Return a graph of operations of `RULES`, on tensors of types in ``values.STORAGE``, as primitive nodes.

    Raises
    ------
    NotInMemory
        What an operation moves is computed here, and where it goes is read here.
    """
    program = Program(max((len(info.dims) for info in graph.infos), default=1))
    known: dict[int, Value] = {}
    for operation in graph.operations:
        RULES[operation.kind](Expander(program, graph, known, operation))
    return program
