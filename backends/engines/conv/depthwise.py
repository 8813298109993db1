"""Depthwise layers whose channels lie side by side, on GPUs: one filter for each channel."""

from __future__ import annotations

from collections.abc import Sequence

from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DnnEnum,
)
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem, TensorSpec

from ...base import LAUNCH_SECONDS, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from ..rounding import ceil_div
from .direct import ConvDirectFilter, channels_last

_FILE = "shared/depthwise/conv.cl"
_GRADIENT_FILE = "shared/depthwise/filter.cl"
_GROUP = 256
_VECTOR_BYTES = 16
_REGISTERS = 128  # numbers of a work-item: the taps of a row or its results, and what lies under its pixels
_GROUPS_EACH = 6  # work-groups for each compute unit, which take slices of the rows
_MOST_PLACES = 1 << 31


class _Depthwise(Engine):
    problems: tuple[type[Problem], ...]

    def __init__(self, name: str, algo: DnnEnum, problem: type[Problem]) -> None:
        self.name, self._algo, self.problems = name, algo, (problem,)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        x, w, y = problem.image, problem.filter, problem.result
        if info.schedule != "gpu":
            return "made for GPUs"
        if info.max_work_group < _GROUP:
            return f"it needs work-groups of {_GROUP}"
        if len(x.dims) != 4 or w.dims[1] != 1 or not w.dims[0] == problem.groups > 1:
            return "it takes one filter for each channel of images"
        if not channels_last(x, y):
            return "channels have to lie side by side"
        if not (x.size and y.size and w.size):
            return "nothing is added up"
        if max(x.span, y.span) >= _MOST_PLACES:
            return "a tensor has more elements than 32-bit places reach"
        if _columns(problem, 1) == 0:
            return f"a row of {w.dims[3]} taps does not fit the registers"
        return None


class ConvDepthwise(_Depthwise):
    """Forward, and the data gradient of stride 1."""

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is None and isinstance(problem, ConvolutionBackwardData) and set(problem.stride) != {1}:
            return "it takes data gradients of stride 1"
        return reason

    def defines(self, problem: Convolution) -> dict[str, int]:
        """Return what the kernels are told."""
        data = isinstance(problem, ConvolutionBackwardData)
        source, target = (problem.result, problem.image) if data else (problem.image, problem.result)
        n, c, p, q = target.dims
        taps, strides = problem.filter.dims[2:], problem.filter.strides
        reach = [(size - 1) * step for size, step in zip(taps, problem.dilation, strict=True)]
        starts = [pad - far for pad, far in zip(problem.padding, reach, strict=True)]
        width = _width(problem)
        columns = min(_columns(problem, width), q)
        blocks, vectors = ceil_div(q, columns), ceil_div(c, width)
        flipped = problem.mode is ConvolutionMode.CONVOLUTION
        return {
            **_sizes(problem, width, source),
            **_places("START", starts if data else [-pad for pad in problem.padding]),
            **{"P": p, "Q": q, "BLOCKS": blocks, "COLUMNS": columns, "ITEMS_ALL": n * p * blocks * vectors},
            **_strides("X", source),
            **_strides("Y", target),
            **{"FILTER_K": strides[0], "FILTER_R": strides[2], "FILTER_S": strides[3]},
            "REVERSED": int(data != flipped),
        }

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return problem.filter.size * problem.dtype.itemsize

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        known = self.defines(problem)
        taps, columns, width = known["S"], known["COLUMNS"], known["VW"]
        span = (columns - 1) * known["STEP_W"] + (taps - 1) * known["TAP_W"] + 1
        row = columns * taps * width + (span + taps) * (6 + 2 * width)
        steps = known["ITEMS_ALL"] * (known["R"] * row + columns * (10 + 4 * width))
        read = problem.bytes() + 0.3 * (known["R"] - 1) * problem.image.nbytes
        return max(3 * steps / info.flops, read / (0.7 * info.bandwidth)) + 2 * LAUNCH_SECONDS

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        known = self.defines(problem)
        real, packed = problem.dtype.accumulator, WorkspaceArg(0, problem.dtype)
        defines: dict[str, int | float | str] = dict(known)
        defines |= {name: f"{known[name]}u" for name in ("C", "VECTORS", "BLOCKS", "ITEMS_ALL")}
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        pack = device.compile(_FILE, "pack_depthwise", defines)
        kernel = device.compile(_FILE, "conv_depthwise", defines)
        args = (packed, TensorArg(source), TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
        launches = (
            Launch(pack, (ceil_div(problem.filter.size, _GROUP),), (_GROUP,), (TensorArg(weights), packed)),
            Launch(kernel, (ceil_div(known["ITEMS_ALL"], _GROUP),), (_GROUP,), args),
        )
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


class ConvDepthwiseFilter(_Depthwise):
    """Filter gradient; every row of a filter is a work-item's."""

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        local = _GROUP * _VECTOR_BYTES // problem.dtype.itemsize * problem.dtype.accumulator.itemsize
        if reason is None and local > info.local_memory:
            return f"needs {local} bytes of local memory, the device has {info.local_memory}"
        return reason

    def defines(self, problem: Convolution, info: DeviceInfo) -> dict[str, int]:
        """Return what the kernel is told."""
        x, w, dy = problem.image, problem.filter, problem.result
        n, c, p, q = dy.dims
        width = _width(problem)
        vectors = ceil_div(c, width)
        lanes = 1
        while lanes < min(32, vectors):
            lanes *= 2
        tiles, rows = ceil_div(vectors, lanes) * w.dims[2], n * p
        wanted = ceil_div(_GROUPS_EACH * max(info.compute_units, 1), tiles)
        each = ceil_div(rows, max(2, min(wanted, ceil_div(rows, _GROUP // lanes))))
        return {
            **_sizes(problem, width, x),
            **_places("START", [-pad for pad in problem.padding]),
            **{"LANES": lanes, "P": p, "Q": q},
            **_strides("X", x),
            **_strides("DY", dy),
            "ROWS": rows,
            "SLICES": max(2, ceil_div(rows, each)),
            "SLICE": each,
            "COLUMNS": min(_columns(problem, width), q),
        }

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return self.defines(problem, info)["SLICES"] * problem.filter.size * problem.dtype.accumulator.itemsize

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        known = self.defines(problem, info)
        taps, columns = known["S"], known["COLUMNS"]
        span = (columns - 1) * known["STEP_W"] + (taps - 1) * known["TAP_W"] + 1
        blocks = known["ROWS"] * ceil_div(known["Q"], columns) * known["VECTORS"] * known["R"]
        steps = blocks * (columns * taps * known["VW"] + (span + columns) * (6 + 2 * known["VW"]))
        read = (problem.image.nbytes + problem.result.nbytes) * (1 + 0.3 * (known["R"] - 1)) / (0.7 * info.bandwidth)
        return max(3 * steps / info.flops, read) + 2 * LAUNCH_SECONDS

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        known = self.defines(problem, device.info)
        real = problem.dtype.accumulator
        parts = WorkspaceArg(0, real)
        defines: dict[str, int | float | str] = {
            **known,
            **{name: f"{known[name]}u" for name in ("C", "VECTORS", "ROWS")},
        }
        kernel = device.compile(_GRADIENT_FILE, "conv_depthwise_filter", defines)
        grid = ceil_div(known["VECTORS"], known["LANES"]) * known["R"] * known["SLICES"]
        args = (TensorArg(0), TensorArg(1), parts)
        finish, count = ConvDirectFilter.finish(problem, device, known["SLICES"])
        target = (TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
        launches = (
            Launch(kernel, (grid,), (_GROUP,), args),
            Launch(finish, (ceil_div(count, _GROUP),), (_GROUP,), (parts, *target)),
        )
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _places(name: str, values: Sequence[int]) -> dict[str, int]:
    return {f"{name}_{axis}": value for axis, value in zip("HW", values, strict=True)}


def _strides(name: str, spec: TensorSpec) -> dict[str, int]:
    return {f"{name}_{axis}": spec.strides[i] for axis, i in (("N", 0), ("H", 2), ("W", 3))}


def _sizes(problem: Convolution, width: int, source: TensorSpec) -> dict[str, int]:
    """Return what all kernels are told; `source` is the tensor that taps move over."""
    taps = problem.filter.dims
    return {
        f"DTYPE_{problem.dtype.name}": 1,
        "VW": width,
        **({"VECTOR_ALIGNED": 1} if width > 1 else {}),
        **{"C": taps[0], "VECTORS": ceil_div(taps[0], width), "R": taps[2], "S": taps[3]},
        **_places("IMAGE", source.dims[2:]),
        **_places("STEP", problem.stride),
        **_places("TAP", problem.dilation),
    }


def _width(problem: Convolution) -> int:
    """Return the channels of a work-item: aligned vectors, fewer where the registers would not hold their taps."""
    specs: tuple[TensorSpec, ...] = (problem.image, problem.result)
    width = _VECTOR_BYTES // problem.dtype.itemsize
    while width > 1 and not (
        all(_aligned(spec, width) for spec in specs) and _columns(problem, width) >= min(4, problem.result.dims[3])
    ):
        width //= 2
    return width


def _aligned(spec: TensorSpec, width: int) -> bool:
    """Tell whether any `width` channels, from a multiple of them, are an aligned vector."""
    return (
        spec.dims[1] % width == 0
        and all(spec.strides[i] % width == 0 for i in (0, 2, 3))
        and spec.alignment >= width * spec.dtype.itemsize
    )


def _columns(problem: Convolution, width: int) -> int:
    """Return how many pixels a work-item takes at a time: at most four, 0 where none fits the registers."""
    taps, step, tap = problem.filter.dims[3], problem.stride[1], problem.dilation[1]
    words = width * (problem.dtype.accumulator.itemsize // 4)
    for columns in (4, 2, 1):
        if words * (taps + (columns - 1) * step + (taps - 1) * tap + 1) <= _REGISTERS:
            return columns
    return 0


ENGINES = (
    ConvDepthwise("depthwise_forward", ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM, ConvolutionForward),
    ConvDepthwise("depthwise_backward_data", ConvolutionBwdDataAlgo.ALGO_1, ConvolutionBackwardData),
    ConvDepthwiseFilter("depthwise_backward_filter", ConvolutionBwdFilterAlgo.ALGO_1, ConvolutionBackwardFilter),
)
