"""What a convolution on tensor cores reads: tensors as they lie or packed copies, and the tile and splits chosen."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

from portadnn.enums import ConvolutionMode, DataType, MathType, TensorFormat
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import TensorSpec

from ...base import LAUNCH_SECONDS, DeviceInfo
from ...fusion.product.texts import operand_of
from ..layouts import strides
from .epilogue import ForwardOfBytes, sums_of
from .geometry import Geometry, data_gradient, filter_gradient, forward
from .matrix_units import MMA, Unit, unit_of
from .prologue import computed
from .tensor_core_tiles import Choice, Product, choices, up

CHUNK = 16  # bytes: what is copied at once
_ALIGN = 256  # bytes, of the parts of the workspace
_PACKING_RATE = 0.5  # of the device's bandwidth
_SECTOR = 32  # bytes that memory hands out at once
_MOST_TAPS = 1024  # whose places a work-group notes


def pixel_lanes(spec: TensorSpec) -> int:
    """Return how many neighbouring pixels, 8, 4 or 1, are one aligned vector wherever they start."""
    steps, run = strides(spec), 1
    for size, stride in zip(reversed(spec.dims[2:]), reversed(steps[2:]), strict=True):
        if size > 1 and stride != run:
            return 1
        run *= size
    for lanes in (8, 4):
        aligned = spec.alignment >= min(CHUNK, lanes * spec.dtype.itemsize)
        if aligned and run % lanes == 0 and all(s % lanes == 0 for s in steps[:2]):
            return lanes
    return 1


@dataclass(frozen=True)
class Image:
    """An image as the kernels read it.

    Attributes
    ----------
    index : int
        Of the problem's tensor.
    source, spec : TensorSpec
        The tensor, and what the kernel reads; the same where `native`.
    groups, channels : int
        Groups, and channels of each.
    padded : int
        Channels of a group with their padding.
    operand : str
        What conv/prologue.h calls it.
    planes : bool
        Whether the kernel reads it as planes of neighbouring pixels; else as NHWC.
    """

    index: int
    source: TensorSpec
    spec: TensorSpec
    groups: int
    channels: int
    padded: int
    operand: str = "image"
    planes: bool = False

    @property
    def native(self) -> bool:
        """Whether the kernel reads the tensor itself."""
        return self.spec is self.source

    @property
    def nbytes(self) -> int:
        """Bytes of the packed copy."""
        return 0 if self.native else up(self.spec.size * self.spec.dtype.itemsize, _ALIGN)


class Run(enum.Enum):
    """How the pixels of an image lie that are read one after another."""

    NONE = 0
    EVEN = 1
    GAPLESS = 2


def pixel_pitch(spec: TensorSpec) -> int | None:
    """Return the elements from one pixel to the next where all pixels of all images are one run; None where not."""
    pitch, run = None, 1
    for axis in (*range(len(spec.dims) - 1, 1, -1), 0):
        size, step = spec.dims[axis], spec.strides[axis]
        if size == 1:
            continue
        pitch = step if pitch is None else pitch
        if step != pitch * run:
            return None
        run *= size
    return spec.dims[1] if pitch is None else pitch


def make_image(problem: Convolution, name: str, *, run: Run = Run.NONE, loads: bool = True) -> Image:
    """Describe how the kernels read the tensor `name`.

    Parameters
    ----------
    run
        Whether they read all pixels as one run, and whether there may be gaps between these.
    loads
        Whether they can compute it as they load it; else packing does, if it is computed.
    """
    spec: TensorSpec = getattr(problem, name)
    lanes = CHUNK // spec.dtype.itemsize
    channels = spec.dims[1] // problem.groups
    strides = [s for d, s in zip(spec.dims, spec.strides, strict=True) if d > 1]
    padded = up(channels, lanes)
    packed = TensorSpec.packed(spec.dtype, (spec.dims[0], problem.groups * padded, *spec.dims[2:]), TensorFormat.NHWC)
    chunks = channels % lanes == 0 and (spec.strides[1] == 1 or spec.dims[1] == 1)
    chunks = chunks and all(s % lanes == 0 for s in strides if s != 1) and spec.alignment >= CHUNK
    chunks = chunks and strides.count(1) == (spec.dims[1] > 1)
    if run is Run.GAPLESS:
        chunks = chunks and spec.same_strides(packed)
    elif run is Run.EVEN:
        chunks = chunks and pixel_pitch(spec) is not None
    index, operand = problem.tensor_names().index(name), operand_of(problem, name)
    native = chunks and (loads or computed(problem, operand) is None)
    return Image(index, spec, spec if native else packed, problem.groups, channels, padded, operand)


@dataclass(frozen=True)
class Setup:
    """A direction of a convolution, ready to be compiled.

    Attributes
    ----------
    images : tuple of Image
        What is gathered, and for a filter gradient dy.
    filter_pitch, filter_tap : int
        Elements from one column of the filter to the next, and from one tap to the next; 0 without one.
    packs_filter : bool
        Whether the filter is packed; else it is read as it is.
    across : bool
        Whether K then runs across the filter's rows (conv/mma_across.h).
    last : bool
        Whether no more images follow, so that a filter gradient's parts can be added.
    xf32 : bool
        Whether the device has products of rounded float32.
    """

    problem: Convolution
    geometry: Geometry
    images: tuple[Image, ...]
    choice: Choice
    filter_pitch: int
    filter_tap: int = 0
    packs_filter: bool = True
    across: bool = False
    last: bool = True
    xf32: bool = False

    @property
    def unit(self) -> Unit:
        """What multiplies."""
        return self.choice.product.unit

    @property
    def uses_xf32(self) -> bool:
        """Whether the unit rounds float32 itself, as the problem allows."""
        allowed = self.problem.math is MathType.TENSOR_OP_ALLOW_CONVERSION
        return self.xf32 and allowed and self.problem.dtype is DataType.FLOAT

    @property
    def filter_size(self) -> int:
        """Bytes of the packed filter."""
        g = self.geometry
        size = g.groups * g.phases * g.m * self.filter_pitch * self.problem.dtype.itemsize
        return up(size, _ALIGN) if self.packs_filter else 0

    @property
    def workspace(self) -> int:
        """Bytes of the packed tensors and the parts."""
        return self.filter_size + sum(image.nbytes for image in self.images) + self.choice.parts_size

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time, packing and launches included; of one chunk."""
        launches = 1 + sum(not image.native for image in self.images) + self.packs_filter
        moved = sum(image.nbytes + image.source.nbytes for image in self.images if not image.native)
        moved += 2 * self.filter_size
        return self.choice.seconds(info) + moved / (_PACKING_RATE * info.bandwidth) + launches * LAUNCH_SECONDS


def best_choice(product: Product, info: DeviceInfo, *, whole: bool = False) -> Choice | None:
    """Return the tile and splits with the least estimated time; None where no tile fits.

    If `whole`, results are taken together as they are stored (conv/sums.h): there is one split, and work-items can be
    halved.
    """
    options = (c for c in choices(product, info) if not whole or (c.splits == 1 and c.tile.items.bit_count() == 1))
    return min(options, key=lambda choice: choice.seconds(info), default=None)


def _planes(problem: Convolution, name: str) -> Image | None:
    """Describe an image in planes that a 1 x 1 filter can read as they are; None where it cannot."""
    spec: TensorSpec = getattr(problem, name)
    plain = math.prod(problem.filter.dims[2:]) == 1 and not any(problem.padding) and set(problem.stride) == {1}
    if not plain or pixel_lanes(spec) < 4:
        return None
    channels = spec.dims[1] // problem.groups
    index = problem.tensor_names().index(name)
    return Image(index, spec, spec, problem.groups, channels, up(channels, CHUNK // spec.dtype.itemsize), planes=True)


def _unit(info: DeviceInfo) -> Unit:
    unit = unit_of(info)
    assert unit is not None
    return unit


def _rows_of_warpgroups(problem: Convolution, image: Image, info: DeviceInfo) -> int:
    """Return how many rows a sub-group of a warpgroup has at least; 0 where these cannot multiply.

    They read local memory themselves, where floats have to be rounded, and lie along K. Results whose channels are no
    neighbours are stored in runs of pixels, of which fewer rows have none. Pairs of bytes are no floats.
    """
    gradient = isinstance(problem, ConvolutionBackwardFilter)
    floats = problem.dtype.itemsize == 4
    bytes_ = isinstance(problem, ForwardOfBytes)
    if _unit(info) is not MMA or "wgmma" not in info.features or bytes_ or (floats and (gradient or image.native)):
        return 0
    return 16 if gradient or strides(problem.tensors[-1])[1] == 1 else 32


def rows_problem(problem: Convolution) -> ConvolutionForward | None:
    """Return a filter gradient as the forward convolution of dy by x that it is; None where the kernels pack for that.

    For 1 x 1 filters on planes of neighbouring pixels: these are the channels of that convolution, images its taps, and
    filters its pixels. Its tensors are dy, x and dw.
    """
    plain = math.prod(problem.filter.dims[2:]) == 1 and not any(problem.padding) and set(problem.stride) == {1}
    x, dy, dw = problem.image, problem.result, problem.filter
    lanes = CHUNK // x.dtype.itemsize
    if type(problem) is not ConvolutionBackwardFilter or not plain or problem.groups > 1:
        return None
    if not (x.size and dy.size) or min(pixel_lanes(x), pixel_lanes(dy)) < lanes:
        return None
    plane = math.prod(x.dims[2:])

    def rows(spec: TensorSpec, across: bool) -> TensorSpec:
        images, channels, *_ = spec.dims
        step, between = spec.strides[1], spec.strides[0] if images > 1 else plane * channels
        dims = (1, plane, images, channels) if across else (channels, plane, images, 1)
        steps = (plane, 1, between, step) if across else (step, 1, between, step)
        return replace(spec, dims=dims, strides=steps)

    out = replace(dw, dims=(1, x.dims[1], 1, dy.dims[1]), strides=(1, dw.strides[1], 1, dw.strides[0]))
    return ConvolutionForward(
        x=rows(dy, True),
        w=rows(x, False),
        y=out,
        padding=(0, 0),
        stride=(1, 1),
        dilation=(1, 1),
        groups=1,
        mode=ConvolutionMode.CROSS_CORRELATION,
        compute_type=problem.compute_type,
        math=problem.math,
    )


def image_setup(problem: Convolution, name: str, info: DeviceInfo, *, single: bool = False) -> Setup | None:
    """Set up a forward convolution or a data gradient, which gathers from the tensor `name`.

    With `single` slices are of single taps, whatever that costs. Else they are where pixels begin within a sector: what
    neighbouring taps fetch twice is then in the first-level cache.
    """
    unit = _unit(info)
    planes = _planes(problem, name) if unit is MMA and not computed(problem, "image") else None
    image = planes or make_image(problem, name, loads=unit is MMA)
    seen = replace(problem, **{name: image.spec})
    geometry = data_gradient(seen) if isinstance(problem, ConvolutionBackwardData) else forward(seen)
    pitch = geometry.k // max(image.channels, 1) * image.padded
    size = problem.dtype.itemsize
    moved = image.spec.nbytes + problem.filter.nbytes + problem.tensors[-1].nbytes
    batches = geometry.groups * geometry.phases
    sides = (geometry.n, geometry.m) if unit is MMA else (geometry.m, geometry.n)  # its rows are pixels
    gap = 8 if image.planes else 0
    product = Product(*sides, pitch, batches, size, moved, gap, unit=unit, copies=unit.ptx)
    product = replace(product, warpgroups=_rows_of_warpgroups(problem, image, info))
    if unit is MMA and not image.planes and (single or image.padded * size % _SECTOR):
        taps = geometry.k // max(image.channels, 1)
        product = replace(product, taps=taps, run=image.padded, single=single)
    whole = sums_of(problem) is not None or isinstance(problem, ForwardOfBytes)  # parts of sums are float
    choice = best_choice(product, info, whole=whole)
    if choice is None:
        return None
    setup = Setup(problem, geometry, (image,), choice, pitch, image.padded, xf32=info.arch.startswith("gfx942"))
    if unit is MMA and _across(problem, geometry):
        return replace(setup, packs_filter=False, across=True)
    tap = _native_tap(problem, image, choice)
    if tap is None:
        return setup
    return replace(setup, packs_filter=False, filter_pitch=problem.filter.strides[0], filter_tap=tap)


def _native_tap(problem: Convolution, image: Image, choice: Choice) -> int | None:
    """Return how far apart a filter's taps are that a forward product reads as it lies; None where it cannot."""
    w, unit = problem.filter, choice.product.unit
    lanes = CHUNK // w.dtype.itemsize
    rounds = unit.exact or (unit is MMA and not choice.tile.warpgroups)
    reads = (
        not isinstance(problem, ConvolutionBackwardData)
        and (rounds or problem.dtype is not DataType.FLOAT)  # which has to be rounded
        and problem.mode is ConvolutionMode.CROSS_CORRELATION
        and image.padded == image.channels
        and not computed(problem, "filter")
        and w.alignment >= CHUNK
    )
    if not reads:
        return None
    if w.same_strides(TensorSpec.packed(w.dtype, w.dims, TensorFormat.NHWC)):
        return image.padded
    if not choice.taps_inner or w.strides[1] != 1 or w.strides[0] % lanes:
        return None
    tap = 0
    below = 1
    for size, stride in zip(reversed(w.dims[2:]), reversed(w.strides[2:]), strict=True):
        if size > 1:
            tap = tap or stride // below
            if stride != tap * below:
                return None
        below *= size
    return tap if tap % lanes == 0 else None


def _across(problem: Convolution, geometry: Geometry) -> bool:
    """Tell whether a data gradient reads the filter as it lies: its channels are neighbours, in aligned chunks."""
    w = problem.filter
    lanes = CHUNK // w.dtype.itemsize
    steps = [s for d, s in zip(w.dims, w.strides, strict=True) if d > 1 and s != 1]
    return (
        isinstance(problem, ConvolutionBackwardData)
        and w.dtype.itemsize == 2
        and not computed(problem, "filter")
        and w.alignment >= CHUNK
        and geometry.m % lanes == 0
        and w.strides[1] == 1
        and all(s % lanes == 0 for s in steps)
        and math.prod(w.dims[2:]) <= _MOST_TAPS
    )


def filter_setup(problem: Convolution, info: DeviceInfo) -> Setup | None:
    """Set up a filter gradient."""
    run = Run.EVEN if _unit(info) is MMA else Run.GAPLESS
    x, dy = make_image(problem, "x", loads=False), make_image(problem, "dy", run=run, loads=False)
    geometry = filter_gradient(replace(problem, x=x.spec))  # type: ignore[call-arg]
    columns = geometry.n // max(x.channels, 1) * x.padded
    moved = x.spec.nbytes + dy.spec.nbytes
    size = problem.dtype.itemsize
    product = Product(geometry.m, columns, geometry.k, geometry.groups, size, moved, 12, True, _unit(info))
    stores = product.unit is MMA and type(problem) is ConvolutionBackwardFilter
    product = replace(product, stores=stores, warpgroups=_rows_of_warpgroups(problem, x, info))
    choice = best_choice(product, info)
    return (
        None
        if choice is None
        else Setup(problem, geometry, (x, dy), choice, 0, packs_filter=False, xf32=info.arch.startswith("gfx942"))
    )
