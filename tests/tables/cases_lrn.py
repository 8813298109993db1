"""Cases of local response and divisive normalisation."""

from __future__ import annotations

import itertools

from cases import BFLOAT16, DOUBLE, FLOAT, HALF, INPUT_ONLY, LAYOUTS, Turns, tensor
from helper import Case

# windows with exponents that have kernels of their own, and one that has none; every window is compiled
WINDOWS = (
    "lrn_n=5 lrn_alpha=1.5 lrn_k=0.7",
    "lrn_n=4 lrn_alpha=0.8 lrn_beta=0.6 lrn_k=0.1",
    "lrn_n=1 lrn_alpha=2 lrn_beta=0.5 lrn_k=0.3",
    "lrn_n=16 lrn_alpha=3 lrn_beta=1.0",
    "lrn_n=2 lrn_alpha=1.5 lrn_k=0.7",
)

# across channels: fewer than a window, more than a CPU's block, and what vectors and slices leave over

LRN_DIMS = (
    (2, 9, 3, 5),
    (1, 1, 4, 4),
    (3, 17, 1, 1),
    (2, 3, 4, 8),
    (1, 300, 2, 2),
    (2, 16, 3, 3, 2),
    (4, 6, 5),
    (0, 3, 2, 2),
    (2, 0, 2, 2),
    (1, 40, 17, 61),
)


def _lrn(direction, dims, window, dtype, layout, numbers, other=None):
    out = tensor(dtype, dims, other or ("nchw" if layout in INPUT_ONLY else layout))
    x = tensor(dtype, dims, layout)
    tensors = f"x={x} y={out}" if direction == "forward" else f"y={out} dy={out} x={x} dx={out}"
    return f"lrn_cross_channel_{direction} {tensors} {window} {numbers}"


def _lrns():
    turn, windows = Turns(), itertools.cycle(WINDOWS)
    for number, (dims, direction) in enumerate(itertools.product(LRN_DIMS, ("forward", "backward"))):
        dtype, layout, numbers = turn(direction)
        yield Case(_lrn(direction, dims, next(windows), dtype, layout, numbers), everywhere=number % 3 == 0)
    for number, (layout, direction) in enumerate(itertools.product(LAYOUTS, ("forward", "backward"))):
        dtype, other, numbers = turn(direction)
        line = _lrn(direction, (2, 6, 3, 5), WINDOWS[0], dtype, layout, numbers, other)
        yield Case(line, everywhere=number % 5 == 0)
    for window, direction in itertools.product(WINDOWS, ("forward", "backward")):
        dtype, _, numbers = turn(window)
        for layout in ("nchw", "nhwc"):  # vectors of places, vectors of channels
            yield Case(_lrn(direction, (2, 24, 2, 8), window, dtype, layout, numbers), everywhere=dtype is not BFLOAT16)
    for layout, direction in itertools.product(INPUT_ONLY, ("forward", "backward")):
        yield Case(_lrn(direction, (2, 6, 3, 5), WINDOWS[0], FLOAT, layout, ""), everywhere=False)


LRN_CASES = tuple(_lrns())

# over spatial windows, with means and without, and with the gradient to the means and without

DIVISIVE_DIMS = (
    (2, 3, 7, 9),
    (1, 1, 1, 1),
    (2, 8, 5, 4),
    (1, 2, 3, 300),
    (1, 2, 3, 4, 5),
    (0, 3, 4, 4),
)


def _divisive(direction, dims, window, dtype, layout, numbers, means, other=None):
    x, out = tensor(dtype, dims, layout), tensor(dtype, dims, other or ("nchw" if layout in INPUT_ONLY else layout))
    tensors = f"x={x} y={out}" if direction == "forward" else f"x={x} dy={out} dx={out}"
    if means:
        tensors += f" means={out}"
    if means == "gradient" and direction == "backward":
        tensors += f" dmeans={out}"
    return f"divisive_normalization_{direction} {tensors} {window} {numbers}"


MEANS = ("", "means", "gradient")


def _divisives():
    turn, windows, means = Turns(), itertools.cycle(WINDOWS), itertools.cycle(MEANS)
    for number, (dims, direction) in enumerate(itertools.product(DIVISIVE_DIMS, ("forward", "backward"))):
        dtype, layout, numbers = turn(direction)
        line = _divisive(direction, dims, next(windows), dtype, layout, numbers, next(means))
        yield Case(line, everywhere=number % 2 == 0)
    for number, (layout, direction) in enumerate(zip(LAYOUTS, itertools.cycle(("forward", "backward")))):
        dtype, other, numbers = turn(direction)
        line = _divisive(direction, (2, 4, 5, 6), WINDOWS[0], dtype, layout, numbers, MEANS[number % 3], other)
        yield Case(line, everywhere=number == 1)
    for kind, direction, layout in itertools.product(MEANS, ("forward", "backward"), ("nchw", "nhwc")):
        dtype = {"": FLOAT, "means": HALF, "gradient": DOUBLE}[kind]
        line = _divisive(direction, (2, 8, 6, 5), WINDOWS[0], dtype, layout, "alpha=2 beta=0.5", kind)
        yield Case(line, everywhere=layout == "nhwc")
    for layout in INPUT_ONLY:
        yield Case(_divisive("forward", (2, 8, 6, 5), WINDOWS[0], FLOAT, layout, "", ""), everywhere=False)
    for layout, dtype in (("nchw", FLOAT), ("nhwc", FLOAT), ("gaps", HALF)):
        line = _divisive("forward", (2, 8, 6, 5), WINDOWS[0], dtype, layout, "alpha=2 beta=0.5", "means")
        yield Case(line, alias=("y", "x"), everywhere=layout != "gaps")


DIVISIVE_CASES = tuple(_divisives())
