"""Winograd's convolution with 3x3 filters on CPUs through OpenCL: forward and backward data."""

from __future__ import annotations

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionFwdAlgo, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem

from ...base import (
    LAUNCH_SECONDS,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from ..conv.cpu.common import COUNTER_BYTES, WORK_GROUPS_PER_CORE, Defines, Tile, channels_last
from ..conv.epilogue import (
    BackwardDataWithEpilogue,
    ForwardWithEpilogue,
    epilogue_args,
    epilogue_defines,
    output,
    sums_of,
)
from ..layouts import strides
from ..rounding import ceil_div, round_up, split_evenly
from . import channels_last_cpu
from .cpu_blocks import Blocks, Variant, filter_defines, pack_defines
from .geometry import Direction, declined

FILE, CHANNELS_LAST = "opencl/winograd/winograd_cpu.cl", "opencl/winograd/channels_last_cpu.cl"
PACK = "opencl/winograd/pack_cpu.cl"
BLOCK_DEPTH = 256  # products summed per visit of a register tile: one panel of v stays in the L1 cache
SOURCE_ELEMENTS = 256 * 1024  # of the transformed inputs of a work-group, about the L2 cache
TARGET_ELEMENTS = 64 * 1024  # of the products at a time
SUMMED = 16  # terms from which a sum of transformed data stays within the tolerance of a plain sum
FEW_FACTOR = 2.0  # what fewer may exceed it by
SHARE = 0.8  # of the device's multiply-adds, beside the 0.72 that the implicit product's estimate counts on
_CACHED = 8 << 20  # bytes of the transformed filter that stay in a cache
_TRANSPOSITION = 0.4  # clocks of an element that is transposed
_FILTER = {True: 1.0, False: 0.5}  # clocks of a weight's transform in vectors of 16, by whether channels are neighbours


def blocks_of(problem: Convolution, info: DeviceInfo, variant: Variant) -> Blocks:
    """Cut a convolution into blocks."""
    d = Direction.of(problem)
    tile = Tile.of(problem.dtype, info, d.filters)
    geometry = d.geometry(variant.out)
    grid_rows, tiles_w = d.wide.dims[0] * geometry["TILES_H"], geometry["TILES_W"]
    panels = ceil_div(d.filters, tile.rows)
    most = max(2 * tile.columns, SOURCE_ELEMENTS // (variant.planes * max(1, d.channels)))
    cols = split_evenly(tiles_w, most)
    segments = ceil_div(tiles_w, cols)
    size, cycles = _block_size(d, variant, tile, info, (panels, grid_rows, segments, cols, most))
    blocks = d.groups * ceil_div(panels, size[0]) * ceil_div(grid_rows, size[1]) * segments
    work_groups = min(blocks, WORK_GROUPS_PER_CORE * info.compute_units)
    scratch = _scratch(d, variant, tile, size, cols)
    defines: Defines = {
        **geometry,
        **tile.defines(),
        **scratch,
        f"DTYPE_{problem.dtype.name}": 1,
        "OUT": variant.out,
        "SIDE": variant.side,
        "CH": d.channels,
        "M": d.filters,
        "M_PADDED": panels * tile.rows,
        "GRID_ROWS": grid_rows,
        "SRC_SPAN": d.wide.span,
        "D_C": geometry["OUT_C"],
        "D_C_IS_ONE": int(geometry["OUT_C"] == 1),
        "DST_STEP_W": geometry["OUT_W"],
        "DST_STEP_W_IS_ONE": int(geometry["OUT_W"] == 1),
        "BLOCKS": blocks,
        "BLOCK_CH": BLOCK_DEPTH,
        "M_BLOCKS": ceil_div(panels, size[0]),
        "ROW_BLOCKS": ceil_div(grid_rows, size[1]),
        "TILE_COLS": cols,
        "SEGMENTS": segments,
        "PANEL_REST": tile.lanes,
        **filter_defines(d),
        **epilogue_defines(problem),
    }
    if isinstance(problem, ConvolutionBiasActivationForward) and "Z_STRIDES" in defines:
        defines.update(zip(("Z_N", "Z_C", "Z_H", "Z_W"), strides(problem.z), strict=True))
    bytes_each = problem.dtype.accumulator.itemsize
    panel = d.channels * tile.rows + tile.lanes
    packed = round_up(d.groups * variant.planes * panels * panel * bytes_each, 256)
    start = COUNTER_BYTES + packed
    workspace = start + work_groups * scratch["SCRATCH"] * bytes_each
    return Blocks(defines, tile.rows, (panels, d.groups), work_groups, start, workspace, cycles, packed)


def _block_size(
    d: Direction, variant: Variant, tile: Tile, info: DeviceInfo, grid: tuple[int, int, int, int, int]
) -> tuple[tuple[int, int], float]:
    """Return the panels of filters and the rows of tiles of a block, and the cycles of the busiest core with them."""
    panels, grid_rows, segments, cols, most = grid
    vectors, out = ceil_div(cols, tile.lanes), variant.out

    def cost(size: tuple[int, int]) -> float:
        blocks = d.groups * ceil_div(panels, size[0]) * ceil_div(grid_rows, size[1]) * segments
        filters = size[0] * tile.rows
        columns = round_up(size[1] * cols, tile.columns)
        products = variant.planes * d.channels * filters * (columns / (2 * tile.lanes) + 0.5)
        inputs = variant.side * (10 + 2 * out * vectors) + variant.input_cycles * vectors
        outputs = variant.output_cycles * vectors + out * (10 + 2 * out * vectors)
        block = products + size[1] * (d.channels * inputs + filters * outputs)
        return ceil_div(blocks, info.compute_units) * block

    rows = range(1, max(1, min(grid_rows, most // cols)) + 1)
    splits = {ceil_div(panels, n) for n in range(1, 9)}
    size = min(((p, r) for p in sorted(splits, reverse=True) for r in reversed(rows)), key=cost)
    return size, cost(size)


def _scratch(d: Direction, variant: Variant, tile: Tile, size: tuple[int, int], cols: int) -> dict[str, int]:
    """Return where what lies in a work-group's scratch memory, in numbers of the arithmetic type."""
    out, planes = variant.out, variant.planes
    tile_m, tile_rows = size[0] * tile.rows, size[1]
    pitch = round_up(tile_rows * cols, tile.columns) + 16
    chunk = min(tile_m, max(1, TARGET_ELEMENTS // (planes * pitch * tile.rows)) * tile.rows)
    copied = tile.lanes if d.together(d.wide) and d.wide.strides[3] != 1 else 1
    out_line = round_up(cols, tile.lanes) * out
    line = round_up(out_line + tile.lanes + 4, 16)
    v_plane, c_plane = d.channels * pitch + 16, chunk * pitch + 16  # + 16: planes fall into different sets of the cache
    scratch_c = round_up(planes * v_plane, 64)
    scratch_lines = round_up(scratch_c + planes * c_plane, 64)
    scratch_out = round_up(scratch_lines + copied * variant.side * line, 64)
    return {
        "TILE_M": tile_m,
        "TILE_ROWS": tile_rows,
        "CHUNK": chunk,
        "COPIED": copied,
        "PITCH": pitch,
        "LINE": line,
        "OUT_LINE": out_line,
        "V_PLANE": v_plane,
        "C_PLANE": c_plane,
        "SCRATCH": round_up(scratch_out + out * chunk * out_line, 64),
        "SCRATCH_C": scratch_c,
        "SCRATCH_LINES": scratch_lines,
        "SCRATCH_OUT": scratch_out,
    }


class WinogradCpu(Engine):
    """Forward and backward data: one launch transforms the filter, one does the rest."""

    problems = (
        ConvolutionForward,
        ConvolutionBackwardData,
        ConvolutionBiasActivationForward,
        ForwardWithEpilogue,
        BackwardDataWithEpilogue,
    )
    transforms = True

    def __init__(self, name: str, variant: Variant) -> None:
        self.name = name
        self.variant = variant

    def algo(self, problem: Problem) -> DnnEnum | None:
        kind = ConvolutionBwdDataAlgo if isinstance(problem, ConvolutionBackwardData) else ConvolutionFwdAlgo
        return kind.WINOGRAD if self.variant.out == 2 else kind.WINOGRAD_NONFUSED

    def error_factor(self, problem: Problem) -> float:
        """Return 1 for F(2x2, 3x3) where sums are long enough to drown what products of transformed data are off."""
        assert isinstance(problem, Convolution)
        few = Direction.of(problem).channels < SUMMED
        return self.variant.error * (FEW_FACTOR if few else 1.0)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        if sums_of(problem) is not None:
            return "it takes no sums of its results"
        return declined(problem, info, "cpu")

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if problem.tensors[-1].size == 0:
            return 0.0
        if channels_last_cpu.takes(problem):
            return channels_last_cpu.seconds(problem, info, self.variant)
        lanes = Tile.of(problem.dtype, info, 1).lanes
        width = 4 if problem.dtype.accumulator.itemsize == 4 else 8
        rate = (
            SHARE * info.flops * 4 / width / (4 * lanes * info.compute_units)
        )  # register tiles have 2 vectors a cycle
        blocks = blocks_of(problem, info, self.variant)
        clocks = blocks.cycles
        if channels_last(problem):
            clocks += _TRANSPOSITION * (problem.image.size + problem.result.size) / info.compute_units
        if lanes > 8:
            clocks += _FILTER[problem.filter.strides[1] == 1] * problem.filter.size / info.compute_units
        moved = 3 * blocks.packed if blocks.packed > _CACHED else 0
        return clocks / rate + moved / info.bandwidth + 2 * LAUNCH_SECONDS

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return self._blocks(problem, info)[0].workspace if problem.tensors[-1].size else 0

    def _blocks(self, problem: Convolution, info: DeviceInfo) -> tuple[Blocks, str, str]:
        """Return how the work is cut, and the kernel's file and name."""
        if channels_last_cpu.takes(problem):
            return channels_last_cpu.blocks_of(problem, info, self.variant), CHANNELS_LAST, "winograd_channels_last"
        return blocks_of(problem, info, self.variant), FILE, "winograd_cpu"

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[-1].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        blocks, file, name = self._blocks(problem, device.info)
        real = problem.dtype.accumulator
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        counter, packed = WorkspaceArg(0), WorkspaceArg(COUNTER_BYTES, real)
        transform = device.compile(PACK, "winograd_cpu_filter", pack_defines(blocks))
        convolve = device.compile(file, name, blocks.defines)
        args = (
            TensorArg(source),
            output(problem),
            packed,
            WorkspaceArg(blocks.scratch_start, real),
            counter,
            ScalarArg(0, real),
            ScalarArg(1, real),
            *epilogue_args(problem),
        )
        launches = (
            Launch(transform, blocks.filter_grid, (1, 1), (TensorArg(weights), packed, counter)),
            Launch(convolve, (blocks.work_groups,), (1,), args),
        )
        return Plan(problem, self, blocks.workspace, device.bind(launches), launches)


ENGINES = (
    WinogradCpu("winograd_2x2_cpu", Variant(2, 40, 20, 1.0)),
    WinogradCpu("winograd_4x4_cpu", Variant(4, 120, 60, 8.0)),
)
