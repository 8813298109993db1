"""Convolution by Fourier transforms: the whole image at once, or tile by tile; all three directions."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DataType, DnnEnum
from portadnn.ops.convolution import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem

from ..base import (
    LAUNCH_SECONDS,
    Arg,
    ConstantArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from .conv_cpu_common import ceil_div, round_up
from .conv_fft_geometry import TILE_LENGTHS, Part, Place, Product, Scheme, Tiling

TILES_FILE, MULTIPLY_FILE = "shared/fft_tiles.cl", "shared/fft_multiply.cl"
_ALIGN = 256  # bytes, of the parts of the workspace
MEMORY = 1 << 30  # bytes of spectra from which on images are taken in several parts
_MOST_PARTS = 64
_MOST = 2**31 - 1
_GROUP_TILES = 4  # tiles of a CPU's work-group
# work-items of a tile and tiles of a work-group on GPUs, by the length of a tile
_GPU_ITEMS = {8: (8, 16), 16: (32, 4), 32: (64, 2), 64: (256, 1), 128: (256, 1), 256: (256, 1)}


@dataclass(frozen=True)
class Blocks:
    """Sums of a worker of fft_multiply.cl and workers of a work-group."""

    tm: int
    tn: int
    workers_m: int = 1
    workers_n: int = 1

    def cost(self, product: Product) -> float:
        """Rank by multiplications and loads, with what is done in vain."""
        m, n = self.tm * self.workers_m, self.tn * self.workers_n
        tiles = ceil_div(max(product.rows, 1), m) * ceil_div(max(product.cols, 1), n) * self.workers_m * self.workers_n
        return tiles * (4 * self.tm * self.tn + 3 * (self.tm + self.tn))


_CPU_BLOCKS = (
    Blocks(3, 4),
    Blocks(4, 3),
    Blocks(3, 3),
    Blocks(2, 4),
    Blocks(4, 2),
    Blocks(1, 4),
    Blocks(4, 1),
    Blocks(2, 2),
)
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

    def tile_defines(self, dtype: DataType) -> dict[str, int | float | str]:
        """Everything that fft_tiles.cl needs."""
        return {
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
    """A problem laid out: parts of its images, and where the spectra lie in the workspace."""

    scheme: Scheme
    setup: Setup
    images: int

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts, the first of which is the largest."""
        return tuple(self.scheme.parts(self.setup.tiling, self.images))

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Bytes of the spectra a, b and c of a part, and of scratch."""
        part = next(self.scheme.parts(self.setup.tiling, self.images))
        a, b, c = (self.setup.spectra_bytes(place) for place in (part.a, part.b, part.c))
        return a, b, c, self.setup.scratch_bytes

    @property
    def workspace(self) -> int:
        """Bytes."""
        return sum(self.sizes)

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time: transforms at a quarter of the peak, products at half of it, spectra through memory."""
        setup, length = self.setup, self.setup.tiling.length
        flops = info.flops / 2 if setup.real is DataType.DOUBLE else info.flops
        parts = self.parts
        tiles = sum(p.a.count + p.c.count + p.b.count for p in parts)
        transform = tiles * (5 * length**2 * math.log2(length) + 8 * length**2)
        blocks = _blocks(setup, parts[0].product)
        waste = blocks.cost(parts[0].product) / (4 * max(parts[0].product.rows * parts[0].product.cols, 1))
        product = sum(p.product.flops for p in parts) * setup.frequency_blocks * setup.lanes * min(waste, 16)
        memory = 2 * len(parts) * self.workspace
        launches = 4 * len(parts)
        return (
            transform / (0.12 * flops) + product / (0.7 * flops) + memory / info.bandwidth + launches * LAUNCH_SECONDS
        )


def _blocks(setup: Setup, product: Product) -> Blocks:
    options = _GPU_BLOCKS if setup.items > 1 else _CPU_BLOCKS
    return min(options, key=lambda blocks: blocks.cost(product))


def _limit(info: DeviceInfo) -> int:
    return min(MEMORY, info.max_allocation)


def work_of(scheme: Scheme, tiling: Tiling, info: DeviceInfo) -> Work:
    """Lay a problem out; as many images at a time as fit into memory, but one at least."""
    setup = Setup.of(tiling, scheme.problem.dtype.accumulator, info)
    images = max(scheme.src.n, 1)
    whole = Work(scheme, setup, images)
    if whole.workspace <= _limit(info):
        return whole
    one, two = (Work(scheme, setup, min(n, images)).workspace for n in (1, 2))
    each = max(two - one, 1)
    images = min(images, max(1, (_limit(info) - one) // each + 1))
    while images > 1 and Work(scheme, setup, images).workspace > _limit(info):  # what is rounded up to _ALIGN
        images -= 1
    return Work(scheme, setup, images)


class ConvFft(Engine):
    """The whole padded image is one tile; all three directions."""

    name = "conv_fft"
    problems = (ConvolutionForward, ConvolutionBackwardData, ConvolutionBackwardFilter)
    _algorithms: tuple[DnnEnum, ...] = (
        ConvolutionFwdAlgo.FFT,
        ConvolutionBwdDataAlgo.FFT,
        ConvolutionBwdFilterAlgo.FFT,
    )

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algorithms[[isinstance(problem, kind) for kind in self.problems].index(True)]

    def tilings(self, scheme: Scheme) -> list[Tiling]:
        """Return the tilings to choose from."""
        tiling = scheme.window.whole()
        return [] if tiling is None else [tiling]

    def work(self, problem: Convolution, info: DeviceInfo) -> Work | None:
        """Return the fastest way that fits into the device's memory, else the smallest; None where there is none."""
        scheme = Scheme.of(problem)
        found = [work_of(scheme, tiling, info) for tiling in self.tilings(scheme)]
        fitting = [work for work in found if _why_too_large(work, info) is None]
        if fitting:
            return min(fitting, key=lambda work: work.seconds(info))
        return min(found, key=lambda work: work.workspace, default=None)

    def error_factor(self, problem: Problem) -> float:
        """Return 2: the bound of the largest sum, for every element.

        A transform of N numbers in passes multiplies rounding errors by sqrt(log N) and spreads them evenly over its
        tile, so an element is off by a share of the tile's root mean square, not of its own terms. At most 0.45 times
        the bound was measured for tiles of 8 to 256, worst for a 1x1 filter of one channel, where nothing averages out.
        """
        return 2.0

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        work = self.work(problem, info)
        return math.inf if work is None else work.seconds(info)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        axes = zip(problem.result.dims[2:], problem.filter.dims[2:], problem.stride, problem.dilation, strict=True)
        for out, taps, stride, dilation in axes:
            if stride != 1 and out > 1:
                return f"stride {problem.stride}, it takes 1 only"
            if dilation != 1 and taps > 1:
                return f"dilation {problem.dilation}, it takes 1 only"
        work = self.work(problem, info)
        if work is None:
            return self.too_large(problem)
        return _why_too_large(work, info)

    def too_large(self, problem: Convolution) -> str:
        """Say why there is no tiling."""
        return f"images of {problem.image.dims[2:]} with padding {problem.padding} do not fit into 256 x 256"

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        work = self.work(problem, info)
        return work.workspace if work and problem.tensors[-1].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[-1].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        work = self.work(problem, device.info)
        assert work is not None
        launches = tuple(_launches(problem, work, device))
        return Plan(problem, self, work.workspace, device.bind(launches), launches)


def _why_too_large(work: Work, info: DeviceInfo) -> str | None:
    if work.workspace > info.max_allocation:
        return f"needs {work.workspace} bytes of workspace, the device allocates {info.max_allocation}"
    parts = ceil_div(max(work.scheme.src.n, 1), work.images)
    if parts > _MOST_PARTS:
        return f"its spectra would have to be computed in {parts} parts"
    largest = next(work.scheme.parts(work.setup.tiling, work.images))
    if max(place.count for place in (largest.a, largest.b, largest.c)) > _MOST:
        return "more tiles than 32 bits count"
    return None


class ConvFftTiling(ConvFft):
    """Overlapping tiles of 16, 32 or 64; all three directions."""

    name = "conv_fft_tiling"
    _algorithms = (
        ConvolutionFwdAlgo.FFT_TILING,
        ConvolutionBwdDataAlgo.FFT_TILING,
        ConvolutionBwdFilterAlgo.FFT_TILING,
    )

    def tilings(self, scheme: Scheme) -> list[Tiling]:
        found = (scheme.window.tiled(length) for length in TILE_LENGTHS)
        return [tiling for tiling in found if tiling is not None]

    def too_large(self, problem: Convolution) -> str:
        return f"a filter of {problem.filter.dims[2:]} does not fit into a tile of 64 x 64"


def _launches(problem: Convolution, work: Work, device: Device) -> Iterator[Launch]:
    setup, scheme, real = work.setup, work.scheme, work.setup.real
    names = problem.tensor_names()
    image, filter, result = (TensorArg(names.index(role)) for role in problem.roles)
    source, second, target = image, filter, result
    if scheme.window.gradient:
        second, target = result, filter
    elif isinstance(problem, ConvolutionBackwardData):
        source, target = result, image
    starts = [0, *np.cumsum(work.sizes).tolist()]
    a, b, c, scratch = (WorkspaceArg(start, real) for start in starts[:4])
    extra: tuple[Arg, ...] = (scratch,) if setup.scratch == "GLOBAL" else ()
    numbers = (ScalarArg(0, real), ScalarArg(1, real))
    defines = setup.tile_defines(problem.dtype)
    forward = device.compile(TILES_FILE, "fft_forward", defines)
    inverse = device.compile(TILES_FILE, "fft_inverse", defines)

    def transform(place: Place, tensor: Arg, spectra: Arg) -> Iterator[Launch]:
        if place.count:
            per = setup.per_group(place.count)
            args = (tensor, spectra, *extra, *_constants(place.numbers(per)))
            yield Launch(forward, (ceil_div(place.count, per),), (setup.items * setup.tiles,), args)

    parts = work.parts
    for i, part in enumerate(parts):
        gradient = scheme.window.gradient
        yield from transform(part.a, source, a)
        if i == 0 or gradient:
            yield from transform(part.b, second, b)
        yield _multiply(device, setup, part.product, (a, b, c), add=gradient and i > 0)
        if i == len(parts) - 1 or not gradient:
            per = setup.per_group(part.c.count)
            args = (target, c, *extra, *_constants(part.c.numbers(per)), *numbers)
            yield Launch(inverse, (ceil_div(part.c.count, per),), (setup.items * setup.tiles,), args)


def _constants(values: list[np.generic]) -> Iterator[Arg]:
    return (ConstantArg(value) for value in values)


def _multiply(device: Device, setup: Setup, product: Product, spectra: tuple[Arg, ...], *, add: bool) -> Launch:
    blocks = _blocks(setup, product)
    cpu = setup.items == 1
    vector = setup.lanes if cpu else 1
    kernel = device.compile(
        MULTIPLY_FILE,
        "fft_multiply",
        {
            f"DTYPE_{setup.real.name}": 1,
            "VW": vector,
            "FB": setup.lanes,
            "TM": blocks.tm,
            "TN": blocks.tn,
            "WORKERS_M": blocks.workers_m,
            "WORKERS_N": blocks.workers_n,
        },
    )
    step_m, step_n = blocks.tm * blocks.workers_m, blocks.tn * blocks.workers_n
    planes = setup.frequency_blocks * product.groups
    if cpu:
        pieces = max(1, ceil_div(8 * setup.units, planes))
        step_m, step_n = round_up(max(1, ceil_div(product.rows, pieces)), blocks.tm), max(product.cols, 1)
    steps = ceil_div(product.rows, step_m), ceil_div(product.cols, step_n)
    sizes = [np.int32(v) for v in (step_m, step_n, *steps, int(add))]
    args = (*spectra, *_constants([*product.numbers(), *sizes]))
    workers = setup.lanes // vector * blocks.workers_m * blocks.workers_n
    return Launch(kernel, (steps[0] * steps[1] * planes,), (workers,), args)


ENGINES = (ConvFft(), ConvFftTiling())
