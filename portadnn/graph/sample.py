"""Seeded numbers and memory for the tensors of a graph, the same in reproducers and where graphs are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .enums import moe_grouped_matmul_mode
from .memory import coded, ragged
from .memory import host as memory
from .operation_graph import Operation, OperationGraph, TensorInfo
from .ops.attention import is_cumulative, keys_of, lengths_port

Numbers = npt.NDArray[Any]
POISON = 0xA5
_FACTORS = ("SCALE_", "DESCALE_")


def numbers(kind: str, dims: tuple[int, ...], seed: int) -> npt.NDArray[Any]:
    """Return numbers of a type: normal floats, small integers, and 0 or 1 for BOOLEAN."""
    rng = np.random.default_rng(seed)
    if kind == "BOOLEAN":
        return rng.integers(0, 2, dims)
    whole = kind.startswith(("INT", "UINT"))
    return rng.integers(0, 4, dims) if whole else rng.standard_normal(dims)


def special(graph: OperationGraph, seed: int) -> dict[int, Numbers]:
    """Return the numbers of tensors that cannot be any, by uid.

    These are of attention: lengths of sequences and the offsets that follow from them, pages that there are, bits of
    blocks, and factors of FP8 tensors, which are powers of two, as scales of blocks are; and of rows of tokens:
    where experts begin, and the places of rows.
    """
    found = _of_rows(graph, seed)
    attentions = [operation for operation in graph.operations if operation.kind.startswith("sdpa")]
    for operation in attentions:
        for port, below in _limits(graph, operation).items():
            info = graph.at(operation, port)
            if not (info.by_value or info.uid in graph.results):
                rng = np.random.default_rng(seed + info.uid)
                dims = (info.dims[0] - is_cumulative(port), *info.dims[1:])
                made = rng.integers(0, below, dims) if below else 2.0 ** rng.integers(-2, 3, dims)
                found[info.uid] = np.minimum(made, found.get(info.uid, made))
    for operation in attentions:
        for port, uid in (*operation.inputs, *operation.outputs):
            info = graph.by_uid[uid]
            if info.ragged_offset is not None:
                at = lengths_port(operation.uids, "Q" if port in ragged.OF_QUERIES else "KV")
                assert at is not None  # without padding there are lengths
                lengths = found[operation.uids[at]]
                if port.startswith("PAGE_TABLE_"):
                    lengths = -(-lengths // graph.at(operation, port[-1]).dims[2])
                steps = np.cumsum([0, *lengths.ravel()]) * info.strides[2]
                dims = graph.by_uid[info.ragged_offset].dims
                found[info.ragged_offset] = (steps // info.ragged_multiplier).reshape(dims)
    return found | {uid: np.concatenate([[[[[0]]]], np.cumsum(found[uid], axis=0)]) for uid in _summed(attentions)}


def _summed(attentions: Sequence[Operation]) -> set[int]:
    return {uid for operation in attentions for port, uid in operation.inputs if is_cumulative(port)}


def _of_rows(graph: OperationGraph, seed: int) -> dict[int, Numbers]:
    """Return the numbers for experts, pages and scales of blocks."""
    found: dict[int, Numbers] = {}
    for operation in graph.operations:
        dims = {port: graph.by_uid[uid].dims for port, uid in operation.inputs}
        rng = np.random.default_rng(seed + (operation.inputs or operation.outputs)[-1][1])
        made: dict[str, Numbers] = {}
        if "FIRST_TOKEN_OFFSET" in dims:
            rows = dims.get("TOKEN_INDEX", dims["TOKEN"])[1]
            made["FIRST_TOKEN_OFFSET"] = np.sort(rng.integers(0, rows + 1, dims["FIRST_TOKEN_OFFSET"]), 0)
            each = max(1, operation.values.get("top_k", 0) if "TOKEN_KS" in dims else 1)
            order = rng.permutation(rows).reshape(1, -1, 1)
            if operation.values.get("mode") is moe_grouped_matmul_mode.GATHER:
                order = rng.integers(0, dims["TOKEN"][1], order.shape)
            made |= {"TOKEN_INDEX": order // each, "TOKEN_KS": order % each}
        elif operation.kind == "paged_cache_load":
            made["PAGE_TABLE"] = rng.integers(0, dims["CONTAINER"][0], dims["PAGE_TABLE"])
        elif operation.kind == "block_scale_dequantize":
            made["SCALE"] = 2.0 ** rng.integers(-2, 3, dims["SCALE"])
        for port in made.keys() & dims.keys():
            info = graph.at(operation, port)
            if not (info.virtual or info.uid in graph.results):
                found[info.uid] = made[port]
    return found


def _limits(graph: OperationGraph, operation: Operation) -> dict[str, int]:
    """Return the ports of an attention whose numbers are special, and what these are below; 0 for factors."""
    dims = {port: graph.by_uid[uid].dims for port, uid in operation.inputs}
    table_k, table_v = (dims.get(f"PAGE_TABLE_{port}") for port in "KV")
    keys = keys_of(dims["K"], dims["V"], table_k, table_v, operation.values.get("max_seq_len_kv"))
    below = {"SEQ_LEN_Q": dims["Q"][2] + 1, "SEQ_LEN_KV": keys + 1, "BLOCK_MASK": 256}
    below |= {f"CU_{port}": below[port] for port in ("SEQ_LEN_Q", "SEQ_LEN_KV")}
    below |= {f"PAGE_TABLE_{port}": dims[port][0] for port in "KV"}
    below |= {port: 0 for port in dims if port.startswith(_FACTORS)}
    return {port: limit for port, limit in below.items() if port in dims}


def pack_of(graph: OperationGraph, seed: int) -> dict[int, Any]:
    """Return a variant pack in host memory, by uid: flat arrays of seeded numbers, results poisoned.

    A tensor's numbers are drawn with the sum of `seed` and its uid, those of :func:`special` as it says. Those that are
    passed by value have their own value, or 1.
    """
    pack: dict[int, Any] = {}
    known = special(graph, seed)
    for info in graph.packed:
        if info.by_value:
            pack[info.uid] = 1.0 if info.value is None else info.value
            continue
        flat = np.full(info.extent, POISON, np.uint8)
        if info.uid not in graph.results:
            flat[:] = 0
            values = known.get(info.uid)
            if values is None:
                values = numbers(info.data_type.name, info.dims, seed + info.uid)
            padded = replace(info, ragged_offset=None)
            if info.coded:
                coded.store(info, flat, values)
            else:
                memory.view(flat, padded, output=True)[...] = info.data_type.stored(values)
        pack[info.uid] = flat
    return pack


def gaps_of(info: TensorInfo, offsets: Numbers | None = None) -> npt.NDArray[np.bool_]:
    """Return which bytes of a tensor's memory belong to no element; `offsets` are those of a ragged one."""
    if info.coded:  # at places that are no strides of bytes
        return np.zeros(info.extent, np.bool_)
    owned = np.zeros(info.span, np.bool_)
    if offsets is not None:
        places, there = ragged.places(info, offsets, info.span)
        owned[places[there]] = True
    else:
        strides = [step if d > 1 else 0 for d, step in zip(info.dims, info.strides, strict=True)]
        np.lib.stride_tricks.as_strided(owned, info.dims, strides)[...] = True
    return np.repeat(~owned, info.data_type.itemsize)
