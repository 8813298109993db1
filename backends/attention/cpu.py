"""Attention's launches on CPUs: operands packed for register tiles, and tiles of scores that stay in a core's cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from portadnn.enums import DataType
from portadnn.graph.enums import knob_type
from portadnn.graph.knobs import knob

from ..base import Arg, Device, DeviceInfo, WorkspaceArg
from ..engines.conv_cpu_common import WORK_GROUPS_PER_CORE, ceil_div, round_up
from ..engines.conv_cpu_common import Tile as RegisterTile
from .building import Building
from .operands import NUMBERS, Defines, Operands, int32

_PACK_ROWS = 32
_PACK_FILE = "opencl/attention_pack_cpu.cl"
_FORWARD_FILE = "opencl/attention_cpu.cl"
ROWS, COLUMNS = 48, 128  # of a tile of scores, about


@dataclass(frozen=True)
class Tile:
    """A tile of scores, and the register tiles that it is made of: its rows and columns are multiples of theirs."""

    register: RegisterTile
    rows: int
    columns: int

    @classmethod
    def of(cls, real: DataType, info: DeviceInfo, lines: int, across: int, widths: tuple[int, ...]) -> Tile:
        """Choose for `lines` rows and `across` columns of scores, and products of these widths."""
        full = RegisterTile.of(real, info, lines)

        def cost(vectors: int) -> float:  # of a row: multiplications, and loads of what each is multiplied by
            return sum(round_up(width, vectors * full.lanes) for width in widths) * (1 + 0.3 / vectors)

        register = replace(full, vectors=min(range(full.vectors, 0, -1), key=cost))
        return cls(register, _fit(ROWS, lines, register.rows), _fit(COLUMNS, across, register.columns))

    def turned(self, knobs: Mapping[knob_type, int]) -> Tile:
        """Return the tile with the knobs' sizes."""
        rows, columns = knobs.get(knob_type.TILE_ROWS, self.rows), knobs.get(knob_type.TILE_COLS, self.columns)
        return replace(self, rows=rows, columns=columns)

    def defines(self) -> Defines:
        """Return the sizes as the kernels know them."""
        return {**self.register.defines(), "TILE_ROWS": self.rows, "TILE_COLS": self.columns}


def _fit(wanted: int, there: int, unit: int) -> int:
    """Return a multiple of `unit` of about what is wanted, that is not much more than there is."""
    return min(max(wanted // unit, 1), ceil_div(there, unit)) * unit


@dataclass(frozen=True)
class Packed:
    """A tensor as rows or panels in the workspace: `padded` rows of a head, `pitch` elements from one to the next."""

    memory: WorkspaceArg
    heads: int
    length: int
    padded: int
    pitch: int


class CpuBuilding(Building):
    """The launches of one attention."""

    def __init__(self, operands: Operands, device: Device, knobs: Mapping[knob_type, int]) -> None:
        super().__init__(operands, device)
        self.groups = device.info.compute_units * WORK_GROUPS_PER_CORE
        self.tile = forward_tile(operands, device.info).turned(knobs)
        self.drawn()
        self.forward()

    # packing

    def rows(self, port: str, multiple: int, wide: bool = True) -> Packed:
        """Pack rows, as many as fill `multiple`; `wide` ones are read by whole register tiles."""
        length = self.operands.at(port).dims[3]
        pitch = round_up(length, self.tile.register.columns) if wide else length
        return self._pack(port, multiple, pitch, {"PACK_ROWS": _PACK_ROWS})

    def panels(self, port: str) -> Packed:
        """Pack panels of the register tile's columns."""
        return self._pack(port, self.tile.register.columns, self.operands.at(port).dims[3], {})

    def _pack(self, port: str, multiple: int, pitch: int, form: Defines) -> Packed:
        op, real = self.operands, self.real
        b, h, s, length = op.at(port).dims
        padded = round_up(s, multiple)
        packed = Packed(self.workspace.take(b * h * padded * pitch, real), h, length, padded, pitch)
        lengths = "SEQ_LEN_KV" if port in "KV" else "SEQ_LEN_Q"
        args: tuple[Arg, ...] = (*op.placed(port), packed.memory, self.numbers)
        args += tuple(int32(v) for v in (h, s, length, padded, pitch))
        if op.find(lengths):
            args += (op.tensor(lengths),)
        defines: Defines = {
            f"DTYPE_{real.name}": 1,
            **self.tile.register.defines(),
            **form,
            **op.type_of("X_T", port),
            **op.type_of("LENGTH_T", lengths),
            "FACTOR": NUMBERS.index(f"DESCALE_{port}"),
        }
        groups = b * h * ceil_div(padded, _PACK_ROWS if form else multiple)
        self.launch(_PACK_FILE, "attention_pack_rows" if form else "attention_pack_panels", defines, groups, args)
        return packed

    # forward

    def forward(self) -> None:
        """Append the launches of the forward direction."""
        op, tile, n = self.operands, self.tile, self.operands.sizes
        q = self.rows("Q", tile.register.rows, wide=False)
        k, v = self.panels("K"), self.rows("V", 1)
        tiles = n.b * n.hq * ceil_div(n.sq, tile.rows)
        defines, args = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        most: tuple[WorkspaceArg, ...] = ()
        if op.fp8:
            defines.update(op.type_of("S_T", "Q"))
            most = (self.workspace.take(tiles, self.real), self.workspace.take(tiles, self.real))
        scratch = self.workspace.take(self.groups * tile.rows * (tile.columns + v.pitch), self.real)
        numbers = (tiles, k.heads, v.heads, k.length, q.pitch, v.pitch, v.length, q.padded, k.padded, v.padded)
        self.launch(
            _FORWARD_FILE,
            "attention_forward",
            {**op.defines(), **tile.defines(), **defines},
            min(self.groups, tiles),
            (
                *(one.memory for one in (q, k, v)),
                *args,
                *most,
                scratch,
                self.counter,
                *map(int32, numbers),
                *self.common,
            ),
        )
        for port, found in zip(("AMAX_S", "AMAX_O"), most, strict=False):
            self.largest(port, found, tiles)


def forward_tile(operands: Operands, info: DeviceInfo) -> Tile:
    """Return the tile of the forward direction, without knobs."""
    n = operands.sizes
    return Tile.of(operands.real, info, n.sq, n.skv, (n.skv, n.dv))


def knobs(operands: Operands, info: DeviceInfo) -> tuple[knob, ...]:
    """Return what can be set: rows and columns of a tile of scores, as far as there are as many."""
    tile, n = forward_tile(operands, info), operands.sizes
    found = []
    for kind, unit, wanted, there in (
        (knob_type.TILE_ROWS, tile.register.rows, ROWS, n.sq),
        (knob_type.TILE_COLS, tile.register.columns, COLUMNS, n.skv),
    ):
        step = max(wanted // 2 // unit, 1) * unit
        most = min(4, there // step) * step
        if most > step:
            found.append(knob(kind, most, step, step, says="of a tile of scores"))
    return tuple(found)
