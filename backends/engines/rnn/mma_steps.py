"""How steps of recurrent networks in 16 bits are cut for tensor cores: sizes of kernels_cuda/rnn/product_mma.h."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from portadnn.enums import DataType
from portadnn.ops.rnn.layout import Network

from ...base import DeviceInfo
from ..conv.cpu_common import ceil_div
from ..conv.matrix_units import MMA, unit_of

STEP_K = 32  # numbers of k that a lane's loads take in at once
_WARPS = 8
_AHEAD = 4  # blocks of k whose loads are on their way together
_LOCAL_BYTES = 48 * 1024
_BYTES_PER_CLOCK = 40  # of a multiprocessor, from the second-level cache
_LOAD_CLOCKS = 900  # until loads that were issued together are there
_STEP_CLOCKS = 3000  # of a launch, the sums and the cells


@dataclass(frozen=True)
class MmaTile:
    """Rows and columns of a work-group, and how its warps share k and the rows.

    Attributes
    ----------
    bm, bn : int
        Rows of states, and columns of R: gates of units, or units for gradients.
    k_parts, m_parts : int
        Warps along k and along the rows.
    unit_columns : int
        Columns of a unit.
    """

    bm: int
    bn: int
    k_parts: int
    m_parts: int
    unit_columns: int

    @property
    def items(self) -> int:
        """Work-items of a work-group."""
        return 32 * self.k_parts * self.m_parts

    @property
    def units(self) -> int:
        """Units of a panel."""
        return self.bn // self.unit_columns

    @property
    def local_bytes(self) -> int:
        """Local memory in which the parts are added."""
        return 4 * self.k_parts * self.bm * (self.bn + 4)

    def panels(self, hidden: int) -> int:
        """Return how many panels the units of a direction make."""
        return ceil_div(hidden, self.units)

    def clocks(self, rows: int, hidden: int, depth: int, directions: int, info: DeviceInfo) -> float:
        """Estimate a step: work-groups read their rows and columns, or wait for each round of loads."""
        groups = ceil_div(rows, self.bm) * self.panels(hidden) * directions
        rounds = ceil_div(ceil_div(depth, STEP_K), self.k_parts * _AHEAD)
        read = 2 * depth * (min(rows, self.bm) + self.bn) / _BYTES_PER_CLOCK
        return ceil_div(groups, max(info.compute_units, 1)) * max(read, rounds * _LOAD_CLOCKS) + _STEP_CLOCKS

    def defines(self) -> dict[str, int | float | str]:
        """Return what kernels are told."""
        parts = {"KPARTS": self.k_parts, "MPARTS": self.m_parts, "AHEAD": _AHEAD}
        return {"BM": self.bm, "BN": self.bn, "UNIT_COLUMNS": self.unit_columns, **parts}


def tiles(unit_columns: int) -> Iterator[MmaTile]:
    """Yield every tile."""
    for bm in (16, 32, 64):
        for bn in (8, 16, 32, 64):
            for m_parts in (1, 2):
                tile = MmaTile(bm, bn, _WARPS // m_parts, m_parts, unit_columns)
                pairs = unit_columns == 1 or bn % 16 == 0
                loads = bm // 8 // m_parts + bn // 8  # of a block of k
                if pairs and bm % (16 * m_parts) == 0 and loads <= 8 and tile.local_bytes <= _LOCAL_BYTES:
                    yield tile


def mma_tile(
    network: Network, dtype: DataType, rows: int, info: DeviceInfo, turned: bool = False
) -> MmaTile | None:
    """Choose the tile for steps of that many rows; None where tensor cores do not take them."""
    if unit_of(info) is not MMA or dtype not in (DataType.HALF, DataType.BFLOAT16):
        return None
    gates = network.mode.gates
    depth = network.hidden * (gates if turned else 1)
    options = tiles(4 if gates > 1 and not turned else 1)
    return min(options, key=lambda tile: tile.clocks(rows, network.hidden, depth, network.directions, info))
