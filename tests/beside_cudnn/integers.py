"""Programs of bytes: convolutions, reordered filters, columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .layouts import NUMPY, drawn, laid
from .sides import Side

KINDS = (  # of x and w, and of y with its layout: what the library's documents name
    ("INT8", "INT8", "INT8", 1),
    ("INT8", "INT8", "FLOAT", 1),
    ("UINT8", "INT8", "INT8", 1),
    ("UINT8", "INT8", "FLOAT", 1),
    ("INT8x4", "INT8x4", "INT8x4", 2),
    ("INT8x4", "INT8x4", "FLOAT", 0),
    ("UINT8x4", "INT8x4", "FLOAT", 0),
    ("INT8x32", "INT8x32", "INT8x32", 2),
)
EVERY = ("INT8", "UINT8", "INT8x4", "UINT8x4", "INT8x32", "FLOAT", "HALF", "INT32")


def _convolution(side: Side, spatial: int = 2) -> tuple[Any, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    draw = side.draw
    padding, stride = ([draw.choice(c) for _ in range(spatial)] for c in ((0, 0, 1, 2), (1, 1, 2)))
    dilation = [draw.choice((1,) * 40 + (2,)) for _ in range(spatial)]
    mode, compute = draw.choice((1, 1, 1, 0)), draw.choice((4,) * 30 + (0,))
    numbers = [n for three in (padding, stride, dilation) for n in three]
    desc = side.descriptor("Convolution", "cudnnSetConvolution2dDescriptor", *numbers, mode, compute)
    return desc, tuple(padding), tuple(stride), tuple(dilation)


def convolution(side: Side) -> None:
    """cudnnConvolutionForward or cudnnConvolutionBiasActivationForward of bytes."""
    draw = side.draw
    x_kind, w_kind, y_kind, layout = draw.choice(KINDS)
    if draw.random() < 0.1:
        x_kind, w_kind, y_kind, layout = (*(draw.choice(EVERY) for _ in range(3)), draw.choice((0, 1)))
        layout = 2 if "x" in y_kind else layout
        side.tag("other bytes")
    unit = 32 if "x32" in x_kind + w_kind + y_kind else 4
    c, k = (unit * draw.randint(1, 3) for _ in range(2))
    if unit == 4 and draw.random() < 0.08:
        c = c + 1
    x_dims = draw.randint(1, 3), c, draw.randint(3, 9), draw.randint(3, 9)
    w_dims = k, c, draw.randint(1, 3), draw.randint(1, 3)
    desc, padding, stride, dilation = _convolution(side)
    spatial = [
        1 + (x_dims[2 + i] + 2 * padding[i] - dilation[i] * (w_dims[2 + i] - 1) - 1) // stride[i] for i in range(2)
    ]
    y_dims = x_dims[0], k, *(max(size, 1) for size in spatial)
    x_layout = 2 if "x" in x_kind else 1
    x, w, prior = drawn(side, x_kind, x_dims), drawn(side, w_kind, w_dims), drawn(side, y_kind, y_dims)
    x_desc, w_desc = side.tensor(x_kind, x_dims, x_layout), side.filter(w_kind, w_dims, 2 if "x" in w_kind else 1)
    y_desc = side.tensor(y_kind, y_dims, layout)
    memory = side.put(laid(x, x_kind, x_layout), "x"), side.put(laid(w, w_kind, x_layout), "w")
    y = side.put(laid(prior, y_kind, layout), "y", output=True)
    algo = draw.choice((1,) * 12 + (0,))
    alpha, beta = draw.choice((1, 1 / 64, 1 / 512, 1 / 1024)), draw.choice((0, 0, 1, 0.5))
    size = side.call("cudnnGetConvolutionForwardWorkspaceSize", side.handle, x_desc, w_desc, desc, y_desc, algo)
    first = side.handle, side.host(alpha), x_desc, memory[0], w_desc, memory[1], desc, algo
    first += side.room(size, "workspace"), size, side.host(beta)
    if draw.random() < 0.5:
        side.call("cudnnConvolutionForward", *first, y_desc, y)
    else:
        bias = side.rng.integers(-160, 160, k).astype(np.float32) / 8
        z = side.put(laid(drawn(side, y_kind, y_dims), y_kind, layout), "z")
        activation = side.descriptor("Activation", "cudnnSetActivationDescriptor", draw.choice((1, 1, 5)), 0, 0.0)
        last = side.tensor("FLOAT", (1, k, 1, 1)), side.put(bias, "bias"), activation, y_desc, y
        side.call("cudnnConvolutionBiasActivationForward", *first, y_desc, z, *last)
    side.output("y", side.read(y, NUMPY[y_kind]), length=4)


def reordered(side: Side) -> None:
    """cudnnReorderFilterAndBias."""
    draw = side.draw
    kind = draw.choice(("INT8x32",) * 6 + ("INT8x4", "FLOAT"))
    dims = 32 * draw.randint(1, 3), 32 * draw.randint(1, 2), draw.randint(1, 3), draw.randint(1, 3)
    how, bias = draw.choice((0, 0, 0, 1)), draw.choice((0, 1))
    if how and bias:
        side.tag("reordered")
    w = side.put(laid(drawn(side, kind, dims), kind), "w")
    out = side.put(laid(drawn(side, kind, dims), kind), "reordered", output=True)
    b = side.put(side.rng.standard_normal(dims[0]).astype(np.float32), "bias")
    b_out = side.put(np.zeros(dims[0], np.float32), "reordered bias", output=True)
    side.call("cudnnReorderFilterAndBias", side.handle, side.filter(kind, dims), how, w, out, bias, b, b_out)
    side.output("reordered", side.read(out))
    side.output("bias", side.read(b_out, np.uint32))


def columns(side: Side) -> None:
    """cudnnIm2Col."""
    draw = side.draw
    kind = draw.choice(("FLOAT", "FLOAT", "HALF", "DOUBLE", "INT8"))
    if kind == "INT8":
        side.tag("columns of bytes")
    dims = draw.randint(1, 3), draw.randint(1, 4), draw.randint(3, 7), draw.randint(3, 7)
    w_dims = draw.randint(1, 3), dims[1], draw.randint(1, 3), draw.randint(1, 3)
    padding, stride = draw.choice((0, 1)), draw.choice((1, 2))
    numbers = padding, padding, stride, stride, 1, 1
    compute = {"DOUBLE": 1}.get(kind, 0)
    desc = side.descriptor("Convolution", "cudnnSetConvolution2dDescriptor", *numbers, draw.choice((1, 1, 0)), compute)
    spatial = [1 + (dims[2 + i] + 2 * padding - w_dims[2 + i]) // stride for i in range(2)]
    count = dims[0] * dims[1] * w_dims[2] * w_dims[3] * spatial[0] * spatial[1]
    x = side.put(laid(drawn(side, kind, dims), kind), "x")
    out = side.put(np.full(count, 7, NUMPY[kind]), "columns", output=True)
    x_desc, w_desc = side.tensor(kind, dims), side.filter(kind, w_dims)
    side.call("cudnnIm2Col", side.handle, x_desc, x, w_desc, desc, out)
    side.output("columns", side.read(out, NUMPY[kind]))


PROGRAMS = {
    "cudnnConvolutionForward of bytes": convolution,
    "cudnnReorderFilterAndBias": reordered,
    "cudnnIm2Col": columns,
}
