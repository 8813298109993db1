"""Pointwise operations: every element of the output from the elements at its place, with NumPy's broadcasting."""

from __future__ import annotations

from ..api.arguments import maybe_number, maybe_whole, member_of, number
from ..enums import pointwise_mode
from ..layout import broadcast, like, overlap
from ..node import Attribute, Kind, Node, Port, register
from ..pointwise_modes import MODES

OPERANDS = ("IN_0", "IN_1", "IN_2")
_DEFAULTS = {
    "relu_lower_clip_slope": None,
    "relu_lower_clip": None,
    "relu_upper_clip": None,
    "elu_alpha": 1.0,
    "softplus_beta": 1.0,
    "swish_beta": 1.0,
    "axis": None,
}


def _settle(node: Node) -> None:
    mode = MODES[node["mode"]]
    given = [port for port in OPERANDS if node.has(port)]
    if given != list(OPERANDS[: mode.operands]):
        raise node.fail(
            "PG-POINTWISE-001",
            expected=f"{mode.operands} for {node['mode']}: {mode.formula}",
            got=f"{len(given)}",
            fix=f"pass {mode.operands} tensors",
        )
    for name, default in _DEFAULTS.items():
        if name not in mode.parameters and node[name] != default:
            heeded = ", ".join(mode.parameters) or "none"
            raise node.fail("PG-POINTWISE-004", argument=name, expected=f"one of {heeded}", got=f"{name}={node[name]}")
    _check_clips(node)
    dims = broadcast([node.dims(port) for port in given])
    if dims is None:
        raise _clash(node, given)
    if node["mode"] is pointwise_mode.GEN_INDEX:
        axis, rank = node["axis"], len(dims)
        if axis is None or not 0 <= axis < rank:
            raise node.fail(
                "PG-POINTWISE-003", argument="axis", expected=f"0 to {rank - 1}", got=axis, fix="pass axis=0"
            )
    model = next((port for port in given if node.dims(port) == dims), "IN_0")
    strides = node.strides(model)  # gaps included, as cudnn-frontend infers them
    if node.dims(model) != dims or overlap(dims, strides):
        strides = like(dims, node.dims(model), node.strides(model))
    node.settle("OUT_0", dims, strides, "the operands' dims, broadcast", "PG-POINTWISE-005")


def _check_clips(node: Node) -> None:
    lower, upper = node["relu_lower_clip"], node["relu_upper_clip"]
    if lower is not None and upper is not None and lower > upper:
        raise node.fail(
            "PG-POINTWISE-006",
            argument="lower_clip",
            expected=f"at most upper_clip = {upper}",
            got=lower,
            fix="swap them",
        )


def _clash(node: Node, given: list[str]) -> Exception:
    """Name the two tensors that do not broadcast, and the axis."""
    for i, first in enumerate(given):
        for second in given[i + 1 :]:
            a, b = node.dims(first), node.dims(second)
            if broadcast([a, b]) is None:
                axis = next(k for k in range(1, 1 + min(len(a), len(b))) if a[-k] != b[-k] and 1 not in (a[-k], b[-k]))
                fix = f"make dim {len(b) - axis} of {second} {a[-axis]} or 1"
                expected = f"{a[-axis]} or 1 in dim {len(b) - axis}, as {first} = {node.inputs[first].describe()}"
                return node.fail("PG-POINTWISE-002", second, expected=expected, got=b[-axis], fix=fix)
    return node.fail("PG-POINTWISE-002", expected="dims that broadcast", got=[list(node.dims(port)) for port in given])


register(
    Kind(
        "pointwise",
        (Port("IN_0", scalar=True), Port("IN_1", optional=True, scalar=True), Port("IN_2", optional=True, scalar=True)),
        (Port("OUT_0"),),
        _settle,
        (
            Attribute("mode", member_of(pointwise_mode)),
            *(
                Attribute(name, number if isinstance(default, float) else maybe_number, default)
                for name, default in _DEFAULTS.items()
                if name != "axis"
            ),
            Attribute("axis", maybe_whole, None),
        ),
    )
)
