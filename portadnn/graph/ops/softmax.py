"""Softmax along one axis, with the logarithm of the sum of exponentials on request."""

from __future__ import annotations

from ..api.arguments import flag, whole
from ..layout import like
from ..node import Attribute, Kind, Node, Port, register


def _settle(node: Node) -> None:
    dims = node.dims("P")
    axis = node["axis"]
    if not -len(dims) <= axis < len(dims):
        raise node.fail("PG-SOFTMAX-001", argument="axis", expected=f"an axis of {len(dims)} dims", got=axis)
    axis = node.attributes["axis"] = axis % len(dims)
    node.settle_like("S", "P")
    if not node["use_stats"]:
        node.outputs.pop("STATS", None)
    stats = (*dims[:axis], 1, *dims[axis + 1 :])
    node.settle("STATS", stats, like(stats, dims, node.strides("P")), "P's, with 1 along the axis")


register(
    Kind(
        "softmax",
        (Port("P"),),
        (Port("S"), Port("STATS", optional=True)),
        _settle,
        (Attribute("axis", whole, -1), Attribute("use_stats", flag, False)),
    )
)
