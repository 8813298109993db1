"""The definitions of rotary embeddings and of products of mixtures of experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.enums import moe_grouped_matmul_mode as mode
from portadnn.graph.operation_graph import Operation, OperationGraph
from portadnn.graph.ops.rope import rotated

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]


def _turned(op: Operation, x: Array, table: Array, sign: float) -> Array:
    count = rotated(x.shape, op["rope_dim"])
    angles = table[: x.shape[2], 0, 0, : count // 2]
    first, second = x[..., : count // 2], x[..., count // 2 : count]
    cos, sin = np.cos(angles), sign * np.sin(angles)
    pair = (first * cos - second * sin, second * cos + first * sin)
    found: Array = op["output_scale"] * np.concatenate([*pair, x[..., count:]], 3)
    return found


def _rope(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    return {"Y": _turned(op, t["X"], t["FREQS"], 1.0)}


def _rope_backward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    return {"DX": _turned(op, t["DY"], t["FREQS"], -1.0)}


def _groups(offsets: Array, rows: int) -> list[slice]:
    """Return the rows of each expert."""
    starts = [min(max(int(start), 0), rows) for start in offsets.reshape(-1)]
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], rows], strict=True)]


def _moe(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    rows = t["TOKEN"][0]
    index = t["TOKEN_INDEX"].reshape(-1).astype(np.int64) if "TOKEN_INDEX" in t else None
    if op["mode"] is mode.GATHER:
        assert index is not None
        there = (index >= 0) & (index < len(rows))
        rows = np.where(there[:, None], rows[np.where(there, index, 0)], 0.0)
    product = np.zeros((len(rows), t["WEIGHT"].shape[2]))
    for expert, group in enumerate(_groups(t["FIRST_TOKEN_OFFSET"], len(rows))):
        product[group] = rows[group] @ t["WEIGHT"][expert]
    if op["mode"] is mode.SCATTER:
        assert index is not None
        if "TOKEN_KS" in t:
            index = index * op["top_k"] + t["TOKEN_KS"].reshape(-1).astype(np.int64)
        there = (index >= 0) & (index < len(rows))
        scattered = np.zeros_like(product)
        scattered[index[there]] = product[there]
        product = scattered
    return {"OUTPUT": product[None]}


def _moe_backward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    rows, gradient = t["TOKEN"][0], t["DOUTPUT"][0]
    groups = _groups(t["FIRST_TOKEN_OFFSET"], len(rows))
    return {"DWEIGHT": np.stack([rows[group].T @ gradient[group] for group in groups])}


def _pages(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    container, table = t["CONTAINER"], t["PAGE_TABLE"][:, 0, :, 0].astype(np.int64)
    there = (table >= 0) & (table < len(container))
    pages = np.where(there[:, :, None, None, None], container[np.where(there, table, 0)], 0.0)
    b, count, heads, size, width = pages.shape
    together = pages.transpose(0, 2, 1, 3, 4).reshape(b, heads, count * size, width)
    return {"Y": together[:, :, : op["max_seq_len"]]}


DEFINITIONS = {
    "paged_cache_load": _pages,
    "rope": _rope,
    "rope_bwd": _rope_backward,
    "moe_grouped_matmul": _moe,
    "moe_grouped_matmul_bwd": _moe_backward,
}
