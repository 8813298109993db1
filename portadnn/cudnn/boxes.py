"""Parts of tensors copied to parts of others: what padding, folding and columns of convolutions are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..descriptors import TensorView
from ..dispatch.arrays import wrap
from ..dispatch.problems import check_handle
from ..enums import DataType
from ..handle import Handle
from ..problem import TensorSpec
from .integer_graphs import memory_of, part_of
from .storage import Stored, itemsize, span
from .transforms import placed


@dataclass(frozen=True)
class Side:
    """One side of a copy: where its first element lies, and how far the next ones are, in elements."""

    first: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """A copy of as many elements along each dim."""

    dims: tuple[int, ...]
    source: Side
    dest: Side


def copied(
    handle: Handle,
    boxes: Iterable[Box],
    source: tuple[Stored, Any, str],
    dest: tuple[Stored, Any, str],
    alpha: float,
    beta: float,
) -> None:
    """Compute ``dest = alpha * source + beta * dest`` for each of several boxes, which do not overlap in `dest`."""
    (x, given, x_name), (y, out, y_name) = source, dest
    for box in boxes:
        if 0 in box.dims:
            continue
        one = part_of(handle, given, x_name, span(x), box.source.first * itemsize(x), x.type)
        other = part_of(handle, out, y_name, span(y), box.dest.first * itemsize(y), y.type)
        sides = (x.type, box.dims, box.source.steps, one, x_name), (y.type, box.dims, box.dest.steps, other, y_name)
        placed(handle, *sides, alpha, beta)


def cleared(handle: Handle, source: tuple[Stored, Any, str], dest: tuple[Stored, Any, str]) -> None:
    """Set all bytes of a tensor without gaps to 0, if both it and what it will be made of are there."""
    device = check_handle(handle).device
    for place, memory, name in (source, dest):
        given = memory_of(handle, memory, name, place.type)
        if not isinstance(given, int):
            wrap(device, TensorView(TensorSpec(DataType.UINT8, (span(place),), (1,)), given), name)
    y, out, name = dest
    dims, steps = (1, 1, 1, span(y)), (span(y), span(y), span(y), 1)
    side = ("UINT8", dims, steps, memory_of(handle, out, name, y.type), name)
    placed(handle, side, side, 0.0, 0.0)
