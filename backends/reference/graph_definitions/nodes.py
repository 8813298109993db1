"""Graphs by definition: node by node in NumPy and float64, and rounded to each tensor's type between nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.engine import GraphEngine, GraphPlan
from portadnn.graph.enums import numerical_note
from portadnn.graph.errors import GraphError
from portadnn.graph.knobs import Knobs
from portadnn.graph.memory import coded, ragged
from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo
from portadnn.graph.rules import fail

from ...base import Device, DeviceInfo, Run
from . import attention as reference_graph_attention
from . import attention_fp8 as reference_graph_attention_fp8
from . import block_scale as reference_graph_block_scale
from . import layout as reference_graph_layout
from . import norm as reference_graph_norm
from . import pointwise as reference_graph_pointwise
from . import products as reference_graph_products
from . import resample as reference_graph_resample
from . import rows as reference_graph_rows

Array = npt.NDArray[Any]
Definition = Callable[[OperationGraph, Operation, Mapping[str, Array]], Mapping[str, Any]]

DEFINITIONS: dict[str, Definition] = {
    **reference_graph_attention.DEFINITIONS,
    **reference_graph_attention_fp8.DEFINITIONS,
    **reference_graph_block_scale.DEFINITIONS,
    **reference_graph_layout.DEFINITIONS,
    **reference_graph_norm.DEFINITIONS,
    **reference_graph_pointwise.DEFINITIONS,
    **reference_graph_products.DEFINITIONS,
    **reference_graph_resample.DEFINITIONS,
    **reference_graph_rows.DEFINITIONS,
}


def outcomes(graph: OperationGraph, operation: Operation, tensors: Mapping[str, Array]) -> dict[str, Array]:
    """Compute an operation's outputs without rounding them.

    Parameters
    ----------
    tensors
        The inputs by port, as numbers: float64, or int64 for INT64.

    Returns
    -------
    dict
        Arrays by port, in the dims of the outputs that the operation has.
    """
    with np.errstate(all="ignore"):  # overflow and NaN are results like others
        found = DEFINITIONS[operation.kind](graph, operation, tensors)
    return {port: np.broadcast_to(found[port], graph.by_uid[uid].dims) for port, uid in operation.outputs}


class DefinitionGraphEngine(GraphEngine):
    """Every operation, computed from its definition on the host."""

    name = "definition"
    numerical_notes = frozenset({numerical_note.STRICT_NAN_PROP})

    def reasons(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[GraphError]:
        return [
            fail("PG-ENGINE-002", node=operation.label, argument=self.name, expected=", ".join(sorted(DEFINITIONS)))
            for operation in graph.operations
            if operation.kind not in DEFINITIONS
        ] + [
            fail("PG-ENGINE-002", node=operation.label, argument=self.name, expected="no peer_stats", got="some")
            for operation in graph.operations
            if any(uid in graph.peers for _, uid in operation.inputs)
        ]

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        def run(arrays: Sequence[Any], numbers: Sequence[float], workspace: Any) -> None:
            evaluate(graph, graph.keyed(arrays, numbers))

        return GraphPlan(graph, self, 0, Run(run))


def evaluate(graph: OperationGraph, arrays: Mapping[int, Any]) -> dict[int, Array]:
    """Run a graph on host arrays, and return the numbers of all its virtual tensors by uid.

    Parameters
    ----------
    arrays
        By uid, and numbers as well. Outputs are written once all nodes are computed, so
        that a failed call leaves them untouched.
    """
    known: dict[int, Array] = {}
    for info in graph.infos:
        if info.by_value:
            value = info.value if info.constant else arrays[info.uid]
            known[info.uid] = info.data_type.rounded(np.full(info.dims, value))
    for operation in graph.operations:
        inputs = {}
        for port, uid in operation.inputs:
            if uid not in known:
                known[uid] = _loaded(graph.by_uid[uid], arrays)
            inputs[port] = known[uid]
        shorter = ragged.lengths(graph, operation, known, lambda uid: arrays[uid])
        inputs |= {port: shorter[uid] for port, uid in operation.inputs if uid in shorter}
        found = outcomes(graph, operation, inputs)
        known.update({uid: graph.by_uid[uid].data_type.rounded(found[port]) for port, uid in operation.outputs})
    for info in graph.infos:
        if info.uid in graph.results and not info.virtual:
            if info.coded:
                coded.store(info, arrays[info.uid], known[info.uid])
            elif info.ragged_offset is None:
                arrays[info.uid][...] = info.data_type.stored(known[info.uid])
            else:
                ragged.store(info, arrays[info.uid], arrays[info.ragged_offset], known[info.uid])
    return {info.uid: known[info.uid] for info in graph.infos if info.virtual}


def _loaded(info: TensorInfo, arrays: Mapping[int, Any]) -> Array:
    if info.coded:
        return coded.loaded(info, arrays[info.uid])
    if info.ragged_offset is None:
        return info.data_type.loaded(arrays[info.uid])
    return ragged.loaded(info, arrays[info.uid], arrays[info.ragged_offset])
