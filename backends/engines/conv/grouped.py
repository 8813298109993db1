"""Convolutions of groups of few channels on tensor cores, NHWC, two-byte types (kernels_cuda/conv/mma_grouped*.cu)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DataType,
    DnnEnum,
    MathType,
)
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem, TensorSpec

from ...base import (
    LAUNCH_SECONDS,
    NARROW_SPAN,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from ..rounding import ceil_div
from .geometry import Geometry, axes, data_gradient, filter_gradient, forward
from .grouped_blocks import (
    BLOCK_CHANNELS,
    MOST_CHANNELS,
    REGISTERS,
    RESIDENT,
    WAVES,
    Blocks,
    chunked,
    even,
    pitch_of,
    tile_pixels,
)
from .matrix_units import MMA
from .parts import adding
from .tensor_core_choice import CHUNK


class _Grouped(Engine):
    """One direction."""

    _algo: DnnEnum

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        x, w, y = problem.image, problem.filter, problem.result
        if MMA.feature not in info.features or info.schedule != "gpu":
            return "the device has no tensor cores that it can use"
        if problem.math is MathType.FMA:
            return "the math type forbids tensor cores"
        if problem.dtype not in (DataType.HALF, DataType.BFLOAT16):
            return "it takes types of two bytes"
        if len(x.dims) != 4:
            return "it takes two spatial dimensions"
        if not (x.size and y.size and w.size):
            return "nothing is added up"
        channels = (w.dims[0] // problem.groups, w.dims[1])
        if max(channels) > MOST_CHANNELS or any(count % 4 for count in channels):
            return f"groups have to have multiples of four channels, at most {MOST_CHANNELS}"
        if max(x.span, y.span, w.span) >= NARROW_SPAN:
            return "a tensor has more elements than 32-bit places reach"
        return self.layout(problem)

    def layout(self, problem: Convolution) -> str | None:
        """Return what is wrong with the tensors' layouts, or with too many taps for the registers."""
        raise NotImplementedError

    def _shared(self, blocks: Blocks, problem: Convolution, geometry: Geometry) -> dict[str, int | float | str]:
        """Return the defines of conv/mma_region.h."""
        defines: dict[str, int | float | str] = {
            f"DTYPE_{problem.dtype.name}": 1,
            **geometry.places,
            **axes("CHECK", (0, 1, 1)),
            "GROUPS": problem.groups,
            "PHASES": geometry.phases,
            "GEMM_N": geometry.n,
            "COUNT": problem.image.dims[0],
            "BLOCK_GROUPS": blocks.block_groups,
            **{"TILE_H": blocks.tile[0], "TILE_W": blocks.tile[1]},
            **{"HALO_H": blocks.halo[0], "HALO_W": blocks.halo[1]},
            "PITCH": blocks.pitch,
            "SLOTS": blocks.slots,
            "NT": blocks.nt,
            "SHARERS": blocks.sharers,
        }
        if problem.mode is ConvolutionMode.CONVOLUTION:
            defines["FLIP"] = 1
        return defines

    def blocks(self, problem: Convolution, info: DeviceInfo) -> Blocks:
        """Share the problem out."""
        raise NotImplementedError

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        blocks, units = self.blocks(problem, info), max(info.compute_units, 1)
        clock = info.flops / (2 * 128 * units)
        cycles = blocks.m_tiles * blocks.units * (blocks.steps * (4 + 1.5 * blocks.nt) + 30)
        groups, resident = blocks.blocks * blocks.slots, blocks.resident
        rounds = (
            ceil_div(blocks.tiles, blocks.slots) * ceil_div(groups, units * resident) * min(groups / units, resident)
        )
        region = blocks.halo[0] * blocks.halo[1] * blocks.tiles * blocks.phases / problem.image.dims[0]
        source = self.source(problem)
        read = source.nbytes * max(1.0, region / max(1, math.prod(source.dims[2:])))
        moved = problem.bytes() + 0.7 * (read - source.nbytes) + self.workspace(problem, info)
        last = LAUNCH_SECONDS / 2 if self.workspace(problem, info) else 0.0
        alone = 1 + 1 / resident  # few work-groups hide less of what each waits for
        return max(rounds * cycles * alone / clock, moved / (0.6 * info.bandwidth)) + LAUNCH_SECONDS + last

    def source(self, problem: Convolution) -> TensorSpec:
        """Return the tensor whose regions are read."""
        return problem.image


class _Images(_Grouped):
    """Forward and data gradient."""

    _source: str

    def source(self, problem: Convolution) -> TensorSpec:
        return getattr(problem, self._source)  # type: ignore[no-any-return]

    def layout(self, problem: Convolution) -> str | None:
        if not chunked(getattr(problem, self._source), CHUNK // 2) or not chunked(problem.tensors[-1], 4):
            return "channels have to lie side by side, in aligned vectors"
        if self._columns(self.geometry(problem))[1] == 0:
            return "the filter's taps do not fit the registers"
        return None

    def geometry(self, problem: Convolution) -> Geometry:
        """Return the direction's."""
        raise NotImplementedError

    @staticmethod
    def _columns(geometry: Geometry) -> tuple[int, int]:
        """Return the steps of K and the tiles of columns of a unit; 0 where the registers do not hold one."""
        known = geometry.defines
        taps = ceil_div(known["SIZE_H"], known["HOP_H"]) * ceil_div(known["SIZE_W"], known["HOP_W"])
        steps, wide = ceil_div(taps * known["CHANNELS"] // 4, 4), ceil_div(geometry.m, 8)
        for nt in (4, 3, 2, 1):
            if wide % nt == 0 and steps * (2 * nt + 1) <= REGISTERS:
                return steps, nt
        return steps, 0

    def blocks(self, problem: Convolution, info: DeviceInfo) -> Blocks:
        geometry = self.geometry(problem)
        known, groups = geometry.defines, problem.groups
        steps, nt = self._columns(geometry)
        parts = ceil_div(geometry.m, 8 * nt)
        each = max(1, min(groups, BLOCK_CHANNELS // max(known["CHANNELS"], geometry.m)))
        while each < groups and each > 1 and each * known["CHANNELS"] % 8:
            each -= 1
        if each < groups and each * known["CHANNELS"] % 8:
            each = 2
        while each > 1 and steps * (2 * nt * ceil_div(each * parts, WAVES) + 1) > REGISTERS + 16 and each % 4 == 0:
            each //= 2
        units = each * parts
        blocks = ceil_div(groups, each)
        pitch = pitch_of(each * known["CHANNELS"] * 2, *((64, 32) if known["STEP_W"] == 1 else (32, 16)))
        wanted = blocks * geometry.phases
        tile, halo, tiles = tile_pixels(
            geometry, problem.image, (pitch, 0), max(1, 64 * wanted // max(info.compute_units, 1))
        )
        slots = even(tiles, ceil_div(tiles, max(1, info.compute_units * RESIDENT // wanted)))
        slots = ceil_div(tiles, slots)
        return Blocks(
            each,
            parts,
            steps,
            nt,
            ceil_div(units, WAVES),
            max(1, WAVES // units),
            tile,
            halo,
            pitch,
            0,
            tiles,
            slots,
            wanted,
            halo[0] * halo[1] * pitch,
            geometry.phases,
        )

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        geometry, blocks = self.geometry(problem), self.blocks(problem, device.info)
        names = problem.tensor_names()
        defines = {
            **self._shared(blocks, problem, geometry),
            "COLS": geometry.m,
            "UNITS_EACH": blocks.units_each,
            "VW": 2 if blocks.nt % 2 else 4,
            "VECTOR_ALIGNED": 1,
        }
        kernel = device.compile("cuda/conv/mma_grouped.cu", "conv_mma_grouped", defines)
        args = (
            TensorArg(names.index(self._source)),
            TensorArg(names.index("w")),
            TensorArg(2),
            ScalarArg(0, DataType.FLOAT),
            ScalarArg(1, DataType.FLOAT),
        )
        launches = (Launch(kernel, (blocks.blocks * blocks.slots,), (32 * WAVES,), args, 2 * blocks.stage),)
        return Plan(problem, self, 0, device.bind(launches), launches)


class GroupedForward(_Images):
    """Forward."""

    name = "grouped_forward"
    problems = (ConvolutionForward,)
    _algo = ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM
    _source = "x"

    def geometry(self, problem: Convolution) -> Geometry:
        return forward(problem)


class GroupedBackwardData(_Images):
    """Data gradient, phase by phase."""

    name = "grouped_backward_data"
    problems = (ConvolutionBackwardData,)
    _algo = ConvolutionBwdDataAlgo.ALGO_1
    _source = "dy"

    def geometry(self, problem: Convolution) -> Geometry:
        return data_gradient(problem)


class GroupedBackwardFilter(_Grouped):
    """Filter gradient, whose parts are added up in a fixed order."""

    name = "grouped_backward_filter"
    problems = (ConvolutionBackwardFilter,)
    _algo = ConvolutionBwdFilterAlgo.ALGO_1

    def layout(self, problem: Convolution) -> str | None:
        if not all(chunked(spec, CHUNK // 2) for spec in problem.tensors[:2]):
            return "channels have to lie side by side, in aligned vectors"
        w = problem.filter
        ours, theirs = w.dims[1], w.dims[0] // problem.groups
        if (ours % 8 or theirs % 8) and (ours, theirs) != (4, 4):
            return "groups have to have four channels on both sides or multiples of eight"
        if (ours, theirs) == (4, 4) and problem.groups % 2:
            return "groups of four channels have to come in pairs"
        if ceil_div(self._rows(w), 2) > WAVES * REGISTERS // 4:
            return "the filter's taps do not fit the registers"
        return None

    @staticmethod
    def _rows(w: TensorSpec) -> int:
        """Return the chunks of rows of a span."""
        return w.dims[2] * w.dims[3] * max(1, w.dims[1] // 8)

    def _tiles(self, problem: Convolution) -> tuple[int, int, int, int]:
        """Return tiles of rows and of columns of a unit, and its parts of rows and of columns."""
        w = problem.filter
        high = ceil_div(self._rows(w), 2)
        wide = ceil_div(max(8, w.dims[0] // problem.groups), 8)
        for parts in range(1, WAVES + 1):
            for columns in range(1, parts + 1):
                if parts % columns or wide % columns:
                    continue
                tiles, nt = ceil_div(high, parts // columns), wide // columns
                if tiles * (4 * nt + 1) <= REGISTERS:
                    return tiles, nt, ceil_div(high, tiles), columns
        return 0, 0, 0, 0

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        reason = super().why_not(problem, info)
        if reason is None:
            assert isinstance(problem, Convolution)
            if self._tiles(problem)[0] == 0:
                return "the filter's taps do not fit the registers"
        return reason

    def blocks(self, problem: Convolution, info: DeviceInfo) -> Blocks:
        geometry = filter_gradient(problem)
        w, groups = problem.filter, problem.groups
        span = 2 if w.dims[1] == 4 else 1
        tiles_high, nt, row_parts, column_parts = self._tiles(problem)
        parts = row_parts * column_parts
        spans = max(1, min(groups // span, BLOCK_CHANNELS // (span * max(w.dims[1], geometry.m)), WAVES // parts))
        each = spans * span
        pitch = pitch_of(each * w.dims[1] * 2, 32, 16)
        gradient_pitch = pitch_of(each * geometry.m * 2, 32, 16)
        blocks = ceil_div(groups, each)
        tile, halo, tiles = tile_pixels(
            geometry, problem.image, (pitch, gradient_pitch), max(1, 64 * blocks // max(info.compute_units, 1))
        )
        slots = even(tiles, ceil_div(tiles, max(1, info.compute_units * 2 // blocks)))
        slots = ceil_div(tiles, slots)
        stage = halo[0] * halo[1] * pitch + ceil_div(tile[0] * tile[1], 16) * 16 * gradient_pitch
        sharers = max(1, WAVES // (spans * parts))
        return Blocks(
            each,
            parts,
            tiles_high,
            nt,
            1,
            sharers,
            tile,
            halo,
            pitch,
            gradient_pitch,
            tiles,
            slots,
            blocks,
            stage,
            1,
            span,
        )

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        blocks = self.blocks(problem, info)
        return 4 * blocks.slots * blocks.sharers * problem.filter.size

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        launches = tuple(self._launches(problem, device))
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)

    def _launches(self, problem: Convolution, device: Device) -> Iterator[Launch]:
        geometry, blocks = filter_gradient(problem), self.blocks(problem, device.info)
        shared = self._shared(blocks, problem, geometry)
        defines = {
            **shared,
            "ROWS": geometry.m,
            "SPAN": 2 if problem.filter.dims[1] == 4 else 1,
            "ROW_TILES": blocks.steps,
            "GRADIENT_PITCH": blocks.gradient_pitch,
        }
        kernel = device.compile("cuda/conv/mma_grouped_filter.cu", "conv_mma_grouped_filter", defines)
        parts = WorkspaceArg(0)
        args = (TensorArg(0), TensorArg(1), parts)
        yield Launch(kernel, (blocks.blocks * blocks.slots,), (32 * WAVES,), args, 2 * blocks.stage + CHUNK)
        columns = geometry.n
        sums: dict[str, int | float | str] = {
            f"DTYPE_{problem.dtype.name}": 1,
            **geometry.places,
            **axes("CHECK", (0, 0, 0)),
            **{name: shared[name] for name in ("GROUPS", "PHASES", "GEMM_N", "FLIP") if name in shared},
            "SPLITS": blocks.slots * blocks.sharers,
            "CPAD": problem.filter.dims[1],
            "ROWS": f"{geometry.m}u",
            "COLS": f"{columns}u",
            "PART_SIZE": f"(i64){geometry.m * columns}",
            "PART_PITCH": columns,
        }
        blend = (ScalarArg(0, DataType.FLOAT), ScalarArg(1, DataType.FLOAT))
        yield adding(device, sums, problem.filter.size, parts, TensorArg(2), *blend)


ENGINES = (GroupedForward(), GroupedBackwardData(), GroupedBackwardFilter())
