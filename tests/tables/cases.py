"""Tables of cases: shapes by hand, types, layouts and blending factors spread over them in turn.

A full product would take hours; taking turns with lengths that share no factor meets every pair of a type, a
layout and a pair of blending factors, in each direction of each operation.
"""

from __future__ import annotations

import itertools

from portadnn.drawing.layouts import INPUT_ONLY, LAYOUTS, tensor
from portadnn.enums import DataType

__all__ = [
    "BFLOAT16",
    "BLENDS",
    "DOUBLE",
    "FLOAT",
    "HALF",
    "INPUT_ONLY",
    "LAYOUTS",
    "TYPES",
    "Turns",
    "blend",
    "tensor",
]

FLOAT, HALF, DOUBLE, BFLOAT16 = DataType.FLOAT, DataType.HALF, DataType.DOUBLE, DataType.BFLOAT16
TYPES = (FLOAT, HALF, DOUBLE, BFLOAT16)
BLENDS = ((1, 0), (0.5, 1), (-1.25, 0), (1, 1), (2, -0.5))


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
