"""Scaled dot-product attention, as a graph of one node."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

import portadnn as dnn
import portadnn.graph as graphs
from portadnn.errors import BadParam

from .activations import new_seed
from .handles import handle_for
from .layout import like
from .library import autocast, operator

Maybe: TypeAlias = "torch.Tensor | None"
_GRAPHS: dict[Any, tuple[Any, list[Any]]] = {}
_MOST_GRAPHS = 512
_LOCK = threading.Lock()
_TYPES = {
    torch.float16: graphs.data_type.HALF,
    torch.bfloat16: graphs.data_type.BFLOAT16,
    torch.float32: graphs.data_type.FLOAT,
    torch.float64: graphs.data_type.DOUBLE,
    torch.int64: graphs.data_type.INT64,
}


def _statistics_type(q: torch.Tensor) -> torch.dtype:
    return torch.float64 if q.dtype is torch.float64 else torch.float32


def _execute(
    handle: dnn.Handle,
    key: tuple[Any, ...],
    tensors: Sequence[Maybe],
    describe: Callable[[Any, list[Any]], Sequence[Any]],
) -> None:
    """Run a graph, which `describe` makes of its input tensors the first time; it returns the outputs.

    The tensors are all inputs, then all outputs; None for what is left out.
    """
    layouts = tuple(None if t is None else (t.shape, t.stride(), t.dtype) for t in tensors)
    with handle.lock:
        key = (handle.serial, *key, layouts)
        known = _GRAPHS.get(key)
        if known is None:
            known = _built(handle, tensors, describe)
            with _LOCK:
                while len(_GRAPHS) >= _MOST_GRAPHS:
                    del _GRAPHS[next(iter(_GRAPHS))]
                _GRAPHS[key] = known
        graph, described = known
        graph.execute({d: t for d, t in zip(described, tensors, strict=True) if t is not None}, handle=handle)


def _built(handle: dnn.Handle, tensors: Sequence[Maybe], describe: Any) -> tuple[Any, list[Any]]:
    first = next(t for t in tensors if t is not None)
    compute = _TYPES[_statistics_type(first)]
    graph = graphs.pygraph(
        io_data_type=_TYPES[first.dtype], intermediate_data_type=compute, compute_data_type=compute, handle=handle
    )
    inputs = [
        None if t is None else graph.tensor(dim=list(t.shape), stride=list(t.stride()), data_type=_TYPES[t.dtype])
        for t in tensors
    ]
    outputs = describe(graph, inputs)
    count = len(tensors) - len(outputs)
    for out, t in zip(outputs, tensors[count:], strict=True):
        if out is not None and t is not None and out not in inputs:
            out.set_output(True).set_dim(list(t.shape)).set_stride(list(t.stride())).set_data_type(_TYPES[t.dtype])
    graph.build([graphs.heur_mode.A, graphs.heur_mode.FALLBACK])
    return graph, [*inputs[:count], *outputs]


def _options(causal: bool, scale: float, dropout: float, seed: Any, offset: Any, bias: Any) -> dict[str, Any]:
    drops = (dropout, seed, offset) if dropout else None
    return {"attn_scale": scale, "use_causal_mask": causal, "dropout": drops, "bias": bias}


def _draws(seed: Maybe) -> list[Maybe]:
    """Return seed and offset of the random numbers as a graph's tensors."""
    if seed is None:
        return [None, None]
    return [seed.view(1, 1, 1, 1), torch.zeros(1, 1, 1, 1, dtype=torch.int64, device=seed.device)]


def _forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: Maybe,
    seed: Maybe,
    causal: bool,
    scale: float,
    dropout: float,
    backend: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    o, stats = _fake(q, k, v, bias, seed, causal, scale, dropout, backend)

    def describe(graph: Any, given: list[Any]) -> Sequence[Any]:
        how = _options(causal, scale, dropout, *given[4:6], given[3])
        return graph.sdpa(*given[:3], generate_stats=True, **how)

    if o.numel():
        tensors = [q, k, v, bias, *_draws(seed), o, stats]
        _execute(handle_for(q, backend), ("forward", causal, scale, dropout), tensors, describe)
    return o, stats


def _fake(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any) -> tuple[torch.Tensor, torch.Tensor]:
    # heads behind steps in memory where they are so in q, as after transpose(1, 2): a view joins them again then
    (b, h, s), d = q.shape[:3], v.shape[3]
    o = q.new_empty(b, s, h, d).transpose(1, 2) if q.stride(1) < q.stride(2) else q.new_empty(b, h, s, d)
    return o, torch.empty(b, h, s, 1, dtype=_statistics_type(q), device=q.device)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    q, k, v, bias, seed, *ctx.options = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, bias, seed, *output)


def _gradient(ctx: Any, do: torch.Tensor, _: Any) -> tuple[Any, ...]:
    q, k, v, bias, seed, o, stats = ctx.saved_tensors
    dq, dk, dv, dbias = attention_backward(q, k, v, bias, seed, o, stats, do, *ctx.options)
    return dq, dk, dv, dbias if bias is not None and ctx.needs_input_grad[3] else None, *[None] * 5


def _backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: Maybe,
    seed: Maybe,
    o: torch.Tensor,
    stats: torch.Tensor,
    do: torch.Tensor,
    causal: bool,
    scale: float,
    dropout: float,
    backend: str,
) -> tuple[torch.Tensor, ...]:
    dq, dk, dv, dbias = _backward_fake(q, k, v, bias)
    do = like(do, o)

    def describe(graph: Any, given: list[Any]) -> Sequence[Any]:
        how = _options(causal, scale, dropout, *given[7:9], given[3])
        db = given[-1]
        grads = graph.sdpa_backward(*given[:3], *given[4:7], dBias=db, **how)
        return [*grads, db]

    if do.numel():
        wanted = None if bias is None else dbias
        tensors = [q, k, v, bias, o, do, stats, *_draws(seed), dq, dk, dv, wanted]
        _execute(handle_for(q, backend), ("backward", causal, scale, dropout), tensors, describe)
    return dq, dk, dv, dbias


def _backward_fake(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: Maybe, *_: Any) -> tuple[torch.Tensor, ...]:
    format = torch.contiguous_format
    dbias = q.new_empty(0) if bias is None else torch.empty_like(bias, memory_format=format)
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), dbias


_ENDS = "bool causal, float scale, float dropout, str backend"
attention_backward = operator(
    "attention_backward(Tensor q, Tensor k, Tensor v, Tensor? bias, Tensor? seed, Tensor o, Tensor stats, Tensor do,"
    f" {_ENDS}) -> (Tensor, Tensor, Tensor, Tensor)",
    _backward,
    _backward_fake,
)
attention = operator(
    f"attention(Tensor q, Tensor k, Tensor v, Tensor? bias, Tensor? seed, {_ENDS}) -> (Tensor, Tensor)",
    _forward,
    _fake,
    _gradient,
    _setup,
)


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Maybe = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Attend, as ``torch.nn.functional.scaled_dot_product_attention``.

    Parameters
    ----------
    query, key, value
        (..., heads, queries, d), (..., heads, keys, d) and (..., heads, keys, d_v) with up to two leading dims, heads
        among them; float16, bfloat16, float32 or float64.
    attn_mask
        Added to the scores, or True where they count; dims 1 or the scores'. Not with `is_causal`.
    dropout_p
        The probability with which weights are dropped; the mask follows from ``torch.manual_seed``.
    is_causal
        Whether query i sees keys up to i.
    scale
        By default ``1 / sqrt(d)``.
    enable_gqa
        Whether neighbouring heads of queries share one of keys and values.
    backend
        See :func:`conv2d`.

    Returns
    -------
    Tensor
        (..., heads, queries, d_v).

    Raises
    ------
    BadParam
        Shapes that do not fit, a mask together with `is_causal`, or no probability.
    """
    if attn_mask is not None and is_causal:
        raise BadParam(argument="attn_mask", expected="None with is_causal", got=tuple(attn_mask.shape))
    if not 0 <= dropout_p < 1:
        raise BadParam(argument="dropout_p", expected="a probability below 1", got=dropout_p)
    if not 2 <= query.dim() == key.dim() == value.dim():
        raise BadParam(argument="key", expected="as many dims as query, at least 2", got=tuple(key.shape))
    query, key, value, attn_mask = autocast(query, key, value, attn_mask)
    q, k, v = (_four(t) for t in (query, key, value))
    if not enable_gqa and not q.shape[1] == k.shape[1] == v.shape[1]:
        raise BadParam(argument="key", expected=f"{q.shape[1]} heads, without enable_gqa", got=tuple(key.shape))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    seed = new_seed(query) if dropout_p else None
    bias = None if attn_mask is None else _bias(attn_mask, q, k)
    o, _ = attention(q, k, v, bias, seed, is_causal, factor, float(dropout_p), backend)
    return o.reshape(*query.shape[:-1], value.shape[-1])


def _four(t: torch.Tensor) -> torch.Tensor:
    """Return (b, heads, steps, d) with elements of a row side by side."""
    wide = t[(None,) * (4 - t.dim())] if t.dim() < 4 else t.flatten(0, t.dim() - 4)
    return wide if wide.stride(-1) == 1 and 0 not in wide.stride() else wide.contiguous()


def _bias(mask: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Return a mask as numbers that are added, with four dims of 1 or of the scores."""
    if mask.dtype is torch.bool:
        mask = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(mask.logical_not(), -math.inf)
    wide = mask[(None,) * (4 - mask.dim())] if mask.dim() < 4 else mask.flatten(0, mask.dim() - 4)
    scores = (*q.shape[:3], k.shape[2])
    if any(m not in (1, s) for m, s in zip(wide.shape, scores, strict=True)):
        raise BadParam(argument="attn_mask", expected=f"dims 1 or those of {scores}", got=tuple(mask.shape))
    return wide.to(q.dtype).contiguous()
