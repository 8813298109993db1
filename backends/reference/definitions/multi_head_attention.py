"""The definitions of multi-head attention (cuDNN 7.5; A. Vaswani et al., "Attention is all you need", 2017).

Beside every number stands what its rounding error is measured by, as in the definitions of recurrent networks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn.bfloat16 import as_float64
from portadnn.enums import DataType
from portadnn.ops.attention.layout import AttnQueryMap
from portadnn.ops.attention.problems import (
    Attention,
    MultiHeadAttnBackwardData,
    MultiHeadAttnBackwardWeights,
    MultiHeadAttnForward,
)

from ...philox import keep_words, random_words
from ..definition import Array, Arrays, Definition, Numbers
from .rnn import Num, exact, given


def _dot(a: Num, b: Num) -> Num:
    """Return the matrix product of both."""
    size_a, size_b = np.abs(a.v), np.abs(b.v)
    return Num(a.v @ b.v, a.e @ size_b + size_a @ b.e + size_a @ size_b)


def _turned(num: Num) -> Num:
    return Num(num.v.swapaxes(-1, -2), num.e.swapaxes(-1, -2))


def _shaped(num: Num, shape: Any) -> Num:
    return Num(num.v.reshape(shape), num.e.reshape(shape))


def _moved(num: Num, axes: tuple[int, ...]) -> Num:
    return Num(num.v.transpose(axes), num.e.transpose(axes))


def _rows(problem: Attention, arrays: Arrays, name: str, which: int) -> Array:
    """Return a tensor as [batch, beam, step, number], with zeros behind the lengths."""
    found = arrays[name].transpose(1, 2, 0, 3)
    return np.where(_inside(problem, arrays, which), found, 0.0)


def _inside(problem: Attention, arrays: Arrays, which: int) -> Any:
    """Return [batch, beam, step, 1]: whether a step is within its sequence's length."""
    side = which in (1, 2)
    steps = np.arange(problem.steps[side])
    name = "lengths_kv" if side else "lengths_q"
    if name not in arrays:
        return np.ones((problem.batch, problem.beams[side], len(steps), 1), bool)
    lengths = arrays[name].reshape(problem.batch, problem.beams[side])
    return (steps < lengths[..., None])[..., None]


def _matrix(problem: Attention, w: Array, which: int) -> Array:
    rows, columns = problem.layout.shape(which)
    first = problem.layout.matrix(which)
    return w[first : first + rows * columns].reshape(rows, columns)


def _bias(problem: Attention, w: Array, which: int) -> Array:
    rows = problem.layout.shape(which)[0]
    if not problem.layout.has_bias(which):
        return np.zeros(rows)
    first = problem.layout.bias(which)
    return w[first : first + rows]


def _heads(problem: Attention, w: Array, which: int, rows: Array) -> Num:
    """Return each head's queries, keys or values: [batch, beam, head, step, number]."""
    layout = problem.layout
    if not layout.projections[which]:
        return given(np.repeat(rows[:, :, None], layout.heads, 2))
    projected = given(rows).times(_matrix(problem, w, which).T) + exact(_bias(problem, w, which))
    return _moved(_shaped(projected, (*rows.shape[:3], layout.heads, layout.head(which))), (0, 1, 3, 2, 4))


def _merged(num: Num) -> Num:
    """Return [batch, beam, step, head * number] of heads."""
    batch, beams, heads, steps, numbers = num.v.shape
    return _shaped(_moved(num, (0, 1, 3, 2, 4)), (batch, beams, steps, heads * numbers))


def _keys(problem: Attention, arrays: Arrays) -> Any:
    """Return [batch, beam, 1, query, key]: whether a key counts for a query."""
    queries, keys = problem.steps
    place = np.arange(keys)
    found = _inside(problem, arrays, 0)[:, :, None] & _inside(problem, arrays, 1)[:, :, None, :, 0][:, :, :, None]
    if "windows" in arrays:
        first, last = arrays["windows"][:, :, None]
        found = found & (place >= first) & (place < last)
    return np.broadcast_to(found, (problem.batch, problem.beams[0], 1, queries, keys))


def _softmax(problem: Attention, scores: Num, counts: Array) -> tuple[Num, Array]:
    """Return the weights of the keys, 0 where none counts, and the logarithms of the sums of powers."""
    scaled = Num(problem.scale * scores.v, problem.scale * (scores.e + np.abs(scores.v)))
    v = np.where(counts, scaled.v, -np.inf)
    top = v.max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        powers = np.where(counts, np.exp(v - np.where(np.isfinite(top), top, 0.0)), 0.0)
        total = powers.sum(-1, keepdims=True)
        weights = np.where(total > 0, powers / np.where(total > 0, total, 1.0), np.where(np.isnan(total), total, 0.0))
        away = np.where(counts, scaled.v - np.where(np.isfinite(top), top, 0.0), 0.0)
    error = np.where(counts, scaled.e + np.abs(away), 0.0)
    mean = (weights * error).sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        logarithms = top + np.log(total)
    return Num(weights, weights * (error + mean + 2)), logarithms[..., 0]


def _grouped(problem: Attention, values: Any) -> Any:
    """Return [batch, beam, head, ...] as [group, head, row, ...]: beams of the same keys follow one another."""
    if problem.query_map is AttnQueryMap.ONE_TO_ONE:
        return values
    return values.swapaxes(1, 2)


class _Dropout:
    """The factors of both dropouts; 1 where nothing is dropped."""

    def __init__(self, problem: Attention, words: list[Any]) -> None:
        self.problem, self.words = problem, words

    def of_weights(self, shape: tuple[int, ...]) -> Array:
        """Return what weights [batch, beam, head, query, key] are multiplied by."""
        own = self.problem.query_map is AttnQueryMap.ONE_TO_ONE
        batch, beams, heads, *rest = shape
        factors = self.factors(0, shape if own else (batch, heads, beams, *rest))
        return factors if own else factors.swapaxes(1, 2)

    def factors(self, stream: int, shape: tuple[int, ...]) -> Array:
        """Return what the numbers of a stream, in order, are multiplied by: kept where their words are small."""
        words = self.words[stream]
        if words is None:
            return np.ones(shape)
        probability = (self.problem.attn_dropout, self.problem.post_dropout)[stream]
        seed, draw = map(int, words[:16].astype(np.uint8).view("<u8"))
        found = random_words(int(np.prod(shape)), seed, draw, stream).reshape(shape)
        kept = found < np.uint64(keep_words(1 - probability))
        return np.where(kept, 0.0 if probability == 1 else 1 / (1 - probability), 0.0)


class Kept:
    """The reserve space of a problem as arrays over its memory."""

    def __init__(self, problem: Attention, content: Array | None = None) -> None:
        self.problem, self.layout = problem, problem.kept
        self.memory = np.zeros(self.layout.size, np.uint8)
        if content is not None:
            self.memory[...] = content.astype(np.uint8)[: self.layout.size]

    def put(self, first: int, values: Array, dtype: DataType | None = None) -> None:
        """Store numbers from a byte on, of the tensors' type or another."""
        stored = np.ascontiguousarray((self.problem.dtype if dtype is None else dtype).stored(values.reshape(-1)))
        self.memory[first : first + stored.nbytes] = stored.view(np.uint8)

    def cut(self, first: int, *shape: int) -> Array:
        """Return numbers of the tensors' type."""
        dtype = self.problem.dtype
        end = first + int(np.prod(shape)) * dtype.itemsize
        return as_float64(self.memory[first:end].copy().view(dtype.storage)).reshape(shape)

    def _drawn(self, stream: int) -> Any:
        first = self.layout.draw + 16 * stream
        return self.memory[first : first + 16]

    def draws(self) -> list[Any]:
        """Return seed and draw of each dropout that there is."""
        chances = (self.problem.attn_dropout, self.problem.post_dropout)
        return [self._drawn(stream) if chance else None for stream, chance in enumerate(chances)]

    def draw(self, stream: int, states: Array) -> Array:
        """Keep the states' seed and draw; return the states of the next draw."""
        own = self._drawn(stream)
        own[...] = states[:16].astype(np.uint8)
        seed, number = map(int, own.copy().view("<u8"))
        after: Array = states.copy()
        after[:16] = np.array([seed, (number + 1) % 2**64], "<u8").view(np.uint8)
        return after

    def bytes(self, size: int) -> Any:
        """Return what to store in a buffer of that many bytes."""
        stored = np.zeros(size, np.uint8)
        stored[: self.memory.size] = self.memory
        return stored


def _forward(problem: MultiHeadAttnForward, arrays: Arrays) -> tuple[dict[str, Num], dict[str, Any]]:
    layout = problem.layout
    w = arrays.get("w", np.zeros(0))
    more: dict[str, Any] = {}
    kept = Kept(problem) if problem.reserve is not None else None
    if kept is not None:
        for stream, name in enumerate(("attn_states", "post_states")):
            if name in arrays:
                more[name] = kept.draw(stream, arrays[name])
    dropout = _Dropout(problem, [None, None] if kept is None else kept.draws())
    given_rows = [_rows(problem, arrays, name, which) for which, name in enumerate("qkv")]
    q, k, v = (_heads(problem, w, which, rows) for which, rows in enumerate(given_rows))
    weights, logarithms = _softmax(problem, _dot(q, _turned(k)), _keys(problem, arrays))
    dropped = weights * given(dropout.of_weights(weights.v.shape))
    merged = _merged(_dot(dropped, v))
    out = merged
    if problem.o_proj:
        product = _dot(merged, given(_matrix(problem, w, 3).T))
        out = product + exact(_bias(problem, w, 3))
    out = out * given(dropout.factors(1, out.v.shape))
    if "residuals" in arrays:
        out = out + exact(arrays["residuals"].transpose(1, 2, 0, 3))
    inside = _inside(problem, arrays, 0)
    out = Num(np.where(inside, out.v, 0.0), np.where(inside, out.e, 0.0))
    if kept is not None:
        for which, (num, rows) in enumerate(zip((q, k, v), given_rows, strict=True)):
            kept.put(problem.kept.part(which), _merged(num).v if layout.projections[which] else rows)
        kept.put(problem.kept.statistics, _grouped(problem, logarithms), problem.dtype.accumulator)
        kept.put(problem.kept.merged, merged.v)
        more["reserve"] = kept.bytes(problem.reserve.size)  # type: ignore[union-attr]
    assert layout.out == out.v.shape[-1]
    return {"out": _moved(out, (2, 0, 1, 3))}, more


def _beam_sum(problem: Attention, num: Num) -> Num:
    """Return gradients of keys or values, of the one beam that all queries met."""
    if problem.query_map is AttnQueryMap.ONE_TO_ONE:
        return num
    return Num(num.v.sum(1, keepdims=True), num.e.sum(1, keepdims=True))


def _kept_heads(problem: Attention, kept: Kept, which: int) -> Num:
    """Return each head's queries, keys or values that the forward pass kept: [batch, beam, head, step, number]."""
    layout, side = problem.layout, which > 0
    own = (layout.heads if layout.projections[which] else 1, layout.head(which))
    found = kept.cut(problem.kept.part(which), problem.batch, problem.beams[side], problem.steps[side], *own)
    heads = found.transpose(0, 1, 3, 2, 4)
    return given(np.repeat(heads, layout.heads // own[0], 2))


def _above(problem: Attention, dropout: _Dropout, arrays: Arrays) -> Array:
    """Return the gradient of what the second dropout was given: [batch, beam, step, number]."""
    rows = _rows(problem, arrays, "dout", 0)
    return rows * dropout.factors(1, rows.shape)


def _backward(problem: MultiHeadAttnBackwardData, arrays: Arrays) -> tuple[dict[str, Num], dict[str, Any]]:
    layout, places = problem.layout, problem.kept
    kept = Kept(problem, arrays["reserve"])
    dropout = _Dropout(problem, kept.draws())
    w = arrays.get("w", np.zeros(0))
    q, k, v = (_kept_heads(problem, kept, which) for which in range(3))
    weights, _ = _softmax(problem, _dot(q, _turned(k)), _keys(problem, arrays))
    factors = given(dropout.of_weights(weights.v.shape))
    dout = given(_above(problem, dropout, arrays))
    merged = _dot(dout, given(_matrix(problem, w, 3))) if problem.o_proj else dout
    shape = (problem.batch, problem.beams[0], problem.steps[0], layout.heads, layout.head(2))
    results = _moved(_shaped(merged, shape), (0, 1, 3, 2, 4))
    d_dropped = _dot(results, _turned(v)) * factors
    product = weights * d_dropped
    total = Num(product.v.sum(-1, keepdims=True), product.e.sum(-1, keepdims=True))
    inner = weights * (d_dropped + Num(-total.v, total.e + np.abs(total.v)))
    scores = Num(problem.scale * inner.v, problem.scale * inner.e)
    gradients = (
        _dot(scores, k),
        _beam_sum(problem, _dot(_turned(scores), q)),
        _beam_sum(problem, _dot(_turned(weights * factors), results)),
    )
    found = {}
    for which, (name, gradient) in enumerate(zip(("dq", "dk", "dv"), gradients, strict=True)):
        if layout.projections[which]:
            rows = _merged(gradient)
            kept.put(places.gradient(which), rows.v)
            rows = _dot(rows, given(_matrix(problem, w, which)))
        else:
            rows = Num(gradient.v.sum(2), gradient.e.sum(2) + np.abs(gradient.v).sum(2))
        found[name] = _moved(rows, (2, 0, 1, 3))
    return found, {"reserve": kept.bytes(problem.reserve.size)}


def _weights(
    problem: MultiHeadAttnBackwardWeights, numbers: Numbers, arrays: Arrays, size: Any = lambda a: a
) -> dict[str, Array]:
    """Return dw; with ``size=np.abs`` the sum of its terms' absolute values."""
    layout, places = problem.layout, problem.kept
    kept = Kept(problem, arrays["reserve"])
    dw = size(arrays["dw"]).copy()
    for which in range(4):
        rows, columns = layout.shape(which)
        if not rows:
            continue
        side = which in (1, 2)
        count = problem.sequences[side] * problem.steps[side]
        if which == 3:
            gradient = size(_above(problem, _Dropout(problem, kept.draws()), arrays).reshape(count, rows))
            source = kept.cut(places.merged, count, columns)
        else:
            gradient = size(kept.cut(places.gradient(which), count, rows))
            source = _rows(problem, arrays, "qkv"[which], which).reshape(count, columns)
        first = layout.matrix(which)
        dw[first : first + rows * columns] += (gradient.T @ size(source)).reshape(-1)
        if layout.has_bias(which):
            first = layout.bias(which)
            dw[first : first + rows] += gradient.sum(0)
    return {"dw": dw}


def _values(function: Any) -> Any:
    def values(problem: Any, numbers: Numbers, arrays: Arrays) -> dict[str, Any]:
        found, more = function(problem, arrays)
        return {**{name: num.v for name, num in found.items()}, **more}

    return values


def _terms(function: Any) -> Any:
    def terms(problem: Any, numbers: Numbers, arrays: Arrays) -> dict[str, Array]:
        return {name: num.e + np.abs(num.v) for name, num in function(problem, arrays)[0].items()}

    return terms


DEFINITIONS = {
    MultiHeadAttnForward: Definition(_values(_forward), _terms(_forward)),
    MultiHeadAttnBackwardData: Definition(_values(_backward), _terms(_backward)),
    MultiHeadAttnBackwardWeights: Definition(_weights, lambda p, n, a: _weights(p, n, a, np.abs)),
}
