"""Attention's launches on GPUs: tiles of scores in registers and local memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from portadnn.graph.enums import knob_type
from portadnn.graph.knobs import knob

from ..base import Device, DeviceInfo, WorkspaceArg
from .building import Building
from .operands import Defines, Operands, int32

_FORWARD_FILE = "shared/attention.cl"


@dataclass(frozen=True)
class Tile:
    """Work-items along columns and rows of scores, and the rows and columns of each (TX, TY, RM, CN)."""

    tx: int
    ty: int
    rm: int
    cn: int

    @property
    def rows(self) -> int:
        """Rows of the tile."""
        return self.ty * self.rm

    @property
    def columns(self) -> int:
        """Columns of the tile."""
        return self.tx * self.cn

    @property
    def items(self) -> int:
        """Work-items."""
        return self.tx * self.ty

    def forward_numbers(self, d: int, dv: int) -> int:
        """Return the numbers in local memory of the forward kernel."""
        product = self.rows * (d + 1) + self.columns * (max(d, dv) + 1)
        return product + self.rows * (self.columns + 1) + self.rows * self.tx

    def defines(self) -> Defines:
        """Return the sizes as the kernels know them."""
        return {"TX": self.tx, "TY": self.ty, "RM": self.rm, "CN": self.cn}


TILES = (
    Tile(16, 8, 8, 2),
    Tile(16, 8, 4, 2),
    Tile(16, 8, 2, 2),
    Tile(16, 8, 2, 1),
    Tile(16, 8, 1, 1),
    Tile(8, 8, 1, 1),
)


def tiles(operands: Operands, info: DeviceInfo) -> list[Tile]:
    """Return the tiles that a device's local memory holds, the largest first."""
    n, size = operands.sizes, operands.real.itemsize
    return [
        tile
        for tile in TILES
        if tile.items <= info.max_work_group and tile.forward_numbers(n.d, n.dv) * size <= info.local_memory
    ]


def choice(operands: Operands, info: DeviceInfo) -> int:
    """Return the number of the tile that suits: the largest one that has not much more rows than there are."""
    found = tiles(operands, info)
    fitting = (i for i, tile in enumerate(found) if tile.rows < 2 * operands.sizes.sq)
    return next(fitting, len(found) - 1)


def knobs(operands: Operands, info: DeviceInfo) -> tuple[knob, ...]:
    """Return what can be set."""
    found = tiles(operands, info)
    says = ", ".join(f"{i} {tile.rows} x {tile.columns}" for i, tile in enumerate(found))
    return (knob(knob_type.TILE_SIZE, len(found) - 1, says=says),) if len(found) > 1 else ()


class GpuBuilding(Building):
    """The launches of one attention."""

    items = 128

    def __init__(self, operands: Operands, device: Device, knobs: Mapping[knob_type, int]) -> None:
        super().__init__(operands, device)
        self.knobs = knobs
        self.drawn()
        self.forward()

    def forward(self) -> None:
        """Append the launches of the forward direction."""
        op, n = self.operands, self.operands.sizes
        number = self.knobs.get(knob_type.TILE_SIZE, choice(op, self.device.info))
        tile = tiles(op, self.device.info)[number]
        groups = n.b * n.hq * -(-n.sq // tile.rows)
        defines, args = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        most: tuple[WorkspaceArg, ...] = ()
        if op.fp8:
            defines.update(op.type_of("S_T", "Q"))
            most = (self.workspace.take(groups, self.real), self.workspace.take(groups, self.real))
        inputs, places = self.outputs({f"{port}_T": port for port in "QKV"})
        defines.update({**op.defines(), **inputs, **tile.defines(), "D": n.d, "DV": n.dv})
        args = (*places, *args, *most, int32(n.hk), int32(n.hv), *self.common)
        self.launch(_FORWARD_FILE, "attention_forward", defines, groups, args, tile.items)
        for port, found in zip(("AMAX_S", "AMAX_O"), most, strict=False):
            self.largest(port, found, groups)
