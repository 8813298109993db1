"""What engines of bilinear sampling share: sizes and strides, launches not yet compiled, how points are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.spatial_sampler import SpatialTfSamplerBackward, SpatialTfSamplerForward
from portadnn.problem import TensorSpec

from ...base import (
    Arg,
    ConstantArg,
    Device,
    DeviceInfo,
    Launch,
    ScalarArg,
    WorkspaceArg,
    needs_wide_places,
)
from ...parameters import Parameter, bind, declare, numbers
from ..layouts import place_defines, strides
from ..tiles import storage_defines

FILE = "shared/grid/sample.cl"
_SIZES = [
    "channels",
    "h",
    "w",
    "p",
    "q",
    "x_n",
    "x_c",
    "x_h",
    "x_w",
    "y_n",
    "y_c",
    "y_h",
    "y_w",
    "g_n",
    "g_h",
    "g_w",
    "g_2",
]
_GROUP = 256
_IN_FLIGHT = 8  # channels of a work-item, where they are planes
_READ_AT_ONCE = 4  # channels that a work-item reads before it multiplies, for dgrid
_VECTORS = 2  # vectors of channels of a work-item, where they are lanes

Defines = dict[str, int | float | str]
Sampler = SpatialTfSamplerForward | SpatialTfSamplerBackward


def up(a: int, b: int) -> int:
    """Return a / b rounded up."""
    return -(-a // b)


@dataclass(frozen=True)
class Geometry:
    """Sizes and strides as the kernels' SIZES has them; runs of rows are merged to one row where that is the same."""

    n: int
    c: int
    h: int
    w: int
    p: int
    q: int
    x: tuple[int, ...]
    y: tuple[int, ...]
    grid: tuple[int, ...]
    dgrid: tuple[int, ...]
    wide: bool

    @classmethod
    def of(cls, problem: Sampler) -> Geometry:
        """Take them from a problem."""
        y = problem.y if isinstance(problem, SpatialTfSamplerForward) else problem.dy
        dgrid = problem.grid if isinstance(problem, SpatialTfSamplerForward) else problem.dgrid
        n, c, h, w = problem.x.dims
        _, p, q, _ = problem.grid.dims
        steps = (strides(problem.x), strides(y), strides(problem.grid), strides(dgrid))
        geometry = cls(n, c, h, w, p, q, *steps, needs_wide_places(problem))
        rows = ((y, 2, 3), (problem.grid, 1, 2), (dgrid, 1, 2))
        if q and p > 1 and all(spec.strides[i] == q * spec.strides[j] for spec, i, j in rows):
            step = tuple(spec.strides[j] for spec, _, j in rows)
            geometry = replace(
                geometry,
                p=1,
                q=p * q,
                y=(*geometry.y[:2], 0, step[0]),
                grid=(geometry.grid[0], 0, step[1], geometry.grid[3]),
                dgrid=(geometry.dgrid[0], 0, step[2], geometry.dgrid[3]),
            )
        return geometry

    @property
    def points(self) -> int:
        """Points of an image's grid."""
        return self.p * self.q

    def args(self, x: tuple[int, ...] | None = None) -> tuple[Arg, ...]:
        """Return SIZES; `x` are the strides of dx where they take the place of x's."""
        signed = (self.c, self.h, self.w, self.p, self.q)
        return (*ints(*signed), *self.places(*(x or self.x), *self.y, *self.grid))

    def parameters(self, x: tuple[int, ...] | None = None) -> list[Parameter]:
        """Return SIZES as parameters."""
        args = self.args(x)
        return [*numbers("int", _SIZES[:5], args[:5]), *numbers("idx_t", _SIZES[5:], args[5:])]

    def step_parameters(self, names: str, values: Sequence[int]) -> list[Parameter]:
        """Return strides by names between blanks."""
        return numbers("idx_t", names.split(), self.places(*values))

    def bin_args(self) -> tuple[Arg, ...]:
        """Return BIN_SIZES."""
        return (*ints(self.h, self.w), *words(self.q, self.points), *self.places(*self.grid))

    def places(self, *values: int) -> tuple[Arg, ...]:
        """Return arguments of the type idx_t."""
        return tuple(ConstantArg(np.uint64(value) if self.wide else np.uint32(value)) for value in values)


def ints(*values: int) -> tuple[Arg, ...]:
    """Return arguments of 32 bits."""
    return tuple(ConstantArg(np.int32(value)) for value in values)


def words(*values: int) -> tuple[Arg, ...]:
    """Return unsigned arguments of 32 bits."""
    return tuple(ConstantArg(np.uint32(value)) for value in values)


def scalars(dtype: DataType, first: int = 0) -> tuple[Arg, Arg]:
    """Return run-time numbers `first` and `first` + 1 as arguments."""
    return (ScalarArg(first, dtype.accumulator), ScalarArg(first + 1, dtype.accumulator))


def types(problem: Sampler, geometry: Geometry) -> Defines:
    """Return the defines that every kernel needs."""
    defines: Defines = {**storage_defines(problem.x), **place_defines(problem)}
    if geometry.p == 1:
        defines["ONE_ROW"] = 1
    return defines


class Scratch:
    """The workspace, handed out piece by piece."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, count: int, dtype: DataType) -> WorkspaceArg:
        """Return the place of so many elements."""
        arg = WorkspaceArg(self.size, dtype)
        self.size += up(count * dtype.itemsize, 256) * 256
        return arg


@dataclass(frozen=True)
class Step:
    """A launch whose kernel is not compiled yet, of arguments or of parameters that its text has from the host."""

    file: str
    kernel: str
    defines: Defines
    groups: int
    block: tuple[int]
    args: tuple[Arg, ...] = ()
    parameters: Sequence[Parameter] = ()

    def launch(self, device: Device) -> Launch:
        """Compile it."""
        given = declare(self.parameters) if self.parameters else {}
        kernel = device.compile(self.file, self.kernel, {**self.defines, **given})
        return Launch(kernel, (self.groups,), self.block, self.args or bind(self.parameters))


def _lanes(problem: Sampler, specs: tuple[TensorSpec, ...], info: DeviceInfo) -> int:
    """Return how many channels make an aligned vector in all of the specs; 0 where channels do not lie side by side."""
    if problem.x.dims[1] < 2 or any(spec.strides[1] != 1 for spec in specs):
        return 0
    if info.schedule == "cpu":
        return 1
    width = 16 // problem.dtype.itemsize
    while width > 1:
        others = [s for spec in specs for a, s in enumerate(spec.strides) if a != 1 and spec.dims[a] > 1]
        fits = problem.x.dims[1] % width == 0 and all(s % width == 0 for s in others)
        if fits and all(spec.alignment % (width * problem.dtype.itemsize) == 0 for spec in specs):
            return width if width * problem.dtype.accumulator.itemsize >= 16 else 1  # no vectors of two floats
        width //= 2
    return 1


def _power(n: int) -> int:
    """Return the highest power of two up to `n`, and at least 1."""
    return 1 << max(n.bit_length() - 1, 0)


def channels_at_once(channels: int, most: int) -> int:
    """Return a loop's length for so many channels: few lengths make few kernels, and none is 1 (compilers stumble)."""
    return next(length for length in (2, 3, 4, 8) if length >= min(channels, most))


def tile(
    problem: Sampler, geometry: Geometry, specs: tuple[TensorSpec, ...], info: DeviceInfo, sharing: int
) -> Defines:
    """Return how work-items are laid over points (or pixels) and channels."""
    channels = problem.x.dims[1]
    defines = types(problem, geometry)
    lanes = _lanes(problem, specs, info)
    group = _GROUP if info.schedule == "gpu" else 64
    if lanes:
        share = 1 if info.schedule == "cpu" else min(_power(channels // lanes), 32)
        defines.update(CHANNELS_LAST=1, VW=lanes, CHANNELS=_VECTORS)
        if lanes > 1:
            defines["VECTOR_ALIGNED"] = 1
    else:
        share = 1 if info.schedule == "cpu" else min(sharing, _power(max(channels, 1)))
        defines.update(VW=1, CHANNELS=channels_at_once(up(channels, share), _IN_FLIGHT))
    at_once = channels_at_once(up(channels, share * max(lanes, 1)), _READ_AT_ONCE)
    return {**defines, "SHARING": share, "POINTS": group // share, "IN_FLIGHT": at_once}


def _number(defines: Defines, name: str) -> int:
    return int(defines[name])


def covered(defines: Defines, points: int, channels: int) -> tuple[int, int, tuple[int]]:
    """Return work-groups along points and along channels, and a work-group's size."""
    points_each, sharing = _number(defines, "POINTS"), _number(defines, "SHARING")
    channels_each = _number(defines, "CHANNELS") * sharing * _number(defines, "VW")
    return up(points, points_each), up(channels, channels_each), (points_each * sharing,)
