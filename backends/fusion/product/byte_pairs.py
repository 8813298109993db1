"""Convolutions of bytes whose kernels read pairs of them as elements of two bytes: the same memory, half the channels.

Products are summed as integers of 32 bits and are FLOAT from then on.
"""

from __future__ import annotations

import math
from dataclasses import replace

from portadnn.graph.data_types import data_type
from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo

CHUNK = 16  # channels, of a byte each, that kernels copy at once
MOST = 2**31 // (255 * 128)  # products that a sum of 32 bits holds
_SUMS = (data_type.FLOAT, data_type.INT32)


def _product(graph: OperationGraph) -> Operation | None:
    """Return the convolution of a graph that begins with it and has no other."""
    found = [one for one in graph.operations if one.kind.startswith("conv_") or one.kind == "matmul"]
    return found[0] if len(found) == 1 and found[0].kind == "conv_fprop" else None


def _lies_in_chunks(info: TensorInfo) -> bool:
    steps = [step for dim, step in zip(info.dims, info.strides, strict=True) if dim > 1]
    return (
        not info.virtual
        and info.ragged_offset is None
        and info.strides[1] == 1
        and info.dims[1] % CHUNK == 0
        and all(step % CHUNK == 0 for step in steps if step != 1)
        and steps.count(1) == 1
    )


def takes_bytes(graph: OperationGraph) -> bool:
    """Tell whether a graph has a forward convolution of INT8 or UINT8 by INT8 whose channels are whole chunks."""
    product = _product(graph)
    if product is None:
        return False
    x, w = (graph.by_uid[product.uids[port]] for port in ("X", "W"))
    y = graph.by_uid[product.outputs[0][1]]
    return (
        x.data_type in (data_type.INT8, data_type.UINT8)
        and w.data_type is data_type.INT8
        and product.compute_type in _SUMS
        and y.data_type in _SUMS
        and (y.virtual or y.data_type is data_type.FLOAT)
        and x.dims[1] == w.dims[1]
        and math.prod(w.dims[1:]) <= MOST
        and _lies_in_chunks(x)
        and _lies_in_chunks(w)
    )


def reads_unsigned(graph: OperationGraph) -> bool:
    """Tell whether the image's bytes have no sign."""
    product = _product(graph)
    return product is not None and graph.by_uid[product.uids["X"]].data_type is data_type.UINT8


def as_pairs(graph: OperationGraph) -> OperationGraph:
    """Return the convolution with images and filters of HALF and of half as many channels."""
    product = _product(graph)
    assert product is not None
    read = {product.uids["X"], product.uids["W"]}

    def pairs(info: TensorInfo) -> TensorInfo:
        dims = (info.dims[0], info.dims[1] // 2, *info.dims[2:])
        strides = tuple(1 if i == 1 else max(step // 2, 1) for i, step in enumerate(info.strides))
        return replace(info, dims=dims, strides=strides, data_type=data_type.HALF)

    return replace(graph, infos=tuple(pairs(one) if one.uid in read else one for one in graph.infos))


def with_float_sums(graph: OperationGraph) -> OperationGraph:
    """Return a graph whose convolution of bytes gives FLOAT, where it is an INT32 that is stored nowhere."""
    if not takes_bytes(graph):
        return graph
    product = _product(graph)
    assert product is not None
    uid = product.outputs[0][1]
    if graph.by_uid[uid].data_type is data_type.FLOAT:
        return graph
    infos = (replace(one, data_type=data_type.FLOAT) if one.uid == uid else one for one in graph.infos)
    return replace(graph, infos=tuple(infos))
