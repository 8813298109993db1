"""Convolutions on tensor cores: NHWC images and packed filters as implicit matrix products (conv/mma*.cu)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
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
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem

from ...base import (
    NARROW_SPAN,
    Arg,
    ConstantArg,
    CountersArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from ..pieces import LONG, PIECE_COUNTERS, shares_pieces
from .by_images import TILE_SET, by_images, images_at_a_time
from .epilogue import (
    BackwardDataWithEpilogue,
    BackwardFilterWithEpilogue,
    ForwardOfBytes,
    ForwardWithEpilogue,
    epilogue_args,
    output,
    sums_of,
)
from .geometry import axes
from .matrix_units import MMA, unit_of
from .parts import adding
from .prologue import (
    BackwardDataWithPrologue,
    BackwardFilterWithPrologue,
    ForwardWithPrologue,
    WithPrologue,
    prologue_args,
)
from .sums import Parts, after
from .tensor_core_choice import CHUNK, Image, Setup, filter_setup, image_setup, rows_problem
from .tensor_core_defines import (
    common,
    filter_tile,
    gradient_defines,
    image_defines,
    matrix_defines,
    product_defines,
    reduce_defines,
)


class TensorCore(Engine):
    """One direction of convolution on tensor cores."""

    _algo: DnnEnum

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        unit = unit_of(info)
        if unit is None or info.schedule != "gpu":
            return "the device has no tensor cores that it can use"
        if problem.math is MathType.FMA:
            return "the math type forbids tensor cores"
        if problem.dtype not in unit.types:
            return f"tensor cores do not take {problem.dtype}"
        rounds = problem.dtype is DataType.FLOAT and not unit.exact
        if rounds and problem.math is not MathType.TENSOR_OP_ALLOW_CONVERSION:
            return "rounding to TF32 is not permitted (math=tf32)"
        if not (problem.result.size and problem.filter.size):
            return "there is nothing to multiply"
        setups = self.setups(problem, info)
        if not setups:
            return "no tile fits the device's work-group size and local memory"
        if any(image.spec.size >= NARROW_SPAN for image in setups[0].images):
            return f"a packed image would have {NARROW_SPAN} elements or more"
        if len(setups) > 1 and isinstance(problem, WithPrologue):
            return "the packed image would be made in parts"
        if len(setups) > 1 and sums_of(problem) is not None:
            return "the sums of its results would be made in parts"
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

    def computed_elements(self, problem: Problem, info: DeviceInfo) -> dict[str, float]:
        """Return the image's, packed once or made for each tap and tile of columns, and the filter's, packed once."""
        assert isinstance(problem, Convolution)
        setup = self.setup(problem, info)
        assert setup is not None
        g, image = setup.geometry, setup.images[0]
        loads = g.n * g.k * g.groups * g.phases * -(-g.m // setup.choice.tile.bn) if image.native else image.source.size
        return {"image": float(loads), "filter": float(problem.filter.size)}

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return max((setup.workspace for setup in self.setups(problem, info)), default=0)

    def parts(self, problem: Problem, info: DeviceInfo) -> Parts:
        """Return where the sums that text takes are left: a part of each tile."""
        assert isinstance(problem, Convolution)
        sums, setup = sums_of(problem), self.setup(problem, info)
        assert sums is not None and setup is not None
        pixels, channels = setup.choice.tiles if setup.unit is MMA else reversed(setup.choice.tiles)
        return Parts(
            sums.slices(setup.geometry.groups, channels, pixels * setup.geometry.phases), after(setup.workspace)
        )

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
            yield _pack_image(image, arg, packed, setup.problem, device)
            arg = packed
        args.append(arg)
    inside, local_bytes = False, choice.local_bytes
    if not choice.product.across:
        arg = TensorArg(names.index("w"))
        if setup.packs_filter:
            packed = WorkspaceArg(0, problem.dtype)
            inside = number == 0 and _packs_inside(setup, device.info)
            if inside:
                args.append(arg)
                local_bytes = max(local_bytes, filter_tile(setup)[2])
            elif number == 0:
                yield _pack_filter(setup, arg, packed, device)
            arg = packed
        args.append(arg)
        args += [CountersArg(PIECE_COUNTERS)] * inside
    parts: Arg = WorkspaceArg(sums) if choice.has_parts else ConstantArg(np.uint64(0))
    blend: tuple[Arg, ...] = (
        ScalarArg(0, DataType.FLOAT),
        ScalarArg(1, DataType.FLOAT),
        *epilogue_args(problem, setup.workspace),
    )
    grid, block = (choice.work_groups,), (choice.tile.items,)
    if setup.unit is not MMA:
        kernel = device.compile("shared/conv/matrix.cl", "conv_matrix", matrix_defines(setup, number > 0))
        results = (parts,) if choice.has_parts else (output(problem), *blend)
        yield Launch(kernel, grid, block, (*args, *results))
        if not setup.last:
            return
    elif choice.product.across:
        defines = gradient_defines(setup) | ({"ADD_PARTS": 1} if number else {})
        kernel = device.compile("cuda/conv/mma_filter.cu", "conv_mma_filter", defines)
        yield Launch(
            kernel,
            grid,
            block,
            (*args, parts, *(() if choice.has_parts else (output(problem), *blend))),
            choice.local_bytes,
        )
        if not setup.last:
            return
    else:
        kernel = device.compile("cuda/conv/mma.cu", "conv_mma", product_defines(setup, inside))
        made = prologue_args(problem, *(["image"] if setup.images[0].native else []), "filter")
        yield Launch(kernel, grid, block, (*args, output(problem), parts, *blend, *made), local_bytes)
    if choice.has_parts:
        elements = geometry.groups * geometry.phases * geometry.m * geometry.n
        yield adding(device, reduce_defines(setup), elements, parts, output(problem), *blend)


def _packs_inside(setup: Setup, info: DeviceInfo) -> bool:
    """Tell whether the product's work-groups pack the filter: where each that runs at once has two tiles at most."""
    groups = min(setup.choice.work_groups, info.compute_units)
    return (
        setup.unit is MMA and shares_pieces(info) and filter_tile(setup)[1] <= 2 * groups and setup.seconds(info) < LONG
    )


def _pack_filter(setup: Setup, source: Arg, packed: Arg, device: Device) -> Launch:
    tile, tiles, _ = filter_tile(setup)
    defines = {
        **common(setup),
        **axes("CHECK", (0, 0, 0)),
        **tile,
        "COLS": setup.geometry.m,
        "FILTER_PITCH": setup.filter_pitch,
    }
    return Launch(
        device.compile("shared/conv/mma_pack_filter.cl", "pack_filter", defines),
        (tiles,),
        (256,),
        (source, packed, *prologue_args(setup.problem, "filter")),
    )


def _pack_image(image: Image, source: Arg, packed: Arg, problem: Convolution, device: Device) -> Launch:
    defines = image_defines(image, problem)
    kernel = device.compile("shared/conv/mma_pack_image.cl", "pack_image", defines)
    lanes, width = CHUNK // image.spec.dtype.itemsize, image.groups * image.padded
    plane = math.prod(image.spec.dims[2:])
    if "TILED" in defines:
        groups = image.spec.dims[0] * -(-plane // 64) * -(-width // (8 * lanes))
    else:
        groups = -(-image.spec.dims[0] * plane * (width // lanes) // 256)
    return Launch(kernel, (groups,), (256,), (source, packed, *prologue_args(problem, image.operand)))


class TensorCoreForward(TensorCore):
    """Forward."""

    name = "tensor_core_forward"
    problems: tuple[type[Problem], ...] = (
        ConvolutionForward,
        ConvolutionBiasActivationForward,
        ForwardWithEpilogue,
        ForwardWithPrologue,
    )
    _algo = ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM

    def setup(self, problem: Convolution, info: DeviceInfo) -> Setup | None:
        return image_setup(problem, "x", info)


class TensorCoreBytes(TensorCoreForward):
    """Forward of bytes, which are read as they lie."""

    name = "tensor_core_bytes"
    problems = (ForwardOfBytes,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        if unit_of(info) is not MMA:
            return "the device has no tensor cores for bytes that it can use"
        if sums_of(problem) is not None:
            return "sums are taken of FLOAT"
        reason = super().why_not(problem, info)
        if reason is not None:
            return reason
        setups = self.setups(problem, info)
        if any(one.packs_filter or not one.images[0].native for one in setups):
            return "bytes are read as they lie, in chunks of 16 channels, with filters in rows of all taps"
        return None


class TensorCoreBackwardData(TensorCore):
    """Data gradient, gathered phase by phase."""

    name = "tensor_core_backward_data"
    problems = (ConvolutionBackwardData, BackwardDataWithEpilogue, BackwardDataWithPrologue)
    _algo = ConvolutionBwdDataAlgo.ALGO_1

    def setup(self, problem: Convolution, info: DeviceInfo) -> Setup | None:
        return image_setup(problem, "dy", info)


class TensorCoreBackwardFilter(TensorCore):
    """Filter gradient; the sum over pixels is split and added up in a fixed order."""

    name = "tensor_core_backward_filter"
    problems = (ConvolutionBackwardFilter, BackwardFilterWithEpilogue, BackwardFilterWithPrologue)
    _algo = ConvolutionBwdFilterAlgo.ALGO_1

    def setup(self, problem: Convolution, info: DeviceInfo) -> Setup | None:
        return filter_setup(problem, info)

    def computed_elements(self, problem: Problem, info: DeviceInfo) -> dict[str, float]:
        """Return those of either operand, which are packed once."""
        assert isinstance(problem, Convolution)
        x, dy = (tensor.size for tensor in problem.tensors[:2])
        return {"image": float(x), "filter": float(dy)}

    def setups(self, problem: Convolution, info: DeviceInfo) -> list[Setup]:
        """Return parts with the first one's tile and splits: each adds to the same sums."""
        found = super().setups(problem, info)
        if len(found) < 2:
            return found
        products = [replace(setup.choice.product, stores=False) for setup in found]
        return [
            replace(setup, choice=replace(found[0].choice, product=product), last=setup is found[-1])
            for setup, product in zip(found, products, strict=True)
        ]


class TensorCoreFilterRows(TensorCore):
    """Filter gradient of 1 x 1 filters on planes of pixels: a forward convolution of dy by x; nothing is packed."""

    name = "tensor_core_backward_filter_rows"
    problems = (ConvolutionBackwardFilter,)
    _algo = ConvolutionBwdFilterAlgo.ALGO_1

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        if unit_of(info) is not MMA:
            return "the device has no tensor cores that it can use"
        if rows_problem(problem) is None:
            return "it takes 1 x 1 filters on planes of neighbouring pixels, in aligned vectors"
        reason = super().why_not(problem, info)
        if reason is None and self.setups(problem, info)[0].packs_filter:
            return "the planes would have to be packed"
        return reason

    def setup(self, problem: Convolution, info: DeviceInfo) -> Setup | None:
        turned = rows_problem(problem)
        return None if turned is None else image_setup(turned, "x", info, single=True)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        setup = self.setups(problem, device.info)[0]
        launches = tuple(_turned(launch) for launch in _launches(setup, 0, device))
        return Plan(problem, self, setup.workspace, device.bind(launches), launches)


def _turned(launch: Launch) -> Launch:
    """Return a launch on dy, x and dw as one on x, dy and dw."""
    swap = {0: 1, 1: 0}
    args = (replace(a, index=swap.get(a.index, a.index)) if isinstance(a, TensorArg) else a for a in launch.args)
    return replace(launch, args=tuple(args))


ENGINES = (
    TensorCoreForward(),
    TensorCoreBackwardData(),
    TensorCoreBackwardFilter(),
    TensorCoreFilterRows(),
    TensorCoreBytes(),
)
