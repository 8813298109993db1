"""What only moves elements: other views of tensors in memory, or results that are stored as the moved tensor lies.

A tensor in memory is read where its elements are. What is computed goes straight to where the moved tensor has it,
which then has to be in memory, and to be read by other launches alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from portadnn.graph.enums import reshape_mode
from portadnn.graph.layout import Dims, order_of, row_major, viewed
from portadnn.graph.ops.layout import slice_ranges

from ..values import Value
from .expander import Expander


class NotInMemory(Exception):
    """An operation moves what is computed beside it; `label` is the operation's."""

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self.label = label


def _leaf(e: Expander) -> Value | None:
    """Return what is moved if it lies in memory."""
    x = e.input("X")
    return x if x.node is None else None


def _view(e: Expander, x: Value, dims: Sequence[int], strides: Sequence[int], offset: int = 0) -> None:
    """Let the result be another view of what is moved, which lies in memory."""
    lead = e.program.rank - len(dims)
    y = Value(x.name, (*(1,) * lead, *dims), x.kind, x.info, (*(1,) * lead, *strides), offset=x.offset + offset)
    e.stands("Y", y)


def _store(e: Expander, x: Value, strides: Sequence[int], offset: int = 0) -> None:
    """Store a value at its places in the result, by the strides that these have along the value's dims."""
    uid = e.operation.uids["Y"]
    if e.info("Y").virtual or any(uid == read for one in e.graph.operations for _, read in one.inputs):
        raise NotInMemory(e.operation.label)
    y = e.output("Y")
    lead = e.program.rank - len(strides)
    e.copy(x, Value(y.name, x.dims, y.kind, y.info, (*(1,) * lead, *strides), offset=offset))


def _slice(e: Expander) -> None:
    x = _leaf(e)
    if x is None:
        raise NotInMemory(e.operation.label)
    dims = e.info("X").dims
    places = slice_ranges(e.operation["slices"], dims)
    strides = x.strides[len(x.strides) - len(dims) :]
    offset = sum(p.start * s for p, s in zip(places, strides, strict=True))
    _view(e, x, [len(p) for p in places], [p.step * s for p, s in zip(places, strides, strict=True)], offset)


def _transpose(e: Expander) -> None:
    order, x = e.operation["permutation"], e.input("X")
    if x.node is None:
        lead = e.program.rank - len(order)
        _view(e, x, [x.dims[lead + axis] for axis in order], [x.strides[lead + axis] for axis in order])
        return
    by_axis = dict(zip(order, e.info("Y").strides, strict=True))
    _store(e, x, [by_axis[axis] for axis in range(len(order))])


def _reshape(e: Expander) -> None:
    x, given, wanted = e.input("X"), e.info("X"), e.info("Y")
    if e.operation["reshape_mode"] is reshape_mode.VIEW_ONLY:
        if not (_gapless(given.dims, given.strides) and _gapless(wanted.dims, wanted.strides)):
            raise NotInMemory(e.operation.label)
        if x.node is not None:
            _store(e, x, given.strides)
        elif x.strides[e.program.rank - len(given.dims) :] == given.strides:
            _view(e, x, wanted.dims, wanted.strides)
        else:
            raise NotInMemory(e.operation.label)
        return
    lead = e.program.rank - len(given.dims)
    strides = viewed(given.dims, x.strides[lead:], wanted.dims) if x.node is None else None
    if strides is not None:
        _view(e, x, wanted.dims, strides)
        return
    strides = viewed(wanted.dims, wanted.strides, given.dims)
    if strides is None:
        raise NotInMemory(e.operation.label)
    _store(e, x, strides)


def _gapless(dims: Dims, strides: Dims) -> bool:
    order = order_of(dims, strides)
    sizes = [dims[axis] for axis in order]
    packed = zip(sizes, (strides[axis] for axis in order), row_major(sizes), strict=True)
    return all(size == 1 or step == wanted for size, step, wanted in packed)


def _concatenate(e: Expander) -> None:
    strides, axis, place = e.info("Y").strides, e.operation["axis"], 0
    for port in sorted(e.inputs, key=lambda port: int(port.rpartition("_")[2])):
        _store(e, e.input(port), strides, place * strides[axis])
        place += e.info(port).dims[axis]


RULES: dict[str, Callable[[Expander], None]] = {
    "slice": _slice,
    "transpose": _transpose,
    "reshape": _reshape,
    "concatenate": _concatenate,
}
