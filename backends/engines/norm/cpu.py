"""Normalisations on CPUs: work-groups of one, which go through contiguous lines or through panels of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from portadnn.ops.normalization import NormalizationBackward, NormMode
from portadnn.problem import Problem

from ...base import Arg, Device, DeviceInfo, Engine, Launch, Plan, WorkspaceArg, roofline
from ...parameters import Parameter, bind, declare, tensors
from ..layouts import Axis, offset_expression
from ..tiles import storage_defines
from .gpu import (
    PROBLEMS,
    SAVED,
    BackwardArguments,
    forward_arguments,
    is_backward,
    is_inference,
)
from .layout import Defines, Layout, Shape, make_layout, shape_of
from .parameters import Workspace, arguments, by_image, by_kernel, finish_images, numbers, parts_of

_VECTOR = 64  # bytes, of what arithmetic is done in
_BLOCK = 4  # as in norm/cpu.h
_PANEL = 16  # vectors of a panel: arrays of them stay in the first cache
_WORK = 1 << 14  # numbers of a work-group at least: 64 KB of float32
_SHARES = 4  # work-groups for each core, so that one that is late does not matter


@dataclass(frozen=True)
class Way:
    """How a problem is cut.

    Attributes
    ----------
    layout : Layout
        With the axes of single numbers.
    width : int
        Numbers of a vector.
    rows : bool
        Whether what is normalised together lies in lines, or what is not in columns.
    slices, length : int
        Pieces of a row's numbers, or of the columns' rows, and numbers of each.
    share : int
        Rows of a work-group that makes whole ones.
    """

    layout: Layout
    width: int
    rows: bool
    slices: int = 1
    length: int = 1
    share: int = 1

    @property
    def units(self) -> int:
        """Work-groups without slices and with one row each."""
        if self.rows:
            return _count(self.layout.tile.outer)
        return _count(self.layout.tile.outer[:-1]) * self.panels

    @property
    def groups(self) -> int:
        """Work-groups."""
        return -(-self.units // self.share) * self.slices

    @property
    def columns(self) -> int:
        return self.layout.tile.outer[-1].size

    @property
    def vectors(self) -> int:
        return -(-self.columns // self.width)

    @property
    def panel(self) -> int:
        """Vectors of a panel."""
        return min(_PANEL, self.vectors)

    @property
    def panels(self) -> int:
        return -(-self.vectors // self.panel)

    @property
    def line(self) -> Axis:
        """The axis of a line."""
        return self.layout.tile.reduce[-1]

    @property
    def schedule(self) -> str:
        """What kernels and their files are called after."""
        return "rows" if self.rows else "columns"

    def step(self, name: str) -> int:
        """Return the distance between a parameter's numbers along a line; 0 for one that there is not."""
        names = self.layout.names
        return self.line.strides[names.index(name)] if name in names else 0

    def defines(self) -> Defines:
        """Return the macros of the kernels."""
        layout, tile = self.layout, self.layout.tile
        macros: Defines = {**layout.defines(), "VW": self.width, "SLICES": f"{self.slices}u"}
        macros["LENGTH"] = f"{self.length}u"
        if self.rows:
            macros.update(ALONG_REDUCE=1, REDUCE=f"{_count(tile.reduce)}u", LINE=f"{self.line.size}u")
            for i, name in enumerate(layout.names):
                macros[f"{name}_LINE(l)"] = offset_expression(tile.reduce[:-1], i, "l") if tile.reduce[:-1] else "0u"
            step = self.step("SCALE")
            own = "NUMBERS" if step else "LINES"
            macros.update(PARAMETERS_OF=own if layout.per_reduce else "ROWS", LINE_STEP=step, SHARE=f"{self.share}u")
            return macros
        macros.pop("ALONG_REDUCE", None)
        blocks = tile.outer[:-1]
        macros.update(COLUMNS=f"{self.columns}u", VECTORS=f"{self.vectors}u", PANEL=self.panel)
        macros.update(PANELS=f"{self.panels}u", BLOCKS=f"{_count(blocks)}u")
        for i, name in enumerate(layout.names):
            macros[f"{name}_OUTER(o)"] = offset_expression(blocks, i, "o") if blocks else "0u"
            macros[f"{name}_STEP"] = f"{tile.outer[-1].strides[i]}u"
        return macros


@dataclass(frozen=True)
class _Slots:
    """Where rows leave parts of parameters' gradients: `base` and `fresh` are C code, `count` the parts of each."""

    base: str
    fresh: str
    count: int


def _count(axes: Sequence[Axis]) -> int:
    return math.prod(axis.size for axis in axes)


def lanes_of(size: int, itemsize: int, info: DeviceInfo) -> int:
    """Return the most lanes that `size` neighbours fill."""
    width = min(_VECTOR // itemsize, info.simd_width * 4 // itemsize)
    while width >= 4 and width > size:
        width //= 2
    return width if width >= 4 else 1


def _cut(problem: Problem, info: DeviceInfo) -> Way | None:
    """Return how a problem is cut, or None for layouts that these kernels do not take."""
    layout = make_layout(shape_of(problem), info, vectors=False)
    tile = layout.tile
    itemsize = problem.dtype.accumulator.itemsize
    fast = (tile.reduce if tile.along_reduce else tile.outer)[-1]
    data = len(layout.shape.data)
    if 0 in (tile.outer_units, tile.reduce_units):
        return None
    if any(stride != 1 for stride in fast.strides[-data:]) and fast.size > 1:
        return None
    if not tile.along_reduce:
        if layout.per_reduce or by_kernel(problem):
            return None
        return in_slices(problem, Way(layout, lanes_of(fast.size, itemsize, info), False, 1, tile.reduce_units), info)
    if is_inference(problem):
        layout = make_layout(_lines(layout.shape), info, vectors=False)
        if not layout.tile.along_reduce:
            return None
    way = Way(layout, lanes_of(fast.size, itemsize, info), True, 1, layout.tile.reduce_units)
    steps = {way.step(name) for name in ("SCALE", "BIAS") if name in layout.names}
    if len(steps) > 1 or steps - {0, 1}:
        return None
    if by_kernel(problem) and not _slots_fit(way):
        return None
    return in_slices(problem, way, info)


def _slots_fit(way: Way) -> bool:
    """Tell whether a line's parts of parameters' gradients lie as the line does, or are one number of its own."""
    if not way.layout.per_reduce or way.step("SLOT") != way.step("SCALE"):
        return False
    repeats = [axis.strides[way.layout.names.index("SLOT")] == 0 for axis in way.layout.tile.reduce[:-1]]
    return not any(repeats) or (way.step("SCALE") == 1 and all(repeats))


def _lines(shape: Shape) -> Shape:
    """Return the shape with the reduced axes kept that do not continue a line, so that rows lie as memory does."""
    x = shape.data["X"]
    kept, size = set(range(len(shape.dims))), 1
    for axis in sorted((a for a in kept if a not in shape.kept and shape.dims[a] > 1), key=lambda a: x.strides[a]):
        if any(spec.strides[axis] != size for spec in shape.data.values()):
            break
        kept.discard(axis)
        size *= shape.dims[axis]
    return replace(shape, kept=tuple(sorted(kept)))


def in_slices(problem: Problem, way: Way, info: DeviceInfo) -> Way:
    """Cut few rows or panels into slices for all cores; give a work-group several short rows."""
    length, units = way.layout.tile.reduce_units, way.units
    wanted = _SHARES * info.compute_units
    if units >= wanted:
        share = 1
        if way.rows:
            share = max(1, min(_WORK // length, units // wanted))
        if by_kernel(problem) and _by_group(problem):
            share = max(share, -(-units // (2 * wanted)))  # each has all parameters' sums
        return replace(way, share=share)
    total = length * (1 if way.rows else way.panel * way.width)
    slices = min(-(-wanted // units), max(total // _WORK, 1))
    step = 1
    if way.rows:
        step = way.line.size if length > way.line.size else _BLOCK * way.width
    each = -(-length // slices)
    each = -(-each // step) * step
    return replace(way, slices=-(-length // each), length=each)


def _by_group(problem: Problem) -> bool:
    """Tell whether all rows share their parameters, so that a work-group adds up those of its own."""
    return isinstance(problem, NormalizationBackward) and problem.mode in (NormMode.LAYER_NORM, NormMode.RMS_NORM)


def _slots(problem: Problem, way: Way) -> _Slots | None:
    """Return where rows leave parts of parameters' gradients; see norm/rows_backward_cpu.cl."""
    if not by_kernel(problem):
        return None
    assert isinstance(problem, NormalizationBackward) and problem.dscale is not None
    size = problem.dscale.size
    if _by_group(problem):
        if way.slices > 1:
            return _Slots(f"(o * {size}u)", "(o == first)", way.units)
        return _Slots(f"((u32)GRP(0) * {size}u)", "(o == first)", way.groups)
    images = problem.x.dims[0]
    slot = way.layout.names.index("SLOT")
    if way.slices == 1 or any(axis.strides[slot] for axis in way.layout.tile.reduce[:-1]):
        return _Slots("0u", "(at_ == begin)", images)
    return _Slots(f"(slice * {images * size}u)", "(at_ == begin)", images * way.slices)


class CpuNormalization(Engine):
    """Contiguous rows or columns of any length."""

    name = "normalization_cpu"
    problems = PROBLEMS

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Take what lies in lines or in columns."""
        if info.schedule != "cpu" or info.backend != "opencl":
            return "it is for CPUs"
        return (
            None if _cut(problem, info) else "neither rows nor columns are contiguous, or parameters are not along them"
        )

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Return less than the general engine does."""
        return roofline(problem, info, 0.8)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        way = _cut(problem, info)
        assert way is not None
        return _areas(problem, way).space.size

    def prepare(self, problem: Problem, device: Device) -> Plan:
        way = _cut(problem, device.info)
        assert way is not None
        defines: Defines = {**way.defines(), **storage_defines(way.layout.shape.data["X"])}
        make = _backward if is_backward(problem) else _forward
        launches = make(problem, way, defines, device)
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


@dataclass(frozen=True)
class _Areas:
    """The workspace: parts of moments (means with pivots behind them, squares), of sums, of parameters' gradients."""

    space: Workspace
    moments: tuple[Arg, ...]
    sums: tuple[Arg, ...]
    parts: tuple[Arg, ...]


def _areas(problem: Problem, way: Way) -> _Areas:
    space = Workspace(problem)
    kept = way.layout.shape.groups
    moments: list[WorkspaceArg] = []
    sums: list[WorkspaceArg] = []
    parts: list[WorkspaceArg] = []
    backward = is_backward(problem)
    if way.slices > 1 and not is_inference(problem):
        if not backward or SAVED[1] not in problem.names:
            moments = [space.take((way.slices + 1) * kept), space.take(way.slices * kept)]
        if backward:
            sums = [space.take(way.slices * kept) for _ in range(2)]
    if by_image(problem) or by_kernel(problem):
        assert isinstance(problem, NormalizationBackward) and problem.dscale is not None
        slots = _slots(problem, way)
        count = problem.x.dims[0] if slots is None else slots.count
        parts = [space.take(count * problem.dscale.size) for _ in range(2)]
    return _Areas(space, tuple(moments), tuple(sums), tuple(parts))


def _forward(problem: Problem, way: Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    def made(name: str, which: str, given: list[Parameter]) -> Launch:
        kernel = device.compile(file, f"norm_{schedule}{name}", {**defines, which: 1, **declare(given)})
        return Launch(kernel, (way.groups,), (1,), bind(given))

    schedule = way.schedule
    file = f"opencl/norm/{schedule}_cpu.cl"
    if is_inference(problem):
        given = [*arguments(problem, *problem.names), *numbers(problem, "alpha", "beta", "epsilon")]
        return (made("_inference", "INFERENCE", given),)
    given, blends, more = forward_arguments(problem)
    defines.update(more)
    if way.slices == 1:
        return (made("", "WHOLE", given + blends),)
    moments = moments_of(way, _areas(problem, way).moments)
    return (
        made("_partial", "PARTIAL", [*arguments(problem, "x"), *moments]),
        made("_apply", "APPLY", [*given, *moments, *blends]),
    )


def moments_of(way: Way, args: Sequence[Arg]) -> list[Parameter]:
    """Return the parts of moments, if there are any, as the kernels call them."""
    names = ("means", "squares") if way.rows else ("part_means", "part_squares")
    return tensors("real", names if args else (), args)


def _backward(problem: Problem, way: Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    def made(name: str, which: str, given: list[Parameter], file: str = "_backward_cpu.cl") -> Launch:
        kernel = device.compile(
            f"opencl/norm/{way.schedule}{file}",
            f"norm_{way.schedule}{name}",
            {**defines, which: 1, **declare(given)},
        )
        return Launch(kernel, (way.groups,), (1,), bind(given))

    areas, slots = _areas(problem, way), _slots(problem, way)
    of = BackwardArguments.of(problem, (), areas.parts if slots is None else ())
    defines.update(of.defines, KEPT_SUMS="NONE")
    epsilon = numbers(problem, "epsilon")
    in_rows: list[Parameter] = []
    if slots is not None:
        kept = "NUMBERS" if way.step("SCALE") == 1 else "LINES"
        defines.update(KEPT_SUMS=kept, SLOT_BASE=slots.base, FRESH=slots.fresh)
        in_rows = parts_of(areas.parts)
    launches = []
    if way.slices == 1:
        launches.append(
            made("_backward", "WHOLE", [*of.inputs, *of.known, *of.outputs, *in_rows, *of.blends, *epsilon])
        )
    else:
        moments = moments_of(way, areas.moments)
        if moments:
            launches.append(made("_partial", "PARTIAL", [*arguments(problem, "x"), *moments], "_cpu.cl"))
            defines["STATS"] = "PARTS"
        sums = tensors("real", ("part_sums", "part_products"), areas.sums)
        launches += [
            made("_backward_partial", "PARTIAL", [*of.inputs, *of.known, *moments, *in_rows, *sums, *epsilon]),
            made(
                "_backward_apply", "APPLY", [*of.inputs, *of.known, *of.outputs, *moments, *sums, *of.blends, *epsilon]
            ),
        ]
    if areas.parts:
        assert isinstance(problem, NormalizationBackward)
        count = problem.x.dims[0] if slots is None else slots.count
        launches += finish_images(problem, areas.parts, count, device)
    return tuple(launches)


ENGINES = (CpuNormalization(),)
