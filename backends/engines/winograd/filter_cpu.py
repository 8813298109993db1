"""Winograd's filter gradient with 3x3 filters on CPUs through OpenCL."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portadnn.enums import ConvolutionBwdFilterAlgo, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardFilter
from portadnn.problem import Problem

from ...base import LAUNCH_SECONDS, Device, DeviceInfo, Engine, Plan
from ..conv.cpu import filter as conv_cpu_filter
from ..conv.cpu.common import COUNTER_BYTES, WORK_GROUPS_PER_CORE, Defines, Tile
from ..rounding import ceil_div, round_up, split_evenly
from .cpu import FEW_FACTOR, SHARE, SUMMED
from .geometry import Direction, declined

FILE = "opencl/winograd/filter_cpu.cl"
SUM_ELEMENTS = 256 * 1024  # of the sums of a job, which stay in the L2 cache
TILE_ELEMENTS = 192 * 1024  # of transformed tiles of both sides at a time
JOBS_PER_CORE = 4


@dataclass(frozen=True)
class Variant:
    """F(3x3, out x out): tiles of `out` x `out` elements of dy.

    Attributes
    ----------
    image_cycles, gradient_cycles : int
        To copy and transform a tile of a vector of channels, about.
    error : float
        How far a result may be off, in units of the tolerance of a plain sum.
    """

    out: int
    image_cycles: int
    gradient_cycles: int
    error: float

    @property
    def planes(self) -> int:
        """Products for each pair of channels of a tile."""
        return (self.out + 2) ** 2


@dataclass(frozen=True)
class Blocks(conv_cpu_filter.Blocks):
    """How the sum is cut into jobs, the memory that takes, and the cycles of the busiest core."""

    cycles: float


def blocks_of(problem: Convolution, info: DeviceInfo, variant: Variant) -> Blocks:
    """Cut a filter gradient into blocks."""
    d = Direction.of(problem)
    tile = Tile.of(problem.dtype, info, d.filters, d.channels)
    geometry = d.geometry(variant.out)
    grid_rows, tiles_w = d.wide.dims[0] * geometry["TILES_H"], geometry["TILES_W"]
    most = SUM_ELEMENTS // variant.planes
    block_c = min(round_up(d.channels, tile.columns), max(1, math.isqrt(most) // tile.columns) * tile.columns)
    block_k = round_up(split_evenly(d.filters, most // block_c), tile.rows)
    depth = max(1, TILE_ELEMENTS // (variant.planes * (block_c + block_k)))
    cols = split_evenly(tiles_w, depth)
    segments = ceil_div(tiles_w, cols)
    rows = split_evenly(grid_rows, depth // cols) if segments == 1 else 1
    units = segments * ceil_div(grid_rows, rows)
    c_blocks, k_blocks = ceil_div(d.channels, block_c), ceil_div(d.filters, block_k)
    pairs = d.groups * c_blocks * k_blocks
    splits = min(units, ceil_div(JOBS_PER_CORE * info.compute_units, max(1, pairs)))
    jobs = splits * pairs
    work_groups = min(jobs, WORK_GROUPS_PER_CORE * info.compute_units)
    scratch = _scratch(variant, tile, block_k, block_c, cols, rows)
    defines: Defines = {
        **{name: value for name, value in geometry.items() if name not in ("CHANNELS", "FILTERS", "TILES")},
        **tile.defines(),
        **scratch,
        **dict(zip(("W_GROUP", "W_M", "W_CH", "W_H", "W_W", "W_FIRST"), d.taps, strict=True)),
        f"DTYPE_{problem.dtype.name}": 1,
        "OUT": variant.out,
        "SIDE": variant.out + 2,
        "GROUPS": d.groups,
        "C": d.channels,
        "K": d.filters,
        "BLOCK_C": block_c,
        "BLOCK_K": block_k,
        "C_BLOCKS": c_blocks,
        "K_BLOCKS": k_blocks,
        "SPLITS": splits,
        "JOBS": jobs,
        "UNITS": units,
        "SEGMENTS": segments,
        "GRID_ROWS": grid_rows,
        "TILE_COLS": cols,
        "TILE_ROWS": rows,
        "X_SPAN": d.wide.span,
        "DY_SPAN": d.narrow.span,
    }
    size = problem.dtype.accumulator.itemsize
    start = COUNTER_BYTES + round_up(jobs * variant.planes * block_k * block_c * size, 256)
    vectors_c, vectors_k = ceil_div(min(block_c, d.channels), tile.lanes), ceil_div(min(block_k, d.filters), tile.lanes)
    transforms = cols * (variant.image_cycles * vectors_c + variant.gradient_cycles * vectors_k)
    products = variant.planes * cols * block_k * block_c / (2 * tile.lanes)
    visit = variant.planes * block_k * 2 * block_c / tile.lanes
    unit = rows * (transforms + products) + visit
    cycles = ceil_div(pairs * units, info.compute_units) * unit + _sum_cycles(d, variant, splits) / info.compute_units
    workspace = start + work_groups * scratch["SCRATCH"] * size
    return Blocks(defines, (d.filters, c_blocks, d.groups), work_groups, start, workspace, cycles)


def _sum_cycles(d: Direction, variant: Variant, splits: int) -> float:
    return d.groups * d.filters * d.channels * (9 + variant.planes * splits / 8)


def _scratch(variant: Variant, tile: Tile, block_k: int, block_c: int, cols: int, rows: int) -> dict[str, int]:
    """Return where what lies in a work-group's scratch memory, in numbers of the arithmetic type."""
    out, depth = variant.out, rows * cols
    k_pitch = round_up(max(block_k, tile.lanes), 16)
    v_plane, u_plane = depth * block_c + 16, depth * k_pitch + 16  # + 16: planes fall into different sets of the cache
    line = round_up(cols * out + 2 + tile.lanes, tile.lanes)
    scratch_u = round_up(variant.planes * v_plane, 64)
    scratch_lines = round_up(scratch_u + variant.planes * u_plane, 64)
    scratch_channels = scratch_lines + (out + 2) * line * tile.lanes
    return {
        "PITCH": block_c,
        "K_PITCH": k_pitch,
        "SUM_ROWS": block_k,
        "V_PLANE": v_plane,
        "U_PLANE": u_plane,
        "LINE": line,
        "SCRATCH": round_up(scratch_channels + line * tile.lanes, 64),
        "SCRATCH_U": scratch_u,
        "SCRATCH_LINES": scratch_lines,
        "SCRATCH_CHANNELS": scratch_channels,
    }


class WinogradFilterCpu(Engine):
    """Backward filter: one launch starts a counter, one sums over shares of the tiles, one adds and transforms them."""

    problems = (ConvolutionBackwardFilter,)
    transforms = True

    def __init__(self, name: str, variant: Variant) -> None:
        self.name = name
        self.variant = variant

    def algo(self, problem: Problem) -> DnnEnum | None:
        wanted = ConvolutionBwdFilterAlgo
        return wanted.WINOGRAD if self.variant.out == 2 else wanted.WINOGRAD_NONFUSED

    def error_factor(self, problem: Problem) -> float:
        """Return 1 for F(3x3, 2x2) where sums are long enough to drown what products of transformed data are off."""
        assert isinstance(problem, Convolution)
        few = Direction.of(problem).tiles(self.variant.out)[0] < SUMMED
        return self.variant.error * (FEW_FACTOR if few else 1.0)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        return declined(problem, info, "cpu")

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if not problem.filter.size:
            return 0.0
        blocks = blocks_of(problem, info, self.variant)
        width = problem.dtype.accumulator.itemsize
        lanes = Tile.of(problem.dtype, info, 1).lanes
        rate = SHARE * info.flops * 4 / width / (4 * lanes * info.compute_units)  # tiles have 2 vectors a cycle
        sums = blocks.scratch_start - COUNTER_BYTES  # written, and read again from what is left of them in caches
        return blocks.cycles / rate + sums / info.bandwidth + 3 * LAUNCH_SECONDS

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return blocks_of(problem, info, self.variant).workspace if problem.filter.size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        blocks = blocks_of(problem, device.info, self.variant) if problem.filter.size else None
        return conv_cpu_filter.sum_of_shares(self, problem, device, FILE, "winograd_filter_cpu", blocks)


ENGINES = (
    WinogradFilterCpu("winograd_2x2_filter_cpu", Variant(2, 60, 40, 1.0)),
    WinogradFilterCpu("winograd_4x4_filter_cpu", Variant(4, 180, 120, 8.0)),
)
