"""What the CPU convolutions share: tensors and windows with three spatial axes, register tiles, and the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portadnn.enums import ConvolutionMode, DataType
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem, TensorSpec

from ....base import DeviceInfo, roofline
from ...rounding import ceil_div
from ..stand_in import StandIn

Defines = dict[str, int | float | str]
Axes = tuple[int, int, int]  # depth, height, width

AXES = "DHW"
COUNTER_BYTES = 256  # the counter from which work-groups take tiles lies at the start of the workspace
_VISIT = 0.3e-6  # seconds
WORK_GROUPS_PER_CORE = 2  # more than 1, because a runtime need not give every core one


def contiguous(dims: Sequence[int], strides: Sequence[int]) -> bool:
    """Tell whether elements lie side by side, in the order of their dims."""
    step = 1
    for size, stride in zip(reversed(dims), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def channels_last(problem: Convolution) -> bool:
    """Tell whether the channels of the image or of the result lie side by side, and its pixels apart."""

    def apart(spec: TensorSpec) -> bool:
        pixels = [stride for size, stride in zip(spec.dims[2:], spec.strides[2:], strict=True) if size > 1]
        return spec.dims[1] > 1 and spec.strides[1] == 1 and min(pixels, default=1) > 1

    return apart(problem.image) or apart(problem.result)


def per_axis(name: str, values: Axes) -> Defines:
    """Return ``{name_D: ..., name_H: ..., name_W: ...}``."""
    return {f"{name}_{axis}": value for axis, value in zip(AXES, values, strict=True)}


def three(values: tuple[int, ...], fill: int) -> Axes:
    """Return two or three numbers per spatial axis as three: a 2-D problem is one of depth 1."""
    d, h, w = (fill,) * (3 - len(values)) + values
    return d, h, w


@dataclass(frozen=True)
class Image:
    """A tensor as (n, channels, d, h, w): dims and strides; the stride along an axis of 1 counts as 0."""

    n: int
    channels: int
    size: Axes
    n_stride: int
    channel_stride: int
    strides: Axes
    span: int

    @classmethod
    def of(cls, spec: TensorSpec) -> Image:
        """Read a 4-D or 5-D tensor."""
        n, c, *spatial = (s if d > 1 else 0 for d, s in zip(spec.dims, spec.strides, strict=True))
        size, strides = three(spec.dims[2:], 1), three(tuple(spatial), 0)
        return cls(spec.dims[0], spec.dims[1], size, n, c, strides, spec.span)

    def flat(self) -> Image | None:
        """Return the image with its pixels as one row, or None where they are not evenly spaced."""
        step, run = 0, 1
        for size, stride in zip(reversed(self.size), reversed(self.strides), strict=True):
            if size == 1:
                continue
            step = step or stride
            if stride != step * run:
                return None
            run *= size
        return Image(self.n, self.channels, (1, 1, run), self.n_stride, self.channel_stride, (0, 0, step), self.span)

    def defines(self, prefix: str) -> Defines:
        """Return the strides as defines."""
        places = {f"{prefix}_N": self.n_stride, f"{prefix}_C": self.channel_stride, **per_axis(prefix, self.strides)}
        ones = (f"{prefix}_{axis}_IS_ONE" for axis in "CW")
        return {**places, **dict(zip(ones, (int(self.channel_stride == 1), int(self.strides[2] == 1)), strict=True))}


@dataclass(frozen=True)
class Geometry:
    """A convolution with three spatial axes. Pixels are one row where the filter is 1x1 and the layouts allow it.

    `z` is what a fused convolution adds.
    """

    image: Image
    result: Image
    z: Image | None
    taps: Axes
    padding: Axes
    stride: Axes
    dilation: Axes

    @classmethod
    def of(cls, problem: Convolution) -> Geometry:
        """Read a problem of any direction."""
        image, result = Image.of(problem.image), Image.of(problem.result)
        z = Image.of(problem.z) if isinstance(problem, ConvolutionBiasActivationForward) else None
        taps, padding = three(problem.filter.dims[2:], 1), three(problem.padding, 0)
        stride, dilation = three(problem.stride, 1), three(problem.dilation, 1)
        if taps == stride == (1, 1, 1) and padding == (0, 0, 0):
            flat_image, flat_result, flat_z = image.flat(), result.flat(), z and z.flat()
            if flat_image and flat_result and (flat_z or not z):
                image, result, z = flat_image, flat_result, flat_z
        return cls(image, result, z, taps, padding, stride, dilation)

    def subsampled(self) -> Geometry:
        """Return a 1x1 filter's geometry with stride 1, on an image of only the pixels that it visits."""
        one: Axes = (1, 1, 1)
        if self.taps != one or self.padding != (0, 0, 0) or self.stride == one:
            return self
        d, h, w = (step * stride for step, stride in zip(self.image.strides, self.stride, strict=True))
        return replace(self, image=replace(self.image, size=self.result.size, strides=(d, h, w)), stride=one)

    def defines(self, problem: Convolution) -> Defines:
        """Return the window, the filter's strides along its taps, and the storage type as defines."""
        return {
            f"DTYPE_{problem.dtype.name}": 1,
            "GROUPS": problem.groups,
            **({"FLIP": 1} if problem.mode is ConvolutionMode.CONVOLUTION else {}),
            **per_axis("W", three(problem.filter.strides[2:], 0)),
            **per_axis("TAPS", self.taps),
            **per_axis("PAD", self.padding),
            **per_axis("STRIDE", self.stride),
            **per_axis("DILATION", self.dilation),
        }


@dataclass(frozen=True)
class Tile:
    """The register tile: `rows` by `vectors` of `lanes`."""

    lanes: int
    vectors: int
    rows: int

    @classmethod
    def of(cls, dtype: DataType, info: DeviceInfo, rows: int, columns: int | None = None) -> Tile:
        """Choose the tile for that many rows (and, where it may be few, columns) of a result."""
        lanes = max(4, min(16, info.simd_width))
        vectors = 4 if lanes == 16 else 2  # AVX-512 has twice the registers, too
        if dtype is DataType.HALF:  # LLVM 14 crashes on conversions of 16 halves
            lanes = min(lanes, 8)
        lanes = lanes * DataType.FLOAT.itemsize // dtype.accumulator.itemsize
        if columns is not None and columns <= lanes:
            vectors = 1
        # steps over all rows, and a little for what every tile costs apart from its rows
        height = min(range(6, 0, -1), key=lambda mr: ceil_div(rows, mr) * (mr + 1))
        return cls(lanes, vectors, height)

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.lanes * self.vectors

    def defines(self) -> Defines:
        """Return the sizes as the kernels know them."""
        return {"VW": self.lanes, "NV": self.vectors, "MR": self.rows}


class ConvCpu(StandIn):
    """Base of the engines."""

    name = "implicit_gemm_cpu"

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        if info.schedule != "cpu":
            return "it is made for CPUs"
        if info.backend != "opencl":
            return "it is written in OpenCL C only"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Estimate: what is packed pays with the rows of a group's product; each group of an image costs a visit."""
        assert isinstance(problem, Convolution)
        k, c = (problem.filter.dims[0] // problem.groups, problem.filter.dims[1])
        rows = c if isinstance(problem, ConvolutionBackwardData) else k
        visits = problem.image.dims[0] * problem.groups / max(info.compute_units, 1)
        return roofline(problem, info, 0.72 * rows / (rows + 6) if rows else 0.72, launches=2) + visits * _VISIT
