"""Products by the convolutions' tiles on any GPU (kernels_shared/gemm/gemm.cl), and sums of their parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from portadnn.enums import DataType

from ...base import Arg, Device, DeviceInfo, Launch, WorkspaceArg
from ..conv.gemm_tiles import Tile
from ..rounding import ceil_div, round_up
from .operands import int32, int64
from .terms import Terms

_RESIDENT = 384  # work-items that share a multiprocessor
_CLOCK_FLOPS = 256  # of a multiprocessor per clock, as `OnGpu.clocks` counts
_REACHED, _REACHED_ALONG = 0.6, 0.4  # of that


def _pitches(gemm: Terms, tile: Tile) -> tuple[int, int]:
    """Reals from one row of a slice to the next; a side that runs along k is written across the rows."""
    return tile.bm + 4 * (gemm.a.columns == 1), tile.bn + 4 * (gemm.b.columns != 1)


def local_bytes(gemm: Terms, tile: Tile) -> int:
    """Return the local memory of a work-group."""
    return 2 * tile.bk * sum(_pitches(gemm, tile)) * gemm.dtype.accumulator.itemsize


@dataclass(frozen=True)
class OnGpu:
    """One tile size and number of parts of K."""

    gemm: Terms
    tile: Tile
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

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time, as large products took on an H100; with both sides along k they took longer."""
        along = self.gemm.a.columns == 1 and self.gemm.b.columns != 1
        rate = (_REACHED_ALONG if along else _REACHED) * info.flops
        return self.clocks(info) * _CLOCK_FLOPS * max(info.compute_units, 1) / rate

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
        args = arguments(self.gemm, self.splits, scratch)
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


def arguments(gemm: Terms, splits: int, scratch: int) -> tuple[Arg, ...]:
    """Return the arguments of gemm/gemm.cl and gemm/matrix.cl."""
    a, b, c = gemm.a, gemm.b, gemm.c
    to = WorkspaceArg(scratch, gemm.dtype.accumulator) if splits > 1 else c.arg
    places = (side.first for side in (a, b, c)), (side.batch for side in (a, b, c))
    steps = (max(a.rows, a.columns), max(b.rows, b.columns), c.rows)
    numbers = (*steps, gemm.m, gemm.n, gemm.k, gemm.accumulate)
    return (a.arg, b.arg, to, *(int64(v) for group in places for v in group), *map(int32, numbers))
