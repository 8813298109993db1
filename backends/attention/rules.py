"""What attention on devices supports, as rules: each says it in words, and finds the places that break it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from portadnn.graph.data_types import data_type
from portadnn.graph.engine import SupportRule
from portadnn.graph.errors import GraphError
from portadnn.graph.operation_graph import Operation, OperationGraph
from portadnn.graph.rules import fail

from ..base import DeviceInfo
from . import gpu
from .operands import RAGGED_PORTS, SCALAR_PORTS, Operands

if TYPE_CHECKING:
    Broken = Iterator[GraphError]
    Places = Iterator[tuple[str, str, str, str]]

KINDS = ("sdpa", "sdpa_fp8", "sdpa_backward", "sdpa_fp8_backward")
REFERENCE = "create_handle('reference')"
_FLOATS = (data_type.FLOAT, data_type.DOUBLE, data_type.HALF, data_type.BFLOAT16)
_FP8 = (data_type.FP8_E4M3, data_type.FP8_E5M2)
_OF_FLOATS = ("Q", "K", "V", "O", "DO", "BIAS", "STATS", "MAX", "SUM_EXP", "SINK_TOKEN")
_GRADIENTS = ("DQ", "DK", "DV", "DBIAS", "DSINK_TOKEN")


def _kinds(graph: OperationGraph, info: DeviceInfo) -> Broken:
    other = next((op for op in graph.operations if op.kind not in KINDS), graph.operations[-1])
    if other.kind not in KINDS or len(graph.operations) > 1:
        one = f"one node, {' or '.join(KINDS)}"
        yield fail("PG-ENGINE-002", node=other.label, argument="flash_attention", expected=one)


def _rule(id: str, says: str, broken: Callable[[OperationGraph, Operation, DeviceInfo], Places]) -> SupportRule:
    """Return a rule about a graph of one attention; `broken` yields port, what is expected, what came, and a fix."""

    def places(graph: OperationGraph, info: DeviceInfo) -> Broken:
        if next(_kinds(graph, info), None) is None:
            (op,) = graph.operations
            for port, expected, got, fix in broken(graph, op, info):
                tensor = f"{port} = {graph.at(op, port).describe()}"
                yield fail(id, node=op.label, tensor=tensor, expected=expected, got=got, fix=fix)

    return SupportRule(id, says, places)


def _ragged(graph: OperationGraph, op: Operation, info: DeviceInfo) -> Places:
    for port, uid in (*op.inputs, *op.outputs):
        if graph.by_uid[uid].ragged_offset is not None and port not in RAGGED_PORTS:
            yield port, "a tensor with padding", "ragged offsets", f"pad it, or {REFERENCE}"


def _memory(graph: OperationGraph, op: Operation, info: DeviceInfo) -> Places:
    for port, uid in op.inputs:
        if graph.by_uid[uid].by_value and port not in SCALAR_PORTS:
            yield port, "a tensor in memory", "a number passed by value", "set_is_pass_by_value(False)"


def _types(graph: OperationGraph, op: Operation, info: DeviceInfo) -> Places:
    allowed = (*_FLOATS, *_FP8) if "fp8" in op.kind else _FLOATS
    for port in (*_OF_FLOATS, *_GRADIENTS):
        found = graph.at(op, port).data_type if port in op.uids else allowed[0]
        if found not in allowed:
            names = ", ".join(kind.name for kind in allowed)
            yield port, names, found.name, f"set_data_type(data_type.FLOAT), or {REFERENCE}"


def _doubles(graph: OperationGraph, op: Operation, info: DeviceInfo) -> Places:
    if not info.fp64 and op.compute_type is data_type.DOUBLE:
        yield "Q", "a compute type of FLOAT", "DOUBLE", "compute_data_type=data_type.FLOAT"
    for port, uid in (*op.inputs, *op.outputs):
        one = graph.by_uid[uid]
        if one.data_type is data_type.DOUBLE and not (info.fp64 or one.by_value):
            yield port, "a type that the device computes", "DOUBLE", "set_data_type(data_type.FLOAT)"


def _local_memory(graph: OperationGraph, op: Operation, info: DeviceInfo) -> Places:
    if info.schedule == "gpu" and not gpu.tiles(Operands(graph), info):
        room = f"rows of which {info.local_memory} bytes hold eight queries and eight keys"
        yield "Q", room, f"rows of {graph.at(op, 'Q').dims[3]}", f"use FLOAT for computation, or {REFERENCE}"


RULES = (
    SupportRule("PG-ENGINE-002", "the graph is one node of attention", _kinds),
    _rule("PG-ENGINE-004", "ragged offsets are of what is multiplied and of results by rows", _ragged),
    _rule("PG-ENGINE-004", "everything but scalars lies in memory", _memory),
    _rule("PG-ENGINE-003", "floats of 16, 32 or 64 bits, and of 8 bits in the FP8 nodes", _types),
    _rule("PG-ENGINE-003", "DOUBLE where the device has it", _doubles),
    _rule("PG-ENGINE-004", "local memory holds a small tile of queries, keys and values", _local_memory),
)
