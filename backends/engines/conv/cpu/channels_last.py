"""Convolution of channels-last tensors on CPUs, forward and data gradient: vectors of the result's channels.

Nothing is transposed: a number of the image meets a vector of weights. Weights are packed before; the image is copied
with zeros around it, or read where it lies (1x1 filters).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionFwdAlgo, DataType, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.problem import Problem

from ....base import LAUNCH_SECONDS, Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from ...rounding import ceil_div, round_up, split_evenly
from .common import COUNTER_BYTES, WORK_GROUPS_PER_CORE, ConvCpu, Defines, Tile, contiguous, per_axis
from .gemm import Sum

_FILE = "opencl/conv/channels_last_cpu.cl"
_BLOCK = 24 * 1024  # packed weights that a register tile meets per visit: they stay in the L2 cache
_COPY = 32 * 1024  # reals of a tile's copy of the image, and of its sums
_UNITS_CH = 64  # channels of several groups that are copied together
_TILE_M = 512  # channels of a tile
_COLUMNS = 128  # positions of a row, of a tile
_MOST_COPY = 256 * 1024
_TILES_PER_CORE = 4
_PACK_GROUPS = 8  # work-groups that pack
_MOST_TOGETHER = 64  # taps
_PACK_CLOCKS = {True: 0.7, False: 1.1}  # of a weight, by whether the target's channels are neighbours in the filter
_FETCH = 6.0  # clocks of a vector of weights from beyond the L2 cache
_NEAR = 256 * 1024  # weights of a tile that the L2 cache keeps
_GROUPED = 2.0  # clocks of a product where lanes are dealt out to their groups
_MOST_ROWS, _MOST_VECTORS = 14, 4
_SUMS = {True: 28, False: 12}  # register tiles, by whether there are 32 registers


def _group_channels(total: Sum, groups: int, lanes: int) -> int:
    """Return the channels of a group where a vector holds whole groups of as many channels on both sides, else 0."""
    few = total.rows == total.depth and 1 < total.rows <= lanes // 4 and lanes % total.rows == 0
    return total.rows if few and groups % (lanes // total.rows) == 0 else 0


def _register_tile(total: Sum, tile: Tile, wide: bool, grouped: bool) -> tuple[Tile, float]:
    """Choose the register tile for a row of positions; return it and the clocks of a row for one channel of `src`.

    Two multiply-adds or two loads of a vector take a clock. Positions beyond the end of a row are computed, too.
    """
    vectors = ceil_div(total.rows, tile.lanes)
    columns, most = total.grid[2], _SUMS[wide]
    found = []
    for nv in (1,) if grouped else range(1, min(_MOST_VECTORS, vectors) + 1):
        for mr in range(1, min(_MOST_ROWS, most // (2 if grouped else nv), columns) + 1):
            clocks = max(mr * nv, mr + nv) / 2 + 0.6
            found.append((ceil_div(columns, mr) * ceil_div(vectors, nv) * clocks, -mr * nv, nv, mr))
    clocks, _, nv, mr = min(found)
    return Tile(tile.lanes, nv, mr), clocks


@dataclass(frozen=True)
class Blocks:
    """How a sum is cut into tiles.

    Attributes
    ----------
    units, unit_ch, channels : int
        Groups, or vectors of whole groups; channels of the source and of the target in one.
    tile_units, tile_m, block : int
        Of a tile: units, channels of the target in each, and channels of the source at a time.
    cols, rows : int
        Positions of a row, and rows, of a tile.
    row_clocks : float
        Of the register tiles of a row of positions, for each channel and tap.
    near_rows : bool
        Whether the target's channels are neighbours in the filter.
    taps_together : bool
        Whether taps are, several of them: all are packed at once.
    """

    total: Sum
    tile: Tile
    group_ch: int
    in_place: bool
    units: int
    unit_ch: int
    channels: int
    tile_units: int
    tile_m: int
    block: int
    cols: int
    rows: int
    row_clocks: float
    near_rows: bool
    taps_together: bool

    @property
    def taps(self) -> tuple[int, ...]:
        """Taps per axis of the phase that has the most."""
        return tuple(ceil_div(t, s) for t, s in zip(self.total.geometry.taps, self.total.tap_step, strict=True))

    @property
    def m_padded(self) -> int:
        """Channels of the target in a unit, in whole register tiles."""
        return round_up(self.channels, self.tile.columns)

    @property
    def x_ch(self) -> int:
        """Channels of a pixel in the copy of the image."""
        return self.tile_units * self.unit_ch if self.tile_units > 1 or self.group_ch else self.block

    @property
    def sums_m(self) -> int:
        """Channels of a position in the sums."""
        return self.tile_units * self.tile_m

    def copied(self, cols: int) -> int:
        """Return the pixels that so many positions meet, whole register tiles of them."""
        reach = (self.taps[2] - 1) * abs(self.total.tap_shift[2])
        return (round_up(cols, self.tile.rows) - 1) * self.total.source_step[2] + reach + 1

    def copy(self, cols: int) -> int:
        """Return the reals of the copy that a row of so many positions needs."""
        return 0 if self.in_place else self.taps[0] * self.taps[1] * self.copied(cols) * self.x_ch

    def sums(self, cols: int) -> int:
        """Return the sums of a row of so many positions."""
        return round_up(cols, self.tile.rows) * self.sums_m

    @property
    def grid_rows(self) -> int:
        """Rows of positions in the largest phase, of all images."""
        return self.total.target.n * self.total.grid[0] * self.total.grid[1]

    @property
    def segments(self) -> int:
        """Parts of a row."""
        return ceil_div(self.total.grid[2], self.cols)

    @property
    def m_blocks(self) -> int:
        """Blocks of the target's channels in a unit."""
        return ceil_div(self.m_padded, self.tile_m)

    @property
    def planes(self) -> int:
        """Tiles with the same rows."""
        return self.units // self.tile_units * math.prod(self.total.phases) * self.m_blocks * self.segments

    @property
    def tiles(self) -> int:
        """Tiles in all."""
        return self.planes * ceil_div(self.grid_rows, self.rows)

    @property
    def scratch(self) -> tuple[int, int]:
        """Reals of a work-group, and of them those of its copy, to which a vector's end may be written behind."""
        copy = round_up(self.rows * self.copy(self.cols) + self.tile.lanes, 64)
        return round_up(copy + self.rows * self.sums(self.cols), 64), copy

    @property
    def packed(self) -> int:
        """Reals of the packed filter."""
        return math.prod(self.total.phases) * self.units * self.total.depth * self.total.max_taps * self.m_padded

    @property
    def weights(self) -> int:
        """Of them those that are: a phase may have fewer taps than there is room for."""
        return self.units * self.total.depth * math.prod(self.total.geometry.taps) * self.m_padded

    @property
    def pack_planes(self) -> int:
        """Units whose weights are packed, in each phase unless taps are packed together."""
        return self.units if self.taps_together else math.prod(self.total.phases) * self.units

    @property
    def pack_grid(self) -> tuple[int, int, int]:
        """Work-groups of the packing launch."""
        blocks, panels = ceil_div(self.total.depth, self.block), self.m_padded // self.tile.columns
        return panels, ceil_div(blocks, self.pack_blocks), self.pack_planes

    @property
    def pack_blocks(self) -> int:
        """Blocks of the source's channels that a work-group packs: neighbours, unless there are few panels."""
        blocks, panels = ceil_div(self.total.depth, self.block), self.m_padded // self.tile.columns
        return ceil_div(blocks, ceil_div(_PACK_GROUPS, panels * self.pack_planes))

    def clocks(self) -> float:
        """Estimate the clocks of all tiles."""
        total, row, lanes = self.total, self.total.grid[2], self.tile.lanes
        phases, blocks = math.prod(total.phases), ceil_div(total.depth, self.block)
        products = self.row_clocks * total.depth * math.prod(total.geometry.taps) / phases
        products *= _GROUPED if self.group_ch else 1.0
        copies = 1.5 * self.m_blocks * self.copy(row) / self.tile_units * blocks / lanes
        stores = 3.0 * self.channels * row / lanes
        visits = 20.0 * ceil_div(row, self.tile.rows) * ceil_div(self.channels, self.tile.columns) * blocks
        rows = self.units * phases * self.grid_rows * (products + copies + stores + visits)
        return rows + self.fetches / lanes * _FETCH + _PACK_CLOCKS[self.near_rows or self.taps_together] * self.weights

    @property
    def fetches(self) -> int:
        """Weights that tiles fetch from beyond the L2 cache."""
        far = self.weights // (self.units * self.m_blocks) > _NEAR
        return self.weights * ceil_div(self.grid_rows, self.rows) * self.segments if far else self.weights

    def defines(self, problem: Convolution) -> Defines:
        """Return everything that the kernels have to know."""
        scratch, scratch_x = self.scratch
        taps_d, taps_h, taps_w = self.taps
        pixel = self.total.source.strides[2] if self.in_place else self.x_ch
        return {
            **self.total.defines(problem),
            **self.tile.defines(),
            **({"GROUP_CH": self.group_ch} if self.group_ch else {}),
            **per_axis("MAX_TAPS", (taps_d, taps_h, taps_w)),
            "UNITS": self.units,
            "TILE_UNITS": self.tile_units,
            "IN_PLACE": int(self.in_place),
            "M_PADDED": self.m_padded,
            "TILE_M": self.tile_m,
            "M_BLOCKS": self.m_blocks,
            "BLOCK_CH": self.block,
            "PACK_BLOCKS": self.pack_blocks,
            "TAPS_TOGETHER": int(self.taps_together),
            "W_SPAN": problem.filter.span,
            "X_CH": self.x_ch,
            "COPIED": self.copied(self.cols),
            "PIXEL": self.total.source_step[2] * pixel,
            "TO_STEP": self.total.phases[2] * self.total.target.strides[2],
            "SUMS_COLS": round_up(self.cols, self.tile.rows),
            "TILES": self.tiles,
            "TILE_ROWS": self.rows,
            "TILE_COLS": self.cols,
            "GRID_ROWS": self.grid_rows,
            "ROW_BLOCKS": ceil_div(self.grid_rows, self.rows),
            "SEGMENTS": self.segments,
            "SCRATCH": scratch,
            "SCRATCH_X": scratch_x,
        }


def blocks_of(problem: Convolution, info: DeviceInfo) -> Blocks:
    """Cut a problem into tiles: as large as caches hold, unless cores would be idle."""
    total = Sum.of(problem)
    widest = Tile.of(problem.dtype, info, 1)
    group_ch = _group_channels(total, problem.groups, widest.lanes)
    if total.rows <= widest.lanes // 2 and not group_ch:  # as many products a clock, and less to load
        widest = replace(widest, lanes=max(4, widest.lanes // 2))
    tile, row_clocks = _register_tile(total, widest, info.simd_width >= 16, bool(group_ch))
    one = total.max_taps == math.prod(total.phases) == 1 and total.geometry.taps == (1, 1, 1)
    in_place = one and total.geometry.padding == (0, 0, 0) and problem.dtype is problem.dtype.accumulator
    units, unit_ch, channels = problem.groups, total.depth, total.rows
    if group_ch:
        units, unit_ch, channels = units * group_ch // tile.lanes, tile.lanes, tile.lanes
    block = total.depth
    if not group_ch and total.max_taps * tile.columns * block > _BLOCK:
        block = min(block, round_up(split_evenly(block, max(1, _BLOCK // (total.max_taps * tile.columns))), tile.lanes))
    near_rows = problem.filter.strides[1 if isinstance(problem, ConvolutionBackwardData) else 0] == 1
    taps = problem.filter.dims[2:]
    together = 1 < math.prod(taps) <= _MOST_TOGETHER and contiguous(taps, problem.filter.strides[2:])
    row = total.grid[2]
    found = []
    for tile_m in _tiles_m(channels, tile.columns):
        tile_units = 1
        if tile_m >= channels and block == total.depth:
            tile_units = max(n for n in range(1, units + 1) if units % n == 0 and (n == 1 or n * unit_ch <= _UNITS_CH))
        cut = (units, unit_ch, channels, tile_units, tile_m, block, row, 1, row_clocks, near_rows, together)
        found.append(_rows_and_columns(Blocks(total, tile, group_ch, in_place, *cut), info.compute_units))
    return min(found, key=Blocks.clocks)


def _tiles_m(channels: int, columns: int) -> list[int]:
    """Return how many channels of the target a tile may have: whole register tiles, and the most first."""
    parts = ceil_div(channels, _TILE_M)
    found = [round_up(ceil_div(channels, parts * more), columns) for more in (1, 2, 4, 8)]
    return list(dict.fromkeys(found))


def _rows_and_columns(blocks: Blocks, units: int) -> Blocks:
    """Choose the positions of a tile: as many as caches hold, unless cores would be idle."""
    row, tile = blocks.total.grid[2], blocks.tile
    cols = split_evenly(row, _COLUMNS)
    while cols > tile.rows and max(blocks.copy(cols), blocks.sums(cols)) > _COPY:
        cols = max(tile.rows, cols // 2)
    blocks = replace(blocks, cols=min(row, round_up(split_evenly(row, cols), tile.rows)))
    most = _COPY // max(blocks.copy(blocks.cols), blocks.sums(blocks.cols))
    shares = ceil_div(_TILES_PER_CORE * units, blocks.planes)
    rows = max(1, min(blocks.grid_rows, most, blocks.grid_rows // shares))
    return replace(blocks, rows=split_evenly(blocks.grid_rows, rows))


class ConvChannelsLastCpu(ConvCpu):
    """Forward and backward data: one launch packs the filter, one does the rest."""

    name = "channels_last_cpu"
    problems = (ConvolutionForward, ConvolutionBackwardData)

    def algo(self, problem: Problem) -> DnnEnum | None:
        backward = isinstance(problem, ConvolutionBackwardData)
        return ConvolutionBwdDataAlgo.ALGO_1 if backward else ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is not None or problem.tensors[2].size == 0:
            return reason
        if any(spec.dims[1] > 1 and spec.strides[1] != 1 for spec in (problem.image, problem.result)):
            return "it takes channels that lie side by side"
        total = Sum.of(problem)
        if total.depth == 0:
            return "there is nothing to add up"
        lanes = Tile.of(problem.dtype, info, 1).lanes
        if total.rows < lanes // 4 and not _group_channels(total, problem.groups, lanes):
            return f"it takes at least {lanes // 4} channels of the result in a group"
        _, scratch = blocks_of(problem, info).scratch
        return f"the window needs {scratch} numbers of scratch" if scratch > _MOST_COPY else None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return 0.0
        clock = info.flops / (4 * max(info.simd_width, 1))  # of all cores together
        if problem.dtype.accumulator is DataType.FLOAT and Tile.of(problem.dtype, info, 1).lanes < info.simd_width:
            clock *= 0.9
        return max(blocks_of(problem, info).clocks() / clock, problem.bytes() / info.bandwidth) + 2 * LAUNCH_SECONDS

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return _memory(problem, blocks_of(problem, info), info)[1] if problem.tensors[2].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        blocks = blocks_of(problem, device.info)
        defines = blocks.defines(problem)
        start, workspace, work_groups = _memory(problem, blocks, device.info)
        real = problem.dtype.accumulator
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        counter, packed = WorkspaceArg(0), WorkspaceArg(COUNTER_BYTES, real)
        pack = device.compile(_FILE, "conv_channels_last_pack", defines)
        main = device.compile(_FILE, "conv_channels_last", defines)
        args = (TensorArg(source), TensorArg(2), packed, WorkspaceArg(start, real), counter)
        launches = (
            Launch(pack, blocks.pack_grid, (1, 1, 1), (TensorArg(weights), packed, counter)),
            Launch(main, (work_groups,), (1,), (*args, ScalarArg(0, real), ScalarArg(1, real))),
        )
        return Plan(problem, self, workspace, device.bind(launches), launches)


def _memory(problem: Convolution, blocks: Blocks, info: DeviceInfo) -> tuple[int, int, int]:
    """Return where work-groups' scratch begins, the bytes of the workspace, and how many work-groups there are."""
    size = problem.dtype.accumulator.itemsize
    work_groups = min(blocks.tiles, WORK_GROUPS_PER_CORE * info.compute_units)
    start = COUNTER_BYTES + round_up(blocks.packed * size, 256)
    return start, start + work_groups * blocks.scratch[0] * size, work_groups


ENGINES = (ConvChannelsLastCpu(),)
