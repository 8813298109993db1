"""How the convolution of channels-last tensors on CPUs is cut into tiles; see conv/channels_last_cpu.cl."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData

from ....base import DeviceInfo
from ...rounding import ceil_div, round_up, split_evenly
from .common import Axes, Image, Tile, contiguous
from .gemm import Sum

_BLOCK = 24 * 1024  # packed weights that a register tile meets per visit: they stay in the L2 cache
_COPY = 32 * 1024  # reals of a tile's copy of the image, and of its sums
_UNITS_CH = 256  # channels of several groups that are copied together
_TILE_M = 512  # channels of a tile
_COLUMNS = 128  # positions of a row, of a tile
_TILES_PER_CORE = 4
_PACK_GROUPS = 8  # work-groups that pack
_MOST_TOGETHER = 64  # taps
_PACK_CLOCKS = {True: 0.7, False: 1.1}  # of a weight, by whether the target's channels are neighbours in the filter
_FETCH = 0.5  # clocks of a vector of weights from beyond the L2 cache
_NEAR = 256 * 1024  # weights of a tile that the L2 cache keeps
_GATHER = 4.0  # clocks of a pixel that is copied for a tap, apart from its channels
_LONG_ROW = 32  # positions of a row in place that fill register tiles well enough
_GROUPED = 2.0  # clocks of a product where lanes are dealt out to their groups
_MOST_ROWS, _MOST_VECTORS = 14, 4
_REGISTERS = 16  # of AVX2; with AVX-512 a number of the image needs none
_SUMS = {True: 28, False: 12}  # register tiles, by whether there are 32 registers


def group_channels(total: Sum, groups: int, lanes: int) -> int:
    """Return the channels of a group where a vector holds whole groups of as many channels on both sides, else 0."""
    few = total.rows == total.depth and 1 < total.rows <= lanes // 4 and lanes % total.rows == 0
    return total.rows if few and groups % (lanes // total.rows) == 0 else 0


def _register_tile(total: Sum, columns: int, tile: Tile, wide: bool, grouped: bool) -> tuple[Tile, float]:
    """Choose the register tile for rows of `columns`; return it and the clocks of a row for one channel of `src`.

    Two multiply-adds or two loads of a vector take a clock. Positions beyond the end of a row are computed, too.
    """
    vectors = ceil_div(total.rows, tile.lanes)
    most = _SUMS[wide]
    found = []
    for nv in (1,) if grouped else range(1, min(_MOST_VECTORS, vectors) + 1):
        for mr in range(1, min(_MOST_ROWS, most // (2 if grouped else nv), columns) + 1):
            if not wide and mr * nv + nv + 1 > _REGISTERS:
                continue
            clocks = max(mr * nv, mr + nv) / 2 + 0.6
            found.append((ceil_div(columns, mr) * ceil_div(vectors, nv) * clocks, -mr * nv, nv, mr))
    clocks, _, nv, mr = min(found)
    return Tile(tile.lanes, nv, mr), clocks


@dataclass(frozen=True)
class Blocks:
    """How a sum is cut into tiles.

    Attributes
    ----------
    gathered : bool
        Whether a row is all positions of all images, and what each tap meets of them is copied apart.
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
    gathered: bool
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
    def taps(self) -> Axes:
        """Taps per axis of the phase that has the most."""
        d, h, w = (ceil_div(t, s) for t, s in zip(self.total.geometry.taps, self.total.tap_step, strict=True))
        return d, h, w

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

    @property
    def row(self) -> int:
        """Positions of a row."""
        return _positions(self.total) if self.gathered else self.total.grid[2]

    def copied(self, cols: int) -> int:
        """Return the pixels that so many positions meet, whole register tiles of them."""
        if self.gathered:
            return round_up(cols, self.tile.rows)
        reach = (self.taps[2] - 1) * abs(self.total.tap_shift[2])
        return (round_up(cols, self.tile.rows) - 1) * self.total.source_step[2] + reach + 1

    def copy(self, cols: int) -> int:
        """Return the reals of the copy that a row of so many positions needs."""
        apart = self.taps if self.gathered else self.taps[:2]
        return 0 if self.in_place else math.prod(apart) * self.copied(cols) * self.x_ch

    def sums(self, cols: int) -> int:
        """Return the sums of a row of so many positions."""
        return round_up(cols, self.tile.rows) * self.sums_m

    @property
    def grid_rows(self) -> int:
        """Rows of positions in the largest phase, of all images."""
        return 1 if self.gathered else _positions(self.total) // self.total.grid[2]

    @property
    def segments(self) -> int:
        """Parts of a row."""
        return ceil_div(self.row, self.cols)

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
        total, row, lanes = self.total, self.row, self.tile.lanes
        phases, blocks = math.prod(total.phases), ceil_div(total.depth, self.block)
        products = self.row_clocks * total.depth * math.prod(total.geometry.taps) / phases
        products *= _GROUPED if self.group_ch else 1.0
        copies = 1.5 * self.m_blocks * self.copy(row) / self.tile_units * blocks / lanes
        if self.gathered:
            copies += _GATHER * self.m_blocks * math.prod(self.taps) * row / self.tile_units * blocks
        stores = (5.0 if self.scattered else 3.0) * self.channels * row / lanes
        visits = 20.0 * ceil_div(row, self.tile.rows) * ceil_div(self.channels, self.tile.columns) * blocks
        rows = self.units * phases * self.grid_rows * (products + copies + stores + visits)
        return rows + self.fetches / lanes * _FETCH + _PACK_CLOCKS[self.near_rows or self.taps_together] * self.weights

    @property
    def target(self) -> Image:
        """The target; where its pixels are a row like those gathered, as one."""
        together = self.gathered and math.prod(self.total.phases) == 1
        return (_folded(self.total.target) if together else None) or self.total.target

    @property
    def scattered(self) -> bool:
        """Whether the pixels of a gathered row are stored one by one."""
        return self.gathered and self.target.size[2] != self.row

    @property
    def fetches(self) -> int:
        """Weights that tiles fetch from beyond the L2 cache."""
        far = self.weights // (self.units * self.m_blocks) > _NEAR
        return self.weights * ceil_div(self.grid_rows, self.rows) * self.segments if far else self.weights


def _positions(total: Sum) -> int:
    """Return the positions of the largest phase, in all images."""
    return total.target.n * math.prod(total.grid)


def _folded(image: Image) -> Image | None:
    """Return all pixels of all images as one row of one image, or None where they are not evenly spaced."""
    flat = image.flat()
    if flat is None:
        return None
    step = flat.strides[2] if flat.size[2] > 1 else image.n_stride
    if image.n > 1 and image.n_stride != step * flat.size[2]:
        return None
    return replace(flat, n=1, n_stride=0, size=(1, 1, image.n * flat.size[2]), strides=(0, 0, step))


def _in_place(total: Sum, problem: Convolution) -> Sum | None:
    """Return the sum as it reads the image where it lies, if it can: as one row where pixels lie evenly."""
    one = total.max_taps == math.prod(total.phases) == 1 and total.geometry.taps == (1, 1, 1)
    if not one or total.geometry.padding != (0, 0, 0) or problem.dtype is not problem.dtype.accumulator:
        return None
    source, target = _folded(total.source), _folded(total.target)
    if total.source_step != (1, 1, 1) or source is None or target is None:
        return total
    return replace(total, source=source, target=target, grid=target.size)


@functools.lru_cache(64)  # a call asks several times
def blocks_of(problem: Convolution, info: DeviceInfo) -> Blocks:
    """Cut a problem into tiles: as large as caches hold, unless cores would be idle."""
    return min(candidates(problem, info), key=Blocks.clocks)


def candidates(problem: Convolution, info: DeviceInfo) -> Iterator[Blocks]:
    """Yield the cuts of a problem: of the image where it lies, of pixels gathered for each tap, of rows copied."""
    total = Sum.of(problem)
    lying = _in_place(total, problem)
    if lying is not None:
        yield from _cuts(lying, problem, info, in_place=True)
    if lying is None or lying.grid[2] < _LONG_ROW:
        yield from _cuts(total, problem, info, gathered=True)
    if lying is None:
        yield from _cuts(total, problem, info)


def _cuts(
    total: Sum, problem: Convolution, info: DeviceInfo, in_place: bool = False, gathered: bool = False
) -> Iterator[Blocks]:
    """Yield the cuts of a sum that reads the image in one of three ways."""
    widest = Tile.of(problem.dtype, info, 1)
    group_ch = group_channels(total, problem.groups, widest.lanes)
    if total.rows <= widest.lanes // 2 and not group_ch:  # as many products a clock, and less to load
        widest = replace(widest, lanes=max(4, widest.lanes // 2))
    row = _positions(total) if gathered else total.grid[2]
    tile, row_clocks = _register_tile(total, row, widest, info.simd_width >= 16, bool(group_ch))
    units, unit_ch, channels = problem.groups, total.depth, total.rows
    if group_ch:
        units, unit_ch, channels = units * group_ch // tile.lanes, tile.lanes, tile.lanes
    near_rows = problem.filter.strides[1 if isinstance(problem, ConvolutionBackwardData) else 0] == 1
    taps = problem.filter.dims[2:]
    together = 1 < math.prod(taps) <= _MOST_TOGETHER and contiguous(taps, problem.filter.strides[2:])
    for block in _blocks_ch(total, tile, bool(group_ch), gathered):
        for tile_m in _tiles_m(channels, tile.columns):
            tile_units = 1
            if tile_m >= channels and block == total.depth:
                tile_units = max(
                    n for n in range(1, units + 1) if units % n == 0 and (n == 1 or n * unit_ch <= _UNITS_CH)
                )
            cut = (units, unit_ch, channels, tile_units, tile_m, block, row, 1, row_clocks, near_rows, together)
            blocks = Blocks(total, tile, group_ch, in_place, gathered, *cut)
            yield _rows_and_columns(blocks, info.compute_units)


def _blocks_ch(total: Sum, tile: Tile, grouped: bool, gathered: bool) -> list[int]:
    """Return how many channels of the source a tile may take at a time: whole vectors, unless all."""
    if grouped:
        return [total.depth]
    most = max(1, _BLOCK // (total.max_taps * tile.columns))
    blocks = [split_evenly(total.depth, most // parts) for parts in ((1, 2, 4) if gathered else (1,))]
    return list(dict.fromkeys(min(total.depth, round_up(block, tile.lanes)) for block in blocks))


def _tiles_m(channels: int, columns: int) -> list[int]:
    """Return how many channels of the target a tile may have: whole register tiles, and the most first."""
    parts = ceil_div(channels, _TILE_M)
    found = [round_up(ceil_div(channels, parts * more), columns) for more in (1, 2, 4, 8)]
    return list(dict.fromkeys(found))


def _rows_and_columns(blocks: Blocks, units: int) -> Blocks:
    """Choose the positions of a tile: as many as caches hold, unless cores would be idle."""
    row, mr = blocks.row, blocks.tile.rows
    shares = ceil_div(_TILES_PER_CORE * units, blocks.planes)
    if blocks.grid_rows == 1:
        most = _COPY * mr // max(blocks.copy(mr) if blocks.gathered else 0, blocks.sums(mr))
        cols = max(mr, min(row // shares, most) // mr * mr)
    else:
        cols = split_evenly(row, _COLUMNS)
        while cols > mr and max(blocks.copy(cols), blocks.sums(cols)) > _COPY:
            cols = max(mr, cols // 2)
    blocks = replace(blocks, cols=min(row, round_up(split_evenly(row, cols), mr)))
    most = _COPY // max(blocks.copy(blocks.cols), blocks.sums(blocks.cols))
    rows = max(1, min(blocks.grid_rows, most, blocks.grid_rows // shares))
    return replace(blocks, rows=split_evenly(blocks.grid_rows, rows))
