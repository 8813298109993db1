"""Products on NVIDIA's tensor cores (kernels_cuda/gemm/mma.cu)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...base import Device, DeviceInfo, Launch
from ..conv.gemm_tiles import TILES
from ..conv.matrix_units import MMA
from ..rounding import ceil_div
from .gpu import OnGpu, arguments
from .terms import Terms

BK_MMA, _MMA_SLICES = 32, 3  # numbers of k in a slice of kernels_cuda/gemm/mma.cu, and slices at once
MMA_TILES = ((128, 128, 64, 32, 0.6), (128, 64, 32, 32, 0.45), (64, 64, 32, 32, 0.35))  # BM BN WM WN, share of the peak


@dataclass(frozen=True)
class OnTensorCores:
    """A tile and a number of parts of K of kernels_cuda/gemm/mma.cu."""

    gemm: Terms
    tile: tuple[int, int, int, int, float]
    splits: int

    @property
    def plain(self) -> OnGpu:
        """The product by other kernels in as many parts, of which it has the size and the sum."""
        return OnGpu(self.gemm, TILES[self.gemm.dtype.accumulator][0], self.splits)

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
        args = arguments(gemm, self.splits, scratch)
        local_bytes = _MMA_SLICES * (bm + bn) * BK_MMA * gemm.dtype.itemsize
        yield Launch(kernel, (self.groups,), (bm // wm * (bn // wn) * 32,), args, local_bytes)
        yield from self.plain.added(device, scratch)
