"""Attention forward on tensor cores: which nodes take it, and its launch."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.graph.data_types import data_type

from ..base import Device, DeviceInfo
from ..engines.conv_cpu_common import ceil_div, round_up
from ..engines.conv_tensor_core_tiles import dynamic_memory
from .building import Building
from .operands import Operands, int32

_FILE = "cuda/attention_mma.cu"
_COLUMNS = 64  # keys of a step
_LONGEST = 256  # numbers of a row: more do not fit registers
_TYPES = (data_type.HALF, data_type.BFLOAT16)


@dataclass(frozen=True)
class MmaTile:
    """Sub-groups of a work-group, of 16 queries each."""

    warps: int

    @property
    def rows(self) -> int:
        """Rows of the tile."""
        return 16 * self.warps

    @property
    def columns(self) -> int:
        """Columns of the tile."""
        return _COLUMNS

    def local_bytes(self, operands: Operands) -> int:
        """Return the bytes of local memory: queries, a step's keys and its values."""
        n = operands.sizes
        return (self.rows + _COLUMNS) * _pitch(n.d) + _COLUMNS * _pitch(n.dv)


TILES = (MmaTile(8), MmaTile(4))


def _pitch(length: int) -> int:
    return 2 * round_up(length, 16) + 16


def tiles(operands: Operands, info: DeviceInfo) -> list[MmaTile]:
    """Return the tiles that a device takes for a node, the largest first."""
    types = {operands.at(port).data_type for port in "QKV"}
    longest = max(operands.sizes.d, operands.sizes.dv)
    if "mma" not in info.features or operands.backward or len(types) > 1 or longest > _LONGEST:
        return []
    if not types <= set(_TYPES) or operands.real.itemsize > 4:
        return []
    return [tile for tile in TILES if tile.local_bytes(operands) <= dynamic_memory(info)]


class MmaForward(Building):
    """The launches of the forward direction."""

    items = 128

    def __init__(self, operands: Operands, device: Device, tile: MmaTile) -> None:
        super().__init__(operands, device)
        op, n = operands, operands.sizes
        self.drawn()
        defines, args = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        defines.update({**op.defines(), "WARPS": tile.warps, "D": n.d, "DV": n.dv})
        del defines[f"DTYPE_{self.real.name}"]
        defines[f"DTYPE_{op.at('Q').data_type.name}"] = 1
        args = (*op.placed("Q"), *op.placed("K"), *op.placed("V"), *args, int32(n.hk), int32(n.hv), *self.common)
        tiles = n.b * n.hq * ceil_div(n.sq, tile.rows)
        self.launch(_FILE, "attention_mma", defines, tiles, args, 32 * tile.warps, tile.local_bytes(op))
