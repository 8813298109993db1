"""What a graph costs at least: the cost model behind ``heur_mode.A``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .data_types import data_type
from .operation_graph import Operation, OperationGraph

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo

LAUNCH_SECONDS = 5e-6
SHARE = 0.5  # of a device's limits that kernels reach


def flops(graph: OperationGraph, operation: Operation) -> float:
    """Return the operations on numbers of a node: two for each product that is summed, else one for each element."""
    if operation.kind == "matmul":
        return 2.0 * graph.at(operation, "C").size * graph.at(operation, "A").dims[-1]
    if operation.kind.startswith("sdpa"):
        return _attention(graph, operation)
    ports = {"conv_fprop": ("Y", "W"), "conv_dgrad": ("DY", "W"), "conv_wgrad": ("DY", "DW")}.get(operation.kind)
    if ports is not None:  # the side of the result, and the filters
        result, filters = (graph.at(operation, port) for port in ports)
        return 2.0 * result.size * math.prod(filters.dims[1:])
    return float(max(graph.by_uid[uid].size for uid in operation.uids.values()))


def _attention(graph: OperationGraph, operation: Operation) -> float:
    """Return the operations of attention's products: two forward, five backward; half of them in a triangle."""
    q, k, v = (graph.at(operation, port).dims for port in "QKV")
    products = 2 * q[3] + v[3] * 2 if "O" in dict(operation.outputs) else 6 * q[3] + 4 * v[3]
    share = 1.0 if operation["right_bound"] is None else 0.5
    return share * float(products * q[0] * q[1] * q[2] * k[2])


def moved(graph: OperationGraph) -> int:
    """Return the bytes of all tensors that are not virtual, which have to be read or written once."""
    return sum(info.size * info.data_type.itemsize for info in graph.tensors if not info.virtual and not info.by_value)


def estimate(graph: OperationGraph, info: DeviceInfo, launches: int = 1) -> float:
    """Return the seconds that a graph takes where nothing virtual leaves the chip."""
    double = any(operation.compute_type is data_type.DOUBLE for operation in graph.operations)
    rate = info.flops / 2 if double else info.flops
    total = sum(flops(graph, operation) for operation in graph.operations)
    return max(total / rate, moved(graph) / info.bandwidth) / SHARE + launches * LAUNCH_SECONDS
