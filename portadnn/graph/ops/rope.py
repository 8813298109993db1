"""Rotary position embedding, and its gradient: pairs of elements of a row turned by the angles of the row's position.

Element i of the first half of the first ``rope_dim`` elements and its partner in the second half are turned by the
angle in column i of the position's row of the table; what lies behind these is passed on. All is multiplied by
``output_scale``. cuDNN's node is of version 9.24 and without a text that defines it: this is what cudnn-frontend's
helpers for it (``yarn.py``) say, where they say it; the factor of elements that are not turned they leave open.
"""

from __future__ import annotations

from ..api.arguments import maybe_whole, number
from ..node import Attribute, Kind, Node, Port, register


def rotated(dims: tuple[int, ...], rope_dim: int | None) -> int:
    """Return how many elements of a row are turned."""
    return rope_dim or dims[3]


def _settle(x: str, y: str, node: Node) -> None:
    for port in (x, "FREQS"):
        node.demand_rank(port, 4, 4)
    dims, table = node.dims(x), node.dims("FREQS")
    turned = rotated(dims, node["rope_dim"])
    if not 0 < turned <= dims[3] or turned % 2:
        raise node.fail(
            "PG-ROPE-001", argument="rope_dim", expected=f"an even number of at most {dims[3]}, or None", got=turned
        )
    if table[0] < dims[2] or table[1:3] != (1, 1) or table[3] < turned // 2:
        wanted = f"[at least {dims[2]} positions, 1, 1, at least {turned // 2} angles]"
        raise node.fail("PG-ROPE-002", "FREQS", expected=wanted, got=list(table))
    node.settle_like(y, x)


def _kind(name: str, x: str, y: str) -> None:
    register(
        Kind(
            name,
            (Port(x), Port("FREQS")),
            (Port(y),),
            lambda node: _settle(x, y, node),
            (Attribute("output_scale", number, 1.0), Attribute("rope_dim", maybe_whole, None)),
        )
    )


_kind("rope", "X", "Y")
_kind("rope_bwd", "DY", "DX")  # as cuDNN calls it; a line of ``rope_backward`` is the operation's
