"""How the steps of recurrent networks are cut into work-groups: shapes only, so that tests need no device."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from portadnn.enums import DataType
from portadnn.ops.rnn.layout import Network, RNNMode, Step

from ...base import ConstantArg, DeviceInfo
from ..gemm.operands import int32
from ..rounding import ceil_div

Defines = dict[str, int | float | str]

_CELLS = {RNNMode.RNN_RELU: "RELU", RNNMode.RNN_TANH: "TANH", RNNMode.LSTM: "LSTM", RNNMode.GRU: "GRU"}
_GROUPS_PER_CORE = 8


def cell_defines(network: Network, dtype: DataType) -> Defines:
    """Return what every kernel of a network is told."""
    return {f"DTYPE_{dtype.name}": 1, f"CELL_{_CELLS[network.mode]}": 1, "DIRECTIONS": network.directions}


def clip_defines(clip: tuple[float, float] | None) -> Defines:
    """Return what the kernels of steps are told of the limits of cells; those that are infinite are none."""
    if clip is None:
        return {}
    limits = zip(("CLIP_LOW", "CLIP_HIGH"), clip, strict=True)
    return {name: f"((real)({limit!r}))" for name, limit in limits if not math.isinf(limit)}


def step_numbers(steps: Iterable[Step]) -> tuple[ConstantArg, ...]:
    """Return the kernels' numbers of a step, of the first and the second direction; of one direction twice."""
    found = [tuple(map(int32, (s.rows, s.first, s.before_rows, s.before, s.after_rows, s.after))) for s in steps]
    return (*found[0], *found[-1])


@dataclass(frozen=True)
class GpuTile:
    """Tile sizes of rnn/product.h: results of a work-group and of a work-item, and parts of k.

    Attributes
    ----------
    turned : bool
        For gradients: columns are units, and k runs over the gates.
    """

    bm: int
    bn: int
    tm: int
    tn: int
    parts: int
    bk: int
    gates: int
    turned: bool = False

    @property
    def items(self) -> int:
        """Work-items of a work-group."""
        return self.bm // self.tm * (self.bn // self.tn) * self.parts

    @property
    def unit_columns(self) -> int:
        """Neighbouring columns that belong to one unit."""
        return 4 if self.gates > 1 and not self.turned else 1

    @property
    def units(self) -> int:
        """Units of a panel."""
        return self.bn // self.unit_columns

    @property
    def local_reals(self) -> int:
        """Numbers in local memory, as rnn/product.h has them."""
        sides = 2 * self.parts * self.bk * (self.bm + 4 + self.bn)
        return max(sides, self.items * self.tm * self.tn if self.parts > 1 else 0)

    def panels(self, hidden: int) -> int:
        """Return how many panels the units of a direction make."""
        return ceil_div(hidden, self.units)

    def clocks(self, rows: int, hidden: int, depth: int, directions: int, info: DeviceInfo) -> float:
        """Estimate a step: work-groups multiply, or wait for each slice."""
        groups = ceil_div(rows, self.bm) * self.panels(hidden) * directions
        waves = ceil_div(groups, max(info.compute_units, 1))
        slices = ceil_div(depth, self.parts * self.bk)
        rate = 110 if self.tm == 4 else 132  # more of a slice is in registers
        return waves * max(self.bm * self.bn * depth / rate, slices * _SLICE_CLOCKS) + 1500

    def defines(self, vector: bool) -> Defines:
        """Return the sizes, and whether four neighbours of a state are aligned."""
        return {
            "VW": 1,
            "BM": self.bm,
            "BN": self.bn,
            "BK": self.bk,
            "TM": self.tm,
            "TN": self.tn,
            "KPARTS": self.parts,
            "A_VECTOR": int(vector),
            "UNIT_COLUMNS": self.unit_columns,
        }

    def pack_defines(self) -> Defines:
        """Return what a column of a panel is."""
        interleaved = self.unit_columns > 1
        return {
            "COLUMNS": self.bn,
            "UNITS": self.units,
            "COLUMN_UNIT(c)": "((c) / 4)" if interleaved else "(c)",
            "COLUMN_GATE(c)": "((c) % 4)" if interleaved else "0",
            **({"TURNED": 1} if self.turned else {}),
        }


_SLICE_CLOCKS = 200  # what a slice takes at least
_GPU_TILES = (
    (64, 64, 4, 4, 1),
    (64, 64, 4, 4, 2),
    (32, 64, 8, 4, 2),
    (32, 64, 4, 4, 2),
    (32, 64, 4, 4, 4),
    (32, 32, 4, 4, 4),
    (16, 32, 4, 4, 4),
    (16, 32, 4, 4, 8),
    (4, 128, 4, 4, 4),
    (4, 128, 4, 4, 8),
)


def gpu_tile(network: Network, dtype: DataType, rows: int, info: DeviceInfo, turned: bool = False) -> GpuTile:
    """Choose the tile for steps of that many rows."""
    real = dtype.accumulator
    depth = network.hidden * (network.mode.gates if turned else 1)
    options = [
        tile
        for sizes in _GPU_TILES
        for tile in (GpuTile(*sizes, 8 if real is DataType.FLOAT else 4, network.mode.gates, turned),)
        if tile.tm * tile.tn % (tile.parts * tile.unit_columns) == 0
        and tile.items <= info.max_work_group
        and tile.local_reals * real.itemsize <= info.local_memory
    ]
    return min(options, key=lambda tile: tile.clocks(rows, network.hidden, depth, network.directions, info))


@dataclass(frozen=True)
class CpuTile:
    """Register tile of rnn/step_cpu.h, and how many panels a work-group takes."""

    lanes: int
    vectors: int
    rows: int
    gates: int
    panels_each: int = 1

    @property
    def columns(self) -> int:
        """Numbers of a row of a panel."""
        return self.lanes * self.gates * self.gate_vectors

    @property
    def gate_vectors(self) -> int:
        """Vectors of neighbouring units for each gate: whole register tiles in all."""
        return self.vectors // math.gcd(self.vectors, self.gates)

    @property
    def units(self) -> int:
        """Units of a panel."""
        return self.gate_vectors * self.lanes

    def panels(self, hidden: int) -> int:
        """Return how many panels the units of a direction make."""
        return ceil_div(hidden, self.units)

    def groups(self, network: Network) -> int:
        """Return the work-groups of a step."""
        return ceil_div(self.panels(network.hidden), self.panels_each) * network.directions

    def defines(self) -> Defines:
        """Return the sizes."""
        return {
            "VW": self.lanes,
            "NV": self.vectors,
            "MR": self.rows,
            "GATE_VECTORS": self.gate_vectors,
            "PANEL_VECTORS": self.gates * self.gate_vectors,
            "PANELS_EACH": self.panels_each,
        }


def cpu_tile(network: Network, dtype: DataType, rows: int, info: DeviceInfo, turned: bool = False) -> CpuTile:
    """Choose the tile for steps of that many rows: a panel's gates lie side by side in registers."""
    wide = info.simd_width >= 16  # AVX-512 has twice the registers, too
    lanes = max(4, min(16, info.simd_width))
    if dtype is DataType.HALF:  # LLVM 14 crashes on conversions of 16 halves
        lanes = min(lanes, 8)
    lanes = lanes * DataType.FLOAT.itemsize // dtype.accumulator.itemsize
    gates = 1 if turned else network.mode.gates
    vectors = (3 if gates == 3 else 4) if wide else 2
    if gates == 1:
        vectors = min(vectors, ceil_div(network.hidden, lanes))
    height = min(range(6, 0, -1), key=lambda mr: ceil_div(rows, mr) * (mr + 1))
    tile = CpuTile(lanes, vectors, height, gates)
    panels = tile.panels(network.hidden) * network.directions
    return CpuTile(lanes, vectors, height, gates, max(1, panels // (_GROUPS_PER_CORE * max(info.compute_units, 1))))
