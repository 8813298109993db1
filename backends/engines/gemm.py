"""The matrix product that engines share: any sizes, operands turned over or not, added to what is there or not.

It is no engine: :class:`Gemm` states one product (or several of one shape) by its operands' places, and gives the
launches for a device. On GPUs it is kernels_shared/gemm/gemm.cl, on AMD's matrix cores gemm/matrix.cl, on CPUs
kernels_opencl/gemm/gemm_cpu.cl.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from portadnn.enums import DataType
from portadnn.problem import ALIGNMENT

from ..base import Arg, ConstantArg, Device, DeviceInfo, Launch, TensorArg, WorkspaceArg
from .conv.cpu_common import Tile as CpuTile
from .conv.cpu_common import ceil_div, round_up, split_evenly
from .conv.gemm_tiles import TILES
from .conv.gemm_tiles import Tile as GpuTile
from .conv.matrix_units import MMA, Unit, unit_of
from .conv.tensor_core_tiles import Choice, Product, choices

BLOCK_M, BLOCK_N, BLOCK_K = 96, 256, 256  # what a CPU's second-level cache holds
PACK_K, PACK_PANELS = 256, 16  # of a work-group that packs
_MOST_SPLITS = 32
_RESIDENT = 384  # work-items that share a multiprocessor
_LEAST = 16  # rows and columns of a product on matrix cores
BK_MMA, _MMA_SLICES = 32, 3  # numbers of k in a slice of kernels_cuda/gemm/mma.cu, and slices at once
MMA_TILES = ((128, 128, 64, 32, 0.6), (128, 64, 32, 32, 0.45), (64, 64, 32, 32, 0.35))  # BM BN WM WN, share of the peak


@dataclass(frozen=True)
class Matrix:
    """Where a matrix (or several, `batch` elements apart) lies.

    Attributes
    ----------
    arg : TensorArg or WorkspaceArg
        Its memory.
    first : int
        Elements of the memory before it.
    rows, columns : int
        Elements from one row, and from one column, to the next; one of them is 1.
    batch : int
        Elements from one matrix to the next.
    stored : bool
        It holds the storage type, else the accumulator's.
    aligned : bool
        Its memory begins at a multiple of 16 bytes.
    """

    arg: TensorArg | WorkspaceArg
    first: int
    rows: int
    columns: int = 1
    batch: int = 0
    stored: bool = False
    aligned: bool = True

    @property
    def turned(self) -> Matrix:
        """The same matrix with rows and columns exchanged."""
        return Matrix(self.arg, self.first, self.columns, self.rows, self.batch, self.stored, self.aligned)

    def vectors(self, line: int) -> bool:
        """Tell whether four neighbours are aligned, when `line` elements lie side by side."""
        return not self.stored and self.whole(line, 4)

    def whole(self, line: int, count: int) -> bool:
        """Tell whether all groups of `count` neighbours of a line are whole and aligned."""
        far = self.rows if self.columns == 1 else self.columns
        return self.aligned and all(v % count == 0 for v in (line, far, self.first, self.batch))


def int32(value: int) -> ConstantArg:
    """Return a kernel argument of type int."""
    return ConstantArg(np.int32(value))


def int64(value: int) -> ConstantArg:
    """Return a kernel argument of type i64."""
    return ConstantArg(np.int64(value))


@dataclass(frozen=True)
class Gemm:
    """c = a b, or c += a b: (m, k) times (k, n), `batches` of them.

    Attributes
    ----------
    dtype : DataType
        The storage type; sums are kept in its accumulator.
    """

    dtype: DataType
    m: int
    n: int
    k: int
    a: Matrix
    b: Matrix
    c: Matrix
    batches: int = 1
    accumulate: bool = False

    def workspace(self, info: DeviceInfo) -> int:
        """Return the bytes of scratch memory that the launches need."""
        if not self._work:
            return 0
        return self._cpu(info).workspace if info.schedule == "cpu" else self._gpu(info).workspace

    def launches(self, device: Device, scratch: int) -> Iterator[Launch]:
        """Return the launches; their scratch memory begins at byte `scratch` of the workspace, a multiple of 256."""
        if not self._work:
            return iter(())
        plan = self._cpu(device.info) if device.info.schedule == "cpu" else self._gpu(device.info)
        return plan.launches(device, scratch)

    @property
    def _work(self) -> bool:
        return self.m * self.n * self.batches > 0 and not (self.k == 0 and self.accumulate)

    def _cpu(self, info: DeviceInfo) -> _Cpu:
        return _Cpu.of(self, info)

    def _gpu(self, info: DeviceInfo) -> _Gpu | _OnMatrixCores | _OnTensorCores:
        unit = unit_of(info)
        if unit is MMA and self.dtype in (DataType.HALF, DataType.BFLOAT16) and min(self.m, self.n) >= _LEAST:
            found_here = (_OnTensorCores(self, tile, s) for tile in MMA_TILES for s in _split_choices(self.k // BK_MMA))
            return min(found_here, key=lambda option: option.clocks(info))
        if unit is not None and self._multiplies_as_stored(unit):
            product = Product(self.m, self.n, self.k, self.batches, self.dtype.itemsize, 0, 0, unit=unit)
            found = min(choices(product, info), key=lambda choice: choice.seconds(info), default=None)
            if found is not None:
                return _OnMatrixCores(self, found)
        return self._plain(info)

    def _multiplies_as_stored(self, unit: Unit) -> bool:
        """Tell whether matrix cores take both operands as they are; NVIDIA's would round float32."""
        stored = unit.exact if self.dtype is DataType.FLOAT else self.a.stored and self.b.stored
        return unit is not MMA and self.dtype in unit.types and stored and min(self.m, self.n) >= _LEAST

    def _plain(self, info: DeviceInfo) -> _Gpu:
        options = [
            _Gpu(self, tile, splits)
            for tile in TILES[self.dtype.accumulator]
            for splits in _split_choices(self.k // tile.bk)
            if tile.items <= info.max_work_group and _local_bytes(self, tile) <= info.local_memory
        ]
        return min(options, key=lambda option: option.clocks(info))

    def defines(self) -> dict[str, int | float | str]:
        """Return what both kernels know of the operands."""
        stored = {
            f"{name}_STORED": 1 for name, side in zip("ABC", (self.a, self.b, self.c), strict=True) if side.stored
        }
        along = {"A_ALONG_K": int(self.a.columns == 1), "B_ALONG_K": int(self.b.columns != 1)}
        return {f"DTYPE_{self.dtype.name}": 1, **stored, **along}


def _split_choices(most: int) -> list[int]:
    return [splits for splits in (1, 2, 3, 4, 6, 8, 12, 16, 24, _MOST_SPLITS) if splits == 1 or splits <= most // 8]


def _pitches(gemm: Gemm, tile: GpuTile) -> tuple[int, int]:
    """Reals from one row of a slice to the next; a side that runs along k is written across the rows."""
    return tile.bm + 4 * (gemm.a.columns == 1), tile.bn + 4 * (gemm.b.columns != 1)


def _local_bytes(gemm: Gemm, tile: GpuTile) -> int:
    return 2 * tile.bk * sum(_pitches(gemm, tile)) * gemm.dtype.accumulator.itemsize


@dataclass(frozen=True)
class _Gpu:
    """One tile size and number of parts of K."""

    gemm: Gemm
    tile: GpuTile
    splits: int

    @property
    def groups(self) -> int:
        gemm, tile = self.gemm, self.tile
        return ceil_div(gemm.m, tile.bm) * ceil_div(gemm.n, tile.bn) * gemm.batches * self.splits

    @property
    def workspace(self) -> int:
        gemm = self.gemm
        parts = gemm.m * gemm.n * gemm.batches * self.splits if self.splits > 1 else 0
        return round_up(parts * gemm.dtype.accumulator.itemsize, 256)

    def clocks(self, info: DeviceInfo) -> float:
        """Estimate the time, as the convolutions' ``Choice.clocks`` does."""
        units, tile = max(info.compute_units, 1), self.tile
        resident = max(_RESIDENT // tile.items, 1)
        full, rest = divmod(ceil_div(self.groups, units), resident)
        tiles = full * resident + (0.45 * resident + 0.55 * rest if rest else 0)
        cost = tiles * tile.bm * tile.bn * (self.gemm.k / self.splits + 40) / (128 * max(tile.share, tile.filter_share))
        return cost + (2000 + 2 * self.workspace / units / 16 if self.splits > 1 else 0)

    def defines(self) -> dict[str, int | float | str]:
        """Return what the kernels are compiled with."""
        gemm, tile = self.gemm, self.tile
        a, b = gemm.a, gemm.b
        single = gemm.dtype.accumulator is DataType.FLOAT  # four doubles would need 32 bytes
        pitches = _pitches(gemm, tile)
        return {
            **gemm.defines(),
            "A_VECTOR": int(single and a.vectors(gemm.k if a.columns == 1 else gemm.m)),
            "B_VECTOR": int(single and b.vectors(gemm.n if b.columns == 1 else gemm.k)),
            "VW": 4,
            "BM": tile.bm,
            "BN": tile.bn,
            "BK": tile.bk,
            "TM": tile.tm,
            "TN": tile.tn,
            "A_PITCH": pitches[0],
            "B_PITCH": pitches[1],
            "SPLITS": self.splits,
            **({"RESIDENT": _RESIDENT} if single else {}),
        }

    def launches(self, device: Device, scratch: int) -> Iterator[Launch]:
        args = _arguments(self.gemm, self.splits, scratch)
        kernel = device.compile("shared/gemm/gemm.cl", "gemm", self.defines())
        yield Launch(kernel, (self.groups,), (self.tile.items,), args)
        yield from self.added(device, scratch)

    def added(self, device: Device, scratch: int) -> Iterator[Launch]:
        """Yield the launch that adds the parts up, if there are several."""
        gemm, c = self.gemm, self.gemm.c
        if self.splits == 1:
            return
        numbers = (c.rows, gemm.m, gemm.n, gemm.batches, gemm.accumulate)
        parts = WorkspaceArg(scratch, gemm.dtype.accumulator)
        args: tuple[Arg, ...] = (parts, c.arg, int64(c.first), int64(c.batch), *map(int32, numbers))
        grid = (ceil_div(gemm.m * gemm.n * gemm.batches, 256),)
        yield Launch(device.compile("shared/gemm/gemm.cl", "gemm_reduce", self.defines()), grid, (256,), args)


def _arguments(gemm: Gemm, splits: int, scratch: int) -> tuple[Arg, ...]:
    """Return the arguments of gemm/gemm.cl and gemm/matrix.cl."""
    a, b, c = gemm.a, gemm.b, gemm.c
    to = WorkspaceArg(scratch, gemm.dtype.accumulator) if splits > 1 else c.arg
    places = (side.first for side in (a, b, c)), (side.batch for side in (a, b, c))
    steps = (max(a.rows, a.columns), max(b.rows, b.columns), c.rows)
    numbers = (*steps, gemm.m, gemm.n, gemm.k, gemm.accumulate)
    return (a.arg, b.arg, to, *(int64(v) for group in places for v in group), *map(int32, numbers))


@dataclass(frozen=True)
class _OnMatrixCores:
    """A tile and a number of parts of K on AMD's matrix cores."""

    gemm: Gemm
    choice: Choice

    @property
    def plain(self) -> _Gpu:
        """The product by other kernels in as many parts, of which it has the size and the sum."""
        return _Gpu(self.gemm, TILES[self.gemm.dtype.accumulator][0], self.choice.splits)

    @property
    def workspace(self) -> int:
        return self.plain.workspace

    def launches(self, device: Device, scratch: int) -> Iterator[Launch]:
        gemm, choice, tile = self.gemm, self.choice, self.choice.tile
        unit, chunk = choice.product.unit, ALIGNMENT // gemm.dtype.itemsize
        lines = gemm.k if gemm.a.columns == 1 else gemm.m, gemm.n if gemm.b.columns == 1 else gemm.k
        defines = {
            **gemm.defines(),
            **{f"{side}_VECTOR": int(line % chunk == 0) for side, line in zip("AB", lines, strict=True)},
            **{"BM": tile.bm, "BN": tile.bn, "WM": tile.wm, "WN": tile.wn, **unit.defines()},
            "SPLITS": choice.splits,
        }
        kernel = device.compile("shared/gemm/matrix.cl", "gemm_matrix", defines)
        args = _arguments(gemm, choice.splits, scratch)
        yield Launch(kernel, (choice.work_groups,), (tile.items,), args)
        yield from self.plain.added(device, scratch)


@dataclass(frozen=True)
class _OnTensorCores:
    """A tile and a number of parts of K of kernels_cuda/gemm/mma.cu."""

    gemm: Gemm
    tile: tuple[int, int, int, int, float]
    splits: int

    @property
    def plain(self) -> _Gpu:
        """The product by other kernels in as many parts, of which it has the size and the sum."""
        return _Gpu(self.gemm, TILES[self.gemm.dtype.accumulator][0], self.splits)

    @property
    def workspace(self) -> int:
        return self.plain.workspace

    @property
    def groups(self) -> int:
        gemm, (bm, bn, *_) = self.gemm, self.tile
        return ceil_div(gemm.m, bm) * ceil_div(gemm.n, bn) * gemm.batches * self.splits

    def clocks(self, info: DeviceInfo) -> float:
        """Estimate the time: slices of the busiest multiprocessor, and what every work-group and the sum take."""
        bm, bn, _, _, share = self.tile
        units = max(info.compute_units, 1)
        rate = MMA.rates.get(info.arch, MMA.rate) / 2
        each = bm * bn * (self.gemm.k / self.splits + 4 * BK_MMA) / (rate * share) + 500
        sums = 3000 + 2 * self.workspace / units / 16 if self.splits > 1 else 0
        return ceil_div(self.groups, units) * each + sums

    def launches(self, device: Device, scratch: int) -> Iterator[Launch]:
        gemm, (bm, bn, wm, wn, _) = self.gemm, self.tile
        lines = gemm.k if gemm.a.columns == 1 else gemm.m, gemm.n if gemm.b.columns == 1 else gemm.k
        sides = zip("AB", (gemm.a, gemm.b), lines, strict=True)
        defines = {
            **gemm.defines(),
            **{f"{name}_VECTOR": int(side.whole(line, 8)) for name, side, line in sides},
            **{"BM": bm, "BN": bn, "WM": wm, "WN": wn, "SPLITS": self.splits},
        }
        kernel = device.compile("cuda/gemm/mma.cu", "gemm_mma", defines)
        args = _arguments(gemm, self.splits, scratch)
        local_bytes = _MMA_SLICES * (bm + bn) * BK_MMA * gemm.dtype.itemsize
        yield Launch(kernel, (self.groups,), (bm // wm * (bn // wn) * 32,), args, local_bytes)
        yield from self.plain.added(device, scratch)


@dataclass(frozen=True)
class _Cpu:
    """Register tile, blocks, and where the packed operands lie in the scratch memory."""

    gemm: Gemm
    tile: CpuTile
    block_m: int
    block_n: int
    packs_a: bool
    a_bytes: int
    b_bytes: int

    @classmethod
    def of(cls, gemm: Gemm, info: DeviceInfo) -> _Cpu:
        """Cut the product so that every core has several blocks."""
        size = gemm.dtype.accumulator.itemsize
        tile = CpuTile.of(gemm.dtype, info, gemm.m, gemm.n)
        packs_a = gemm.a.columns != 1 or (gemm.a.stored and gemm.dtype.accumulator is not gemm.dtype)
        block_n = min(round_up(gemm.n, tile.columns), BLOCK_N)
        wanted = ceil_div(4 * info.compute_units, ceil_div(gemm.n, block_n) * gemm.batches)
        block_m = round_up(split_evenly(gemm.m, min(BLOCK_M, ceil_div(gemm.m, wanted))), tile.rows)
        a_bytes = round_up(gemm.batches * round_up(gemm.m, tile.rows) * gemm.k * size, 256) if packs_a else 0
        b_bytes = round_up(gemm.batches * round_up(gemm.n, tile.columns) * gemm.k * size, 256)
        return cls(gemm, tile, block_m, block_n, packs_a, a_bytes, b_bytes)

    @property
    def groups(self) -> int:
        return ceil_div(self.gemm.m, self.block_m) * ceil_div(self.gemm.n, self.block_n) * self.gemm.batches

    @property
    def workspace(self) -> int:
        tile = self.groups * self.tile.rows * self.tile.columns * self.gemm.dtype.accumulator.itemsize
        return round_up(self.a_bytes + self.b_bytes + tile, 256)

    def launches(self, device: Device, scratch: int) -> Iterator[Launch]:
        gemm, tile = self.gemm, self.tile
        a, b, c, real = gemm.a, gemm.b, gemm.c, gemm.dtype.accumulator
        stored = c.stored and real is not gemm.dtype  # rounded once: not after every block of k
        defines: dict[str, int | float | str] = {
            **gemm.defines(),
            **tile.defines(),
            "BLOCK_M": self.block_m,
            "BLOCK_N": self.block_n,
            "BLOCK_K": max(gemm.k, 1) if stored else BLOCK_K,
            "PACK_K": PACK_K,
            "PACK_PANELS": PACK_PANELS,
        }
        if self.packs_a:
            defines["PACKED_A"] = 1
        if not stored:
            defines.pop("C_STORED", None)
        file = "opencl/gemm/gemm_cpu.cl"
        packed_a = WorkspaceArg(scratch, real)
        packed_b = WorkspaceArg(scratch + self.a_bytes, real)
        k_blocks = max(ceil_div(gemm.k, PACK_K), 1)

        def pack(name: str, side: Matrix, to: WorkspaceArg, blocks: int, lines: int) -> Launch:
            numbers = (max(side.rows, side.columns), lines, gemm.k)
            args: tuple[Any, ...] = (side.arg, to, int64(side.first), int64(side.batch), *map(int32, numbers))
            return Launch(device.compile(file, name, defines), (blocks, k_blocks, gemm.batches), (1, 1, 1), args)

        if self.packs_a:
            panels = ceil_div(ceil_div(gemm.m, tile.rows), PACK_PANELS)
            yield pack("gemm_cpu_pack_a", a, packed_a, panels, gemm.m)
        yield pack("gemm_cpu_pack_b", b, packed_b, ceil_div(gemm.n, tile.columns), gemm.n)
        args: tuple[Arg, ...] = (
            packed_a if self.packs_a else a.arg,
            packed_b,
            c.arg,
            WorkspaceArg(scratch + self.a_bytes + self.b_bytes, real),
            *(int64(v) for v in (a.first, c.first, a.batch, c.batch)),
            *(int32(v) for v in (a.rows, c.rows, gemm.m, gemm.n, gemm.k, gemm.accumulate)),
        )
        yield Launch(device.compile(file, "gemm_cpu", defines), (self.groups,), (1,), args)


def aligned(alignment: int) -> bool:
    """Tell whether a tensor's memory begins at a multiple of 16 bytes."""
    return alignment >= ALIGNMENT
