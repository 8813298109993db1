"""Regions of a traced program that become a graph: a convolution or product, and the pointwise steps behind it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from . import ops as _operators  # noqa: F401  # defines torch.ops.portadnn

aten = torch.ops.aten


@dataclass
class Step:
    """A node of the graph to come.

    Attributes
    ----------
    method
        Of :class:`portadnn.graph.pygraph`.
    operands
        Each a number, or ``("input", i)`` for an argument of the region, or ``("step", i)`` for an earlier result.
    options
        Keyword arguments.
    """

    method: str
    operands: list[Any]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Found:
    """A region: what it reads, its steps, and the traced nodes that it takes the place of, in their order.

    Attributes
    ----------
    inputs
        Nodes, or for the scale and shift of a norm a node and which of the two.
    """

    inputs: list[fx.Node]
    steps: list[Step]
    nodes: list[fx.Node]
    norms: dict[fx.Node, tuple[int, int]]  # a norm's node: the inputs that are its scale and its shift

    def input(self, node: fx.Node) -> tuple[str, int]:
        """Return the operand that stands for a node outside of the region."""
        if node not in self.inputs:
            self.inputs.append(node)
        return ("input", self.inputs.index(node))


# pointwise steps -------------------------------------------------------------------------------------------------

_UNARY = {
    aten.relu.default: "relu",
    aten.sigmoid.default: "sigmoid",
    aten.tanh.default: "tanh",
    aten.silu.default: "swish",
    aten.neg.default: "neg",
    aten.abs.default: "abs",
    aten.exp.default: "exp",
    aten.sqrt.default: "sqrt",
    aten.rsqrt.default: "rsqrt",
}
_BINARY = {
    aten.add.Tensor: "add",
    aten.sub.Tensor: "sub",
    aten.mul.Tensor: "mul",
    aten.div.Tensor: "div",
}
_MODES = {"relu": "relu", "sigmoid": "sigmoid", "tanh": "tanh", "swish": "swish"}
_NORMS = (
    aten._native_batch_norm_legit_no_training.default,
    torch.ops.portadnn.batch_norm_inference.default,
)


def value_of(node: Any) -> torch.Tensor | None:
    """Return the tensor without data that a node stands for."""
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return value if isinstance(value, torch.Tensor) else None


def _fits(node: Any, result: torch.Tensor) -> bool:
    """Tell whether a node's tensor is broadcast to a result's dims and has its type."""
    value = value_of(node)
    if value is None or value.dtype is not result.dtype or value.device != result.device or value.dim() > result.dim():
        return False
    return all(a in (1, b) for a, b in zip(reversed(value.shape), reversed(result.shape), strict=False))


def _pointwise(found: Found, node: fx.Node, before: fx.Node) -> list[Step] | None:
    """Return the steps of a node behind another, or None for what is no such step."""
    last = ("step", len(found.steps) - 1)
    target, args = node.target, node.args
    result, source = value_of(node), value_of(before)
    if result is None or source is None or result.shape != source.shape or result.dtype is not source.dtype:
        return None
    if target in _UNARY:
        return [Step(_UNARY[target], [last])]
    if target is aten.gelu.default:
        tanh = node.kwargs.get("approximate", "none") == "tanh"
        return [Step("gelu_approx_tanh" if tanh else "gelu", [last])]
    if target is aten.hardtanh.default:
        low, high = (*args[1:], *(-1.0, 1.0)[len(args) - 1 :])
        clipped = Step("max", [last, float(low)])
        return [clipped, Step("min", [("step", len(found.steps)), float(high)])]
    if target is torch.ops.portadnn.activation.default and args[1] in _MODES:
        return [Step(_MODES[args[1]], [last])] if args[1] != "swish" or args[3] == 1.0 else None
    if target in _BINARY and node.kwargs.get("alpha", 1) == 1:
        return _binary(found, node, before, result)
    return None


def _binary(found: Found, node: fx.Node, before: fx.Node, result: torch.Tensor) -> list[Step] | None:
    operands: list[Any] = []
    for arg in node.args:
        if arg is before:
            operands.append(("step", len(found.steps) - 1))
        elif isinstance(arg, (int, float)) and not isinstance(arg, bool):
            operands.append(float(arg))
        elif _fits(arg, result):
            operands.append(arg)
        else:
            return None
    return [Step(_BINARY[node.target], [found.input(a) if isinstance(a, fx.Node) else a for a in operands])]


def _norm(found: Found, node: fx.Node) -> tuple[list[Step], fx.Node] | None:
    """Return the steps of a norm by given statistics and the node of its result; None for one that has others."""
    out = node
    if node.target is aten._native_batch_norm_legit_no_training.default:
        users = list(node.users)
        if len(users) != 1 or users[0].target is not operator.getitem or users[0].args[1] != 0:
            return None
        out = users[0]
    first = len(found.inputs)
    found.inputs += [node, node]  # the norm's scale and its shift
    found.norms[node] = (first, first + 1)
    scaled = Step("mul", [("step", len(found.steps) - 1), ("input", first)])
    return [scaled, Step("add", [("step", len(found.steps)), ("input", first + 1)])], out


# what a region begins with ---------------------------------------------------------------------------------------


def _convolution(node: fx.Node) -> Found | None:
    x, w, bias, stride, padding, dilation, *rest = node.args
    if node.target is aten.convolution.default and rest[0]:  # transposed
        return None
    value = value_of(x)
    if value is None or value.dim() not in (4, 5) or not value.is_floating_point():
        return None
    found = Found([x] if x is w else [x, w], [], [node], {})
    geometry = {"padding": list(padding), "stride": list(stride), "dilation": list(dilation)}
    found.steps.append(Step("conv_fprop", [found.input(x), found.input(w)], geometry))
    if isinstance(bias, fx.Node):
        found.inputs.append(bias)
        found.steps.append(Step("bias", [("step", 0), ("input", len(found.inputs) - 1)]))
    return found


def _product(node: fx.Node) -> Found | None:
    *added, a, b = node.args
    value = value_of(a)
    if value is None or not value.is_floating_point() or node.kwargs:
        return None
    found = Found([], [], [node], {})
    found.steps.append(Step("matmul", [found.input(a), found.input(b)]))
    if added:
        result = value_of(node)
        if result is None or not _fits(added[0], result):
            return None
        found.steps.append(Step("add", [("step", 0), found.input(added[0])]))
    return found


_BEGIN: dict[Any, Callable[[fx.Node], Found | None]] = {
    aten.convolution.default: _convolution,
    torch.ops.portadnn.convolution.default: _convolution,
    aten.mm.default: _product,
    aten.addmm.default: _product,
    aten.bmm.default: _product,
}


def find(graph: fx.Graph) -> list[Found]:
    """Return the regions of a traced program; one without a pointwise step is none."""
    regions: list[Found] = []
    taken: set[fx.Node] = set()
    for node in graph.nodes:
        begin = _BEGIN.get(node.target) if node.op == "call_function" else None
        found = begin(node) if begin is not None and node not in taken else None
        if found is None:
            continue
        _grow(found, taken)
        if len(found.nodes) > 1:
            regions.append(found)
            taken.update(found.nodes)
    return regions


def _grow(found: Found, taken: set[fx.Node]) -> None:
    """Take the steps behind a region's last node, as long as nobody else reads what lies between."""
    while len(users := list(found.nodes[-1].users)) == 1:
        last, user = found.nodes[-1], users[0]
        if user.op != "call_function" or user in taken:
            return
        if user.target in _NORMS and user.args[0] is last:
            norm = _norm(found, user)
            if norm is None:
                return
            steps, out = norm
            found.steps += steps
            found.nodes += [user] if out is user else [user, out]
            continue
        steps = _pointwise(found, user, last) or []
        if not steps:
            return
        found.steps += steps
        found.nodes.append(user)


def eager_part(found: Found) -> Sequence[fx.Node]:
    """Return all nodes from outside that the region's nodes read, each once."""
    inside, outside = set(found.nodes), []
    for node in found.nodes:
        for one in node.all_input_nodes:
            if one not in inside and one not in outside:
                outside.append(one)
    return outside
