"""The definitions of attention and its gradient in graphs, with all scores in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.enums import diagonal_alignment
from portadnn.graph.operation_graph import Operation, OperationGraph
from portadnn.graph.ops.attention import BLOCK, keys_of, sizes_of

from ...philox import keep_words, random_words

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]


def alibi_slopes(heads: int) -> Array:
    """Return the slope of each head: powers of 2^(-8 / n) for the largest power of two n, then of its root."""
    n = 1 << int(math.log2(heads))
    first = 2.0 ** (-8.0 / n * np.arange(1, n + 1))
    rest = 2.0 ** (-4.0 / n * np.arange(1, 2 * (heads - n), 2))
    return np.concatenate([first, rest])


def _paged(container: Array, table: Array | None, count: int) -> Array:
    """Return (b, h, `count`, d) of the pages that a table lists for each sequence."""
    if table is None:
        return container
    pages = container[table[:, 0, :, 0].astype(np.int64)]  # (b, pages, h, page, d)
    b, _, h, _, d = pages.shape
    joined: Array = pages.transpose(0, 2, 1, 3, 4).reshape(b, h, -1, d)
    return joined[:, :, :count]


class Attention:
    """One attention: its tensors without padding's contents, and which scores count.

    Parameters
    ----------
    op, t
        The operation and its inputs as numbers.

    Attributes
    ----------
    q, k, v : array
        (b, h_q, s, d): heads of keys and values repeated, zeros beyond the lengths of sequences.
    masked : array of bool
        Scores that do not count, broadcast to their dims.
    dead : array of bool
        (b, 1, s_q, 1), rows beyond the sequences.
    """

    def __init__(self, op: Operation, t: Tensors) -> None:
        self.op, self.t = op, t
        tables = {port: t.get(f"PAGE_TABLE_{port}") for port in "KV"}
        shapes = {port: None if table is None else table.shape for port, table in tables.items()}
        most = op.values.get("max_seq_len_kv")
        keys = keys_of(t["K"].shape, t["V"].shape, shapes["K"], shapes["V"], most)
        self.sizes = n = sizes_of(t["Q"].shape, t["K"].shape, t["V"].shape, keys)
        everywhere = np.full((n.b, 1, 1, 1), max(n.sq, n.skv))
        self.rows, self.columns = np.arange(n.sq).reshape(n.sq, 1), np.arange(n.skv)
        self.lengths = tuple(self._lengths(side, everywhere) for side in ("Q", "KV"))
        self.dead = self.rows >= self.lengths[0]
        self.q = self.alive(t["Q"])
        beyond = self.columns.reshape(n.skv, 1) >= self.lengths[1]
        self.k, self.v = (
            np.where(beyond, 0, _paged(t[port], tables[port], n.skv)).repeat(n.hq // t[port].shape[1], 1)
            for port in "KV"
        )
        self.masked = self._masked()

    def _lengths(self, side: str, everywhere: Array) -> Array:
        if f"CU_SEQ_LEN_{side}" in self.t:
            return np.diff(self.t[f"CU_SEQ_LEN_{side}"], axis=0)
        return self.t.get(f"SEQ_LEN_{side}", everywhere)

    def alive(self, rows: Array) -> Array:
        """Return what there is of each row with zeros beyond the sequences."""
        return np.where(self.dead, 0, rows)

    def _masked(self) -> Array:
        n, op = self.sizes, self.op
        right = self.columns - self.rows  # of the diagonal from the top left
        masked = self.dead | (self.columns >= self.lengths[1])
        offset: Any = 0
        if op["diagonal_alignment"] is diagonal_alignment.BOTTOM_RIGHT:
            offset = self.lengths[1] - self.lengths[0] if op["use_padding_mask"] else n.skv - n.sq
        if op["right_bound"] is not None:
            masked = masked | (right > offset + op["right_bound"])
        if op["left_bound"] is not None:
            masked = masked | (right <= offset - op["left_bound"])
        if "BLOCK_MASK" in self.t:
            bits = np.unpackbits(self.t["BLOCK_MASK"].astype(np.uint8), axis=-1, bitorder="little")
            masked = masked | (bits[:, :, self.rows // BLOCK, self.columns // BLOCK] == 0)
        return np.broadcast_to(masked, n.scores)

    def factor(self, port: str) -> Any:
        """Return the number at a port, 1 without one."""
        return self.t[port].reshape(()) if port in self.t else 1.0

    def scores(self, factor: Any = 1.0) -> Array:
        """Return the scores, -inf where they do not count; `factor` makes true ones of the products."""
        s = self.q @ self.k.swapaxes(2, 3) * (self.factor("ATTN_SCALE") * factor) + self.t.get("BIAS", 0.0)
        if self.op["use_alibi_mask"]:
            s = s + alibi_slopes(self.sizes.hq).reshape(-1, 1, 1) * (self.columns - self.rows)
        return np.where(self.masked, -np.inf, s)

    def kept(self) -> Array | None:
        """Return the mask that is drawn, 1 where a probability is kept; None where none is."""
        p = self.op["dropout_probability"]
        if p is None:
            return None
        seed, offset = (int(self.t[port].reshape(())) % 2**64 for port in ("SEED", "OFFSET"))
        words = random_words(math.prod(self.sizes.scores), seed, offset)
        return (words < keep_words(1 - p)).reshape(self.sizes.scores).astype(np.float64)

    def dropout(self) -> Any:
        """Return what probabilities are multiplied by before they meet the values."""
        kept = self.kept()
        if kept is not None:
            return kept / (1 - self.op["dropout_probability"])
        return self.t["DROPOUT_MASK"] * self.factor("DROPOUT_SCALE") if "DROPOUT_MASK" in self.t else 1.0

    def summed(self, gradient: Array, heads: int) -> Array:
        """Return the gradient of keys or values: the sum over the heads of queries that share one."""
        b, h, s, d = gradient.shape
        total: Array = gradient.reshape(b, heads, h // heads, s, d).sum(2)
        return total


def softmax(at: Attention, s: Array) -> tuple[Array, Array, Array]:
    """Return the probabilities, and maximum and sum of exponentials of each row; -inf and 0 where nothing counts."""
    sink = at.t.get("SINK_TOKEN")
    top = s.max(3, keepdims=True)
    if sink is not None:
        top = np.where(at.dead, top, np.maximum(top, sink))
    powers = np.where(np.isneginf(s), 0, np.exp(s - top))
    total = powers.sum(3, keepdims=True)
    if sink is not None:
        total = np.where(at.dead, total, total + np.exp(sink - top))
    return powers / np.where(total == 0, 1, total), top, total


def _sdpa(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    at = Attention(op, t)
    p, top, total = softmax(at, at.scores())
    return {"O": (p * at.dropout()) @ at.v, **rows(at, top, total)}


def rows(at: Attention, top: Array, total: Array) -> dict[str, Any]:
    """Return what there is of each row, and the mask that was drawn."""
    unit = math.log(2) if at.op.values.get("stats_use_log2") else 1.0
    return {"STATS": (top + np.log(total)) / unit, "MAX": top, "SUM_EXP": total, "RNG_DUMP": at.kept()}


def probabilities(at: Attention, s: Array) -> Array:
    """Return the probabilities again, from scores and statistics."""
    return np.where(np.isneginf(s), 0, np.exp(s - at.t["STATS"]))


def score_gradient(at: Attention, p: Array, dp: Array, dot: Array) -> Array:
    """Return the gradient to the scores from that to the values' weights.

    Parameters
    ----------
    p, dp
        Probabilities, and the products of the output's gradient and values.
    dot
        (b, h, s_q, 1), the products of output and its gradient.
    """
    ds: Array = p * (dp * at.dropout() - centre(at, dot))
    return ds


def centre(at: Attention, dot: Array) -> Array:
    """Return what the mean of a row's gradients is, with a mask of the program's scaled forth and back."""
    return dot * at.factor("DROPOUT_SCALE_INV") * at.factor("DROPOUT_SCALE") if "DROPOUT_MASK" in at.t else dot


def bias_and_sink(graph: OperationGraph, at: Attention, ds: Array, dot: Array) -> dict[str, Any]:
    """Return the gradients to bias and sink, and the mask that was drawn."""
    found: dict[str, Any] = {"RNG_DUMP": at.kept()}
    if "DBIAS" in at.op.uids:
        dims = graph.at(at.op, "DBIAS").dims
        axes = tuple(i for i, size in enumerate(dims) if size == 1)
        found["DBIAS"] = ds.sum(axes, keepdims=True)
    if "DSINK_TOKEN" in at.op.uids:
        p = np.where(at.dead, 0, np.exp(at.t["SINK_TOKEN"] - at.t["STATS"]))
        found["DSINK_TOKEN"] = -(p * centre(at, dot)).sum((0, 2), keepdims=True)
    return found


def _backward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    at = Attention(op, t)
    do = at.alive(t["DO"])
    dot = (do * at.alive(t["O"])).sum(3, keepdims=True)
    p = probabilities(at, at.scores())
    ds = score_gradient(at, p, do @ at.v.swapaxes(2, 3), dot)
    scaled = ds * at.factor("ATTN_SCALE")
    return {
        "DQ": scaled @ at.k,
        "DK": at.summed(scaled.swapaxes(2, 3) @ at.q, at.sizes.hk),
        "DV": at.summed((p * at.dropout()).swapaxes(2, 3) @ do, at.sizes.hv),
        **bias_and_sink(graph, at, ds, dot),
    }


DEFINITIONS = {"sdpa": _sdpa, "sdpa_backward": _backward}
