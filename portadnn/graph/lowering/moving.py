"""What only moves elements: copies between views."""

from __future__ import annotations

from ..enums import reshape_mode
from ..layout import order_of, row_major
from ..ops.layout import slice_ranges
from .steps import LEAST_RANK, Lowering, View


def _slice(low: Lowering) -> None:
    info, y = low.info("X"), low.view("Y")
    x = low.view("X", y.spec.dtype)
    lead = len(x.dims) - len(info.dims)
    places = [*(range(1) for _ in range(lead)), *slice_ranges(low.operation["slices"], info.dims)]
    offset = sum(p.start * s for p, s in zip(places, x.strides, strict=True))
    part = x.seen_as([len(p) for p in places], [p.step * s for p, s in zip(places, x.strides, strict=True)], offset)
    low.copy(part, y)


def _transpose(low: Lowering) -> None:
    info, y = low.info("X"), low.view("Y")
    x = low.view("X", y.spec.dtype)
    order = low.operation["permutation"]
    turned = x.seen_as([info.dims[i] for i in order], [info.strides[i] for i in order])
    low.copy(turned.of_rank(LEAST_RANK), y)


def _in_a_row(low: Lowering, view: View) -> View:
    """Return a gapless view as one row of elements, as they lie."""
    order = order_of(view.dims, view.strides)
    if not view.seen_as([view.dims[i] for i in order], [view.strides[i] for i in order]).spec.is_packed():
        raise low.refuse("PG-ENGINE-004", "X", expected="strides without gaps", got=list(view.strides))
    size = view.spec.size
    return view.seen_as((1, 1, size), (size, size, 1))


def _reshape(low: Lowering) -> None:
    y = low.view("Y")
    x = low.view("X", y.spec.dtype)
    if low.operation["reshape_mode"] is reshape_mode.VIEW_ONLY:
        low.copy(_in_a_row(low, x), _in_a_row(low, y))
        return
    flat = low.laid_out(x, row_major(x.dims))
    low.copy(flat.seen_as(y.dims, row_major(y.dims)), y)


def _concatenate(low: Lowering) -> None:
    y = low.view("Y")
    axis = low.operation["axis"] + len(y.dims) - len(low.info("Y").dims)
    place = 0
    for port in sorted((port for port, _ in low.operation.inputs), key=lambda port: int(port.rpartition("_")[2])):
        x = low.view(port, y.spec.dtype)
        low.copy(x, y.seen_as(x.dims, y.strides, place * y.strides[axis]))
        place += x.dims[axis]


LOWERINGS = {"slice": _slice, "transpose": _transpose, "reshape": _reshape, "concatenate": _concatenate}
