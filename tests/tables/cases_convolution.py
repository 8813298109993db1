"""Cases of convolution, its gradients and its bias's gradient."""

from __future__ import annotations

import itertools

from cases import FLOAT, HALF, INPUT_ONLY, LAYOUTS, TYPES, Turns, tensor
from helper import Case

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
    turn = Turns((*LAYOUTS, *INPUT_ONLY, "nhwc"))  # 11: no factor in common with the types
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
    for layout, dtype in itertools.product(("nchw", "nhwc", "gaps"), TYPES):  # summed in slices
        yield Case(f"convolution_backward_bias dy={tensor(dtype, (4, 3, 65, 67), layout)}", everywhere=dtype is FLOAT)


BIAS_CASES = tuple(_bias())
