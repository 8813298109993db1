"""Batch normalisation over several ranks: their statistics, and what follows from those of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from portadnn.ops.batch_norm_parts import (
    BatchNormalizationApply,
    BatchNormalizationBackwardApply,
    BatchNormalizationBackwardStatistics,
    BatchNormalizationStatistics,
)
from portadnn.problem import Problem, TensorSpec

from ...base import Arg, ConstantArg, Device, DeviceInfo, Engine, Launch, Plan
from ...parameters import bind, declare, number, tensors
from ..tiles import storage_defines
from .layout import Defines, Layout, Shape, make_layout, spread
from .parameters import ROUNDS, Workspace, arguments, numbers, place, sliced

_WG = 64
_FIRST = {BatchNormalizationStatistics, BatchNormalizationBackwardStatistics}
_BACKWARD = {BatchNormalizationBackwardStatistics, BatchNormalizationBackwardApply}
_PARAMETERS = ("scale", "bias", "mean", "variance", "saved_mean", "saved_inv_variance", "dscale", "dbias")
_PARTS = {False: ("means", "squares", "pivots"), True: ("sums", "products")}  # of slices
_MERGED = {False: ("stat_pivots", "stat_rests", "stat_inverses"), True: ("stat_shifts", "stat_slopes")}


class NormalizationParts(Engine):
    """All modes and layouts."""

    name = "normalization_parts"
    problems = (
        BatchNormalizationStatistics,
        BatchNormalizationApply,
        BatchNormalizationBackwardStatistics,
        BatchNormalizationBackwardApply,
    )

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        return _areas(problem, _layout(problem, info))[0].size

    def prepare(self, problem: Problem, device: Device) -> Plan:
        layout = _layout(problem, device.info)
        make = _first_half if type(problem) in _FIRST else _second_half
        launches = tuple(make(problem, layout, device))
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _layout(problem: Problem, info: DeviceInfo) -> Layout:
    """Return x and what is of its dims in slices of what is normalised together."""
    known = dict(zip(problem.names, problem.tensors, strict=True))
    dims = known["x"].dims
    data = {name.upper(): known[name] for name in ("x", "y", "dy", "dx") if name in known}
    others = {name.upper(): spread(known[name], dims) for name in _PARAMETERS if name in known}
    one = next(known[name] for name in _PARAMETERS if name in known)
    kept = tuple(axis for axis in range(1, len(dims)) if axis == 1 or one.dims[axis] > 1)
    layout = make_layout(Shape(dims, kept, data, others), info)
    tile = layout.tile.shared(2 * ROUNDS, info)
    return layout.with_tile(sliced(tile, max(tile.groups, 1), info))


def _areas(problem: Problem, layout: Layout) -> tuple[Workspace, list[Arg]]:
    """Return the workspace, and in it the parts of slices, or the merged statistics."""
    space, tile = Workspace(problem), layout.tile
    backward = type(problem) in _BACKWARD
    if type(problem) in _FIRST:
        sizes = [tile.parts] * 2 if backward else [tile.parts, tile.parts, tile.parts // tile.slices]
    else:
        sizes = [layout.shape.groups] * len(_MERGED[backward])
    return space, [space.take(size) for size in sizes]


def _defines(layout: Layout, backward: bool) -> Defines:
    defines: Defines = {**layout.defines(), **storage_defines(layout.shape.data["X"])}
    if backward:
        defines.update(SHARES=1, STATS="SAVED", GRADIENTS="NONE")
    return defines


def _first_half(problem: Problem, layout: Layout, device: Device) -> list[Launch]:
    tile, backward = layout.tile, type(problem) in _BACKWARD
    outputs = arguments(problem, *problem.outputs)
    if tile.outer_units == 0:
        return []
    if tile.reduce_units == 0:
        return [_zeros(problem, device)]
    defines, block = _defines(layout, backward), (tile.block,)
    parts = tensors("real", _PARTS[backward], _areas(problem, layout)[1])
    saved = arguments(problem, "saved_mean", "saved_inv_variance")
    start = number("int", "first", ConstantArg(np.int32(0)))
    given = [*arguments(problem, "x", "dy"), *saved, *parts, start]
    name = "backward_partial" if backward else "partial"
    partial = device.compile(f"shared/norm/{name}.cl", f"norm_{name}", {**defines, **declare(given)})
    ends = [*parts, *arguments(problem, "saved_inv_variance"), *outputs]
    name = "norm_shares" if backward else "norm_statistics"
    finish = device.compile("shared/norm/statistics.cl", name, {**defines, **declare(ends)})
    return [
        Launch(partial, (tile.groups * tile.slices,), block, bind(given)),
        Launch(finish, (tile.groups,), block, bind(ends)),
    ]


def _zeros(problem: Problem, device: Device) -> Launch:
    outputs = [getattr(problem, name) for name in problem.outputs]
    given = tensors("real", ("first", "second"), [p.arg for p in arguments(problem, *problem.outputs)])
    defines: Defines = {"ZEROS": f"{outputs[0].size}u", "WG": _WG, **storage_defines(problem.tensors[0])}
    defines.update({"FIRST_AT(p)": place(outputs[0]), "SECOND_AT(p)": place(outputs[1])})
    kernel = device.compile("shared/norm/statistics.cl", "norm_zeros", {**defines, **declare(given)})
    return Launch(kernel, (-(-outputs[0].size // _WG),), (_WG,), bind(given))


def _second_half(problem: Problem, layout: Layout, device: Device) -> list[Launch]:
    if not layout.shape.groups:
        return []
    backward = type(problem) in _BACKWARD
    merged = tensors("real", _MERGED[backward], _areas(problem, layout)[1])
    launches = [_merge(problem, layout, _areas(problem, layout)[1], device)]
    tile = layout.tile
    if not (tile.outer_units and tile.reduce_units):
        return launches
    names = ("x", "dy", "scale", "saved_mean", "saved_inv_variance", "dx") if backward else ("x", "scale", "bias", "y")
    given = [*arguments(problem, *names), *merged]
    defines = {**_defines(layout, backward), **declare(given)}
    kernel = device.compile("shared/norm/given.cl", "norm_given", defines)
    return [*launches, Launch(kernel, (tile.groups * tile.slices,), (tile.block,), bind(given))]


def _merge(problem: Problem, layout: Layout, areas: Sequence[Arg], device: Device) -> Launch:
    """Return the launch that merges what the ranks brought."""
    assert isinstance(problem, (BatchNormalizationApply, BatchNormalizationBackwardApply))
    backward, count = isinstance(problem, BatchNormalizationBackwardApply), layout.shape.groups
    defines: Defines = {"PARAMETERS": f"{count}u", "WG": _WG, **storage_defines(problem.x)}
    defines["RANKS"] = f"{problem.counts.dims[0]}u"
    defines["COUNTS_AT(r)"] = f"((r) * {problem.counts.strides[0]}u)"
    for name in (name for name in problem.gathered if name != "counts"):
        spec: TensorSpec = getattr(problem, name)
        defines[f"{name.upper()}_RANK"] = f"{spec.strides[0]}u"
        defines[f"{name.upper()}_AT(p)"] = place(TensorSpec(spec.dtype, spec.dims[1:], spec.strides[1:]))
    others = [name for name in (*problem.outputs[1:], "saved_inv_variance") if name in problem.names]
    for name in others:
        defines[f"{name.upper()}_AT(p)"] = place(getattr(problem, name))
    given = [*arguments(problem, *problem.gathered), *tensors("real", _MERGED[backward], areas)]
    if backward:
        defines.update(SHARES=1, TOTALS=int("dscale" in problem.names))
        given += arguments(problem, "saved_inv_variance", "dscale", "dbias")
        name = "norm_merge_shares"
    else:
        running = "running_mean" in problem.names
        defines.update(RUNNING=int(running), SAVED=int("saved_mean" in problem.names))
        given += [*arguments(problem, *problem.outputs[1:]), *numbers(problem, "epsilon")]
        given += numbers(problem, factor="exponential_average_factor") if running else []
        name = "norm_merge_moments"
    kernel = device.compile("shared/norm/merge.cl", name, {**defines, **declare(given)})
    return Launch(kernel, (-(-count // _WG),), (_WG,), bind(given))


ENGINES = (NormalizationParts(),)
