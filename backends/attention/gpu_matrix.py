"""Attention forward on AMD's matrix cores: which nodes take it, and its launch."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.graph.data_types import data_type

from ..base import Device, DeviceInfo
from ..engines.conv.cpu_common import ceil_div, round_up
from ..engines.conv.matrix_units import MMA, Unit, unit_of
from .building import Building
from .gpu_mma import element_defines
from .operands import Defines, Operands, int32

_LONGEST = 128  # numbers of a row: more sums do not fit registers
_TYPES = (data_type.HALF, data_type.BFLOAT16)
_CHUNK = 8  # numbers


@dataclass(frozen=True)
class MatrixTile:
    """A tile of so many rows on a device's matrix units."""

    rows: int
    unit: Unit
    columns: int
    where = " on matrix cores"

    @property
    def items(self) -> int:
        """Work-items."""
        return self.rows // self.unit.fragment * self.unit.wave

    def local_bytes(self, d: int, dv: int) -> int:
        """Return the bytes of local memory: keys, and values turned over, each row with a chunk of padding."""
        keys = self.columns * (round_up(d, 16) + _CHUNK)
        return 2 * (keys + round_up(dv, self.unit.fragment) * (self.columns + _CHUNK))

    def defines(self, operands: Operands) -> Defines:
        """Return what the kernel is told."""
        n, unit = operands.sizes, self.unit
        found = {"WAVES": self.items // unit.wave, "WAVE": unit.wave, "FRAG": unit.fragment, "BC": self.columns}
        neighbours = all(operands.at(port).strides[3] == 1 for port in "QKV" if port not in operands.gathered)
        chunks = neighbours and n.d % _CHUNK == n.dv % _CHUNK == 0
        return {**element_defines(operands), **found, **({"IN_CHUNKS": 1} if chunks else {})}


def tiles(operands: Operands, info: DeviceInfo) -> list[MatrixTile]:
    """Return the tiles that a device takes for a node, the one to prefer first."""
    unit, n = unit_of(info), operands.sizes
    types = {operands.at(port).data_type for port in "QKV"}
    if unit is None or unit is MMA or operands.backward or len(types) > 1 or not types <= set(_TYPES):
        return []
    if operands.real.itemsize > 4 or max(n.d, n.dv) > _LONGEST:
        return []
    columns = _columns(operands, unit)
    found = (MatrixTile(rows, unit, columns) for rows in (128, 64))
    return [
        tile for tile in found if tile.items <= info.max_work_group and tile.local_bytes(n.d, n.dv) <= info.local_memory
    ]


def _columns(operands: Operands, unit: Unit) -> int:
    """Return the columns of a step, whose scores are to fit registers beside what is added to them."""
    if max(operands.sizes.d, operands.sizes.dv) <= 64:
        return 64
    adds = operands.find("BIAS") is not None or operands.op["use_alibi_mask"]
    return 16 if adds and unit.fragment == 16 else 32


class MatrixForward(Building):
    """The launches of the forward direction."""

    items = 128

    def __init__(self, operands: Operands, device: Device, tile: MatrixTile) -> None:
        super().__init__(operands, device)
        self.drawn()
        op, n = operands, operands.sizes
        outputs, args = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        args = (*op.placed("Q"), *op.placed("K"), *op.placed("V"), *args, int32(n.hk), int32(n.hv), *self.common)
        groups = n.b * n.hq * ceil_div(n.sq, tile.rows)
        defines = {**tile.defines(op), **outputs}
        self.launch("shared/attention/forward_matrix.cl", "attention_forward_matrix", defines, groups, args, tile.items)
