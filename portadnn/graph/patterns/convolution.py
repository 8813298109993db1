"""Patterns around convolutions: with statistics, with bias and activation, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..data_types import data_type
from ..tensor import tensor
from .base import FLOAT, Builder, Pattern, channels, image, pattern

if TYPE_CHECKING:
    from ..api.pygraph import pygraph

PADDING = (1, 1)
X = (2, 16, 6, 5)
FILTERS = 8


def _scaled(graph: pygraph, x: tensor, prefix: str = "") -> tuple[list[tensor], tensor]:
    """Return scale and bias of each channel, and x with them applied."""
    c = x.get_dim()[1]
    named = [channels(graph, prefix + name, c, data_type=data_type.NOT_SET) for name in ("scale", "bias")]
    scaled = graph.scale(x, named[0], name=f"{prefix}apply_scale")
    return named, graph.bias(scaled, named[1], name=f"{prefix}apply_bias")


def _with_statistics(graph: pygraph, x: tensor, w: tensor, padding: Sequence[int]) -> dict[str, tensor]:
    """Add a convolution and genstats of its result."""
    y = graph.conv_fprop(x, w, padding=padding, name="conv")
    total, squares = graph.genstats(y, name="genstats")
    return {"Y": y, "sum": total.set_data_type(FLOAT), "sq_sum": squares.set_data_type(FLOAT)}


def conv_bn_fprop(graph: pygraph, x: Sequence[int] = X, filters: int = FILTERS) -> Pattern:
    """Y = conv(relu(scale * X + bias)), and each channel's sum and sum of squares: specification, ConvBNfprop."""
    given, w = image(graph, "X", x), image(graph, "W", (filters, x[1], 3, 3))
    named, scaled = _scaled(graph, given)
    return pattern([given, w, *named], **_with_statistics(graph, graph.relu(scaled, name="relu"), w, PADDING))


def dbarcs(graph: pygraph, x: Sequence[int] = X, filters: int = FILTERS) -> Pattern:
    """Two scaled images, added, relu, a 1 x 1 convolution and its statistics: specification, DBARCS."""
    given, dual = image(graph, "X", x), image(graph, "dual_X", x)
    w = image(graph, "W", (filters, x[1], 1, 1))
    named, scaled = _scaled(graph, given)
    dual_named, dual_scaled = _scaled(graph, dual, "dual_")
    relu = graph.relu(graph.add(scaled, dual_scaled, name="add"), name="relu")
    return pattern([given, dual, w, *named, *dual_named], Relu_Y=relu, **_with_statistics(graph, relu, w, (0, 0)))


def conv_bn_wgrad(graph: pygraph, x: Sequence[int] = X, filters: int = FILTERS) -> Pattern:
    """Return the filters' gradient of a convolution of relu(scale * X + bias): specification, ConvBNwgrad."""
    given, dy = image(graph, "X", x), image(graph, "dY", (x[0], filters, *x[2:]))
    named, scaled = _scaled(graph, given)
    dw = graph.conv_wgrad(graph.relu(scaled, name="relu"), dy, padding=PADDING, name="wgrad")
    return pattern([given, dy, *named], dW=dw.set_dim([filters, x[1], 3, 3]))


def conv_bias_act(
    graph: pygraph, x: Sequence[int] = X, filters: int = FILTERS, alpha1: float = 0.5, alpha2: float = 2.0
) -> Pattern:
    """Y = relu(alpha1 * conv(X) + alpha2 * Z + bias), with numbers: specification, ConvBiasAct."""
    given, w = image(graph, "X", x), image(graph, "W", (filters, x[1], 3, 3))
    z, bias = image(graph, "Z", (x[0], filters, *x[2:])), channels(graph, "bias", filters, data_type=data_type.NOT_SET)
    conv = graph.mul(graph.conv_fprop(given, w, padding=PADDING, name="conv"), alpha1, name="scale_conv")
    total = graph.add(conv, graph.mul(z, alpha2, name="scale_z"), name="add")
    return pattern([given, w, z, bias], Y=graph.relu(graph.bias(total, bias, name="add_bias"), name="relu"))


def conv_scale_bias_act(graph: pygraph, x: Sequence[int] = X, filters: int = FILTERS) -> Pattern:
    """Do as conv_bias_act on INT8, with FLOAT factors for each channel: specification, ConvScaleBiasAct."""
    int8 = data_type.INT8
    given, w = image(graph, "X", x, int8), image(graph, "W", (filters, x[1], 3, 3), int8)
    z = image(graph, "Z", (x[0], filters, *x[2:]), int8)
    alpha1, alpha2, bias = (channels(graph, name, filters) for name in ("alpha1", "alpha2", "bias"))
    conv = graph.conv_fprop(given, w, padding=PADDING, compute_data_type=data_type.INT32, name="conv")
    conv.set_data_type(data_type.INT32)
    total = graph.add(graph.scale(conv, alpha1, name="scale_conv"), graph.scale(z, alpha2, name="scale_z"), name="add")
    y = graph.relu(graph.bias(total, bias, name="add_bias"), name="relu").set_data_type(int8)
    return pattern([given, w, z, alpha1, alpha2, bias], Y=y)


def dgrad_drelu_bn_bwd_weight(graph: pygraph, x: Sequence[int] = X, filters: int = FILTERS) -> Pattern:
    """Return a convolution's gradient through relu to a batchnorm: specification, DgradDreluBNBwdWeight.

    The batchnorm's output is computed again from X; dScale, dBias and A, B, C follow, which dBNApply takes.
    """
    c = x[1]
    dy, w = image(graph, "dY", (x[0], filters, *x[2:])), image(graph, "W", (filters, c, 3, 3))
    given = image(graph, "X", x)
    mean, inverse, scale, bias = (channels(graph, name, c) for name in ("mean", "inv_std", "scale", "bias"))
    dx = graph.conv_dgrad(dy, w, padding=PADDING, name="dgrad").set_dim(x)
    normal = graph.mul(graph.sub(given, mean, name="center"), inverse, name="normalise")
    y = graph.bias(graph.scale(normal, scale, name="apply_scale"), bias, name="apply_bias")
    dy_bn = graph.relu_backward(dx, y, name="drelu")
    found = graph.dbn_weight(dy_bn, given, mean, inverse, scale, name="bn_bwd_weight")
    names = ("dScale", "dBias", "A", "B", "C")
    floats = {name: one.set_data_type(FLOAT) for name, one in zip(names, found, strict=True)}
    return pattern([dy, w, given, mean, inverse, scale, bias], dY_bn=dy_bn, **floats)


CONVOLUTION: dict[str, Builder] = {
    "ConvBNfprop": conv_bn_fprop,
    "DBARCS": dbarcs,
    "ConvBNwgrad": conv_bn_wgrad,
    "ConvBiasAct": conv_bias_act,
    "ConvScaleBiasAct": conv_scale_bias_act,
    "DgradDreluBNBwdWeight": dgrad_drelu_bn_bwd_weight,
}
