"""Convolutions and pooling. Padding that differs at both ends is written out first."""

from __future__ import annotations

from collections.abc import Sequence

from ...enums import ConvolutionMode, MathType, NanPropagation, PoolingMode
from ...ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from ...ops.pooling import PoolingBackward, PoolingForward
from ...ops.tensor import SetTensor
from ..enums import resample_mode
from ..layout import Dims
from .steps import Lowering, View

_POOLING = {
    resample_mode.MAXPOOL: PoolingMode.MAX,
    resample_mode.AVGPOOL_INCLUDE_PADDING: PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING,
    resample_mode.AVGPOOL_EXCLUDE_PADDING: PoolingMode.AVERAGE_COUNT_EXCLUDE_PADDING,
}
NAN = NanPropagation.PROPAGATE_NAN


class _Room:
    """The padding of one operation: for Problems if it is the same at both ends, else written out around the image."""

    def __init__(self, low: Lowering, flat: bool) -> None:
        self.low = low
        self.pre, self.post = (tuple(int(v) for v in low.operation[name]) for name in ("pre_padding", "post_padding"))
        if flat:  # one spatial dim: another of one in front
            self.pre, self.post = (0, *self.pre), (0, *self.post)
        self.written = self.pre != self.post
        self.padding = (0,) * len(self.pre) if self.written else self.pre

    def wide(self, image: View, value: float) -> View:
        """Return the image with its padding of `value` where that is to be written out."""
        if not self.written:
            return image
        made = self.empty(image)
        self.low.emit(SetTensor, (made,), (), (value,))
        self.low.copy(image, self.inside(made, image.dims))
        return made

    def empty(self, image: View) -> View:
        """Return scratch memory for the image with its padding."""
        sizes = [d + a + b for d, a, b in zip(image.dims[2:], self.pre, self.post, strict=True)]
        return self.low.temporary((*image.dims[:2], *sizes), image.spec.dtype)

    def inside(self, wide: View, dims: Dims) -> View:
        """Return where the image lies in it."""
        return wide.seen_as(dims, wide.strides, sum(p * s for p, s in zip(self.pre, wide.strides[2:], strict=True)))


def _two_spatial(view: View) -> View:
    """Return (n, c, w) as (n, c, 1, w)."""
    if len(view.dims) > 3:
        return view
    n, c, w = view.dims
    return view.seen_as((n, c, 1, w), (*view.strides[:2], max(view.spec.span, 1), view.strides[2]))


def _convolution(low: Lowering, kind: type[Convolution], ports: Sequence[str]) -> None:
    """Add a convolution; `ports` in the order of its tensors."""
    views = [low.view(port) for port in ports]
    for port in ports:
        low.view(port, views[-1].spec.dtype)
    low.check_compute(views[-1].spec.dtype)
    flat = len(views[0].dims) == 3
    by_role = dict(zip(kind.tensor_names(), map(_two_spatial, views), strict=True))
    image, filter, _ = kind.roles
    op, room = low.operation, _Room(low, flat)
    one = (1,) if flat else ()
    groups = by_role[image].dims[1] // by_role[filter].dims[1]
    params = (
        room.padding,
        (*one, *op["stride"]),
        (*one, *op["dilation"]),
        groups,
        ConvolutionMode[op["convolution_mode"].name],
        None,
        MathType.DEFAULT,
    )
    out = by_role[image]
    gradient = image in kind.outputs
    if room.written:
        by_role[image] = room.empty(out) if gradient else room.wide(out, 0.0)
    low.emit(kind, list(by_role.values()), params)
    if room.written and gradient:
        low.copy(room.inside(by_role[image], out.dims), out)


def _pooling(low: Lowering) -> None:
    if low.has("INDEX"):
        raise low.refuse("PG-ENGINE-004", "INDEX", expected="no indices", got="generate_index=True")
    mode = low.operation["mode"]
    if mode not in _POOLING:
        raise low.refuse("PG-ENGINE-002", argument="mode", expected="a pooling", got=mode)
    x, y = low.view("X"), low.view("Y")
    low.view("Y", x.spec.dtype)
    low.check_compute(x.spec.dtype)
    room = _Room(low, False)
    if room.written and mode is resample_mode.AVGPOOL_EXCLUDE_PADDING:
        raise low.refuse("PG-ENGINE-004", argument="post_padding", expected="as pre_padding", got=list(room.post))
    wide = room.wide(x, float("-inf") if mode is resample_mode.MAXPOOL else 0.0)
    low.emit(PoolingForward, (wide, y), _pooling_parameters(low, room))


def _pooling_parameters(low: Lowering, room: _Room) -> tuple[object, ...]:
    op = low.operation
    return (_POOLING[op["mode"]], op["window"], room.padding, tuple(int(s) for s in op["stride"]), NAN)


def _pooling_backward(low: Lowering) -> None:
    mode = low.operation["mode"]
    dx, dy = low.view("DX"), low.view("DY")
    low.view("DY", dx.spec.dtype)
    low.check_compute(dx.spec.dtype)
    room = _Room(low, False)
    if room.written:
        raise low.refuse("PG-ENGINE-004", argument="post_padding", expected="as pre_padding", got=list(room.post))
    params = _pooling_parameters(low, room)
    maxima = mode is resample_mode.MAXPOOL
    if maxima and not low.has("X"):
        raise low.refuse("PG-ENGINE-004", "INDEX", expected="the pooling's input as well", got="indices alone")
    x = (
        low.view("X", dx.spec.dtype) if maxima else low.temporary(dx.dims, dx.spec.dtype, dx.strides)
    )  # averages read none
    x = low.laid_out(x, dx.strides)
    y = low.temporary(dy.dims, dy.spec.dtype, dy.strides) if maxima else dy
    if maxima:
        low.emit(PoolingForward, (x, y), params)
    low.emit(PoolingBackward, (y, dy, x, dx), params)


LOWERINGS = {
    "conv_fprop": lambda low: _convolution(low, ConvolutionForward, ("X", "W", "Y")),
    "conv_dgrad": lambda low: _convolution(low, ConvolutionBackwardData, ("W", "DY", "DX")),
    "conv_wgrad": lambda low: _convolution(low, ConvolutionBackwardFilter, ("X", "DY", "DW")),
    "resample": _pooling,
    "resample_backward": _pooling_backward,
}
