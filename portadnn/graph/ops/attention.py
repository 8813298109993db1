"""Scaled dot-product attention and its gradient: O = softmax(scale * Q K^T + bias, masked) V, in one operation.

With rows i of queries and columns j of keys, a band keeps ``offset + right_bound >= j - i > offset - left_bound``; the
offset is 0, or with BOTTOM_RIGHT the number of keys less that of queries, of each sequence where these have lengths.
Columns and rows beyond a sequence's lengths are left out. A row without any column has O = 0 and a logarithm of -inf.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from ..api.arguments import flag, maybe_number, maybe_whole
from ..data_types import data_type
from ..enums import diagonal_alignment
from ..layout import Dims, like, refines, row_major
from ..node import Attribute, Kind, Node, Port, register
from .batch_norm import demand_scalars

LENGTHS = ("SEQ_LEN_Q", "SEQ_LEN_KV", "CU_SEQ_LEN_Q", "CU_SEQ_LEN_KV")
BLOCK = 128  # rows and columns behind one bit of a block mask
_INTEGERS = (data_type.INT32, data_type.INT64)


@dataclass(frozen=True)
class Sizes:
    """Of one attention: batch, heads of queries, keys and values, rows, columns, and lengths of what is multiplied."""

    b: int
    hq: int
    hk: int
    hv: int
    sq: int
    skv: int
    d: int
    dv: int

    @property
    def scores(self) -> Dims:
        """Dims of the scores."""
        return (self.b, self.hq, self.sq, self.skv)

    @property
    def rows(self) -> Dims:
        """Dims of what there is one of for each row of queries."""
        return (self.b, self.hq, self.sq, 1)


def keys_of(k: Dims, v: Dims, table_k: Dims | None, table_v: Dims | None, most: int | None) -> int:
    """Return the number of keys: K's or V's, or where both are paged as many as the pages have or `most` of them."""
    if table_k is None:
        return k[2]
    if table_v is None:
        return v[2]
    paged = min(table_k[2] * k[2], table_v[2] * v[2])
    return paged if most is None else most


def sizes_of(q: Dims, k: Dims, v: Dims, skv: int) -> Sizes:
    """Return the sizes behind the dims of queries, keys and values, (b, h, s, d) each or containers of pages."""
    return Sizes(q[0], q[1], k[1], v[1], q[2], skv, q[3], v[3])


def _unfit(node: Node, port: str, axis: int, wanted: int, why: str) -> Exception:
    dims = list(node.dims(port))
    dims[axis] = wanted
    return node.fail(
        "PG-SDPA-001",
        port,
        expected=f"dim[{axis}] = {wanted}, {why}",
        got=node.dims(port)[axis],
        fix=f"use dims {dims}",
    )


def _optional_dims(node: Node, port: str) -> Dims | None:
    return node.dims(port) if node.has(port) else None


def _sizes(node: Node) -> Sizes:
    """Check that queries, keys and values fit, and return the sizes."""
    for port in ("Q", "K", "V"):
        node.demand_rank(port, 4, 4)
        if not node.inputs[port].get_data_type().is_float:
            raise node.fail(
                "PG-SDPA-005", port, expected="a type with fractions", got=node.inputs[port].get_data_type()
            )
    q, k, v = (node.dims(port) for port in ("Q", "K", "V"))
    tables = {port: _optional_dims(node, f"PAGE_TABLE_{port}") for port in ("K", "V")}
    sizes = sizes_of(q, k, v, keys_of(k, v, tables["K"], tables["V"], node.attributes.get("max_seq_len_kv")))
    if k[3] != sizes.d:
        raise _unfit(node, "K", 3, sizes.d, "as dim[3] of Q")
    for port in ("K", "V"):
        dims, table = node.dims(port), tables[port]
        if sizes.hq % dims[1]:
            raise node.fail(
                "PG-SDPA-002",
                port,
                expected=f"dim[1] that divides the {sizes.hq} heads of Q",
                got=dims[1],
                fix=f"use {port}.dim[1] = {sizes.hq}, or a divisor of it",
            )
        if table is None and dims[0] != sizes.b:
            raise _unfit(node, port, 0, sizes.b, "as dim[0] of Q")
        if table is None and dims[2] != sizes.skv:
            raise _unfit(node, port, 2, sizes.skv, "the number of keys")
        if table is not None:
            _check_table(node, f"PAGE_TABLE_{port}", (sizes.b, 1, -(-sizes.skv // dims[2]), 1))
    return sizes


def _check_table(node: Node, port: str, wanted: Dims) -> None:
    if not node["use_padding_mask"]:
        raise node.fail(
            "PG-SDPA-012", port, expected="sequence lengths with pages", fix="pass use_padding_mask=True and seq_len_kv"
        )
    _demand_integers(node, port)
    node.demand_dims(port, wanted, "[b, 1, ceil(s_kv / dim[2] of the container), 1]")


def _demand_integers(node: Node, port: str, types: Sequence[data_type] = _INTEGERS) -> None:
    found = node.inputs[port].get_data_type()
    if found not in types:
        names = " or ".join(member.name for member in types)
        fix = f"set_data_type(data_type.{types[0].name})"
        raise node.fail("PG-SDPA-005", port, expected=names, got=found, fix=fix)


def _demand_broadcast(node: Node, port: str, wanted: Dims) -> None:
    if node.has(port) and (len(node.dims(port)) != 4 or not refines(node.dims(port), wanted)):
        raise node.fail(
            "PG-SDPA-006",
            port,
            expected=f"4 dims, each 1 or as the scores {list(wanted)}",
            got=list(node.dims(port)),
            fix=f"use dims {list(wanted)}",
        )


def lengths_port(ports: Container[str], side: str) -> str | None:
    """Return the port of the lengths of queries' (Q) or keys' (KV) sequences: one each, or sums of those before."""
    return next((port for port in (f"SEQ_LEN_{side}", f"CU_SEQ_LEN_{side}") if port in ports), None)


def is_cumulative(port: str) -> bool:
    """Tell whether a port has sums of lengths, from 0 on, one more than there are sequences."""
    return port.startswith("CU_")


def _check_lengths(node: Node, sizes: Sizes) -> None:
    given = [port for port in LENGTHS if node.has(port)]
    sides = {port.removeprefix("CU_") for port in given}
    if node["use_padding_mask"] != (len(sides) == 2) or len(given) not in (0, 2):
        raise node.fail(
            "PG-SDPA-004",
            argument="use_padding_mask",
            expected="use_padding_mask=True with one of seq_len_q and cu_seq_len_q and one of seq_len_kv and "
            "cu_seq_len_kv, or none of them",
            got=f"use_padding_mask={node['use_padding_mask']} and {', '.join(given) or 'no lengths'}",
            fix="pass use_padding_mask=True, seq_len_q=... and seq_len_kv=...",
        )
    for port in given:
        _demand_integers(node, port)
        count = sizes.b + is_cumulative(port)
        node.inputs[port].as_column((count, 1, 1, 1))
        node.demand_dims(port, (count, 1, 1, 1), "sums of lengths" if is_cumulative(port) else "one for each sequence")


def _check_band(node: Node, sizes: Sizes) -> None:
    for name, least in (("left_bound", 1), ("right_bound", 0)):
        if node[name] is not None and node[name] < least:
            raise node.fail("PG-SDPA-011", argument=name, expected=f"None or at least {least}", got=node[name])
    from_the_end = node["diagonal_alignment"] is diagonal_alignment.BOTTOM_RIGHT and node["right_bound"] is not None
    if sizes.sq > sizes.skv and not node["use_padding_mask"] and (from_the_end or node["left_bound"] is not None):
        raise node.fail(  # as cudnn-frontend does: programs that catch it compute these rows in their own way
            "PG-SDPA-015",
            "Q",
            expected=f"at most {sizes.skv} queries, as many as there are keys, in a band like this",
            got=sizes.sq,
            fix="slice q; or pass use_padding_mask=True with all lengths, and queries without a key give 0",
        )


def _check_dropout(node: Node, sizes: Sizes) -> None:
    probability, drawn = node["dropout_probability"], node.has("SEED") or node.has("OFFSET")
    if probability is not None and not 0 <= probability < 1:
        raise node.fail(
            "PG-SDPA-007", argument="dropout", expected="a probability to drop from 0 to below 1", got=probability
        )
    whole = probability is not None and node.has("SEED") and node.has("OFFSET")
    masked = node.has("DROPOUT_MASK") and node.has("DROPOUT_SCALE")
    if (drawn or probability is not None) != whole or (whole and node.has("DROPOUT_MASK")):
        raise node.fail(
            "PG-SDPA-007", argument="dropout", expected="probability, seed and offset together", fix="pass all three"
        )
    if node.has("DROPOUT_MASK") != masked:
        raise node.fail("PG-SDPA-007", argument="dropout", expected="mask and scale together", fix="pass both")
    for port in ("SEED", "OFFSET"):
        if node.has(port):
            _demand_integers(node, port)
    _demand_broadcast(node, "DROPOUT_MASK", sizes.scores)
    if node.has("RNG_DUMP") and not drawn:
        raise node.fail(
            "PG-SDPA-010", "RNG_DUMP", expected="dropout by probability, seed and offset", fix="leave rng_dump out"
        )
    node.settle("RNG_DUMP", sizes.scores, row_major(sizes.scores), "as the scores")


def _check_ragged(node: Node) -> None:
    for port, one in (*node.inputs.items(), *node.outputs.items()):
        if one.get_ragged_offset() is not None and not node["use_padding_mask"]:
            raise node.fail(
                "PG-SDPA-009",
                port,
                expected="the lengths of the sequences",
                got="ragged offsets alone",
                fix="pass use_padding_mask=True with seq_len_q and seq_len_kv",
            )


_SCALARS = ("ATTN_SCALE", "SEED", "OFFSET", "DROPOUT_SCALE", "DROPOUT_SCALE_INV")


def check_attention(node: Node) -> Sizes:
    """Check what forward and backward have in common, and return the sizes."""
    sizes = _sizes(node)
    _check_lengths(node, sizes)
    _check_ragged(node)
    _check_band(node, sizes)
    demand_scalars(node, *_SCALARS)
    _check_dropout(node, sizes)
    _demand_broadcast(node, "BIAS", sizes.scores)
    node.demand_dims("SINK_TOKEN", (1, sizes.hq, 1, 1), "one for each head")
    if node.has("BLOCK_MASK"):
        _demand_integers(node, "BLOCK_MASK", (data_type.UINT8,))
        blocks = (-(-sizes.sq // BLOCK), -(-sizes.skv // (8 * BLOCK)))
        node.demand_dims("BLOCK_MASK", (sizes.b, sizes.hq, *blocks), f"a bit for each {BLOCK} x {BLOCK} scores")
    return sizes


def settle_float(node: Node, port: str, dims: Dims, why: str) -> None:
    """Settle an output that is FLOAT unless set, or DOUBLE where that is what is computed in."""
    out = node.outputs.get(port)
    if out is not None and out.get_data_type() is data_type.NOT_SET:
        double = node.compute_type is data_type.DOUBLE
        out.set_data_type(data_type.DOUBLE if double else data_type.FLOAT)
    node.settle(port, dims, row_major(dims), why)


def settle_output(node: Node, sizes: Sizes) -> None:
    """Settle O and what there is of each row."""
    dims = (sizes.b, sizes.hq, sizes.sq, sizes.dv)
    node.settle("O", dims, like(dims, node.dims("Q"), node.strides("Q")), "[b, h_q, s_q, d_v]")
    if not node["generate_stats"]:
        node.outputs.pop("STATS", None)
    for port in ("STATS", "MAX", "SUM_EXP"):
        settle_float(node, port, sizes.rows, "[b, h_q, s_q, 1]")


def _forward(node: Node) -> None:
    settle_output(node, check_attention(node))


def check_gradients(node: Node) -> Sizes:
    """Check a backward node, and settle the gradients of queries, keys, values, bias and sink."""
    sizes = check_attention(node)
    out = (sizes.b, sizes.hq, sizes.sq, sizes.dv)
    node.demand_dims("O", out, "[b, h_q, s_q, d_v]")
    node.demand_dims("DO", out, "as O")
    node.demand_dims("STATS", sizes.rows, "[b, h_q, s_q, 1]")
    for port in ("Q", "K", "V"):
        node.settle_like(f"D{port}", port)
    for port, source in (("DBIAS", "BIAS"), ("DSINK_TOKEN", "SINK_TOKEN")):
        if node.has(port) and not node.has(source):
            raise node.fail("PG-SDPA-013", port, expected=f"{source} as well", got="none", fix=f"leave {port} out")
        if node.has(port):
            node.settle_like(port, source)
    return sizes


def _backward(node: Node) -> None:
    if node.has("DROPOUT_MASK") and not node.has("DROPOUT_SCALE_INV"):
        raise node.fail(
            "PG-SDPA-007",
            argument="dropout",
            expected="mask, scale and 1 / scale together",
            fix="pass dropout=(mask, scale, scale_inv)",
        )
    check_gradients(node)


def optional(*names: str, scalar: bool = False) -> tuple[Port, ...]:
    """Return ports that may be left out."""
    return tuple(Port(name, optional=True, scalar=scalar) for name in names)


QKV = (Port("Q"), Port("K"), Port("V"))
OPTIONS = (
    *optional("ATTN_SCALE", scalar=True),
    *optional("BIAS", "SEQ_LEN_Q", "SEQ_LEN_KV"),
    *optional("SEED", "OFFSET", scalar=True),
    *optional("DROPOUT_MASK"),
    *optional("DROPOUT_SCALE", scalar=True),
    *optional("SINK_TOKEN"),
)
FORWARD_OPTIONS = optional("BLOCK_MASK", "PAGE_TABLE_K", "PAGE_TABLE_V", "CU_SEQ_LEN_Q", "CU_SEQ_LEN_KV")
OF_ROWS = (
    Port("STATS", optional=True),
    Port("MAX", optional=True, given=True),
    Port("SUM_EXP", optional=True, given=True),
    Port("RNG_DUMP", optional=True, given=True),
)
GRADIENTS = (
    Port("DBIAS", optional=True, given=True),
    Port("DSINK_TOKEN", optional=True, given=True),
    Port("RNG_DUMP", optional=True, given=True),
)
ATTRIBUTES = (
    Attribute("diagonal_alignment", diagonal_alignment.parse, diagonal_alignment.TOP_LEFT),
    Attribute("left_bound", maybe_whole, None),
    Attribute("right_bound", maybe_whole, None),
    Attribute("use_alibi_mask", flag, False),
    Attribute("use_padding_mask", flag, False),
    Attribute("dropout_probability", maybe_number, None),
)
FORWARD_ATTRIBUTES = (
    *ATTRIBUTES,
    Attribute("generate_stats", flag, False),
    Attribute("max_seq_len_kv", maybe_whole, None),
    Attribute("stats_use_log2", flag, False),
)

register(
    Kind("sdpa", (*QKV, *OPTIONS, *FORWARD_OPTIONS), (Port("O"), *OF_ROWS), _forward, FORWARD_ATTRIBUTES, ragged=True)
)
register(
    Kind(
        "sdpa_backward",
        (*QKV, Port("O"), Port("DO"), Port("STATS"), *OPTIONS, *optional("DROPOUT_SCALE_INV", scalar=True)),
        (Port("DQ"), Port("DK"), Port("DV"), *GRADIENTS),
        _backward,
        ATTRIBUTES,
        ragged=True,
    )
)
