"""How a convolution by Fourier transforms is laid out on a device: lanes, scratch, parts and workspace."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

from portadnn.enums import DataType

from ...base import LAUNCH_SECONDS, DeviceInfo
from ..rounding import ceil_div, round_up
from .geometry import Part, Place, Product, Scheme, Tiling

_ALIGN = 256  # bytes, of the parts of the workspace
MEMORY = 1 << 30  # bytes of spectra from which on images are taken in several parts
_GROUP_TILES = 4  # tiles of a CPU's work-group
# work-items of a tile and tiles of a work-group on GPUs, by the length of a tile
_GPU_ITEMS = {8: (8, 16), 16: (32, 4), 32: (64, 2), 64: (256, 1), 128: (256, 1), 256: (256, 1)}


@dataclass(frozen=True)
class Blocks:
    """Sums of a worker of fft/multiply.cl and workers of a work-group."""

    tm: int
    tn: int
    workers_m: int = 1
    workers_n: int = 1

    def cost(self, product: Product) -> float:
        """Rank by multiplications and loads, with what is done in vain."""
        m, n = self.tm * self.workers_m, self.tn * self.workers_n
        tiles = ceil_div(max(product.rows, 1), m) * ceil_div(max(product.cols, 1), n) * self.workers_m * self.workers_n
        return tiles * (4 * self.tm * self.tn + 3 * (self.tm + self.tn))


_CPU_SIZES = (
    (4, 4),
    (4, 3),
    (3, 4),
    (3, 3),
    (2, 4),
    (4, 2),
    (2, 2),
    (1, 4),
    (4, 1),
)  # more sums than registers still win
_CPU_BLOCKS = tuple(Blocks(m, n) for m, n in _CPU_SIZES)
_GPU_BLOCKS = (Blocks(4, 8, 4, 4), Blocks(4, 4, 4, 4), Blocks(2, 2, 4, 4), Blocks(4, 1, 4, 4), Blocks(1, 4, 4, 4))


@dataclass(frozen=True)
class Setup:
    """How a problem's transforms run on a device.

    Attributes
    ----------
    lanes : int
        Frequencies that lie side by side (FB).
    vector, pitch, items, tiles : int
        VW, PITCH, ITEMS and TILES of the transforms.
    scratch : {"", "LOCAL", "GLOBAL"}
        Where the transforms keep a tile; "" is private memory.
    """

    tiling: Tiling
    real: DataType
    lanes: int
    vector: int
    pitch: int
    items: int
    tiles: int
    scratch: str
    units: int

    @classmethod
    def of(cls, tiling: Tiling, real: DataType, info: DeviceInfo) -> Setup:
        """Choose for a device."""
        length, size = tiling.length, real.itemsize
        if info.schedule == "cpu":
            lanes = max(4, max(4, min(16, info.simd_width)) * 4 // size)
            pitch = length if length <= 32 else length + 16  # + 16: rows fall into different sets of the L1 cache
            return cls(tiling, real, lanes, min(lanes, length // 2), pitch, 1, 1, "", info.compute_units)
        items, tiles = _GPU_ITEMS[length]
        items = min(items, info.max_work_group)
        tile = 2 * length * (length + 1) * size
        tiles = max(1, min(tiles, info.max_work_group // items, info.local_memory // tile))
        scratch = "LOCAL" if tile * tiles <= info.local_memory else "GLOBAL"
        return cls(tiling, real, 16, 1, length + 1, items, tiles, scratch, info.compute_units)

    @property
    def frequency_blocks(self) -> int:
        """Blocks of `lanes` frequencies."""
        return ceil_div(self.tiling.frequencies, self.lanes)

    def spectra_bytes(self, place: Place) -> int:
        """Bytes of all spectra of a tensor."""
        return round_up(self.frequency_blocks * place.blocks * 2 * self.lanes * self.real.itemsize, _ALIGN)

    @property
    def scratch_groups(self) -> int:
        """Work-groups for which scratch is kept in the workspace; they take many tiles each."""
        return 2 * self.units if self.scratch == "GLOBAL" else 0

    @property
    def scratch_bytes(self) -> int:
        """Bytes of that scratch."""
        return round_up(self.scratch_groups * 2 * self.tiling.length * self.pitch * self.real.itemsize, _ALIGN)

    def per_group(self, count: int) -> int:
        """Return how many of `count` tiles a work-group takes."""
        if self.scratch == "GLOBAL":
            return ceil_div(count, self.scratch_groups)
        return self.tiles if self.items > 1 else _GROUP_TILES

    def tile_defines(self, dtype: DataType, place: Place | None = None) -> dict[str, int | float | str]:
        """Everything that fft/tiles.cl needs for a tensor that is read, or (without a place) written."""
        few = place is not None and max(place.extent) <= self.tiling.length // (
            4 if self.tiling.length in (16, 32) else 8
        )
        return {
            **({"FEW": 1} if few else {}),
            f"DTYPE_{dtype.name}": 1,
            "L": self.tiling.length,
            "PITCH": self.pitch,
            "VW": self.vector,
            "FB": self.lanes,
            "ITEMS": self.items,
            "TILES": self.tiles,
            "WAVES": _waves(self.tiling.length, self.real),
            **({f"SCRATCH_{self.scratch}": 1} if self.scratch else {}),
        }


@functools.cache
def _waves(length: int, real: DataType) -> str:
    """Return cos(2 pi t / length) for t < 5/4 length, rounded once."""
    suffix = "" if real is DataType.DOUBLE else "f"
    # folded into the first eighth, where cosine and sine are exact at 0 and equal at 1/8
    return ",".join(f"{_cosine(t, length)!r}{suffix}" for t in range(length * 5 // 4))


def _cosine(t: int, length: int) -> float:
    t %= length
    if t > length // 2:
        t = length - t
    if t > length // 4:
        return -_cosine(length // 2 - t, length)
    return 0.0 if 4 * t == length else math.cos(2 * math.pi * t / length)


@dataclass(frozen=True)
class Work:
    """A problem laid out: parts of so many images and rows of tiles, whose spectra lie in the workspace at a time."""

    scheme: Scheme
    setup: Setup
    images: int
    bands: int

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts, the first of which is the largest."""
        return tuple(self.scheme.parts(self.setup.tiling, self.images, self.bands))

    @property
    def count(self) -> int:
        """Number of parts."""
        return ceil_div(max(self.scheme.src.n, 1), self.images) * ceil_div(self.setup.tiling.tiles[0], self.bands)

    @functools.cached_property
    def sizes(self) -> tuple[int, int, int, int]:
        """Bytes of the spectra a, b and c of a part, and of scratch."""
        part = next(self.scheme.parts(self.setup.tiling, self.images, self.bands))
        a, b, c = (self.setup.spectra_bytes(place) for place in (part.a, part.b, part.c))
        return a, b, c, self.setup.scratch_bytes

    @property
    def workspace(self) -> int:
        """Bytes."""
        return sum(self.sizes)

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time: transforms, products with what they do in vain, and all spectra once through memory.

        Shares of the peak were measured on a CPU, where the estimate of the implicit product has the same margin (its
        real time is less by a third); for GPUs they are guesses on the safe side.
        """
        setup, length = self.setup, self.setup.tiling.length
        transform_share, product_share = (0.25, 0.65) if setup.items == 1 else (0.1, 0.4)
        flops = info.flops / 2 if setup.real is DataType.DOUBLE else info.flops
        parts = self.parts
        tiles = sum(part.a.count + part.b.count + part.c.count for part in parts)
        transform = tiles * (5 * math.log2(length) + 8) * length**2
        blocks = blocks_of(setup, parts[0].product)
        pairs = max(parts[0].product.rows * parts[0].product.cols, 1)
        waste = blocks.cost(parts[0].product) / (4 * pairs)
        product = waste * setup.frequency_blocks * setup.lanes * sum(part.product.flops for part in parts)
        seconds = transform / (transform_share * flops) + product / (product_share * flops)
        return seconds + len(parts) * (self.workspace / info.bandwidth + 4 * LAUNCH_SECONDS)


def blocks_of(setup: Setup, product: Product) -> Blocks:
    """Return the sums of a worker that suit the matrices."""
    options = _GPU_BLOCKS if setup.items > 1 else _CPU_BLOCKS
    return min(options, key=lambda blocks: blocks.cost(product))


def work_of(scheme: Scheme, tiling: Tiling, info: DeviceInfo) -> Work:
    """Lay a problem out; as many images, or else rows of tiles, at a time as fit into memory, but one at least."""
    setup = Setup.of(tiling, scheme.problem.dtype.accumulator, info)
    limit = min(MEMORY, info.max_allocation)
    rows = tiling.tiles[0]
    images = _most(max(scheme.src.n, 1), lambda count: Work(scheme, setup, count, rows).workspace <= limit)
    if images == 1:
        rows = _most(rows, lambda count: Work(scheme, setup, 1, count).workspace <= limit)
    return Work(scheme, setup, images, rows)


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `count` that fits, or 1; what is smaller than a number that fits does, too."""
    if fits(count):
        return count
    low, high = 1, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
