"""Convolutions of floats by Hopper's warpgroups, from planes as they lie (kernels_cuda/conv/mma_*_planes.cu)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DataType,
    DnnEnum,
    MathType,
)
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem, TensorSpec

from ...base import (
    LAUNCH_SECONDS,
    NARROW_SPAN,
    Arg,
    ConstantArg,
    Device,
    DeviceInfo,
    Engine,
    Kernel,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from ..layouts import strides
from . import tensor_core_choice
from .geometry import Geometry, axes, checks, data_gradient, filter_gradient, forward
from .matrix_units import MMA, unit_of
from .parts import adding
from .tensor_core_choice import pixel_lanes
from .tensor_core_tiles import Choice, Product

_MOST_SIZES = 31  # bits that a pixel has for the taps that meet it
_FEW_TAPS = 4  # of a filter, whose neighbours are then rather those of other rows
# Times as long as products take: where lanes gather every other pixel, where most of a tile's rows are none, where
# filters are 1 x 1, and where taps find the lines of an image, of so many bytes, in caches no more; and so that
# estimates of other engines are met alike in long calls, of so many operations
_STRIDED, _FEW_ROWS, _POINTWISE, _UNCACHED, _CACHED = 1.4, 1.5, 1.3, 1.3, 32e6
_BESIDE_OTHERS, _LONG = {("backward_data", False): 1.3, ("backward_filter", True): 1.1}, 4e9
_START = LAUNCH_SECONDS / 4  # beside estimates of other engines, which tell short calls too short
_TERM = 4  # slices that tensor cores add up
_BLEND = (ScalarArg(0, DataType.FLOAT), ScalarArg(1, DataType.FLOAT))
Defines = dict[str, int | float | str]
KernelCall = tuple[Kernel, tuple[Arg, ...]]


def _neighbours(spec: TensorSpec) -> bool:
    """Tell whether the pixels of a row are neighbours."""
    steps = [s for d, s in zip(spec.dims[2:], spec.strides[2:], strict=True) if d > 1]
    return not steps or steps[-1] == 1


class Planes(Engine):
    """One direction; products are rounded to TF32, or each is the sum of three of those and as exact as float32."""

    transforms = True  # the second half of an infinity is NaN
    _algo: DnnEnum
    direction: str
    _gathered: str  # the tensor whose pixels are gathered

    def __init__(self, three: bool) -> None:
        self.three = three
        self.name = f"tensor_core_{self.direction}_" + ("three" if three else "planes")

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        if unit_of(info) is not MMA or "wgmma" not in info.features:
            return "the device has no warpgroups that multiply"
        if problem.dtype is not DataType.FLOAT:
            return "it takes float32 alone"
        if problem.math is MathType.FMA:
            return "the math type forbids tensor cores"
        rounds = problem.math is MathType.TENSOR_OP_ALLOW_CONVERSION
        if rounds == self.three:
            return "TF32 is permitted" if rounds else "rounding to TF32 is not permitted (math=tf32)"
        if not all(spec.size for spec in problem.tensors):
            return "there is nothing to multiply"
        if not (_neighbours(problem.image) and _neighbours(problem.result)):
            return "pixels of a row have to be neighbours"
        taps = problem.filter.dims[2:]
        if sum(taps) + 3 - len(taps) > _MOST_SIZES:
            return "the filter has too many taps"
        if max(spec.span for spec in problem.tensors) >= NARROW_SPAN:
            return "a tensor has more elements than 32-bit places reach"
        choice = self.choice(problem, info)
        if choice is None:
            return "no tile fits the device's work-group size and local memory"
        if choice.parts_size > info.max_allocation:
            return f"needs {choice.parts_size} bytes of workspace, the device allocates {info.max_allocation}"
        return None

    def geometry(self, problem: Convolution) -> Geometry:
        """Return the matrix product that it is: rows are filters or channels."""
        raise NotImplementedError

    def choice(self, problem: Convolution, info: DeviceInfo) -> Choice | None:
        """Return the tile and splits with the least estimated time."""
        g, products = self.geometry(problem), 3 if self.three else 1
        moved = sum(spec.nbytes for spec in problem.tensors)
        return tensor_core_choice.best_choice(
            Product(g.m, g.n, g.k, g.groups * g.phases, 4, moved, 0, planes=self.direction, products=products), info
        )

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        choice = self.choice(problem, info)
        return 0 if choice is None else choice.parts_size

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        choice = self.choice(problem, info)
        assert choice is not None
        longer = self._longer(problem)
        return choice.seconds(info) * longer + _START

    def _longer(self, problem: Convolution) -> float:
        """Return times as long as its products take by the tiles' figures, as drawn layers did on an H100.

        Of what slows a product down, the worst hides the rest.
        """
        taps = math.prod(problem.filter.dims[2:])
        long = problem.flops() > _LONG
        longer = _BESIDE_OTHERS.get((self.direction, self.three), 1.0) if long else 1.0
        slower = [_UNCACHED] if problem.image.nbytes > _CACHED and taps > 1 else []
        if self.direction == "forward":
            slower += [_STRIDED] * (problem.stride[-1] > 1) + [_FEW_ROWS] * (self.geometry(problem).m <= 32)
            slower += [_POINTWISE] * (taps == 1 and not self.three)
        return longer * max(slower, default=1.0)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        choice = self.choice(problem, device.info)
        assert choice is not None
        launches = tuple(self._launches(problem, choice, device))
        return Plan(problem, self, choice.parts_size, device.bind(launches), launches)

    def _launches(self, problem: Convolution, choice: Choice, device: Device) -> Iterator[Launch]:
        result = TensorArg(len(problem.tensors) - 1)
        parts: Arg = WorkspaceArg(0) if choice.has_parts else ConstantArg(np.uint64(0))
        kernel, args = self._product(problem, choice, device, result, parts)
        yield Launch(kernel, (choice.work_groups,), (choice.tile.items,), args, choice.local_bytes)
        if choice.has_parts:
            geometry = self.geometry(problem)
            results = geometry.groups * geometry.phases * geometry.m * geometry.n
            yield adding(device, self._reduce(problem, choice), results, parts, result, *_BLEND)

    def _product(self, problem: Convolution, choice: Choice, device: Device, result: Arg, parts: Arg) -> KernelCall:
        """Return the kernel of the product and its arguments."""
        raise NotImplementedError

    def _reduce(self, problem: Convolution, choice: Choice) -> Defines:
        """Return the defines of conv_mma_reduce."""
        raise NotImplementedError

    def _common(self, problem: Convolution, choice: Choice) -> Defines:
        geometry = self.geometry(problem)
        return {
            "DTYPE_FLOAT": 1,
            **geometry.places,
            "GROUPS": geometry.groups,
            "PHASES": geometry.phases,
            "GEMM_N": geometry.n,
            "SPLITS": choice.splits,
            **({"FLIP": 1} if problem.mode is ConvolutionMode.CONVOLUTION else {}),
        }

    def _tile(self, choice: Choice) -> Defines:
        tile = choice.tile
        return {
            **{"BM": tile.bm, "BN": tile.bn, "WM": tile.wm, "WN": tile.wn, "STAGES": tile.stages},
            **{"WARPGROUPS": 1, "RESIDENT": choice.resident, "THREE": int(self.three), "TERM": _TERM},
            "LOADERS": tile.loaders,
            **({"GIVEN": 96, "TAKEN": 160} if tile.loaders else {}),
        }


class FilterPlanes(Planes):
    """Filter gradient; the sum over pixels is split and added up in a fixed order."""

    direction = "backward_filter"
    problems = (ConvolutionBackwardFilter,)
    _algo = ConvolutionBwdFilterAlgo.ALGO_1

    def geometry(self, problem: Convolution) -> Geometry:
        return filter_gradient(problem)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        reason = super().why_not(problem, info)
        assert isinstance(problem, Convolution)
        if reason is None and "CHANNEL_LAST" in self.geometry(problem).defines:
            return "the image's channels are neighbours"
        return reason

    def _product(self, problem: Convolution, choice: Choice, device: Device, result: Arg, parts: Arg) -> KernelCall:
        defines = {
            **self._common(problem, choice),
            **checks(problem, False),
            **self._tile(choice),
            **self._sizes(problem),
            "COUNT": f"{self.geometry(problem).k}u",
            "GRADIENT_RUN": 4 if pixel_lanes(problem.result) >= 4 else 1,
            "IMAGE_RUN": 4 if _plain(problem) and pixel_lanes(problem.image) >= 4 else 1,
            **({} if choice.has_parts else {"STORE_FILTER": 1, **_vectors(problem.filter)}),
        }
        kernel = device.compile("cuda/conv/mma_filter_planes.cu", "conv_mma_filter_planes", defines)
        args = (TensorArg(problem.index(problem.roles[0])), TensorArg(problem.index(problem.roles[2])), parts)
        return kernel, (*args, *(() if choice.has_parts else (result, *_BLEND)))

    def _sizes(self, problem: Convolution) -> Defines:
        """Return rows and columns: to conv/mma_filter_store.h and conv_mma_reduce these are channels of one tap."""
        geometry = self.geometry(problem)
        return {"ROWS": geometry.m, "COLS": geometry.n, "CHANNELS": geometry.n, "CPAD": geometry.n}

    def _reduce(self, problem: Convolution, choice: Choice) -> Defines:
        rows, columns = choice.padded
        return {
            **self._common(problem, choice),
            **axes("CHECK", (0, 0, 0)),
            **self._sizes(problem),
            "PART_SIZE": f"(i64){rows * columns}",
            "PART_PITCH": columns,
        }


class ImagePlanes(Planes):
    """Forward convolution and data gradient."""

    def _product(self, problem: Convolution, choice: Choice, device: Device, result: Arg, parts: Arg) -> KernelCall:
        geometry = self.geometry(problem)
        defines = {
            **self._common(problem, choice),
            **(axes("CHECK", (1, 1, 1)) if "DATA_GRADIENT" in geometry.defines else checks(problem, False)),
            **self._tile(choice),
            **{"ROWS": geometry.m, "COLS": geometry.n},
            "LANES_ALONG_ROWS": int(_along_rows(geometry)),
            "FILTER_RUN": 4 if _runs_along_k(problem) else 1,
            **({} if choice.has_parts else _pairs(problem.tensors[-1], geometry)),
        }
        kernel = device.compile("cuda/conv/mma_image_planes.cu", "conv_mma_image_planes", defines)
        gathered = TensorArg(problem.index(self._gathered))
        return kernel, (gathered, TensorArg(problem.index("w")), result, parts, *_BLEND)

    def _reduce(self, problem: Convolution, choice: Choice) -> Defines:
        geometry = self.geometry(problem)
        rows, columns = choice.padded
        return {
            **self._common(problem, choice),
            **axes("CHECK", (0, 0, 0)),
            "ROWS": f"{geometry.n}u",  # to conv_mma_reduce pixels are rows
            "COLS": geometry.m,
            "PART_SIZE": f"(i64){rows * columns}",
            "PART_PITCH": columns,
            "PARTS_BY_ROWS": 1,
        }


class ForwardPlanes(ImagePlanes):
    """Forward."""

    direction = "forward"
    problems = (ConvolutionForward,)
    _algo = ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM
    _gathered = "x"

    def geometry(self, problem: Convolution) -> Geometry:
        return forward(problem)


class DataPlanes(ImagePlanes):
    """Data gradient, phase by phase."""

    direction = "backward_data"
    problems = (ConvolutionBackwardData,)
    _algo = ConvolutionBwdDataAlgo.ALGO_1
    _gathered = "dy"

    def geometry(self, problem: Convolution) -> Geometry:
        return data_gradient(problem)


def _plain(problem: Convolution) -> bool:
    """Tell whether the pixels of the image are those of the result."""
    return math.prod(problem.filter.dims[2:]) == 1 and not any(problem.padding) and set(problem.stride) == {1}


def _runs_along_k(problem: Convolution) -> bool:
    """Tell whether the filter of a forward convolution has whole aligned vectors along channels and taps."""
    w = problem.filter
    forwards = isinstance(problem, ConvolutionForward) and problem.mode is ConvolutionMode.CROSS_CORRELATION
    return forwards and bool(_vectors(w))


def _along_rows(geometry: Geometry) -> bool:
    """Tell whether lanes that load the filter are rows of the product rather than elements of K."""
    taps = geometry.k // max(1, geometry.defines["CHANNELS"])
    return geometry.defines["FILTER_M"] < geometry.defines["FILTER_C"] and taps < _FEW_TAPS


def _pairs(spec: TensorSpec, geometry: Geometry) -> Defines:
    """Say whether pairs of pixels are stored at once."""
    fits = geometry.phases == 1 and pixel_lanes(spec) >= 4
    return {"PAIRS": 1, "VW": 2, "VECTOR_ALIGNED": 1} if fits else {}


def _vectors(spec: TensorSpec) -> Defines:
    """Say how many columns of a filter gradient are stored at once: neighbours, at aligned places."""
    run = 1
    for size, step in zip(reversed(spec.dims[1:]), reversed(strides(spec)[1:]), strict=True):
        if size > 1 and step != run:
            return {}
        run *= size
    aligned = math.gcd(run, spec.strides[0] if spec.dims[0] > 1 else 4) % 4 == 0 and spec.alignment >= 16
    return {"VW": 4, "VECTOR_ALIGNED": 1} if aligned else {}


ENGINES = tuple(one(three) for three in (False, True) for one in (ForwardPlanes, DataPlanes, FilterPlanes))
