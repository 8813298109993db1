"""Where the numbers of a launch lie: its axes, merged and in order, and offsets along them as C text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from portadnn.graph.enums import pointwise_mode
from portadnn.graph.layout import Dims

from ..engines.layouts import Axis, coalesce
from .launches import Stage
from .values import Value


@dataclass(frozen=True)
class _Counter:
    """Stands for a tensor whose offset along an axis is the place along it: GEN_INDEX."""

    dims: Dims
    strides: Dims


@dataclass
class Place:
    """Something with an offset at every place of a launch.

    Attributes
    ----------
    number : int
        Of its names in the text.
    value : Value
        What lies there, or is the place itself.
    memory : bool
        Whether it is in memory.
    """

    number: int
    value: Value
    memory: bool


@dataclass
class Space:
    """The axes of a launch, slowest first, with each place's strides along them.

    Attributes
    ----------
    places : list of Place
        What is read, then what is written, then counters.
    kept, reduced : list of Axis
        Two loops, one within the other.
    along : bool
        Whether neighbours in memory are along the reduced axes, so that the inner loop goes along the memory.
    wide : bool
        Whether a place takes more than 32 bits.
    """

    places: list[Place]
    kept: list[Axis]
    reduced: list[Axis]
    along: bool
    wide: bool

    @property
    def rows(self) -> int:
        """Results, or places of a launch without reductions."""
        return math.prod(axis.size for axis in self.kept)

    @property
    def length(self) -> int:
        """Places that are taken together for each result."""
        return math.prod(axis.size for axis in self.reduced)

    def steps(self, place: Place) -> tuple[bool, bool]:
        """Tell whether a place moves along the kept axes, and along the reduced ones."""
        moves = [any(axis.strides[place.number] for axis in axes) for axes in (self.kept, self.reduced)]
        return moves[0], moves[1]


def space_of(stage: Stage, many: int) -> Space:
    """Return a launch's axes.

    Parameters
    ----------
    many
        Results side by side that fill a vector or a group's neighbouring work-items: fewer are not worth it.
    """
    places, laid = _laid(stage)
    memory = [place.value for place in places if place.memory]
    main = max(memory, key=lambda value: (value.size, value in stage.stores))
    summed = tuple(size if axis in stage.axes else 1 for axis, size in enumerate(stage.dims))
    kept, reduced = (_axes(dims, laid, main) for dims in (stage.kept, summed))
    position = [*memory].index(main)
    near = [axes[-1].strides[position] if axes[-1].size > 1 else 0 for axes in (kept, reduced)]
    along = bool(stage.sums and (near[0] == 0 or 0 < near[1] < near[0] or kept[-1].size < many))
    return Space(places, kept, reduced, along, _wide(memory))


def space_after(stage: Stage, product: Value) -> Space:
    """Return the axes of a launch without sums over the result of a product, in the order in which that lies in memory.

    The product is no place in memory, though it has one among the places, so that offsets are told from where it lies.
    """
    places, laid = _laid(stage)
    for place in places[: len(stage.loads)]:
        place.memory = place.value is not product
    wide = _wide([place.value for place in places if place.memory])
    return Space(places, _axes(stage.dims, laid, product), [Axis(1, (0,) * len(laid))], False, wide)


def _laid(stage: Stage) -> tuple[list[Place], list[Value | _Counter]]:
    """Return the places of a launch, and how they lie."""
    memory: list[Value] = [*stage.loads, *stage.stores]
    counters = [
        value
        for value in stage.cone([*stage.stores, *(node.inputs[0] for node in stage.reductions)])
        if stage.computes(value) and value.node is not None and value.node.mode is pointwise_mode.GEN_INDEX
    ]
    laid: list[Value | _Counter] = [*memory]
    for value in counters:
        assert value.node is not None
        axis = value.node.attributes["axis"]
        laid.append(_Counter(value.dims, tuple(int(i == axis) for i in range(len(value.dims)))))
    places = [Place(i, value, i < len(memory)) for i, value in enumerate([*memory, *counters])]
    return places, laid


def _wide(memory: Sequence[Value]) -> bool:
    return any(1 + sum((d - 1) * s for d, s in zip(v.dims, v.strides, strict=True)) >= 2**31 for v in memory)


def _axes(dims: Dims, laid: Sequence[Value | _Counter], main: Value) -> list[Axis]:
    """Return merged axes in the order in which `main` lies in memory."""
    axes = coalesce(dims, [*laid, main])
    if math.prod(dims) == 1:
        return [Axis(1, (0,) * len(laid))]
    return [Axis(axis.size, axis.strides[:-1]) for axis in axes]


def offset(axes: Sequence[Axis], number: int, index: str) -> str:
    """Return C text for a place's offset at position `index` over some axes; "" where it does not move.

    >>> offset([Axis(4, (50,)), Axis(3, (7,))], 0, "row")
    'row / 3 * 50 + row % 3 * 7'
    """
    terms = []
    below = 1
    for position, axis in reversed(list(enumerate(axes))):
        part = index if below == 1 else f"{index} / {below}"
        if position > 0:
            part += f" % {axis.size}"
        below *= axis.size
        if axis.strides[number] and axis.size > 1:
            terms.append(part if axis.strides[number] == 1 else f"{part} * {axis.strides[number]}")
    return " + ".join(reversed(terms))
