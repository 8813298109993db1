"""Backward filter on CPUs through OpenCL: sums over shares of the image, then their ordered sum."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from portadnn.enums import ConvolutionBwdFilterAlgo, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardFilter
from portadnn.problem import Problem

from ....base import ConstantArg, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from ...rounding import ceil_div, round_up, split_evenly
from ..epilogue import BackwardFilterWithEpilogue, epilogue_args, epilogue_defines
from ..prologue import BackwardFilterWithPrologue, prologue_args, prologue_defines
from ..run_time_sizes import as_argument
from .common import (
    AXES,
    COUNTER_BYTES,
    WORK_GROUPS_PER_CORE,
    Axes,
    ConvCpu,
    Defines,
    Geometry,
    Tile,
    contiguous,
    per_axis,
)

UNIT_PIXELS = 256  # products summed per visit of a register tile
BLOCK_K = 128
BLOCK_ELEMENTS = 64 * 1024  # of scratch x and of the sums of a tile, which stay in the L2 cache
FILE = "opencl/conv/cpu_filter.cl"


@dataclass(frozen=True)
class Blocks:
    """How the sum is cut into tiles, and the memory that takes."""

    defines: Defines
    sum_grid: Axes
    work_groups: int
    scratch_start: int
    workspace: int
    sizes: tuple[ConstantArg, ...] = field(default=(), kw_only=True)  # of the defines, those that are an argument

    @property
    def shared(self) -> Blocks:
        """The same with a text that serves other sizes as well: what no inner loop needs becomes an argument."""
        last = all(self.defines[f"{of}_C_IS_ONE"] and not self.defines[f"{of}_W_IS_ONE"] for of in "XY")
        defines, sizes = as_argument(self.defines, (*_RUN_TIME, *_CHANNELS_LAST) if last else _RUN_TIME)
        return replace(self, defines=defines, sizes=sizes)


_RUN_TIME = (
    *(
        "C",
        "K",
        "BLOCK_C",
        "C_BLOCKS",
        "K_BLOCKS",
        "GROUPS",
        "SPLITS",
        "TILES",
        "TILE_SIZE",
        "UNITS",
        "UNITS_H",
        "UNITS_W",
    ),
    *("UNIT_ROWS", "UNIT_COLS", "IN_ROWS", "IN_COLS", "SCRATCH", "SCRATCH_X", "X_SPAN", "W_K", "W_C"),
    *(f"{of}_{axis}" for of in ("X", "Y") for axis in "NCDH"),
    *(f"{of}_{axis}" for of in ("IMAGE", "RESULT", "W") for axis in AXES),
)
_CHANNELS_LAST = ("X_W", "Y_W")  # where both tensors are, neither kind of row is a run of memory


def _unit(g: Geometry, lanes: int) -> tuple[int, int, int, int]:
    """Return rows and columns of the pixels that are summed at once, and of the image that these read."""
    height, width = g.result.size[1:]
    cols = split_evenly(width, UNIT_PIXELS)
    rows = split_evenly(height, UNIT_PIXELS // cols)
    in_rows = (rows - 1) * g.stride[1] + (g.taps[1] - 1) * g.dilation[1] + 1
    in_cols = (cols - 1) * g.stride[2] + (g.taps[2] - 1) * g.dilation[2] + 1
    if g.image.channel_stride == 1:  # rows are not written in order: keep what is written beyond one out of the next
        in_cols = round_up(in_cols, lanes) + lanes
    return rows, cols, in_rows, in_cols


def _channels_last(problem: Convolution) -> bool:
    """Tell whether a filter gradient is stored channels last; those of fused problems are added up as they were."""
    dims, strides = problem.filter.dims[1:], problem.filter.strides[1:]
    return strides[0] == 1 and not contiguous(dims, strides) and type(problem) is ConvolutionBackwardFilter


def blocks_of(problem: Convolution, info: DeviceInfo) -> Blocks:
    """Cut a backward-filter convolution into blocks."""
    g, w = Geometry.of(problem).subsampled(), problem.filter
    c, k, taps = g.image.channels // problem.groups, g.result.channels // problem.groups, math.prod(g.taps)
    lanes, wide = (t := Tile.of(problem.dtype, info, 1, k)).lanes, t.columns
    block_k = min(round_up(k, wide), max(1, BLOCK_K // wide) * wide)
    height, width = g.result.size[1:]
    unit_rows, unit_cols, in_rows, in_cols = _unit(g, lanes)
    plane = g.taps[0] * in_rows * in_cols
    block_c = split_evenly(c, BLOCK_ELEMENTS // max(plane, taps * block_k))
    near = _channels_last(problem)
    if near and block_c > lanes:
        block_c -= block_c % lanes
    tile = Tile.of(problem.dtype, info, block_c * taps, k)
    c_blocks, k_blocks = ceil_div(c, block_c), ceil_div(k, block_k)
    units_h, units_w = ceil_div(height, unit_rows), ceil_div(width, unit_cols)
    units = g.result.n * g.result.size[0] * units_h * units_w
    tiles = problem.groups * c_blocks * k_blocks
    splits = min(units, ceil_div(4 * info.compute_units, tiles))
    tile_size = round_up(block_c * taps, tile.rows) * block_k
    scratch_x = round_up(block_c * plane + lanes, 64)
    scratch = scratch_x + round_up(unit_rows * unit_cols * block_k, 64)
    work_groups = min(splits * tiles, WORK_GROUPS_PER_CORE * info.compute_units)
    size = problem.dtype.accumulator.itemsize
    partial = round_up(splits * tiles * tile_size * size, 256)
    defines: Defines = {
        **g.defines(problem),
        **tile.defines(),
        **({"W_CONTIGUOUS": 1} if contiguous(w.dims[1:], w.strides[1:]) else {}),
        "W_CHANNELS": int(near),
        "C": c,
        "K": k,
        "BLOCK_C": block_c,
        "BLOCK_K": block_k,
        "C_BLOCKS": c_blocks,
        "K_BLOCKS": k_blocks,
        "SPLITS": splits,
        "TILES": splits * tiles,
        "TILE_SIZE": tile_size,
        "UNITS": units,
        "UNITS_H": units_h,
        "UNITS_W": units_w,
        "UNIT_ROWS": unit_rows,
        "UNIT_COLS": unit_cols,
        "IN_ROWS": in_rows,
        "IN_COLS": in_cols,
        "SCRATCH": scratch,
        "SCRATCH_X": scratch_x,
        "X_SPAN": g.image.span,
        "W_K": w.strides[0],
        "W_C": w.strides[1],
        **g.image.defines("X"),
        **g.result.defines("Y"),
        **per_axis("IMAGE", g.image.size),
        **per_axis("RESULT", g.result.size),
        **epilogue_defines(problem),
        **prologue_defines(problem),
    }
    sum_grid = (ceil_div(k, lanes), c_blocks, problem.groups)
    scratch_start = COUNTER_BYTES + partial
    return Blocks(defines, sum_grid, work_groups, scratch_start, scratch_start + work_groups * scratch * size)


class ConvCpuFilter(ConvCpu):
    """Backward filter: one launch starts a counter, one sums over shares of the image, one adds the shares."""

    problems = (ConvolutionBackwardFilter, BackwardFilterWithEpilogue, BackwardFilterWithPrologue)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionBwdFilterAlgo.ALGO_1

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return blocks_of(problem, info).workspace if problem.filter.size else 0

    def computed_elements(self, problem: Problem, info: DeviceInfo) -> dict[str, float]:
        """Return x's, packed with its rim for each unit of pixels and block of filters, and dy's, for each of x's."""
        assert isinstance(problem, Convolution)
        n = blocks_of(problem, info).defines
        count = {name: int(n[name]) for name in ("UNITS", "C", "K", "C_BLOCKS", "K_BLOCKS", "TAPS_D")}
        rows, pixels = int(n["IN_ROWS"]) * int(n["IN_COLS"]), int(n["UNIT_ROWS"]) * int(n["UNIT_COLS"])
        each = count["UNITS"] * problem.groups
        return {
            "image": float(each * count["C"] * count["TAPS_D"] * rows * count["K_BLOCKS"]),
            "filter": float(each * count["K"] * pixels * count["C_BLOCKS"]),
        }

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        blocks = blocks_of(problem, device.info) if problem.filter.size else None
        if blocks is not None and type(problem) is ConvolutionBackwardFilter:  # written text may use any size
            blocks = blocks.shared
        return sum_of_shares(self, problem, device, FILE, "conv_cpu_filter", blocks)


def sum_of_shares(
    engine: Engine, problem: Problem, device: Device, file: str, name: str, blocks: Blocks | None
) -> Plan:
    """Return the plan of three kernels: NAME_start starts a counter, NAME sums by shares, NAME_sum adds these.

    `blocks` is None where there is nothing to compute.
    """
    if blocks is None:
        return Plan(problem, engine, 0, device.bind(()))
    real = problem.dtype.accumulator
    counter, partial = WorkspaceArg(0), WorkspaceArg(COUNTER_BYTES, real)
    launches = []
    if blocks.work_groups:
        start = device.compile(file, f"{name}_start", blocks.defines)
        launches.append(Launch(start, (1,), (1,), (counter,)))
        shares = device.compile(file, name, blocks.defines)
        scratch, operands = WorkspaceArg(blocks.scratch_start, real), prologue_args(problem, "image", "filter")
        args = (TensorArg(0), TensorArg(1), partial, scratch, counter, *blocks.sizes, *operands)
        launches.append(Launch(shares, (blocks.work_groups,), (1,), args))
    total = device.compile(file, f"{name}_sum", blocks.defines)
    blend = (ScalarArg(0, real), ScalarArg(1, real))
    sum_args = (partial, TensorArg(2), *blend, *blocks.sizes, *epilogue_args(problem))
    launches.append(Launch(total, blocks.sum_grid, (1, 1, 1), sum_args))
    return Plan(problem, engine, blocks.workspace, device.bind(launches), tuple(launches))
