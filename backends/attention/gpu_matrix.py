"""Attention on AMD's matrix cores: which nodes take it, and its launches."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.graph.data_types import data_type

from ..base import Device, DeviceInfo
from ..engines.conv.matrix_units import MMA, Unit, unit_of
from ..engines.rounding import ceil_div, round_up
from .building import Building
from .gpu_mma import element_defines
from .operands import Defines, Operands, int32

_LONGEST = 128  # numbers of a row: more sums do not fit registers
_TYPES = (data_type.HALF, data_type.BFLOAT16)
_HALVED = 192  # numbers of both rows, of which gfx11 keeps halves of operands beyond that
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

    def local_bytes(self, operands: Operands) -> int:
        """Return the bytes of local memory: rows as they are and turned over, each with a chunk of padding."""
        n = operands.sizes
        d, dv = (round_up(length, self.unit.fragment) for length in (n.d, n.dv))
        if operands.backward:  # both of each operand, and the statistics of queries
            return (
                2 * sum(self.columns * (one + _CHUNK) + one * (self.columns + _CHUNK) for one in (d, dv))
                + 8 * self.columns
            )
        keys = self.columns * (round_up(n.d, 16) + _CHUNK)
        return 2 * (keys + dv * (self.columns + _CHUNK))

    def defines(self, operands: Operands) -> Defines:
        """Return what the kernel is told."""
        n, unit = operands.sizes, self.unit
        found = {"WAVES": self.items // unit.wave, "WAVE": unit.wave, "FRAG": unit.fragment, "BC": self.columns}
        neighbours = all(
            operands.at(port).strides[3] == 1 for port in _ports(operands) if port not in operands.gathered
        )
        chunks = neighbours and n.d % _CHUNK == n.dv % _CHUNK == 0
        return {**element_defines(operands), **found, **({"IN_CHUNKS": 1} if chunks else {})}


def tiles(operands: Operands, info: DeviceInfo) -> list[MatrixTile]:
    """Return the tiles that a device takes for a node, the one to prefer first."""
    unit, n = unit_of(info), operands.sizes
    types = {operands.at(port).data_type for port in _ports(operands)}
    if unit is None or unit is MMA or unit.ptx or len(types) > 1 or not types <= set(_TYPES):
        return []
    if operands.backward and (n.hk != n.hv or operands.find("DBIAS") or _is_crowded(operands, unit)):
        return []
    if operands.real.itemsize > 4 or max(n.d, n.dv) > _LONGEST:
        return []
    columns = _columns_backward(operands, unit) if operands.backward else _columns(operands, unit)
    found = (MatrixTile(rows, unit, columns) for rows in (128, 64))
    return [
        tile for tile in found if tile.items <= info.max_work_group and tile.local_bytes(operands) <= info.local_memory
    ]


def _is_crowded(operands: Operands, unit: Unit) -> bool:
    """Tell whether registers of waves of 32 lanes hold no place for what gradients add or draw."""
    more = _adds(operands) or operands.draws or operands.find("DROPOUT_MASK")
    return unit.fragment == 16 and bool(more) and operands.sizes.d + operands.sizes.dv > _LONGEST


def _ports(operands: Operands) -> tuple[str, ...]:
    """Return the ports of what is multiplied."""
    return ("Q", "K", "V", *(["DO"] if operands.backward else []))


def _columns(operands: Operands, unit: Unit) -> int:
    """Return the columns of a step, whose scores are to fit registers beside what is added to them."""
    if max(operands.sizes.d, operands.sizes.dv) <= 64:
        return 64
    return 16 if _adds(operands) and unit.fragment == 16 else 32


def _adds(operands: Operands) -> bool:
    """Tell whether something is added to scores."""
    return operands.find("BIAS") is not None or bool(operands.op["use_alibi_mask"])


def _columns_backward(operands: Operands, unit: Unit) -> int:
    """Return the rows of a step of the others: as many as a wave of 32 lanes has registers for, by compiler."""
    n = operands.sizes
    if unit.fragment == 32:
        return 64 if max(n.d, n.dv) <= 64 else 32
    more = _adds(operands) or operands.draws or operands.find("DROPOUT_MASK")
    if more or _HALVED < n.d + n.dv < 2 * _LONGEST:
        return 16
    return 64 if max(n.d, n.dv) <= 64 else 32


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


class MatrixBackward(Building):
    """The launches of the backward directions: of queries, of keys and values, and of the sink."""

    items = 128

    def __init__(self, operands: Operands, device: Device, tile: MatrixTile) -> None:
        super().__init__(operands, device)
        self.tile = tile
        self.drawn()
        self.pitch = self.statistics()
        n = operands.sizes
        self.of_rows(("DQ",), n.hq * ceil_div(n.sq, tile.rows))
        keys = n.hk * ceil_div(n.skv, tile.rows)
        if tile.unit.fragment == 32 or n.d + n.dv <= _LONGEST:
            self.of_rows(("DK", "DV"), keys)
        else:  # registers do not hold the sums of both
            self.of_rows(("DK",), keys)
            self.of_rows(("DV",), keys)
        self.of_sink()

    def of_rows(self, ports: tuple[str, ...], tiles: int) -> None:
        """Append a launch for gradients, with so many work-groups for each sequence."""
        op, n = self.operands, self.operands.sizes
        types, outputs = self.outputs({f"{port}_T": port for port in ports})
        inputs = (arg for port in _ports(op) for arg in op.placed(port))
        args = (*inputs, self.logs, self.dot, *outputs, int32(n.hk), int32(self.pitch), *self.common)
        scored, adds = ports != ("DV",), _adds(op)
        defines = {**self.tile.defines(op), **types, "SCORED": int(scored), "WEIGHED": int("DV" in ports)}
        defines |= {"ADDS": int(adds), "ALL_COUNT": int(not adds and not op.masked)}
        defines["HALVED"] = int(scored and n.d + n.dv > _HALVED)
        side = "queries" if ports == ("DQ",) else "keys"
        file, name = f"shared/attention/backward_{side}.cl", f"attention_backward_{side}"
        self.launch(file, name, defines, n.b * tiles, args, self.tile.items)
