"""Resampling: pooling, with the place of each maximum on request, and bilinear or nearest interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ...errors import shown
from ..api.arguments import MOST_WHOLE, flag, integers, listed, member_of
from ..data_types import data_type
from ..enums import padding_mode, resample_mode
from ..layout import Dims, channels_last
from ..node import Attribute, Kind, Node, Port, register
from ..rules import fail

POOLING = (resample_mode.AVGPOOL_EXCLUDE_PADDING, resample_mode.AVGPOOL_INCLUDE_PADDING, resample_mode.MAXPOOL)
_PADDING_OF = {
    resample_mode.MAXPOOL: padding_mode.NEG_INF_PAD,
    resample_mode.AVGPOOL_EXCLUDE_PADDING: padding_mode.ZERO_PAD,
    resample_mode.AVGPOOL_INCLUDE_PADDING: padding_mode.ZERO_PAD,
    resample_mode.BILINEAR: padding_mode.EDGE_VAL_PAD,
    resample_mode.NEAREST: padding_mode.EDGE_VAL_PAD,
}


def fractions(values: Any, name: str) -> tuple[Fraction, ...]:
    """Return exact fractions: strides and paddings of an interpolation are multiples of a half and the like."""
    expected = "a list of numbers or fractions"
    items = listed(values, name, expected=expected)
    try:
        found = tuple(Fraction(value).limit_denominator(1 << 20) for value in items)
    except Exception:  # a user's numbers may raise anything
        raise fail("PG-NODE-004", argument=name, expected=expected, got=shown(items)) from None
    if any(abs(value) > MOST_WHOLE for value in found):
        raise fail("PG-NODE-004", argument=name, expected=f"{expected} of 64 bits", got=shown(items))
    return found


def _windows(node: Node) -> None:
    """Check window, padding and stride, one value for each spatial dim."""
    node.demand_rank("X", 4, 5)
    spatial = len(node.dims("X")) - 2
    for name, default in (("window", None), ("pre_padding", 0), ("post_padding", 0), ("stride", 1)):
        values: Sequence[Any] = node[name] or (() if default is None else (Fraction(default),) * spatial)
        if len(values) != spatial:
            raise node.fail(
                "PG-RESAMPLE-001",
                argument=name,
                expected=f"{spatial} values for {spatial} spatial dims",
                got=len(values),
            )
        node.attributes[name] = tuple(values)
    if min(node["window"]) < 1 or min(node["stride"]) <= 0 or min(node["pre_padding"] + node["post_padding"]) < 0:
        raise node.fail(
            "PG-RESAMPLE-002",
            argument="window",
            expected="windows of at least 1, strides above 0, paddings of at least 0",
            got=f"window {_text(node['window'])}, stride {_text(node['stride'])}",
        )
    whole = all(v.denominator == 1 for name in ("pre_padding", "post_padding", "stride") for v in node[name])
    if node["mode"] in POOLING and not whole:
        raise node.fail(
            "PG-RESAMPLE-003", argument="stride", expected=f"whole numbers for {node['mode']}", got="fractions"
        )


def _text(values: Sequence[Any]) -> str:
    return str([str(value) for value in values])


def _check_padding(node: Node) -> None:
    wanted = _PADDING_OF[node["mode"]]
    if node["padding_mode"] is padding_mode.NOT_SET:
        node.attributes["padding_mode"] = wanted
    if node["padding_mode"] is not wanted:
        raise node.fail(
            "PG-RESAMPLE-004",
            argument="padding_mode",
            expected=f"{wanted} for {node['mode']}",
            got=node["padding_mode"],
            fix=f"pass padding_mode.{wanted} or leave it out",
        )


def _output(node: Node) -> Dims:
    """Return floor((x + pre + post - window) / stride) + 1 for each spatial dim."""
    x = node.dims("X")
    sizes = []
    for i, size in enumerate(x[2:]):
        room = size + node["pre_padding"][i] + node["post_padding"][i] - node["window"][i]
        if room < 0:
            raise node.fail(
                "PG-RESAMPLE-005",
                "X",
                expected=f"a padded image of at least the window {node['window'][i]} in dim {i + 2}",
                got=str(room + node["window"][i]),
                fix="pad more or take a smaller window",
            )
        sizes.append(int(room // node["stride"][i]) + 1)
    return (*x[:2], *sizes)


_OUT = "floor((x + pre_padding + post_padding - window) / stride) + 1"


def _forward(node: Node) -> None:
    _windows(node)
    _check_padding(node)
    dims = _output(node)
    node.settle("Y", dims, channels_last(dims), _OUT)
    if not node["generate_index"]:
        node.outputs.pop("INDEX", None)
    elif node["mode"] is not resample_mode.MAXPOOL:
        raise node.fail(
            "PG-RESAMPLE-006", argument="generate_index", expected="False: only MAXPOOL has indices", got="True"
        )
    if node.has("INDEX"):
        index = node.outputs["INDEX"]
        if index.get_data_type() is data_type.NOT_SET:
            index.set_data_type(data_type.INT32)
        if index.get_data_type().is_float or index.get_data_type() is data_type.BOOLEAN:
            raise node.fail(
                "PG-RESAMPLE-007",
                "INDEX",
                expected="an integer type",
                got=index.get_data_type(),
                fix="set INT8 or INT32",
            )
        node.settle("INDEX", dims, channels_last(dims), "as Y")


def _backward(node: Node) -> None:
    if node["mode"] not in POOLING:
        raise node.fail(
            "PG-RESAMPLE-008", argument="mode", expected="a pooling: the others have no gradient", got=node["mode"]
        )
    if not node.has("X"):
        _backward_by_index(node)
        return
    _windows(node)
    _check_padding(node)
    dims = _output(node)
    for port in ("DY", "Y", "INDEX"):
        node.demand_dims(port, dims, _OUT)
    node.settle("DX", node.dims("X"), node.strides("X"), "as X")


def _backward_by_index(node: Node) -> None:
    """Without X its dims are those that were set for DX."""
    if node["mode"] is resample_mode.MAXPOOL and not node.has("INDEX"):
        raise node.fail(
            "PG-RESAMPLE-009", "INDEX", expected="an index tensor or X", fix="pass index=, of resample, or x="
        )
    if not node.dims("DX"):
        raise node.fail(
            "PG-RESAMPLE-010", "DX", expected="dims set by the program, or X", fix="dx.set_dim([n, c, h, w])"
        )
    node.inputs["X"] = node.outputs["DX"]  # for the checks, which ask for the image's dims
    try:
        _windows(node)
        _check_padding(node)
        dims = _output(node)
    finally:
        del node.inputs["X"]
    for port in ("DY", "INDEX"):
        node.demand_dims(port, dims, _OUT)
    node.settle("DX", node.dims("DX"), channels_last(node.dims("DX")), "as set")


_ATTRIBUTES = (
    Attribute("mode", member_of(resample_mode)),
    Attribute("padding_mode", padding_mode.parse, padding_mode.NOT_SET),
    Attribute("window", integers, ()),
    Attribute("pre_padding", fractions, ()),
    Attribute("post_padding", fractions, ()),
    Attribute("stride", fractions, ()),
)
register(
    Kind(
        "resample",
        (Port("X"),),
        (Port("Y"), Port("INDEX", optional=True)),
        _forward,
        (*_ATTRIBUTES, Attribute("generate_index", flag, False)),
    )
)
register(
    Kind(
        "resample_backward",
        (Port("DY"), Port("X", optional=True), Port("Y", optional=True), Port("INDEX", optional=True)),
        (Port("DX"),),
        _backward,
        _ATTRIBUTES,
    )
)
