"""Kernels for GPUs: a work-item for a few neighbours, or some of a work-group for each result that takes many together.

Along memory, T = 1 to 256 neighbours share the places of one result: r = lid / T, t = lid % T. What they read of a
result that is not too long stays in registers from one pass to the next. Across memory, R = 32 neighbours (256 where
results are many, down to 8 where they are few) have a result each, which T = 1 to 32 work-items share: r = lid % R,
t = lid / R.

Neighbours are read and written in words of up to 16 bytes (.words), where arrays are aligned to them.
"""

from __future__ import annotations

from ...base import DeviceInfo
from .. import expressions as c
from ..body import Written
from ..geometry import Space
from ..launches import Stage
from ..words import words_of
from .apart import Apart
from .shape import ITEMS, NEIGHBOURS, WORK_GROUP, Shape, shape_of, splits
from .slice import Slice
from .together import Together

__all__ = ["ITEMS", "NEIGHBOURS", "splits", "write"]


def write(stage: Stage, space: Space, name: str, items: int, info: DeviceInfo) -> list[Written]:
    """Return a launch's kernels: one, or with several slices a second one that joins their sums."""
    rows = space.rows
    if not stage.sums:
        while items > 1 and rows < items * WORK_GROUP * info.compute_units:
            items //= 2
        words = words_of(space.places, space.kept[-1], space.kept[:-1], items, tail=len(space.kept) == 1)
        apart = Apart(stage, space, Shape(WORK_GROUP, 1, words))
        apart.apart()
        return [apart.kernel(name, (-(-rows // (WORK_GROUP * words.count)), 1, 1), WORK_GROUP)]
    shape = shape_of(stage, space, info.compute_units, items)
    sliced = shape.slices > 1 and not space.along
    writer = (Slice if sliced else Together)(stage, space, shape)
    writer.together()
    size = shape.results * shape.together
    registers = sorted({node.arithmetic for node in stage.reductions}) if shape.together > 1 else []

    def local(numbers: int) -> list[str]:
        return [f"LOCAL {c.SCALARS[register]} shared_{register}[{numbers}];" for register in registers]

    groups = -(-rows // (shape.results * (shape.words.count if sliced else 1)))
    numbers = size * shape.words.count if sliced else size
    kernels = [writer.kernel(name, (groups, shape.slices, 1), size, local(numbers))]
    if shape.slices > 1:
        last = Together(stage, space, shape)
        last.joined()
        kernels.append(last.kernel(f"{name}_join", (-(-rows // last.joining[1]), 1, 1), WORK_GROUP, local(WORK_GROUP)))
    return kernels
