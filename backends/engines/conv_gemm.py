"""Convolution as an implicit matrix product on GPUs: forward, data gradient and filter gradient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
from portadnn.ops.convolution_fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem, TensorSpec

from ..base import (
    MOST_COUNTERS,
    Arg,
    CountersArg,
    Device,
    DeviceInfo,
    Launch,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
    host_seconds,
)
from .conv_choice import ByChoice
from .conv_epilogue import epilogue_args, epilogue_defines, output
from .conv_geometry import (
    Geometry,
    axes,
    checks,
    data_gradient,
    filter_gradient,
    forward,
    vector_channels,
    z_defines,
    z_like_y,
)

FILE = "shared/conv_gemm.cl"
_ALIGN = 256  # bytes, of the parts of the workspace


@dataclass(frozen=True)
class Tile:
    """Sizes of a work-group's tile (gemm_tile.h), and what it reaches of the fastest tile's speed when it is full.

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
_GATHERED = 1.46  # time of a product that gathers its filter, in that of one that reads a packed filter
_CLOCK_FLOPS = 256  # of a multiprocessor per clock, as `Choice.clocks` counts
# Fitted to 86 products of 1 to 64 images on an H200, from 10 us to 1.3 ms: 11 % root mean square error
_REACHED, _FILTER_REACHED = 0.6, 0.495  # of these, what the fastest full tile reaches
_STEPS = 14  # of K that a tile's beginning and end take
_PART_BYTES = 100  # of partial sums, per clock and multiprocessor: most stay in the second-level cache
_LAUNCH = 2.9e-6  # seconds from one launch to the next
_RESIDENT = 384  # work-items that a multiprocessor runs at a time (gemm_tile.h)


@dataclass(frozen=True)
class Choice:
    """A tile and the number of parts of K, with what follows from them.

    Attributes
    ----------
    packs : bool
        Whether the filter is packed by a launch of its own, which would outlast the product of a small problem.
    fused : bool
        Whether the last work-group of a tile adds the parts up; else a launch of its own does.
    item_size : int
        Bytes of the arithmetic type.
    """

    geometry: Geometry
    tile: Tile
    splits: int
    packs: bool
    fused: bool
    item_size: int

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
        return self.packs and -(-channels // self.tile.bk) * self.tile.bk <= 1.15 * channels

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
    def tile_bytes(self) -> int:
        """Bytes of a tile of partial sums."""
        return self.tile.bm * self.tile.bn * self.item_size

    @property
    def counters(self) -> int:
        """Counters of a fused sum, one for each tile of the result."""
        return self.work_groups // self.splits

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
        """Reals from one row of a slice to the next; the filter gradient's are written across the rows."""
        gap = 0 if self.geometry.packs else 4
        return self.tile.bm + gap, self.tile.bn + gap

    @property
    def launches(self) -> int:
        """Launches, one after another."""
        return 1 + self.packs + (self.splits > 1 and not self.fused)

    @property
    def share(self) -> float:
        """The tile's speed for this direction."""
        return self.tile.share if self.geometry.packs else self.tile.filter_share

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
            cost *= _GATHERED
        if self.splits > 1:
            parts = self.work_groups * self.tile_bytes / units
            cost += (parts + (self.splits * self.tile_bytes if self.fused else parts)) / _PART_BYTES
        return cost

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time, launches included."""
        reached = _REACHED if self.geometry.packs else _FILTER_REACHED
        rate = reached * info.flops / (_CLOCK_FLOPS * max(info.compute_units, 1))
        return max(self.clocks(info) / rate + self.launches * _LAUNCH, host_seconds(self.launches, info))

    def defines(self, problem: Convolution) -> dict[str, int | float]:
        """Everything that the kernel file needs."""
        geometry, tile = self.geometry, self.tile
        tail = geometry.n % tile.bn > 0
        strided = geometry.phases > 1 or "DATA_GRADIENT" in geometry.defines
        defines: dict[str, int | float] = {
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
        if self.fused:
            defines["FUSED_REDUCE"] = 1
        if self.fused or not geometry.packs:
            defines["RESIDENT"] = _RESIDENT  # their registers would just exceed the share; the other kernel's do not
        return defines

    @staticmethod
    def _image(problem: Convolution) -> TensorSpec:
        return problem.result if isinstance(problem, ConvolutionBackwardData) else problem.image


def _choices(geometry: Geometry, dtype: DataType, info: DeviceInfo, plain: bool) -> Iterator[Choice]:
    real, may_pack = dtype.accumulator, geometry.packs and not plain
    for tile in TILES[real]:
        most = 1 if plain else min(_MOST_SPLITS, max(-(-geometry.k // tile.bk), 1))
        splits = 1
        while splits <= most:
            for packs in (True, False) if may_pack and splits > 1 else (may_pack,):
                choice = Choice(geometry, tile, splits, packs, False, real.itemsize)
                if splits > 1 and "grid_fence" in info.features and choice.counters <= MOST_COUNTERS:
                    choice = replace(choice, fused=True)
                fits = choice.share > 0 and tile.items <= info.max_work_group
                fits = fits and choice.local_memory <= info.local_memory
                if fits and (splits == 1 or choice.work_groups <= 16 * info.compute_units):
                    yield choice
            splits += max(splits // 4, 1)


class ConvGemm(ByChoice[Choice]):
    """One direction of convolution as an implicit matrix product.

    Attributes
    ----------
    plain : bool
        Without a workspace: the filter is gathered from where it lies, and no sum is split.
    """

    _algos: tuple[DnnEnum, DnnEnum]  # with a workspace, and without

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain
        if plain:
            self.name += "_plain"

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algos[self.plain]

    def geometry(self, problem: Convolution) -> Geometry:
        """Return the direction's matrix product."""
        raise NotImplementedError

    def choose(self, problem: Convolution, info: DeviceInfo) -> Choice | None:
        """Return the tile with the least estimated time; None where none fits the device."""
        options = _choices(self.geometry(problem), problem.dtype, info, self.plain)
        return min(options, key=lambda choice: choice.seconds(info), default=None)

    def declines(self, problem: Convolution, info: DeviceInfo) -> str | None:
        return None if info.schedule == "gpu" else "made for GPUs"

    def launches(self, problem: Convolution, choice: Choice, device: Device) -> Iterator[Launch]:
        return _launches(problem, choice, device)


def _launches(problem: Convolution, choice: Choice, device: Device) -> Iterator[Launch]:
    geometry, tile = choice.geometry, choice.tile
    real = problem.dtype.accumulator
    defines = choice.defines(problem)
    packed, parts = WorkspaceArg(0, real), WorkspaceArg(choice.packed_size, real)
    names = problem.tensor_names()
    image = TensorArg(names.index("dy" if isinstance(problem, ConvolutionBackwardData) else "x"))
    last: tuple[Arg, ...] = (output(problem), ScalarArg(0, real), ScalarArg(1, real), *epilogue_args(problem))
    rows: Arg = packed if choice.packs else TensorArg(names.index("w" if geometry.packs else "dy"))
    if choice.packs and choice.max_k:
        padded_m = choice.tiles_m * tile.bm
        blocks = -(-padded_m // 32) * -(-choice.max_k // 32) * geometry.groups * geometry.phases
        kernel = device.compile(FILE, "pack_filter", defines)
        yield Launch(kernel, (blocks,), (256,), (TensorArg(names.index("w")), packed))
    kernel = device.compile(FILE, "conv_gemm", defines)
    target = (parts, CountersArg(choice.counters), *last) if choice.fused else (parts,) if choice.splits > 1 else last
    yield Launch(kernel, (choice.work_groups,), (tile.items,), (rows, image, *target))
    if choice.splits > 1 and not choice.fused:
        elements = geometry.groups * geometry.phases * geometry.m * geometry.n
        kernel = device.compile(FILE, "reduce_splits", defines)
        yield Launch(kernel, (-(-elements // 256),), (256,), (parts, *last))


class ConvGemmForward(ConvGemm):
    """Forward."""

    name = "conv_gemm_forward"
    problems = (ConvolutionForward, ConvolutionBiasActivationForward)
    _algos = (ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM, ConvolutionFwdAlgo.IMPLICIT_GEMM)

    def geometry(self, problem: Convolution) -> Geometry:
        return forward(problem)


class ConvGemmBackwardData(ConvGemm):
    """Data gradient, gathered: every element is written by one work-item."""

    name = "conv_gemm_backward_data"
    problems = (ConvolutionBackwardData,)
    _algos = (ConvolutionBwdDataAlgo.ALGO_1, ConvolutionBwdDataAlgo.ALGO_1)

    def geometry(self, problem: Convolution) -> Geometry:
        return data_gradient(problem)


class ConvGemmBackwardFilter(ConvGemm):
    """Filter gradient; the sum over pixels is split and added up in a fixed order."""

    name = "conv_gemm_backward_filter"
    problems = (ConvolutionBackwardFilter,)
    _algos = (ConvolutionBwdFilterAlgo.ALGO_1, ConvolutionBwdFilterAlgo.ALGO_1)

    def geometry(self, problem: Convolution) -> Geometry:
        return filter_gradient(problem)


_DIRECTIONS = (ConvGemmForward, ConvGemmBackwardData, ConvGemmBackwardFilter)
ENGINES = tuple(direction(plain) for plain in (False, True) for direction in _DIRECTIONS)
