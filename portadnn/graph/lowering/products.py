"""Matrix products by convolutions of 1 x 1 filters, reductions by reduce_tensor, softmax."""

from __future__ import annotations

import math

import numpy as np

from ...enums import (
    ConvolutionMode,
    MathType,
    NanPropagation,
    OpTensorOp,
    ReduceTensorOp,
    SoftmaxAlgorithm,
    SoftmaxMode,
)
from ...ops.convolution.calls import ConvolutionForward
from ...ops.reduce import ReduceTensor
from ...ops.softmax import SoftmaxForward
from ..layout import Dims
from .pointwise import combine
from .steps import Lowering, View

MOST_PRODUCTS = 1024  # steps of one matmul
_PARAMETERS = ((0, 0), (1, 1), (1, 1), 1, ConvolutionMode.CROSS_CORRELATION, None, MathType.DEFAULT)


def _product(low: Lowering, a: View, b: View, c: View) -> None:
    """Add C[i] = A @ B[i] for 3-D views, A's first dim being 1: filters A over images B of height 1."""
    (_, m, k), (count, _, n) = a.dims, b.dims
    image = b.seen_as((count, k, 1, n), (*b.strides[:2], 1, b.strides[2]))
    filters = a.seen_as((m, k, 1, 1), (a.strides[1], a.strides[2], 1, 1))
    result = c.seen_as((count, m, 1, n), (*c.strides[:2], 1, c.strides[2]))
    low.emit(ConvolutionForward, (image, filters, result), _PARAMETERS)


def _grouped(low: Lowering, a: View, b: View, c: View) -> bool:
    """Add C[i] = A[i] @ B[i] as one convolution whose groups are the entries; False where these do not lie in a row."""
    count = math.prod(c.dims[:-2])
    if not all(view.dims[:-2] == c.dims[:-2] and _in_a_row(view) for view in (a, b, c)):
        return False
    (m, k), n = a.dims[-2:], b.dims[-1]
    image = b.seen_as((1, count * k, 1, n), (b.spec.span, b.strides[-2], 1, b.strides[-1]))
    filters = a.seen_as((count * m, k, 1, 1), (*a.strides[-2:], 1, 1))
    result = c.seen_as((1, count * m, 1, n), (c.spec.span, c.strides[-2], 1, c.strides[-1]))
    padding, stride, dilation, _, *others = _PARAMETERS
    low.emit(ConvolutionForward, (image, filters, result), (padding, stride, dilation, count, *others))
    return True


def _in_a_row(view: View) -> bool:
    """Tell whether each matrix of a batch begins a row behind the last row of the one before."""
    step = view.strides[-2]
    for size, stride, inner in zip(view.dims[-3::-1], view.strides[-3::-1], view.dims[-2:0:-1], strict=True):
        step *= inner
        if size > 1 and stride != step:
            return False
    return True


def turned(view: View) -> View:
    """Return a view with the last two dims exchanged."""
    *d, m, n = view.dims
    *s, row, column = view.strides
    return view.seen_as((*d, n, m), (*s, column, row))


def _operands(low: Lowering) -> tuple[View, View, View]:
    c = low.view("C")
    low.check_compute(c.spec.dtype)
    a, b = (low.view(port, c.spec.dtype).of_rank(len(c.dims)) for port in ("A", "B"))
    return a, b, c


def by_columns(low: Lowering) -> bool:
    """Add a matmul with the columns of B as filters; False where one B does not serve all."""
    a, b, c = _operands(low)
    if len(c.dims) != 3 or b.dims[0] != 1:
        return False
    _product(low, turned(b), turned(a), turned(c))
    return True


def _matmul(low: Lowering) -> None:
    a, b, c = _operands(low)
    if len(c.dims) == 3 and a.dims[0] == 1:
        _product(low, a, b, c)
        return
    if len(c.dims) == 3 and b.dims[0] == 1:
        _product(low, turned(b), turned(a), turned(c))
        return
    if len(c.dims) > 2 and (_grouped(low, a, b, c) or _grouped(low, turned(b), turned(a), turned(c))):
        return
    batch = c.dims[:-2]
    if math.prod(batch) > MOST_PRODUCTS:
        raise low.refuse("PG-ENGINE-004", "C", expected=f"at most {MOST_PRODUCTS} products", got=math.prod(batch))
    for place in np.ndindex(*batch):
        _product(low, *(_entry(view, place) for view in (a, b, c)))


def _entry(view: View, place: tuple[int, ...]) -> View:
    """Return one matrix of a batch, in 3-D; an entry of a dim of one serves all."""
    steps = zip(view.dims[:-2], view.strides[:-2], place, strict=True)
    offset = sum(i * s for d, s, i in steps if d > 1)
    return view.seen_as((1, *view.dims[-2:]), (max(view.spec.span, 1), *view.strides[-2:]), offset)


def reduce(low: Lowering, op: ReduceTensorOp, x: View, y: View) -> None:
    """Add a reduction over the dims that are 1 in y."""
    low.emit(ReduceTensor, (x, y, None), (op, None, NanPropagation.PROPAGATE_NAN, False))


def _reduction(low: Lowering) -> None:
    y = low.view("Y")
    low.check_compute(y.spec.dtype)
    reduce(low, ReduceTensorOp[low.operation["mode"].name], low.view("X", y.spec.dtype), y)


def _genstats(low: Lowering) -> None:
    x = low.view("X")
    low.check_compute(x.spec.dtype)
    reduce(low, ReduceTensorOp.ADD, x, low.view("SUM", x.spec.dtype))
    square = low.work(x.dims, x.spec.dtype)
    combine(low, OpTensorOp.MUL, x, x, square)
    reduce(low, ReduceTensorOp.ADD, square, low.view("SQ_SUM", x.spec.dtype))


def _softmax(low: Lowering) -> None:
    if low.has("STATS"):
        raise low.refuse("PG-ENGINE-004", "STATS", expected="no statistics", got="use_stats=True")
    out = low.view("S")
    low.check_compute(out.spec.dtype)
    axis = low.operation["axis"] + len(out.dims) - len(low.info("S").dims)
    order = [i for i in range(len(out.dims)) if i != axis]
    order.insert(1, axis)
    x, y = (
        view.seen_as(_chosen(view.dims, order), _chosen(view.strides, order))
        for view in (low.view("P", out.spec.dtype), out)
    )
    low.emit(SoftmaxForward, (x, y), (SoftmaxAlgorithm.ACCURATE, SoftmaxMode.CHANNEL))


def _chosen(values: Dims, order: list[int]) -> Dims:
    return tuple(values[i] for i in order)


LOWERINGS = {"matmul": _matmul, "reduction": _reduction, "genstats": _genstats, "softmax": _softmax}
