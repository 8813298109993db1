"""What Winograd's convolutions on CPUs share: their variants, their filters, and how work is cut."""

from __future__ import annotations

from dataclasses import dataclass

from ..conv.cpu.common import Defines
from .geometry import Direction

_FILTER_LANES = 8  # of its transform: nine taps are two vectors


@dataclass(frozen=True)
class Variant:
    """F(out x out, 3x3): `out` outputs along a tile's side.

    Attributes
    ----------
    input_cycles, output_cycles : int
        To transform a vector of tiles of one channel, about.
    error : float
        How far a result may be off, in units of the tolerance of a plain sum.
    """

    out: int
    input_cycles: int
    output_cycles: int
    error: float

    @property
    def side(self) -> int:
        """Inputs along a tile's side."""
        return self.out + 2

    @property
    def planes(self) -> int:
        """Products for each channel of a tile."""
        return self.side**2


@dataclass(frozen=True)
class Blocks:
    """How the work is cut into blocks, the memory that takes (of it the filter), and the cycles of the busiest core.

    `panel`: filters that are packed together.
    """

    defines: Defines
    panel: int
    filter_grid: tuple[int, int]
    work_groups: int
    scratch_start: int
    workspace: int
    cycles: float
    packed: int


def filter_defines(d: Direction) -> dict[str, int]:
    """Return the filter's strides; TAPS_TOGETHER where its nine taps are read as neighbours."""
    defines = dict(zip(("W_GROUP", "W_M", "W_CH", "W_H", "W_W", "W_FIRST"), d.taps, strict=True))
    w_h, w_w, first = defines["W_H"], defines["W_W"], defines["W_FIRST"]
    if abs(w_w) == 1 and w_h == 3 * w_w:
        defines.update({"TAPS_TOGETHER": 1, "W_FIRST": min(first, first + 2 * w_h + 2 * w_w)})
    return defines


def pack_defines(blocks: Blocks) -> Defines:
    """Return the defines for the transform of the filter: lanes are filters of a panel, or the nine taps of one."""
    lanes = int(blocks.defines["VW"])
    few = "TAPS_TOGETHER" in blocks.defines or blocks.panel < lanes
    return {**blocks.defines, "WIDTH": blocks.panel, "VW": min(lanes, _FILTER_LANES) if few else lanes}
