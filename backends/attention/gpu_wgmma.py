"""Attention on Hopper's tensor cores: which nodes take it, and its launches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..base import Arg, Device, DeviceInfo
from ..engines.conv.tensor_core_tiles import dynamic_memory
from ..engines.rounding import ceil_div
from . import gpu_mma
from .building import Building
from .operands import Defines, Operands, int32

_LENGTHS = (64, 80, 96, 128, 192, 256)  # of rows of sums: products of so many columns (common/wgmma.h)
_MEASURED = (64, 80, 96, 128)
_SPEEDS = {2: 0.87, 3: 1.0}  # of long rows of queries, by groups that multiply (H100, heads of 64)
_LONGEST_BACKWARD = 128
_FEWEST_ROWS = 65  # of fewer, half of a tile would be nothing
# Registers by groups that multiply: of work-items that copy, of those that multiply, and of these for operands and sums
_REGISTERS = {2: (40, 232, 208), 3: (32, 160, 132)}


def _panels(length: int) -> int:
    """Return the bytes of a row in panels."""
    return 128 * ceil_div(length, 64)


@dataclass(frozen=True)
class Part:
    """How one kernel works: groups of 64 rows each, columns of a step, and steps in local memory."""

    groups: int
    columns: int
    stages: int

    @property
    def rows(self) -> int:
        """Rows of a work-group."""
        return 64 * self.groups

    @property
    def items(self) -> int:
        """Work-items: a warpgroup copies."""
        return 128 * (self.groups + 1)

    def defines(self) -> Defines:
        """Return what the kernel is told."""
        given, taken, _ = _REGISTERS[self.groups]
        counts = {"GROUPS": self.groups, "BC": self.columns, "STAGES": self.stages}
        return {**counts, "GIVEN": given, "TAKEN": taken}

    def forward_bytes(self, d: int, dv: int, query_stages: int = 1) -> int:
        """Return the bytes of local memory: queries, keys and values, and barriers."""
        step = self.columns * (_panels(d) + _panels(dv)) + 32
        return query_stages * self.rows * _panels(d) + self.stages * step + 64

    def backward_bytes(self, d: int, dv: int) -> int:
        """Return the bytes of local memory: both operands of the rows, and of the columns with their statistics."""
        pair = _panels(d) + _panels(dv)
        return self.rows * pair + self.stages * (self.columns * pair + 1024 + 16)

    def holds(self, registers: int, memory: int, most: int) -> bool:
        """Tell whether there are so many registers, and `memory` bytes of `most`."""
        return registers <= _REGISTERS[self.groups][2] and memory <= most


@dataclass(frozen=True)
class WgmmaTile:
    """The parts of a node: one, or in the backward direction those for queries and for keys."""

    parts: tuple[Part, ...]
    where = " on tensor cores, by warpgroups"

    @property
    def rows(self) -> int:
        """Rows of a work-group."""
        return self.parts[0].rows

    @property
    def columns(self) -> int:
        """Columns of a step."""
        return self.parts[0].columns


def _forward(d: int, dv: int, memory: int) -> Iterable[Part]:
    for groups, columns in ((3, 128), (2, 128), (2, 96), (2, 64)):
        part = Part(groups, columns, 2)
        if part.holds(columns * 3 // 4 + dv // 2, part.forward_bytes(d, dv), memory):
            yield part


def _backward(d: int, dv: int, keys: bool, memory: int) -> Iterable[Part]:
    sums = (d + dv) // 2 if keys else d // 2
    for columns, stages in ((128, 3), (128, 2), (96, 3), (96, 2), (64, 3), (64, 2)):
        part = Part(2, columns, stages)
        if part.holds(columns * (4 + keys) // 4 + sums, part.backward_bytes(d, dv), memory):
            yield part


def measured(operands: Operands) -> bool:
    """Tell whether a node is of the kinds that were run and compared with the kernels of `gpu_mma` on a GPU.

    Bands other than causal ones, and gradients with heads of 80, of 96 and of two lengths but 96 and 80, ran on the
    host's emulator alone.
    """
    n = operands.sizes
    others = ("BIAS", "BLOCK_MASK", "SINK_TOKEN", "DROPOUT_MASK")
    more = operands.draws or operands.ragged or operands.op["use_alibi_mask"] or any(map(operands.find, others))
    return n.d in _MEASURED and n.dv in _MEASURED and not more


def tiles(operands: Operands, info: DeviceInfo) -> list[WgmmaTile]:
    """Return the tiles that a device takes for a node, the one to prefer first."""
    n, memory = operands.sizes, dynamic_memory(info)
    if "wgmma" not in info.features or not gpu_mma.takes(operands, info) or not measured(operands):
        return []
    if n.d % 16 or n.d < _LENGTHS[0] or n.dv not in _LENGTHS or n.sq < _FEWEST_ROWS:
        return []
    if not operands.backward:
        by_rows: dict[int, Part] = {}
        for part in _forward(n.d, n.dv, memory):
            by_rows.setdefault(part.rows, part)

        def cost(part: Part) -> float:
            return ceil_div(n.sq, part.rows) * part.rows / _SPEEDS[part.groups]

        return [WgmmaTile((part,)) for part in sorted(by_rows.values(), key=cost)]
    if n.hk != n.hv or operands.find("DBIAS") or n.d not in _LENGTHS or max(n.d, n.dv) > _LONGEST_BACKWARD:
        return []
    parts = [next(iter(_backward(n.d, n.dv, keys, memory)), None) for keys in (False, True)]
    found = tuple(part for part in parts if part is not None)
    return [WgmmaTile(found)] if len(found) == len(parts) else []


class WgmmaBuilding(Building):
    """The launches of one attention, as far as both directions have them."""

    items = 128

    def __init__(self, operands: Operands, device: Device) -> None:
        super().__init__(operands, device)
        self.drawn()

    def of_part(
        self, part: Part, more: Defines, results: Iterable[str], groups: int, args: tuple[Arg, ...], memory: int
    ) -> None:
        """Append a launch of so many work-groups; `args` are those before ATTENTION, `results` what it writes."""
        op = self.operands
        which = "backward" if op.backward else "forward"
        alike = all(op.at(port).data_type is op.at("Q").data_type for port in results)
        more = {**more, "ALIKE": "true" if alike else "false"}
        defines: Defines = {**gpu_mma.element_defines(op), **part.defines(), **more}
        file, name = f"cuda/attention/{which}_wgmma.cu", f"attention_{which}_wgmma"
        self.launch(file, name, defines, groups, (*args, *self.common), part.items, memory)


class WgmmaForward(WgmmaBuilding):
    """The launches of the forward direction."""

    def __init__(self, operands: Operands, device: Device, tile: WgmmaTile) -> None:
        super().__init__(operands, device)
        op, n = operands, operands.sizes
        (part,) = tile.parts
        defines, args = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        tiles = n.b * n.hq * ceil_div(n.sq, part.rows)
        numbers = (int32(n.hk), int32(n.hv), int32(tiles), self.counter)
        args = (*op.placed("Q"), *op.placed("K"), *op.placed("V"), *args, *numbers)
        memory, most = part.forward_bytes(n.d, n.dv, 2), dynamic_memory(device.info)
        defines["QUERY_STAGES"] = 2 if memory <= most else 1
        memory = memory if memory <= most else part.forward_bytes(n.d, n.dv)
        self.of_part(part, defines, ("O",), self.groups(tiles), args, memory)

    def groups(self, tiles: int) -> int:
        """Return how many work-groups do so many tiles."""
        return min(tiles, max(self.device.info.compute_units, 1))


class WgmmaBackward(WgmmaBuilding):
    """The launches of the backward directions: of queries, of keys and values, and of the sink."""

    def __init__(self, operands: Operands, device: Device, tile: WgmmaTile) -> None:
        super().__init__(operands, device)
        op, n = operands, operands.sizes
        pitch = self.statistics()
        inputs: tuple[Arg, ...] = (*op.placed("Q"), *op.placed("K"), *op.placed("V"), *op.placed("DO"))
        inputs += (self.logs, self.dot)
        numbers = (int32(n.hk), int32(pitch))
        of_queries, of_keys = tile.parts
        tiles = n.b * n.hq * ceil_div(n.sq, of_queries.rows)
        args = (*inputs, *op.placed("DQ"), *numbers)
        memory = of_queries.backward_bytes(n.d, n.dv)
        self.of_part(of_queries, op.type_of("DQ_T", "DQ"), ("DQ",), tiles, args, memory)
        defines: Defines = {"KEYS": 1, **op.type_of("DK_T", "DK"), **op.type_of("DV_T", "DV")}
        args = (*inputs, *op.placed("DK"), *op.placed("DV"), *numbers)
        tiles = n.b * n.hk * ceil_div(n.skv, of_keys.rows)
        self.of_part(of_keys, defines, ("DK", "DV"), tiles, args, of_keys.backward_bytes(n.d, n.dv))
        self.of_sink()
