"""The gradient of a convolution's bias: a reduction over everything but the channels."""

from __future__ import annotations

from portadnn.ops.convolution import ConvolutionBackwardBias
from portadnn.problem import Problem

from ..base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from .tiles import Tile, make_tile, storage_defines

_FILE = "shared/bias_gradient.cl"
_ROUNDS = 4  # as in bias_gradient.cl
_FINISH_GROUP = 64
_CPU_VECTOR = 64  # bytes: a cache line


class BiasGradient(Engine):
    """Two ordered stages; one where there is too little for more than a work-group per channel."""

    name = "reduction"
    problems = (ConvolutionBackwardBias,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        tile = _tile(problem, info)
        return 0 if tile.slices == 1 else tile.parts * problem.dtype.accumulator.itemsize

    def prepare(self, problem: Problem, device: Device) -> Plan:
        launches = _launches(problem, device) if problem.tensors[-1].size else ()
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _tile(problem: Problem, info: DeviceInfo) -> Tile:
    dy = problem.tensors[0]
    if info.schedule == "cpu":
        tile = make_tile((dy,), (1,), _CPU_VECTOR // max(dy.dtype.itemsize, 4)).shared(1, info)
        groups = 8 * info.compute_units
    else:
        tile = make_tile((dy,), (1,), 16 // dy.dtype.itemsize).shared(2 * _ROUNDS, info)
        groups = 16 * info.compute_units
    if 0 in (tile.outer_units, tile.reduce_units):
        return tile
    return tile.sliced(-(-groups // tile.groups), 4 * _ROUNDS)


def _launches(problem: Problem, device: Device) -> tuple[Launch, ...]:
    dy, db = problem.tensors
    tile = _tile(problem, device.info)
    real = problem.dtype.accumulator
    scalars = (ScalarArg(0, real), ScalarArg(1, real))
    defines: dict[str, int | float | str] = {"DB_STRIDE": f"{db.strides[1]}u", "FINISH_GROUP": _FINISH_GROUP}
    defines.update(storage_defines(dy), **tile.defines(("DY",)))
    partial = device.compile(_FILE, "bias_partial", defines)
    grid, block = (tile.groups * tile.slices,), (tile.block,)
    if tile.slices == 1:
        return (Launch(partial, grid, block, (TensorArg(0), TensorArg(1), *scalars)),)
    sums = WorkspaceArg(0, real)
    finish = device.compile(_FILE, "bias_finish", defines)
    channels = -(-db.size // _FINISH_GROUP)
    return (
        Launch(partial, grid, block, (TensorArg(0), sums)),
        Launch(finish, (channels,), (_FINISH_GROUP,), (sums, TensorArg(1), *scalars)),
    )


ENGINES = (BiasGradient(),)
