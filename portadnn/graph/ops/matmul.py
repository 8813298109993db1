"""Matrix multiplication: C[..., m, n] = sum over k of A[..., m, k] * B[..., k, n], with broadcast batch dims."""

from __future__ import annotations

from ..api.arguments import number
from ..layout import broadcast, row_major
from ..node import Attribute, Kind, Node, Port, register


def _settle(node: Node) -> None:
    for port in ("A", "B"):
        node.demand_rank(port, 2)
    a, b = node.dims("A"), node.dims("B")
    if len(a) != len(b):
        raise node.fail(
            "PG-MATMUL-002",
            "B",
            expected=f"{len(a)} dims, as A",
            got=len(b),
            fix=f"put {abs(len(a) - len(b))} ones in front",
        )
    if a[-1] != b[-2]:
        raise node.fail(
            "PG-MATMUL-001",
            "B",
            expected=f"B.dim[-2] = {a[-1]}, as A.dim[-1] of A = {node.inputs['A'].describe()}",
            got=b[-2],
            fix=f"give B the dims {[*b[:-2], a[-1], b[-1]]}, or swap the last dims and strides of what lies transposed",
        )
    batch = broadcast([a[:-2], b[:-2]])
    if batch is None:
        raise node.fail(
            "PG-MATMUL-003",
            "B",
            expected=f"batch dims of 1 or as A's {list(a[:-2])}",
            got=list(b[:-2]),
            fix="repeat B, or A",
        )
    dims = (*batch, a[-2], b[-1])
    node.settle("C", dims, row_major(dims), "[batch, M, N] of A and B")


register(
    Kind("matmul", (Port("A"), Port("B")), (Port("C"),), _settle, (Attribute("padding", number, 0.0),)),
)
