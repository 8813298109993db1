"""Forward convolution of bytes on CPUs with VNNI: four products of bytes in a step, summed as integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portadnn.enums import ConvolutionFwdAlgo, ConvolutionMode, DataType, DnnEnum
from portadnn.ops.convolution.calls import Convolution
from portadnn.problem import Problem, TensorSpec

from ....base import LAUNCH_SECONDS, Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from ...rounding import ceil_div, round_up
from ..epilogue import ForwardOfBytes, epilogue_args, epilogue_defines, sums_of
from .common import ConvCpu, Defines

_FILE = "opencl/conv/bytes_cpu.cl"
FEATURE = "vnni"
_LANES = 16
_ROWS = 6  # pixels of the register tile
_VISITS = 16  # register tiles of a work-group
_SHARE = 0.5  # of the most products, four times as many as of floats
_ALIGN = 256  # bytes, of the parts of the workspace


@dataclass(frozen=True)
class Work:
    """How a convolution is cut up, and where the parts of the workspace begin, in bytes."""

    vectors: int
    panels: int
    padded: tuple[int, int]
    groups: int
    packed: int
    shifts: int
    scratch: int
    end: int

    @classmethod
    def of(cls, problem: Convolution) -> Work:
        """Read a problem, whose elements are pairs of bytes."""
        (n, pairs, *_), (k, _, *taps), (_, _, *out) = (one.dims for one in problem.tensors)
        vectors = min(4, ceil_div(k, _LANES))
        panels = round_up(ceil_div(k, _LANES), vectors)
        stride, dilation = problem.stride or (1, 1), problem.dilation or (1, 1)
        high, wide = (
            (size - 1) * step + (tap - 1) * apart + 1
            for size, step, tap, apart in zip(out, stride, taps, dilation, strict=True)
        )
        groups = ceil_div(n * math.prod(out), _ROWS * _VISITS) * (panels // vectors)
        sizes = (2 * n * high * wide * pairs, 2 * panels * _LANES * math.prod(taps) * pairs, 4 * panels * _LANES)
        places = [0]
        for size in (*sizes, 4 * groups * _ROWS * vectors * _LANES):
            places.append(round_up(places[-1] + size, _ALIGN))
        return cls(vectors, panels, (high, wide), groups, *places[1:])


def _rows(spec: TensorSpec) -> bool:
    """Tell whether channels are innermost and nothing has gaps."""
    _, c, h, w = spec.dims
    wanted = (h * w * c, 1, w * c, c)
    return all(size == 1 or step == due for size, step, due in zip(spec.dims, spec.strides, wanted, strict=True))


class ConvBytesCpu(ConvCpu):
    """One launch packs the filters, one the image with its borders, one multiplies."""

    name = "bytes_cpu"
    problems = (ForwardOfBytes,)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is not None:
            return reason
        if FEATURE not in info.features:
            return "the processor has no products of bytes that the compiler can use"
        if sums_of(problem) is not None:
            return "sums are taken of FLOAT"
        if len(problem.image.dims) != 4 or problem.groups != 1:
            return "it takes two spatial axes and one group"
        if problem.image.strides[1] != 1 or not _rows(problem.filter) or not _rows(problem.tensors[-1]):
            return "it reads and writes channels side by side, filters and results without gaps"
        if problem.tensors[-1].size >= 2**31 or Work.of(problem).end > info.max_allocation:
            return "it is too large"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        products = 2 * problem.flops() / (4 * _SHARE * info.flops)
        return products + 2 * problem.bytes() / info.bandwidth + 3 * LAUNCH_SECONDS

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return Work.of(problem).end if problem.tensors[-1].size else 0

    def _defines(self, problem: ForwardOfBytes, work: Work) -> Defines:
        (n, pairs, *sizes), (k, _, *taps), (_, _, *out) = (one.dims for one in problem.tensors)
        steps = (problem.image.strides[0], *problem.image.strides[2:])
        axes: dict[str, tuple[int, ...]] = {
            "TAPS": tuple(taps),
            "PAD": tuple(problem.padding),
            "STRIDE": tuple(problem.stride or (1, 1)),
            "DILATION": tuple(problem.dilation or (1, 1)),
            "SIZE": tuple(sizes),
            "OUT": tuple(out),
            "PADDED": work.padded,
        }
        return {
            "DTYPE_FLOAT": 1,
            "VW": _LANES,
            "NV": work.vectors,
            "MR": _ROWS,
            "VISITS": _VISITS,
            "WORDS": pairs // 2,
            "FILTERS": k,
            "PIXELS": n * math.prod(out),
            **{f"{name}_{axis}": value for name, both in axes.items() for axis, value in zip("HW", both, strict=True)},
            **{f"IMAGE_{axis}": step // 2 for axis, step in zip("NHW", steps, strict=True)},
            **({"FLIP": 1} if problem.mode is ConvolutionMode.CONVOLUTION else {}),
            **({} if "IMAGE_UNSIGNED" in problem.defines else {"SIGNED": 1}),
            **epilogue_defines(problem),
        }

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, ForwardOfBytes)
        if problem.tensors[-1].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        work = Work.of(problem)
        defines = self._defines(problem, work)
        image, packed, shifts, scratch = (WorkspaceArg(at) for at in (0, work.packed, work.shifts, work.scratch))
        pack = device.compile(_FILE, "conv_bytes_pack", defines)
        lay = device.compile(_FILE, "conv_bytes_image", defines)
        multiply = device.compile(_FILE, "conv_bytes", defines)
        numbers = ScalarArg(0, DataType.FLOAT), ScalarArg(1, DataType.FLOAT)
        args = (image, packed, shifts, scratch, *numbers, *epilogue_args(problem))
        rows = problem.image.dims[0] * work.padded[0]
        launches = (
            Launch(pack, (work.panels,), (1,), (TensorArg(1, 0, DataType.FLOAT), packed, shifts)),
            Launch(lay, (rows,), (1,), (TensorArg(0, 0, DataType.FLOAT), image)),
            Launch(multiply, (work.groups,), (1,), args),
        )
        return Plan(problem, self, work.end, device.bind(launches), launches)


ENGINES = (ConvBytesCpu(),)
