"""Random convolution problems: small, odd in every way that the API allows, and of the kinds that engines ask for.

A problem is drawn from a kind: a shape (3x3 filters, depthwise, 3-D ...) together with a storage (type and layouts).
:class:`Source` draws those kinds more often that an engine accepts, so that an engine with narrow conditions gets its
problems too; it needs to know nothing of the engine.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace

from cases import tensor

from portadnn import shapes
from portadnn.enums import DataType
from portadnn.problem import PROBLEMS, parse_line

LARGEST = 33
MOST_WORK = 1_500_000  # multiplications
MOST_ELEMENTS = 60_000  # of a tensor
# each problem takes some in turn
BLENDS = ("alpha=-1.25", "alpha=0.5 beta=1", "", "alpha=2 beta=-0.5", "alpha=0 beta=2", "alpha=1 beta=1")
WHOLE_BLENDS = ("alpha=2 beta=1", "", "alpha=-1 beta=2", "alpha=3", "alpha=1 beta=-1", "alpha=0")
PLAIN_LAYOUTS = ("nchw", "nhwc")
ODD_LAYOUTS = ("gaps", "shifted", "spread", "reversed", "nhwc gaps")
INPUT_LAYOUTS = ("repeat", "overlap", "constant")  # elements that share memory: for inputs only
FUSED = "bias_activation_forward"
ROLES = {  # names of image, filter and result
    "forward": ("x", "w", "y"),
    "backward_data": ("dx", "w", "dy"),
    "backward_filter": ("x", "dw", "dy"),
    FUSED: ("x", "w", "y"),
}
EXACT_ACTIVATIONS = (
    "activation=identity",
    "activation=relu",
    "activation=clipped_relu ceiling=9",
    "activation=relu nan_propagation=propagate_nan",
)
ACTIVATIONS = (*EXACT_ACTIVATIONS, "activation=sigmoid", "activation=tanh")
FUSED_BLENDS = (
    "alpha1=1.5",
    "alpha1=0.5 alpha2=1",
    "alpha1=-1.25 alpha2=-0.5",
    "alpha2=0.75",
    "alpha1=0.25",
    "alpha1=0 alpha2=2",
)
FUSED_WHOLE_BLENDS = ("alpha2=1", "", "alpha1=2 alpha2=-1", "alpha1=3", "alpha1=-1 alpha2=2", "alpha1=0")


@dataclass(frozen=True)
class Geometry:
    """Sizes and parameters of a convolution, without types and layouts."""

    n: int
    groups: int
    c: int  # channels of a group
    k: int  # filters of a group
    size: tuple[int, ...]
    window: tuple[int, ...]
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    flipped: bool

    def out(self):
        x, w = (self.n, self.c * self.groups, *self.size), (self.k * self.groups, self.c, *self.window)
        return shapes.convolution_output_dims(x, w, self.padding, self.stride, self.dilation, self.groups)

    @property
    def work(self):
        return math.prod(self.out()) * self.c * math.prod(self.window)


def few(rng, most=LARGEST):
    """Return a size, the small ones more often."""
    return int(math.exp(rng.uniform(0, math.log(most + 0.999))))


def any_shape(rng, rank=2):
    window = tuple(few(rng, 5 if rank == 2 else 3) for _ in range(rank))
    return Geometry(
        n=few(rng, 4),
        groups=1,
        c=few(rng),
        k=few(rng),
        size=tuple(int(rng.integers(1, LARGEST + 1)) if rank == 2 else few(rng, 12) for _ in range(rank)),
        window=window,
        padding=tuple(int(rng.integers(0, 2 + r // 2)) for r in window),
        stride=tuple(int(rng.choice((1, 1, 1, 2, 2, 3, 5))) for _ in window),
        dilation=tuple(int(rng.choice((1, 1, 1, 2, 3))) for _ in window),
        flipped=bool(rng.integers(2)),
    )


def unit(g, window):
    """Return the geometry with a given window, stride 1 and no dilation."""
    ones = (1,) * len(window)
    return replace(g, window=window, stride=ones, dilation=ones)


def square(size):
    def shape(rng):
        g = unit(any_shape(rng), (size, size))
        return replace(g, padding=(int(rng.integers(0, size)), int(rng.integers(0, size))))

    return shape


def strided(size):
    def shape(rng):
        g = any_shape(rng)
        s = int(rng.integers(2, 5))
        return replace(g, window=(size, size), stride=(s, s), dilation=(1, 1), padding=(size // 2, size // 2))

    return shape


def pointwise(rng):
    g = any_shape(rng)
    return replace(unit(g, (1, 1)), padding=(0, 0), stride=(1, 1) if rng.integers(4) else g.stride)


def long_filter(rng):
    g = any_shape(rng)
    window = (int(rng.integers(1, 14)), int(rng.integers(1, 14)))
    return replace(unit(g, window), padding=tuple(int(rng.integers(0, r)) for r in window))


def grouped(rng):
    g = any_shape(rng)
    return replace(g, groups=int(rng.integers(2, 6)), c=few(rng, 8), k=few(rng, 8))


def depthwise(rng):
    g = any_shape(rng)
    size = int(rng.choice((3, 3, 5)))
    g = replace(g, groups=few(rng), c=1, k=int(rng.choice((1, 1, 1, 2, 3))))
    return g if rng.integers(2) else replace(g, window=(size, size), padding=(size // 2,) * 2)


def wide(rng):
    """One number of channels beyond the largest tile."""
    g = any_shape(rng)
    g = replace(g, n=1, size=tuple(min(s, 9) for s in g.size))
    return replace(g, **{str(rng.choice(("c", "k"))): int(rng.integers(LARGEST, 140))})


def eights(rng):
    """Channels in whole vectors of 16 bytes."""
    g = any_shape(rng)
    return replace(g, c=8 * int(rng.integers(1, 9)), k=8 * int(rng.integers(1, 9)))


def eights_3x3(rng):
    return replace(square(3)(rng), c=8 * int(rng.integers(1, 9)), k=8 * int(rng.integers(1, 9)))


def empty(rng):
    """No images, or nothing to sum."""
    return replace(any_shape(rng), **{str(rng.choice(("n", "c", "k"))): 0})


def volume(rng):
    return any_shape(rng, 3)


def volume_3x3x3(rng):
    return replace(unit(any_shape(rng, 3), (3, 3, 3)), padding=tuple(int(rng.integers(0, 2)) for _ in range(3)))


def volume_grouped(rng):
    return replace(any_shape(rng, 3), groups=int(rng.integers(2, 4)), c=few(rng, 5), k=few(rng, 5))


SHAPES = {
    "any": any_shape,
    "pointwise": pointwise,
    "3x3": square(3),
    "5x5": square(5),
    "7x7/s": strided(7),
    "3x3/s": strided(3),
    "long": long_filter,
    "grouped": grouped,
    "depthwise": depthwise,
    "wide": wide,
    "eights": eights,
    "eights 3x3": eights_3x3,
    "empty": empty,
    "volume": volume,
    "volume 3x3x3": volume_3x3x3,
    "volume grouped": volume_grouped,
}
RARE = {"empty": 0.25}


def storages():
    """Yield the types, what layouts go with each, and the math that is permitted: (name, (type, layout, math))."""
    types = (DataType.FLOAT, DataType.HALF, DataType.DOUBLE, DataType.BFLOAT16)
    for dtype, layout in itertools.product(types, ("nchw", "nhwc", "odd")):
        yield f"{dtype.name} {layout}", (dtype, layout, None)
        if dtype is DataType.FLOAT:
            yield f"TF32 {layout}", (dtype, layout, "tf32")


STORAGES = dict(storages())
WEIGHTS = {"FLOAT": 1.0, "TF32": 0.3, "HALF": 0.35, "BFLOAT16": 0.35, "DOUBLE": 0.25}


def shape_of(rng, name):
    """Draw a geometry that is valid and small."""
    while True:
        g = SHAPES[name](rng)
        reach = [(r - 1) * d + 1 for r, d in zip(g.window, g.dilation, strict=True)]
        if any(s + 2 * p < r for s, p, r in zip(g.size, g.padding, reach, strict=True)):
            continue
        tensors = (g.n * g.groups * g.c * math.prod(g.size), g.groups * g.k * g.c * math.prod(g.window))
        if g.work <= MOST_WORK and max(*tensors, math.prod(g.out())) <= MOST_ELEMENTS:
            return g


def line_of(rng, direction, g, storage):
    """Return the problem line of a geometry in one direction, with layouts drawn for its tensors."""
    dtype, layout, math_type = storage
    x, w, y = ROLES[direction]
    dims = {x: (g.n, g.c * g.groups, *g.size), w: (g.k * g.groups, g.c, *g.window), y: g.out()}
    if direction == FUSED:
        dims |= {"z": dims[y], "bias": (1, dims[y][1], *(1 for _ in g.size))}
    words = [f"convolution_{direction}"]
    order = PROBLEMS[words[0]].tensor_names()
    written = order[-1]
    for name in order:
        chosen = layout
        if layout == "odd":
            odd = (*PLAIN_LAYOUTS, *ODD_LAYOUTS, *(() if name == written else INPUT_LAYOUTS))
            chosen = str(rng.choice(odd))
        elif rng.integers(8) == 0:
            chosen = "shifted"
        words.append(f"{name}={tensor(dtype, dims[name], chosen)}")
    for name, values in (("padding", g.padding), ("stride", g.stride), ("dilation", g.dilation)):
        words.append(f"{name}={','.join(map(str, values))}")
    if g.groups > 1:
        words.append(f"groups={g.groups}")
    if g.flipped:
        words.append("mode=convolution")
    if math_type is None and rng.integers(12) == 0:
        math_type = "fma"
    if math_type is not None:
        words.append(f"math={math_type}")
    if direction == FUSED:
        words.append(str(rng.choice(ACTIVATIONS)))
    return " ".join(words)


def lines(rng, problem_line, variants):
    """Return `variants` different lines of a problem, and what data to use: normal deviates or small integers.

    They differ in the blending factors, which no kernel is compiled for.
    """
    kinds = (("normal", BLENDS), ("integer", WHOLE_BLENDS))
    if problem_line.startswith(f"convolution_{FUSED} "):
        exact = problem_line.endswith(EXACT_ACTIVATIONS)
        kinds = (("normal", FUSED_BLENDS), ("integer" if exact else "normal", FUSED_WHOLE_BLENDS))
    start, turn = int(rng.integers(2)), int(rng.integers(len(BLENDS)))
    found = []
    for number in range(variants):
        data, blends = kinds[(start + number) % 2]
        found.append((f"{problem_line} {blends[(turn + number // 2) % len(blends)]}".strip(), data))
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

    def __init__(self, rng, direction, why_not):
        self.rng = rng
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
        weights = [self.weight(kind) for kind in self.kinds]
        total = sum(weights)
        kind = self.kinds[int(self.rng.choice(len(weights), p=[w / total for w in weights]))]
        self.tried[kind] += 1
        line = line_of(self.rng, self.direction, shape_of(self.rng, kind[0]), STORAGES[kind[1]])
        problem, _ = parse_line(line)
        reason = self.why_not(problem)
        if reason is None:
            self.taken[kind] += 1
            return line
        if not isinstance(reason, str) or not reason.strip():
            self.silent.append(line)
        self.refused["".join("#" if c.isdigit() else c for c in str(reason))] += 1
        return None
