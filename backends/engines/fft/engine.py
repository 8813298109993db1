"""Convolution by Fourier transforms: the whole image at once, or tile by tile; all three directions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DnnEnum
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem

from ...base import (
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
from ..conv.by_choice import chosen
from ..rounding import ceil_div, round_up
from .geometry import TILE_LENGTHS, Place, Product, Scheme, Tiling
from .setup import Setup, Work, blocks_of, work_of

TILES_FILE, MULTIPLY_FILE = "shared/fft/tiles.cl", "shared/fft/multiply.cl"
_MOST_PARTS = 64
_MOST = 2**31 - 1


class ConvFft(Engine):
    """The whole padded image is one tile; all three directions."""

    name = "conv_fft"
    transforms = True
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
        work: Work | None = chosen(self.work, problem, info)
        return math.inf if work is None else work.seconds(info)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        axes = zip(problem.result.dims[2:], problem.filter.dims[2:], problem.stride, problem.dilation, strict=True)
        for out, taps, stride, dilation in axes:
            if stride != 1 and out > 1:
                return f"stride {problem.stride}, it takes 1 only"
            if dilation != 1 and taps > 1:
                return f"dilation {problem.dilation}, it takes 1 only"
        work: Work | None = chosen(self.work, problem, info)
        if work is None:
            return self.too_large(problem)
        return _why_too_large(work, info)

    def too_large(self, problem: Convolution) -> str:
        """Say why there is no tiling."""
        return f"images of {problem.image.dims[2:]} with padding {problem.padding} do not fit into 256 x 256"

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        work: Work | None = chosen(self.work, problem, info)
        return work.workspace if work and problem.tensors[-1].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[-1].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        work: Work | None = chosen(self.work, problem, device.info)
        assert work is not None
        launches = tuple(_launches(problem, work, device))
        return Plan(problem, self, work.workspace, device.bind(launches), launches)


def _why_too_large(work: Work, info: DeviceInfo) -> str | None:
    if work.workspace > info.max_allocation:
        return f"needs {work.workspace} bytes of workspace, the device allocates {info.max_allocation}"
    if work.count > _MOST_PARTS:
        return f"its spectra would have to be computed in {work.count} parts"
    largest = next(work.scheme.parts(work.setup.tiling, work.images, work.bands))
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
    inverse = device.compile(TILES_FILE, "fft_inverse", setup.tile_defines(problem.dtype))

    def transform(place: Place, tensor: Arg, spectra: Arg) -> Iterator[Launch]:
        if place.count:
            per = setup.per_group(place.count)
            forward = device.compile(TILES_FILE, "fft_forward", setup.tile_defines(problem.dtype, place))
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
    blocks = blocks_of(setup, product)
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
