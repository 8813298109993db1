"""Products on CPUs, of packed operands (kernels_opencl/gemm/gemm_cpu.cl)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...base import Arg, Device, DeviceInfo, Launch, WorkspaceArg
from ..conv.cpu.common import Tile
from ..rounding import ceil_div, round_up, split_evenly
from .operands import Matrix, int32, int64
from .terms import Terms

BLOCK_M, BLOCK_N, BLOCK_K = 96, 256, 256  # what a CPU's second-level cache holds
PACK_K, PACK_PANELS = 256, 16  # of a work-group that packs


@dataclass(frozen=True)
class OnCpu:
    """Register tile, blocks, and where the packed operands lie in the scratch memory."""

    gemm: Terms
    tile: Tile
    block_m: int
    block_n: int
    packs_a: bool
    a_bytes: int
    b_bytes: int

    @classmethod
    def of(cls, gemm: Terms, info: DeviceInfo) -> OnCpu:
        """Cut the product so that every core has several blocks."""
        size = gemm.dtype.accumulator.itemsize
        tile = Tile.of(gemm.dtype, info, gemm.m, gemm.n)
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
