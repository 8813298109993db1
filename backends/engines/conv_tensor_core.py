"""Convolutions on tensor cores: NHWC images and packed filters as implicit matrix products (conv_mma*.cu)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DataType,
    DnnEnum,
    MathType,
    TensorFormat,
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
    LAUNCH_SECONDS,
    NARROW_SPAN,
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
from .conv_by_images import TILE_SET, by_images, images_at_a_time
from .conv_epilogue import epilogue_args, epilogue_defines, output
from .conv_geometry import Geometry, axes, checks, data_gradient, filter_gradient, forward, z_defines, z_like_y
from .conv_tensor_core_tiles import Choice, Product, choices

CHUNK = 16  # bytes: what is copied at once
_ALIGN = 256  # bytes, of the parts of the workspace
_TYPES = (DataType.HALF, DataType.BFLOAT16, DataType.FLOAT)
_PACKING_RATE = 0.5  # of the device's bandwidth


def up(a: int, b: int) -> int:
    """Return `a` rounded up to a multiple of `b`."""
    return -(-a // b) * b


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
    planes : bool
        Whether the kernel reads it as planes of neighbouring pixels; else as NHWC.
    """

    index: int
    source: TensorSpec
    spec: TensorSpec
    groups: int
    channels: int
    padded: int
    planes: bool = False

    @property
    def native(self) -> bool:
        """Whether the kernel reads the tensor itself."""
        return self.spec is self.source

    @property
    def nbytes(self) -> int:
        """Bytes of the packed copy."""
        return 0 if self.native else up(self.spec.size * self.spec.dtype.itemsize, _ALIGN)


def make_image(problem: Convolution, name: str, *, gapless: bool = False) -> Image:
    """Describe how the kernels read the tensor `name`; `gapless`: as one run of NHWC."""
    spec: TensorSpec = getattr(problem, name)
    lanes = CHUNK // spec.dtype.itemsize
    channels = spec.dims[1] // problem.groups
    strides = [s for d, s in zip(spec.dims, spec.strides, strict=True) if d > 1]
    padded = up(channels, lanes)
    packed = TensorSpec.packed(spec.dtype, (spec.dims[0], problem.groups * padded, *spec.dims[2:]), TensorFormat.NHWC)
    chunks = channels % lanes == 0 and (spec.strides[1] == 1 or spec.dims[1] == 1)
    chunks = chunks and all(s % lanes == 0 for s in strides if s != 1) and spec.alignment >= CHUNK
    chunks = chunks and strides.count(1) == (spec.dims[1] > 1)
    if gapless:
        chunks = chunks and spec.same_strides(packed)
    index = problem.tensor_names().index(name)
    return Image(index, spec, spec if chunks else packed, problem.groups, channels, padded)


@dataclass(frozen=True)
class Setup:
    """A direction of a convolution, ready to be compiled.

    Attributes
    ----------
    images : tuple of Image
        What is gathered, and for a filter gradient dy.
    filter_pitch : int
        Elements of a packed filter's column; 0 without one.
    packs_filter : bool
        Whether the filter is packed; else it is read as it is.
    last : bool
        Whether no more images follow, so that a filter gradient's parts can be added.
    """

    problem: Convolution
    geometry: Geometry
    images: tuple[Image, ...]
    choice: Choice
    filter_pitch: int
    packs_filter: bool
    last: bool = True

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


class TensorCore(Engine):
    """One direction of convolution on tensor cores."""

    _algo: DnnEnum

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        if "mma" not in info.features or info.schedule != "gpu":
            return "the device has no tensor cores that it can use"
        if problem.math is MathType.FMA:
            return "the math type forbids tensor cores"
        if problem.dtype not in _TYPES:
            return f"tensor cores do not take {problem.dtype}"
        if problem.dtype is DataType.FLOAT and problem.math is not MathType.TENSOR_OP_ALLOW_CONVERSION:
            return "rounding to TF32 is not permitted (math=tf32)"
        if not (problem.result.size and problem.filter.size):
            return "there is nothing to multiply"
        setups = self.setups(problem, info)
        if not setups:
            return "no tile fits the device's work-group size and local memory"
        if any(image.spec.size >= NARROW_SPAN for image in setups[0].images):
            return f"a packed image would have {NARROW_SPAN} elements or more"
        needed = max(setup.workspace for setup in setups)
        if needed > info.max_allocation:
            return f"needs {needed} bytes of workspace, the device allocates {info.max_allocation}"
        return None

    def setup(self, problem: Convolution, info: DeviceInfo) -> Setup | None:
        """Return the packing and the tile with the least estimated time for all images at once; None if none fits."""
        raise NotImplementedError

    def setups(self, problem: Convolution, info: DeviceInfo) -> list[Setup]:
        """Return the set-ups of the parts that are done one after another; none where no tile fits."""
        whole = self.setup(problem, info)
        if whole is None:
            return []
        images = problem.image.dims[0]
        each = images_at_a_time(images, sum(image.nbytes for image in whole.images), TILE_SET)
        if each >= images:
            return [whole]
        parts = [self.setup(part.problem, info) for part in by_images(problem, each)]
        return [part for part in parts if part is not None]

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        return sum(setup.seconds(info) for setup in self.setups(problem, info))

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return max((setup.workspace for setup in self.setups(problem, info)), default=0)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        setups = self.setups(problem, device.info)
        parts = by_images(problem, setups[0].problem.image.dims[0])
        launches = tuple(
            launch
            for number, (setup, part) in enumerate(zip(setups, parts, strict=True))
            for launch in part.moved(_launches(setup, number, device))
        )
        workspace = max(setup.workspace for setup in setups)
        return Plan(problem, self, workspace, device.bind(launches), launches)


def best_choice(product: Product, info: DeviceInfo) -> Choice | None:
    """Return the tile and splits with the least estimated time; None where no tile fits."""
    return min(choices(product, info), key=lambda choice: choice.seconds(info), default=None)


def _planes(problem: Convolution, name: str) -> Image | None:
    """Describe a float image in planes that a 1 x 1 filter can read as they are; None where it cannot."""
    spec: TensorSpec = getattr(problem, name)
    plain = math.prod(problem.filter.dims[2:]) == 1 and not any(problem.padding) and set(problem.stride) == {1}
    if not plain or spec.dtype is not DataType.FLOAT or _pixel_lanes(spec) < 4:
        return None
    channels = spec.dims[1] // problem.groups
    index = problem.tensor_names().index(name)
    return Image(index, spec, spec, problem.groups, channels, up(channels, 4), planes=True)


def _image_setup(problem: Convolution, name: str, info: DeviceInfo) -> Setup | None:
    """Set up a forward convolution or a data gradient, which gathers from the tensor `name`."""
    image = _planes(problem, name) or make_image(problem, name)
    seen = replace(problem, **{name: image.spec})
    geometry = data_gradient(seen) if isinstance(problem, ConvolutionBackwardData) else forward(seen)
    pitch = geometry.k // max(image.channels, 1) * image.padded
    size = problem.dtype.itemsize
    moved = image.spec.nbytes + problem.tensors[-1].nbytes
    batches = geometry.groups * geometry.phases
    choice = best_choice(Product(geometry.n, geometry.m, pitch, batches, size, moved, 8 if image.planes else 0), info)
    if choice is None:
        return None
    w = problem.filter
    native = (
        not isinstance(problem, ConvolutionBackwardData)
        and problem.dtype is not DataType.FLOAT  # which has to be rounded
        and problem.mode is ConvolutionMode.CROSS_CORRELATION
        and image.padded == image.channels
        and w.alignment >= CHUNK
        and w.same_strides(TensorSpec.packed(w.dtype, w.dims, TensorFormat.NHWC))
    )
    return Setup(problem, geometry, (image,), choice, pitch, not native)


def _filter_setup(problem: Convolution, info: DeviceInfo) -> Setup | None:
    x, dy = make_image(problem, "x"), make_image(problem, "dy", gapless=True)
    geometry = filter_gradient(replace(problem, x=x.spec))  # type: ignore[call-arg]
    columns = geometry.n // max(x.channels, 1) * x.padded
    moved = x.spec.nbytes + dy.spec.nbytes
    size = problem.dtype.itemsize
    choice = best_choice(Product(geometry.m, columns, geometry.k, geometry.groups, size, moved, 12, True), info)
    return None if choice is None else Setup(problem, geometry, (x, dy), choice, 0, False)


# defines


def reuses(setup: Setup) -> bool:
    """Tell whether neighbouring pixels share so many bytes that copies pass by the first-level cache."""
    return setup.images[0].padded * setup.problem.dtype.itemsize < 64


def _common(setup: Setup) -> dict[str, int | float | str]:
    problem, geometry, choice = setup.problem, setup.geometry, setup.choice
    defines: dict[str, int | float | str] = {
        f"DTYPE_{problem.dtype.name}": 1,
        **{k: v for k, v in geometry.defines.items() if k not in ("STORE_COLUMNS", "STORE_ROWS", "CHANNEL_LAST")},
        "GROUPS": geometry.groups,
        "PHASES": geometry.phases,
        "GEMM_N": geometry.n,
        "SPLITS": choice.splits,
        "CPAD": setup.images[0].padded,
    }
    if problem.mode is ConvolutionMode.CONVOLUTION:
        defines["FLIP"] = 1
    defines |= epilogue_defines(problem)
    if isinstance(problem, ConvolutionBiasActivationForward):
        defines |= z_defines(problem)
    return defines


def _tile_defines(setup: Setup) -> dict[str, int | float | str]:
    tile = setup.choice.tile
    return {"BM": tile.bm, "BN": tile.bn, "WM": tile.wm, "WN": tile.wn, "STAGES": tile.stages}


def _rounds(image: Image) -> bool:
    return image.native and image.source.dtype is DataType.FLOAT


def _strides(spec: TensorSpec) -> tuple[int, ...]:
    return tuple(s if d > 1 else 0 for d, s in zip(spec.dims, spec.strides, strict=True))


def _vector(spec: TensorSpec, lanes: int) -> bool:
    return all(s % lanes == 0 for s in _strides(spec) if s != 1) and spec.alignment >= min(
        CHUNK, lanes * spec.dtype.itemsize
    )


def _pixel_lanes(spec: TensorSpec) -> int:
    """Return how many neighbouring pixels, 8, 4 or 1, are one aligned vector wherever they start."""
    strides = _strides(spec)
    run = 1
    for size, stride in zip(reversed(spec.dims[2:]), reversed(strides[2:]), strict=True):
        if size > 1 and stride != run:
            return 1
        run *= size
    for lanes in (8, 4):
        aligned = spec.alignment >= min(CHUNK, lanes * spec.dtype.itemsize)
        if aligned and run % lanes == 0 and all(s % lanes == 0 for s in strides[:2]):
            return lanes
    return 1


def _store_defines(setup: Setup) -> dict[str, int | float | str]:
    """Say how results are stored: in vectors along channels, along pixels, or one by one."""
    spec, geometry, tile = setup.problem.tensors[-1], setup.geometry, setup.choice.tile
    strides = _strides(spec)
    if setup.choice.has_parts:
        return {"PARTS_BY_ROWS": 1} if strides[1] != 1 else {}
    if isinstance(setup.problem, ConvolutionBiasActivationForward) and not z_like_y(setup.problem):
        return {}
    if strides[1] == 1:
        for lanes in (8, 4) if spec.dtype.itemsize == 2 else (4,):
            if lanes <= tile.wn // 4 and geometry.m % lanes == 0 and _vector(spec, lanes):
                return {"STORE_COLUMNS": 1, "RUN": lanes // 2, "VW": lanes, "VECTOR_ALIGNED": 1}
    lanes = min(_pixel_lanes(spec), tile.wm // 8, CHUNK // spec.dtype.itemsize)
    if geometry.phases == 1 and lanes >= 4:
        return {"STORE_ROWS": 1, "ROW_RUN": lanes, "VW": lanes, "VECTOR_ALIGNED": 1}
    return {}


def _product_defines(setup: Setup) -> dict[str, int | float | str]:
    geometry, tile = setup.geometry, setup.choice.tile
    tail = geometry.n % tile.bm > 0
    strided = "DATA_GRADIENT" in geometry.defines
    defines = {
        **_common(setup),
        **_tile_defines(setup),
        **(axes("CHECK", (1, 1, 1)) if strided else checks(setup.problem, tail)),
        "RUN": 2,
        "ROW_RUN": 4 if setup.images[0].planes else 2,
        **_store_defines(setup),
        "SLICE": tile.slice,
        "ROWS": f"{geometry.n}u",
        "COLS": geometry.m,
        "FILTER_PITCH": setup.filter_pitch,
    }
    image = setup.images[0]
    if image.planes:
        defines["PLANES"] = 1
    elif _rounds(image):
        defines["ROUND_IMAGE"] = 1
    if reuses(setup):
        defines["COPY_CACHED"] = 1
    return defines


def _gradient_defines(setup: Setup) -> dict[str, int | float | str]:
    geometry, choice = setup.geometry, setup.choice
    x, dy = setup.images
    defines = {
        **_common(setup),
        **_tile_defines(setup),
        **checks(setup.problem, False),
        "BK": choice.tile.depth(setup.problem.dtype.itemsize),
        "ROWS": geometry.m,
        "COLS": choice.product.columns,
        "COUNT": f"{geometry.k}u",
        "KPAD": dy.padded,
    }
    return {
        **defines,
        **({"ROUND_IMAGE": 1} if _rounds(x) else {}),
        **({"ROUND_DY": 1} if _rounds(dy) else {}),
        **({"COPY_CACHED": 1} if reuses(setup) else {}),
    }


def _reduce_defines(setup: Setup) -> dict[str, int | float | str]:
    geometry, choice = setup.geometry, setup.choice
    gradient = choice.product.across
    rows, columns = choice.padded
    by_rows = not gradient and "PARTS_BY_ROWS" in _store_defines(setup)
    defines = {
        **_common(setup),
        **axes("CHECK", (0, 0, 0)),
        "ROWS": f"{geometry.m if gradient else geometry.n}u",
        "COLS": f"{geometry.n if gradient else geometry.m}u",
        "PART_SIZE": f"{rows * columns}ll",
        "PART_PITCH": rows if by_rows else columns,
    }
    if by_rows:
        defines["PARTS_BY_ROWS"] = 1
    return defines


def _image_defines(image: Image) -> dict[str, int | float | str]:
    spec = image.source
    strides = _strides(spec)
    sizes = (*(1,) * (5 - len(spec.dims)), *spec.dims[2:])
    steps = (*(0,) * (5 - len(spec.dims)), *strides[2:])
    run, neighbours = 1, True
    for size, step in zip(reversed(sizes), reversed(steps), strict=True):
        neighbours = neighbours and (size == 1 or step == run)
        run *= size
    defines: dict[str, int | float | str] = {
        f"DTYPE_{spec.dtype.name}": 1,
        **axes("PLANE", sizes),
        **axes("FROM", steps),
        "FROM_N": strides[0],
        "FROM_C": strides[1],
        "IMAGES": spec.dims[0],
        "GROUPS": image.groups,
        "CHANNELS": image.channels,
        "CPAD": image.padded,
        "VP": 1,
    }
    if neighbours and run > 1 and image.groups * image.padded >= 16:
        defines["TILED"] = 1
        defines["VP"] = min(_pixel_lanes(spec), 4)
    return defines


def _filter_tile(setup: Setup) -> tuple[dict[str, int | float | str], int]:
    """Return the defines of pack_filter's tile, and the number of tiles."""
    geometry, padded = setup.geometry, setup.images[0].padded
    w = setup.problem.filter
    taps = math.prod(w.dims[2:])
    tap = min(taps, 128)
    ch = min(32, padded)
    col = 1
    while col < min(32, geometry.m) and 2 * col * ch * tap <= 4096:
        col *= 2
    steps = {"COL": geometry.defines["FILTER_M"], "CH": geometry.defines["FILTER_C"]}
    steps = {name: step if step else 1 << 40 for name, step in steps.items()}
    innermost = min(s if d > 1 else 1 << 39 for d, s in zip(w.dims[2:], w.strides[2:], strict=True))
    order = sorted([("COL", steps["COL"]), ("CH", steps["CH"]), ("TAP", innermost)], key=lambda pair: pair[1])
    sizes = {"COL": col, "CH": ch, "TAP": tap}
    defines: dict[str, int | float | str] = {f"TILE_{name}": size for name, size in sizes.items()}
    below = 1
    for name, _ in order:
        defines[f"READ_{name}(e)"] = f"((e) / {below} % {sizes[name]})"
        below *= sizes[name]
    tiles = -(-geometry.m // col) * -(-padded // ch) * -(-taps // tap) * geometry.groups
    return defines, tiles


# launches


def _launches(setup: Setup, number: int, device: Device) -> Iterator[Launch]:
    """Yield the launches of chunk `number` of images; the first one packs the filter for all."""
    problem, geometry, choice = setup.problem, setup.geometry, setup.choice
    names = problem.tensor_names()
    sums = setup.filter_size
    offset, args = sums + choice.parts_size, []
    for image in setup.images:
        arg: Arg = TensorArg(image.index)
        if not image.native:
            packed = WorkspaceArg(offset, problem.dtype)
            offset += image.nbytes
            yield _pack_image(image, arg, packed, device)
            arg = packed
        args.append(arg)
    if not choice.product.across:
        arg = TensorArg(names.index("w"))
        if setup.packs_filter:
            packed = WorkspaceArg(0, problem.dtype)
            if number == 0:
                yield _pack_filter(setup, arg, packed, device)
            arg = packed
        args.append(arg)
    parts: Arg = WorkspaceArg(sums) if choice.has_parts else ConstantArg(np.uint64(0))
    blend: tuple[Arg, ...] = (ScalarArg(0, DataType.FLOAT), ScalarArg(1, DataType.FLOAT), *epilogue_args(problem))
    grid, block = (choice.work_groups,), (choice.tile.items,)
    if choice.product.across:
        defines = _gradient_defines(setup) | ({"ADD_PARTS": 1} if number else {})
        kernel = device.compile("cuda/conv_mma_filter.cu", "conv_mma_filter", defines)
        yield Launch(kernel, grid, block, (*args, parts), choice.local_bytes)
        if not setup.last:
            return
    else:
        kernel = device.compile("cuda/conv_mma.cu", "conv_mma", _product_defines(setup))
        yield Launch(kernel, grid, block, (*args, output(problem), parts, *blend), choice.local_bytes)
    if choice.has_parts:
        elements = geometry.groups * geometry.phases * geometry.m * geometry.n
        kernel = device.compile("cuda/conv_mma_reduce.cu", "conv_mma_reduce", _reduce_defines(setup))
        yield Launch(kernel, (-(-elements // 256),), (256,), (parts, output(problem), *blend))


def _pack_filter(setup: Setup, source: Arg, packed: Arg, device: Device) -> Launch:
    tile, tiles = _filter_tile(setup)
    defines = {
        **_common(setup),
        **axes("CHECK", (0, 0, 0)),
        **tile,
        "COLS": setup.geometry.m,
        "FILTER_PITCH": setup.filter_pitch,
    }
    return Launch(
        device.compile("cuda/conv_mma_pack_filter.cu", "pack_filter", defines), (tiles,), (256,), (source, packed)
    )


def _pack_image(image: Image, source: Arg, packed: Arg, device: Device) -> Launch:
    defines = _image_defines(image)
    kernel = device.compile("cuda/conv_mma_pack_image.cu", "pack_image", defines)
    lanes, width = CHUNK // image.spec.dtype.itemsize, image.groups * image.padded
    plane = math.prod(image.spec.dims[2:])
    if "TILED" in defines:
        groups = image.spec.dims[0] * -(-plane // 64) * -(-width // (8 * lanes))
    else:
        groups = -(-image.spec.dims[0] * plane * (width // lanes) // 256)
    return Launch(kernel, (groups,), (256,), (source, packed))


class TensorCoreForward(TensorCore):
    """Forward."""

    name = "tensor_core_forward"
    problems = (ConvolutionForward, ConvolutionBiasActivationForward)
    _algo = ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM

    def setup(self, problem: Convolution, info: DeviceInfo) -> Setup | None:
        return _image_setup(problem, "x", info)


class TensorCoreBackwardData(TensorCore):
    """Data gradient, gathered phase by phase."""

    name = "tensor_core_backward_data"
    problems = (ConvolutionBackwardData,)
    _algo = ConvolutionBwdDataAlgo.ALGO_1

    def setup(self, problem: Convolution, info: DeviceInfo) -> Setup | None:
        return _image_setup(problem, "dy", info)


class TensorCoreBackwardFilter(TensorCore):
    """Filter gradient; the sum over pixels is split and added up in a fixed order."""

    name = "tensor_core_backward_filter"
    problems = (ConvolutionBackwardFilter,)
    _algo = ConvolutionBwdFilterAlgo.ALGO_1

    def setup(self, problem: Convolution, info: DeviceInfo) -> Setup | None:
        return _filter_setup(problem, info)

    def setups(self, problem: Convolution, info: DeviceInfo) -> list[Setup]:
        """Return parts with the first one's tile and splits: each adds to the same sums."""
        found = super().setups(problem, info)
        return [
            replace(setup, choice=replace(found[0].choice, product=setup.choice.product), last=setup is found[-1])
            for setup in found
        ]


ENGINES = (TensorCoreForward(), TensorCoreBackwardData(), TensorCoreBackwardFilter())
