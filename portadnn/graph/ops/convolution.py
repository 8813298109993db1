"""Convolution and its two gradients. Groups follow from the channels: image channels / filter channels."""

from __future__ import annotations

from typing import Any

from ..api.arguments import integers, member_of
from ..enums import convolution_mode
from ..layout import Dims, channels_last
from ..node import Attribute, Kind, Node, Port, register


def _padded(node: Node, rank: int) -> None:
    """Fill in the attributes that were left out, one value for each spatial dim, and check them."""
    spatial = rank - 2
    for name, default, least in (("pre_padding", 0, 0), ("post_padding", 0, 0), ("stride", 1, 1), ("dilation", 1, 1)):
        values = node[name] or (default,) * spatial
        if len(values) != spatial:
            raise node.fail(
                "PG-CONV-001",
                argument=name,
                expected=f"{spatial} values for {spatial} spatial dims",
                got=list(values),
                fix=f"pass {name}={[default] * spatial}",
            )
        if min(values) < least:
            raise node.fail("PG-CONV-002", argument=name, expected=f"integers >= {least}", got=list(values))
        node.attributes[name] = values


def groups_of(image: Dims, filter: Dims) -> int:
    """Return the number of groups."""
    return image[1] // filter[1]


def _check(node: Node, image: str, filter: str) -> None:
    """Check ranks and channels of image and filter."""
    node.demand_rank(image, 3)
    x, w = node.dims(image), node.dims(filter)
    if len(w) != len(x):
        raise node.fail(
            "PG-CONV-003", filter, expected=f"{len(x)} dims, as {image}", got=len(w), fix="add or drop dims"
        )
    _padded(node, len(x))
    if x[1] % w[1]:
        raise node.fail(
            "PG-CONV-004",
            filter,
            expected=f"dim[1] that divides the {x[1]} channels of {image} = {_tensor(node, image).describe()}",
            got=w[1],
            fix=f"use {filter}.dim[1] = {x[1]}, or {x[1]} / groups",
        )
    groups = groups_of(x, w)
    if w[0] % groups:
        raise node.fail(
            "PG-CONV-005",
            filter,
            expected=f"dim[0] that is a multiple of the {groups} groups ({image}.dim[1] / {filter}.dim[1])",
            got=w[0],
            fix=f"use {filter}.dim[0] = {-(-w[0] // groups) * groups}",
        )


def _tensor(node: Node, port: str) -> Any:
    return node.inputs.get(port) or node.outputs[port]


def _output(node: Node, image: str, filter: str) -> Dims:
    """Return the dims of the convolution's result."""
    x, w = node.dims(image), node.dims(filter)
    sizes = []
    for i in range(len(x) - 2):
        reach = node["dilation"][i] * (w[i + 2] - 1) + 1
        room = x[i + 2] + node["pre_padding"][i] + node["post_padding"][i]
        if room < reach:
            raise node.fail(
                "PG-CONV-006",
                filter,
                expected=f"a dilated filter of at most {room} in dim {i + 2}, the padded image",
                got=reach,
                fix="pad more, dilate less, or take a smaller filter",
            )
        sizes.append(1 + (room - reach) // node["stride"][i])
    return (x[0], w[0], *sizes)


_OUT = "1 + (x + pre_padding + post_padding - dilation * (w - 1) - 1) // stride"


def _fprop(node: Node) -> None:
    _check(node, "X", "W")
    dims = _output(node, "X", "W")
    node.settle("Y", dims, channels_last(dims), _OUT)


def _dgrad_candidate(node: Node) -> Dims:
    """Return the smallest image that the loss can be of."""
    dy, w = node.dims("DY"), node.dims("W")
    sizes = [
        (dy[i + 2] - 1) * node["stride"][i]
        + node["dilation"][i] * (w[i + 2] - 1)
        + 1
        - node["pre_padding"][i]
        - node["post_padding"][i]
        for i in range(len(dy) - 2)
    ]
    return (dy[0], w[1], *sizes)


def _dgrad(node: Node) -> None:
    node.demand_rank("DY", 3)
    if len(node.dims("W")) != len(node.dims("DY")):
        raise node.fail("PG-CONV-003", "W", expected=f"{len(node.dims('DY'))} dims, as DY", got=len(node.dims("W")))
    _padded(node, len(node.dims("DY")))
    if not node.dims("DX"):
        guess = list(_dgrad_candidate(node))
        raise node.fail(
            "PG-CONV-007",
            "DX",
            expected="dims set by the program: with groups or strides several images lead to one loss",
            fix=f"dx.set_dim({guess}) is the smallest with one group",
        )
    _settle_gradient(node, "DX", "W", "DX")


def _wgrad(node: Node) -> None:
    node.demand_rank("X", 3)
    if not node.dims("DW"):
        x, dy = node.dims("X"), node.dims("DY")
        raise node.fail(
            "PG-CONV-008",
            "DW",
            expected="dims set by the program: several filters lead to one loss",
            fix=f"dw.set_dim([{dy[1] if len(dy) > 1 else 'K'}, {x[1]}, R, S]) with the filter's height and width",
        )
    _settle_gradient(node, "X", "DW", "DW")


def _settle_gradient(node: Node, image: str, filter: str, out: str) -> None:
    """Check that the loss is what the convolution of image and filter has as its result."""
    _check(node, image, filter)
    node.demand_dims("DY", _output(node, image, filter), f"the convolution's result: {_OUT}")
    node.settle(out, node.dims(out), channels_last(node.dims(out)), "as set")


_ATTRIBUTES = (
    Attribute("pre_padding", integers, ()),
    Attribute("post_padding", integers, ()),
    Attribute("stride", integers, ()),
    Attribute("dilation", integers, ()),
    Attribute("convolution_mode", member_of(convolution_mode), convolution_mode.CROSS_CORRELATION),
)
register(Kind("conv_fprop", (Port("X"), Port("W")), (Port("Y"),), _fprop, _ATTRIBUTES))
register(Kind("conv_dgrad", (Port("DY"), Port("W")), (Port("DX"),), _dgrad, _ATTRIBUTES))
register(Kind("conv_wgrad", (Port("X"), Port("DY")), (Port("DW"),), _wgrad, _ATTRIBUTES))
