"""Convolution on CPUs through OpenCL: implicit GEMM with one work-item per work-group and explicit vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionFwdAlgo, ConvolutionMode, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem

from ....base import LAUNCH_SECONDS, ConstantArg, Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from ...rounding import ceil_div, round_up, split_evenly
from ..epilogue import (
    BackwardDataWithEpilogue,
    ForwardWithEpilogue,
    epilogue_args,
    epilogue_defines,
    output,
    sums_of,
)
from ..prologue import (
    BackwardDataWithPrologue,
    ForwardWithPrologue,
    computed,
    prologue_args,
    prologue_defines,
)
from ..run_time_sizes import as_argument
from ..sums import Parts, after
from .common import (
    AXES,
    COUNTER_BYTES,
    WORK_GROUPS_PER_CORE,
    Axes,
    ConvCpu,
    Defines,
    Geometry,
    Image,
    Tile,
    channels_last,
    contiguous,
    per_axis,
)
from .filter import ConvCpuFilter

BLOCK_DEPTH = 256  # products summed per visit of a register tile: one panel of b stays in the L1 cache
BLOCK_COLUMNS = 256
BLOCK_ROWS = 512
BLOCK_ELEMENTS = 32 * 1024  # of block b, which stays in the L2 cache
_MOST_VECTORS = 4  # of a register tile; the last columns may be tiles of one
PACK_PANELS = 8  # packed side by side where the rows of a product are nearer neighbours than its channels
_LONG_ROW, _ROW_CLOCKS = 32, 26  # positions; clocks of a row's copy apart from its positions
_TRANSPOSED = 1.4  # times as long where blocks of the image and of the result are transposed
_PACK_CLOCKS = 3.0  # of a weight of such filters with several taps
_PHASE_WEIGHT, _PHASE_PIXEL = 1.0, 4.0  # clocks of a weight that is packed and a pixel that is stored, of phases
PACK_POSITIONS = 64  # for each tap: from there on packing the filter pays
FILE = "opencl/conv/cpu.cl"


def _filter_step(problem: Convolution, phases: Axes) -> int:
    """Return the step from one product of the sum to the next in the filter, or 0 where that varies."""
    k_stride, c_stride, *taps = problem.filter.strides
    backward = isinstance(problem, ConvolutionBackwardData)
    if math.prod(problem.filter.dims[2:]) == math.prod(phases) == 1:
        return k_stride if backward else c_stride
    if backward or problem.mode is ConvolutionMode.CONVOLUTION:
        return 0
    return 1 if contiguous(problem.filter.dims[1:], (c_stride, *taps)) else 0


@dataclass(frozen=True)
class Sum:
    """Forward or backward data as the one sum that the kernel computes; see conv/cpu.cl.

    Attributes
    ----------
    source, target : Image
        What is read and what is written.
    depth, rows : int
        Channels of `source` and of `target` in a group.
    phases : tuple
        Strides of `target` between positions: its pixels fall into that many phases per axis.
    tap_step, tap_shift, source_step : tuple
        From one tap of a phase to the next: in the filter and in `source`; from one position to the next in `source`.
    grid : tuple
        Positions per axis in the largest phase.
    filter_step : int
        From one product to the next in the filter, tap by tap and channel by channel; 0 where that varies.
    """

    geometry: Geometry
    source: Image
    target: Image
    depth: int
    rows: int
    phases: Axes
    tap_step: Axes
    tap_shift: Axes
    source_step: Axes
    grid: Axes
    filter_step: int

    @classmethod
    def of(cls, problem: Convolution) -> Sum:
        """Read a problem."""
        g = Geometry.of(problem)
        one: Axes = (1, 1, 1)
        source, target = g.image, g.result
        phases, tap_step, tap_shift, source_step = one, one, g.dilation, g.stride
        if isinstance(problem, ConvolutionBackwardData):
            source, target = target, source
            common = [math.gcd(s, d) for s, d in zip(g.stride, g.dilation, strict=True)]
            d, h, w = (s // c for s, c in zip(g.stride, common, strict=True))
            tap_step = (d, h, w)
            d, h, w = (-s // c for s, c in zip(g.dilation, common, strict=True))
            phases, tap_shift, source_step = g.stride, (d, h, w), one
        d, h, w = (ceil_div(size, phase) for size, phase in zip(target.size, phases, strict=True))
        depth, rows = source.channels // problem.groups, target.channels // problem.groups
        step = _filter_step(problem, phases)
        return cls(g, source, target, depth, rows, phases, tap_step, tap_shift, source_step, (d, h, w), step)

    @property
    def max_taps(self) -> int:
        """Taps of the phase that has the most."""
        return math.prod(ceil_div(t, s) for t, s in zip(self.geometry.taps, self.tap_step, strict=True))

    def defines(self, problem: Convolution) -> Defines:
        """Return the geometry as defines."""
        k_stride, c_stride = problem.filter.strides[:2]
        backward = isinstance(problem, ConvolutionBackwardData)
        epilogue, z = epilogue_defines(problem), self.geometry.z
        return {
            **self.geometry.defines(problem),
            **({"BACKWARD_DATA": 1} if backward else {}),
            "M": self.rows,
            "CH": self.depth,
            "MAX_TAPS": self.max_taps,
            "SRC_SPAN": self.source.span,
            "DST_STEP_W": self.phases[2] * self.target.strides[2],
            "DST_STEP_W_IS_ONE": int(self.phases[2] * self.target.strides[2] == 1),
            "W_GROUP": problem.filter.dims[0] // problem.groups * k_stride,
            "W_M": c_stride if backward else k_stride,
            "W_CH": k_stride if backward else c_stride,
            "STEP_OF_W": "W_STEP" if self.filter_step else 0,
            **({"W_STEP": self.filter_step, "W_STEP_IS_ONE": int(self.filter_step == 1)} if self.filter_step else {}),
            **self.source.defines("S"),
            **self.target.defines("D"),
            **per_axis("SRC", self.source.size),
            **per_axis("DST", self.target.size),
            **per_axis("GRID", self.grid),
            **per_axis("PHASES", self.phases),
            **per_axis("TAP_STEP", self.tap_step),
            **per_axis("TAP_SHIFT", self.tap_shift),
            **per_axis("SRC_STEP", self.source_step),
            **epilogue,
            **prologue_defines(problem),
            **(z.defines("Z") if z and "Z_STRIDES" in epilogue else {}),
        }


@dataclass(frozen=True)
class Blocks:
    """How a sum is cut into tiles, and the memory that takes."""

    defines: Defines
    pack_grid: Axes | None
    work_groups: int
    scratch_start: int
    workspace: int
    sizes: tuple[ConstantArg, ...] = field(default=(), kw_only=True)  # of the defines, those that are an argument

    @property
    def shared(self) -> Blocks:
        """The same with a text that serves other sizes as well: what no inner loop needs becomes an argument."""
        last = all(self.defines[f"{of}_C_IS_ONE"] and not self.defines[f"{of}_W_IS_ONE"] for of in "SD")
        defines, sizes = as_argument(self.defines, (*_RUN_TIME, *_CHANNELS_LAST) if last else _RUN_TIME)
        return replace(self, defines=defines, sizes=sizes)


_SUM_SIZES = ("M", "CH", "GROUPS", "SRC_SPAN", "W_GROUP", "W_M", "W_CH", "W_STEP", "M_PADDED", "TILE_M", "M_BLOCKS")
_TILE_SIZES = ("BLOCK_CH", "TILES", "TILE_ROWS", "TILE_COLS", "GRID_ROWS", "ROW_BLOCKS", "SEGMENTS", "PITCH", "SCRATCH")
_RUN_TIME = (
    *(*_SUM_SIZES, *_TILE_SIZES, "SCRATCH_B"),
    *(f"{of}_{axis}" for of in ("S", "D") for axis in "NCDH"),
    *(f"{of}_{axis}" for of in ("SRC", "DST", "GRID", "W") for axis in AXES),
)
_CHANNELS_LAST = ("S_W", "D_W", "DST_STEP_W")  # where both tensors are, neither kind of row is a run of memory
_PLAIN = (ConvolutionForward, ConvolutionBackwardData)  # whose epilogue is no text that may use any size


def _tile_size(total: Sum, groups: int, cols: int, most: int, tile: Tile, units: int) -> tuple[int, int]:
    """Return how many channels of the target and rows of positions a work-group takes at once.

    Those of the least work for the busiest core, in its cycles for each product that is summed: two multiply-adds of
    vectors at a time, half a cycle to fetch a weight, and copies into b, where short rows cost more.
    """
    grid_rows = total.target.n * total.grid[0] * total.grid[1]
    others = groups * math.prod(total.phases) * ceil_div(total.grid[2], cols)

    def cost(size: tuple[int, int]) -> float:
        channels, rows = size
        tiles = others * ceil_div(total.rows, channels) * ceil_div(grid_rows, rows)
        products = channels * (_vectors(rows * cols, tile) / 2 + 0.5)
        copies = rows * (3 + 2 * cols / tile.lanes)
        return ceil_div(tiles, units) * (products + copies)

    fewest = ceil_div(total.rows, BLOCK_ROWS)
    channels = {round_up(ceil_div(total.rows, n), tile.rows) for n in range(fewest, fewest + 8)}
    rows = range(1, max(1, min(grid_rows, most // cols)) + 1)
    return min(((m, r) for m in sorted(channels, reverse=True) for r in reversed(rows)), key=cost)


def _vectors(columns: int, tile: Tile) -> float:
    """Return the vectors of so many columns' register tiles; one alone takes as long as 4/3, for its sums wait."""
    whole, rest = divmod(columns, tile.columns)
    few = ceil_div(rest, tile.lanes)
    return whole * tile.vectors + (few * 4 / 3 if few <= 2 and tile.vectors == _MOST_VECTORS else tile.vectors)


def _short_rows(problem: Convolution, info: DeviceInfo) -> float:
    """Estimate what rows of few positions cost more than long ones: each is copied once for a channel and tap."""
    total = Sum.of(problem)
    cols = min(total.grid[2], _LONG_ROW)
    rows = total.target.n * total.grid[0] * total.grid[1] * ceil_div(total.rows, BLOCK_ROWS)
    copies = problem.groups * total.depth * math.prod(total.geometry.taps) * rows
    return copies * _ROW_CLOCKS * (1 - cols / _LONG_ROW) * 4 * max(info.simd_width, 1) / info.flops


def _phases(problem: Convolution, info: DeviceInfo) -> float:
    """Estimate what phases cost: taps of each are picked from the filter, and results scattered."""
    if math.prod(Sum.of(problem).phases) == 1:
        return 0.0
    clocks = _PHASE_WEIGHT * problem.filter.size + _PHASE_PIXEL * problem.image.size
    return clocks * 4 * max(info.simd_width, 1) / info.flops


def _packs(total: Sum, problem: Convolution) -> bool:
    """Tell whether the filter is packed before; otherwise it is read where it lies, which saves a pass over it.

    Packing pays where a row of weights is no run of memory and there are many positions to use it for, or where a
    channel's taps lie far apart: every product would fetch a line.
    """
    if problem.dtype.accumulator is not problem.dtype or computed(problem, "filter"):
        return True
    if total.filter_step == 1:
        return False
    positions = total.target.n * math.prod(total.grid)
    dims, strides = problem.filter.dims[2:], problem.filter.strides[2:]
    apart = sum((size - 1) * stride for size, stride in zip(dims, strides, strict=True)) >= math.prod(dims)
    return apart or math.prod(total.phases) > 1 or positions > PACK_POSITIONS * total.max_taps


def blocks_of(problem: Convolution, info: DeviceInfo) -> Blocks:
    """Cut a forward or backward-data convolution into blocks."""
    total = Sum.of(problem)
    taps, planes = total.max_taps, math.prod(total.phases) * problem.groups
    tile = Tile.of(problem.dtype, info, total.rows)
    block = split_evenly(total.depth, BLOCK_DEPTH // taps)
    if total.source.channel_stride == 1:  # channels are copied side by side, whole vectors of them
        block = round_up(block, tile.lanes)
    columns = max(tile.columns, min(BLOCK_COLUMNS, BLOCK_ELEMENTS // (block * taps)))
    cols = min(total.grid[2], round_up(split_evenly(total.grid[2], columns), tile.columns))
    tile_m, rows = _tile_size(total, problem.groups, cols, columns, tile, info.compute_units)
    grid_rows = total.target.n * total.grid[0] * total.grid[1]
    m_blocks = ceil_div(total.rows, tile_m)
    row_blocks, segments = ceil_div(grid_rows, rows), ceil_div(total.grid[2], cols)
    tiles = planes * m_blocks * row_blocks * segments
    pitch = round_up(rows * cols, tile.columns) + 16  # + 16: rows of b fall into different sets of the L1 cache
    scratch_b = round_up(block * taps * pitch, 64)
    scratch = round_up(scratch_b + tile_m * pitch, 64)
    m_padded = round_up(total.rows, tile.rows)
    work_groups = min(tiles, WORK_GROUPS_PER_CORE * info.compute_units)
    size = problem.dtype.accumulator.itemsize
    packs = _packs(total, problem)
    geometry = total.defines(problem)
    pack_panels = PACK_PANELS if geometry["W_M"] < geometry["W_CH"] else 1  # type: ignore[operator]
    packed = round_up(planes * total.depth * taps * m_padded * size, 256) if packs else 0
    defines: Defines = {
        **geometry,
        **tile.defines(),
        **({"PACKED": 1} if packs else {}),
        "PACK_PANELS": pack_panels,
        "SHORT_TILES": int(tile.vectors == _MOST_VECTORS),
        "AT_ONCE": int(type(problem) in _PLAIN and math.prod(total.phases) == total.target.strides[2] == 1),
        "M_PADDED": m_padded,
        "TILE_M": tile_m,
        "M_BLOCKS": m_blocks,
        "BLOCK_CH": block,
        "WHOLE_VECTORS": int(block >= tile.lanes and total.source.channel_stride == 1),
        "TILES": tiles,
        "TILE_ROWS": rows,
        "TILE_COLS": cols,
        "GRID_ROWS": grid_rows,
        "ROW_BLOCKS": row_blocks,
        "SEGMENTS": segments,
        "PITCH": pitch,
        "SCRATCH": scratch,
        "SCRATCH_B": scratch_b,
    }
    pack_grid = (
        (ceil_div(m_padded // tile.rows, pack_panels), max(1, ceil_div(total.depth, block)), planes) if packs else None
    )
    scratch_start = COUNTER_BYTES + packed
    return Blocks(defines, pack_grid, work_groups, scratch_start, scratch_start + work_groups * scratch * size)


class ConvCpuGemm(ConvCpu):
    """Forward and backward data: one launch packs the filter, one does the rest."""

    problems = (
        ConvolutionForward,
        ConvolutionBackwardData,
        ConvolutionBiasActivationForward,
        ForwardWithEpilogue,
        BackwardDataWithEpilogue,
        ForwardWithPrologue,
        BackwardDataWithPrologue,
    )

    def algo(self, problem: Problem) -> DnnEnum | None:
        backward = isinstance(problem, ConvolutionBackwardData)
        return ConvolutionBwdDataAlgo.ALGO_1 if backward else ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM

    def computed_elements(self, problem: Problem, info: DeviceInfo) -> dict[str, float]:
        """Return the image's, which is packed for each tap and block of channels, and the filter's, packed once."""
        assert isinstance(problem, Convolution)
        total, blocks = Sum.of(problem), int(blocks_of(problem, info).defines["M_BLOCKS"])
        positions = total.target.n * math.prod(total.grid) * problem.groups
        return {
            "image": float(positions * math.prod(total.geometry.taps) * total.depth * blocks),
            "filter": float(problem.filter.size),
        }

    def parts(self, problem: Problem, info: DeviceInfo) -> Parts:
        """Return where the sums that text takes are left: a part of each tile."""
        assert isinstance(problem, Convolution)
        sums = sums_of(problem)
        assert sums is not None
        blocks = blocks_of(problem, info)
        numbers = blocks.defines
        phases = math.prod(int(numbers[f"PHASES_{axis}"]) for axis in "DHW")
        columns = phases * int(numbers["ROW_BLOCKS"]) * int(numbers["SEGMENTS"])
        return Parts(sums.slices(problem.groups, int(numbers["M_BLOCKS"]), columns), after(blocks.workspace))

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        seconds = super().seconds(problem, info)
        if type(problem) not in _PLAIN:  # beside separate nodes, whose launches and passes over memory are not known
            return seconds
        if channels_last(problem):
            packed = problem.filter.size if math.prod(problem.filter.dims[2:]) > 1 else 0
            clocks = _PACK_CLOCKS * packed * 4 * max(info.simd_width, 1) / info.flops
            return seconds + (_TRANSPOSED - 1) * (seconds - 2 * LAUNCH_SECONDS) + clocks
        return seconds + _short_rows(problem, info) + _phases(problem, info)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return blocks_of(problem, info).workspace if problem.tensors[-1].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[-1].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        blocks = blocks_of(problem, device.info)
        if type(problem) in _PLAIN:
            blocks = blocks.shared
        real = problem.dtype.accumulator
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        counter, packed = WorkspaceArg(0), WorkspaceArg(COUNTER_BYTES, real)
        if blocks.pack_grid:
            pack = device.compile(FILE, "conv_cpu_pack", blocks.defines)
            pack_args = (TensorArg(weights), packed, counter, *blocks.sizes, *prologue_args(problem, "filter"))
            first = Launch(pack, blocks.pack_grid, (1, 1, 1), pack_args)
        else:
            first = Launch(device.compile(FILE, "conv_cpu_start", blocks.defines), (1,), (1,), (counter,))
        gemm = device.compile(FILE, "conv_cpu_gemm", blocks.defines)
        args = (
            TensorArg(source),
            output(problem),
            packed if blocks.pack_grid else TensorArg(weights),
            WorkspaceArg(blocks.scratch_start, real),
            counter,
            ScalarArg(0, real),
            ScalarArg(1, real),
            *blocks.sizes,
            *epilogue_args(problem, blocks.workspace),
            *prologue_args(problem, "image"),
        )
        launches = (
            first,
            Launch(gemm, (blocks.work_groups,), (1,), args),
        )
        return Plan(problem, self, blocks.workspace, device.bind(launches), launches)


ENGINES = (ConvCpuGemm(), ConvCpuFilter())
