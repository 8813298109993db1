"""The definitions of block scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.data_types import data_type
from portadnn.graph.operation_graph import Operation, OperationGraph
from portadnn.graph.ops.block_scale import blocks_of

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]
LARGEST = {data_type.FP8_E4M3: 448.0, data_type.FP8_E5M2: 57344.0, data_type.FP4_E2M1: 6.0}


def _spread(scale: Array, sizes: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    """Return each element's scale."""
    for axis, size in enumerate(sizes):
        scale = scale.repeat(size, axis)
    return scale[tuple(slice(size) for size in dims)]


def _dequantize(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    x = t["X"]
    return {"Y": x * _spread(t["SCALE"], blocks_of(op["block_size"], x.ndim), x.shape)}


def scale_of(largest: Array, quantised: data_type, kind: data_type) -> Array:
    """Return the scales of blocks with these largest magnitudes, as they are stored."""
    scale = largest / LARGEST[quantised]
    if kind is data_type.FP8_E8M0:  # up
        mantissa, exponent = np.frexp(scale)
        up = np.ldexp(1.0, np.clip(np.where(mantissa == 0.5, exponent - 1, exponent), -127, 127))
        scale = np.where(np.isfinite(scale), up, np.where(np.isnan(scale), np.nan, 2.0**127))
        scale = np.where(largest == 0, 2.0**-127, scale)
    return kind.rounded(scale)


def _quantize(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    x, axis, size = t["X"], op["axis"], op["block_size"]
    y, scale = graph.at(op, "Y"), graph.at(op, "SCALE")
    blocks = x.reshape(*x.shape[:axis], -1, size, *x.shape[axis + 1 :])
    scales = scale_of(np.abs(blocks).max(axis + 1), y.data_type, scale.data_type)
    divisor = np.expand_dims(scales, axis + 1)
    quantised = np.where(divisor == 0, 0.0, blocks / np.where(divisor == 0, 1.0, divisor)).reshape(x.shape)
    stored = np.zeros(scale.dims)
    stored[tuple(slice(count) for count in scales.shape)] = scales
    return {"Y": quantised, "SCALE": stored}


DEFINITIONS = {"block_scale_dequantize": _dequantize, "block_scale_quantize": _quantize}
