"""How to do a convolution as an implicit matrix product on a GPU: tiles, sums in parts, ways to read the filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from portadnn.enums import ConvolutionMode, DataType
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import TensorSpec

from ...base import MOST_COUNTERS, DeviceInfo, host_seconds
from ..pieces import LAUNCH, PIECE_COUNTERS, price, shares_pieces
from .epilogue import epilogue_defines
from .geometry import Geometry, axes, checks, filter_vectors, vector_channels, z_defines, z_like_y
from .prologue import computed, prologue_defines

_ALIGN = 256  # bytes, of the parts of the workspace


@dataclass(frozen=True)
class Tile:
    """Sizes of a work-group's tile (gemm/tile.h), and what it reaches of the fastest tile's speed when it is full.

    Attributes
    ----------
    bm, bn, bk : int
        Rows, columns and depth of a slice.
    tm, tn : int
        Results of a work-item.
    share, filter_share : float
        Speed of the forward and data-gradient kernel, and of the filter gradient; 0: not for it.
    """

    bm: int
    bn: int
    tm: int
    tn: int
    share: float
    filter_share: float = 0
    bk: int = 8

    @property
    def items(self) -> int:
        """Work-items of a work-group."""
        return self.bm // self.tm * (self.bn // self.tn)


# Shares as measured on an H200. 128 x 128 with 256 work-items was slower than all of the first three.
TILES = {
    DataType.FLOAT: (
        Tile(64, 128, 8, 8, 1.0, 0.85),
        Tile(128, 64, 8, 8, 0.94, 0.86),
        Tile(64, 64, 8, 8, 0.98, 0.88),
        Tile(32, 128, 4, 8, 0.8, 0.7),
        Tile(16, 128, 4, 4, 0.5, 0.47),
        Tile(4, 512, 4, 4, 0.5, 0),
    ),
    DataType.DOUBLE: (
        Tile(64, 64, 4, 4, 0.6, 0.6),
        Tile(32, 128, 4, 8, 0.5, 0.5),
        Tile(16, 128, 4, 4, 0.4, 0.4),
    ),
}
_MOST_SPLITS = 128
_LEAST_ROWS = 16  # of a tile whose filter is packed inside: of fewer, most of a piece is nothing
# Time of a product that reads its filter where it lies, gathered or in vectors along a side, in that with a packed one
_STRAIGHT = {"": 1.46, "K": 1.12, "M": 1.0}
_CLOCK_FLOPS = 256  # of a multiprocessor per clock, as `Choice.clocks` counts
# Fitted to 86 products of 1 to 64 images on an H200, from 10 us to 1.3 ms: 11 % root mean square error
_REACHED, _FILTER_REACHED = 0.6, 0.495  # of these, what the fastest full tile reaches
_STEPS = 14  # of K that a tile's beginning and end take
_PART_BYTES = 100  # of partial sums, per clock and multiprocessor: most stay in the second-level cache
# Packing inside of the product, in seconds: waiting for it, and each piece of a multiprocessor. Where the last
# work-group of a tile of this size adds up, too, the compiler's order of loads costs more (measured with CUDA).
_INSIDE, _PIECE = 3.3e-6, 0.6e-6
_INSIDE_LARGE, _LARGE = 1.06, 64 * 128
# Time with images of two bytes a number, in that of float32: with rows along w, and with channels innermost, as
# medians of eight forward products on an H200 (OpenCL; 1.02 to 1.3 and 1.65 to 2.0)
_SHORT, _SHORT_CHANNELS_LAST = 1.1, 1.9
_RESIDENT = 384  # work-items that a multiprocessor runs at a time (gemm/tile.h)


@dataclass(frozen=True)
class Choice:
    """A tile and the number of parts of K, with what follows from them.

    Attributes
    ----------
    packs : bool
        Whether the filter is packed, which would outlast the product of a small problem.
    fused : bool
        Whether the last work-group of a tile adds the parts up; else a launch of its own does.
    item_size : int
        Bytes of the arithmetic type.
    along : {"", "K", "M"}
        Side of the product along which the filter is read in vectors where it lies; "": it is packed, or gathered.
    packs_inside : bool
        Whether the product's work-groups pack the filter before they go on (common/pieces.h); else another launch does.
    """

    geometry: Geometry
    tile: Tile
    splits: int
    packs: bool
    fused: bool
    item_size: int
    along: str = ""
    packs_inside: bool = False

    @property
    def tiles_m(self) -> int:
        """Tiles along M."""
        return -(-self.geometry.m // self.tile.bm)

    @property
    def tiles_n(self) -> int:
        """Tiles along N."""
        return -(-self.geometry.n // self.tile.bn)

    @property
    def work_groups(self) -> int:
        """Work-groups of the product."""
        return self.tiles_m * self.tiles_n * self.geometry.groups * self.geometry.phases * self.splits

    @property
    def tap_slices(self) -> bool:
        """Whether padding the channels to whole slices costs little."""
        channels = self.geometry.defines["CHANNELS"]
        return bool(self.packs or self.along) and -(-channels // self.tile.bk) * self.tile.bk <= 1.15 * channels

    @property
    def max_k(self) -> int:
        """Rows of a packed filter: K in whole slices."""
        geometry, bk = self.geometry, self.tile.bk
        if not self.tap_slices:
            return -(-geometry.k // bk) * bk
        channels = geometry.defines["CHANNELS"]
        return geometry.k // max(channels, 1) * (-(-channels // bk) * bk)

    @property
    def packed_size(self) -> int:
        """Bytes of the packed filter."""
        geometry = self.geometry
        if not self.packs:
            return 0
        count = geometry.groups * geometry.phases * self.max_k * self.tiles_m * self.tile.bm
        return -(-count * self.item_size // _ALIGN) * _ALIGN

    @property
    def pieces(self) -> int:
        """Blocks of 32 x 32 that the filter is packed in."""
        padded_m = self.tiles_m * self.tile.bm
        return -(-padded_m // 32) * -(-self.max_k // 32) * self.geometry.groups * self.geometry.phases

    @property
    def tile_bytes(self) -> int:
        """Bytes of a tile of partial sums."""
        return self.tile.bm * self.tile.bn * self.item_size

    @property
    def counters(self) -> int:
        """Counters of pieces to be packed, and of a fused sum, one for each tile of the result."""
        return PIECE_COUNTERS * self.packs_inside + self.work_groups // self.splits * self.fused

    @property
    def workspace(self) -> int:
        """Bytes of the packed filter and the parts."""
        parts = self.work_groups * self.tile_bytes if self.splits > 1 else 0
        return self.packed_size + parts

    @property
    def local_memory(self) -> int:
        """Bytes of local memory of a work-group."""
        pitches = sum(self.pitches)
        return 2 * self.tile.bk * pitches * self.item_size + 16 * max(2 * self.tile.bk, self.tile.bn)

    @property
    def pitches(self) -> tuple[int, int]:
        """Reals from one row of a slice to the next; those that are written across the rows have a gap."""
        gap = 0 if self.geometry.packs else 4
        return self.tile.bm + (4 if self.along == "K" else gap), self.tile.bn + gap

    @property
    def launches(self) -> int:
        """Launches, one after another."""
        return 1 + (self.packs and not self.packs_inside) + (self.splits > 1 and not self.fused)

    @property
    def share(self) -> float:
        """The tile's speed for this direction."""
        return self.tile.share if self.geometry.packs else self.tile.filter_share

    def in_vectors(self, along: str) -> Choice:
        """Return the choice with vectors of the filter, if a slice's channels all belong to one tap."""
        straight = replace(self, along=along)
        taps = self.geometry.k // max(self.geometry.defines["CHANNELS"], 1)
        return straight if taps == 1 or straight.tap_slices else self

    def fuses_sums(self) -> Choice:
        """Return the choice with sums of parts in the product's launch, if there are counters for its tiles."""
        fused = replace(self, fused=self.splits > 1)
        return fused if fused.counters <= MOST_COUNTERS - PIECE_COUNTERS else self

    def packing_inside(self) -> Choice:
        """Return the choice with the filter packed in the product's launch, if there is something to pack."""
        return replace(self, packs_inside=self.packs and self.max_k > 0)

    def clocks(self, info: DeviceInfo) -> float:
        """Estimate the time, in clocks, to rank choices.

        Multiprocessors work through their share of tiles, _RESIDENT work-items at a time; fewer do not take
        proportionally less time, because they hide less latency. Each tile has a fixed cost of _STEPS of K; parts are
        written and read once more.
        """
        geometry, units = self.geometry, max(info.compute_units, 1)
        steps = -(-geometry.k // self.splits) + _STEPS
        resident = max(_RESIDENT // self.tile.items, 1)
        full, rest = divmod(-(-self.work_groups // units), resident)
        tiles = full * resident + (0.46 * resident + 0.54 * rest if rest else 0)
        cost = tiles * self.tile.bm * self.tile.bn * steps / (128 * self.share)
        if geometry.packs and not self.packs:
            cost *= _STRAIGHT[self.along]
        if self.packs_inside and self.fused and self.tile.bm * self.tile.bn >= _LARGE:
            cost *= _INSIDE_LARGE
        if self.splits > 1:
            parts = self.work_groups * self.tile_bytes / units
            cost += (parts + (self.splits * self.tile_bytes if self.fused else parts)) / _PART_BYTES
        return cost

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time, launches included."""
        reached = _REACHED if self.geometry.packs else _FILTER_REACHED
        rate = reached * info.flops / (_CLOCK_FLOPS * max(info.compute_units, 1))
        seconds = self.clocks(info) / rate + self.launches * LAUNCH
        if self.packs_inside:
            seconds += _INSIDE + _PIECE * self.pieces / max(info.compute_units, 1)
        return max(seconds + price(self.launches, seconds), host_seconds(self.launches, info))

    def defines(self, problem: Convolution) -> dict[str, int | float | str]:
        """Everything that the kernel file needs."""
        geometry, tile = self.geometry, self.tile
        tail = geometry.n % tile.bn > 0
        strided = geometry.phases > 1 or "DATA_GRADIENT" in geometry.defines
        defines: dict[str, int | float | str] = {
            f"DTYPE_{problem.dtype.name}": 1,
            "VW": 4,
            "VECTOR_ALIGNED": 1,
            "BM": tile.bm,
            "BN": tile.bn,
            "BK": tile.bk,
            "TM": tile.tm,
            "TN": tile.tn,
            "A_PITCH": self.pitches[0],
            "B_PITCH": self.pitches[1],
            "GEMM_M": geometry.m,
            "GEMM_N": geometry.n,
            "GEMM_K": geometry.k,
            "GROUPS": geometry.groups,
            "PHASES": geometry.phases,
            "SPLITS": self.splits,
            "MAX_K": self.max_k,
            **(axes("CHECK", (1, 1, 1)) if strided else checks(problem, tail)),
            **geometry.defines,
            **epilogue_defines(problem),
            **prologue_defines(problem),
        }
        if isinstance(problem, ConvolutionBiasActivationForward):
            defines |= z_defines(problem)
            if not z_like_y(problem):
                defines.pop("STORE_COLUMNS", None)
                defines.pop("STORE_ROWS", None)
        if self.tap_slices:
            defines["TAP_SLICES"] = 1
            channels = geometry.defines["CHANNELS"]
            if vector_channels(self._image(problem), channels) and channels % tile.bk == 0:
                defines["LOAD_CHANNELS"] = int(min(tile.bk * tile.bn // tile.items, tile.bk) % 4 == 0)
        if not defines.get("LOAD_CHANNELS", 1):
            del defines["LOAD_CHANNELS"]
        if problem.mode is ConvolutionMode.CONVOLUTION:
            defines["FLIP"] = 1
        if geometry.packs and not self.packs:
            defines["DIRECT_FILTER"] = 1
            if self.along:
                defines[f"FILTER_ALONG_{self.along}"] = 1
        if self.fused:
            defines["FUSED_REDUCE"] = 1
        if self.packs_inside:
            defines |= {"FUSED_PACK": 1, "PIECE_COUNTERS": PIECE_COUNTERS}
        if self.fused or not geometry.packs:
            defines["RESIDENT"] = _RESIDENT  # their registers would just exceed the share; the other kernel's do not
        return defines

    @staticmethod
    def _image(problem: Convolution) -> TensorSpec:
        return problem.result if isinstance(problem, ConvolutionBackwardData) else problem.image


def of_short_numbers(problem: Convolution) -> float:
    """Return what numbers of two bytes lengthen a product by."""
    if problem.image.dtype.itemsize > 2:
        return 1.0
    return _SHORT_CHANNELS_LAST if problem.image.strides[1] == 1 and problem.image.dims[1] > 1 else _SHORT


def choices(problem: Convolution, geometry: Geometry, info: DeviceInfo, plain: bool) -> Iterator[Choice]:
    """Yield every tile, number of parts and way to read the filter that the device can do; `plain`: no workspace."""
    real, packs = problem.dtype.accumulator, geometry.packs and not plain
    along = "" if computed(problem, "filter") else filter_vectors(problem, geometry)
    for tile in TILES[real]:
        most = 1 if plain else min(_MOST_SPLITS, max(-(-geometry.k // tile.bk), 1))
        splits = 1
        while splits <= most:
            choice = Choice(geometry, tile, splits, packs, False, real.itemsize)
            options = [choice]
            if packs and (splits > 1 or along):
                options.append(replace(choice, packs=False).in_vectors(along))
            elif along:
                options = [choice.in_vectors(along)]
            if shares_pieces(info):
                options = [option.fuses_sums() for option in options]
                if packs and tile.bm >= _LEAST_ROWS:
                    options.append(options[0].packing_inside())
            for option in options:
                fits = option.share > 0 and tile.items <= info.max_work_group
                fits = fits and option.local_memory <= info.local_memory
                if fits and (splits == 1 or option.work_groups <= 16 * info.compute_units):
                    yield option
            splits += max(splits // 4, 1)
