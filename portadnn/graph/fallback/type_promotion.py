"""Nodes of several types as nodes of one type, with conversions before and after: what kernels of one type compute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .. import layout
from ..data_types import data_type
from ..enums import pointwise_mode
from ..node import KINDS
from ..operation_graph import Operation, OperationGraph, TensorInfo

_COMPUTE = {  # in what is computed where the compute type is another
    data_type.FLOAT: data_type.FLOAT,
    data_type.HALF: data_type.FLOAT,
    data_type.BFLOAT16: data_type.FLOAT,
    data_type.FAST_FLOAT_FOR_FP8: data_type.FLOAT,
    data_type.DOUBLE: data_type.DOUBLE,
    data_type.INT32: data_type.DOUBLE,
    data_type.NOT_SET: data_type.FLOAT,
}


@dataclass
class Widened:
    """A node with its conversions: operations one after another, and the tensors that are new."""

    operations: list[Operation] = field(default_factory=list)
    tensors: list[TensorInfo] = field(default_factory=list)


def wide_type(graph: OperationGraph, operation: Operation) -> data_type | None:
    """Return the type that a node can be computed in without loss; None where there is none.

    It holds every number of the inputs, and is that of computations.
    """
    wide = _COMPUTE.get(operation.compute_type)
    types = {graph.by_uid[uid].data_type for uid in operation.uids.values()}
    if wide is data_type.FLOAT and types & {data_type.DOUBLE, data_type.INT32}:
        wide = data_type.DOUBLE
    return wide if wide is not None and all(map(wide.holds, types)) else None


def widened(graph: OperationGraph, operation: Operation, first_uid: int) -> Widened | None:
    """Return a node in its wide type between conversions, with new tensors from a uid on; None where nothing changes.

    The node's results are rounded once, to the types of its outputs.
    """
    wide = wide_type(graph, operation)
    uids = iter(range(first_uid, first_uid + len(operation.uids)))
    made = Widened()
    if wide is None or any(graph.by_uid[uid].ragged_offset is not None for uid in operation.uids.values()):
        return None  # conversions know of no sequences without padding
    places = {uid: _wide_place(graph.by_uid[uid], wide, uids, made) for _, uid in operation.inputs + operation.outputs}
    if not made.tensors:
        return None
    for uid in dict.fromkeys(uid for _, uid in operation.inputs):
        if places[uid] != uid:
            made.operations.append(_conversion(operation, uid, places[uid], wide))
    compute = data_type.NOT_SET if operation.compute_type is data_type.NOT_SET else wide
    inputs, outputs = (
        tuple((port, places[uid]) for port, uid in ports) for ports in (operation.inputs, operation.outputs)
    )
    made.operations.append(replace(operation, inputs=inputs, outputs=outputs, compute_type=compute))
    for _, uid in operation.outputs:
        if places[uid] != uid:
            made.operations.append(_conversion(operation, places[uid], uid, wide))
    return made


def _wide_place(info: TensorInfo, wide: data_type, uids: Iterator[int], made: Widened) -> int:
    """Return the uid of the tensor that has another one's numbers in the wide type: itself, or a new one."""
    if info.by_value or info.data_type is wide:
        return info.uid
    known = next((one.uid for one in made.tensors if one.name == f"{info.name}::{info.uid}"), None)
    if known is not None:
        return known
    name, strides = f"{info.name}::{info.uid}", layout.like(info.dims, info.dims, info.strides)
    new = replace(info, uid=next(uids), name=name, data_type=wide, virtual=True, strides=strides)
    made.tensors.append(new)
    return new.uid


def _conversion(operation: Operation, source: int, target: int, compute: data_type) -> Operation:
    """Return the node that copies a tensor into one of another type."""
    values = {attribute.name: attribute.default for attribute in KINDS["pointwise"].attributes}
    values["mode"] = pointwise_mode.IDENTITY
    name = f"{operation.name}::{source}->{target}"
    return Operation("pointwise", name, (("IN_0", source),), (("OUT_0", target),), tuple(values.items()), compute)
