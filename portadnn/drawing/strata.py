"""Strata: what the problems of an operation are to differ in, and in which order all of it is met."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..enums import DataType
from ..problem import FLOAT_TYPES
from .draws import Draws

Choices = Mapping[str, Any]
Drawer = Callable[[Draws, Choices, str], str]

TYPES = (DataType.FLOAT, DataType.HALF, DataType.DOUBLE, DataType.BFLOAT16)
assert set(TYPES) == set(FLOAT_TYPES)


@dataclass(frozen=True)
class Drawing:
    """How the problems of an operation are drawn.

    Attributes
    ----------
    draw : callable
        (draws, choices, operation) to a problem line, valid and without run-time numbers.
    crossed : dict of str to sequence
        Axes of which every combination is met before one comes again: types, layouts, modes.
    turns : dict of str to sequence
        Axes whose options take turns, each axis by itself.
    numbers : dict of str to tuple of float
        Values of run-time numbers other than blending factors.
    """

    draw: Drawer
    crossed: Mapping[str, Sequence[Any]]
    turns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    numbers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def round(self) -> int:
        """How many problems have every combination once."""
        return math.prod(map(len, self.crossed.values()))

    def choices(self, op: str, seed: int, number: int) -> dict[str, Any]:
        """Return what problem `number` of a seed is to be.

        Combinations come in an order in which the options of every axis are spread evenly over any few problems: the
        index of each axis advances with those of the axes before it.
        """
        turn, place = divmod(number, self.round)
        found: dict[str, Any] = {}
        offset = 0
        for name, options in self.crossed.items():
            place, index = divmod(place, len(options))
            offset += index
            found[name] = Draws(seed, op, name, turn).shuffled(options)[offset % len(options)]
        for name, options in self.turns.items():
            block, index = divmod(number, len(options))
            found[name] = Draws(seed, op, name, "turn", block).shuffled(options)[index]
        return found

    def line(self, op: str, seed: int, number: int) -> str:
        """Return problem `number` of a seed."""
        return self.draw(Draws(seed, op, number), self.choices(op, seed, number), op)
