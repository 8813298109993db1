"""Local response normalisation across channels: columns or strips of places, or rows of channels."""

from __future__ import annotations

import numpy as np

from portadnn.ops.lrn import LRNCrossChannelBackward, LRNCrossChannelForward, Window
from portadnn.problem import Problem, TensorSpec

from ..base import Arg, ConstantArg, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg, roofline
from .places import places
from .tiles import Tile, make_tile, storage_defines, vector_lanes

_FILE, _CPU_FILE = "shared/lrn.cl", "opencl/lrn_cpu.cl"
_GROUP = 128  # work-items; each keeps many registers
_FILL = 1024  # work-items of a multiprocessor that hide the latency of memory
_SHORTEST = 16  # channels of a slice, which reads n - 1 more
_REGISTERS = 176  # 32-bit ones that a work-item may keep
_RUN = 2  # vectors of channels of a work-item
_RING = 16 << 10  # bytes of the rows that a CPU's first cache holds
_BLOCK = 256  # channels that a CPU treats at a time
_CHUNK = 1 << 14  # elements of a CPU work-group
POWERS = {0.75: "POWER_075", 0.5: "POWER_05", 1.0: "POWER_1"}

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


def norm_arguments(problem: Problem, window: Window) -> tuple[Defines, tuple[Arg, ...]]:
    """Return the defines of lrn.h and the values of its NORM_ARGS."""
    real = problem.dtype.accumulator
    numbers = (window.weight, window.k, window.beta, 2 * window.weight * window.beta)
    constants = tuple(ConstantArg(real.numpy.type(number)) for number in numbers)
    power = POWERS.get(window.beta)
    return {power: 1} if power else {}, (ScalarArg(0, real), ScalarArg(1, real), *constants)


def _counts(*values: int) -> tuple[Arg, ...]:
    return tuple(ConstantArg(np.uint32(value)) for value in values)


def _launch(problem: _LRN, device: Device) -> Launch:
    forward = isinstance(problem, LRNCrossChannelForward)
    names = ("x", "y") if forward else ("x", "dy", "dx")  # the order of the kernels' parameters
    specs = [getattr(problem, name) for name in names]
    cpu = device.info.schedule == "cpu"
    chunk = _chunk(problem, forward)
    places_axes = (0, *range(2, len(problem.x.dims)))
    tile = make_tile(specs, places_axes, device.info)
    rows = tile.along_reduce and all(spec.strides[1] == 1 for spec in specs)
    if not (cpu or rows):
        most = max(_REGISTERS // (_kept(problem, forward, chunk) * _words(problem)), 1)
        tile = make_tile(specs, places_axes, device.info, 1 << (most.bit_length() - 1))
    window = problem.window
    defines, norm = norm_arguments(problem, window)
    defines.update(storage_defines(problem.x), BEHIND=window.before, AHEAD=window.after, WINDOW=problem.lrn_n)
    if forward:
        defines["FORWARD"] = 1
    args = (*(TensorArg(problem.index(name)) for name in names), *norm)
    shape = "rows" if rows else "strips" if cpu else "columns"
    defines[shape.upper()] = 1
    if rows:
        found = _cpu_rows(specs, names, device.info) if cpu else _rows(problem, tile, names)
    elif cpu:
        found = _strips(problem, specs, names, device.info)
    else:
        found = _columns(problem, tile, specs, names, chunk, device.info)
    more, sizes, grid, block = found
    name = f"lrn_{shape}" if forward else f"lrn_{shape}_backward"
    kernel = device.compile(_CPU_FILE if cpu else _FILE, name, {**defines, **more})
    return Launch(kernel, grid, block, (*args, *sizes))


_Found = tuple[Defines, tuple[Arg, ...], tuple[int, ...], tuple[int, ...]]


def _words(problem: _LRN) -> int:
    return problem.dtype.accumulator.itemsize // 4


def _chunk(problem: _LRN, forward: bool) -> int:
    """Return how many channels a column loads at a time."""
    return 4 if forward or problem.lrn_n <= 8 else 2


def _kept(problem: _LRN, forward: bool, chunk: int) -> int:
    """Return how many vectors a column keeps."""
    carried = max(problem.lrn_n - 1, 2) + chunk
    return carried if forward else 2 * carried + max(problem.window.before, 2) + chunk


def _columns(
    problem: _LRN, tile: Tile, specs: list[TensorSpec], names: tuple[str, ...], chunk: int, info: DeviceInfo
) -> _Found:
    channels, n = problem.x.dims[1], problem.lrn_n
    defines: Defines = {"WG": _GROUP, "VW": tile.width, "U": chunk, "CARRIED": max(n - 1, 2)}
    defines["CARRIED_G"] = max(problem.window.before, 2)
    if tile.aligned:
        defines["VECTOR_ALIGNED"] = 1
    place_defines, place_args = places(tile.outer, names)
    slices = -(-_FILL * info.compute_units // tile.outer_units)
    length = max(-(-channels // slices), min(_SHORTEST, channels))
    steps = [spec.strides[1] for spec in specs]
    sizes = _counts(tile.outer_units, channels, length, *steps)
    grid = (-(-tile.outer_units // _GROUP), -(-channels // length))
    return {**defines, **place_defines}, (*sizes, *place_args), grid, (_GROUP, 1)


def _rows(problem: _LRN, tile: Tile, names: tuple[str, ...]) -> _Found:
    channels = problem.x.dims[1]
    defines: Defines = {"WG": _GROUP, "VW": tile.width, "RUN": _RUN}
    if tile.aligned:
        defines["VECTOR_ALIGNED"] = 1
    place_defines, place_args = places(tile.outer, names)
    runs = -(-channels // (_RUN * tile.width))
    items = tile.outer_units * runs
    return (
        {**defines, **place_defines},
        (*_counts(items, channels, runs), *place_args),
        (-(-items // _GROUP),),
        (_GROUP,),
    )


def _strips(problem: _LRN, specs: list[TensorSpec], names: tuple[str, ...], info: DeviceInfo) -> _Found:
    lanes = vector_lanes(problem.dtype, info)
    rows = problem.lrn_n if len(specs) == 2 else 2 * problem.lrn_n + problem.window.before + 1
    axes = make_tile(specs, (0, *range(2, len(problem.x.dims))), info, 1).outer
    near = axes[-1]
    places_of, place_args = places(axes[:-1] or [type(near)(1, near.strides)], names)
    strip = min(_RING // (rows * lanes * problem.dtype.accumulator.itemsize), 128)
    defines: Defines = {"VW": lanes, "STRIP": strip, **places_of}
    if all(stride == 1 for stride in near.strides):
        defines["UNIT"] = 1
    strides = [(stride, spec.strides[1]) for stride, spec in zip(near.strides, specs, strict=True)]
    sizes = _counts(near.size, problem.x.dims[1], *(number for pair in strides for number in pair))
    lines = problem.x.size // (problem.x.dims[1] * near.size)
    return defines, (*sizes, *place_args), (lines * -(-near.size // (strip * lanes)),), (1,)


def _cpu_rows(specs: list[TensorSpec], names: tuple[str, ...], info: DeviceInfo) -> _Found:
    x = specs[0]
    axes = make_tile(specs, (0, *range(2, len(x.dims))), info, 1).outer
    channels = x.dims[1]
    rows = x.size // channels
    places_of, place_args = places(axes, names)
    chunk = max(1, min(_CHUNK // channels, -(-rows // info.compute_units)))
    defines: Defines = {"VW": vector_lanes(x.dtype, info), "BLOCK": _BLOCK, **places_of}
    return defines, (*_counts(rows, chunk, channels), *place_args), (-(-rows // chunk),), (1,)


ENGINES = (LRN(),)
