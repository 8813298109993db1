"""Winograd's F(4x4, 3x3), not fused, for GPUs: transforms, 36 matrix products, and the transform back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DataType, DnnEnum
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem, TensorSpec

from ...base import (
    LAUNCH_SECONDS,
    Device,
    DeviceInfo,
    Launch,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
    host_seconds,
)
from ..conv.by_choice import ByChoice
from ..conv.gemm_tiles import Tile
from ..layouts import strides
from .geometry import Direction, declined, ints

PLANES = 36
ERROR_FACTOR = 16.0  # the transforms multiply by up to 8 and 1/24; measured, docs/kernels.md
CHUNK = 256 << 20  # bytes of transformed tiles and products at a time; smaller chunks were slower on an H200
_TRANSFORMS = "shared/winograd/transforms.cl"
_MULTIPLY = "shared/winograd/multiply.cl"
_ALIGN = 256  # bytes, of the parts of the workspace
_RESIDENT = 384  # work-items that a multiprocessor runs at a time
_SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # into which the depth of a product may be cut
_BANDWIDTH = 0.7  # of the device's, what the transforms reach


# of a product (gemm/tile.h); shares of the multiply-adds that they reach
TILES = {
    DataType.FLOAT: (Tile(64, 128, 8, 8, 0.6), Tile(64, 64, 8, 8, 0.55), Tile(32, 32, 4, 4, 0.25)),
    DataType.DOUBLE: (Tile(32, 32, 4, 4, 0.25),),
}


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


@dataclass(frozen=True)
class Choice:
    """A tile, and the sizes that follow.

    Attributes
    ----------
    rows, columns, depth : int
        Of a product, in whole tiles: filters, tiles and channels; of a filter gradient, channels, filters and tiles.
    chunks : int
        Launches of each kind that the tiles of the image are taken in.
    splits : int
        Parts of a product's depth.
    """

    direction: Direction
    gradient: bool
    item_size: int
    tile: Tile
    rows: int
    columns: int
    depth: int
    chunks: int
    splits: int

    @property
    def products(self) -> int:
        """Matrix products of a launch."""
        return self.direction.groups * PLANES

    @property
    def tiles(self) -> int:
        """Tiles of the image in a launch, in whole tiles of the product."""
        return self.depth if self.gradient else self.columns

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Bytes of the left and right sides of the products, and of the products."""
        reals = (self.rows * self.depth, self.columns * self.depth, self.rows * self.columns * self.splits)
        a, b, c = (_up(self.products * count * self.item_size, _ALIGN) for count in reals)
        return a, b, c

    @property
    def workspace(self) -> int:
        """Bytes of all of them."""
        return sum(self.sizes)

    @property
    def work_groups(self) -> int:
        """Work-groups of a launch of products."""
        return self.products * (self.rows // self.tile.bm) * (self.columns // self.tile.bn) * self.splits

    @property
    def launches(self) -> int:
        """Launches, one after another."""
        return 1 + 3 * self.chunks

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time: transforms move memory, products compute."""
        units = max(info.compute_units, 1)
        resident = max(_RESIDENT // self.tile.items, 1)
        full, rest = divmod(-(-self.work_groups // units), resident)
        waves = full * resident + (0.5 * resident + 0.5 * rest if rest else 0)
        steps = -(-self.depth // self.splits) + 40
        clocks = self.chunks * waves * self.tile.bm * self.tile.bn * steps / (128 * self.tile.share)
        clocks *= self.item_size / 4
        image = self.direction.wide.span * self.direction.wide.dtype.itemsize
        result = self.direction.narrow.span * self.direction.narrow.dtype.itemsize
        planes = sum(self.sizes) * self.chunks - (0 if self.gradient else (self.chunks - 1) * self.sizes[0])
        moved = image + result + 2 * planes
        seconds = clocks * 256 * units / info.flops + moved / (_BANDWIDTH * info.bandwidth)
        return max(seconds + self.launches * LAUNCH_SECONDS, host_seconds(self.launches, info))


def choices(problem: Convolution, info: DeviceInfo) -> Iterator[Choice]:
    """Yield the tiles that the device can run."""
    direction = Direction.of(problem)
    gradient = isinstance(problem, ConvolutionBackwardFilter)
    real = problem.dtype.accumulator
    tiles = direction.tiles(4)[0]
    for tile in TILES[real]:
        pitches = tile.bm + tile.bn + (8 if gradient else 0)
        if 2 * tile.bk * pitches * real.itemsize > info.local_memory or tile.items > info.max_work_group:
            continue
        step = tile.bk if gradient else tile.bn
        each = PLANES * direction.groups * (direction.channels + direction.filters) * real.itemsize  # bytes of a tile
        chunks = max(-(-tiles * each // max(CHUNK, 128 * each, 1)), 1)
        count = _up(max(-(-tiles // chunks), 1), 128 if chunks > 1 else step)
        used = max(-(-tiles // count), 1)
        if gradient:
            rows, columns, depth = _up(direction.channels, tile.bm), _up(direction.filters, tile.bn), count
        else:
            rows, columns, depth = _up(direction.filters, tile.bm), count, _up(direction.channels, tile.bk)
        for splits in _SPLITS:
            if splits == 1 or depth // tile.bk >= 8 * splits:
                yield Choice(direction, gradient, real.itemsize, tile, rows, columns, depth, used, splits)


class WinogradNonfused(ByChoice[Choice]):
    """One direction; the results of a transform lie in the workspace."""

    transforms = True
    _wanted: DnnEnum

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._wanted

    def error_factor(self, problem: Problem) -> float:
        return ERROR_FACTOR

    def choose(self, problem: Convolution, info: DeviceInfo) -> Choice | None:
        """Return the choice with the least estimated time; None where no tile fits the device."""
        return min(choices(problem, info), key=lambda choice: choice.seconds(info), default=None)

    def declines(self, problem: Convolution, info: DeviceInfo) -> str | None:
        return declined(problem, info)

    def launches(self, problem: Convolution, choice: Choice, device: Device) -> Iterator[Launch]:
        return _launches(problem, choice, device)


def _launches(problem: Convolution, choice: Choice, device: Device) -> Iterator[Launch]:
    """Yield the launches; those of an empty sum are left out, as the products' launch writes zeros."""
    direction, tile = choice.direction, choice.tile
    real = problem.dtype.accumulator
    storage = {f"DTYPE_{problem.dtype.name}": 1}
    gap = 4 if choice.gradient else 0
    product = {
        f"DTYPE_{real.name}": 1,
        "BM": tile.bm,
        "BN": tile.bn,
        "BK": tile.bk,
        "TM": tile.tm,
        "TN": tile.tn,
        "A_PITCH": tile.bm + gap,
        "B_PITCH": tile.bn + gap,
        "RESIDENT": _RESIDENT,
        **({"ALONG_K": 1} if choice.gradient else {}),
    }
    a_size, b_size, _ = choice.sizes
    left, right, planes = WorkspaceArg(0, real), WorkspaceArg(a_size, real), WorkspaceArg(a_size + b_size, real)
    output = (TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
    names = problem.tensor_names()
    tiles, tiles_h, tiles_w = direction.tiles(4)
    groups, sizes = direction.groups, (direction.filters, direction.channels)

    def flat(
        kernel: str, lines: int, count: int, *args: TensorArg | WorkspaceArg | ScalarArg, **defines: int
    ) -> Launch:
        compiled = device.compile(_TRANSFORMS, kernel, {**storage, **defines})
        return Launch(compiled, (-(-groups * lines * count // 256),), (256,), (*args, *numbers))

    def side(spec: TensorSpec, channels: int, lines: int, begin: int, start: tuple[int, int]) -> tuple[int, ...]:
        shape = (groups, lines, choice.tiles, begin, tiles, tiles_h, tiles_w, channels)
        return (*shape, *strides(spec), *spec.dims[2:], *start)

    if not choice.gradient and choice.depth:
        numbers = ints(groups, choice.depth, choice.rows, *sizes, *direction.taps)
        yield flat("winograd_filter", choice.depth, choice.rows, TensorArg(names.index("w")), left)
    for begin in range(0, max(tiles, 1), choice.tiles):
        wide = TensorArg(names.index("dy" if isinstance(problem, ConvolutionBackwardData) else "x"))
        if choice.gradient:
            numbers = ints(*side(direction.wide, direction.channels, choice.rows, begin, direction.start))
            yield flat("winograd_image", choice.rows, choice.tiles, wide, left)
            numbers = ints(*side(direction.narrow, direction.filters, choice.columns, begin, (0, 0)))
            yield flat("winograd_gradient_tiles", choice.columns, choice.tiles, TensorArg(1), right)
        elif choice.depth:
            numbers = ints(*side(direction.wide, direction.channels, choice.depth, begin, direction.start))
            yield flat("winograd_image", choice.depth, choice.tiles, wide, right)
        accumulate = int(choice.gradient and begin > 0)
        shape = ints(choice.products, choice.rows, choice.columns, choice.depth, choice.splits, accumulate)
        kernel = device.compile(_MULTIPLY, "winograd_multiply", product)
        yield Launch(kernel, (choice.work_groups,), (tile.items,), (left, right, planes, *shape))
        if not choice.gradient:
            numbers = ints(choice.splits, *side(direction.narrow, direction.filters, choice.rows, begin, (0, 0))[:-2])
            quads = {"QUADS": 1, "VW": 4, "VECTOR_ALIGNED": 1} if _quads(direction.narrow) else {}
            yield flat("winograd_output", choice.rows, choice.tiles, planes, *output, **quads)
    if choice.gradient:
        numbers = ints(choice.splits, groups, choice.rows, choice.columns, *sizes, *direction.taps)
        yield flat("winograd_filter_gradient", choice.rows, choice.columns, planes, *output)


def _quads(spec: TensorSpec) -> bool:
    """Tell whether the four outputs of a tile's row are always an aligned vector."""
    *others, step = strides(spec)
    whole = spec.dims[3] % 4 == 0 and not any(stride % 4 for stride in others)
    return whole and step == 1 and spec.alignment >= min(16, 4 * spec.dtype.itemsize)


class WinogradNonfusedForward(WinogradNonfused):
    """Forward."""

    name = "winograd_nonfused_forward"
    problems = (ConvolutionForward,)
    _wanted = ConvolutionFwdAlgo.WINOGRAD_NONFUSED


class WinogradNonfusedBackwardData(WinogradNonfused):
    """Data gradient: a convolution of dy with the flipped filter."""

    name = "winograd_nonfused_backward_data"
    problems = (ConvolutionBackwardData,)
    _wanted = ConvolutionBwdDataAlgo.WINOGRAD_NONFUSED


class WinogradNonfusedBackwardFilter(WinogradNonfused):
    """Filter gradient; the sum over tiles is split and added up in a fixed order."""

    name = "winograd_nonfused_backward_filter"
    problems = (ConvolutionBackwardFilter,)
    _wanted = ConvolutionBwdFilterAlgo.WINOGRAD_NONFUSED


ENGINES = (WinogradNonfusedForward(), WinogradNonfusedBackwardData(), WinogradNonfusedBackwardFilter())
