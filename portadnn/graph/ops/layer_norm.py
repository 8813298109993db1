"""Layer, adaptive layer, RMS and instance normalisation, and their gradients.

The parameters say what is normalised together: the axes along which ``scale`` has the size of x.
"""

from __future__ import annotations

import math

from ..api.arguments import flag, member_of
from ..enums import norm_forward_phase
from ..layout import Dims, channels_last, like, row_major, span
from ..node import Attribute, Kind, Node, Port, register
from .batch_norm import demand_scalars
from .reduction import channel_dims

TRAINING = norm_forward_phase.TRAINING


def _demand_pattern(node: Node, scale: Dims, *, fixed: int = 0) -> None:
    """Demand a scale whose dims are 1 or x's, from axis `fixed` on, and x's along at least one axis."""
    x = node.dims("X")
    fits = len(scale) == len(x) and all(s in (1, d) for s, d in zip(scale[fixed:], x[fixed:], strict=True))
    if not fits or (all(s == 1 for s in scale[fixed:]) and any(d != 1 for d in x[fixed:])):
        ones = [*x[:fixed], *(1,) * (len(x) - fixed - 1), x[-1]]
        raise node.fail(
            "PG-NORM-002",
            "SCALE",
            expected=f"{len(x)} dims, each 1 or as X {list(x)}, and as X along what is normalised",
            got=list(scale),
            fix=f"use dims {ones} to normalise the last dim",
        )


def _settle_rank(node: Node, port: str, ends: bool) -> None:
    """Give an input with another number of dims than x, but sizes of x's own, x's number of them.

    cuDNN reads as many packed numbers as it needs there, whatever their dims are. They are x's last dims (`ends`), as
    scale is, or the first ones, as statistics are.
    """
    x, given = node.dims("X"), node.inputs[port]
    dims = given.get_dim()
    if len(dims) == len(x) or not dims or given.producer is not None:
        return
    if span(dims, node.strides(port)) != math.prod(dims):
        return
    left, found = [size for size in dims if size != 1], [1] * len(x)
    for axis in reversed(range(len(x))) if ends else range(len(x)):
        if left and x[axis] == left[-1 if ends else 0]:
            found[axis] = left.pop(-1 if ends else 0)
    if not left:
        given.set_dim(found).set_stride(like(tuple(found), x, node.strides("X")))


def statistics_dims(kind: str, x: Dims, scale: Dims) -> Dims:
    """Return the dims of mean and inverse deviation: x's where nothing is normalised, else 1."""
    if kind.startswith("instancenorm"):
        return (*x[:2], *(1,) * (len(x) - 2))
    if kind.startswith("adalayernorm"):
        return (x[0], *(d if s == 1 else 1 for s, d in zip(scale[1:], x[1:], strict=True)))
    return tuple(d if s == 1 else 1 for s, d in zip(scale, x, strict=True))


def parameter_dims(kind: str, node: Node) -> Dims:
    """Return the dims that scale must have, having checked them."""
    if kind.startswith("instancenorm"):
        return channel_dims(node, "X")
    scale = node.dims("SCALE")
    if kind.startswith("adalayernorm"):
        _demand_pattern(node, scale, fixed=1)
        return (node.dims("X")[0], *scale[1:])
    _demand_pattern(node, scale)
    return scale


def _forward(node: Node) -> None:
    kind = node.kind.name
    x, parameters = node.dims("X"), parameter_dims(kind, node)
    for port in ("SCALE", "BIAS"):
        node.demand_dims(port, parameters, "as the parameters of this normalisation")
    demand_scalars(node, "EPSILON")
    node.settle_like("Y", "X")
    if node["phase"] is not TRAINING:
        for port in ("MEAN", "INV_VARIANCE"):
            node.outputs.pop(port, None)
    statistics = statistics_dims(kind, x, parameters)
    for port in ("MEAN", "INV_VARIANCE"):
        node.settle(
            port, statistics, like(statistics, x, node.strides("X")), "one for each that is normalised together"
        )


def _backward(node: Node) -> None:
    kind = node.kind.name
    if kind in ("layernorm_backward", "rmsnorm_backward"):
        _settle_rank(node, "SCALE", ends=True)
    if kind == "rmsnorm_backward":
        _settle_rank(node, "INV_VARIANCE", ends=False)
    x, parameters = node.dims("X"), parameter_dims(kind, node)
    node.demand_dims("DY", x, "as X")
    node.demand_dims("SCALE", parameters, "as the parameters of this normalisation")
    statistics = statistics_dims(kind, x, parameters)
    for port in ("MEAN", "INV_VARIANCE"):
        node.demand_dims(port, statistics, "one for each that is normalised together")
    if kind == "instancenorm_backward" and node.has("MEAN") != node.has("INV_VARIANCE"):
        raise node.fail(
            "PG-NORM-005", "INV_VARIANCE", expected="mean and inv_variance together", fix="pass both or none"
        )
    order = row_major if kind.startswith("adalayernorm") else channels_last
    node.settle("DX", x, order(x), "as X")
    for port in ("DSCALE", "DBIAS", "Dscale", "Dbias"):
        node.settle(port, parameters, order(parameters), "as scale")


def _rms_backward(node: Node) -> None:
    if not node["has_dbias"]:
        node.outputs.pop("Dbias", None)
    _backward(node)


_X, _SCALE, _BIAS = Port("X"), Port("SCALE"), Port("BIAS")
_EPSILON = Port("EPSILON", scalar=True)
_MEAN, _INVERSE = Port("MEAN"), Port("INV_VARIANCE")
_SAVED = (Port("MEAN", optional=True), Port("INV_VARIANCE", optional=True))
_PHASE = (Attribute("phase", member_of(norm_forward_phase)),)
_GRADIENTS = (Port("DX"), Port("DSCALE"), Port("DBIAS"))

for _name, _bias in (("layernorm", _BIAS), ("adalayernorm", Port("BIAS", optional=True)), ("instancenorm", _BIAS)):
    register(Kind(_name, (_X, _SCALE, _bias, _EPSILON), (Port("Y"), *_SAVED), _forward, _PHASE))
for _name in ("layernorm_backward", "adalayernorm_backward"):
    register(Kind(_name, (Port("DY"), _X, _SCALE, _MEAN, _INVERSE), _GRADIENTS, _backward))
register(Kind("instancenorm_backward", (Port("DY"), _X, _SCALE, *_SAVED), _GRADIENTS, _backward))
register(
    Kind(
        "rmsnorm",
        (_X, _SCALE, Port("BIAS", optional=True), _EPSILON),
        (Port("Y"), Port("INV_VARIANCE", optional=True)),
        _forward,
        _PHASE,
    )
)
register(
    Kind(
        "rmsnorm_backward",
        (Port("DY"), _X, _SCALE, _INVERSE),
        (Port("DX"), Port("Dscale"), Port("Dbias", optional=True)),
        _rms_backward,
        (Attribute("has_dbias", flag, True),),
    )
)
