"""Attention's launches on CPUs: operands packed for register tiles, and tiles of scores that stay in a core's cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from portadnn.graph.enums import knob_type
from portadnn.graph.knobs import knob
from portadnn.graph.layout import row_major
from portadnn.graph.memory.ragged import OF_QUERIES
from portadnn.graph.ops.attention import is_cumulative, lengths_port

from ..base import Arg, Device, DeviceInfo, WorkspaceArg
from ..engines.conv.cpu.common import WORK_GROUPS_PER_CORE
from ..engines.conv.cpu.common import Tile as RegisterTile
from ..engines.rounding import ceil_div, round_up
from .building import Building
from .operands import NUMBERS, Defines, Operands, int32

_PACK_ROWS = 32
_PACK_FILE = "opencl/attention/pack_cpu.cl"
_FORWARD_FILE = "opencl/attention/forward_cpu.cl"
ROWS, COLUMNS = 48, 128  # of a tile of scores, about
_FEW = 8  # queries that share keys: packing these in panels does not pay


def in_place(op: Operands, port: str) -> bool:
    """Tell whether a tensor is one row after the other of what is computed in, as packing would leave it."""
    info = op.at(port)
    if op.fp8 or op.ragged or info.virtual or port in op.gathered or info.data_type.problem_type is not op.real:
        return False
    plain = lengths_port(op.op.uids, "Q" if port in OF_QUERIES else "KV") is None and op.find(f"DESCALE_{port}") is None
    wanted = row_major(info.dims)
    return plain and all(d == 1 or s == t for d, s, t in zip(info.dims, info.strides, wanted, strict=True))


def plain_panels(op: Operands, info: DeviceInfo) -> bool:
    """Tell whether rows stay rows for products of queries and keys: queries are few, and rows are whole vectors."""
    n, lanes = op.sizes, RegisterTile.of(op.real, info, 1).lanes
    few = n.sq * n.hq <= _FEW * min(n.hk, n.hv)
    ports = ("Q", "K", "V", "DO") if op.backward else ("K", "V")
    return few and n.d % lanes == n.dv % lanes == 0 and all(in_place(op, port) for port in ports)


def _length_defines(op: Operands, port: str) -> Defines:
    """Return what the kernels that pack are told of lengths of sequences."""
    found: Defines = {**op.type_of("LENGTH_T", port), "LENGTH_STEP": op.at(port).strides[0]}
    return {**found, "LENGTH_SUMMED": 1} if is_cumulative(port) else found


@dataclass(frozen=True)
class Tile:
    """A tile of scores, and the register tiles that it is made of: its rows and columns are multiples of theirs."""

    register: RegisterTile
    rows: int
    columns: int

    @classmethod
    def of(cls, operands: Operands, info: DeviceInfo, knobs: Mapping[knob_type, int], *, of_keys: bool = False) -> Tile:
        """Choose the tile whose rows are of queries, or of keys; products are as wide as scores and as operands."""
        n = operands.sizes
        lines, across = (n.skv, n.sq) if of_keys else (n.sq, n.skv)
        full, plain = RegisterTile.of(operands.real, info, lines), plain_panels(operands, info)

        def cost(vectors: int) -> float:  # of a row: multiplications, and loads of what each is multiplied by
            widths = (n.d, n.dv) if plain else (n.d, n.dv, min(n.sq, n.skv, COLUMNS))
            return sum(round_up(width, vectors * full.lanes) for width in widths) * (1 + 0.3 / vectors)

        register = replace(full, vectors=min(range(full.vectors, 0, -1), key=cost))
        rows = knobs.get(knob_type.TILE_ROWS, ROWS) // register.rows * register.rows
        columns = knobs.get(knob_type.TILE_COLS, COLUMNS) // register.columns * register.columns
        return cls(
            register,
            min(max(rows, register.rows), round_up(lines, register.rows)),
            min(max(columns, register.columns), round_up(across, register.columns)),
        )

    def defines(self) -> Defines:
        """Return the sizes as the kernels know them."""
        return {**self.register.defines(), "TILE_ROWS": self.rows, "TILE_COLS": self.columns}


def knobs_of(operands: Operands, info: DeviceInfo) -> tuple[knob, ...]:
    """Return what can be set: rows and columns of a tile of scores, as far as there are as many."""
    tile, n = Tile.of(operands, info, {}), operands.sizes
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


@dataclass(frozen=True)
class Packed:
    """A tensor as rows or panels: `padded` rows of a head, `pitch` elements from one to the next."""

    memory: Arg
    heads: int
    length: int
    padded: int
    pitch: int


class CpuBuilding(Building):
    """The launches of one attention, as far as both directions have them."""

    def __init__(self, operands: Operands, device: Device, knobs: Mapping[knob_type, int]) -> None:
        super().__init__(operands, device)
        self.groups = device.info.compute_units * WORK_GROUPS_PER_CORE
        self.tile = Tile.of(operands, device.info, knobs)
        self.plain: Defines = {"PLAIN_PANELS": 1} if plain_panels(operands, device.info) else {}
        self.drawn()

    def rows(self, port: str, multiple: int, *, wide: bool = True) -> Packed:
        """Pack rows, as many as fill `multiple`; `wide` ones are read by whole register tiles.

        What is in this form already is read where it lies.
        """
        *_, s, length = self.operands.dims(port)
        pitch = round_up(length, self.tile.register.columns) if wide else length
        if (self.plain or s % multiple == 0) and pitch == length and in_place(self.operands, port):
            return self._plain(port)
        return self._pack(port, multiple, pitch, {"PACK_ROWS": _PACK_ROWS})

    def panels(self, port: str) -> Packed:
        """Pack panels of the register tile's columns."""
        if self.plain:
            return self._plain(port)
        return self._pack(port, self.tile.register.columns, self.operands.dims(port)[3], {})

    def _plain(self, port: str) -> Packed:
        _, h, s, length = self.operands.dims(port)
        return Packed(self.operands.tensor(port), h, length, s, length)

    def _pack(self, port: str, multiple: int, pitch: int, form: Defines) -> Packed:
        op, real = self.operands, self.real
        b, h, s, length = op.dims(port)
        padded = round_up(s, multiple)
        packed = Packed(self.workspace.take(b * h * padded * pitch, real), h, length, padded, pitch)
        lengths = lengths_port(op.op.uids, "Q" if port in OF_QUERIES else "KV")
        args: tuple[Arg, ...] = (*op.placed(port), packed.memory, self.numbers)
        args += tuple(int32(v) for v in (h, s, length, padded, pitch))
        if op.ragged:
            args += (self.table,)
        elif lengths is not None:
            args += (op.tensor(lengths),)
        defines: Defines = {
            f"DTYPE_{real.name}": 1,
            "VW": self.tile.register.lanes,
            "NV": self.tile.register.vectors,
            **form,
            **op.type_of("X_T", port),
            **op.places({port: "x"}),
            **({} if lengths is None else _length_defines(op, lengths)),
            "SIDE": int(port not in OF_QUERIES),
            "FACTOR": NUMBERS.index(f"DESCALE_{port}"),
        }
        groups = b * h * ceil_div(padded, _PACK_ROWS if form else multiple)
        self.launch(_PACK_FILE, "attention_pack_rows" if form else "attention_pack_panels", defines, groups, args)
        return packed

    def scratch(self, numbers: int) -> WorkspaceArg:
        """Return so many numbers of scratch memory for each work-group."""
        return self.workspace.take(self.groups * numbers, self.real)


class CpuForward(CpuBuilding):
    """The launches of the forward direction."""

    def __init__(self, operands: Operands, device: Device, knobs: Mapping[knob_type, int]) -> None:
        super().__init__(operands, device, knobs)
        op, tile, n = operands, self.tile, operands.sizes
        q = self.rows("Q", tile.register.rows, wide=False)
        k, v = self.panels("K"), self.rows("V", 1)
        tiles = n.b * n.hq * ceil_div(n.sq, tile.rows)
        defines, args = self.outputs({"O_T": "O", "STATS_T": "STATS", "MAX_T": "MAX", "SUM_T": "SUM_EXP"})
        most: tuple[WorkspaceArg, ...] = ()
        if op.fp8:
            defines.update(op.type_of("S_T", "Q"))
            most = (self.workspace.take(tiles, self.real), self.workspace.take(tiles, self.real))
        scratch = self.scratch(tile.rows * (tile.columns + v.pitch))
        numbers = (tiles, k.heads, v.heads, k.length, q.pitch, v.pitch, v.length, q.padded, k.padded, v.padded)
        operand_args = (*(one.memory for one in (q, k, v)), *args, *most, scratch, self.counter)
        defines.update({**op.defines(), **tile.defines(), **self.plain})
        args = (*operand_args, *map(int32, numbers), *self.common)
        self.launch(_FORWARD_FILE, "attention_forward", defines, min(self.groups, tiles), args)
        for port, found in zip(("AMAX_S", "AMAX_O"), most, strict=False):
            self.largest(port, found, tiles)
