"""Convolution as products of spectra: which pixels a tile takes, and where its spectrum lies in which matrix.

All three directions are c[m][n] = the sum over k of a[m][k] * conj(b[n][k]), once per frequency (fft/multiply.cl):

================  ====================  ================  ================  =============================
direction         rows m                columns n         sum over k        a, b, c are spectra of
================  ====================  ================  ================  =============================
forward           n, o, tile            filter k          t, channel c      x, w, y
backward data     n, d, tile            channel c         t, filter k       dy, w (flipped), dx
backward filter   t, channel c          filter k          n, o, tile        x, dy, dw
================  ====================  ================  ================  =============================

Along depth nothing is transformed: a filter of t frames is a sum over t products of shifted frames.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from portadnn.enums import ConvolutionMode
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionBackwardFilter

from ..conv.cpu.common import Axes, Image, three
from ..rounding import ceil_div

LENGTHS = (8, 16, 32, 64, 128, 256)
TILE_LENGTHS = (16, 32, 64)
Pair = tuple[int, int]


@dataclass(frozen=True)
class Tiling:
    """Tiles of `length` squared, `tiles` of them down and across, which begin `step` pixels apart."""

    length: int
    tiles: Pair
    step: Pair

    @property
    def frequencies(self) -> int:
        """Complex numbers of a spectrum."""
        return self.length * (self.length // 2 + 1)


@dataclass(frozen=True)
class Window:
    """A correlation along height and width: dst[p] = sum over r < taps of src[p + r - pad] * filter[r].

    For the filter gradient dst is dw and the "filter" is dy. Taps that only ever meet padding are left out (`skipped`
    of them at the beginning): they would add their rounding errors to a result that they are no part of.
    """

    src: Pair
    dst: Pair
    taps: Pair
    pad: Pair
    skipped: Pair
    gradient: bool

    @classmethod
    def of(cls, src: Pair, dst: Pair, taps: Pair, pad: Pair, gradient: bool) -> Window:
        """Leave out what does not count."""
        (h, r, y), (w, s, x) = map(_taps_that_count, src, dst, taps, pad)
        return cls(src, dst, (r, s), (y, x), (h, w), gradient)

    def source_extent(self, tiling: Tiling) -> Pair:
        """Return how much of a tile of src counts."""
        short = self.dst if self.gradient else self.taps
        h, w = (min(tiling.length, step + size - 1) for step, size in zip(tiling.step, short, strict=True))
        return h, w

    def whole(self) -> Tiling | None:
        """Return the tiling with one tile, or None where it would have to be larger than 256."""
        need = max(_reach(*axis) for axis in zip(self.src, self.dst, self.taps, self.pad, strict=True))
        length = next((length for length in LENGTHS if length >= need), None)
        return None if length is None else Tiling(length, (1, 1), self.taps if self.gradient else self.dst)

    def tiled(self, length: int) -> Tiling | None:
        """Return the tiling with overlapping tiles (overlap-save), or None where the filter leaves nothing of one."""
        short, long = (self.dst, self.taps) if self.gradient else (self.taps, self.dst)
        h, w = (length - max(size, 1) + 1 for size in short)
        if h < 1 or w < 1:
            return None
        return Tiling(length, (max(1, ceil_div(long[0], h)), max(1, ceil_div(long[1], w))), (h, w))


def _taps_that_count(src: int, dst: int, taps: int, pad: int) -> tuple[int, int, int]:
    """Return the first tap that meets src somewhere, how many do, and the padding of a filter of those."""
    first, end = max(0, pad - dst + 1), min(taps, pad + src)
    return (first, end - first, pad - first) if first < end else (0, 0, pad)  # none: the result is zero


def _reach(src: int, dst: int, taps: int, pad: int) -> int:
    """Return the least period with which nothing that counts wraps around onto something else.

    Zeros on the left may also be those on the right: with pad < taps that is src + pad.
    """
    full = dst + taps - 1
    return max(dst, taps, full - max(pad, 0), min(src + pad, full))


@dataclass(frozen=True)
class Place:
    """Tiles of a tensor and the places of their spectra; the fields are PLACE_ARGS of fft/tiles.cl."""

    images: int
    channels: int
    tiles: Pair
    depth: int  # frames that are transformed, and ...
    size: Axes  # ... frames, height and width of the tensor
    pad: Axes
    step: Pair
    extent: Pair
    first: int
    strides: tuple[int, int, int, int, int]
    blocks: int
    n_inner: int
    block_outer: int
    block_n: int
    block_d: int
    block_t: int
    block_c: int

    @property
    def count(self) -> int:
        """Number of tiles."""
        return self.images * self.channels * self.depth * math.prod(self.tiles)

    def numbers(self, per: int) -> list[np.generic]:
        """Return the arguments for work-groups of `per` tiles."""
        ints = [self.count, per, self.channels, self.tiles[1], self.tiles[0], self.depth, *self.size, *self.pad]
        ints += [*self.step, *self.extent]
        found: list[np.generic] = [np.int32(v) for v in ints]
        found.append(np.int64(self.first))
        found += [np.int32(v) for v in self.strides]
        found += [np.int64(self.blocks), np.int32(self.n_inner)]
        found += [np.int64(v) for v in (self.block_outer, self.block_n, self.block_d, self.block_t, self.block_c)]
        return found


@dataclass(frozen=True)
class Product:
    """The matrices of one frequency; fields and order as in fft/multiply.cl, `add` apart."""

    rows: int
    cols: int
    outer: int
    inner: int
    groups: int
    m_inner: int
    a_outer: int
    a_m: int
    a_k: int
    a_group: int
    a_blocks: int
    b_n: int
    b_k: int
    b_group: int
    b_blocks: int
    c_m: int
    c_group: int
    c_blocks: int

    def numbers(self) -> list[np.generic]:
        """Return the arguments."""
        values = [getattr(self, field.name) for field in fields(self)]
        return [np.int32(v) if i < 6 else np.int64(v) for i, v in enumerate(values)]

    @property
    def flops(self) -> int:
        """Operations per frequency."""
        return 8 * self.rows * self.cols * self.outer * self.inner * self.groups


@dataclass(frozen=True)
class Cut:
    """Which images, and which rows of their tiles, are taken at a time."""

    tiling: Tiling
    start: int
    count: int
    top: int
    rows: int

    @property
    def tiles(self) -> Pair:
        """Tiles of a plane."""
        return self.rows, self.tiling.tiles[1]


@dataclass(frozen=True)
class Part:
    """What is computed at a time: the spectra a, b and c of some images."""

    a: Place
    b: Place
    c: Place
    product: Product


@dataclass(frozen=True)
class Scheme:
    """A convolution cut into tiles, with three spatial axes.

    Attributes
    ----------
    src, dst : Image
        What the tiles of a are cut from, and the other image: the result, or dy for the filter gradient.
    taps, pad : tuple
        Of the correlation.
    """

    problem: Convolution
    src: Image
    dst: Image
    taps: Axes
    pad: Axes
    flipped: bool
    window: Window

    @classmethod
    def of(cls, problem: Convolution) -> Scheme:
        """Read a problem."""
        src, dst = Image.of(problem.image), Image.of(problem.result)
        taps, pad = three(problem.filter.dims[2:], 1), three(problem.padding, 0)
        flipped = problem.mode is ConvolutionMode.CONVOLUTION
        gradient = isinstance(problem, ConvolutionBackwardFilter)
        if isinstance(problem, ConvolutionBackwardData):
            src, dst, flipped = dst, src, not flipped
            d, h, w = (t - 1 - p for t, p in zip(taps, pad, strict=True))
            pad = (d, h, w)
        small, large = (taps[1:], dst.size[1:]) if gradient else (dst.size[1:], taps[1:])
        window = Window.of(src.size[1:], small, large, pad[1:], gradient)
        return cls(problem, src, dst, taps, (pad[0], *window.pad), flipped, window)

    def filter_place(self) -> tuple[int, tuple[int, int, int, int, int]]:
        """Return the first element and the strides (k, c, t, r, s) of the filter, turned around where flipped."""
        k, c = self.problem.filter.strides[:2]
        d, h, w = three(self.problem.filter.strides[2:], 0)
        if not self.flipped:
            return 0, (k, c, d, h, w)
        first = sum((t - 1) * s for t, s in zip(self.taps, (d, h, w), strict=True))
        return first, (k, c, -d, -h, -w)

    def parts(self, tiling: Tiling, images: int, bands: int) -> Iterator[Part]:
        """Yield the work in parts of at most that many images and rows of tiles."""
        make = self._gradient_part if self.window.gradient else self._part
        for start in range(0, max(self.src.n, 1), images):
            count = min(images, self.src.n - start)
            for top in range(0, tiling.tiles[0], bands):
                yield make(Cut(tiling, start, count, top, min(bands, tiling.tiles[0] - top)))

    def _image_place(self, image: Image, cut: Cut) -> Place:
        """Return tiles side by side, of both tensors whose tiles do not overlap."""
        d, h, w = image.strides
        strides = (image.n_stride, image.channel_stride, d, h, w)
        step, above = cut.tiling.step, cut.top * cut.tiling.step[0]
        size = (image.size[0], image.size[1] - above, image.size[2])
        return Place(
            cut.count, image.channels, cut.tiles, image.size[0], size, (0, 0, 0), step, step,
            cut.start * image.n_stride + above * h, strides, 0, max(cut.count, 1), 0, 0, 0, 0, 0,
        )  # fmt: skip

    def _source_place(self, cut: Cut) -> Place:
        """Return overlapping tiles of src, and all frames that a sum over t reaches."""
        place = self._image_place(self.src, replace(cut, top=0))
        d, h, w = self.pad
        pad = (d, h - cut.top * cut.tiling.step[0], w)
        extent = self.window.source_extent(cut.tiling)
        return replace(place, depth=self.dst.size[0] + self.taps[0] - 1, pad=pad, extent=extent)

    def _without_skipped(self, place: Place, above: int = 0) -> Place:
        """Return the place of a filter (or dy, from row `above` on) with only the taps that count."""
        h, w = self.window.skipped
        first = place.first + h * place.strides[3] + w * place.strides[4]
        return replace(place, first=first, size=(place.size[0], self.window.taps[0] - above, self.window.taps[1]))

    def _filter_tiles(self, extent: Pair) -> Place:
        first, strides = self.filter_place()
        k, c = self.problem.filter.dims[:2]
        return Place(
            k, c, (1, 1), self.taps[0], self.taps, (0, 0, 0), extent, extent,
            first, strides, 0, max(k, 1), 0, 0, 0, 0, 0,
        )  # fmt: skip

    def _part(self, cut: Cut) -> Part:
        """Forward or backward data: rows of a and c are (n, o, tile), their columns channels."""
        groups, count, tiles, t = self.problem.groups, cut.count, math.prod(cut.tiles), self.taps[0]
        inner, cols, frames = self.src.channels // groups, self.dst.channels // groups, self.dst.size[0]
        source, target, run = odd(self.src.channels), odd(self.dst.channels), odd(t * inner)
        a, c = self._source_place(cut), self._image_place(self.dst, cut)
        a = replace(a, block_n=a.depth * tiles * source, block_d=tiles * source, block_t=source, block_c=1)
        a = replace(a, blocks=odd(count * a.block_n))
        c = replace(c, block_n=frames * tiles * target, block_d=tiles * target, block_t=target, block_c=1)
        c = replace(c, blocks=odd(count * c.block_n))
        b = self._without_skipped(self._filter_tiles(self.window.taps))
        b = replace(b, block_d=inner, blocks=odd(groups * cols * run))
        if isinstance(self.problem, ConvolutionBackwardData):
            b = replace(b, n_inner=max(inner, 1), block_outer=cols * run, block_n=1, block_c=run)
        else:
            b = replace(b, block_n=run, block_c=1)
        product = Product(
            count * frames * tiles, cols, t, inner, groups, max(frames * tiles, 1),
            a.block_n, source, tiles * source, inner, a.blocks,
            run, inner, cols * run, b.blocks, target, cols, c.blocks,
        )  # fmt: skip
        return Part(a, b, c, product)

    def _gradient_part(self, cut: Cut) -> Part:
        """Backward filter: a and b are [channel][n, frame, tile], c is [t, channel][filter]."""
        groups, count, tiles, t = self.problem.groups, cut.count, math.prod(cut.tiles), self.taps[0]
        channels, filters, frames = self.src.channels // groups, self.dst.channels // groups, self.dst.size[0]
        a, b = self._source_place(cut), self._image_place(self.dst, cut)
        b = self._without_skipped(b, cut.top * cut.tiling.step[0])
        each_a, each_b, row = odd(count * a.depth * tiles), odd(count * frames * tiles), odd(filters)
        a = replace(a, block_n=a.depth * tiles, block_d=tiles, block_t=1, block_c=each_a)
        a = replace(a, blocks=odd(self.src.channels * each_a))
        b = replace(b, block_n=frames * tiles, block_d=tiles, block_t=1, block_c=each_b)
        b = replace(b, blocks=odd(self.dst.channels * each_b))
        c = self._filter_tiles((self.taps[1], self.taps[2]))
        c = replace(
            c, n_inner=max(filters, 1), block_outer=t * channels * row,
            block_n=1, block_d=channels * row, block_c=row, blocks=odd(groups * t * channels * row),
        )  # fmt: skip
        outer, inner = (1, count * frames * tiles) if t == 1 else (count, frames * tiles)
        product = Product(
            t * channels, filters, outer, inner, groups, max(channels, 1),
            tiles, each_a, a.block_n, channels * each_a, a.blocks,
            each_b, b.block_n, filters * each_b, b.blocks, row, t * channels * row, c.blocks,
        )  # fmt: skip
        return Part(a, b, c, product)


def odd(count: int) -> int:
    """Return the odd number from `count` on: rows that many blocks apart share no sets of a cache."""
    return count | 1
