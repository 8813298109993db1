"""Cases of pooling and softmax."""

from __future__ import annotations

import itertools

from cases import BFLOAT16, DOUBLE, FLOAT, HALF, INPUT_ONLY, LAYOUTS, TYPES, Turns, tensor
from helper import Case

# pooling: x dims, parameters

POOLINGS = (
    ((2, 3, 6, 8), "window=2,2 stride=2,2"),
    ((1, 1, 1, 1), "window=1,1"),
    ((2, 3, 7, 7), "window=3,3 stride=2,2 padding=1,1"),
    ((1, 2, 5, 6), "window=3,2"),
    ((2, 2, 9, 5), "window=2,3 stride=4,2 padding=1,0"),
    ((1, 3, 4, 4), "window=4,4"),
    ((1, 1, 3, 3), "window=2,2 padding=2,2"),
    ((2, 17, 4, 4), "window=3,3 stride=1,1 padding=1,1"),
    ((0, 3, 4, 4), "window=2,2"),
    ((2, 0, 4, 4), "window=2,2"),
    ((1, 2, 4, 5, 6), "window=2,2,3 stride=2,1,2 padding=0,1,1"),
    ((2, 3, 3, 3, 3), "window=3,3,3"),
)
POOLING_MODES = ("max", "average_count_include_padding", "average_count_exclude_padding")


def _pooling(dims, parameters, mode, direction, dtype, layout, numbers, out_layout=None):
    words = {name: tuple(map(int, text.split(","))) for name, text in (w.split("=") for w in parameters.split())}
    none, ones = (0,) * len(words["window"]), (1,) * len(words["window"])
    out = [
        1 + (size + 2 * pad - window) // stride
        for size, window, pad, stride in zip(
            dims[2:], words["window"], words.get("padding", none), words.get("stride", ones), strict=True
        )
    ]
    out_layout = out_layout or ("nchw" if layout in INPUT_ONLY else layout)
    x, y = tensor(dtype, dims, layout), tensor(dtype, (*dims[:2], *out), out_layout)
    tensors = f"x={x} y={y}" if direction == "forward" else f"y={y} dy={y} x={x} dx={x}"
    return f"pooling_{direction} {tensors} mode={mode} {parameters} {numbers}"


def _poolings():
    turn = Turns()
    averages = itertools.cycle(POOLING_MODES[1:] + POOLING_MODES[:0:-1])
    for number, ((dims, parameters), direction) in enumerate(itertools.product(POOLINGS, ("forward", "backward"))):
        for mode in ("max", next(averages)):
            dtype, layout, numbers = turn(mode, direction)
            often = (mode == "max") == (number % 4 < 2)
            yield Case(_pooling(dims, parameters, mode, direction, dtype, layout, numbers), everywhere=often)
    geometry = ((2, 5, 6, 7), "window=3,2 stride=2,2 padding=1,1")
    for number, (mode, direction, layout) in enumerate(
        itertools.product(POOLING_MODES, ("forward", "backward"), LAYOUTS)
    ):
        dtype, other, numbers = turn(mode, direction)
        yield Case(_pooling(*geometry, mode, direction, dtype, layout, numbers, other), everywhere=number % 3 == 0)
    for mode, layout in itertools.product(POOLING_MODES, INPUT_ONLY):
        yield Case(_pooling(*geometry, mode, "forward", FLOAT, layout, "alpha=1"), everywhere=mode == "max")
    for direction, dtype, layout in itertools.product(("forward", "backward"), TYPES, ("nchw", "nhwc")):
        # small integers repeat: the first of equal maxima must win
        line = _pooling((2, 3, 8, 7), "window=3,3 stride=2,1 padding=1,1", "max", direction, dtype, layout, "alpha=2")
        yield Case(line + " nan_propagation=propagate_nan", "integer", everywhere=layout == "nchw")
        yield Case(line + " beta=1", "integer", everywhere=layout == "nhwc")


def _large_poolings():
    """Windows of more than 256 cells, and rows of thousands of pixels."""
    for dtype, direction, layout in (
        (FLOAT, "backward", "nchw"),
        (HALF, "backward", "nhwc"),
        (DOUBLE, "forward", "nchw"),
        (BFLOAT16, "backward", "nchw"),
    ):
        line = _pooling((1, 2, 20, 19), "window=17,16 padding=3,2", "max", direction, dtype, layout, "alpha=1")
        yield Case(line, everywhere=dtype is FLOAT)
    for mode, direction in itertools.product(POOLING_MODES, ("forward", "backward")):
        line = _pooling((1, 2, 3, 4500), "window=2,3 stride=1,2", mode, direction, FLOAT, "nchw", "alpha=1")
        yield Case(line, everywhere=False)


POOLING_CASES = (*_poolings(), *_large_poolings())

# softmax

SOFTMAX_DIMS = (
    (2, 3, 4, 5),
    (1, 1, 1, 1),
    (3, 10, 1, 1),
    (2, 130, 1, 3),
    (1, 1, 9, 9),
    (0, 3, 2, 2),
    (5, 7, 3),
    (2, 3, 2, 3, 2),
    (2, 1025, 1, 1),
    (1, 3, 31, 33),
)
SOFTMAX_KINDS = tuple(
    f"algorithm={a} mode={m}" for a, m in itertools.product(("fast", "accurate", "log"), ("channel", "instance"))
)


def _softmax(dims, kind, direction, dtype, layout, numbers, out_layout=None):
    x, y = tensor(dtype, dims, layout), tensor(dtype, dims, out_layout or ("nchw" if layout in INPUT_ONLY else layout))
    tensors = f"x={x} y={y}" if direction == "forward" else f"y={x} dy={x} dx={y}"
    return f"softmax_{direction} {tensors} {kind} {numbers}"


def _softmaxes():
    turn = Turns()
    kinds = itertools.cycle((*SOFTMAX_KINDS, SOFTMAX_KINDS[2]))  # a length that 6 does not share a factor with
    for dims, direction in itertools.product(SOFTMAX_DIMS, ("forward", "backward")):
        for number in range(3):
            kind = next(kinds)
            dtype, layout, numbers = turn(kind, direction)
            yield Case(_softmax(dims, kind, direction, dtype, layout, numbers), everywhere=number == 0)
    for number, (kind, direction, layout) in enumerate(
        itertools.product(SOFTMAX_KINDS, ("forward", "backward"), LAYOUTS)
    ):
        dtype, other, numbers = turn(kind, direction)
        yield Case(_softmax((2, 6, 3, 5), kind, direction, dtype, layout, numbers, other), everywhere=number % 4 == 0)
    for kind, layout in itertools.product(SOFTMAX_KINDS[2:4], INPUT_ONLY):
        yield Case(_softmax((2, 6, 3, 5), kind, "forward", FLOAT, layout, "alpha=1"), everywhere=layout == "overlap")
    for kind in SOFTMAX_KINDS:
        yield Case(_softmax((2, 9, 3, 3), kind, "forward", FLOAT, "nhwc", "beta=0.5"), alias=("y", "x"))
        yield Case(
            _softmax((2, 9, 3, 3), kind, "backward", HALF, "nchw", "alpha=2"), alias=("dx", "dy"), everywhere=False
        )


def _long_softmaxes():
    """Rows that no single work-group keeps."""
    for number, (dtype, algorithm) in enumerate(zip(("f32", "f16", "f64"), ("accurate", "log", "fast"), strict=True)):
        beta = " alpha=2 beta=0.5" if number == 1 else ""
        for dims in ("2x3x110x128", "1x2x181x92/40000,20000,96,1", "2x33000x1x1", "1x1x1x262145", "3x1x183x185"):
            yield Case(f"softmax_forward x={dtype}:{dims} mode=instance algorithm={algorithm}{beta}", everywhere=False)
    kinds = itertools.cycle((*SOFTMAX_KINDS, SOFTMAX_KINDS[2]))
    for dims, (dtype, layout), direction in itertools.product(
        ((1, 9, 64, 65), (2, 40000, 1, 1), (1, 3001, 2, 3)),
        ((FLOAT, "nchw"), (HALF, "nhwc"), (DOUBLE, "gaps"), (BFLOAT16, "nchw")),
        ("forward", "backward"),
    ):
        yield Case(_softmax(dims, next(kinds), direction, dtype, layout, "alpha=2"), everywhere=dtype is FLOAT)


SOFTMAX_CASES = (*_softmaxes(), *_long_softmaxes())
