"""Programs of cudnnMultiHeadAttn*: sizes, layouts, windows, lengths, residuals, biases, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sides import Memory, Side

DTYPES = {0: np.float32, 1: np.float64, 2: np.float16}


def _sequences(side: Side, kind: int, dims: tuple[int, ...], axes: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
    setting = kind, 4, dims, axes, len(lengths), lengths, None
    return side.descriptor("SeqData", "cudnnSetSeqDataDescriptor", *setting)


def _groups(side: Side, desc: Any, size: int, base: Memory, biases: bool) -> list[tuple[int, tuple, tuple]]:
    """Return where each group of parameters lies: its offset in bytes, dims and strides."""
    found = []
    for which in range(8 if biases else 4):
        tensor = side.created("Tensor")
        part = side.call("cudnnGetMultiHeadAttnWeights", side.handle, desc, which, size, base, tensor)
        if part is None or part is False or side.address(part) == 0:
            found.append((-1, (), ()))
            continue
        _, count, dims, strides = side.call("cudnnGetTensorNdDescriptor", tensor, 3)
        place = side.address(part) - side.address(base.part)
        found.append((place, tuple(dims[:count]), tuple(strides[:count])))
    side.output("groups", [n for _, dims, _ in found for n in (len(dims), *dims)])
    return found


def _view(flat: Any, place: int, dims: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    size = flat.itemsize
    return np.lib.stride_tricks.as_strided(flat[place // size :], dims, [s * size for s in strides])


def attention(side: Side) -> None:
    """cudnnMultiHeadAttnForward and its gradients."""
    draw, rng, handle = side.draw, side.rng, side.handle
    kind = draw.choice((0, 0, 0, 1, 2))
    dtype = DTYPES[kind]
    heads, beams, batch = draw.randint(1, 3), draw.choice((1, 1, 2)), draw.randint(1, 3)
    steps, keys = draw.randint(1, 5), draw.randint(1, 6)
    sizes = tuple(draw.choice((2, 4, 6, 8)) for _ in range(3))
    common = draw.choice((0, 2, 4))
    if not common:
        sizes = (sizes[0], sizes[0], sizes[2])
    projections = (common, common, draw.choice((0, 2, 4)), draw.choice((0, 4, 8)))
    biases = draw.random() < 0.5
    if heads > 1 and projections[3] and not projections[2]:
        side.tag("several heads")
    if 0 in projections:
        side.tag("identity projection")
    one_to_one = draw.choice((0, 0, 1)) if beams > 1 else draw.choice((0, 1))
    mode = 2 * biases + one_to_one
    if one_to_one and beams > 1:
        side.tag("one to one with beams")
    training = draw.random() < 0.6
    math_type = draw.choice((3, 0)) if kind == 0 else 0
    setting = mode, heads, draw.choice((1.0, 0.5)), kind, 0 if kind == 2 else kind, math_type, None, None
    desc = side.descriptor("Attn", "cudnnSetAttnDescriptor", *setting, *sizes, *projections, steps, keys, batch, beams)
    rooms = side.attention_buffers(desc, training)
    value = projections[2] or sizes[2]
    width = projections[3] or value * heads
    k_beams = beams if one_to_one else 1
    shapes = [(steps, batch, beams, sizes[0]), (keys, batch, k_beams, sizes[1]), (keys, batch, k_beams, sizes[2])]
    shapes.append((steps, batch, beams, width))
    axes = draw.choice(((0, 1, 2, 3), (1, 0, 2, 3), (1, 2, 0, 3), (2, 1, 0, 3)))
    lengths = tuple(draw.choice((steps, draw.randint(1, steps))) for _ in range(batch * beams))
    key_lengths = tuple(draw.choice((keys, draw.randint(1, keys))) for _ in range(batch * k_beams))
    if min(lengths) < steps:
        side.tag("short queries")
    used = (lengths, key_lengths, key_lengths, lengths)
    descs = [_sequences(side, kind, s, axes, n) for s, n in zip(shapes, used, strict=True)]
    values = [(rng.standard_normal([s[i] for i in axes]) / 2).astype(dtype) for s in shapes]
    q, k, v, residuals = (side.put(a, name) for a, name in zip(values, "qkvr", strict=True))
    with_residuals = width == sizes[0] and draw.random() < 0.7
    empty = side.put(np.zeros(max(rooms[0], 16), np.uint8), "places")
    places = _groups(side, desc, rooms[0], empty, biases) if rooms[0] else []
    flat = np.zeros(max(rooms[0] // np.dtype(dtype).itemsize, 1), dtype)
    for place, dims, strides in places:
        if place >= 0:
            _view(flat, place, dims, strides)[...] = (rng.standard_normal(dims) / 2).astype(dtype)
    weights = side.put(flat, "weights") if rooms[0] else None
    lo = tuple(draw.choice((0, 0, draw.randint(0, keys - 1))) for _ in range(steps))
    hi = tuple(draw.choice((keys, keys, min(keys, start + draw.randint(1, 3)))) for start in lo)
    if any(start >= least for start in lo for least in key_lengths):
        side.tag("window without keys")
    devices = [side.put(np.array(n, np.int32), "lengths") for n in (lengths, key_lengths)]
    out = side.put(np.full(values[3].shape, 3, dtype), "out", output=True)
    current = -1 if training or draw.random() < 0.7 else draw.randrange(steps)
    reserve = side.room(rooms[2], "reserve") if training else None
    spaces = rooms[0], weights, rooms[1], side.room(rooms[1], "workspace"), rooms[2] if training else 0, reserve
    given = descs[0], q, residuals if with_residuals else None, descs[1], k, descs[2], v, descs[3], out
    side.call("cudnnMultiHeadAttnForward", handle, desc, current, lo, hi, *devices, *given, *spaces)
    how = {"length": 16 * (keys + max(sizes)), "terms": 8.0, "tf32": math_type == 0 and kind == 0, "between": True}
    found = side.read(out, dtype).reshape(values[3].shape)
    inside = (np.arange(steps)[:, None] < np.array(lengths)).reshape(steps, batch, beams, 1)
    inside_out = inside
    kept = np.where(inside, found.transpose(np.argsort(axes)), 0)  # it writes anything behind the lengths
    side.output("out", kept if current < 0 else kept[current], **how)
    if not training:
        return
    above = side.put((rng.standard_normal(values[3].shape) / 2).astype(dtype), "dout")
    slopes = [side.put(np.full(a.shape, 4, dtype), f"d{n}", output=True) for a, n in zip(values, "qkv", strict=False)]
    arguments = [descs[3], above]
    for one, slope, memory in zip(descs, slopes, (q, k, v), strict=False):
        arguments += [one, slope, memory]
    side.call("cudnnMultiHeadAttnBackwardData", handle, desc, lo, hi, *devices, *arguments, *spaces)
    for name, slope, shape, used_by in zip(("dq", "dk", "dv"), slopes, shapes, used, strict=False):
        numbers = side.read(slope, dtype).reshape([shape[i] for i in axes]).transpose(np.argsort(axes))
        inside = np.arange(shape[0])[:, None] < np.array(used_by)
        side.output(name, np.where(inside.reshape(*shape[:3], 1), numbers, 0), **{**how, "terms": 16.0})
    if weights is None:
        return
    dw = side.put(np.ones_like(flat), "dweights", output=True)
    triples = descs[0], q, descs[1], k, descs[2], v, descs[3], above
    adding = draw.choice((0, 1))
    last = rooms[0], weights, dw, *spaces[2:]
    side.call("cudnnMultiHeadAttnBackwardWeights", handle, desc, adding, *triples, *last)
    numbers = side.read(dw, dtype)
    if not side.real and len(places) == 8 and places[7][0] >= 0:
        # the library's gradient of the outputs' biases has the rows behind a query's length, too
        place, dims, strides = places[7]
        rows = np.where(inside_out, 0, side.read(above, dtype).reshape(values[3].shape).transpose(np.argsort(axes)))
        _view(numbers, place, dims, strides)[...] += rows.sum((0, 1, 2)).astype(dtype).reshape(dims)
    for i, (place, dims, strides) in enumerate(places):
        if place >= 0:
            side.output(f"dw{i}", _view(numbers, place, dims, strides), **{**how, "terms": 64.0})


PROGRAMS = {"cudnnMultiHeadAttn*": attention}
