"""Products of a mixture of experts: rows of tokens, sorted by expert, each by the matrix of its expert.

Expert e has the rows from ``FIRST_TOKEN_OFFSET[e]`` up to the next expert's first one, the last expert all that are
left. Rows before the first expert's give zeros.
"""

from __future__ import annotations

from ..api.arguments import member_of, whole
from ..data_types import data_type
from ..enums import moe_grouped_matmul_mode
from ..layout import row_major
from ..node import Attribute, Kind, Node, Port, register

Mode = moe_grouped_matmul_mode


def _check_integers(node: Node, port: str, rows: int, why: str) -> None:
    node.demand_dims(port, (rows, 1, 1) if port == "FIRST_TOKEN_OFFSET" else (1, rows, 1), why)
    if node.has(port) and node.inputs[port].get_data_type() is not data_type.INT32:
        got = node.inputs[port].get_data_type()
        raise node.fail("PG-MOE-001", port, expected="INT32", got=got, fix="set_data_type(data_type.INT32)")


def _check_batch(node: Node, *ports: str) -> None:
    for port in ports:
        node.demand_rank(port, 3, 3)
        if port != "WEIGHT" and node.dims(port)[0] != 1:
            rows = [1, node.dims(port)[0] * node.dims(port)[1], node.dims(port)[2]]
            raise node.fail("PG-MOE-002", port, expected=f"one batch, {rows}", got=list(node.dims(port)))


def _forward(node: Node) -> None:
    _check_batch(node, "TOKEN", "WEIGHT")
    (_, tokens, width), (experts, _, out) = node.dims("TOKEN"), node.dims("WEIGHT")
    node.demand_dims("WEIGHT", (experts, width, out), "[experts, TOKEN's last dim, N]")
    _check_integers(node, "FIRST_TOKEN_OFFSET", experts, "one for each expert")
    mode, rows = node["mode"], tokens
    if mode is Mode.COMBINE:
        names = "NONE, GATHER or SCATTER"
        raise node.fail("PG-MOE-003", argument="mode", expected=names, got=mode, fix="SCATTER, mul and reduction")
    wanted = {Mode.GATHER: ["TOKEN_INDEX"], Mode.SCATTER: ["TOKEN_INDEX", "TOKEN_KS"]}.get(mode, [])
    given = [port for port in ("TOKEN_INDEX", "TOKEN_KS") if node.has(port)]
    if given != wanted and given != wanted[:1]:
        expected = " and ".join(wanted) or "neither TOKEN_INDEX nor TOKEN_KS"
        raise node.fail(
            "PG-MOE-004", argument="mode", expected=f"{expected} for {mode}", got=", ".join(given) or "none"
        )
    if mode is Mode.GATHER:
        node.demand_rank("TOKEN_INDEX", 3, 3)
        rows = node.dims("TOKEN_INDEX")[1]
    for port in given:
        _check_integers(node, port, rows, "one for each row")
    dims = (1, rows, out)
    node.settle("OUTPUT", dims, row_major(dims), "[1, rows, WEIGHT's last dim]")


def _backward(node: Node) -> None:
    _check_batch(node, "DOUTPUT", "TOKEN")
    (_, rows, out), (_, _, width) = node.dims("DOUTPUT"), node.dims("TOKEN")
    node.demand_dims("TOKEN", (1, rows, width), "rows as DOUTPUT")
    node.demand_rank("FIRST_TOKEN_OFFSET", 3, 3)
    experts = node.dims("FIRST_TOKEN_OFFSET")[0]
    _check_integers(node, "FIRST_TOKEN_OFFSET", experts, "one for each expert")
    dims = (experts, width, out)
    node.settle("DWEIGHT", dims, (width * out, 1, width), "[experts, TOKEN's last dim, DOUTPUT's last dim]")


register(
    Kind(
        "moe_grouped_matmul",
        (
            *(Port(name) for name in ("TOKEN", "WEIGHT", "FIRST_TOKEN_OFFSET")),
            *(Port(name, optional=True) for name in ("TOKEN_INDEX", "TOKEN_KS")),
        ),
        (Port("OUTPUT"),),
        _forward,
        (Attribute("mode", member_of(Mode), Mode.NONE), Attribute("top_k", whole, 0)),
    )
)
register(
    Kind(
        "moe_grouped_matmul_bwd",
        tuple(Port(name) for name in ("DOUTPUT", "TOKEN", "FIRST_TOKEN_OFFSET")),
        (Port("DWEIGHT"),),
        _backward,
    )
)
