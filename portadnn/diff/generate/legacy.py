"""Operations whose problems are drawn here until their records stand in ``portadnn/ops/records/``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...drawing.strata import Drawer, Drawing
from ...operation import operations

FAMILIES: dict[str, Drawing] = {op: record.drawing for op, record in operations().items()}


def family(
    *ops: str, crossed: Mapping[str, Sequence[Any]], turns: Mapping[str, Sequence[Any]] | None = None
) -> Callable[[Drawer], Drawer]:
    """Register a function (draws, choices, op) that draws the problems of some operations."""

    def register(function: Drawer) -> Drawer:
        for op in ops:
            FAMILIES[op] = Drawing(function, crossed, turns or {})
        return function

    return register
