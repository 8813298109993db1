"""How work-groups of GPUs share a launch."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.graph.layout import Dims

from ..geometry import Space
from ..launches import Stage
from ..words import Words, words_of

WORK_GROUP = 256
ITEMS = (8, 1, 2, 4)  # neighbours of a work-item
NEIGHBOURS = 32  # work-items side by side whose accesses are one
FEWEST = 8  # of these, where there are too few for every multiprocessor
LONG = 8192  # places of a result that several work-groups share where results are few
SLICE = 1024  # places that are worth a work-group
WAVES = 4  # work-groups for each multiprocessor that keep it busy
LINES = 4  # places of a result that are worth a work-item
HELD = 256  # bytes of what a work-item reads that stay in its registers


def splits(dims: Dims, axes: tuple[int, ...], units: int) -> bool:
    """Tell whether results are so few and long that several work-groups have to share each; see ``launches.cut``."""
    rows, length = _sizes(dims, axes)
    return length >= LONG and rows < units


def _sizes(dims: Dims, axes: tuple[int, ...]) -> tuple[int, int]:
    rows = length = 1
    for axis, size in enumerate(dims):
        if axis in axes:
            length *= size
        else:
            rows *= size
    return rows, length


def power(value: int, most: int) -> int:
    """Return the power of two from `value` on, at most `most`."""
    return min(1 << max(value - 1, 0).bit_length(), most)


@dataclass(frozen=True)
class Shape:
    """How a work-group is shared: `results` of them, `together` work-items for each; `slices` groups for the same."""

    results: int
    together: int
    words: Words
    slices: int = 1


def shape_of(stage: Stage, space: Space, units: int, items: int) -> Shape:
    """Return how a launch with sums is shared; neighbours are at most `items`."""
    rows, length = space.rows, space.length
    words = Words(1, space.kept[-1])
    if space.along:
        words = words_of(space.places, space.reduced[-1], [*space.kept, *space.reduced[:-1]], items)
        chunks = -(-length // words.count)
        together = power(-(-chunks // (4 if words.count < 4 else 2)), WORK_GROUP)
        while together < power(chunks, WORK_GROUP) and rows * together < units * WORK_GROUP:
            together *= 2
        results = WORK_GROUP // together
    elif rows >= units * 4 * WORK_GROUP:
        together, results = 1, WORK_GROUP
    else:
        results = NEIGHBOURS
        while results > FEWEST and rows < results * units:
            results //= 2
        together = power(length, WORK_GROUP // results)
    groups = -(-rows // results)
    if not stage.divisible or length < LONG or groups >= units * WAVES:
        return Shape(results, together, words)
    if space.along:
        return Shape(results, together, words, max(1, min(units * WAVES // groups, length // SLICE)))
    words = words_of(space.places, space.kept[-1], [*space.kept[:-1], *space.reduced], items)
    results = power(-(-rows // words.count), NEIGHBOURS)
    together = WORK_GROUP // results
    groups = -(-rows // (results * words.count))
    return Shape(results, together, words, max(2, min(units * WAVES // groups, length // (together * LINES))))
