"""Tensor transforms of cuDNN 7.5: padding, folding and another layout in one call.

Folding cuts each spatial dim into blocks and makes channels of the places in a block: place (i, j) of fold (f, g)
and channel c become channel ``(i * g + j) * C + c``, behind the padding before the channels. Padding comes first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..enums import TensorFormat
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..problem import MAX_DIMS
from .boxes import Box, Side, cleared, copied
from .calls import c_value
from .descriptors import Descriptor, FilterDescriptor, TensorDescriptor, integers, made, value_of
from .integer_graphs import factor
from .storage import VECTORS, IntegerTensor, Stored, format_number, is_integer, stored
from .transforms import converted

FOLD, UNFOLD = 0, 1  # cudnnFoldingDirection_t


@dataclass(frozen=True)
class Transform:
    """What a transform descriptor was set to.

    Attributes
    ----------
    format : int
        cudnnTensorFormat_t of the destination.
    before, after : tuple of int
        Padding of each dim; what is negative is cut off.
    fold : tuple of int
        Of each spatial dim.
    direction : int
        FOLD or UNFOLD.
    """

    format: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    fold: tuple[int, ...]
    direction: int

    @property
    def folds(self) -> bool:
        """Whether any dim is folded."""
        return any(f > 1 for f in self.fold)

    @property
    def pads(self) -> bool:
        """Whether any dim is padded or cut."""
        return any(self.before) or any(self.after)

    def dims(self, source: tuple[int, ...]) -> tuple[int, ...]:
        """Return the dims of the destination.

        Raises
        ------
        BadParam
            Another number of dims, channels that do not unfold, or nothing that is left.
        """
        if len(source) != len(self.before):
            raise BadParam(argument="srcDesc", expected=f"{len(self.before)} dims as the transform", got=source)
        count = math.prod(self.fold)
        n, c, *spatial = source
        if self.direction == UNFOLD:
            if c % count:
                raise BadParam(argument="srcDesc", expected=f"channels in multiples of {count}", got=c)
            c, spatial = c // count, [size * f for size, f in zip(spatial, self.fold, strict=True)]
        padded = [s + a + b for s, a, b in zip((n, c, *spatial), self.before, self.after, strict=True)]
        if self.direction == FOLD:
            padded[1] *= count
            padded[2:] = [-(-size // f) for size, f in zip(padded[2:], self.fold, strict=True)]
        if min(padded) < 1:
            raise BadParam(argument="transformDesc", expected="padding that leaves something", got=tuple(padded))
        return tuple(padded)


class TensorTransformDescriptor(Descriptor):
    """A ``cudnnTensorTransformDescriptor_t``."""

    what = "transform descriptor"
    made_by = "cudnnCreateTensorTransformDescriptor"


def cudnnSetTensorTransformDescriptor(transformDesc, nbDims, destFormat, padBeforeA, padAfterA, foldA, direction):
    made(transformDesc, TensorTransformDescriptor, "transformDesc")
    count = as_integer(nbDims, "nbDims", 3)
    if count > MAX_DIMS:
        raise BadParam(argument="nbDims", expected=f"3 to {MAX_DIMS}", got=count)
    before, after = (
        (0,) * count if pads is None else integers(pads, count, name)
        for pads, name in ((padBeforeA, "padBeforeA"), (padAfterA, "padAfterA"))
    )
    fold = (1,) * (count - 2) if foldA is None else integers(foldA, count - 2, "foldA", "nbDims - 2", 0)
    how = int(c_value("cudnnFoldingDirection_t", direction, "direction"))
    transformDesc.value = Transform(format_number(destFormat), before, after, tuple(max(f, 1) for f in fold), how)


def cudnnGetTensorTransformDescriptor(transformDesc, nbDimsRequested):
    value = value_of(transformDesc, TensorTransformDescriptor, "transformDesc")
    count = as_integer(nbDimsRequested, "nbDimsRequested", 1)
    layout = c_value("cudnnTensorFormat_t", value.format, "destFormat")
    direction = c_value("cudnnFoldingDirection_t", value.direction, "direction")
    return layout, value.before[:count], value.after[:count], value.fold[: max(count - 2, 0)], direction


def cudnnInitTransformDest(transformDesc, src, destDesc):
    transform = value_of(transformDesc, TensorTransformDescriptor, "transformDesc")
    made(destDesc, TensorDescriptor, "destDesc")
    dims, integer = transform.dims(src.dims), is_integer(src)
    if transform.format == VECTORS and not integer:
        raise BadParam(argument="transformDesc", expected="NCHW or NHWC for floats", got="CUDNN_TENSOR_NCHW_VECT_C")
    if integer:
        destDesc.set_unread(IntegerTensor(int(src.dtype), dims, transform.format))
    else:
        destDesc.set(dnn.TensorDescriptor(dims, src.dtype, format=TensorFormat(transform.format)))
    return destDesc.value.size_in_bytes


def cudnnTransformTensorEx(handle, transDesc, alpha, srcDesc, raw_srcData, beta, destDesc, raw_destData):
    src, dest = value_of(srcDesc, TensorDescriptor, "srcDesc"), value_of(destDesc, TensorDescriptor, "destDesc")
    transform = value_of(transDesc, TensorTransformDescriptor, "transDesc")
    _transformed(handle, transform, (src, raw_srcData), (dest, raw_destData), alpha, beta)


def cudnnTransformFilter(handle, transDesc, alpha, srcDesc, raw_srcData, beta, destDesc, raw_destData):
    src, dest = value_of(srcDesc, FilterDescriptor, "srcDesc"), value_of(destDesc, FilterDescriptor, "destDesc")
    transform = value_of(transDesc, TensorTransformDescriptor, "transDesc")
    _transformed(handle, transform, (src, raw_srcData), (dest, raw_destData), alpha, beta)


def _transformed(
    handle: Handle, transform: Transform, source: tuple[Any, Any], dest: tuple[Any, Any], alpha: Any, beta: Any
) -> None:
    (src, given), (out, memory) = source, dest
    wanted = transform.dims(src.dims)
    if out.dims != wanted:
        raise BadParam(argument="destDesc", expected=str(wanted), got=out.dims)
    sides = (stored(src), given, "srcData"), (stored(out), memory, "destData")
    alpha, beta = factor(alpha, "alpha"), factor(beta, "beta")
    if not transform.folds and not transform.pads:
        converted(handle, *sides, alpha, beta)
        return
    x, y = sides[0][0], sides[1][0]
    if x.lanes > 1 or y.lanes > 1:
        raise NotSupported(argument="destDesc", expected="no vectors where dims are padded or folded", got=out)
    folding = transform.folds and transform.direction == FOLD
    if beta != 0 and (folding or transform.pads):
        raise NotSupported(argument="beta", expected="0 where dims are padded or folded", got=beta)
    if min(*transform.before[:2], *transform.after[:2]) < 0:
        raise NotSupported(argument="transDesc", expected="batch and channels that are not cut", got=transform.before)
    if math.prod(y.dims) != _packed(y):
        raise NotSupported(argument="destDesc", expected="no gaps where dims are padded or folded", got=out)
    if folding or transform.pads:
        cleared(handle, *sides)
    copied(handle, _boxes(transform, x, y), *sides, alpha, beta)


def _packed(place: Stored) -> int:
    return 1 + sum((d - 1) * s for d, s in zip(place.places, place.steps, strict=True))


def _boxes(transform: Transform, x: Stored, y: Stored) -> Iterator[Box]:
    """Yield the copies, one for each place in a block."""
    folding = transform.direction == FOLD
    folded, flat = (y, x) if folding else (x, y)
    channels = x.dims[1] if folding else y.dims[1] - transform.before[1] - transform.after[1]
    flat_steps = [f * s for f, s in zip(transform.fold, flat.steps[2:], strict=True)]  # to the next block
    for number, place in enumerate(itertools.product(*map(range, transform.fold))):
        runs = [_run(transform, axis, offset, flat, folded) for axis, offset in enumerate(place, 2)]
        dims = (x.dims[0], channels, *(run[0] for run in runs))
        here = [0, 0, *(run[1] for run in runs)]
        there = [0, number * channels, *(run[2] for run in runs)]
        sides = [(here, flat, (*flat.steps[:2], *flat_steps)), (there, folded, folded.steps)]
        (begin, _, steps), (end, _, ends) = sides if folding else sides[::-1]
        end = [first + pad for first, pad in zip(end, (*transform.before[:2], *[0] * len(runs)), strict=True)]
        source = Side(sum(i * s for i, s in zip(begin, x.steps, strict=True)), tuple(steps))
        yield Box(dims, source, Side(sum(i * s for i, s in zip(end, y.steps, strict=True)), tuple(ends)))


def _run(transform: Transform, axis: int, offset: int, flat: Stored, folded: Stored) -> tuple[int, int, int]:
    """Return how many elements of a spatial dim are at a place of their blocks, and the first one on both sides."""
    f, before, after = transform.fold[axis - 2], transform.before[axis], transform.after[axis]
    if transform.direction == FOLD:  # block q has the element q * f + offset - before
        shift, end = offset - before, flat.dims[axis] + min(after, 0)
    else:
        shift, end = offset + before, flat.dims[axis]
    first = max(-(shift // f), 0)
    last = min((end - 1 - shift) // f, folded.dims[axis] - 1)
    return max(last - first + 1, 0), first * f + shift, first
