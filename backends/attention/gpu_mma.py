"""Attention on tensor cores: which nodes take it, and its launches."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.graph.data_types import data_type

from ..base import Arg, Device, DeviceInfo
from ..engines.conv.tensor_core_tiles import dynamic_memory
from ..engines.rounding import ceil_div, round_up
from .building import Building
from .operands import Defines, Operands, int32

_LONGEST, _LONGEST_BACKWARD = 256, 128  # numbers of a row: sums of more do not fit registers
_TYPES = (data_type.HALF, data_type.BFLOAT16)


@dataclass(frozen=True)
class Part:
    """How one kernel works on its tiles.

    Attributes
    ----------
    rows, columns : int
        Of a tile, and of a step along it.
    steps : int
        Times 16 rows of a sub-group.
    blocks : int
        Work-groups that a multiprocessor shall hold, which bounds their registers.
    at_once : int
        Of the columns of a step, those whose scores a sub-group holds; 0 for all. Of gradients alone.
    """

    rows: int
    columns: int
    steps: int
    blocks: int
    at_once: int = 0

    @property
    def warps(self) -> int:
        """Sub-groups of a work-group."""
        return self.rows // (16 * self.steps)

    def defines(self) -> Defines:
        """Return what the kernel is told."""
        at_once = self.at_once or self.columns
        counts = {"WARPS": self.warps, "STEPS": self.steps, "BC": self.columns, "BLOCKS": self.blocks}
        return {**counts, "AT_ONCE": at_once}


@dataclass(frozen=True)
class MmaTile:
    """A tile of so many rows on tensor cores."""

    rows: int
    columns: int = 64
    where = " on tensor cores"

    def forward(self, d: int, dv: int) -> Part:
        """Return how the forward kernel works on rows of so many numbers."""
        steps = 2 if self.rows == 128 and max(d, dv) <= 128 else 1
        return Part(self.rows, self.columns, steps, 2 if max(d, dv) <= 64 else 1)

    def backward(self, d: int, dv: int, keys: bool, memory: int) -> Part:
        """Return how the kernel for queries' gradients works, or that for those of keys and values.

        Steps are as long as the work-groups of a multiprocessor have local memory for, `memory` bytes.
        """
        sums = d + dv if keys else d
        rows = min(self.rows, 64) if sums > 128 else self.rows
        steps = 2 if rows == 128 else 1
        blocks = 2 if sums <= 128 or rows == 64 else 1
        parts = [Part(rows, columns, steps, blocks, 32) for columns in (128, 64, 32)]
        return next((one for one in parts if blocks * _backward_bytes(one, d, dv) <= memory), parts[-1])

    def parts(self, operands: Operands, memory: int) -> list[Part]:
        """Return how the kernels of a node work on a device with so many bytes of local memory."""
        n = operands.sizes
        if operands.backward:
            return [self.backward(n.d, n.dv, keys, memory) for keys in (False, True)]
        return [self.forward(n.d, n.dv)]


TILES = (MmaTile(128), MmaTile(64))


def local_bytes(part: Part, operands: Operands) -> int:
    """Return the bytes of local memory: the rows' operands, and two steps of the columns' (and their statistics)."""
    n = operands.sizes
    if operands.backward:
        return _backward_bytes(part, n.d, n.dv)
    return part.rows * pitch(n.d) + 2 * part.columns * (pitch(n.d) + pitch(n.dv))


def _backward_bytes(part: Part, d: int, dv: int) -> int:
    pair = pitch(d) + pitch(dv)
    return part.rows * pair + 2 * part.columns * (pair + 8)


def pitch(length: int) -> int:
    """Return the bytes from one row of so many numbers to the next in local memory (attention/mma.h)."""
    return 2 * round_up(length, 16) + 16


def takes(operands: Operands, info: DeviceInfo) -> bool:
    """Tell whether a device's tensor cores take a node, as far as types and lengths go."""
    n, backward = operands.sizes, operands.backward
    types = {operands.at(port).data_type for port in ("Q", "K", "V", *(["DO"] if backward else []))}
    if "mma" not in info.features or len(types) > 1 or not types <= set(_TYPES) or operands.real.itemsize > 4:
        return False
    return max(n.d, n.dv) <= (_LONGEST_BACKWARD if backward else _LONGEST)


def tiles(operands: Operands, info: DeviceInfo) -> list[MmaTile]:
    """Return the tiles that a device takes for a node, the one to prefer first."""
    n = operands.sizes
    if not takes(operands, info) or (operands.backward and (n.hk != n.hv or operands.find("DBIAS"))):
        return []
    most = dynamic_memory(info)
    return [tile for tile in TILES if _fits(tile, operands, most)]


def element_defines(operands: Operands) -> Defines:
    """Return the defines of kernels on tensor cores: of the node, the type that they multiply, and the lengths."""
    found, n = operands.defines(), operands.sizes
    del found[f"DTYPE_{operands.real.name}"]
    return {**found, f"DTYPE_{operands.at('Q').data_type.name}": 1, "D": n.d, "DV": n.dv}


def _fits(tile: MmaTile, operands: Operands, memory: int) -> bool:
    return all(local_bytes(part, operands) <= memory for part in tile.parts(operands, memory))


class MmaBuilding(Building):
    """The launches of one attention, as far as both directions have them."""

    items = 128

    def __init__(self, operands: Operands, device: Device, tile: MmaTile) -> None:
        super().__init__(operands, device)
        self.tile = tile
        self.drawn()

    def of_tiles(self, part: Part, name: str, more: Defines, tiles: int, args: tuple[Arg, ...]) -> None:
        """Append a launch with a work-group for each tile; `args` are those before ATTENTION."""
        op = self.operands
        defines: Defines = {**element_defines(op), **part.defines(), **more}
        file = "cuda/attention/backward_mma.cu" if op.backward else "cuda/attention/forward_mma.cu"
        self.launch(file, name, defines, tiles, (*args, *self.common), 32 * part.warps, local_bytes(part, op))


class MmaForward(MmaBuilding):
    """The launches of the forward direction."""

    def __init__(self, operands: Operands, device: Device, tile: MmaTile) -> None:
        super().__init__(operands, device, tile)
        op, n = operands, operands.sizes
        defines, args = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        args = (*op.placed("Q"), *op.placed("K"), *op.placed("V"), *args, int32(n.hk), int32(n.hv))
        part = tile.forward(n.d, n.dv)
        self.of_tiles(part, "attention_forward_mma", defines, n.b * n.hq * ceil_div(n.sq, part.rows), args)


class MmaBackward(MmaBuilding):
    """The launches of the backward directions: of queries, of keys and values, and of the sink."""

    def __init__(self, operands: Operands, device: Device, tile: MmaTile) -> None:
        super().__init__(operands, device, tile)
        op, n = operands, operands.sizes
        pitch = self.statistics()
        inputs: tuple[Arg, ...] = (*op.placed("Q"), *op.placed("K"), *op.placed("V"), *op.placed("DO"))
        inputs += (self.logs, self.dot)
        name, numbers = "attention_backward_mma", (int32(n.hk), int32(pitch))
        of_queries, of_keys = tile.parts(op, dynamic_memory(device.info))
        tiles = n.b * n.hq * ceil_div(n.sq, of_queries.rows)
        self.of_tiles(of_queries, name, op.type_of("DQ_T", "DQ"), tiles, (*inputs, *op.placed("DQ"), *numbers))
        defines: Defines = {"KEYS": 1, **op.type_of("DK_T", "DK"), **op.type_of("DV_T", "DV")}
        args = (*inputs, *op.placed("DK"), *op.placed("DV"), *numbers)
        self.of_tiles(of_keys, name, defines, n.b * n.hk * ceil_div(n.skv, of_keys.rows), args)
        self.of_sink()
