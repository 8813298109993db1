"""What is known of the tensors that descriptors describe: dims, strides, layout, type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..model.state import Thing
from ..names import values_of_cudnn
from ..values import UNKNOWN, Value
from .situation import Situation

Layout = Literal["nchw", "nhwc", "strided"]


@dataclass(frozen=True)
class Shape:
    """A tensor as its descriptor says it; what is not known is None."""

    dims: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    layout: Layout | None = None
    dtype: str | None = None
    rank: int | None = None


_LOCAL = re.compile(r"\w+#\d+@\d+$")


def shape(situation: Situation, *names: str) -> Shape:
    """Return what is known of the tensor that the first of these parameters describes."""
    thing = situation.thing(*names)
    return Shape() if thing is None else of_thing(thing)


def of_thing(thing: Thing) -> Shape:
    """Return what is known of the tensor that a descriptor describes."""
    fields = thing.fields
    dtype = enumerator(fields.get("dataType", UNKNOWN))
    if not thing.certain or (thing.many and not _of_turn(thing)):
        return Shape(dtype=dtype)
    dims = numbers(fields.get("filterDimA", fields.get("dimA", UNKNOWN)))
    rank = number(fields.get("nbDims", UNKNOWN))
    strides = numbers(fields.get("strideA", UNKNOWN))
    if dims is not None and strides is not None and len(dims) != len(strides):
        strides = None
    layout = _layout(enumerator(fields.get("format", UNKNOWN)), dims, strides)
    if dims is not None and strides is None and layout in ("nchw", "nhwc"):
        strides = packed(dims, layout)
    return Shape(dims, strides, layout, dtype, len(dims) if dims is not None else None if rank is None else int(rank))


def _of_turn(thing: Thing) -> bool:
    """Whether a local variable holds it: what a loop makes anew is, in each turn, what that turn set."""
    return _LOCAL.match(thing.id) is not None


def packed(dims: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
    """Return the strides of a tensor without gaps."""
    order = [0, *range(2, len(dims)), 1] if layout == "nhwc" and len(dims) > 2 else list(range(len(dims)))
    strides, step = [0] * len(dims), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= dims[axis]
    return tuple(strides)


def _layout(said: str | None, dims: tuple[int, ...] | None, strides: tuple[int, ...] | None) -> Layout | None:
    if said is not None:
        return "nhwc" if said.endswith(("NHWC", "NDHWC")) else "nchw" if said.endswith(("NCHW", "NCDHW")) else None
    if dims is None or strides is None:
        return None
    layouts: tuple[Layout, ...] = ("nchw", "nhwc")
    for layout in layouts:
        if all(d == 1 or s == p for d, s, p in zip(dims, strides, packed(dims, layout), strict=True)):
            return layout
    return "strided"


def number(value: Value) -> float | None:
    """Return a number that is known."""
    known = value.kind == "known" and isinstance(value.data, (int, float)) and not isinstance(value.data, bool)
    return value.data if known else None


def numbers(value: Value) -> tuple[int, ...] | None:
    """Return the integers of an array that is known entirely."""
    if value.kind != "items":
        return None
    found = [number(element) for element in value.data]
    return None if None in found else tuple(int(n) for n in found if n is not None)


def enumerator(value: Value) -> str | None:
    """Return the name of an enumerator that is known."""
    return value.data.rpartition("::")[2] if value.kind == "known" and isinstance(value.data, str) else None


def miopen_name(name: str, default: str) -> str:
    """Return MIOpen's name for an enumerator of cuDNN's."""
    known = values_of_cudnn().get(name)
    return known[0].miopen or default if known else default
