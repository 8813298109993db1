"""Filters of 32-channel vectors in the order of tensor cores, and images as columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import portadnn as dnn

from ...arguments import as_integer
from ...enums import ConvolutionMode
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ..boxes import Box, Side, cleared, copied
from ..calls import c_value
from ..descriptors import TensorDescriptor, value_of
from ..integer_graphs import memory_of
from ..storage import Stored, span, stored, type_name
from ..transforms import placed

NO_REORDER = 1


def cudnnReorderFilterAndBias(
    handle, filter, reorderType, raw_filterData, reorderedFilterData, reorderBias, biasData, reorderedBiasData
):
    plain = int(c_value("cudnnReorderType_t", reorderType, "reorderType")) == NO_REORDER
    with_bias = as_integer(reorderBias, "reorderBias") != 0
    place = stored(filter)
    k, c, *taps = place.dims
    if not plain and (type_name(filter) != "INT8x32" or len(taps) != 2 or k % 32):
        wanted = "INT8x32 in NCHW_VECT_C with 4 dims and filters in multiples of 32"
        raise NotSupported(argument="filterDesc", expected=wanted, got=f"{type_name(filter)} of {place.dims}")
    pairs = [(raw_filterData, "filterData"), (reorderedFilterData, "reorderedFilterData")]
    pairs += [(biasData, "biasData"), (reorderedBiasData, "reorderedBiasData")] if with_bias else []
    memory = [memory_of(handle, one, name) for one, name in pairs]  # all of it, before anything is written
    if plain:
        _moved(handle, memory[:2], ("INT8", (1, 1, 1, span(place))))
    else:  # filters 4 by 2 in each 8, channels 8 by 4 in each 32
        r, s = taps
        row = c * r * s  # bytes of a filter
        dims = (k // 8, 4, 2, c // 32, 8, 4, r, s)
        source = (8 * row, 2 * row, row, 32 * r * s, 4, 1, 32 * s, 32)
        dest = (256, 4, 128, 32 * k * r * s, 16, 1, 32 * k * s, 32 * k)
        _moved(handle, memory[:2], ("INT8", dims), source, dest)
    if with_bias and plain:
        _moved(handle, memory[2:], ("FLOAT", (1, 1, 1, k)))
    elif with_bias:
        _moved(handle, memory[2:], ("FLOAT", (k // 32, 4, 2, 4)), (32, 8, 4, 1), (32, 4, 16, 1))


def _moved(
    handle: Handle,
    memory: Sequence[Any],
    what: tuple[str, tuple[int, ...]],
    source: tuple[int, ...] = (),
    dest: tuple[int, ...] = (),
) -> None:
    """Copy a type and dims from strides to strides, by default those of packed rows."""
    kind, dims = what
    packed = dnn.TensorDescriptor(dims).strides if not source else ()
    sides = [
        (kind, dims, steps or packed, one, name)
        for steps, one, name in zip((source, dest), memory, ("source", "dest"), strict=True)
    ]
    placed(handle, sides[0], sides[1], 1.0, 0.0)


def cudnnIm2Col(handle, xDesc, raw_x, w, conv, colBuffer):
    x = value_of(xDesc, TensorDescriptor, "xDesc")
    out = dnn.get_convolution_nd_forward_output_dim(conv, x.dims, w.dims)
    if type_name(x) != type_name(w):
        raise BadParam(argument="wDesc", expected=f"{type_name(x)} as x", got=type_name(w))
    place = stored(x)
    if place.lanes > 1 or len(x.dims) != 4:
        raise NotSupported(argument="xDesc", expected="4 dims without vectors", got=x)
    n, _, p, q = out
    c, (r, s) = x.dims[1], w.dims[2:]
    dims = (1, 1, c * r * s, n * p * q)
    columns = Stored(place.type, 1, dims, dims, dnn.TensorDescriptor(dims).strides)
    sides = (
        (place, memory_of(handle, raw_x, "x"), "x"),
        (columns, memory_of(handle, colBuffer, "colBuffer"), "colBuffer"),
    )
    if any(conv.padding):
        cleared(handle, *sides)
    copied(handle, _taps(place, w.dims, conv, (p, q)), *sides, 1.0, 0.0)


def _taps(
    place: Stored, weights: tuple[int, ...], conv: dnn.ConvolutionDescriptor, out: tuple[int, int]
) -> Iterator[Box]:
    """Yield the copy of each tap: a row for each channel, with all places where the tap lies in the image."""
    (n, c), (r, s), (p, q) = place.dims[:2], weights[2:], out
    width = n * p * q
    turned = conv.mode is ConvolutionMode.CONVOLUTION
    for tap in itertools.product(range(r), range(s)):
        runs = []
        for axis, t in enumerate(tap):
            stride, shift = (conv.stride or ())[axis], t * (conv.dilation or ())[axis] - conv.padding[axis]
            first = max(-(shift // stride), 0)
            last = min((place.dims[2 + axis] - 1 - shift) // stride, out[axis] - 1)
            runs.append((max(last - first + 1, 0), first * stride + shift, first, stride))
        (h, at_h, to_h, u), (w, at_w, to_w, v) = runs
        row = (r * s - 1 - tap[0] * s - tap[1]) if turned else tap[0] * s + tap[1]
        n_step, c_step, h_step, w_step = place.steps
        source = Side(at_h * h_step + at_w * w_step, (n_step, c_step, u * h_step, v * w_step))
        dest = Side(row * width + to_h * q + to_w, (p * q, r * s * width, q, 1))
        yield Box((n, c, h, w), source, dest)
