"""Normalisations, forward and backward: rows kept in registers where they fit, else launches over slices of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from portadnn.ops.batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)
from portadnn.ops.normalization import NormalizationBackward, NormalizationForward
from portadnn.problem import ALIGNMENT, Problem

from ...base import Arg, ConstantArg, CountersArg, Device, DeviceInfo, Engine, Launch, Plan
from ...parameters import Parameter, bind, declare, number, tensor, tensors
from ..layouts import coalesce, in_runs, offset_expression
from ..pieces import PIECE_COUNTERS, shares_pieces
from ..tiles import GROUP, Tile, storage_defines, vector_lanes
from . import parameters as norm_parameters
from .layout import Defines, Layout, make_layout, shape_of
from .parameters import (
    ROUNDS,
    ParameterSums,
    Workspace,
    arguments,
    by_image,
    by_kernel,
    most_slices,
    numbers,
    parts_of,
    sliced,
    statistics,
)

PROBLEMS = (
    BatchNormalizationForwardTraining,
    BatchNormalizationForwardInference,
    BatchNormalizationBackward,
    NormalizationForward,
    NormalizationBackward,
)
SAVED = ("saved_mean", "saved_inv_variance")
RUNNING = ("running_mean", "running_variance")
_MOMENTS = ("means", "squares", "pivots")
_KEPT = 32  # numbers of a row that one GPU work-item keeps: more would cost occupancy
_KEPT_CPU = 32768  # bytes of a row that a CPU work-item keeps in its array
_SLICED_GROUP = 256  # work-items of a group that treats a slice
_JOINT = 48 << 20  # bytes of tensors that one launch goes through twice, because another one would cost more
_JOINT_GROUPS = 4  # its work-groups for each multiprocessor; every one adds up all slices of its row
_CHUNK = 24 << 20  # bytes that both launches of the sliced way treat at a time, so that the second finds them cached
_CHUNK_CPU = 1 << 20
_MOST_CHUNKS = 32


def is_backward(problem: Problem) -> bool:
    """Tell whether the problem is a gradient."""
    return isinstance(problem, (BatchNormalizationBackward, NormalizationBackward))


def is_inference(problem: Problem) -> bool:
    """Tell whether the problem brings its statistics."""
    return isinstance(problem, BatchNormalizationForwardInference)


@dataclass(frozen=True)
class _Way:
    """How a problem is launched: `kept` vectors per work-item, or 0 for slices, in `chunks` or one `joint` launch."""

    layout: Layout
    kept: int
    chunks: int = 1
    joint: bool = False

    @property
    def tile(self) -> Tile:
        return self.layout.tile

    @property
    def chunk(self) -> int:
        """Tiles of a chunk."""
        return -(-self.tile.groups // self.chunks)


@dataclass
class _Areas:
    """The workspace: parts of moments (means, squares, pivots), statistics (pivots, rests, inverses), parts of sums.

    `parts` are those of parameters' gradients; `stats_layout` is how launches of their own make statistics.
    """

    space: Workspace
    moments: list[Arg] = field(default_factory=list)
    stats: list[Arg] = field(default_factory=list)
    sums: list[Arg] = field(default_factory=list)
    parts: list[Arg] = field(default_factory=list)
    stats_layout: Layout | None = None


class Normalization(Engine):
    """All modes and layouts."""

    name = "normalization"
    problems = PROBLEMS

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        return _areas(problem, _way(problem, info), info).space.size

    def prepare(self, problem: Problem, device: Device) -> Plan:
        launches = _launches(problem, device)
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _way(problem: Problem, info: DeviceInfo) -> _Way:
    layout = make_layout(shape_of(problem), info)
    tile = layout.tile
    cpu = info.schedule == "cpu"
    if is_inference(problem):
        tile = tile.shared(2 * ROUNDS, info)
        return _Way(layout.with_tile(sliced(tile, tile.groups, info)), 0)
    backward = is_backward(problem)
    real = problem.dtype.accumulator.itemsize
    budget = (_KEPT_CPU if cpu else _KEPT * 4) // (real * tile.width * (2 if backward else 1))
    if 0 in (tile.outer_units, tile.reduce_units):
        return _Way(layout.with_tile(tile.shared(1, info)), 1)
    rounds = ROUNDS if tile.along_reduce else 2 * ROUNDS
    shared = tile.shared(min(rounds, max(budget, 1)), info, 1024)
    kept = -(-tile.reduce_units // shared.sharing)
    if kept <= budget:
        return _Way(layout.with_tile(shared), kept)
    tile = tile.shared(2 * ROUNDS, info, _SLICED_GROUP)
    joint = _joint_tile(problem, tile, info)
    if joint is not None:
        return _Way(layout.with_tile(joint), 0, joint=True)
    chunks = 1
    if not backward and (tile.along_reduce or cpu):  # neighbouring columns share lines of memory
        nbytes = layout.shape.data["X"].nbytes
        chunks = min(-(-nbytes // (_CHUNK_CPU if cpu else _CHUNK)), _MOST_CHUNKS, tile.groups)
    groups = -(-tile.groups // chunks)
    itemsize = layout.shape.data["X"].dtype.itemsize
    return _Way(layout.with_tile(sliced(tile, groups, info, itemsize)), 0, chunks)


def _joint_tile(problem: Problem, tile: Tile, info: DeviceInfo) -> Tile | None:
    """Return the slices of one launch, whose work-groups wait for each other; None where two launches are better."""
    most = _JOINT_GROUPS * info.compute_units
    if info.schedule == "cpu" or not shares_pieces(info) or problem.bytes() > _JOINT or not 0 < tile.groups <= most:
        return None
    itemsize = problem.tensors[0].dtype.itemsize
    slices = min(most // tile.groups, most_slices(tile, tile.groups, info, itemsize))
    tile = tile.sliced(slices, 2 * ROUNDS)
    return tile if tile.slices > 1 else None


def _areas(problem: Problem, way: _Way, info: DeviceInfo) -> _Areas:
    found = _Areas(Workspace(problem))
    take = found.space.take
    if is_inference(problem):
        return found
    backward, saved = is_backward(problem), SAVED[1] in problem.names
    if (not way.kept or by_kernel(problem)) and not (backward and saved):
        layout = way.layout
        if way.kept:  # statistics before the kernel that makes dx, which may overwrite dy
            tile = make_layout(layout.shape, info).tile.shared(2 * ROUNDS, info)
            itemsize = layout.shape.data["X"].dtype.itemsize
            layout = layout.with_tile(sliced(tile, max(tile.groups, 1), info, itemsize))
        found.stats_layout = layout
        tile = layout.tile
        found.moments = [take(tile.parts), take(tile.parts), take(tile.parts // tile.slices)]
        if backward:
            found.stats = [take(layout.shape.groups) for _ in range(3)]
    if backward and not way.kept:
        found.sums = [take(way.tile.parts), take(way.tile.parts)]
    if by_image(problem):
        assert isinstance(problem, NormalizationBackward) and problem.dscale is not None
        found.parts = [take(problem.x.dims[0] * problem.dscale.size) for _ in range(2)]
    elif by_kernel(problem):
        assert isinstance(problem, NormalizationBackward)
        parts = ParameterSums.of(problem, info).parts
        found.parts = [take(parts), take(parts)] if parts else []
    return found


def _launches(problem: Problem, device: Device) -> tuple[Launch, ...]:
    way = _way(problem, device.info)
    defines: Defines = {**way.layout.defines(), **storage_defines(way.layout.shape.data["X"])}
    if is_backward(problem):
        return tuple(_gradients(problem, way, defines, device))
    if way.tile.outer_units == 0:
        return ()
    if is_inference(problem):
        return _inference(problem, way, defines, device) if way.tile.reduce_units else ()
    return _training(problem, way, defines, device)


def _inference(problem: Problem, way: _Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    given = [*arguments(problem, *problem.names), *numbers(problem, "alpha", "beta", "epsilon")]
    runs = inference_runs(way.layout, device.info)
    if runs is not None:
        size = problem.tensors[0].size
        given.append(number("u32", "n", ConstantArg(np.uint32(size))))
        runs.update(storage_defines(problem.tensors[0]))
        kernel = device.compile("shared/norm/runs.cl", "norm_runs", {**runs, **declare(given)})
        groups = -(-size // (GROUP * ROUNDS * int(runs["VW"])))
        return (Launch(kernel, (groups,), (GROUP,), bind(given)),)
    kernel = device.compile("shared/norm/inference.cl", "norm_inference", {**defines, **declare(given)})
    tile = way.tile
    return (Launch(kernel, (tile.groups * tile.slices,), (tile.block,), bind(given)),)


def inference_runs(layout: Layout, info: DeviceInfo) -> Defines | None:
    """Return the defines of flat tensors whose channels' planes are no multiple of a vector; None of other layouts."""
    data, others = layout.shape.data, layout.shape.others
    if not layout.narrow or any(spec.alignment < ALIGNMENT for spec in data.values()):
        return None
    width = vector_lanes(data["X"].dtype, info)
    axes = coalesce(layout.shape.dims, [*others.values(), *data.values()])
    if not in_runs(axes, range(len(others), len(others) + len(data)), width):
        return None
    defines: Defines = {"ROUNDS": ROUNDS, "VW": width, "VECTOR_ALIGNED": 1, "WG": GROUP, "RUN": f"{axes[-1].size}u"}
    for i, name in enumerate(others):
        defines[f"{name}_RUN(r)"] = offset_expression(axes[:-1], i)
        defines[f"{name}_TYPE"] = layout.shape.type_of(name)
    return defines


def forward_arguments(problem: Problem) -> tuple[list[Parameter], list[Parameter], Defines]:
    """Return tensors and numbers of a forward kernel, and the defines of ``norm/forward.h`` that tell of them."""
    running = arguments(problem, *RUNNING)
    saved = arguments(problem, *SAVED)
    defines: Defines = {
        "RUNNING": "UPDATED" if running else "NONE",
        "SAVED": ("NONE", "INVERSE", "BOTH")[len(saved)],
    }
    blends = numbers(problem, "alpha", "beta", "epsilon")
    if running:
        blends += numbers(problem, factor="exponential_average_factor")
    return arguments(problem, "x", "scale", "bias", "y") + running + saved, blends, defines


@dataclass(frozen=True)
class BackwardArguments:
    """The parameters of backward kernels, and the defines of ``norm/backward.h`` that tell of them.

    The gradients of parameters, or `parts` of them, are among the outputs where they are by-products.
    """

    inputs: list[Parameter]
    known: list[Parameter]
    outputs: list[Parameter]
    blends: list[Parameter]
    defines: Defines

    @classmethod
    def of(cls, problem: Problem, stats: Sequence[Arg], parts: Sequence[Arg]) -> BackwardArguments:
        """Return those of a problem with such arguments in the workspace."""
        where, known = statistics(problem, stats)
        outputs, gradients = arguments(problem, "dx"), "NONE"
        blends = numbers(problem, alpha="alpha_data_diff", beta="beta_data_diff")
        if isinstance(problem, BatchNormalizationBackward):
            gradients = "BLENDED"
            outputs += arguments(problem, "dscale", "dbias")
            blends += numbers(problem, alpha_param="alpha_param_diff", beta_param="beta_param_diff")
        elif parts:
            gradients = "PARTS"
            outputs += parts_of(parts)
        count = f"{max(shape_of(problem).count, 1)}u"  # sums over nothing are 0, not 0 / 0
        defines: Defines = {"COUNT": count, "STATS": where, "GRADIENTS": gradients}
        return cls(arguments(problem, "x", "dy", "scale"), known, outputs, blends, defines)


def _training(problem: Problem, way: _Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    given, blends, more = forward_arguments(problem)
    defines.update(more)
    tile = way.tile
    if way.kept:
        given += blends
        kernel = device.compile("shared/norm/forward.cl", "norm_forward", {**defines, "K": way.kept, **declare(given)})
        return (Launch(kernel, (tile.groups,), (tile.block,), bind(given)),)
    moments = tensors("real", _MOMENTS, _areas(problem, way, device.info).moments)
    if way.joint:
        counters = tensor("int", "counters", CountersArg(tile.groups * PIECE_COUNTERS))
        given += [*moments, counters, *blends]
        defines["PIECE_COUNTERS"] = PIECE_COUNTERS
        kernel = device.compile("shared/norm/joint.cl", "norm_joint", {**defines, **declare(given)})
        return (Launch(kernel, (tile.groups * tile.slices,), (tile.block,), bind(given)),)
    launches = []
    for first in range(0, tile.groups, way.chunk):
        grid, block = (min(way.chunk, tile.groups - first) * tile.slices,), (tile.block,)
        start = number("int", "first", ConstantArg(np.int32(first)))
        of_partial = [*arguments(problem, "x"), *moments, start]
        of_apply = [*given, *moments, start, *blends]
        if first == 0:
            partial = device.compile("shared/norm/partial.cl", "norm_partial", {**defines, **declare(of_partial)})
            apply = device.compile("shared/norm/apply.cl", "norm_apply", {**defines, **declare(of_apply)})
        launches += [Launch(partial, grid, block, bind(of_partial)), Launch(apply, grid, block, bind(of_apply))]
    return tuple(launches)


def _statistics(problem: Problem, areas: _Areas, device: Device) -> list[Launch]:
    """Return the launches that make statistics of x."""
    layout = areas.stats_layout
    assert layout is not None
    tile = layout.tile
    count = f"{max(layout.shape.count, 1)}u"
    defines: Defines = {**layout.defines(), **storage_defines(layout.shape.data["X"]), "COUNT": count}
    moments, (_, stats) = tensors("real", _MOMENTS, areas.moments), statistics(problem, areas.stats)
    start, block = number("int", "first", ConstantArg(np.int32(0))), (tile.block,)
    given = [*arguments(problem, "x"), *moments, start]
    partial = device.compile("shared/norm/partial.cl", "norm_partial", {**defines, **declare(given)})
    ends = [*moments, *stats, start, *numbers(problem, "epsilon")]
    finish = device.compile("shared/norm/moments.cl", "norm_moments", {**defines, **declare(ends)})
    return [
        Launch(partial, (tile.groups * tile.slices,), block, bind(given)),
        Launch(finish, (tile.groups,), block, bind(ends)),
    ]


def _gradients(problem: Problem, way: _Way, defines: Defines, device: Device) -> list[Launch]:
    areas = _areas(problem, way, device.info)
    launches: list[Launch] = []
    if areas.stats and way.tile.outer_units and way.tile.reduce_units:
        launches += _statistics(problem, areas, device)
    if by_kernel(problem):  # before dx, which may be dy
        assert isinstance(problem, NormalizationBackward)
        sums = ParameterSums.of(problem, device.info)
        launches += norm_parameters.launches(problem, areas.stats, areas.parts, device, sums)
    if way.tile.outer_units:
        launches += _data_gradient(problem, way, defines, areas, device)
    if by_image(problem):
        assert isinstance(problem, NormalizationBackward)
        launches += norm_parameters.finish_images(problem, areas.parts, problem.x.dims[0], device)
    return launches


def _data_gradient(problem: Problem, way: _Way, defines: Defines, areas: _Areas, device: Device) -> list[Launch]:
    """Return the launches that make dx, and the parameters' gradients or their parts where these are by-products."""
    of = BackwardArguments.of(problem, areas.stats, areas.parts if by_image(problem) else ())
    defines.update(of.defines)
    tile, block = way.tile, (way.tile.block,)
    if way.kept:
        given = [*of.inputs, *of.known, *of.outputs, *of.blends, *numbers(problem, "epsilon")]
        kept: Defines = {**defines, "K": way.kept, **declare(given)}
        kernel = device.compile("shared/norm/backward.cl", "norm_backward", kept)
        return [Launch(kernel, (tile.groups,), block, bind(given))]
    grid, sums = (tile.groups * tile.slices,), tensors("real", ("sums", "products"), areas.sums)
    if way.joint:
        counters = tensor("int", "counters", CountersArg(tile.groups * PIECE_COUNTERS))
        given = [*of.inputs, *of.known, *of.outputs, *sums, counters, *of.blends]
        joint: Defines = {**defines, "PIECE_COUNTERS": PIECE_COUNTERS, **declare(given)}
        return [
            Launch(
                device.compile("shared/norm/backward_joint.cl", "norm_backward_joint", joint), grid, block, bind(given)
            )
        ]
    start = number("int", "first", ConstantArg(np.int32(0)))
    given = [*of.inputs, *of.known, *sums, start]
    add = device.compile("shared/norm/backward_partial.cl", "norm_backward_partial", {**defines, **declare(given)})
    ends = [*of.inputs, *of.known, *of.outputs, *sums, start, *of.blends]
    apply = device.compile("shared/norm/backward_apply.cl", "norm_backward_apply", {**defines, **declare(ends)})
    return [Launch(add, grid, block, bind(given)), Launch(apply, grid, block, bind(ends))]


ENGINES = (Normalization(),)
