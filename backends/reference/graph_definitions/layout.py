"""The definitions of what moves elements in graphs, and of random numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.enums import reshape_mode, rng_distribution
from portadnn.graph.layout import order_of
from portadnn.graph.operation_graph import Operation, OperationGraph
from portadnn.graph.ops.layout import slice_ranges

from ...philox import random_words

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]


def _slice(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    places = slice_ranges(op["slices"], t["X"].shape)
    return {"Y": t["X"][tuple(slice(p.start, p.stop, p.step) for p in places)]}


def _reshape(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    """LOGICAL keeps the row-major order of the elements, VIEW_ONLY the order in which they lie in memory."""
    x, y = graph.at(op, "X"), graph.at(op, "Y")
    if op["reshape_mode"] is reshape_mode.LOGICAL:
        return {"Y": t["X"].reshape(y.dims)}
    before, after = order_of(x.dims, x.strides), order_of(y.dims, y.strides)
    as_lying = t["X"].transpose(before).reshape([y.dims[axis] for axis in after])
    return {"Y": as_lying.transpose(np.argsort(after))}


def _transpose(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    return {"Y": t["X"].transpose(op["permutation"])}


def _concatenate(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    inputs = sorted(op.inputs, key=lambda item: int(item[0].rpartition("_")[2]))
    return {"Y": np.concatenate([t[port] for port, _ in inputs], op["axis"])}


def _rng(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    """Element i, counted in row-major order, has the i-th word of Philox for this seed and offset."""
    out = graph.at(op, "Y").dims
    seed = int(t["SEED"].reshape(())) if "SEED" in t else op["seed"]
    offset = int(t["OFFSET"].reshape(())) if "OFFSET" in t else 0
    count = math.prod(out)
    normal = op["distribution"] is rng_distribution.NORMAL
    words = random_words(2 * count if normal else count, seed % 2**64, offset % 2**64)
    uniform = words.astype(np.float64) / 2**32
    if op["distribution"] is rng_distribution.BERNOULLI:
        values = (uniform < op["bernoulli_probability"]).astype(np.float64)
    elif normal:  # Box and Muller, with pairs of neighbouring words
        radius = np.sqrt(-2 * np.log(1 - uniform[0::2]))
        values = op["mean"] + op["standard_deviation"] * radius * np.cos(2 * math.pi * uniform[1::2])
    else:
        values = op["minimum"] + (op["maximum"] - op["minimum"]) * uniform
    return {"Y": values.reshape(out)}


DEFINITIONS = {"slice": _slice, "reshape": _reshape, "transpose": _transpose, "concatenate": _concatenate, "rng": _rng}
