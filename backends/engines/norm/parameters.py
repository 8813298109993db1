"""The gradients of scale and bias of layer, instance, group and RMS normalisation: sums over images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from portadnn.ops.normalization import NormalizationBackward, NormMode
from portadnn.problem import Problem, TensorSpec

from ...base import (
    MOST_COUNTERS,
    Arg,
    CountersArg,
    Device,
    DeviceInfo,
    Launch,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from ...parameters import Parameter, bind, declare, number, tensor, tensors
from ..layouts import Axis, offset_expression
from ..tiles import Tile, storage_defines
from .layout import Defines, Layout, make_layout, shape_of, stored_as

ROUNDS = 4  # as in norm/norm.h
_DATA = ("x", "y", "dx", "dy")
_FINISH = {"gpu": (8, 32), "cpu": (64, 1)}  # parameters of a work-group that adds parts, and work-items of each


class Workspace:
    """Arrays of the problem's accumulator one after another in the workspace."""

    def __init__(self, problem: Problem) -> None:
        self.dtype = problem.dtype.accumulator
        self.size = 0

    def take(self, numbers: int) -> WorkspaceArg:
        """Return the argument of an array of so many numbers."""
        start = self.size
        self.size += -(-max(numbers, 1) * self.dtype.itemsize // 256) * 256
        return WorkspaceArg(start, self.dtype)


def arguments(problem: Problem, *names: str) -> list[Parameter]:
    """Return those tensors that the problem has, as the kernels call them."""
    data = problem.tensors[0]
    return [
        tensor("T" if name in _DATA else stored_as(getattr(problem, name), data), name, TensorArg(problem.index(name)))
        for name in names
        if name in problem.names
    ]


def numbers(problem: Problem, *names: str, **renamed: str) -> list[Parameter]:
    """Return those run-time numbers; ``kernel_name="name"`` where the kernel calls one otherwise."""
    scalars, real = list(problem.scalars), problem.dtype.accumulator
    called = {**dict(zip(names, names, strict=True)), **renamed}
    return [number("real", name, ScalarArg(scalars.index(ours), real)) for name, ours in called.items()]


def parts_of(args: Sequence[Arg]) -> list[Parameter]:
    """Return the workspace's parts of both gradients, if there are any."""
    return tensors("real", ("part_dscale", "part_dbias") if args else (), args)


def statistics(problem: Problem, stats: Sequence[Arg]) -> tuple[str, list[Parameter]]:
    """Return STATS of ``norm/backward.h`` and its tensors: those in the workspace, or the saved ones."""
    if stats:
        return "WORKSPACE", tensors("real", ("stat_pivots", "stat_rests", "stat_inverses"), stats)
    saved = arguments(problem, "saved_mean", "saved_inv_variance")
    return ("OWN", "SAVED_INVERSE", "SAVED")[len(saved)], saved


def sliced(tile: Tile, groups: int, info: DeviceInfo, merged: int = 0) -> Tile:
    """Return the tile in slices, so that `groups` of them at a time fill the device.

    Where each work-group adds up what all slices left, `merged` is the size of x's elements: see :func:`most_slices`.
    """
    if 0 in (tile.outer_units, tile.reduce_units):
        return tile
    slices = -(-8 * info.compute_units // groups)
    if merged:
        slices = min(slices, most_slices(tile, groups, info, merged))
    return tile.sliced(slices, 2 * ROUNDS)


def most_slices(tile: Tile, groups: int, info: DeviceInfo, itemsize: int) -> int:
    """Return how many slices columns may have, so that a GPU soon has added up what all of them left.

    A work-group reads three numbers of 4 bytes for each slice and column, from the second-level cache, which is about
    twice as fast as memory: a quarter of what it takes to read and write its own rows. Every multiprocessor has a
    slice in any case.
    """
    if info.schedule == "cpu" or tile.along_reduce:
        return tile.reduce_units
    return max(math.isqrt(tile.reduce_units * itemsize // 12), -(-info.compute_units // groups), 1)


def by_image(problem: Problem) -> bool:
    """Tell whether a row's own sums are parts of the parameters' gradients: each row has one parameter."""
    if not isinstance(problem, NormalizationBackward) or problem.dscale is None:
        return False
    return problem.mode is NormMode.INSTANCE_NORM or (
        problem.mode is NormMode.GROUP_NORM and problem.groups == problem.x.dims[1]
    )


def by_kernel(problem: Problem) -> bool:
    """Tell whether the parameters' gradients need a kernel of their own."""
    return isinstance(problem, NormalizationBackward) and problem.dscale is not None and not by_image(problem)


@dataclass(frozen=True)
class ParameterSums:
    """How :func:`launches` lays the sums out: outer units are parameters."""

    layout: Layout

    @classmethod
    def of(cls, problem: NormalizationBackward, info: DeviceInfo) -> ParameterSums:
        """Choose for a problem."""
        shape = shape_of(problem)
        if problem.mode is NormMode.GROUP_NORM:
            kept: tuple[int, ...] = (1, 2)
        else:
            kept = tuple(range(problem.axis % len(shape.dims), len(shape.dims)))
        others = {"STAT": shape.statistics(), **shape.others}
        layout = make_layout(replace(shape, kept=kept, others=others, slots=None), info)
        tile = layout.tile.shared(2 * ROUNDS, info)
        return cls(layout.with_tile(sliced(tile, max(tile.groups, 1), info)))

    @property
    def parts(self) -> int:
        """Numbers of the workspace for either gradient; 0 without slices."""
        return 0 if self.layout.tile.slices == 1 else self.layout.tile.parts


def launches(
    problem: NormalizationBackward, stats: Sequence[Arg], parts: Sequence[Arg], device: Device, sums: ParameterSums
) -> list[Launch]:
    """Return the launches that make dscale and dbias from statistics in the workspace, or the saved ones."""
    layout, tile = sums.layout, sums.layout.tile
    if tile.outer_units == 0:
        return []
    where, known = statistics(problem, stats)
    defines: Defines = {**layout.defines(), **storage_defines(layout.shape.data["X"]), "STATS": where}
    defines.pop("PARAMETER_VECTORS", None)  # that is scale's place, not that of statistics
    if problem.dbias is not None:
        defines["HAS_DBIAS"] = 1
    fenced = "grid_fence" in device.info.features and tile.slices > 1 and tile.groups <= MOST_COUNTERS
    given = [*arguments(problem, "x", "dy"), *known, *parts_of(parts)]
    adds = tile.slices == 1 or fenced
    if fenced:
        defines["GRID_FENCED"] = 1
        given.append(tensor("int", "arrived", CountersArg(tile.groups)))
    if adds:
        given += [*arguments(problem, "dscale", "dbias"), *_blends(problem)]
    file = "shared/norm/parameters.cl"
    kernel = device.compile(file, "norm_parameters", {**defines, "ADDS": int(adds), **declare(given)})
    made = [Launch(kernel, (tile.groups * tile.slices,), (tile.block,), bind(given))]
    if tile.slices > 1 and not fenced:
        lanes = 1 if tile.along_reduce else tile.width
        places = {
            f"{name}_AT(p)": f"({name}_OUTER((p) / {lanes}u) + (p) % {lanes}u * {name}_STEP)"
            for name in ("DSCALE", "DBIAS")
            if name in layout.names
        }
        kept = {
            key: value for key, value in defines.items() if key.startswith(("DTYPE", "HAS_DBIAS", "DSCALE", "DBIAS"))
        }
        made.append(_finish(problem, parts, tile.slices, tile.parts // tile.slices, {**kept, **places}, device))
    return made


def finish_images(problem: NormalizationBackward, parts: Sequence[Arg], count: int, device: Device) -> list[Launch]:
    """Return the launch that adds `count` parts, each of all parameters in the order of their dims."""
    assert problem.dscale is not None
    if problem.dscale.size == 0:
        return []
    defines: Defines = {**storage_defines(problem.x), "DSCALE_AT(p)": place(problem.dscale)}
    if problem.dbias is not None:
        defines.update({"HAS_DBIAS": 1, "DBIAS_AT(p)": place(problem.dbias)})
    return [_finish(problem, parts, count, problem.dscale.size, defines, device)]


def place(spec: TensorSpec) -> str:
    """Return C code for the place of element p, in the order of the dims."""
    axes: list[Axis] = []
    for size, stride in zip(spec.dims, spec.strides, strict=True):
        if size > 1 and axes and axes[-1].strides[0] == size * stride:
            axes[-1] = Axis(axes[-1].size * size, (stride,))
        elif size > 1:
            axes.append(Axis(size, (stride,)))
    return offset_expression(axes or [Axis(1, (0,))], 0, "p")


def _finish(
    problem: NormalizationBackward, parts: Sequence[Arg], count: int, parameters: int, defines: Defines, device: Device
) -> Launch:
    across, sharing = _FINISH[device.info.schedule]
    sizes: Defines = {"ACROSS": across, "SHARING": sharing}
    sizes.update(PARTS=f"{count}u", PARAMETERS_ALL=f"{parameters}u")
    given = [*parts_of(parts), *arguments(problem, "dscale", "dbias"), *_blends(problem)]
    unused: Defines = {"TO": 1, "TR": 1, "OUTER": "1u", "REDUCE": "1u", "SLICES": 1, "LENGTH": "1u", "ALONG_REDUCE": 1}
    file = "shared/norm/finish.cl"
    kernel = device.compile(file, "norm_finish", {**unused, "COUNT": "1u", **defines, **sizes, **declare(given)})
    return Launch(kernel, (math.ceil(parameters / across),), (across * sharing if sharing > 1 else 1,), bind(given))


def _blends(problem: NormalizationBackward) -> list[Parameter]:
    return numbers(problem, alpha="alpha_param_diff", beta="beta_param_diff")
