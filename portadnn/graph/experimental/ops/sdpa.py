"""Attention for PyTorch: the function of ``cudnn.experimental.ops`` in cudnn-frontend 1.23."""

from __future__ import annotations

import math
from typing import Any

from ...api.pygraph import pygraph
from ...enums import diagonal_alignment as alignment
from ...tensor import tensor
from ..needs_torch import torch
from ..running import Cache, demand_one_device, refuse, run

_fprop_cache: Cache = {}  # cudnn-frontend's programs look at how many graphs there are
_bprop_cache: Cache = {}
_TENSORS = "Tensor query, Tensor key, Tensor value"
_OPTIONS = (
    "float scale, bool is_causal, int diagonal_alignment, int left_bound, int right_bound, Tensor? seq_len_q, "
    "Tensor? seq_len_kv, Tensor? cumulative_seq_len_q, Tensor? cumulative_seq_len_kv"
)
_LENGTHS = ("seq_len_q", "seq_len_kv", "offsets_q", "offsets_kv")


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    diagonal_alignment: int = 0,
    left_bound: int = -1,
    right_bound: int = -1,
    seq_len_q: torch.Tensor | None = None,
    seq_len_kv: torch.Tensor | None = None,
    cumulative_seq_len_q: torch.Tensor | None = None,
    cumulative_seq_len_kv: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the attention of queries to keys, (b, h_q, s_q, d_v), with gradients to the first three arguments.

    The result of packed queries is packed as they are: sequences begin where theirs do, with their strides between
    heads and rows, so that ``result.as_strided`` with the dims and strides of all tokens has a row for each query.

    Parameters
    ----------
    query, key, value
        (b, h_q, s_q, d), (b, h_k, s_kv, d) and (b, h_v, s_kv, d_v), of one type, in any layout.
    attn_mask, dropout_p
        None and 0: cudnn-frontend has no others here; ``pygraph.sdpa`` has.
    is_causal
        Row i sees columns up to i + `right_bound`, which is 0 unless given.
    scale
        1 / sqrt(d) by default.
    enable_gqa
        Allows fewer heads of keys and values than of queries.
    diagonal_alignment
        0 counts columns from the first key, 1 so that the last query meets the last key.
    left_bound, right_bound
        Columns at and before row - `left_bound`, and after row + `right_bound`, are left out; -1 is no bound.
    seq_len_q, seq_len_kv
        Lengths of the sequences, (b, 1, 1, 1), int32.
    cumulative_seq_len_q, cumulative_seq_len_kv
        Where each sequence begins, in elements, (b + 1, 1, 1, 1), int32: packed sequences, whose `query` and so on
        are views of the packed memory in its dims. Only their strides between heads and rows count; for gradients, the
        batch's stride has to be that of s rows at least, so that no two elements share memory.

    Raises
    ------
    NotImplementedError
        A mask or dropout.
    ValueError
        Other dims than these, other heads without `enable_gqa`, tensors on two devices, packed queries with less room
        from head to head or row to row than a row of values takes, or gradients of packed tensors that share memory.
    """
    name = "scaled_dot_product_attention"
    if attn_mask is not None:
        raise NotImplementedError(f"{name}: attn_mask is not supported; pygraph.sdpa takes a bias")
    if dropout_p != 0.0:
        raise NotImplementedError(f"{name}: dropout is not supported; pygraph.sdpa has it")
    for label, one in (("query", query), ("key", key), ("value", value)):
        if one.dim() != 4:
            raise refuse(name, label, "(batch, heads, sequence, width)", tuple(one.shape))
    if not enable_gqa and query.shape[1] != key.shape[1]:
        heads = f"{query.shape[1]} heads of queries and {key.shape[1]} of keys"
        raise ValueError(f"{name}: {heads}; enable_gqa=True allows that")
    lengths = (seq_len_q, seq_len_kv, cumulative_seq_len_q, cumulative_seq_len_kv)
    demand_one_device(name, query=query, key=key, value=value, **dict(zip(_LENGTHS, lengths, strict=True)))
    if cumulative_seq_len_q is not None:
        _demand_room(name, query, value)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    bounds = (bool(is_causal), int(diagonal_alignment), int(left_bound), int(right_bound))
    out: torch.Tensor = torch.ops.portadnn.sdpa(query, key, value, factor, *bounds, *lengths)[0]
    return out


def _demand_room(name: str, query: Any, value: Any) -> None:
    """Demand that results with the strides of packed queries do not share memory."""
    dims, steps = (*query.shape[1:3], value.shape[3]), query.stride()[1:]
    reach = 1
    for step, size in sorted(zip(steps, dims, strict=True)):
        if size > 1 and step < reach:
            expected = "of strides that leave room for a row of value in each row of each head"
            raise refuse(name, "query", f"{expected} ({dims[2]} elements)", f"strides {tuple(query.stride())}")
        reach += (size - 1) * step


@torch.library.custom_op("portadnn::sdpa", mutates_args=(), schema=f"({_TENSORS}, {_OPTIONS}) -> (Tensor, Tensor)")
def _sdpa(query: Any, key: Any, value: Any, scale: float, *rest: Any) -> Any:
    out, stats = _results(query, value, packed=rest[6] is not None)
    inputs = {"q": query, "k": key, "v": value, **dict(zip(_LENGTHS, rest[4:], strict=True))}
    run(_forward, _fprop_cache, inputs, {"o": out, "stats": stats}, scale=scale, band=tuple(rest[:4]))
    return out, stats


@_sdpa.register_fake
def _sdpa_fake(query: Any, key: Any, value: Any, scale: float, *rest: Any) -> Any:
    return _results(query, value, packed=rest[6] is not None)


@torch.library.custom_op(
    "portadnn::sdpa_backward",
    mutates_args=(),
    schema=f"(Tensor grad, Tensor out, Tensor stats, {_TENSORS}, {_OPTIONS}) -> (Tensor, Tensor, Tensor)",
)
def _sdpa_backward(grad: Any, out: Any, stats: Any, query: Any, key: Any, value: Any, scale: Any, *rest: Any) -> Any:
    made = _gradients_of(query, key, value, rest)
    like, _ = _results(query, value, packed=rest[6] is not None)
    inputs = {"do": _laid_as(like, grad), "o": _laid_as(like, out), "stats": stats, "q": query, "k": key, "v": value}
    inputs.update(zip(_LENGTHS, rest[4:], strict=True))
    outputs = dict(zip(("dq", "dk", "dv"), made, strict=True))
    run(_backward, _bprop_cache, inputs, outputs, scale=scale, band=tuple(rest[:4]))
    return made


@_sdpa_backward.register_fake
def _sdpa_backward_fake(grad: Any, out: Any, stats: Any, query: Any, key: Any, value: Any, _: Any, *rest: Any) -> Any:
    return _gradients_of(query, key, value, rest)


def _gradients_of(query: Any, key: Any, value: Any, rest: Any) -> tuple[Any, ...]:
    """Return memory for gradients; that of packed sequences has the strides of what they are packed in."""
    packed = [rest[6] is not None, rest[7] is not None, rest[7] is not None]
    ones = zip((query, key, value), packed, strict=True)
    return tuple(_packed_as(one, one.shape[3]).zero_() if there else torch.empty_like(one) for one, there in ones)


def _packed_as(one: Any, width: int) -> Any:
    """Return memory for rows of `width` that begin where a packed tensor's do."""
    batch, heads, rows, _ = one.shape
    begin, *within = one.stride()
    # where sequences lie behind each other, as many rows as the dims have are enough, whatever the batch's stride is
    return one.new_empty_strided((batch, heads, rows, width), (max(begin, _span(one)), *within))


def _span(one: Any) -> int:
    """Return the elements from one of a batch's longest sequences to the next."""
    span: int = max(size * step for size, step in zip(one.shape[1:3], one.stride()[1:3], strict=True))
    return span


def _laid_as(like: Any, one: Any) -> Any:
    """Return a tensor with the strides of another."""
    return one if one.stride() == like.stride() else like.new_empty_strided(like.shape, like.stride()).copy_(one)


def _results(query: Any, value: Any, packed: bool) -> tuple[Any, Any]:
    """Return memory for the output and the statistics."""
    batch, heads, rows, _ = query.shape
    width = value.shape[3]
    out = _packed_as(query, width) if packed else query.new_empty((batch, heads, rows, width))
    return out, query.new_empty((batch, heads, rows, 1), dtype=torch.float32)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*output, *inputs[:3], *inputs[8:])
    ctx.options = inputs[3:8]
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, grad: Any, stats_grad: Any) -> Any:
    if grad is None:
        return (None,) * 12
    out, stats, query, key, value, *lengths = ctx.saved_tensors
    packed = (lengths[2], lengths[3], lengths[3])
    names, needed = ("query", "key", "value"), ctx.needs_input_grad[:3]
    for name, one, offsets, wanted in zip(names, (query, key, value), packed, needed, strict=True):
        least = _span(one)
        if offsets is not None and wanted and one.shape[0] > 1 and one.stride(0) < least:
            expected = f"of a batch stride of {least} at least, where gradients of packed sequences are asked for"
            raise refuse("scaled_dot_product_attention", name, expected, f"strides {tuple(one.stride())}")
    operands = (grad.contiguous(), out, stats, query, key, value)  # a sum's gradient has strides of 0
    return (*torch.ops.portadnn.sdpa_backward(*operands, *ctx.options, *lengths), *(None,) * 9)


_sdpa.register_autograd(_gradients, setup_context=_save)


def _forward(graph: pygraph, known: dict[str, tensor], scale: float, band: Any) -> dict[str, tensor]:
    _pack(known, "q", "k", "v")
    options = _options(known, *band)
    out, stats = graph.sdpa(known["q"], known["k"], known["v"], attn_scale=scale, generate_stats=True, **options)
    assert out is not None and stats is not None
    _pack({**known, "o": out}, "o")
    return {"o": out, "stats": stats}


def _backward(graph: pygraph, known: dict[str, tensor], scale: float, band: Any) -> dict[str, tensor]:
    _pack(known, "q", "k", "v", "o", "do")
    options: Any = {"q": known["q"], "k": known["k"], "v": known["v"], "o": known["o"], "dO": known["do"]}
    options |= {"stats": known["stats"], "attn_scale": scale, **_options(known, *band)}
    outputs = dict(zip(("dq", "dk", "dv"), graph.sdpa_backward(**options), strict=True))
    _pack({**known, **outputs}, *outputs)
    return outputs


def _options(known: dict[str, tensor], causal: bool, aligned: int, left: int, right: int) -> dict[str, Any]:
    lengths = {name: known.get(name) for name in ("seq_len_q", "seq_len_kv")}
    return {
        **lengths,
        "use_padding_mask": any(one is not None for one in lengths.values()),
        "diagonal_alignment": alignment.BOTTOM_RIGHT if aligned else alignment.TOP_LEFT,
        "diagonal_band_left_bound": left if left >= 0 else None,
        "diagonal_band_right_bound": right if right >= 0 else 0 if causal else None,
    }


def _pack(known: dict[str, tensor], *names: str) -> None:
    """Say where sequences begin in packed tensors."""
    for name in names:
        offsets = known.get("offsets_kv" if name.removeprefix("d") in {"k", "v"} else "offsets_q")
        if offsets is not None:
            known[name].set_ragged_offset(offsets)
