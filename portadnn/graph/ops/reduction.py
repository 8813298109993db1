"""Reductions, and the sums that batch normalisation starts from."""

from __future__ import annotations

from ..api.arguments import member_of
from ..enums import reduction_mode
from ..layout import channels_last
from ..node import Attribute, Kind, Node, Port, register


def channel_dims(node: Node, port: str) -> tuple[int, ...]:
    """Return (1, c, 1, ...) for a tensor of at least two dims."""
    node.demand_rank(port, 2)
    dims = node.dims(port)
    return (1, dims[1], *(1,) * (len(dims) - 2))


def _reduction(node: Node) -> None:
    x, y = node.dims("X"), node.dims("Y") or node.dims("X")
    if len(y) != len(x):
        raise node.fail("PG-REDUCE-001", "Y", expected=f"{len(x)} dims, as X", got=len(y), fix="keep reduced dims as 1")
    for axis, (size, kept) in enumerate(zip(x, y, strict=True)):
        if kept not in (size, 1):
            raise node.fail(
                "PG-REDUCE-002",
                "Y",
                expected=f"dim[{axis}] = {size} as X, or 1 to reduce it",
                got=kept,
                fix=f"Y.set_dim({[1 if k not in (s, 1) else k for s, k in zip(x, y, strict=True)]})",
            )
    node.settle("Y", y, channels_last(y), "as set, or X's")


def _genstats(node: Node) -> None:
    dims = channel_dims(node, "X")
    for port in ("SUM", "SQ_SUM"):
        node.settle(port, dims, channels_last(dims), "one for each channel")


register(Kind("reduction", (Port("X"),), (Port("Y"),), _reduction, (Attribute("mode", member_of(reduction_mode)),)))
_SUMS = (Port("SUM", suffix="_sum_output"), Port("SQ_SUM", suffix="_sq_sum_output"))
register(Kind("genstats", (Port("X"),), _SUMS, _genstats))
