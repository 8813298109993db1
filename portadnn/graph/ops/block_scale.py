"""Block scaling: a scale for each block of elements (MXFP8, NVFP4), and back.

``Y = X * SCALE`` of each block's scale, and quantising: the scale is the block's largest magnitude divided by the
largest number of Y's type, rounded to the scale's type (E8M0: up, so that nothing saturates); Y is X divided by the
scale that was stored, rounded to nearest. cuDNN's documentation leaves that rounding open.
"""

from __future__ import annotations

import math

from ...problem import strides_in
from ..api.arguments import flag, integers, maybe_whole, whole
from ..data_types import data_type
from ..enums import tensor_reordering
from ..layout import Dims, like, order_of
from ..node import Attribute, Kind, Node, Port, register

QUANTISED = (data_type.FP8_E4M3, data_type.FP8_E5M2, data_type.FP4_E2M1)
SCALES = (data_type.FP8_E8M0, data_type.FP8_E4M3)


def blocks_of(block_size: Dims, rank: int) -> Dims:
    """Return the elements of a block along each axis; sizes are those of the last axes."""
    return (*(1,) * (rank - len(block_size)), *block_size)


def scales_of(dims: Dims, sizes: Dims) -> Dims:
    """Return the number of blocks along each axis."""
    return tuple(math.ceil(size / block) for size, block in zip(dims, sizes, strict=True))


def _check_type(node: Node, port: str, wanted: tuple[data_type, ...]) -> None:
    one = node.inputs.get(port) or node.outputs[port]
    if one.get_data_type() not in wanted:
        names = ", ".join(kind.name for kind in wanted)
        raise node.fail("PG-SCALE-001", port, expected=names, got=one.get_data_type(), fix="set_data_type(...)")


def _check_scale(node: Node, dims: Dims) -> None:
    """Demand a scale for each block, and at most the padding of tiles."""
    scale = node.inputs.get("SCALE") or node.outputs["SCALE"]
    tiled = scale.get_reordering_type() is tensor_reordering.F8_128x4
    fits = len(scale.dims) == len(dims) and all(have >= want for have, want in zip(scale.dims, dims, strict=True))
    if not fits or (not tiled and scale.dims != dims):
        at_least = "at least " if tiled else ""
        raise node.fail("PG-SCALE-002", "SCALE", expected=f"{at_least}{list(dims)} scales", got=list(scale.dims))


def _dequantize(node: Node) -> None:
    dims, sizes = node.dims("X"), node["block_size"]
    _check_type(node, "X", QUANTISED)
    _check_type(node, "SCALE", SCALES)
    if not 0 < len(sizes) <= len(dims) or min(sizes) < 1:
        raise node.fail("PG-SCALE-003", argument="block_size", expected=f"1 to {len(dims)} sizes", got=list(sizes))
    _check_scale(node, scales_of(dims, blocks_of(sizes, len(dims))))
    if not node.outputs["Y"].get_is_virtual():
        fix = "identity() of it, as the output"
        raise node.fail("PG-SCALE-004", "Y", expected="a virtual tensor", got="an output of the graph", fix=fix)
    node.settle("Y", dims, like(dims, dims, node.strides("X")), "as X")


def _quantize(node: Node) -> None:
    dims, size = node.dims("X"), node["block_size"]
    axis = len(dims) - 1 if node["axis"] is None else node["axis"]
    if not -len(dims) <= axis < len(dims):
        raise node.fail("PG-SCALE-003", argument="axis", expected=f"an axis of {len(dims)} dims", got=axis)
    axis = node.attributes["axis"] = axis % len(dims)
    if size < 1 or dims[axis] % size:
        wanted = f"a divisor of {dims[axis]}, the size of axis {axis}"
        raise node.fail("PG-SCALE-003", argument="block_size", expected=wanted, got=size)
    _check_type(node, "Y", QUANTISED)
    _check_type(node, "SCALE", SCALES)
    order = order_of(dims, node.strides("X"))
    if node["transpose"]:  # the blocks' axis is the fastest
        place = order.index(axis)
        order = [*order[place + 1 :], *order[: place + 1]]
    node.settle("Y", dims, strides_in(dims, order), "as X")
    scales = (*dims[:axis], dims[axis] // size, *dims[axis + 1 :])
    if node.outputs["SCALE"].dims:
        _check_scale(node, scales)
        scales = node.dims("SCALE")
    node.settle("SCALE", scales, strides_in(scales, order), "one for each block")


register(
    Kind(
        "block_scale_dequantize",
        (Port("X"), Port("SCALE")),
        (Port("Y"),),
        _dequantize,
        (Attribute("block_size", integers), Attribute("is_negative_scale", flag, False)),
        blocks=frozenset({"X", "SCALE"}),
    )
)
register(
    Kind(
        "block_scale_quantize",
        (Port("X"),),
        (Port("Y"), Port("SCALE")),
        _quantize,
        (Attribute("block_size", whole), Attribute("axis", maybe_whole, None), Attribute("transpose", flag, False)),
        blocks=frozenset({"Y", "SCALE"}),
    )
)
