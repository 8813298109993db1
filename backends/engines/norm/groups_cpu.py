"""Group normalisation on CPUs where channels lie side by side in groups too narrow for vectors: channels as columns."""

from __future__ import annotations

from dataclasses import replace

from portadnn.ops.normalization import NormalizationForward, NormMode
from portadnn.problem import Problem

from ...base import Arg, Device, DeviceInfo, Engine, Launch, Plan, roofline
from ...parameters import Parameter, bind, declare, tensors
from ..tiles import storage_defines
from .cpu import Way, in_slices, lanes_of, moments_of
from .gpu import SAVED
from .layout import Defines, make_layout, shape_of
from .parameters import Workspace, arguments, numbers

_NARROW = 16  # numbers: a cache line of float32


def _cut(problem: NormalizationForward, info: DeviceInfo) -> Way | None:
    """Return the problem cut as columns of channels, or None where they do not lie so."""
    shape = shape_of(problem)
    columns = replace(shape, kept=(0, 1, 2), others={})
    layout = make_layout(columns, info, vectors=False)
    tile = layout.tile
    if tile.along_reduce or 0 in (tile.outer_units, tile.reduce_units):
        return None
    channels = tile.outer[-1]
    if channels.size != problem.x.dims[1] or any(stride != 1 for stride in channels.strides[-len(shape.data) :]):
        return None
    width = lanes_of(channels.size, problem.dtype.accumulator.itemsize, info)
    return in_slices(problem, Way(layout, width, False, 1, tile.reduce_units), info)


def _areas(problem: Problem, way: Way) -> tuple[Workspace, list[Arg], list[Arg]]:
    """Return the workspace, parts of moments, and what every channel needs."""
    space, kept = Workspace(problem), way.layout.shape.groups
    moments: list[Arg] = [space.take((way.slices + 1) * kept), space.take(way.slices * kept)]
    return space, moments, [space.take(kept) for _ in range(3)]


class CpuGroups(Engine):
    """Narrow groups of channels that lie side by side, forward."""

    name = "group_normalization_cpu"
    problems = (NormalizationForward,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Take narrow groups of neighbouring channels."""
        assert isinstance(problem, NormalizationForward)
        if info.schedule != "cpu" or info.backend != "opencl":
            return "it is for CPUs"
        if problem.mode is not NormMode.GROUP_NORM or not 1 < problem.x.dims[1] // problem.groups < _NARROW:
            return f"it is for groups of 2 to {_NARROW - 1} channels"
        return None if _cut(problem, info) else "channels do not lie side by side"

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Return less than the engine of lines does."""
        return roofline(problem, info, 0.9)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, NormalizationForward)
        way = _cut(problem, info)
        assert way is not None
        return _areas(problem, way)[0].size

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Bake in the columns and where parameters lie."""
        assert isinstance(problem, NormalizationForward)
        way = _cut(problem, device.info)
        assert way is not None
        space, moments, channels = _areas(problem, way)
        defines: Defines = {**way.defines(), **storage_defines(problem.x)}
        merge: Defines = {**defines, "GROUPS": f"{problem.groups}u", "EACH": f"{problem.x.dims[1] // problem.groups}u"}
        merge["COUNT"] = f"{problem.count}u"
        for name, spec in (("SCALE", problem.scale), ("BIAS", problem.bias)):
            merge[f"HAS_{name}"] = int(spec is not None)
            if spec is not None:
                merge[f"{name}_STRIDE"] = f"{spec.strides[1]}u"
        if problem.saved_mean is not None and problem.saved_inv_variance is not None:
            merge["HAS_SAVED"] = 1
            for name, spec in (("MEAN", problem.saved_mean), ("INV_VARIANCE", problem.saved_inv_variance)):
                merge[f"SAVED_{name}_AT(n, g)"] = f"((n) * {spec.strides[0]}u + (g) * {spec.strides[1]}u)"
        of_channels = ("pivots", "gains", "shifts")
        joined = [
            *tensors("real", ("means", "squares"), moments),
            *arguments(problem, "scale", "bias", *SAVED),
            *tensors("real", of_channels, channels),
            *numbers(problem, "epsilon"),
        ]
        given = [
            *arguments(problem, "x", "y"),
            *tensors("real", [f"all_{name}" for name in of_channels], channels),
            *numbers(problem, "alpha", "beta"),
        ]
        of_partial = [*arguments(problem, "x"), *moments_of(way, moments)]
        columns, groups = "opencl/norm/columns_cpu.cl", problem.x.dims[0] * problem.groups

        def made(file: str, name: str, defines: Defines, parameters: list[Parameter], count: int) -> Launch:
            kernel = device.compile(file, name, {**defines, **declare(parameters)})
            return Launch(kernel, (count,), (1,), bind(parameters))

        launches = (
            made(columns, "norm_columns_partial", {**defines, "PARTIAL": 1}, of_partial, way.groups),
            made("opencl/norm/groups_cpu.cl", "norm_groups", merge, joined, groups),
            made(columns, "norm_columns_given", {**defines, "GIVEN": 1}, given, way.groups),
        )
        return Plan(problem, self, space.size, device.bind(launches), launches)


ENGINES = (CpuGroups(),)
