"""Reductions of each group of rows by itself, such as the tokens of each expert: other rows are replaced first."""

from __future__ import annotations

from typing import Any

from ...data_types import data_type
from ...enums import reduction_mode
from ...rules import fail
from ...tensor import tensor
from ..builder import Builder
from . import pointwise

_LARGEST = 3.4028234663852886e38  # of a float; what MIN, and less its sign MAX, give for a group without rows
_LAST = 2**31 - 1  # where the last group ends
_NEUTRAL = {  # numbers that change no result
    reduction_mode.ADD: 0.0,
    reduction_mode.MUL: 1.0,
    reduction_mode.MIN: _LARGEST,
    reduction_mode.MAX: -_LARGEST,
    reduction_mode.AMAX: 0.0,
    reduction_mode.NORM1: 0.0,
    reduction_mode.NORM2: 0.0,
    reduction_mode.MUL_NO_ZEROS: 0.0,
}


def reduction(self: Builder, x: tensor, mode: Any, compute: Any, name: str, offset: Any) -> tensor:
    """Return the reduction of each group's rows; see :meth:`pygraph.reduction`.

    Raises
    ------
    cudnnGraphNotSupportedError
        AVG, whose divisor a group's length would be (PG-REDUCE-003).
    ShapeDeductionFailed
        `offset` has other dims than (groups, 1, 1) (PG-NODE-007).
    """
    how = reduction_mode.parse(mode, "mode")
    if how not in _NEUTRAL:
        names = ", ".join(one.name for one in _NEUTRAL)
        raise fail("PG-REDUCE-003", argument="mode", expected=names, got=str(how), fix="use ADD, and divide")
    if not isinstance(offset, tensor):
        got = type(offset).__name__
        raise fail("PG-TENSOR-017", argument="group_offset", expected="a tensor of the graph", got=got)
    dims = offset.get_dim()
    if len(dims) != 3 or dims[1:] != [1, 1]:
        raise fail("PG-NODE-007", argument="group_offset", expected="dims (groups, 1, 1)", got=dims)

    def step(label: str) -> str:
        return f"{name}::{label}" if name else ""

    whole = data_type.INT32
    row = pointwise.gen_index(self, x, 1, whole, step("rows")).set_data_type(whole)
    inside = pointwise.cmp_ge(self, row, offset, whole, step("begun")).set_data_type(data_type.BOOLEAN)
    if dims[0] > 1:
        end = _ends(self, offset, dims[0], step)
        before = pointwise.cmp_lt(self, row, end, whole, step("not_ended")).set_data_type(data_type.BOOLEAN)
        both = pointwise.logical_and(self, inside, before, data_type.BOOLEAN, step("inside"))
        inside = both.set_data_type(data_type.BOOLEAN)
    of_group = pointwise.binary_select(self, x, _NEUTRAL[how], inside, compute, step("selected"))
    return self._add("reduction", {"X": of_group}, compute, name, mode=how)["Y"]


def _ends(self: Builder, offset: tensor, groups: int, step: Any) -> tensor:
    """Return where each group ends: where the next one begins, and the last one nowhere."""
    rest, any_one = (
        self._add("slice", {"X": offset}, data_type.NOT_SET, step(label), slices=(part, slice(0, 1), slice(0, 1)))["Y"]
        for label, part in (("begins", slice(1, groups)), ("one", slice(0, 1)))
    )
    last = pointwise.max(self, any_one, _LAST, data_type.INT32, step("end"))
    ports = {"IN_0": rest, "IN_1": last}
    for one in ports.values():
        one.set_data_type(offset.get_data_type())
    made = self._add("concatenate", ports, data_type.NOT_SET, step("ends"), axis=0, in_place_index=None)
    return made["Y"].set_data_type(offset.get_data_type())
