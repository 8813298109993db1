"""Attention's launches on GPUs: tiles of scores in registers and local memory."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.graph.enums import knob_type
from portadnn.graph.knobs import Knobs, knob

from ..base import Arg, Device, DeviceInfo, WorkspaceArg
from ..engines.rounding import ceil_div
from . import gpu_few, gpu_matrix, gpu_mma, gpu_wgmma
from .building import Building
from .gpu_few import FewForward, FewTile
from .gpu_matrix import MatrixBackward, MatrixForward, MatrixTile
from .gpu_mma import MmaBackward, MmaForward, MmaTile
from .gpu_wgmma import WgmmaBackward, WgmmaForward, WgmmaTile
from .operands import Defines, Operands, int32

_FORWARD_FILE = "shared/attention/forward.cl"
_BACKWARD_FILE = "shared/attention/backward.cl"


@dataclass(frozen=True)
class Tile:
    """Work-items along columns and rows of scores, and the rows and columns of each (TX, TY, RM, CN)."""

    tx: int
    ty: int
    rm: int
    cn: int
    where = ""

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

    def numbers(self, operands: Operands) -> int:
        """Return the numbers in local memory."""
        n = operands.sizes
        others = self.columns * (max(n.d, n.dv) + 1) + self.rows * (self.columns + 1)
        if operands.backward:
            return self.rows * (n.d + n.dv + 2) + others
        return self.rows * (n.d + 1) + others + self.rows * self.tx

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

AnyTile = Tile | MmaTile | WgmmaTile | FewTile | MatrixTile


def tiles(operands: Operands, info: DeviceInfo) -> list[AnyTile]:
    """Return the tiles that a device takes, the largest first: on tensor cores, then those that local memory holds."""
    size = operands.real.itemsize
    fitting = [
        tile
        for tile in TILES[1 if operands.backward else 0 :]  # two tiles of scores take as many registers as a larger one
        if tile.items <= info.max_work_group and tile.numbers(operands) * size <= info.local_memory
    ]
    on_nvidia: list[AnyTile] = [*gpu_few.tiles(operands, info), *gpu_wgmma.tiles(operands, info)]
    return [*on_nvidia, *gpu_mma.tiles(operands, info), *gpu_matrix.tiles(operands, info), *fitting]


def chosen(operands: Operands, info: DeviceInfo, knobs: Knobs) -> AnyTile:
    """Return the tile that the knobs say, or the largest of the first kind that has not many rows too much."""
    found = tiles(operands, info)
    if knob_type.TILE_SIZE in knobs:
        return found[knobs[knob_type.TILE_SIZE]]
    alike = [tile for tile in found if type(tile) is type(found[0])]
    return next((tile for tile in alike if tile.rows < 2 * operands.sizes.sq), alike[-1])


def knobs_of(operands: Operands, info: DeviceInfo) -> tuple[knob, ...]:
    """Return what can be set."""
    found = tiles(operands, info)
    says = ", ".join(f"{i} {tile.rows} x {tile.columns}{tile.where}" for i, tile in enumerate(found))
    return (knob(knob_type.TILE_SIZE, len(found) - 1, says=says),) if len(found) > 1 else ()


def built(operands: Operands, device: Device, knobs: Knobs) -> Building:
    """Return the launches for a node."""
    tile = chosen(operands, device.info, knobs)
    if isinstance(tile, FewTile):
        return FewForward(operands, device, tile)
    if isinstance(tile, WgmmaTile):
        return (WgmmaBackward if operands.backward else WgmmaForward)(operands, device, tile)
    if isinstance(tile, MatrixTile):
        return (MatrixBackward if operands.backward else MatrixForward)(operands, device, tile)
    if isinstance(tile, MmaTile):
        return (MmaBackward if operands.backward else MmaForward)(operands, device, tile)
    return (GpuBackward if operands.backward else GpuForward)(operands, device, tile)


class GpuBuilding(Building):
    """The launches of one attention, as far as both directions have them."""

    items = 128

    def __init__(self, operands: Operands, device: Device, tile: Tile) -> None:
        super().__init__(operands, device)
        self.tile = tile
        self.drawn()

    def of_tiles(self, file: str, name: str, more: Defines, tiles: int, args: tuple[Arg, ...]) -> None:
        """Append a launch with a work-group for each tile; `args` are those before ATTENTION."""
        op, n = self.operands, self.operands.sizes
        defines: Defines = {**op.defines(), **self.tile.defines(), "D": n.d, "DV": n.dv, **more}
        if op.fp8:
            defines.update(op.type_of("S_T", "Q"))
        self.launch(file, name, defines, tiles, (*args, *self.common), self.tile.items)

    def most(self, tiles: int) -> WorkspaceArg:
        """Return memory for the largest number of each tile."""
        return self.workspace.take(tiles, self.real)


class GpuForward(GpuBuilding):
    """The launches of the forward direction."""

    def __init__(self, operands: Operands, device: Device, tile: Tile) -> None:
        super().__init__(operands, device, tile)
        op, n = operands, operands.sizes
        tiles = n.b * n.hq * ceil_div(n.sq, self.tile.rows)
        ports = {**{f"{port}_T": port for port in "QKVO"}, "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"}
        defines, args = self.outputs(ports)
        most = (self.most(tiles), self.most(tiles)) if op.fp8 else ()
        args = (*args, *most, int32(n.hk), int32(n.hv))
        self.of_tiles(_FORWARD_FILE, "attention_forward", defines, tiles, args)
        for port, found in zip(("AMAX_S", "AMAX_O"), most, strict=False):
            self.largest(port, found, tiles)


class GpuBackward(GpuBuilding):
    """The launches of the backward directions: of queries, then of keys and values, and of bias and sink."""

    def __init__(self, operands: Operands, device: Device, tile: Tile) -> None:
        super().__init__(operands, device, tile)
        n = operands.sizes
        pitch = self.statistics()
        ports = {"Q_T": "Q", "K_T": "K", "V_T": "V", "DO_T": "DO"}
        self.types, tensors = self.outputs(ports)
        self.inputs = (*tensors, self.logs, self.dot, int32(n.hk), int32(n.hv), int32(pitch))
        self.of_queries()
        if n.hk == n.hv:
            self.of_keys(("K", "V"), n.hk)
        else:
            self.of_keys(("K",), n.hk)
            self.of_keys(("V",), n.hv)
        if operands.find("DBIAS"):
            self.of_bias()
        self.of_sink()

    def of_queries(self) -> None:
        """Append the gradient to queries."""
        op, n = self.operands, self.operands.sizes
        tiles = n.b * n.hq * ceil_div(n.sq, self.tile.rows)
        most_ds, most_dq = self.most(tiles), self.most(tiles)
        defines, args = {**self.types, **op.type_of("DQ_T", "DQ")}, (*self.inputs, *op.placed("DQ"), most_ds, most_dq)
        self.of_tiles(_BACKWARD_FILE, "attention_dq", defines, tiles, args)
        self.largest("AMAX_DP", most_ds, tiles)
        self.largest("AMAX_DQ", most_dq, tiles)

    def of_keys(self, which: tuple[str, ...], heads: int) -> None:
        """Append the gradients to keys, values or both."""
        n = self.operands.sizes
        tiles = n.b * heads * ceil_div(n.skv, self.tile.rows)
        most = {"K": self.most(tiles), "V": self.most(tiles)}
        defines, outputs = self.outputs({f"D{port}_T": f"D{port}" for port in which})
        args = (*self.inputs, *outputs, most["K"], most["V"], int32(heads))
        self.of_tiles(_BACKWARD_FILE, "attention_dkv", {**self.types, **defines}, tiles, args)
        for port in which:
            self.largest(f"AMAX_D{port}", most[port], tiles)

    def of_bias(self) -> None:
        """Append the gradient to the bias."""
        op, n = self.operands, self.operands.sizes
        b, h, rows, columns = dims = op.at("DBIAS").dims
        tiles = b * h * ceil_div(rows, self.tile.rows) * ceil_div(columns, self.tile.columns)
        args = (*self.inputs, *op.placed("DBIAS"), *map(int32, (n.b, *dims)))
        self.of_tiles(_BACKWARD_FILE, "attention_dbias", {**self.types, **op.type_of("DBIAS_T", "DBIAS")}, tiles, args)
