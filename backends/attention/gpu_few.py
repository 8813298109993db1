"""Attention of few queries on tensor cores: what heads share is read once, and the keys are cut in slices."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.enums import DataType

from ..base import Arg, Device, DeviceInfo
from ..engines.conv.tensor_core_tiles import dynamic_memory
from ..engines.rounding import ceil_div, round_up
from . import gpu_mma
from .building import Building
from .operands import PAGE_TABLES, Defines, Operands, int32, int64

_FILE = "cuda/attention/few_mma.cu"
_WARPS = 4
_RESERVED = 1024  # bytes of local memory that each work-group takes besides
_MOST_SLICES = 64
# What a work-group, a second launch, and each slice of that cost, in steps of keys
_START, _JOIN, _EACH = 3, 4, 0.3


@dataclass(frozen=True)
class FewTile:
    """All queries of the heads that share keys: at most so many rows."""

    rows: int
    columns: int = 16 * _WARPS
    where = " on tensor cores, keys read once"

    def local_bytes(self, operands: Operands, stages: int) -> int:
        """Return the bytes of local memory: queries and some steps of keys and values, or what is joined at last."""
        n = operands.sizes
        keys = gpu_mma.pitch(n.d) + gpu_mma.pitch(n.dv)
        joined = _WARPS * self.rows * (4 * round_up(n.dv, 16) + 8)
        return max(self.rows * gpu_mma.pitch(n.d) + stages * self.columns * keys, joined)

    def blocks(self, operands: Operands) -> int:
        """Return the work-groups that a multiprocessor has registers for."""
        n = operands.sizes
        return 4 if self.rows * max(n.d, n.dv) <= 16 * 64 else 2

    def settled(self, operands: Operands, info: DeviceInfo) -> tuple[int, int] | None:
        """Return the steps in local memory, and the work-groups of a multiprocessor; None where it is too small."""
        most = dynamic_memory(info)
        options = [(stages, blocks) for blocks in (self.blocks(operands), 2, 1) for stages in (3, 2)]
        fits = ((s, b) for s, b in options if b * (self.local_bytes(operands, s) + _RESERVED) <= most + _RESERVED)
        return next(fits, None)


def shared_by(operands: Operands) -> int:
    """Return how many heads of queries share a head of keys."""
    return operands.sizes.hq // operands.sizes.hk


def tiles(operands: Operands, info: DeviceInfo) -> list[FewTile]:
    """Return the tile that a device takes for a node, or none."""
    n = operands.sizes
    if operands.backward or n.hk != n.hv or not gpu_mma.takes(operands, info):
        return []
    rows = round_up(shared_by(operands) * n.sq, 16)
    tile = FewTile(rows)
    fits = rows <= 32 and rows * max(n.d, n.dv) <= 32 * 128
    return [tile] if fits and tile.settled(operands, info) else []


def slices_of(groups: int, steps: int, slots: int) -> int:
    """Return in how many slices to cut so many steps of keys.

    Parameters
    ----------
    groups
        Heads of keys, of all sequences.
    slots
        Work-groups that the device runs at a time.
    """

    def cost(slices: int) -> float:
        waves = ceil_div(groups * slices, slots)
        return waves * (ceil_div(steps, slices) + _START) + (_JOIN + _EACH * slices if slices > 1 else 0)

    return min(range(1, max(min(steps, _MOST_SLICES), 1) + 1), key=cost)


class FewForward(Building):
    """The launches of the forward direction."""

    items = 128

    def __init__(self, operands: Operands, device: Device, tile: FewTile) -> None:
        super().__init__(operands, device)
        self.drawn()
        op, n = operands, operands.sizes
        settled = tile.settled(op, device.info)
        assert settled is not None
        stages, blocks = settled
        groups, share = n.b * n.hk, shared_by(op)
        slices = slices_of(groups, ceil_div(n.skv, tile.columns), blocks * device.info.compute_units)
        named, outputs = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        pages, tables = self.tables()
        defines: Defines = {
            **gpu_mma.element_defines(op),
            **named,
            **pages,
            "SHARE": share,
            "WARPS": _WARPS,
            "STEPS": tile.rows // 16,
            "BC": tile.columns,
            "STAGES": stages,
            "SLICES": slices,
            "BLOCKS": blocks,
        }
        parts: tuple[Arg, ...] = ()
        if slices > 1:
            count = slices * groups * tile.rows
            parts = (self.workspace.take(count * n.dv, DataType.FLOAT), self.workspace.take(2 * count, DataType.FLOAT))
        inputs = (*op.placed("Q"), *op.as_given("K"), *op.as_given("V"))
        args, items = (*inputs, *(parts or outputs), *self.common, *tables), 32 * _WARPS
        self.launch(_FILE, "attention_few_mma", defines, groups * slices, args, items, tile.local_bytes(op, stages))
        if parts:
            rows = groups * share * n.sq
            self.launch(_FILE, "attention_few_join", defines, rows, (*parts, *outputs, *self.common), items)

    def gather(self) -> None:
        """Append nothing: keys and values are read where their pages lie."""

    def tables(self) -> tuple[Defines, tuple[Arg, ...]]:
        """Return the types and the arguments of tables of pages."""
        op = self.operands
        defines: Defines = {}
        args: tuple[Arg, ...] = ()
        for port, table in PAGE_TABLES.items():
            if op.find(table):
                defines.update(op.type_of(f"PAGES_{port}_T", table))
                strides = op.at(table).strides
                args += (op.tensor(table), int64(strides[0]), int64(strides[2]), int32(op.at(port).dims[2]))
        return defines, args
