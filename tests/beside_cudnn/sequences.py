"""Programs of sequences: recurrent networks with all that version 8 sets, and CTC loss."""

from __future__ import annotations

import itertools

import numpy as np

from .sides import Side

KINDS = {0: np.float32, 1: np.float64, 2: np.float16}
FILL = -7.0


def _lengths(side: Side, steps: int, batch: int, zeros: bool) -> tuple[int, ...]:
    draw = side.draw
    how = draw.choice(("full", "sorted", "any", "any", "zero" if zeros else "any"))
    if how == "full":
        return (steps,) * batch
    lengths = [draw.randint(0 if how == "zero" else 1, steps) for _ in range(batch)]
    return tuple(sorted(lengths, reverse=True) if how == "sorted" else lengths)


def recurrent(side: Side) -> None:
    """cudnnRNNForward, cudnnRNNBackwardData_v8 and cudnnRNNBackwardWeights_v8."""
    draw, rng, handle = side.draw, side.rng, side.handle
    kind = draw.choice((0, 0, 0, 1, 2))
    dtype, mode = KINDS[kind], draw.choice((0, 1, 2, 2, 3))
    features, hidden = (draw.choice((1, 3, 4, 8, 16)) for _ in range(2))
    layers, both, bias = draw.randint(1, 3), draw.choice((0, 0, 1)), draw.choice((0, 1, 2, 3))
    skip = draw.choice((0, 0, 0, 1))
    if skip:
        features = hidden
    steps, batch = draw.randint(1, 5), draw.randint(1, 4)
    layout = draw.choice((0, 1, 2))
    lengths = _lengths(side, steps, batch, zeros=draw.random() < 0.3)
    if layout == 1 and draw.random() < 0.9:  # packed: the longest first
        lengths = tuple(sorted(lengths, reverse=True))
    padded, training = draw.choice((1, 1, 1, 1, 0)), draw.random() < 0.7
    if layout != 1 and not padded:
        side.tag("unpacked without padding")
    if layout == 1 and max(lengths) < steps:
        side.tag("no sequence of all steps")
    if 0 in lengths:
        side.tag("empty sequence")
    math_type = draw.choice((3, 3, 0)) if kind == 0 else 0
    setting = 0, mode, bias, both, skip, kind, 0 if kind == 2 else kind, math_type
    projected = hidden // 2 if mode == 2 and hidden > 3 and not skip and draw.random() < 0.4 else hidden
    setting += features, hidden, projected, layers, None, padded
    rnn = side.descriptor("RNN", "cudnnSetRNNDescriptor_v8", *setting)
    clip = mode == 2 and draw.random() < 0.4
    if clip or draw.random() < 0.05:
        side.call("cudnnRNNSetClip_v9", rnn, 1, -0.6, 0.5)
    width = projected * (1 + both)
    fill = side.host(FILL, np.dtype(dtype).name)
    descs = [
        side.descriptor("RNNData", "cudnnSetRNNDataDescriptor", kind, layout, steps, batch, size, lengths, fill)
        for size in (features, width)
    ]
    size = side.call("cudnnGetRNNWeightSpaceSize", handle, rnn)
    side.output("weight space", [size])
    rooms = side.call("cudnnGetRNNTempSpaceSizes", handle, rnn, int(training), descs[0])
    w = (rng.standard_normal(size // np.dtype(dtype).itemsize) / 2).astype(dtype)
    count = sum(lengths) if layout == 1 else steps * batch
    x, dy = ((rng.standard_normal((count, n)) / 2).astype(dtype) for n in (features, width))
    where = _kept(layout, steps, batch, lengths)
    states = {letter: (layers * (1 + both), batch, n) for letter, n in (("h", projected), ("c", hidden))}
    state_desc, cell_desc = (
        side.descriptor("Tensor", "cudnnSetTensorNdDescriptor", kind, 3, dims, (batch * dims[2], dims[2], 1))
        for dims in states.values()
    )
    given = {
        name: side.put((rng.standard_normal(states[name.strip("dxy")]) / 2).astype(dtype), name)
        for name in ("hx", "cx", "dhy", "dcy")
    }
    ends = {
        name: side.put(np.full(states[name.strip("dxy")], 9, dtype), name, output=True)
        for name in ("hy", "cy", "dhx", "dcx")
    }
    if draw.random() < 0.2:  # NULL: states of zeros
        given["hx"] = given["cx"] = None  # type: ignore[assignment]
    dev = side.put(np.array(lengths, np.int32), "lengths")
    memory = {"x": side.put(x, "x"), "w": side.put(w, "w"), "dy": side.put(dy, "dy")}
    y = side.put(np.full(dy.shape, 5, dtype), "y", output=True)
    work, reserve = (side.room(n, name) for n, name in zip(rooms, ("workspace", "reserve"), strict=True))
    spaces = rooms[0], work, rooms[1], reserve
    cells = (cell_desc, given["cx"], ends["cy"]) if mode == 2 else (None, None, None)
    side.call(
        *("cudnnRNNForward", handle, rnn, int(training), dev, descs[0], memory["x"], descs[1], y, state_desc),
        *(given["hx"], ends["hy"], *cells, size, memory["w"], *spaces),
    )
    how = {
        "length": (features + hidden + 2) * layers * steps,
        "tf32": math_type == 0 and kind == 0,
        "terms": 4.0 if mode else 64.0,  # RELU's states grow
        "between": True,
    }
    side.output("y", side.read(y, dtype), **how)
    alive = np.array(lengths)[:, None] > 0  # the states of sequences without steps are the libraries' own

    def end(name: str) -> None:
        found = side.read(ends[name], dtype).reshape(states[name.strip("dxy")])
        side.output(name, np.where(alive, found, 0), **how)

    end("hy")
    if mode == 2:
        end("cy")
    if not training:
        return
    dx = side.put(np.full(x.shape, 6, dtype), "dx", output=True)
    cells = (cell_desc, given["cx"], given["dcy"], ends["dcx"]) if mode == 2 else (None,) * 4  # type: ignore[assignment]
    side.call(
        *("cudnnRNNBackwardData_v8", handle, rnn, dev, descs[1], y, memory["dy"], descs[0], dx, state_desc),
        *(given["hx"], given["dhy"], ends["dhx"], *cells, size, memory["w"], *spaces),
    )
    found = side.read(dx, dtype).reshape(x.shape)
    side.output("dx", np.where(where[:, None], found, 0), **how)
    end("dhx")
    if mode == 2:
        end("dcx")
    dw = side.put(np.ones_like(w), "dw", output=True)
    side.call(
        *("cudnnRNNBackwardWeights_v8", handle, rnn, 0, dev, descs[0], memory["x"], state_desc, given["hx"]),
        *(descs[1], y, size, dw, *spaces),
    )
    side.output("dw", side.read(dw, dtype), **{**how, "terms": 4.0 * count})


def _kept(layout: int, steps: int, batch: int, lengths: tuple[int, ...]) -> np.ndarray:
    """Return which rows of an image of sequences belong to one."""
    if layout == 1:
        return np.ones(sum(lengths), bool)
    inside = np.arange(steps)[:, None] < np.array(lengths)
    return (inside.T if layout == 2 else inside).ravel()


def ctc(side: Side) -> None:
    """cudnnCTCLoss or cudnnCTCLoss_v8, with descriptors of versions 7, 8 and 9."""
    draw, rng, handle = side.draw, side.rng, side.handle
    longest, batch, classes = draw.randint(1, 6), draw.randint(1, 4), draw.randint(2, 8)
    steps = draw.choice((draw.randint(longest, 12), *(draw.randint(2 * longest, 14) for _ in "abcd")))
    used = [draw.choice((steps, draw.randint(1, steps))) for _ in range(batch)]
    lengths = [draw.randint(1, longest) for _ in range(batch)]
    if draw.random() < 0.1:
        lengths[0] = 0
    labels = [draw.randint(1, classes - 1) for _ in range(sum(lengths))]
    if draw.random() < 0.05 and labels:
        labels[0] = 0
    place = 0
    fitting: list[int] = []
    for length in lengths:
        label, place = labels[place : place + length], place + length
        need = length + sum(a == b for a, b in itertools.pairwise(label))
        many = used[len(fitting)] if draw.random() < 0.1 else min(steps, max(used[len(fitting)], need))
        fitting.append(many)
        if not length or 0 in label or need > many:
            side.tag("odd label")
    used = fitting
    mode, option = draw.choice((0, 1, 1, 1, 1)), draw.choice((0, 1))
    if min(used) < steps:
        side.tag("short input")
    if mode == 0:
        side.tag("probabilities")
    version = draw.choice(("Ex", "_v8", "_v9"))
    setter = f"cudnnSetCTCLossDescriptor{version}"
    setting = (0, mode, option) if version == "Ex" else (0, mode, option, longest)
    desc = side.descriptor("CTCLoss", setter, *setting)
    dims = steps, batch, classes
    logits = (3 * rng.standard_normal(dims)).astype(np.float32)
    if mode == 0:
        logits = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    probs, gradients = (
        side.descriptor("Tensor", "cudnnSetTensorNdDescriptor", 0, 3, dims, (batch * classes, classes, 1))
        for _ in range(2)
    )
    x, algo = side.put(logits, "probs"), draw.choice((0, 1))
    costs = side.put(np.full(batch, 3, np.float32), "costs", output=True)
    slopes = side.put(np.full(dims, 5, np.float32), "gradients", output=True)
    if version == "Ex":
        given = tuple(labels or [1]), tuple(lengths), tuple(used)
        size = side.call("cudnnGetCTCLossWorkspaceSize", handle, probs, gradients, *given, algo, desc)
        last = algo, desc, side.room(size, "workspace"), size
        side.call("cudnnCTCLoss", handle, probs, x, *given, costs, gradients, slopes, *last)
    else:
        size = side.call("cudnnGetCTCLossWorkspaceSize_v8", handle, algo, desc, probs, gradients)
        arrays = [side.put(np.array(n or [1], np.int32), "labels") for n in (labels, lengths, used)]
        last = costs, gradients, slopes, size, side.room(size, "workspace")
        side.call("cudnnCTCLoss_v8", handle, algo, desc, probs, x, *arrays, *last)
    side.output("costs", side.read(costs, np.float32), length=10 * steps, terms=10.0 * steps)
    found = side.read(slopes, np.float32).reshape(dims)
    inside = np.arange(steps)[:, None] < np.array(used)
    side.output("gradients", np.where(inside[..., None], found, 0), length=10 * steps, terms=10.0 * steps)


PROGRAMS = {"cudnnRNN*": recurrent, "cudnnCTCLoss": ctc}
