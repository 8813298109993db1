"""Convolution on CPUs through OpenCL: implicit GEMM with one work-item per work-group and explicit vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DataType,
    DnnEnum,
)
from portadnn.ops.convolution import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem, TensorSpec

from ..base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg

Defines = dict[str, int | float | str]
Axes = tuple[int, int, int]  # depth, height, width

BLOCK_DEPTH = 256  # products summed per visit of a register tile: one panel of b stays in the L1 cache
BLOCK_COLUMNS = 256
BLOCK_ELEMENTS = 32 * 1024  # of a block that stays in the L2 cache
AXES = "DHW"


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _round_up(a: int, b: int) -> int:
    return _ceil(a, b) * b


def _axes(values: tuple[int, ...], fill: int) -> Axes:
    """Return two or three numbers per spatial axis as three: a 2-D problem is one of depth 1."""
    d, h, w = (fill,) * (3 - len(values)) + values
    return d, h, w


def _per_axis(name: str, values: Axes) -> Defines:
    return {f"{name}_{axis}": value for axis, value in zip(AXES, values, strict=True)}


@dataclass(frozen=True)
class Image:
    """A tensor as (n, channels, d, h, w): dims and strides."""

    n: int
    channels: int
    size: Axes
    n_stride: int
    channel_stride: int
    strides: Axes
    span: int

    @classmethod
    def of(cls, spec: TensorSpec) -> Image:
        """Read a 4-D or 5-D tensor; a stride along an axis of 1 counts as 0."""
        strides = tuple(s if d > 1 else 0 for d, s in zip(spec.dims, spec.strides, strict=True))
        return cls(
            spec.dims[0],
            spec.dims[1],
            _axes(spec.dims[2:], 1),
            strides[0],
            strides[1],
            _axes(strides[2:], 0),
            spec.span,
        )

    def flat(self) -> Image | None:
        """Return the image with its pixels as one row, or None where they are not evenly spaced."""
        step, run = 0, 1
        for size, stride in zip(reversed(self.size), reversed(self.strides), strict=True):
            if size == 1:
                continue
            step = step or stride
            if stride != step * run:
                return None
            run *= size
        return Image(self.n, self.channels, (1, 1, run), self.n_stride, self.channel_stride, (0, 0, step), self.span)

    def defines(self, prefix: str) -> Defines:
        """Return the strides as defines."""
        return {f"{prefix}_N": self.n_stride, f"{prefix}_C": self.channel_stride} | _per_axis(prefix, self.strides)


def _storage(dtype: DataType) -> Defines:
    return {f"DTYPE_{dtype.name}": 1}


def _vector(dtype: DataType, info: DeviceInfo) -> tuple[int, int]:
    """Return lanes of a vector, and vectors across the register tile."""
    lanes = max(4, min(16, info.simd_width))
    return lanes * 4 // dtype.accumulator.itemsize, 4 if lanes == 16 else 2


def _tile_rows(rows: int) -> int:
    """Return the height (1 to 6) of the register tile that takes the fewest steps for that many rows."""
    return min(range(6, 0, -1), key=lambda mr: _ceil(rows, mr) * (mr + 1))


def _filter_strides(problem: Convolution) -> tuple[int, int, Axes]:
    strides = problem.filter.strides
    return strides[0], strides[1], _axes(strides[2:], 0)


@dataclass(frozen=True)
class Gemm:
    """The blocks of a forward or backward-data convolution, and the memory they need."""

    defines: Defines
    pack_grid: Axes
    work_groups: int
    packed_bytes: int
    workspace: int


def _columns(rows: int, width: int, tile_width: int, columns: int, units: int) -> tuple[int, int]:
    """Choose (rows, columns) of a tile: least work of the busiest core, rounding to register tiles included."""
    width_tile = _ceil(width, _ceil(width, max(columns, tile_width)))
    segments = _ceil(width, width_tile)

    def cost(count: int) -> tuple[int, int]:
        tiles = _ceil(rows, count) * segments
        return _ceil(tiles, units) * (_round_up(count * width_tile, tile_width) + tile_width // 2), -count

    most = max(1, min(rows, columns // width_tile))
    return min(range(1, most + 1), key=cost), width_tile


def _gemm(problem: Convolution, info: DeviceInfo) -> Gemm:
    backward = isinstance(problem, ConvolutionBackwardData)
    source = Image.of(problem.result if backward else problem.image)
    target = Image.of(problem.image if backward else problem.result)
    groups = problem.groups
    depth_channels, m = source.channels // groups, target.channels // groups
    taps = _axes(problem.filter.dims[2:], 1)
    pad, stride, dilation = (
        _axes(problem.padding, 0),
        _axes(problem.stride, 1),
        _axes(problem.dilation, 1),
    )
    if taps == stride == (1, 1, 1) and pad == (0, 0, 0):
        flat_source, flat_target = source.flat(), target.flat()
        if flat_source and flat_target:
            source, target = flat_source, flat_target
    common = tuple(math.gcd(s, d) for s, d in zip(stride, dilation, strict=True))
    one = (1, 1, 1)
    if backward:
        phases = stride
        tap_step = tuple(s // g for s, g in zip(stride, common, strict=True))
        tap_shift = tuple(-d // g for d, g in zip(dilation, common, strict=True))
        source_step = one
    else:
        phases, tap_step, tap_shift, source_step = one, one, dilation, stride
    grid = tuple(_ceil(size, phase) for size, phase in zip(target.size, phases, strict=True))
    max_taps = math.prod(_ceil(t, s) for t, s in zip(taps, tap_step, strict=True))

    lanes, vectors = _vector(problem.dtype, info)
    nr, mr = lanes * vectors, _tile_rows(m)
    channel_blocks = max(1, _ceil(depth_channels * max_taps, BLOCK_DEPTH))
    block = max(1, _ceil(depth_channels, channel_blocks))
    if source.channel_stride == 1:  # whole vectors of channels
        block = _round_up(block, lanes)
    tile_m = _round_up(_ceil(m, max(1, _ceil(m, BLOCK_COLUMNS))), mr)
    columns = min(BLOCK_COLUMNS, BLOCK_ELEMENTS // (block * max_taps))
    grid_rows = target.n * grid[0] * grid[1]
    planes = math.prod(phases) * groups * _ceil(m, tile_m)
    tile_rows, tile_cols = _columns(grid_rows, grid[2], nr, columns, info.compute_units)
    row_blocks, segments = _ceil(grid_rows, tile_rows), _ceil(grid[2], tile_cols)
    tiles = planes * row_blocks * segments
    pitch = _round_up(tile_rows * tile_cols, nr) + 16  # + 16: rows of b fall into different sets of the L1 cache
    scratch_b = _round_up(block * max_taps * pitch + lanes, 64)
    scratch = scratch_b + tile_m * pitch
    scratch = _round_up(scratch, 64)
    m_padded = _round_up(m, mr)
    work_groups = min(tiles, 8 * info.compute_units)
    size = problem.dtype.accumulator.itemsize
    panels = m_padded // mr
    packed = _round_up(math.prod(phases) * groups * depth_channels * max_taps * m_padded * size, 256)
    k_stride, c_stride, w_strides = _filter_strides(problem)
    k_per_group = problem.filter.dims[0] // groups
    defines: Defines = {
        **_storage(problem.dtype),
        "VW": lanes,
        "NV": vectors,
        "MR": mr,
        "M": m,
        "M_PADDED": m_padded,
        "TILE_M": tile_m,
        "M_BLOCKS": _ceil(m, tile_m),
        "CH": depth_channels,
        "BLOCK_CH": block,
        "MAX_TAPS": max_taps,
        "GROUPS": groups,
        "TILES": tiles,
        "TILE_ROWS": tile_rows,
        "TILE_COLS": tile_cols,
        "ROW_BLOCKS": row_blocks,
        "SEGMENTS": segments,
        "PITCH": pitch,
        "SCRATCH": scratch,
        "SCRATCH_B": scratch_b,
        "GRID_ROWS": grid_rows,
        "SRC_SPAN": source.span,
        "DST_STEP_W": phases[2] * target.strides[2],
        "W_GROUP": k_per_group * k_stride,
        "W_M": c_stride if backward else k_stride,
        "W_CH": k_stride if backward else c_stride,
        **source.defines("S"),
        **target.defines("D"),
        **_per_axis("W", w_strides),
        **_per_axis("SRC", source.size),
        **_per_axis("DST", target.size),
        **_per_axis("GRID", grid),
        **_per_axis("PHASES", phases),
        **_per_axis("TAPS", taps),
        **_per_axis("PAD", pad),
        **_per_axis("STRIDE", stride),
        **_per_axis("DILATION", dilation),
        **_per_axis("TAP_STEP", tap_step),
        **_per_axis("TAP_SHIFT", tap_shift),
        **_per_axis("SRC_STEP", source_step),
    }
    if backward:
        defines["BACKWARD_DATA"] = 1
    if problem.mode is ConvolutionMode.CONVOLUTION:
        defines["FLIP"] = 1
    pack_grid = (panels, _ceil(depth_channels, block), math.prod(phases) * groups)
    return Gemm(defines, pack_grid, work_groups, packed, packed + work_groups * scratch * size)


def _contiguous(spec: TensorSpec) -> bool:
    """Tell whether the elements of one filter lie side by side, in the order of their dims."""
    step = 1
    for size, stride in zip(reversed(spec.dims[1:]), reversed(spec.strides[1:]), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


@dataclass(frozen=True)
class FilterGemm:
    """The blocks of a backward-filter convolution, and the memory they need."""

    defines: Defines
    sum_grid: Axes
    work_groups: int
    partial_bytes: int
    workspace: int


def _filter_gemm(problem: Convolution, info: DeviceInfo) -> FilterGemm:
    image, result = Image.of(problem.image), Image.of(problem.result)
    groups = problem.groups
    c, k = image.channels // groups, result.channels // groups
    taps = _axes(problem.filter.dims[2:], 1)
    pad, stride, dilation = (
        _axes(problem.padding, 0),
        _axes(problem.stride, 1),
        _axes(problem.dilation, 1),
    )
    if taps == stride == (1, 1, 1) and pad == (0, 0, 0):
        flat_image, flat_result = image.flat(), result.flat()
        if flat_image and flat_result:
            image, result = flat_image, flat_result
    lanes, vectors = _vector(problem.dtype, info)
    if k <= lanes:
        vectors = 1
    nr = lanes * vectors
    tap_count = math.prod(taps)
    block_k = min(_round_up(k, nr), 128 // nr * nr)
    height, width = result.size[1:]
    unit_cols = _ceil(width, _ceil(width, BLOCK_COLUMNS))
    unit_rows = _ceil(height, _ceil(height, max(1, BLOCK_COLUMNS // unit_cols)))
    in_rows = (unit_rows - 1) * stride[1] + (taps[1] - 1) * dilation[1] + 1
    in_cols = (unit_cols - 1) * stride[2] + (taps[2] - 1) * dilation[2] + 1
    if image.channel_stride == 1:  # rows are not written in order: keep what is written beyond one out of the next
        in_cols = _round_up(in_cols, lanes) + lanes
    most = max(1, 2 * BLOCK_ELEMENTS // max(taps[0] * in_rows * in_cols, tap_count * block_k))
    block_c = _ceil(c, _ceil(c, min(most, c)))
    mr = _tile_rows(block_c * tap_count)
    c_blocks, k_blocks = _ceil(c, block_c), _ceil(k, block_k)
    units_h, units_w = _ceil(height, unit_rows), _ceil(width, unit_cols)
    units = result.n * result.size[0] * units_h * units_w
    planes = groups * c_blocks * k_blocks
    splits = min(units, _ceil(4 * info.compute_units, planes))
    tile_size = _round_up(block_c * tap_count, mr) * block_k
    scratch_x = _round_up(block_c * taps[0] * in_rows * in_cols + lanes, 64)
    scratch = scratch_x + _round_up(unit_rows * unit_cols * block_k, 64)
    work_groups = min(splits * planes, 8 * info.compute_units)
    size = problem.dtype.accumulator.itemsize
    partial = _round_up(splits * planes * tile_size * size, 256)
    k_stride, c_stride, w_strides = _filter_strides(problem)
    defines: Defines = {
        **_storage(problem.dtype),
        "VW": lanes,
        "NV": vectors,
        "MR": mr,
        "C": c,
        "K": k,
        "GROUPS": groups,
        "BLOCK_C": block_c,
        "BLOCK_K": block_k,
        "BLOCK_K_PADDED": block_k,
        "C_BLOCKS": c_blocks,
        "K_BLOCKS": k_blocks,
        "SPLITS": splits,
        "TILES": splits * planes,
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
        "X_SPAN": image.span,
        "W_K": k_stride,
        "W_C": c_stride,
        **image.defines("X"),
        **result.defines("Y"),
        **_per_axis("W", w_strides),
        **_per_axis("IMAGE", image.size),
        **_per_axis("RESULT", result.size),
        **_per_axis("TAPS", taps),
        **_per_axis("PAD", pad),
        **_per_axis("STRIDE", stride),
        **_per_axis("DILATION", dilation),
    }
    if problem.mode is ConvolutionMode.CONVOLUTION:
        defines["FLIP"] = 1
    elif _contiguous(problem.filter):
        defines["W_CONTIGUOUS"] = 1
    return FilterGemm(
        defines, (_ceil(k, lanes), c_blocks, groups), work_groups, partial, partial + work_groups * scratch * size
    )


class _ConvCpu(Engine):
    name = "implicit_gemm_cpu"

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        if info.schedule != "cpu":
            return "it is made for CPUs"
        if info.backend != "opencl":
            return "it is written in OpenCL C only"
        return None


class ConvCpuGemm(_ConvCpu):
    """Forward and backward data: a pack of the filter, then one launch for the rest."""

    problems = (ConvolutionForward, ConvolutionBackwardData)

    def algo(self, problem: Problem) -> DnnEnum | None:
        backward = isinstance(problem, ConvolutionBackwardData)
        return ConvolutionBwdDataAlgo.ALGO_1 if backward else ConvolutionFwdAlgo.IMPLICIT_GEMM

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return _gemm(problem, info).workspace if problem.tensors[2].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        gemm = _gemm(problem, device.info)
        real = problem.dtype.accumulator
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        launches = []
        if problem.filter.size:
            pack = device.compile("opencl/conv_cpu.cl", "conv_cpu_pack", gemm.defines)
            launches.append(Launch(pack, gemm.pack_grid, (1, 1, 1), (TensorArg(weights), WorkspaceArg(0, real))))
        kernel = device.compile("opencl/conv_cpu.cl", "conv_cpu_gemm", gemm.defines)
        args = (
            TensorArg(source),
            TensorArg(2),
            WorkspaceArg(0, real),
            WorkspaceArg(gemm.packed_bytes, real),
            ScalarArg(0, real),
            ScalarArg(1, real),
        )
        launches.append(Launch(kernel, (gemm.work_groups,), (1,), args))
        return Plan(problem, self, gemm.workspace, device.bind(launches), tuple(launches))


class ConvCpuFilter(_ConvCpu):
    """Backward filter: partial sums over shares of the image, then their ordered sum."""

    problems = (ConvolutionBackwardFilter,)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionBwdFilterAlgo.ALGO_1

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return _filter_gemm(problem, info).workspace if problem.filter.size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.filter.size == 0:
            return Plan(problem, self, 0, device.bind(()))
        gemm = _filter_gemm(problem, device.info)
        real = problem.dtype.accumulator
        file = "opencl/conv_cpu_filter.cl"
        launches = []
        if gemm.work_groups:
            kernel = device.compile(file, "conv_cpu_filter", gemm.defines)
            args = (TensorArg(0), TensorArg(1), WorkspaceArg(0, real), WorkspaceArg(gemm.partial_bytes, real))
            launches.append(Launch(kernel, (gemm.work_groups,), (1,), args))
        total = device.compile(file, "conv_cpu_filter_sum", gemm.defines)
        launches.append(
            Launch(
                total,
                gemm.sum_grid,
                (1, 1, 1),
                (WorkspaceArg(0, real), TensorArg(2), ScalarArg(0, real), ScalarArg(1, real)),
            )
        )
        return Plan(problem, self, gemm.workspace, device.bind(launches), tuple(launches))


ENGINES = (ConvCpuGemm(), ConvCpuFilter())
