"""Attention on tensor cores: which nodes take it, and its launches."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.graph.data_types import data_type

from ..base import Arg, Device, DeviceInfo
from ..engines.conv_cpu_common import ceil_div, round_up
from ..engines.conv_tensor_core_tiles import dynamic_memory
from .building import Building
from .operands import Defines, Operands, int32

_COLUMNS, _COLUMNS_BACKWARD = 64, 32  # columns of a step
_LONGEST, _LONGEST_BACKWARD = 256, 128  # numbers of a row: sums of more do not fit registers
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
        """Return the bytes of local memory: the rows' operands, and a step's, of which backward has two."""
        n = operands.sizes
        if operands.backward:
            return (self.rows + 2 * _COLUMNS_BACKWARD) * (_pitch(n.d) + _pitch(n.dv))
        return (self.rows + _COLUMNS) * _pitch(n.d) + _COLUMNS * _pitch(n.dv)


TILES = (MmaTile(8), MmaTile(4))


def _pitch(length: int) -> int:
    return 2 * round_up(length, 16) + 16


def tiles(operands: Operands, info: DeviceInfo) -> list[MmaTile]:
    """Return the tiles that a device takes for a node, the one to prefer first."""
    n, backward = operands.sizes, operands.backward
    types = {operands.at(port).data_type for port in ("Q", "K", "V", *(["DO"] if backward else []))}
    if "mma" not in info.features or len(types) > 1 or not types <= set(_TYPES) or operands.real.itemsize > 4:
        return []
    if max(n.d, n.dv) > (_LONGEST_BACKWARD if backward else _LONGEST):
        return []
    if backward and (n.hk != n.hv or operands.find("DBIAS")):
        return []
    return [tile for tile in TILES if tile.local_bytes(operands) <= dynamic_memory(info)]


class MmaBuilding(Building):
    """The launches of one attention, as far as both directions have them."""

    items = 128

    def __init__(self, operands: Operands, device: Device, tile: MmaTile) -> None:
        super().__init__(operands, device)
        self.tile = tile
        self.drawn()

    def of_tiles(self, name: str, more: Defines, rows: int, args: tuple[Arg, ...]) -> None:
        """Append a launch with a work-group for each tile of so many rows; `args` are those before ATTENTION."""
        op, n = self.operands, self.operands.sizes
        defines: Defines = {**op.defines(), "WARPS": self.tile.warps, "D": n.d, "DV": n.dv, **more}
        del defines[f"DTYPE_{self.real.name}"]
        defines[f"DTYPE_{op.at('Q').data_type.name}"] = 1
        file = "cuda/attention_backward_mma.cu" if op.backward else "cuda/attention_mma.cu"
        groups, items = ceil_div(rows, self.tile.rows), 32 * self.tile.warps
        heads = n.hk if "KEYS" in more else n.hq
        every = (*args, *self.common)
        self.launch(file, name, defines, n.b * heads * groups, every, items, self.tile.local_bytes(op))


class MmaForward(MmaBuilding):
    """The launches of the forward direction."""

    def __init__(self, operands: Operands, device: Device, tile: MmaTile) -> None:
        super().__init__(operands, device, tile)
        op, n = operands, operands.sizes
        defines, args = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        args = (*op.placed("Q"), *op.placed("K"), *op.placed("V"), *args, int32(n.hk), int32(n.hv))
        self.of_tiles("attention_forward_mma", defines, n.sq, args)


class MmaBackward(MmaBuilding):
    """The launches of the backward directions: of queries, of keys and values, and of the sink."""

    def __init__(self, operands: Operands, device: Device, tile: MmaTile) -> None:
        super().__init__(operands, device, tile)
        op, n = operands, operands.sizes
        pitch = self.statistics()
        inputs: tuple[Arg, ...] = (*op.placed("Q"), *op.placed("K"), *op.placed("V"), *op.placed("DO"))
        inputs += (self.logs, self.dot)
        name, numbers = "attention_backward_mma", (int32(n.hk), int32(pitch))
        self.of_tiles(name, op.type_of("DQ_T", "DQ"), n.sq, (*inputs, *op.placed("DQ"), *numbers))
        keys = {"KEYS": 1, **op.type_of("DK_T", "DK"), **op.type_of("DV_T", "DV")}
        self.of_tiles(name, keys, n.skv, (*inputs, *op.placed("DK"), *op.placed("DV"), *numbers))
        self.of_sink()
