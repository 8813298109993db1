"""Loading pages: (b, h, s, d) of a container (pages, h, page, d) and a table of the pages of each sequence."""

from __future__ import annotations

from ..api.arguments import whole
from ..data_types import data_type
from ..layout import row_major
from ..node import Attribute, Kind, Node, Port, register


def _settle(node: Node) -> None:
    for port in ("CONTAINER", "PAGE_TABLE"):
        node.demand_rank(port, 4, 4)
    (_, heads, size, width), table, length = node.dims("CONTAINER"), node.dims("PAGE_TABLE"), node["max_seq_len"]
    node.demand_dims("PAGE_TABLE", (table[0], 1, max(table[2], -(-length // size)), 1), "[b, 1, pages, 1]")
    if node.inputs["PAGE_TABLE"].get_data_type() is not data_type.INT32:
        got = node.inputs["PAGE_TABLE"].get_data_type()
        raise node.fail("PG-SDPA-005", "PAGE_TABLE", expected="INT32", got=got)
    dims = (table[0], heads, length, width)
    node.settle("Y", dims, row_major(dims), "[b, heads, max_seq_len, size]")


register(
    Kind(
        "paged_cache_load",
        (Port("CONTAINER"), Port("PAGE_TABLE")),
        (Port("Y"),),
        _settle,
        (Attribute("max_seq_len", whole),),
        computes=False,
    )
)
