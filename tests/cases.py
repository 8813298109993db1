"""Tables of cases: shapes by hand, types, layouts and blending factors spread over them in turn.

A full product would take hours; taking turns with lengths that share no factor meets every pair of a type, a
layout and a pair of blending factors, in each direction of each operation.
"""

from __future__ import annotations

import itertools

from portadnn.enums import DataType, TensorFormat
from portadnn.problem import ALIGNMENT, TensorSpec, packed_strides

FLOAT, HALF, DOUBLE, BFLOAT16 = DataType.FLOAT, DataType.HALF, DataType.DOUBLE, DataType.BFLOAT16
TYPES = (FLOAT, HALF, DOUBLE, BFLOAT16)
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
