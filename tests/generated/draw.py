"""Random convolution problems for one engine, drawn from the kinds that the package's generator knows.

A problem is drawn from a kind: a shape (3x3 filters, depthwise, 3-D ...) together with a storage (type and layouts).
:class:`Source` draws those kinds more often that an engine accepts, so that an engine with narrow conditions gets its
problems too; it needs to know nothing of the engine.
"""

from __future__ import annotations

import itertools
from collections import Counter

from portadnn.diff.generate.numbers import BLENDS, PAIRS, WHOLE_BLENDS, WHOLE_PAIRS
from portadnn.drawing.geometries import SHAPES, shape_of
from portadnn.enums import DataType
from portadnn.ops.records.convolution import FUSED, ROLES, line_of
from portadnn.problem import parse_line

__all__ = ["FUSED", "ROLES", "STORAGES", "Source", "lines"]

EXACT_ACTIVATIONS = (
    "activation=identity",
    "activation=relu",
    "activation=clipped_relu ceiling=9",
    "activation=relu nan_propagation=propagate_nan",
)
ACTIVATIONS = (*EXACT_ACTIVATIONS, "activation=sigmoid", "activation=tanh")
RARE = {"empty": 0.25}


def storages():
    """Yield the types, what layouts go with each, and the math that is permitted: (name, (type, layout, math))."""
    types = (DataType.FLOAT, DataType.HALF, DataType.DOUBLE, DataType.BFLOAT16)
    for dtype, layout in itertools.product(types, ("nchw", "nhwc", "mixed")):
        yield f"{dtype.name} {layout}", (dtype, layout, None)
        if dtype is DataType.FLOAT:
            yield f"TF32 {layout}", (dtype, layout, "tf32")


STORAGES = dict(storages())
WEIGHTS = {"FLOAT": 1.0, "TF32": 0.3, "HALF": 0.35, "BFLOAT16": 0.35, "DOUBLE": 0.25}


def lines(draws, problem_line, variants):
    """Return `variants` different lines of a problem, and what data to use: normal deviates or small integers.

    They differ in the blending factors, which no kernel is compiled for.
    """
    names, kinds = ("alpha", "beta"), (("normal", BLENDS), ("integer", WHOLE_BLENDS))
    if problem_line.startswith(f"convolution_{FUSED} "):
        exact = problem_line.endswith(EXACT_ACTIVATIONS)
        names, kinds = ("alpha1", "alpha2"), (("normal", PAIRS), ("integer" if exact else "normal", WHOLE_PAIRS))
    start, turn = draws.integers(2), draws.integers(len(BLENDS))
    found = []
    for number in range(variants):
        data, blends = kinds[(start + number) % 2]
        factors = blends[(turn + number // 2) % len(blends)]
        found.append((f"{problem_line} {names[0]}={factors[0]} {names[1]}={factors[1]}", data))
    return found


class Source:
    """Draws problems for one engine and direction, those kinds more often that it takes.

    Attributes
    ----------
    refused : Counter
        The engine's reasons, with numbers left out.
    silent : list of str
        Problems that it refused without a reason.
    """

    def __init__(self, draws, direction, why_not):
        self.draws = draws
        self.direction = direction
        self.why_not = why_not
        self.kinds = list(itertools.product(SHAPES, STORAGES))
        self.tried = Counter()
        self.taken = Counter()
        self.refused = Counter()
        self.silent = []

    def weight(self, kind):
        shape, storage = kind
        prior = RARE.get(shape, 1.0) * WEIGHTS[storage.split()[0]]
        return prior * (self.taken[kind] + 0.5) / (self.tried[kind] + 1)

    def next(self):
        """Return the next problem's line, or None for one that the engine refuses."""
        kind = self.kinds[self.draws.weighted([self.weight(kind) for kind in self.kinds])]
        self.tried[kind] += 1
        activation = self.draws.choice(ACTIVATIONS) if self.direction == FUSED else ""
        geometry = shape_of(self.draws, kind[0])
        line = line_of(self.draws, self.direction, geometry, *STORAGES[kind[1]], activation)
        problem, _ = parse_line(line)
        reason = self.why_not(problem)
        if reason is None:
            self.taken[kind] += 1
            return line
        if not isinstance(reason, str) or not reason.strip():
            self.silent.append(line)
        self.refused["".join("#" if c.isdigit() else c for c in str(reason))] += 1
        return None
