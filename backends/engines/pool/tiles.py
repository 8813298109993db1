"""Pooling by tiles in registers, on GPUs: small windows over contiguous rows; pooling.py takes everything else."""

from __future__ import annotations

import math

from portadnn.enums import PoolingMode
from portadnn.ops.pooling import PoolingBackward, PoolingForward
from portadnn.problem import Problem, TensorSpec

from ...base import Arg, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from .general import Defines, geometry, vectors_along

_FILE = "shared/pool/tiles.cl"
GROUP = 128
OUTPUTS = {True: (1, 4), False: (2, 4)}  # rows and columns of outputs of a work-item, with vectors and without
CELLS = (4, 4)  # of dx, raised to whole strides and vectors
_MOST_READ = 80  # numbers of x that a work-item keeps in registers
_MOST_WINDOW = 16
_MOST_WINDOWS = 16  # of a backward tile


def _sizes(problem: PoolingForward | PoolingBackward) -> tuple[tuple[int, int], ...]:
    """Return window, padding and stride."""
    return tuple((pair[-2], pair[-1]) for pair in (problem.window, problem.padding, problem.stride))


def _read(tile: tuple[int, ...], window: tuple[int, int], stride: tuple[int, int]) -> int:
    """Return how many inputs that many windows read."""
    return math.prod((t - 1) * s + w for t, w, s in zip(tile, window, stride, strict=True))


def _lanes(problem: PoolingForward | PoolingBackward, info: DeviceInfo) -> int:
    """Return the widest vector in which whole strides come."""
    specs: tuple[TensorSpec, ...] = (problem.x, problem.dx) if isinstance(problem, PoolingBackward) else (problem.x,)
    return vectors_along(specs, len(problem.x.dims) - 1, info)


def _output_tile(problem: PoolingForward, info: DeviceInfo) -> tuple[int, int, int] | None:
    """Return rows, columns and lanes of a work-item's outputs; None where too many inputs belong to them."""
    window, _, stride = _sizes(problem)
    lanes = _lanes(problem, info)
    rows, columns = OUTPUTS[lanes > 1]
    columns = max(columns, lanes // math.gcd(stride[1], lanes))
    rows = min(rows, problem.y.dims[-2])
    while rows > 1 and _read((rows, columns), window, stride) > _MOST_READ:
        rows //= 2
    return (rows, columns, lanes) if _read((rows, columns), window, stride) <= _MOST_READ else None


def _cell_tile(problem: PoolingBackward, info: DeviceInfo) -> tuple[int, int, int] | None:
    """Return rows, columns and lanes of a work-item's cells; None where too many windows reach into them."""
    window, padding, stride = _sizes(problem)
    for lanes in dict.fromkeys((_lanes(problem, info), 1)):
        unit = math.lcm(stride[1], lanes)
        columns = -(-CELLS[1] // unit) * unit
        for wanted in (CELLS[0], 1):
            tile = -(-wanted // stride[0]) * stride[0], columns
            windows = tuple(
                (t - 1 + p) // s - -((w - 1 - p) // s) + 1
                for t, p, s, w in zip(tile, padding, stride, window, strict=True)
            )
            read = _read(windows, window, stride) if problem.mode is PoolingMode.MAX else 0
            if math.prod(windows) <= _MOST_WINDOWS and read <= _MOST_READ and math.prod(tile) <= 2 * _MOST_WINDOWS:
                return (*tile, lanes)
    return None


class PoolingTiles(Engine):
    """Small windows, forward and backward: x is read once, and so is dy, and nothing is noted in between."""

    name = "tiles"
    problems = (PoolingForward, PoolingBackward)
    wide = True

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, (PoolingForward, PoolingBackward))
        if info.schedule != "gpu":
            return "it is a GPU schedule"
        if len(problem.x.dims) != 4:
            return "its windows have two dimensions"
        images = (problem.x, problem.dx) if isinstance(problem, PoolingBackward) else (problem.x,)
        if any(spec.strides[-1] != 1 for spec in images):
            return "rows are not contiguous"
        if isinstance(problem, PoolingBackward) and not problem.x.same_strides(problem.dx):
            return "x and dx have different strides"
        if max(problem.window) > _MOST_WINDOW or max(problem.x.dims[2:]) >= 1 << 30:
            return f"the window is larger than {_MOST_WINDOW}, or the image too large for its integers"
        tile = _output_tile(problem, info) if isinstance(problem, PoolingForward) else _cell_tile(problem, info)
        return None if tile else "the windows of a tile do not fit registers"

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Bake in tile and geometry."""
        assert isinstance(problem, (PoolingForward, PoolingBackward))
        launches: tuple[Launch, ...] = ()
        if problem.tensors[-1].size:
            if isinstance(problem, PoolingForward):
                launches = (_forward(problem, device),)
            else:
                launches = (_backward(problem, device),)
        return Plan(problem, self, 0, device.bind(launches), launches)


def _launch(
    problem: PoolingForward | PoolingBackward, device: Device, name: str, defines: Defines, tiles: int, args: list[Arg]
) -> Launch:
    items = tiles * math.prod(problem.x.dims[:2])
    defines = {**defines, "GROUP": GROUP, "ITEMS": f"{items}u"}
    kernel = device.compile(_FILE, name, defines)
    real = problem.dtype.accumulator
    return Launch(kernel, (-(-items // GROUP),), (GROUP,), (*args, ScalarArg(0, real), ScalarArg(1, real)))


def _vector_defines(lanes: int) -> Defines:
    return {"VW": lanes, **({"VECTOR_ALIGNED": 1} if lanes > 1 else {})}


def _forward(problem: PoolingForward, device: Device) -> Launch:
    tile = _output_tile(problem, device.info)
    assert tile is not None
    rows, columns, lanes = tile
    p, q = problem.y.dims[2:]
    p_tiles, q_tiles = -(-p // rows), -(-q // columns)
    defines = {**geometry(problem, device.info), **_vector_defines(lanes)}
    defines.update(FORWARD=1, TP=rows, TQ=columns, P_TILES=p_tiles, Q_TILES=q_tiles)
    if lanes == columns and vectors_along((problem.y,), 3, device.info) == lanes:
        defines["Y_VECTORS"] = 1
    args: list[Arg] = [TensorArg(0), TensorArg(1)]
    return _launch(problem, device, "pooling_forward_tile", defines, p_tiles * q_tiles, args)


def _backward(problem: PoolingBackward, device: Device) -> Launch:
    tile = _cell_tile(problem, device.info)
    assert tile is not None
    rows, columns, lanes = tile
    h, w = problem.dx.dims[2:]
    h_tiles, w_tiles = -(-h // rows), -(-w // columns)
    defines = {**geometry(problem, device.info), **_vector_defines(lanes)}
    defines.update(BACKWARD=1, TH=rows, TW=columns, H_TILES=h_tiles, W_TILES=w_tiles)
    read = ["dy", "x"] if problem.mode is PoolingMode.MAX else ["dy"]
    args: list[Arg] = [TensorArg(problem.index(name)) for name in (*read, "dx")]
    return _launch(problem, device, "pooling_backward_tile", defines, h_tiles * w_tiles, args)


ENGINES = (PoolingTiles(),)
