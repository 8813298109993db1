"""Choose few rows of a table that still have every pair of two parameters' values that the table has.

A fault in one place shows with one value or with two; rows that bring no new pair repeat the same code. They are left
out where kernels run on a CPU, and to ``make test-all`` elsewhere (the marker ``long``).
"""

from __future__ import annotations

import dataclasses
import functools
import heapq
import itertools
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

import pytest

from portadnn.enums import DataType
from portadnn.problem import Problem, TensorSpec, parse_line


def pairs(row: Mapping[str, Hashable]) -> set[Hashable]:
    """Return the pairs of two parameters with their values; of a single parameter, that one."""
    items = sorted(row.items(), key=lambda item: item[0])
    return set(itertools.combinations(items, 2)) or set(items)


def cover(demands: Sequence[AbstractSet[Hashable]], costs: Sequence[float] = ()) -> list[int]:
    """Return indices of sets whose union is the union of all sets, in ascending order.

    Greedy: the set with most members that are still missing, for its cost, comes next, the earliest of equals.
    """
    left = [set(each) for each in demands]
    costs = costs or [1.0] * len(left)
    missing = set().union(*left)
    queue = [(-len(each) / cost, index) for index, (each, cost) in enumerate(zip(left, costs, strict=True))]
    heapq.heapify(queue)
    chosen = []
    while missing:
        _, index = heapq.heappop(queue)
        left[index] &= missing
        again = (-len(left[index]) / costs[index], index)
        if queue and again > queue[0]:
            heapq.heappush(queue, again)
        else:
            chosen.append(index)
            missing -= left[index]
    return sorted(chosen)


def marks(demands: Sequence[AbstractSet[Hashable]]) -> list[tuple[pytest.MarkDecorator, ...]]:
    """Return the marks of each row: none for those that `cover` chooses, ``long`` for the others."""
    chosen = set(cover(demands))
    return [() if index in chosen else (pytest.mark.long,) for index in range(len(demands))]


def every_other(rows: Sequence[Any], first: int = 0) -> list[Any]:
    """Return rows for `pytest.mark.parametrize`, of which every other one is ``long``."""
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=[pytest.mark.long] * ((at + first) % 2))
        for at, row in enumerate(rows)
    ]


def product(*values: Sequence[Any]) -> list[Any]:
    """Return the rows of a product for `pytest.mark.parametrize`, with the marks of `marks`."""
    rows = list(itertools.product(*values))
    found = marks([pairs({str(at): at_value for at, at_value in enumerate(map(str, row))}) for row in rows])
    return [pytest.param(*row, marks=marked) for row, marked in zip(rows, found, strict=True)]


@functools.cache
def layouts_of_line(line: str) -> AbstractSet[Hashable]:
    """Return the types of this line's tensors, and how they lie: what decides how kernels read and write."""
    problem, _ = parse_line(line)
    return frozenset((problem.op, item) for name, spec in _tensors(problem) for item in _lies(name, spec).items())


@functools.cache
def modes_of_line(line: str) -> AbstractSet[Hashable]:
    """Return what `layouts_of_line` does, and the modes of this line's problem: what decides how kernels compute."""
    problem, _ = parse_line(line)
    fields = ((field.name, getattr(problem, field.name)) for field in dataclasses.fields(problem))
    return layouts_of_line(line) | {(problem.op, name, value) for name, value in fields if isinstance(value, Enum)}


def _tensors(problem: Problem) -> list[tuple[str, TensorSpec]]:
    return list(zip(problem.names, problem.tensors, strict=True))


def _lies(name: str, spec: TensorSpec) -> dict[str, Hashable]:
    lowest = min(spec.strides, default=1)
    layout = (spec.format, spec.size == spec.span, spec.overlapping, lowest < 1)
    return {name: spec.dtype, f"{name}.layout": layout, f"{name}.aligned": "@" in str(spec)}


@functools.cache
def demands_of_line(line: str, *, alone: bool = False, **more: Hashable) -> AbstractSet[Hashable]:
    """Return what only this problem line may have in a table: pairs of its values, and its sizes.

    Vectors leave a remainder of some sizes, which code of its own computes; those of double hold fewer numbers.

    With `alone`, its values without what they are paired with, and no sizes.

    Of a layout its order, gaps, overlaps and alignment count; of paddings, strides and dilations whether they are 0, 1
    or more.
    """
    problem, numbers = parse_line(line)
    row: dict[str, Hashable] = dict(more)
    for name, spec in _tensors(problem):
        row |= _lies(name, spec)
    for field in dataclasses.fields(problem):
        value = getattr(problem, field.name)
        if isinstance(value, tuple) and all(type(one) is int for one in value):
            row[field.name] = tuple(sorted({min(one, 2) for one in value}))
        elif not isinstance(value, TensorSpec):
            row[field.name] = str(value)
    row |= {name: min(abs(number), 1.5) for name, number in numbers.items()}
    if alone:
        return frozenset((problem.op, *item) for item in row.items())
    sizes = {(problem.op, problem.dtype is DataType.DOUBLE, *(spec.dims for spec in problem.tensors))}
    return frozenset({(problem.op, pair) for pair in pairs(row)} | sizes)
