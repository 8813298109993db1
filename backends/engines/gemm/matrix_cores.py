"""Products on AMD's matrix cores (kernels_shared/gemm/matrix.cl)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from portadnn.problem import ALIGNMENT

from ...base import Device, Launch
from ..conv.gemm_tiles import TILES
from ..conv.tensor_core_tiles import Choice
from .gpu import OnGpu, arguments
from .terms import Terms


@dataclass(frozen=True)
class OnMatrixCores:
    """A tile and a number of parts of K on AMD's matrix cores."""

    gemm: Terms
    choice: Choice

    @property
    def plain(self) -> OnGpu:
        """The product by other kernels in as many parts, of which it has the size and the sum."""
        return OnGpu(self.gemm, TILES[self.gemm.dtype.accumulator][0], self.choice.splits)

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
        args = arguments(gemm, choice.splits, scratch)
        yield Launch(kernel, (choice.work_groups,), (tile.items,), args)
        yield from self.plain.added(device, scratch)
