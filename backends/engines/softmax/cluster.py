"""Softmax of long contiguous rows on clusters of work-groups, which newer NVIDIA GPUs have."""

from __future__ import annotations

from portadnn.enums import SoftmaxMode
from portadnn.ops.softmax import SoftmaxForward
from portadnn.problem import Problem

from ...base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from ..layouts import offset_expression, place_defines
from ..tiles import Tile, make_tile, storage_defines

CLUSTERS = (2, 4, 8)  # groups; 8 are the most that every device with clusters grants
GROUP = 256
RESIDENT = 3  # groups on a multiprocessor, which leave a work-item 80 registers
REGISTERS = 56  # of these for the row
PARKED = 176  # bytes of a work-item in local memory: 44 KB a group
SHORTEST = 32 * 1024  # shorter rows fit one work-group


def _tile(problem: SoftmaxForward, info: DeviceInfo) -> Tile:
    spatial = range(2, len(problem.x.dims))
    kept_axes = (0,) if problem.mode is SoftmaxMode.INSTANCE else (0, *spatial)
    return make_tile((problem.x, problem.y), kept_axes, info)


def _most(problem: SoftmaxForward, tile: Tile) -> tuple[int, int]:
    """Return the most vectors that a work-item keeps in local memory, and in registers."""
    dtype = problem.dtype
    return PARKED // (tile.width * dtype.itemsize), REGISTERS * 4 // (tile.width * dtype.accumulator.itemsize)


def _cluster(problem: SoftmaxForward, tile: Tile, info: DeviceInfo) -> int:
    """Return the cluster with which the busiest multiprocessor has the least to do; among equals the smallest."""

    def share(cluster: int) -> float:
        groups = tile.outer_units * cluster
        at_once = info.compute_units * (RESIDENT if groups > info.compute_units * RESIDENT else 1)
        return -(-groups // at_once) * (at_once // info.compute_units) / cluster

    fitting = [c for c in CLUSTERS if tile.reduce_units <= c * GROUP * sum(_most(problem, tile))]
    return min(fitting, key=share)


class ClusterSoftmax(Engine):
    """Forward softmax whose rows stay in the registers of a cluster."""

    name = "softmax_cluster"
    wide = True
    problems = (SoftmaxForward,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Take long contiguous rows."""
        assert isinstance(problem, SoftmaxForward)
        if "clusters" not in info.features or info.schedule != "gpu":
            return "the device has no clusters of work-groups"
        tile = _tile(problem, info)
        if not tile.along_reduce or len(tile.reduce) != 1 or tile.reduce[0].strides != (tile.width,) * 2:
            return "its rows are not contiguous"
        row = tile.reduce_units * tile.width
        if row <= SHORTEST:
            return f"rows of {row} fit one work-group"
        longest = CLUSTERS[-1] * GROUP * sum(_most(problem, tile)) * tile.width
        return f"rows of {row} exceed the {longest} that a cluster keeps" if row > longest else None

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Bake in the row and how much of it a work-item keeps."""
        assert isinstance(problem, SoftmaxForward)
        tile = _tile(problem, device.info)
        cluster = _cluster(problem, tile, device.info)
        rounds = -(-tile.reduce_units // (cluster * GROUP))
        kept = min(_most(problem, tile)[1], rounds)  # what is parked costs its exponentials twice
        defines: dict[str, int | float | str] = {
            **storage_defines(problem.x),
            **place_defines(problem),
            "VW": tile.width,
            "VECTORS": f"{tile.reduce_units}u",
            "ALGORITHM": problem.algorithm.name,
            "ROWS_X(i)": offset_expression(tile.outer, 0, "i"),
            "ROWS_Y(i)": offset_expression(tile.outer, 1, "i"),
            "CLUSTER": cluster,
            "WG": GROUP,
            "RESIDENT": RESIDENT,
            "PARKED": rounds - kept,
            "KEPT": kept,
        }
        if tile.aligned:
            defines["VECTOR_ALIGNED"] = 1
        kernel = device.compile("cuda/softmax/cluster.cu", "softmax_cluster", defines)
        real = problem.dtype.accumulator
        args = (TensorArg(0), TensorArg(1), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (tile.outer_units * cluster,), (GROUP,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (ClusterSoftmax(),)
