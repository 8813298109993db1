"""Cases of activations and tensor operations."""

from __future__ import annotations

import itertools

from cases import FLOAT, HALF, INPUT_ONLY, LAYOUTS, TYPES, Turns, tensor
from helper import Case

# activations

ACTIVATIONS = ("mode=sigmoid", "mode=relu", "mode=tanh", "mode=clipped_relu ceiling=0.75")
LATER_ACTIVATIONS = ("mode=elu", "mode=elu coef=0.3", "mode=swish", "mode=swish coef=1.75", "mode=identity")
ACTIVATION_DIMS = (
    (2, 3, 5, 7),
    (1, 1, 1, 1),
    (3, 4, 16, 16),
    (0, 2, 3, 3),
    (5, 7, 3),
    (2, 1, 3, 2, 4),
    (1, 2, 1, 3, 1, 2, 1, 3),
)


def _activation(dims, mode, direction, dtype, layout, numbers, out_layout=None):
    x, y = tensor(dtype, dims, layout), tensor(dtype, dims, out_layout or ("nchw" if layout in INPUT_ONLY else layout))
    tensors = f"x={x} y={y}" if direction == "forward" else f"y={y} dy={y} x={x} dx={x}"
    return f"activation_{direction} {tensors} {mode} {numbers}"


def _activations():
    turn = Turns()
    modes = itertools.cycle((*ACTIVATIONS, ACTIVATIONS[1]))
    for dims, direction in itertools.product(ACTIVATION_DIMS, ("forward", "backward")):
        for number in range(3):
            mode = next(modes)
            dtype, layout, numbers = turn(mode, direction)
            yield Case(_activation(dims, mode, direction, dtype, layout, numbers), everywhere=number == 0)
    for number, (mode, direction, layout) in enumerate(
        itertools.product(ACTIVATIONS, ("forward", "backward"), LAYOUTS)
    ):
        dtype, other, numbers = turn(mode, direction)
        line = _activation((2, 3, 5, 9), mode, direction, dtype, layout, numbers, other)
        yield Case(line, everywhere=number % 4 == 0)
    for mode, layout in itertools.product(ACTIVATIONS, INPUT_ONLY):
        yield Case(_activation((2, 3, 5, 9), mode, "forward", FLOAT, layout, "alpha=1"), everywhere=layout == "repeat")
    for mode in ACTIVATIONS:
        yield Case(_activation((2, 3, 5, 9), mode, "forward", FLOAT, "gaps", "beta=0.5"), alias=("y", "x"))
        yield Case(
            _activation((2, 3, 5, 9), mode, "backward", HALF, "nchw", "alpha=2"), alias=("dx", "dy"), everywhere=False
        )
    for mode, direction in itertools.product(ACTIVATIONS, ("forward", "backward")):  # more than one work-group
        line = _activation((3, 11, 31, 37), mode, direction, FLOAT, "nchw", "alpha=1")
        yield Case(line, everywhere=mode == "mode=relu")
    for number, (mode, direction, dtype) in enumerate(
        itertools.product(LATER_ACTIVATIONS, ("forward", "backward"), TYPES)
    ):
        _, layout, numbers = turn(mode, direction)
        yield Case(_activation((2, 3, 5, 9), mode, direction, dtype, layout, numbers), everywhere=number % 4 == 0)
    for dtype, direction in itertools.product(TYPES, ("forward", "backward")):
        yield Case(_activation((2, 3, 5, 9), "mode=relu", direction, dtype, "nchw", "alpha=2 beta=1"), "integer")


ACTIVATION_CASES = tuple(_activations())

# tensor operations

TENSOR_DIMS = ((2, 3, 5, 7), (1, 1, 1, 1), (4, 8, 16, 16), (0, 2, 3, 3), (5, 7, 3), (2, 3, 2, 3, 4))
BROADCASTS = ((1, 3, 1, 1), (2, 3, 5, 7), (1, 1, 1, 1), (1, 1, 5, 7), (2, 1, 1, 7), (1, 3, 5, 1))
OPERATIONS = ("add", "mul", "min", "max")


def _tensors():
    turn = Turns()
    layouts = itertools.cycle((*LAYOUTS, "repeat", "overlap", "constant", "nhwc"))
    for dims in (*TENSOR_DIMS, (1, 2, 1, 3, 2, 2, 1, 3), (33, 65, 3, 1)):
        for number in range(4):
            dtype, layout, numbers = turn()
            x, y = tensor(dtype, dims, next(layouts)), tensor(dtype, dims, layout)
            yield Case(f"transform_tensor x={x} y={y} {numbers}", everywhere=number < 2)
    for layout, other, dtype in itertools.product(("nchw", "nhwc", "spread"), ("nchw", "nhwc"), TYPES):
        x, y = tensor(dtype, (2, 7, 5, 9), layout), tensor(dtype, (2, 7, 5, 9), other)
        yield Case(f"transform_tensor x={x} y={y} alpha=3 beta=1", "integer", everywhere=dtype is HALF)
    for layout, other, dtype in itertools.product(("nchw", "nhwc", "reversed", "gaps"), ("nchw", "nhwc"), TYPES):
        x, y = tensor(dtype, (2, 70, 7, 11), layout), tensor(dtype, (2, 70, 7, 11), other)  # more than a tile
        yield Case(f"transform_tensor x={x} y={y} alpha=2 beta=-1", everywhere=layout in ("nchw", "reversed"))
    for a, c in (((1, 16, 1, 1), "nchw"), ((1, 16, 1, 1), "nhwc"), ((1, 1, 40, 41), "nchw")):
        yield Case(f"add_tensor a={tensor(FLOAT, a)} c={tensor(FLOAT, (2, 16, 40, 41), c)}")
    for dims in BROADCASTS:
        for number in range(4):
            dtype, layout, numbers = turn()
            a, c = tensor(dtype, dims), tensor(dtype, (2, 3, 5, 7), layout)
            yield Case(f"add_tensor a={a} c={c} {numbers}", everywhere=number == 0)
    for dtype in TYPES:
        yield Case(f"add_tensor a={tensor(dtype, (1, 8, 1, 1))} c={tensor(dtype, (3, 8, 6, 5), 'nhwc')}", "integer")
        yield Case(
            f"add_tensor a={tensor(dtype, (1, 3, 1, 1, 4))} c={tensor(dtype, (2, 3, 2, 3, 4))}", everywhere=False
        )
        yield Case(f"add_tensor a={tensor(dtype, (1, 3, 1, 1))} c={tensor(dtype, (0, 3, 2, 3))}", everywhere=False)


def _on_odd_planes():
    """A value for each channel, or image, whose elements are no multiple of a vector."""
    dims, large = (3, 7, 5, 9), (2, 3, 61, 53)
    for number, dtype in enumerate(TYPES):
        for c, a in ((dims, (1, 7, 1, 1)), (dims, (3, 1, 1, 1)), (large, (1, 3, 1, 1))):
            yield Case(
                f"add_tensor a={tensor(dtype, a)} c={tensor(dtype, c)} alpha=2 beta={number % 2}", everywhere=c == dims
            )
        x, b = tensor(dtype, dims), tensor(dtype, (1, 7, 1, 1))
        operation = OPERATIONS[number]
        yield Case(f"op_tensor a={x} b={b} c={x} operation={operation} alpha1=0.5 alpha2=-2 beta=1", everywhere=False)
        yield Case(f"op_tensor a={x} b={b} c={x} operation={operation} alpha1=3", alias=("c", "a"), everywhere=False)


def _ops():
    turn = Turns()
    for number, (operation, dims) in enumerate(itertools.product(OPERATIONS, BROADCASTS)):
        dtype, layout, _ = turn(operation)
        _, other, _ = turn("a")
        alpha1, alpha2, beta = ((1, 1, 0), (0.5, -2, 0), (1, 3, 1), (-1, 1, 0.5))[number % 4]
        a, c = tensor(dtype, (2, 3, 5, 7), other), tensor(dtype, (2, 3, 5, 7), layout)
        line = f"op_tensor a={a} b={tensor(dtype, dims)} c={c} operation={operation} "
        yield Case(line + f"alpha1={alpha1} alpha2={alpha2} beta={beta}", everywhere=number % 2 == 0)
    for number, (operation, dtype, layout) in enumerate(itertools.product(("sqrt", "not"), TYPES, ("nchw", "nhwc"))):
        a, c = tensor(dtype, (2, 5, 4, 7), layout), tensor(dtype, (2, 5, 4, 7), ("nchw", "nhwc")[number // 2 % 2])
        yield Case(f"op_tensor a={a} b={tensor(dtype, (1, 5, 1, 1))} c={c} operation={operation} alpha1=3 beta=0.5")
        yield Case(f"op_tensor a={a} b={a} c={a} operation={operation}", alias=("c", "a"), everywhere=number % 2 == 0)
    for number, (operation, dtype, layout) in enumerate(itertools.product(OPERATIONS, TYPES, ("nchw", "nhwc"))):
        x = tensor(dtype, (2, 5, 4, 6), layout)
        line = f"op_tensor a={x} b={x} c={x} operation={operation} alpha1=2 alpha2=-1 beta=1"
        yield Case(line, "integer", everywhere=number % 3 == 0)
        yield Case(line, alias=("c", "a"), everywhere=number % 4 == 0)


def _set_and_scale():
    layouts = itertools.cycle(LAYOUTS)
    for dims, dtype in itertools.product(TENSOR_DIMS, TYPES):
        y = tensor(dtype, dims, next(layouts))
        yield Case(f"set_tensor y={y} value=-1.5", everywhere=dtype is HALF)
        yield Case(f"scale_tensor y={y} alpha=0.3", everywhere=dtype is FLOAT)


TENSOR_CASES = (*_tensors(), *_on_odd_planes(), *_ops(), *_set_and_scale())
