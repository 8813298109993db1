"""Whether the results of a graph share memory with its other tensors, and where they may."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..operation_graph import OperationGraph, TensorInfo
from ..rules import fail
from . import ragged

Array = npt.NDArray[Any]
Hosts = Mapping[int, tuple[TensorInfo, Array]]


def in_place(graph: OperationGraph, hosts: Hosts) -> set[int]:
    """Return the results that lie on inputs and have to be computed elsewhere, since they may be read again.

    Parameters
    ----------
    hosts
        The tensors in host memory and their arrays, by uid; of one dim for ragged ones.

    Raises
    ------
    InvalidVariantPack
        A result lies on another tensor, and is no pointwise function of it (PG-PACK-010).
    """
    aside = set()
    for info, array in hosts.values():
        if info.uid not in graph.results:
            continue
        for other, memory in hosts.values():
            if other.uid == info.uid or not np.may_share_memory(array, memory):
                continue
            same_place = array.ctypes.data == memory.ctypes.data and info.steps == other.steps
            if same_place and other.uid not in graph.results:
                if _alone(graph) or _runs_on(graph, other.uid, info.uid):
                    continue
                if info.dims == other.dims and _pointwise(graph, other.uid, info.uid):
                    aside.add(info.uid)
                    continue
            if _share(hosts, info.uid, other.uid):
                raise fail(
                    "PG-PACK-010",
                    tensor=info.describe(),
                    expected=f"memory of its own, apart from {other.describe()}",
                    got="shared memory",
                    fix="pass another buffer",
                )
    return aside


def _alone(graph: OperationGraph) -> bool:
    """Tell whether a graph may work in place: one node that reads each element where it writes it."""
    return len(graph.operations) == 1 and graph.operations[0].kind != "transpose"


def _runs_on(graph: OperationGraph, old: int, new: int) -> bool:
    """Tell whether a tensor is a running statistic that one operation reads, to make another of it."""
    readers = [(op, port) for op in graph.operations for port, uid in op.inputs if uid == old]
    if len(readers) != 1 or not readers[0][1].startswith("PREV_RUNNING_"):
        return False
    operation, port = readers[0]
    return operation.uids.get(port.replace("PREV", "NEXT")) == new


def _pointwise(graph: OperationGraph, source: int, result: int) -> bool:
    """Tell whether all that leads from a tensor to a result are pointwise nodes."""
    needed, between = {result}, []
    for operation in reversed(graph.operations):
        if not needed.isdisjoint(uid for _, uid in operation.outputs):
            needed.update(uid for _, uid in operation.inputs)
            between.append(operation)
    reached = {source}
    for operation in reversed(between):
        if not reached.isdisjoint(uid for _, uid in operation.inputs):
            if operation.kind != "pointwise":
                return False
            reached.update(uid for _, uid in operation.outputs)
    return True


def _share(hosts: Hosts, one: int, other: int) -> bool:
    """Tell whether two tensors have an element's memory in common."""
    first, second = _runs(hosts, one), _runs(hosts, other)
    if first is None or second is None:
        return False
    (begins, length), (others, size) = first, second
    others = np.sort(others)
    place = np.searchsorted(others, begins)
    behind = others[np.minimum(place, len(others) - 1)]
    before = others[np.maximum(place - 1, 0)]
    on_next = (place < len(others)) & (behind < begins + length)
    return bool((on_next | ((place > 0) & (before + size > begins))).any())


def _runs(hosts: Hosts, uid: int) -> tuple[Array, int] | None:
    """Return where the contiguous runs of a tensor's elements begin, and their bytes; None where nobody can say."""
    info, array = hosts[uid]
    size = info.data_type.itemsize
    axis = next((axis for axis, step in enumerate(info.strides) if step == 1), None)
    dims = tuple(1 if one == axis else count for one, count in enumerate(info.dims))
    length = size * (1 if axis is None else info.dims[axis])
    if info.ragged_offset is None:
        steps = zip(np.ogrid[tuple(map(slice, dims))], info.strides, strict=True)
        where = sum((index * step for index, step in steps), np.int64(0))
    elif info.ragged_offset in hosts:
        places, there = ragged.places(replace(info, dims=dims), hosts[info.ragged_offset][1], array.size)
        where = places[there]
    else:
        return None
    begins = array.ctypes.data + size * np.asarray(where, np.int64).ravel()
    return (begins, length) if begins.size else None
