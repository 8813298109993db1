"""What is known of the tensors that descriptors describe: dims, strides, layout, type."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ... import mapping
from ..model.state import Thing
from ..values import UNKNOWN, Value
from .situation import Situation

Layout = Literal["nchw", "nhwc", "strided"]
_ORDERS = (("n", "c", "h", "w"), ("k", "c", "h", "w"))
_STRIDES = ("nStride", "cStride", "hStride", "wStride")
_DIMS = ("dimA", "filterDimA", "dimsA", "lens")


@dataclass(frozen=True)
class Shape:
    """A tensor as its descriptor says it; what is not known is None."""

    dims: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    layout: Layout | None = None
    dtype: str | None = None
    rank: int | None = None


def shape(situation: Situation, *names: str) -> Shape:
    """Return what is known of the tensor that the first of these parameters describes."""
    thing = situation.thing(*names)
    return Shape() if thing is None else of_thing(situation, thing)


def of_thing(situation: Situation, thing: Thing) -> Shape:
    """Return what is known of the tensor that a descriptor describes, by the call that set it last."""
    if not thing.certain or thing.many:
        return Shape(dtype=_enumerator(thing.fields.get("dataType", UNKNOWN)))
    deed = situation.journal.get(thing.version)
    set_here = thing.fields.keys() if deed is None else {p.name for p in deed.event.parameters}
    fields = {name: value for name, value in thing.fields.items() if name in set_here}
    dims = _dims(fields)
    rank = len(dims) if dims is not None else _rank(fields)
    strides = _numbers(fields, _STRIDES) or _array(fields, ("strideA", "stridesA"), rank)
    layout = _layout(fields, dims, strides)
    if dims is not None and strides is None and layout in ("nchw", "nhwc"):
        strides = packed(dims, layout)
    return Shape(dims, strides, layout, _enumerator(fields.get("dataType", UNKNOWN)), rank)


def packed(dims: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
    """Return the strides of a tensor without gaps."""
    order = [0, *range(2, len(dims)), 1] if layout == "nhwc" and len(dims) > 2 else list(range(len(dims)))
    strides, step = [0] * len(dims), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= dims[axis]
    return tuple(strides)


def _rank(fields: dict[str, Value]) -> int | None:
    if any(all(name in fields for name in names) for names in _ORDERS):
        return 4
    return next((n for name in ("nbDims", "num_lens") if (n := _number(fields.get(name, UNKNOWN))) is not None), None)


def _dims(fields: dict[str, Value]) -> tuple[int, ...] | None:
    found = next((numbers for names in _ORDERS if (numbers := _numbers(fields, names))), None)
    return found or _array(fields, _DIMS, _rank(fields))


def _layout(
    fields: dict[str, Value], dims: tuple[int, ...] | None, strides: tuple[int, ...] | None
) -> Layout | None:
    said = _enumerator(fields.get("format", fields.get("tensorLayout", UNKNOWN)))
    if said is not None:
        return "nhwc" if said.endswith(("NHWC", "NDHWC")) else "nchw" if said.endswith(("NCHW", "NCDHW")) else None
    if strides is None:
        plain = "dataType" in fields and not any(name in fields for name in (*_STRIDES, "strideA", "stridesA"))
        return "nchw" if plain and "format" not in fields and "tensorLayout" not in fields else None
    if dims is None:
        return None
    for layout in ("nchw", "nhwc"):
        if all(d == 1 or s == p for d, s, p in zip(dims, strides, packed(dims, layout), strict=True)):
            return layout
    return "strided"


def _number(value: Value) -> int | None:
    known = value.kind == "known" and isinstance(value.data, int) and not isinstance(value.data, bool)
    return value.data if known else None


def _numbers(fields: dict[str, Value], names: tuple[str, ...]) -> tuple[int, ...] | None:
    found = [_number(fields.get(name, UNKNOWN)) for name in names]
    return None if None in found else tuple(n for n in found if n is not None)


def _array(fields: dict[str, Value], names: tuple[str, ...], rank: int | None) -> tuple[int, ...] | None:
    value = next((fields[name] for name in names if name in fields), UNKNOWN)
    if value.kind != "items":
        return None
    found = [_number(element) for element in value.data[:rank]]
    return None if None in found or (rank is not None and len(found) < rank) else tuple(n for n in found if n is not None)


def _enumerator(value: Value) -> str | None:
    return value.data.rpartition("::")[2] if value.kind == "known" and isinstance(value.data, str) else None


def numbers(value: Value) -> tuple[int, ...] | None:
    """Return the integers of an array that is known entirely."""
    if value.kind != "items":
        return None
    found = [_number(element) for element in value.data]
    return None if None in found else tuple(n for n in found if n is not None)


def number(value: Value) -> float | None:
    """Return a number that is known."""
    known = value.kind == "known" and isinstance(value.data, (int, float)) and not isinstance(value.data, bool)
    return value.data if known else None


def enumerator(value: Value) -> str | None:
    """Return the name of an enumerator that is known."""
    return _enumerator(value)


def miopen_name(name: str, default: str) -> str:
    """Return MIOpen's name for an enumerator of cuDNN's."""
    return _counterparts().get(name, default)


@functools.cache
def _counterparts() -> Mapping[str, str]:
    values = [value for enumeration in mapping.table().enumerations for value in enumeration.values]
    return {value.cudnn: value.miopen for value in values if value.cudnn and value.miopen}
