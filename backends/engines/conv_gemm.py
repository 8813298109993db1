"""Convolution as an implicit matrix product on GPUs: forward, data gradient and filter gradient."""

from __future__ import annotations

import math
from collections.abc import Iterator
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

from ..base import Arg, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg

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
    filter_share: float
    bk: int = 8

    @property
    def items(self) -> int:
        """Work-items of a work-group."""
        return self.bm // self.tm * (self.bn // self.tn)


# Shares as measured on an H200. 128 x 128 with 256 work-items was slower than all of the first three.
TILES = {
    DataType.FLOAT: (
        Tile(64, 128, 8, 8, 1.0, 0.95),
        Tile(128, 64, 8, 8, 0.94, 1.0),
        Tile(64, 64, 8, 8, 0.98, 0.85),
        Tile(32, 128, 4, 8, 0.8, 0.7),
        Tile(16, 128, 4, 4, 0.5, 0.4),
        Tile(4, 512, 4, 4, 0.35, 0),
    ),
    DataType.DOUBLE: (
        Tile(64, 64, 4, 4, 0.6, 0.6),
        Tile(32, 128, 4, 8, 0.5, 0.5),
        Tile(16, 128, 4, 4, 0.4, 0.4),
    ),
}
_MOST_SPLITS = 128
_RESIDENT = 384  # work-items that a multiprocessor runs at a time (gemm_tile.h)


@dataclass(frozen=True)
class Geometry:
    """A direction of a convolution as a matrix product, without its tile.

    Attributes
    ----------
    m, n, k : int
        The product's sizes; for a data gradient, those of its largest phase.
    groups, phases : int
        Independent products.
    defines : dict
        What the kernel has to know.
    """

    m: int
    n: int
    k: int
    groups: int
    phases: int
    packs: bool
    defines: dict[str, int]


def _strides(spec: TensorSpec) -> tuple[int, int, int, int, int]:
    """Return the strides as (n, c, d, h, w); that of a dimension of one does not matter."""
    strides = [s if d > 1 else 0 for d, s in zip(spec.dims, spec.strides, strict=True)]
    return (strides[0], strides[1], *(0,) * (5 - len(strides)), *strides[2:])  # type: ignore[return-value]


def _spatial(dims: tuple[int, ...], fill: int = 1) -> tuple[int, int, int]:
    """Return spatial sizes as (d, h, w)."""
    return (*(fill,) * (3 - len(dims)), *dims)  # type: ignore[return-value]


def _axes(prefix: str, values: tuple[int, ...]) -> dict[str, int]:
    return {f"{prefix}_{axis}": value for axis, value in zip("DHW", values, strict=True)}


def _vector_columns(spec: TensorSpec) -> bool:
    """Tell whether any four neighbouring pixels, counted from a multiple of four, are an aligned vector."""
    n, c, d, h, w = _strides(spec)
    sizes = _spatial(spec.dims[2:])
    step = 1
    for size, stride in zip(reversed(sizes), (w, h, d), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return step % 4 == 0 and n % 4 == 0 and c % 4 == 0 and _aligned(spec)


def _vector_channels(spec: TensorSpec, channels: int) -> bool:
    """Tell whether any four neighbouring channels of a group, from a multiple of four, are an aligned vector."""
    n, c, d, h, w = _strides(spec)
    return c == 1 and channels % 4 == 0 and not any(s % 4 for s in (n, d, h, w)) and _aligned(spec)


def _aligned(spec: TensorSpec) -> bool:
    return spec.alignment >= min(16, 4 * spec.dtype.itemsize)


def _image_defines(spec: TensorSpec, pixels: tuple[int, int, int]) -> dict[str, int]:
    n, c, d, h, w = _strides(spec)
    return {
        "IN_N": n,
        "IN_C": c,
        **_axes("IN", (d, h, w)),
        **_axes("EXTENT", _spatial(spec.dims[2:])),
        **_axes("PIXELS", tuple(max(size, 1) for size in pixels)),
    }


def _columns_defines(sizes: tuple[int, ...], strides: tuple[int, ...], row_stride: int) -> dict[str, int]:
    defines = {"OUT_M": row_stride}
    for i, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        defines |= {f"COLUMNS_{i}": max(size, 1), f"OUT_{i}": stride}
    return defines


def _checks(problem: Convolution, tail: bool) -> dict[str, int]:
    """Say in which dimensions a tap can fall outside of the image; `tail`: some columns are no pixels."""
    checks = [pad > 0 for pad in _spatial(problem.padding, 0)]
    checks[1] |= tail
    return _axes("CHECK", tuple(map(int, checks)))


def _forward(problem: Convolution) -> Geometry:
    x, w, y = problem.image, problem.filter, problem.result
    groups = problem.groups
    k, c = w.dims[0] // groups, w.dims[1]
    pixels = _spatial(y.dims[2:])
    taps = _spatial(w.dims[2:])
    ys, ws = _strides(y), _strides(w)
    defines = {
        **_image_defines(x, pixels),
        **_axes("STEP", _spatial(problem.stride)),
        **_axes("START", tuple(-p for p in _spatial(problem.padding, 0))),
        **_axes("TAP", _spatial(problem.dilation)),
        **_axes("HOP", (1, 1, 1)),
        **_axes("SIZE", taps),
        **_columns_defines((y.dims[0], *pixels), (ys[0], *ys[2:]), ys[1]),
        "CHANNELS": c,
        "FILTER_M": ws[0],
        "FILTER_C": ws[1],
        "FILTER_G": ws[0] * k,
        **_axes("FILTER", ws[2:]),
    }
    if _vector_columns(y):
        defines["STORE_COLUMNS"] = 1
    elif _vector_channels(y, k):
        defines["STORE_ROWS"] = 1
    return Geometry(k, y.dims[0] * math.prod(pixels), c * math.prod(taps), groups, 1, True, defines)


def _data_gradient(problem: Convolution) -> Geometry:
    dx, w, dy = problem.image, problem.filter, problem.result
    groups = problem.groups
    k, c = w.dims[0] // groups, w.dims[1]
    strides = _spatial(problem.stride)
    dilation = _spatial(problem.dilation)
    size = _spatial(dx.dims[2:])
    taps = _spatial(w.dims[2:])
    hops = tuple(s // math.gcd(s, d) for s, d in zip(strides, dilation, strict=True))
    most_taps = math.prod(-(-r // hop) for r, hop in zip(taps, hops, strict=True))
    pixels: tuple[int, int, int] = tuple(-(-e // s) for e, s in zip(size, strides, strict=True))  # type: ignore[assignment]
    xs, ws = _strides(dx), _strides(w)
    phases = math.prod(strides)
    defines = {
        "DATA_GRADIENT": 1,
        **_image_defines(dy, pixels),
        **_axes("STEP", (1, 1, 1)),
        **_axes("TAP", tuple(-d // math.gcd(s, d) for s, d in zip(strides, dilation, strict=True))),
        **_axes("HOP", hops),
        **_axes("SIZE", taps),
        **_axes("PADDING", _spatial(problem.padding, 0)),
        **_axes("DILATION", dilation),
        **_axes("PHASES", strides),
        **_axes("OUT", size),
        **_columns_defines((dx.dims[0], *pixels), (xs[0], *xs[2:]), xs[1]),
        "CHANNELS": k,
        "FILTER_M": ws[1],
        "FILTER_C": ws[0],
        "FILTER_G": ws[0] * k,
        **_axes("FILTER", ws[2:]),
    }
    if phases == 1 and _vector_columns(dx):
        defines["STORE_COLUMNS"] = 1
    elif _vector_channels(dx, c):
        defines["STORE_ROWS"] = 1
    return Geometry(c, dx.dims[0] * math.prod(pixels), k * most_taps, groups, phases, True, defines)


def _filter_gradient(problem: Convolution) -> Geometry:
    x, dw, dy = problem.image, problem.filter, problem.result
    groups = problem.groups
    k, c = dw.dims[0] // groups, dw.dims[1]
    pixels = _spatial(dy.dims[2:])
    taps = _spatial(dw.dims[2:])
    ws, ys = _strides(dw), _strides(dy)
    channel_last = _strides(x)[1] == 1 and x.dims[1] > 1
    columns = (*taps, c) if channel_last else (c, *taps)
    column_strides = (*ws[2:], ws[1]) if channel_last else ws[1:]
    defines = {
        "FILTER_GRADIENT": 1,
        **_image_defines(x, pixels),
        **_axes("STEP", _spatial(problem.stride)),
        **_axes("START", tuple(-p for p in _spatial(problem.padding, 0))),
        **_axes("TAP", _spatial(problem.dilation)),
        **_axes("SIZE", taps),
        **_columns_defines(columns, column_strides, ws[0]),
        "CHANNELS": c,
        "DY_N": ys[0],
        "DY_K": ys[1],
        **_axes("DY", ys[2:]),
        "CHANNEL_LAST" if channel_last else "LANES_ALONG_K": 1,
    }
    count = dy.dims[0] * math.prod(pixels)
    return Geometry(k, c * math.prod(taps), count, groups, 1, False, defines)


@dataclass(frozen=True)
class Choice:
    """A tile and the number of parts of K, with what follows from them."""

    geometry: Geometry
    tile: Tile
    splits: int
    item_size: int  # bytes of the arithmetic type

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
        return self.geometry.packs and -(-channels // self.tile.bk) * self.tile.bk <= 1.15 * channels

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
        if not geometry.packs:
            return 0
        count = geometry.groups * geometry.phases * self.max_k * self.tiles_m * self.tile.bm
        return -(-count * self.item_size // _ALIGN) * _ALIGN

    @property
    def workspace(self) -> int:
        """Bytes of the packed filter and of the parts."""
        if self.splits == 1:
            return self.packed_size
        tile = self.tile.bm * self.tile.bn * self.item_size
        return self.packed_size + self.work_groups * tile

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
    def share(self) -> float:
        """The tile's speed for this direction."""
        return self.tile.share if self.geometry.packs else self.tile.filter_share

    def clocks(self, info: DeviceInfo) -> float:
        """Estimate the time, in clocks, to rank choices.

        Multiprocessors work through their share of tiles, _RESIDENT work-items at a time; fewer do not take
        proportionally less time, because they hide less latency. Each tile has a fixed cost of about 40 steps of K;
        parts are written and read once more at about 16 bytes per clock and multiprocessor.
        """
        geometry, units = self.geometry, max(info.compute_units, 1)
        steps = -(-geometry.k // self.splits) + 40
        resident = max(_RESIDENT // self.tile.items, 1)
        full, rest = divmod(-(-self.work_groups // units), resident)
        tiles = full * resident + (0.45 * resident + 0.55 * rest if rest else 0)
        cost = tiles * self.tile.bm * self.tile.bn * steps / (128 * self.share)
        if self.splits > 1:
            parts = 2 * self.work_groups * self.tile.bm * self.tile.bn * self.item_size
            cost += parts / (16 * units) + 4000
        return cost

    def defines(self, problem: Convolution) -> dict[str, int]:
        """Everything that the kernel file needs."""
        geometry, tile = self.geometry, self.tile
        tail = geometry.n % tile.bn > 0
        strided = geometry.phases > 1 or "DATA_GRADIENT" in geometry.defines
        defines = {
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
            **(_axes("CHECK", (1, 1, 1)) if strided else _checks(problem, tail)),
            **geometry.defines,
        }
        if self.tap_slices:
            defines["TAP_SLICES"] = 1
            if _vector_channels(self._image(problem), defines["CHANNELS"]) and defines["CHANNELS"] % tile.bk == 0:
                defines["LOAD_CHANNELS"] = int(min(tile.bk * tile.bn // tile.items, tile.bk) % 4 == 0)
        if not defines.get("LOAD_CHANNELS", 1):
            del defines["LOAD_CHANNELS"]
        if problem.mode is ConvolutionMode.CONVOLUTION:
            defines["FLIP"] = 1
        if not geometry.packs:
            defines["RESIDENT"] = _RESIDENT  # its registers would just exceed the share; the other kernel's do not
        return defines

    @staticmethod
    def _image(problem: Convolution) -> TensorSpec:
        return problem.result if isinstance(problem, ConvolutionBackwardData) else problem.image


def _choices(geometry: Geometry, dtype: DataType, info: DeviceInfo) -> Iterator[Choice]:
    real = dtype.accumulator
    for tile in TILES[real]:
        slices = max(-(-geometry.k // tile.bk), 1)
        splits = 1
        while splits <= min(_MOST_SPLITS, slices):
            choice = Choice(geometry, tile, splits, real.itemsize)
            fits = choice.share > 0 and tile.items <= info.max_work_group and choice.local_memory <= info.local_memory
            if fits and (splits == 1 or choice.work_groups <= 16 * info.compute_units):
                yield choice
            splits += max(splits // 4, 1)


class ConvGemm(Engine):
    """One direction of convolution as an implicit matrix product."""

    _wanted: DnnEnum

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._wanted

    def geometry(self, problem: Convolution) -> Geometry:
        """Return the direction's matrix product."""
        raise NotImplementedError

    def choose(self, problem: Convolution, info: DeviceInfo) -> Choice | None:
        """Return the tile with the least estimated time; None where none fits the device."""
        options = _choices(self.geometry(problem), problem.dtype, info)
        return min(options, key=lambda choice: choice.clocks(info), default=None)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        if info.schedule != "gpu":
            return "made for GPUs"
        choice = self.choose(problem, info)
        if choice is None:
            return "no tile fits the device's work-group size and local memory"
        if choice.workspace > info.max_allocation:
            return f"needs {choice.workspace} bytes of workspace, the device allocates {info.max_allocation}"
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        choice = self.choose(problem, info)
        return choice.workspace if choice and problem.tensors[-1].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        choice = self.choose(problem, device.info)
        assert choice is not None
        launches = tuple(_launches(problem, choice, device)) if problem.tensors[-1].size else ()
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _launches(problem: Convolution, choice: Choice, device: Device) -> Iterator[Launch]:
    geometry, tile = choice.geometry, choice.tile
    real = problem.dtype.accumulator
    defines = choice.defines(problem)
    packed, parts = WorkspaceArg(0, real), WorkspaceArg(choice.packed_size, real)
    names = problem.tensor_names()
    image = TensorArg(names.index("dy" if isinstance(problem, ConvolutionBackwardData) else "x"))
    output: tuple[Arg, ...] = (TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
    rows: Arg = TensorArg(names.index("dy")) if not geometry.packs else packed
    if geometry.packs and choice.max_k:
        padded_m = choice.tiles_m * tile.bm
        blocks = -(-padded_m // 32) * -(-choice.max_k // 32) * geometry.groups * geometry.phases
        kernel = device.compile(FILE, "pack_filter", defines)
        yield Launch(kernel, (blocks,), (256,), (TensorArg(names.index("w")), packed))
    kernel = device.compile(FILE, "conv_gemm", defines)
    target = (parts,) if choice.splits > 1 else output
    yield Launch(kernel, (choice.work_groups,), (tile.items,), (rows, image, *target))
    if choice.splits > 1:
        elements = geometry.groups * geometry.phases * geometry.m * geometry.n
        kernel = device.compile(FILE, "reduce_splits", defines)
        yield Launch(kernel, (-(-elements // 256),), (256,), (parts, *output))


class ConvGemmForward(ConvGemm):
    """Forward."""

    name = "conv_gemm_forward"
    problems = (ConvolutionForward,)
    _wanted = ConvolutionFwdAlgo.IMPLICIT_GEMM

    def geometry(self, problem: Convolution) -> Geometry:
        return _forward(problem)


class ConvGemmBackwardData(ConvGemm):
    """Data gradient, gathered: every element is written by one work-item."""

    name = "conv_gemm_backward_data"
    problems = (ConvolutionBackwardData,)
    _wanted = ConvolutionBwdDataAlgo.ALGO_1

    def geometry(self, problem: Convolution) -> Geometry:
        return _data_gradient(problem)


class ConvGemmBackwardFilter(ConvGemm):
    """Filter gradient; the sum over pixels is split and added up in a fixed order."""

    name = "conv_gemm_backward_filter"
    problems = (ConvolutionBackwardFilter,)
    _wanted = ConvolutionBwdFilterAlgo.ALGO_1

    def geometry(self, problem: Convolution) -> Geometry:
        return _filter_gradient(problem)


ENGINES = (ConvGemmForward(), ConvGemmBackwardData(), ConvGemmBackwardFilter())
