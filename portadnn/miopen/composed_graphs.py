"""Calls of MIOpen that are computed as graphs, which are built once for each handle and description."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

from .. import graph as graphs
from ..enums import DataType
from ..handle import Handle
from ..problem import TensorSpec

TYPES = {
    DataType.FLOAT: graphs.data_type.FLOAT,
    DataType.HALF: graphs.data_type.HALF,
    DataType.BFLOAT16: graphs.data_type.BFLOAT16,
    DataType.DOUBLE: graphs.data_type.DOUBLE,
    DataType.INT8: graphs.data_type.INT8,
    DataType.INT32: graphs.data_type.INT32,
    DataType.INT64: graphs.data_type.INT64,
}
Specs = Mapping[str, TensorSpec]
Types = Mapping[str, graphs.data_type]
Describe = Callable[[Any, dict[str, Any]], Mapping[str, Any]]
_MOST = 64
_BUILT: WeakKeyDictionary[Handle, dict[Any, tuple[Any, dict[str, Any]]]] = WeakKeyDictionary()


def run_graph(
    handle: Handle,
    key: Hashable,
    inputs: Specs,
    outputs: Specs,
    arrays: Mapping[str, Any],
    describe: Describe,
    *,
    wide: bool = False,
    types: Types = MappingProxyType({}),
) -> None:
    """Run a graph.

    Parameters
    ----------
    key
        Tells graphs with equal tensors apart: all that `describe` depends on.
    inputs, outputs
        The tensors by name.
    arrays
        Memory of them all.
    describe
        Is given the graph and its inputs, the first time, and returns the outputs.
    wide
        Whether to compute in double, as is done where an input is of doubles.
    types
        Of tensors that a graph reads or writes as another type than their spec has.
    """
    place = key, tuple(inputs.items()), tuple(outputs.items()), tuple(types.items())
    with handle.lock:
        known = _BUILT.setdefault(handle, {})
        if place not in known:
            if len(known) >= _MOST:
                known.clear()
            known[place] = _built(handle, inputs, outputs, describe, wide, types)
        graph, tensors = known[place]
        graph.execute({tensors[name]: array for name, array in arrays.items()}, handle=handle)


def _built(
    handle: Handle, inputs: Specs, outputs: Specs, describe: Describe, wide: bool, types: Types
) -> tuple[Any, dict[str, Any]]:
    wide = wide or any(spec.dtype is DataType.DOUBLE for spec in inputs.values())
    compute = graphs.data_type.DOUBLE if wide else graphs.data_type.FLOAT
    graph = graphs.pygraph(
        io_data_type=compute, intermediate_data_type=compute, compute_data_type=compute, handle=handle
    )
    tensors: dict[str, Any] = {}
    for name, spec in inputs.items():
        kind = types.get(name) or TYPES[spec.dtype]
        tensors[name] = graph.tensor(dim=list(spec.dims), stride=list(spec.strides), data_type=kind, name=name)
    made = describe(graph, tensors)
    for name, spec in outputs.items():
        out = tensors[name] = made[name]
        out.set_output(True).set_dim(list(spec.dims)).set_stride(list(spec.strides)).set_data_type(
            types.get(name) or TYPES[spec.dtype]
        )
    graph.build([graphs.heur_mode.A, graphs.heur_mode.FALLBACK])
    return graph, tensors
