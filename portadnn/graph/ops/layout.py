"""What only moves elements: slice, reshape, transpose and concatenate."""

from __future__ import annotations

import math
from typing import Any

from ...errors import shown
from ..api.arguments import integers, listed, maybe_whole, member_of, whole
from ..enums import reshape_mode
from ..layout import like, row_major
from ..node import Attribute, Kind, Node, Port, register
from ..rules import fail

_SLICES = "a list of Python slices"


def slices(value: Any, name: str) -> tuple[tuple[int | None, int | None, int | None], ...]:
    """Return (start, stop, step) of Python slices, hashable."""
    return tuple(_slice_parts(part, f"{name}[{i}]") for i, part in enumerate(listed(value, name, expected=_SLICES)))


def _slice_parts(part: Any, name: str) -> tuple[int | None, int | None, int | None]:
    if isinstance(part, slice):
        part = (part.start, part.stop, part.step)
    if type(part) is not tuple or len(part) != 3:
        raise fail("PG-NODE-004", argument=name, expected="a Python slice", got=shown(part))
    start, stop, step = (maybe_whole(one, name) for one in part)
    return start, stop, step


def slice_ranges(parts: Any, dims: tuple[int, ...]) -> list[range]:
    """Return the places along each axis that slices take; axes without a slice are taken whole."""
    whole_axes = [(None, None, None)] * (len(dims) - len(parts))
    return [range(*slice(*part).indices(size)) for part, size in zip([*parts, *whole_axes], dims, strict=True)]


def _slice(node: Node) -> None:
    dims = node.dims("X")
    if len(node["slices"]) > len(dims):
        raise node.fail(
            "PG-SHAPE-001",
            argument="slices",
            expected=f"at most {len(dims)}, one for each dim",
            got=len(node["slices"]),
        )
    for axis, (_, _, step) in enumerate(node["slices"]):
        if step is not None and step < 1:
            raise node.fail("PG-SHAPE-002", argument=f"slices[{axis}].step", expected="at least 1", got=step)
    taken = slice_ranges(node["slices"], dims)
    for axis, places in enumerate(taken):
        if not places:
            raise node.fail(
                "PG-SHAPE-003",
                "X",
                argument=f"slices[{axis}]",
                expected=f"places within {dims[axis]} elements",
                got=slice(*node["slices"][axis]),
                fix="stop must lie behind start",
            )
    out = tuple(len(places) for places in taken)
    strides = tuple(s * places.step for s, places in zip(node.strides("X"), taken, strict=True))
    virtual = node.outputs["Y"].get_is_virtual()
    node.settle("Y", out, strides if virtual else like(out, dims, node.strides("X")), "ceil((stop - start) / step)")


def _reshape(node: Node) -> None:
    x, y = node.dims("X"), node.dims("Y")
    if not y:
        raise node.fail(
            "PG-SHAPE-004",
            "Y",
            expected="dims set by the program",
            fix=f"y.set_dim([...]) with {math.prod(x)} elements",
        )
    if math.prod(x) != math.prod(y):
        raise node.fail(
            "PG-SHAPE-005",
            "Y",
            expected=f"{math.prod(x)} elements, as X",
            got=f"{math.prod(y)} of {list(y)}",
            fix="change the dims",
        )
    node.settle("Y", y, row_major(y), "as set")


def _transpose(node: Node) -> None:
    dims, order = node.dims("X"), node["permutation"]
    if sorted(order) != list(range(len(dims))):
        raise node.fail(
            "PG-SHAPE-006",
            argument="permutation",
            expected=f"each of 0 to {len(dims) - 1} once",
            got=list(order),
            fix=f"{list(range(len(dims)))} in another order",
        )
    strides = node.strides("X")
    node.settle("Y", [dims[i] for i in order], [strides[i] for i in order], "X's, permuted")


def _concatenate(node: Node) -> None:
    ports = node.many("IN")
    if not ports:
        raise node.fail("PG-SHAPE-007", argument="inputs", expected="at least one tensor", got="none")
    first = node.dims(ports[0])
    axis = node["axis"]
    if not -len(first) <= axis < len(first):
        raise node.fail("PG-SHAPE-008", argument="axis", expected=f"an axis of {len(first)} dims", got=axis)
    axis = node.attributes["axis"] = axis % len(first)
    for port in ports[1:]:
        dims = node.dims(port)
        wanted = (*first[:axis], dims[axis] if len(dims) > axis else 0, *first[axis + 1 :])
        node.demand_dims(port, wanted, f"as {ports[0]} but for axis {axis}")
    index = node["in_place_index"]
    if index is not None and not 0 <= index < len(ports):
        raise node.fail(
            "PG-SHAPE-009", argument="in_place_index", expected=f"0 to {len(ports) - 1}, or None", got=index
        )
    dims = (*first[:axis], sum(node.dims(port)[axis] for port in ports), *first[axis + 1 :])
    node.settle("Y", dims, like(dims, first, node.strides(ports[0])), "the inputs' dims, added up along the axis")


_X, _Y = (Port("X"),), (Port("Y"),)
register(Kind("slice", _X, _Y, _slice, (Attribute("slices", slices),), computes=False, same_type=True))
register(
    Kind(
        "reshape",
        _X,
        _Y,
        _reshape,
        (Attribute("reshape_mode", member_of(reshape_mode), reshape_mode.VIEW_ONLY),),
        computes=False,
        same_type=True,
    )
)
register(Kind("transpose", _X, _Y, _transpose, (Attribute("permutation", integers),), computes=False, same_type=True))
register(
    Kind(
        "concatenate",
        (Port("IN", many=True),),
        _Y,
        _concatenate,
        (Attribute("axis", whole), Attribute("in_place_index", maybe_whole, None)),
        computes=False,
        same_type=True,
    )
)
