"""Tables of cases: shapes by hand, types, layouts and blending factors spread over them in turn.

A full product would take hours; taking turns with lengths that share no factor meets every pair of a type, a
layout and a pair of blending factors, in each direction of each operation.
"""

from __future__ import annotations

import itertools

from helper import Case

from portadnn.enums import DataType, TensorFormat
from portadnn.problem import ALIGNMENT, TensorSpec, packed_strides

FLOAT, HALF, DOUBLE = DataType.FLOAT, DataType.HALF, DataType.DOUBLE
TYPES = (FLOAT, HALF, DOUBLE)
BLENDS = ((1, 0), (0.5, 1), (-1.25, 0), (1, 1), (2, -0.5))


def _nested(dims, order, gap=0, step=1):
    """Strides with the axes of `order` from slow to fast, `gap` unused elements after each run."""
    strides = [0] * len(dims)
    for axis in reversed(order):
        strides[axis] = step
        step = step * max(dims[axis], 1) + gap
    return tuple(strides)


def _layouts(dims):
    rank = len(dims)
    plain, nhwc = range(rank), (0, *range(2, rank), 1)
    overlap = list(packed_strides(dims))
    overlap[-2] = 1  # each row starts one element after the one before
    return {
        "nchw": packed_strides(dims),
        "nhwc": packed_strides(dims, TensorFormat.NHWC),
        "gaps": _nested(dims, plain, gap=3),
        "spread": _nested(dims, plain, step=2),
        "nhwc gaps": _nested(dims, nhwc, gap=5),
        "reversed": _nested(dims, tuple(reversed(plain))),
        "shifted": packed_strides(dims),
        "repeat": (0, *packed_strides(dims)[1:]),
        "overlap": tuple(overlap),
        "constant": (0,) * rank,
    }


INPUT_ONLY = ("repeat", "overlap", "constant")  # different elements at one address
LAYOUTS = ("nchw", "nhwc", "gaps", "shifted", "spread", "reversed", "nhwc gaps")


def tensor(dtype, dims, layout="nchw"):
    """Return the text form of a tensor in one of the layouts; "shifted" starts off a 16-byte boundary."""
    alignment = dtype.itemsize if layout == "shifted" else ALIGNMENT
    return str(TensorSpec(dtype, tuple(dims), _layouts(dims)[layout], alignment))


def blend(alpha, beta):
    return f"alpha={alpha} beta={beta}"


class Turns:
    """Hands out types, layouts and blending factors in turn; each key, such as a direction, has its own turns."""

    def __init__(self, layouts=LAYOUTS):
        self.layouts = layouts
        self.cycles = {}

    def __call__(self, *key):
        if key not in self.cycles:
            start = len(self.cycles)  # keys start at different places
            self.cycles[key] = [itertools.cycle(v[start % len(v) :] + v[: start % len(v)]) for v in self._lists()]
        dtype, layout, numbers = map(next, self.cycles[key])
        return dtype, layout, blend(*numbers)

    def _lists(self):
        return TYPES, self.layouts, BLENDS


# convolution: x dims, k, filter size, parameters

CONVOLUTIONS = (
    ((2, 3, 5, 7), 4, (3, 3), "padding=1,1"),
    ((1, 1, 1, 1), 1, (1, 1), ""),
    ((1, 1, 6, 5), 3, (3, 2), ""),
    ((2, 4, 9, 8), 6, (3, 3), "padding=1,1 stride=2,2"),
    ((2, 4, 9, 8), 6, (3, 3), "padding=0,1 stride=2,1 dilation=2,1"),
    ((1, 6, 7, 7), 4, (3, 3), "padding=1,1 groups=2"),
    ((2, 6, 5, 5), 6, (3, 3), "padding=1,1 groups=6"),
    ((2, 3, 6, 6), 9, (2, 3), "groups=3 stride=1,2"),
    ((2, 3, 7, 6), 5, (3, 2), "stride=3,1 mode=convolution"),
    ((1, 4, 6, 7), 4, (3, 3), "padding=2,2 dilation=2,2 groups=2 mode=convolution"),
    ((1, 17, 8, 9), 33, (1, 1), ""),
    ((2, 16, 12, 12), 32, (3, 3), "padding=1,1"),
    ((3, 1, 8, 8), 6, (5, 5), "padding=2,2"),
    ((2, 3, 4, 4), 5, (2, 2), "padding=3,3"),
    ((3, 5, 4, 4), 7, (4, 4), ""),
    ((2, 2, 9, 9), 3, (2, 2), "stride=4,4"),
    ((1, 2, 10, 11), 3, (3, 3), "padding=1,0 stride=3,2"),
    ((33, 2, 4, 4), 3, (3, 3), "padding=1,1"),
    ((1, 70, 7, 7), 65, (3, 3), "padding=1,1"),
    ((4, 5, 1, 9), 8, (1, 3), "padding=0,1"),
    ((2, 3, 4, 5, 6), 4, (2, 3, 2), "padding=1,1,0"),
    ((1, 4, 5, 4, 5), 6, (3, 2, 2), "padding=1,0,1 stride=2,1,2 dilation=1,2,1 groups=2 mode=convolution"),
)
EMPTY_CONVOLUTIONS = (
    ((0, 3, 5, 5), 4, (3, 3), "padding=1,1"),
    ((2, 0, 4, 4), 3, (2, 2), ""),
    ((2, 3, 4, 4), 0, (2, 2), ""),
)
DIRECTIONS = ("forward", "backward_data", "backward_filter")


def convolution(direction, geometry, dtype, layout, numbers, others=None):
    """Return the line of a convolution; `others` is the layout of the two tensors that are not the image."""
    dims, k, window, parameters = geometry
    words = dict(word.split("=") for word in parameters.split())
    groups = int(words.get("groups", 1))

    def numbers_of(name, value):
        return tuple(map(int, words[name].split(","))) if name in words else (value,) * len(window)

    out = [
        1 + (size + 2 * pad - ((r - 1) * dilation + 1)) // stride
        for size, r, pad, stride, dilation in zip(
            dims[2:], window, numbers_of("padding", 0), numbers_of("stride", 1), numbers_of("dilation", 1), strict=True
        )
    ]
    others = others or layout
    image = tensor(dtype, dims, layout)
    filters = tensor(dtype, (k, dims[1] // groups, *window), "nchw" if others in INPUT_ONLY else others)
    result = tensor(dtype, (dims[0], k, *out), "nchw" if others in INPUT_ONLY else others)
    x, w, y = {"forward": "x w y", "backward_data": "dx w dy", "backward_filter": "x dw dy"}[direction].split()
    return f"convolution_{direction} {x}={image} {w}={filters} {y}={result} {parameters} {numbers}".replace("  ", " ")


def _convolutions():
    turn = Turns()
    for geometry, direction in itertools.product(CONVOLUTIONS, DIRECTIONS):
        dtype, layout, numbers = turn(direction)
        yield Case(convolution(direction, geometry, dtype, layout, numbers))
        yield Case(convolution(direction, geometry, dtype, layout, "alpha=2 beta=1"), "integer")  # same kernels
        dtype, _, numbers = turn(direction)
        yield Case(convolution(direction, geometry, dtype, "nchw", numbers), everywhere=False)
    for geometry, direction in itertools.product(EMPTY_CONVOLUTIONS, DIRECTIONS):
        yield Case(convolution(direction, geometry, FLOAT, "nchw", "alpha=2 beta=0"))
        yield Case(convolution(direction, geometry, FLOAT, "nchw", "alpha=0 beta=-0.5"), everywhere=False)


def _convolution_layouts():
    geometry = ((2, 8, 6, 5), 8, (3, 3), "padding=1,1 stride=1,2")
    turn = Turns()
    for number, (direction, layout, dtype) in enumerate(itertools.product(DIRECTIONS, LAYOUTS, TYPES)):
        _, others, numbers = turn(direction)
        yield Case(convolution(direction, geometry, dtype, layout, numbers, others), everywhere=number % 4 == 0)
    for direction, layout in itertools.product(("forward", "backward_filter"), INPUT_ONLY):
        yield Case(convolution(direction, geometry, FLOAT, layout, "alpha=1"))
    for direction, dtype in itertools.product(DIRECTIONS, TYPES):
        line = convolution(direction, geometry, dtype, "nhwc", "alpha=2 beta=-1")
        yield Case(line, "integer", everywhere=dtype is HALF)


CONVOLUTION_CASES = tuple(_convolutions()) + tuple(_convolution_layouts())

BIAS_DIMS = (
    (2, 3, 5, 7),
    (1, 1, 1, 1),
    (33, 2, 3, 3),
    (1, 65, 4, 4),
    (2, 4, 17, 31),
    (2, 3, 2, 3, 4),
    (5, 7, 3),
    (0, 3, 2, 2),
    (2, 0, 2, 2),
)


def _bias():
    turn = Turns((*LAYOUTS, *INPUT_ONLY))
    for dims in BIAS_DIMS:
        for number in range(3):
            dtype, layout, numbers = turn(number)
            bias = tensor(dtype, (1, dims[1], *[1] * (len(dims) - 2)))
            yield Case(
                f"convolution_backward_bias dy={tensor(dtype, dims, layout)} db={bias} {numbers}",
                everywhere=number == 0,
            )
    for dtype in TYPES:
        yield Case(f"convolution_backward_bias dy={tensor(dtype, (3, 5, 9, 8), 'nhwc')}", "integer")


BIAS_CASES = tuple(_bias())

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
    for (dims, parameters), mode, direction in itertools.product(POOLINGS, POOLING_MODES, ("forward", "backward")):
        dtype, layout, numbers = turn(mode, direction)
        yield Case(_pooling(dims, parameters, mode, direction, dtype, layout, numbers))
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


POOLING_CASES = tuple(_poolings())

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
        for dims in ("2x3x110x128", "1x2x181x92/40000,20000,96,1", "2x33000x1x1", "1x1x1x262145"):
            yield f"softmax_forward x={dtype}:{dims} mode=instance algorithm={algorithm}{beta}"


SOFTMAX_CASES = (*_softmaxes(), *(Case(line, everywhere=False) for line in _long_softmaxes()))

# activations

ACTIVATIONS = ("mode=sigmoid", "mode=relu", "mode=tanh", "mode=clipped_relu ceiling=0.75")
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


def _ops():
    turn = Turns()
    for number, (operation, dims) in enumerate(itertools.product(OPERATIONS, BROADCASTS)):
        dtype, layout, _ = turn(operation)
        _, other, _ = turn("a")
        alpha1, alpha2, beta = ((1, 1, 0), (0.5, -2, 0), (1, 3, 1), (-1, 1, 0.5))[number % 4]
        a, c = tensor(dtype, (2, 3, 5, 7), other), tensor(dtype, (2, 3, 5, 7), layout)
        line = f"op_tensor a={a} b={tensor(dtype, dims)} c={c} operation={operation} "
        yield Case(line + f"alpha1={alpha1} alpha2={alpha2} beta={beta}", everywhere=number % 2 == 0)
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


TENSOR_CASES = (*_tensors(), *_ops(), *_set_and_scale())

if __name__ == "__main__":
    for name, table in sorted(globals().items()):
        if name.endswith("_CASES"):
            print(name, len(table), sum(case.everywhere for case in table))
