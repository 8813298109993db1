"""Convolution gradients by atomic additions: the guide's ALGO_0 of both, and ALGO_3 of the filter gradient.

They are the guide's algorithms that do not give the same bits every time, and never chosen unless asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionMode, DataType, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionBackwardFilter
from portadnn.problem import Problem, TensorSpec

from ...base import (
    Arg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
    roofline,
)
from .by_images import TILE_SET, images_at_a_time, launches_by_images
from .geometry import axes, forward

_FILE = "shared/conv/atomic.cl"
_GROUP = {"gpu": 256, "cpu": 64}
_BLOCK = 4  # channels or filters of a work-item
_SLOWER = {"gpu": 1, "cpu": 4}  # work-items without vectors
_ALIGN = 256  # bytes
_MOST_GROUPS = (1 << 31) - 1


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _narrow(problem: Problem) -> bool:
    """Tell whether sums are kept in another type than the data's, so that they need a place of their own."""
    return problem.dtype is not problem.dtype.accumulator


class ConvAtomic(Engine):
    """Base: the output is multiplied by beta, or numbers of float are zeroed; then come the sums."""

    deterministic = False
    share: float  # of the device's speed, with full blocks

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        if problem.dtype is DataType.DOUBLE and "atomic64" not in info.features:
            return "the device has no atomic operations on 64 bits, which sums of float64 need"
        if self.workspace(problem, info) > info.max_allocation:
            needed = self.workspace(problem, info)
            return f"needs {needed} bytes of workspace, the device allocates {info.max_allocation}"
        if problem.flops() and self.work_groups(problem, info) > _MOST_GROUPS:
            return f"it would take {self.work_groups(problem, info)} work-groups, more than a launch may have"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        blocked = self.blocked(problem)
        share = self.share * min(blocked, _BLOCK) / _BLOCK / _SLOWER[info.schedule]
        return roofline(problem, info, max(share, 1e-3), launches=2 + _narrow(problem))

    def blocked(self, problem: Convolution) -> int:
        """Return how many channels or filters there are for a work-item's block."""
        raise NotImplementedError

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        output = problem.tensors[2]
        if not output.size:
            return 0
        return self.table_bytes(problem) + (self._sums_bytes(problem, self._each(problem)) if _narrow(problem) else 0)

    def _sums_bytes(self, problem: Convolution, images: int) -> int:
        """Bytes of the float32 sums of so many images' outputs."""
        return problem.tensors[2].size * 4

    def _each(self, problem: Convolution) -> int:
        """Return how many images are done at a time."""
        return max(problem.image.dims[0], 1)

    def table_bytes(self, problem: Convolution) -> int:
        """Bytes of the table of pixels, in front of the sums."""
        return 0

    def work_groups(self, problem: Convolution, info: DeviceInfo) -> int:
        """Work-groups of the sums."""
        raise NotImplementedError

    def defines(self, problem: Convolution, info: DeviceInfo) -> dict[str, int | str]:
        """Macros for both directions."""
        output = problem.tensors[2]
        narrow = _narrow(problem)
        if narrow:
            packed = TensorSpec.packed(problem.dtype, output.dims)
            sums = replace(problem, **{problem.tensor_names()[2]: packed})
        else:
            sums = problem
        fill = 5 - len(output.dims)
        dims = (*output.dims[:2], *(1,) * fill, *output.dims[2:])
        strides = (*output.strides[:2], *(0,) * fill, *output.strides[2:])
        geometry = forward(sums)
        return {
            f"DTYPE_{problem.dtype.name}": 1,
            **({"SCRATCH": 1} if narrow else {}),
            **({"FLIP": 1} if problem.mode is ConvolutionMode.CONVOLUTION else {}),
            **geometry.defines,
            **axes("CHECK", (1, 1, 1)),
            **{f"E{i}": f"{size}u" for i, size in enumerate(dims)},
            **{f"ES{i}": f"{stride}u" for i, stride in enumerate(strides)},
            "WG": _GROUP[info.schedule],
            "ELEMENTS": f"{output.size}u",
            "IMAGES": f"{problem.image.dims[0]}u",
            "GROUPS": problem.groups,
            "FILTERS": geometry.m,
            "BLOCK": _BLOCK,
        }

    def sums(self, problem: Convolution, device: Device, defines: dict[str, int | str], to: Arg) -> Iterator[Launch]:
        """Yield the launches that add to `to`."""
        raise NotImplementedError

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        launches: tuple[Launch, ...] = ()
        if problem.tensors[2].size:
            each = self._each(problem)
            if each < problem.image.dims[0]:
                launches = tuple(launches_by_images(problem, each, lambda part: self._launches(part, device)))
            else:
                launches = tuple(self._launches(problem, device))
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)

    def _launches(self, problem: Convolution, device: Device) -> Iterator[Launch]:
        defines = self.defines(problem, device.info)
        narrow = _narrow(problem)
        real = problem.dtype.accumulator
        group = _GROUP[device.info.schedule]
        grid = (_up(problem.tensors[2].size, group),)
        to: Arg = WorkspaceArg(self.table_bytes(problem), real) if narrow else TensorArg(2)
        begin = device.compile(_FILE, "begin", defines)
        yield Launch(begin, grid, (group,), (to,) if narrow else (to, ScalarArg(1, real)))
        if problem.flops():
            yield from self.sums(problem, device, defines, to)
        if narrow:
            finish = device.compile(_FILE, "finish", defines)
            yield Launch(finish, grid, (group,), (to, TensorArg(2), ScalarArg(0, real), ScalarArg(1, real)))


class ConvAtomicData(ConvAtomic):
    """Data gradient, scattered: each pixel of dy adds to the pixels of dx that its taps meet."""

    name = "atomic_scatter"
    problems = (ConvolutionBackwardData,)
    share = 0.1

    def blocked(self, problem: Convolution) -> int:
        return problem.filter.dims[1]

    def _sums_bytes(self, problem: Convolution, images: int) -> int:
        return images * math.prod(problem.image.dims[1:]) * 4

    def _each(self, problem: Convolution) -> int:
        images = problem.image.dims[0]
        return images_at_a_time(images, self._sums_bytes(problem, images), TILE_SET) if _narrow(problem) else images

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionBwdDataAlgo.ALGO_0

    def defines(self, problem: Convolution, info: DeviceInfo) -> dict[str, int | str]:
        blocks = _up(problem.filter.dims[1], _BLOCK)
        return {**super().defines(problem, info), "SCATTER": 1, "CHANNEL_BLOCKS": blocks}

    def work_groups(self, problem: Convolution, info: DeviceInfo) -> int:
        pixels = problem.result.dims[0] * math.prod(problem.result.dims[2:])
        blocks = problem.groups * _up(problem.filter.dims[1], _BLOCK)
        return _up(pixels, _GROUP[info.schedule]) * blocks * math.prod(problem.filter.dims[2:])

    def sums(self, problem: Convolution, device: Device, defines: dict[str, int | str], to: Arg) -> Iterator[Launch]:
        kernel = device.compile(_FILE, "scatter_data", defines)
        args = (TensorArg(0), TensorArg(1), to, ScalarArg(0, problem.dtype.accumulator))
        group = _GROUP[device.info.schedule]
        yield Launch(kernel, (self.work_groups(problem, device.info),), (group,), args)


class ConvAtomicFilter(ConvAtomic):
    """Filter gradient: shares of the pixels add to the same sums. ALGO_3 looks pixels up in a table."""

    problems = (ConvolutionBackwardFilter,)

    def __init__(self, algo: ConvolutionBwdFilterAlgo) -> None:
        self._algo = algo
        self.name = "atomic_sums" if algo is ConvolutionBwdFilterAlgo.ALGO_0 else "atomic_sums_indexed"
        self.share = 0.03 if algo is ConvolutionBwdFilterAlgo.ALGO_0 else 0.04

    def blocked(self, problem: Convolution) -> int:
        return problem.filter.dims[0] // problem.groups

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def table_bytes(self, problem: Convolution) -> int:
        if self._algo is ConvolutionBwdFilterAlgo.ALGO_0:
            return 0
        return _up(5 * 4 * math.prod(problem.result.dims[2:]), _ALIGN) * _ALIGN

    def _shares(self, problem: Convolution, info: DeviceInfo) -> tuple[int, int, int]:
        """Return work-groups for one share of the pixels, pixels of a share, and shares."""
        pairs = math.prod(problem.filter.dims[1:])
        blocks = problem.groups * _up(problem.filter.dims[0] // problem.groups, _BLOCK)
        each = _up(pairs, _GROUP[info.schedule]) * blocks
        pixels = problem.result.dims[0] * math.prod(problem.result.dims[2:])
        shares = max(1, min(_up(8 * info.compute_units, each), pixels // 64))
        chunk = _up(pixels, shares)
        return each, chunk, _up(pixels, max(chunk, 1))

    def defines(self, problem: Convolution, info: DeviceInfo) -> dict[str, int | str]:
        _, chunk, _ = self._shares(problem, info)
        blocks = _up(problem.filter.dims[0] // problem.groups, _BLOCK)
        table = {"INDEX_TABLE": 1} if self.table_bytes(problem) else {}
        return {**super().defines(problem, info), **table, "CHUNK": max(chunk, 1), "FILTER_BLOCKS": blocks}

    def work_groups(self, problem: Convolution, info: DeviceInfo) -> int:
        each, _, shares = self._shares(problem, info)
        return each * shares

    def sums(self, problem: Convolution, device: Device, defines: dict[str, int | str], to: Arg) -> Iterator[Launch]:
        group = _GROUP[device.info.schedule]
        args: list[Arg] = [TensorArg(0), TensorArg(1), to]
        if self.table_bytes(problem):
            table = WorkspaceArg(0)
            args.append(table)
            index = device.compile(_FILE, "index_pixels", defines)
            yield Launch(index, (_up(math.prod(problem.result.dims[2:]), group),), (group,), (table,))
        kernel = device.compile(_FILE, "sum_filter", defines)
        args.append(ScalarArg(0, problem.dtype.accumulator))
        yield Launch(kernel, (self.work_groups(problem, device.info),), (group,), tuple(args))


ENGINES = (
    ConvAtomicData(),
    ConvAtomicFilter(ConvolutionBwdFilterAlgo.ALGO_0),
    ConvAtomicFilter(ConvolutionBwdFilterAlgo.ALGO_3),
)
