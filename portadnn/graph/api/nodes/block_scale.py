"""The methods of :class:`~portadnn.graph.api.pygraph` for tensors with a scale for each block of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...rules import fail
from ...tensor import tensor
from ..builder import NOT_SET, Builder


def block_scale_quantize(
    self: Builder,
    input: tensor,
    block_size: int,
    axis: int | None = None,
    transpose: bool = False,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    group_offset: tensor | None = None,
) -> list[tensor]:
    """Return `input` quantised, and the scales: one for each `block_size` elements along `axis`, by default the last.

    The program sets both types: FP8_E4M3, FP8_E5M2 or FP4_E2M1, and FP8_E8M0 or FP8_E4M3 for scales. `transpose` lays
    both out with `axis` fastest. `group_offset` (1.32, by a kernel in CuTe DSL alone) is refused.
    """
    if group_offset is not None:
        fix = "quantise without it: scales of all rows in one"
        raise fail("PG-NODE-009", argument="group_offset", expected="None", got="a tensor", fix=fix)
    attributes = {"block_size": block_size, "axis": axis, "transpose": transpose}
    out = self._add("block_scale_quantize", {"X": input}, compute_data_type, name, **attributes)
    return [out["Y"], out["SCALE"]]


def block_scale_dequantize(
    self: Builder,
    input: tensor,
    descale: tensor,
    block_size: Sequence[int],
    is_negative_scale: bool = False,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> tensor:
    """Return `input` times the scale of each block, a virtual tensor; `block_size` is along the last axes."""
    inputs = {"X": input, "SCALE": descale}
    attributes = {"block_size": block_size, "is_negative_scale": is_negative_scale}
    return self._add("block_scale_dequantize", inputs, compute_data_type, name, **attributes)["Y"]
