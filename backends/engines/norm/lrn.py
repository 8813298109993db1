"""Local response normalisation across channels: columns or strips of places, or rows of channels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portadnn.ops.lrn import LRNCrossChannelBackward, LRNCrossChannelForward, Window
from portadnn.problem import Problem, TensorSpec

from ...base import (
    Arg,
    ConstantArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    roofline,
)
from ...parameters import Parameter, bind, numbers
from ..layouts import Axis
from ..places import places
from ..tiles import make_tile, storage_defines, vector_lanes

POWERS = {0.75: "POWER_075", 0.5: "POWER_05", 1.0: "POWER_1"}  # exponents with defines in lrn/lrn.h

_FILE, _CPU_FILE = "shared/lrn/lrn.cl", "opencl/norm/lrn_cpu.cl"
_GROUP = 128  # work-items; each keeps many registers
_FILL = 1024  # work-items of a multiprocessor that hide the latency of memory
_SHORTEST = 8  # channels of a slice, which reads n - 1 more
_MOST_SLICES = 65535  # CUDA's limit of a grid's second dimension
_REGISTERS = 128  # 32-bit ones that windows may take: beyond that ptxas spills, or few groups fit
_RUN = 2  # vectors of channels of a work-item
_RING = 16 << 10  # bytes of the rows that a CPU's first cache holds
_LONGEST = 128  # vectors of a strip
_BLOCK = 256  # channels that a CPU treats at a time
_CHUNK = 1 << 14  # elements of a CPU work-group

Defines = dict[str, int | float | str]
_LRN = LRNCrossChannelForward | LRNCrossChannelBackward


class LRN(Engine):
    """Both directions and all layouts; every number is read once."""

    name = "lrn"
    problems = (LRNCrossChannelForward, LRNCrossChannelBackward)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        return roofline(problem, info, 0.8)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, (LRNCrossChannelForward, LRNCrossChannelBackward))
        launches = (_launch(problem, device),) if problem.x.size else ()
        return Plan(problem, self, 0, device.bind(launches), launches)


def norm_arguments(problem: Problem, window: Window) -> tuple[Defines, list[Parameter]]:
    """Return the defines and the numbers of lrn/lrn.h."""
    real = problem.dtype.accumulator
    values = (window.weight, window.k, window.beta, 2 * window.weight * window.beta)
    constants = (ConstantArg(real.numpy.type(value)) for value in values)
    names = ("alpha", "beta", "weight", "k", "power", "slope")
    power = POWERS.get(window.beta)
    return {power: 1} if power else {}, numbers("real", names, (ScalarArg(0, real), ScalarArg(1, real), *constants))


@dataclass(frozen=True)
class _Shape:
    """What one way to walk through a problem adds to its launch: defines, sizes in the kernel's order, and the grid."""

    name: str
    defines: Defines
    sizes: tuple[Arg, ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]


def _launch(problem: _LRN, device: Device) -> Launch:
    forward = isinstance(problem, LRNCrossChannelForward)
    names = ("x", "y") if forward else ("x", "dy", "dx")  # the order of the kernels' parameters
    specs = [getattr(problem, name) for name in names]
    cpu = device.info.schedule == "cpu"
    tile = make_tile(specs, _places_of(problem), device.info)
    if tile.along_reduce and all(spec.strides[1] == 1 for spec in specs):
        shape = (_cpu_rows if cpu else _rows)(problem, specs, names, device.info)
    else:
        shape = (_strips if cpu else _columns)(problem, specs, names, device.info)
    window = problem.window
    defines, norm = norm_arguments(problem, window)
    defines.update(storage_defines(problem.x), BEHIND=window.before, AHEAD=window.after, WINDOW=problem.lrn_n)
    defines.update(shape.defines)
    defines[shape.name.upper()] = 1
    if forward:
        defines["FORWARD"] = 1
    name = f"lrn_{shape.name}" if forward else f"lrn_{shape.name}_backward"
    kernel = device.compile(_CPU_FILE if cpu else _FILE, name, defines)
    tensors = (TensorArg(problem.index(name)) for name in names)
    return Launch(kernel, shape.grid, shape.block, (*tensors, *bind(norm), *shape.sizes))


def _places_of(problem: _LRN) -> tuple[int, ...]:
    """Return the axes other than the channels'."""
    return (0, *range(2, len(problem.x.dims)))


def _counts(*values: int) -> tuple[Arg, ...]:
    return tuple(ConstantArg(np.uint32(value)) for value in values)


def _columns(problem: _LRN, specs: list[TensorSpec], names: tuple[str, ...], info: DeviceInfo) -> _Shape:
    channels, n, before = problem.x.dims[1], problem.lrn_n, problem.window.before
    forward = len(specs) == 2
    chunk = 4 if forward or n <= 8 else 2
    carried, carried_g = max(n - 1, 2), max(before, 2)  # at least two turns: see ADD_WINDOW in lrn/lrn.cl
    kept = carried + chunk if forward else 2 * (carried + chunk) + carried_g + chunk
    most = max(_REGISTERS // (kept * problem.dtype.accumulator.itemsize // 4), 1)
    tile = make_tile(specs, _places_of(problem), info, 1 << (most.bit_length() - 1))
    if tile.width == 1:
        chunk *= 2  # as many loads in flight as wide ones have
    defines: Defines = {"WG": _GROUP, "VW": tile.width, "U": chunk, "CARRIED": carried, "CARRIED_G": carried_g}
    if tile.aligned:
        defines["VECTOR_ALIGNED"] = 1
    place_defines, place_args = places(tile.outer, names)
    slices = min(-(-_FILL * info.compute_units // tile.outer_units), _MOST_SLICES)
    length = max(-(-channels // slices), min(max(_SHORTEST, n), channels))
    sizes = _counts(tile.outer_units, channels, length, *(spec.strides[1] for spec in specs))
    grid = (-(-tile.outer_units // _GROUP), -(-channels // length))
    return _Shape("columns", {**defines, **place_defines}, (*sizes, *place_args), grid, (_GROUP, 1))


def _rows(problem: _LRN, specs: list[TensorSpec], names: tuple[str, ...], info: DeviceInfo) -> _Shape:
    tile = make_tile(specs, _places_of(problem), info)
    channels = problem.x.dims[1]
    defines: Defines = {"WG": _GROUP, "VW": tile.width, "RUN": _RUN}
    if tile.aligned:
        defines["VECTOR_ALIGNED"] = 1
    place_defines, place_args = places(tile.outer, names)
    runs = -(-channels // (_RUN * tile.width))
    items = tile.outer_units * runs
    sizes = (*_counts(items, channels, runs), *place_args)
    return _Shape("rows", {**defines, **place_defines}, sizes, (-(-items // _GROUP),), (_GROUP,))


def _strips(problem: _LRN, specs: list[TensorSpec], names: tuple[str, ...], info: DeviceInfo) -> _Shape:
    lanes = vector_lanes(problem.dtype, info)
    n, channels = problem.lrn_n, problem.x.dims[1]
    rows = n if len(specs) == 2 else 2 * n + problem.window.before + 1
    *far, near = make_tile(specs, _places_of(problem), info, 1).outer
    place_defines, place_args = places(far or [Axis(1, near.strides)], names)
    strip = min(_RING // (rows * lanes * problem.dtype.accumulator.itemsize), _LONGEST)
    defines: Defines = {"VW": lanes, "STRIP": strip, **place_defines}
    if all(stride == 1 for stride in near.strides):
        defines["UNIT"] = 1
    strides = [(stride, spec.strides[1]) for stride, spec in zip(near.strides, specs, strict=True)]
    sizes = _counts(near.size, channels, *(number for pair in strides for number in pair))
    lines = problem.x.size // (channels * near.size)
    grid = (lines * -(-near.size // (strip * lanes)),)
    return _Shape("strips", defines, (*sizes, *place_args), grid, (1,))


def _cpu_rows(problem: _LRN, specs: list[TensorSpec], names: tuple[str, ...], info: DeviceInfo) -> _Shape:
    channels = problem.x.dims[1]
    rows = problem.x.size // channels
    place_defines, place_args = places(make_tile(specs, _places_of(problem), info, 1).outer, names)
    chunk = max(1, min(_CHUNK // channels, -(-rows // info.compute_units)))
    defines: Defines = {"VW": vector_lanes(problem.dtype, info), "BLOCK": _BLOCK, **place_defines}
    sizes = (*_counts(rows, chunk, channels), *place_args)
    return _Shape("rows", defines, sizes, (-(-rows // chunk),), (1,))


ENGINES = (LRN(),)
