"""Patterns around batch normalisation: BnAddRelu, DReluForkDBn and dBNApply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..data_types import data_type
from .base import FLOAT, Builder, Pattern, channels, image, pattern

if TYPE_CHECKING:
    from ..api.pygraph import pygraph


PARAMETERS = ("scale", "bias", "running_mean", "running_var")


def bn_add_relu(
    graph: pygraph, x: Sequence[int] = (2, 16, 6, 5), epsilon: float = 1e-3, momentum: float = 0.1
) -> Pattern:
    """Y = relu(batchnorm(X) + Z) in training, with the mask Y > 0: specification, BnAddRelu."""
    c, rank = x[1], len(x)
    given, z = image(graph, "X", x), image(graph, "Z", x)
    scale, bias, mean, var = (channels(graph, name, c, rank) for name in PARAMETERS)
    out, *statistics = graph.batchnorm(given, scale, bias, mean, var, epsilon, momentum, name="batchnorm")
    assert out is not None
    y = graph.relu(graph.add(out, z, name="add"), name="relu")
    mask = graph.cmp_gt(y, 0.0, name="gt").set_data_type(data_type.BOOLEAN)
    names = ("mean", "inv_variance", "next_running_mean", "next_running_var")
    found = {name: one.set_data_type(FLOAT) for name, one in zip(names, statistics, strict=True) if one is not None}
    return pattern([given, z, scale, bias, mean, var], Y=y, mask=mask, **found)


def drelu_fork_dbn(graph: pygraph, x: Sequence[int] = (2, 16, 6, 5)) -> Pattern:
    """Return dY where the mask of BnAddRelu is set, and the batchnorm's gradients: specification, DReluForkDBn."""
    c, rank = x[1], len(x)
    dy, given = image(graph, "dY", x), image(graph, "X", x)
    mask = image(graph, "mask", x, data_type.BOOLEAN)
    scale, mean, inverse = (channels(graph, name, c, rank) for name in ("scale", "mean", "inv_variance"))
    dz = graph.relu_backward(dy, mask, name="drelu")
    dx, dscale, dbias = graph.batchnorm_backward(dz, given, scale, mean, inverse, name="dbn")
    floats = {"dScale": dscale.set_data_type(FLOAT), "dBias": dbias.set_data_type(FLOAT)}
    return pattern([dy, given, mask, scale, mean, inverse], dZ=dz, dX=dx, **floats)


def dbn_apply(graph: pygraph, x: Sequence[int] = (2, 16, 6, 5)) -> Pattern:
    """Return dX = A * dY + B * X + C, with what DgradDreluBNBwdWeight found: specification, dBNApply."""
    dy, given = image(graph, "dY", x), image(graph, "X", x)
    a, b, c = (channels(graph, name, x[1], len(x)) for name in "ABC")
    total = graph.add(graph.mul(dy, a, name="scale_dy"), graph.mul(given, b, name="scale_x"), name="add")
    return pattern([dy, given, a, b, c], dX=graph.add(total, c, name="bias"))


NORMALIZATION: dict[str, Builder] = {
    "BnAddRelu": bn_add_relu,
    "DReluForkDBn": drelu_fork_dbn,
    "dBNApply": dbn_apply,
}
