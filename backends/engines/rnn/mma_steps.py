"""How steps of recurrent networks in 16 bits are cut for tensor cores: sizes of kernels_cuda/rnn/product_mma.h."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from portadnn.enums import DataType
from portadnn.ops.rnn.layout import Network, Sequence

from ...base import DeviceInfo
from ..conv.matrix_units import MMA, unit_of
from ..conv.tensor_core_tiles import dynamic_memory
from ..rounding import ceil_div, round_up

STEP_K = 32  # numbers of k that a lane's loads take in at once
_WARPS = 8
_DECLARED_BYTES = 48 * 1024  # of local memory that a kernel may declare
_BYTES_PER_CLOCK = 40  # of a multiprocessor, from the second-level cache
_LOAD_CLOCKS = 900  # until loads that were issued together are there
_CACHED_CLOCKS = 500  # the same where the columns are in local memory
_STEP_CLOCKS = 8000  # of a launch, the sums and the cells
_ROUND_CLOCKS = 3500  # of work-groups that wait for each other, the sums and the cells
_LOADS_AHEAD = 24  # vectors of 16 bytes that a work-item has registers for, or twice as many


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
    row_blocks : int
        Work-groups that share the rows of all steps in one launch; 0 for a launch of each step.
    cached : bool
        One launch keeps its columns in local memory.
    """

    bm: int
    bn: int
    k_parts: int
    m_parts: int
    unit_columns: int
    row_blocks: int = 0
    cached: bool = False

    @property
    def items(self) -> int:
        """Work-items of a work-group."""
        return 32 * self.k_parts * self.m_parts

    @property
    def units(self) -> int:
        """Units of a panel."""
        return self.bn // self.unit_columns

    @property
    def sums_bytes(self) -> int:
        """Local memory in which the parts are added."""
        return 4 * self.k_parts * self.bm * (self.bn + 4)

    @property
    def loads(self) -> int:
        """Vectors that a work-item loads for a block of k."""
        return self.bm // 8 // self.m_parts + self.bn // 8

    @property
    def of_one_step(self) -> MmaTile:
        """The tile with which a launch makes one step, with the same columns."""
        return replace(self, bm=16, k_parts=_WARPS, m_parts=1, row_blocks=0, cached=False) if self.row_blocks else self

    def local_bytes(self, pitch: int) -> int:
        """Return the local memory of a launch of all steps."""
        return self.sums_bytes + (2 * pitch * self.bn if self.cached else 0)

    def panels(self, hidden: int) -> int:
        """Return how many panels the units of a direction make."""
        return ceil_div(hidden, self.units)

    def groups(self, rows: int, hidden: int, directions: int) -> int:
        """Return the work-groups of a launch."""
        return (self.row_blocks or ceil_div(rows, self.bm)) * self.panels(hidden) * directions

    def clocks(self, rows: int, hidden: int, depth: int, directions: int, units: int) -> float:
        """Estimate a step: work-groups read their rows and columns, or wait for each round of loads."""
        row_tiles = ceil_div(rows, self.bm)
        turns = ceil_div(row_tiles, self.row_blocks) if self.row_blocks else 1
        turns *= ceil_div(self.groups(rows, hidden, directions), units)
        ahead = self.defines()["AHEAD"]
        assert isinstance(ahead, int)
        rounds = ceil_div(ceil_div(depth, STEP_K), self.k_parts * ahead)
        read = 2 * depth * (min(rows, self.bm) + (0 if self.cached else self.bn)) / _BYTES_PER_CLOCK
        wait = rounds * (_CACHED_CLOCKS if self.cached else _LOAD_CLOCKS)
        return turns * max(read, wait) + (_ROUND_CLOCKS if self.row_blocks else _STEP_CLOCKS)

    def defines(self) -> dict[str, int | float | str]:
        """Return what kernels are told."""
        ahead = 4 if self.loads * 4 <= 2 * _LOADS_AHEAD - 16 else 2
        parts = {"KPARTS": self.k_parts, "MPARTS": self.m_parts, "AHEAD": ahead}
        persistent = {"PERSISTENT": 1, **({"R_CACHED": 1} if self.cached else {})} if self.row_blocks else {}
        return {"BM": self.bm, "BN": self.bn, "UNIT_COLUMNS": self.unit_columns, **parts, **persistent}


def tiles(unit_columns: int, most_loads: int) -> Iterator[MmaTile]:
    """Yield every tile for which a work-item has the registers."""
    for bm, bn, m_parts in itertools.product((16, 32, 64), (8, 16, 32, 64), (1, 2)):
        tile = MmaTile(bm, bn, _WARPS // m_parts, m_parts, unit_columns)
        pairs = unit_columns == 1 or bn % 16 == 0
        if pairs and bm % (16 * m_parts) == 0 and tile.loads <= most_loads:
            yield tile


def of_all_steps(
    unit_columns: int, rows: int, hidden: int, depth: int, ways: int, info: DeviceInfo
) -> Iterator[MmaTile]:
    """Yield the tiles with which one launch makes all steps: every work-group has a multiprocessor of its own."""
    for tile in tiles(unit_columns, 12):
        for shift, cached in itertools.product(range(5), (False, True)):
            found = replace(tile, row_blocks=1 << shift, cached=cached)
            memory = found.local_bytes(round_up(depth, STEP_K))
            useful = found.row_blocks <= ceil_div(rows, tile.bm)
            if useful and found.groups(rows, hidden, ways) <= info.compute_units and memory <= dynamic_memory(info):
                yield found


def mma_tile(
    network: Network, dtype: DataType, sequence: Sequence, info: DeviceInfo, turned: bool = False
) -> MmaTile | None:
    """Choose the tile for the steps of a layer; None where tensor cores do not take them."""
    if unit_of(info) is not MMA or dtype not in (DataType.HALF, DataType.BFLOAT16) or not sequence.rows:
        return None
    gates, rows = network.mode.gates, sequence.batch
    depth, columns = network.hidden * (gates if turned else 1), 4 if gates > 1 and not turned else 1
    options = [tile for tile in tiles(columns, 8) if tile.sums_bytes <= _DECLARED_BYTES]
    if "cooperative" in info.features and len(sequence.batches) > 1 and sequence.batches[-1] == rows:
        options += of_all_steps(columns, rows, network.hidden, depth, network.directions, info)
    units = max(info.compute_units, 1)
    return min(options, key=lambda tile: tile.clocks(rows, network.hidden, depth, network.directions, units))
