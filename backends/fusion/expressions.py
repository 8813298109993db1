"""C text of primitive nodes, in the words of ``fused.h``: the same for CUDA and OpenCL, for vectors and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from portadnn.graph.data_types import data_type
from portadnn.graph.enums import pointwise_mode as mode
from portadnn.graph.enums import reduction_mode

from .values import STORAGE, Node, register_of

SCALARS = {"F": "float", "D": "double", "L": "i64", "I": "int"}


def literal(value: float, register: str) -> str:
    """Return a number of a register's scalar type.

    >>> literal(0.1, "F"), literal(-2, "D"), literal(3, "L")
    ('0.100000001f', '-2.0', '3')
    """
    if register in {"L", "I"}:
        return f"{int(value)}"
    if math.isinf(value) or math.isnan(value):
        name = "NAN_OF" if math.isnan(value) else "INFINITY_OF"
        return f"{'-' if value < 0 else ''}{name}({SCALARS[register]})"
    if register == "D":
        return repr(float(value))
    short = np.float32(value)
    if np.isinf(short):
        return literal(float(short), register)
    digits = f"{float(short):.9g}"
    return digits + ("f" if set(digits) & set(".e") else ".0f")


def splat(value: float, register: str) -> str:
    """Return a number in all lanes of a register."""
    return f"({register})({literal(value, register)})"


def converted(text: str, source: str, target: str) -> str:
    """Return a register's content in another register; what does not fit is not looked after."""
    return text if source == target else f"TO_{target}({text})"


def rounded(text: str, source: str, kind: data_type | None) -> str:
    """Return what a register holds after having been stored in a type, in that type's register."""
    if kind is None:
        return text
    target = register_of(kind)
    if source == target and target != "F":
        return text
    if target == "I":
        return f"fused_int_{source}({text})"
    if target == "L":
        return converted(text, "I", "L") if source == "I" else f"fused_long_D({converted(text, source, 'D')})"
    inside = converted(text, source, target)
    return inside if kind in {data_type.FLOAT, data_type.DOUBLE} else f"round_{STORAGE[kind]}({inside})"


# pointwise nodes: templates of operands {0} {1} {2} and registers {R}

_TEMPLATES: dict[mode, str] = {
    mode.ADD: "{0} + {1}",
    mode.SUB: "{0} - {1}",
    mode.MUL: "{0} * {1}",
    mode.ADD_SQUARE: "{0} + {1} * {1}",
    mode.MAX: "max_{R}({0}, {1})",
    mode.MIN: "min_{R}({0}, {1})",
    mode.MOD: "fmod_{R}({0}, {1})",
    mode.POW: "pow_{R}({0}, {1})",
    mode.SQRT: "sqrt({0})",
    mode.RSQRT: "{one} / sqrt({0})",
    mode.RECIPROCAL: "{one} / {0}",
    mode.ABS: "fabs({0})",
    mode.CEIL: "ceil({0})",
    mode.FLOOR: "floor({0})",
    mode.NEG: "-{0}",
    **{getattr(mode, name): f"{name.lower()}_{{R}}({{0}})" for name in ("EXP", "LOG", "SIN", "COS", "TAN", "ERF")},
    mode.IDENTITY: "{0}",
    mode.TANH_FWD: "tanh_{R}({0})",
    mode.SIGMOID_FWD: "sigmoid_{R}({0})",
    mode.ELU_FWD: "elu_{R}({0}, {elu_alpha})",
    mode.GELU_FWD: "gelu_{R}({0})",
    mode.GELU_APPROX_TANH_FWD: "gelu_tanh_{R}({0})",
    mode.SOFTPLUS_FWD: "softplus_{R}({0}, {softplus_beta})",
    mode.SWISH_FWD: "swish_{R}({0}, {swish_beta})",
    mode.TANH_BWD: "tanh_backward_{R}({0}, {1})",
    mode.SIGMOID_BWD: "sigmoid_backward_{R}({0}, {1})",
    mode.ELU_BWD: "elu_backward_{R}({0}, {1}, {elu_alpha})",
    mode.GELU_BWD: "gelu_backward_{R}({0}, {1})",
    mode.GELU_APPROX_TANH_BWD: "gelu_tanh_backward_{R}({0}, {1})",
    mode.SOFTPLUS_BWD: "{0} * sigmoid_{R}({1} * {softplus_beta})",
    mode.SWISH_BWD: "swish_backward_{R}({0}, {1}, {swish_beta})",
    mode.BINARY_SELECT: "SELECT({2} != {zero}, {0}, {1})",
    mode.LOGICAL_AND: "SELECT({0} != {zero}, SELECT({1} != {zero}, {ones}, {zeros}), {zeros})",
    mode.LOGICAL_OR: "SELECT({0} != {zero}, {ones}, SELECT({1} != {zero}, {ones}, {zeros}))",
    mode.LOGICAL_NOT: "SELECT({0} == {zero}, {ones}, {zeros})",
    **{
        getattr(mode, f"CMP_{name}"): f"SELECT({{0}} {sign} {{1}}, {{ones}}, {{zeros}})"
        for name, sign in (("EQ", "=="), ("NEQ", "!="), ("GT", ">"), ("GE", ">="), ("LT", "<"), ("LE", "<="))
    },
}
_WHOLE_TEMPLATES = {  # of 64-bit integers
    mode.ABS: "SELECT({0} < 0, -{0}, {0})",
    mode.MAX: "SELECT({0} > {1}, {0}, {1})",
    mode.MIN: "SELECT({0} < {1}, {0}, {1})",
}
COEFFICIENTS = ("elu_alpha", "softplus_beta", "swish_beta")


def _clips(node: Node) -> tuple[float, float, float]:
    """Return slope, lower and upper clip; a slope takes the place of the lower clip at 0."""
    slope, lower, upper = (node.attributes[f"relu_{name}"] for name in ("lower_clip_slope", "lower_clip", "upper_clip"))
    if lower is None:
        lower = 0.0 if slope is None else -math.inf
    return slope or 0.0, lower, math.inf if upper is None else upper


def _relu(node: Node, x: str) -> str:
    slope, lower, upper = _clips(node)
    r = node.arithmetic
    zero = literal(0, r)
    bent = f"SELECT({x} < {zero}, {f'{x} * {literal(slope, r)}' if slope else splat(0, r)}, {x})"
    if lower > -math.inf and (slope or lower != 0):
        bent = f"max_{r}({bent}, {splat(lower, r)})"
    return bent if upper == math.inf else f"min_{r}({bent}, {splat(upper, r)})"


def _relu_gradient(node: Node, dy: str, x: str) -> str:
    slope, lower, upper = _clips(node)
    r = node.arithmetic
    zero, zeros = literal(0, r), splat(0, r)
    below = f"{dy} * {literal(slope, r)}" if slope else zeros
    if lower == 0 and upper == math.inf and not slope:
        return f"SELECT({x} > {zero}, {dy}, {zeros})"
    bent = f"SELECT({x} > {zero}, {x}, {x} * {literal(slope, r)})"
    passed = f"SELECT({x} > {zero}, {dy}, {below})"
    inside = f"SELECT({bent} <= {literal(upper, r)}, {passed}, {zeros})"
    return f"SELECT({bent} > {literal(lower, r)}, {inside}, {zeros})"


def pointwise(node: Node, operands: Sequence[str]) -> str:
    """Return the text of a pointwise node but GEN_INDEX, in its arithmetic's register."""
    r, what = node.arithmetic, node.mode
    assert isinstance(what, mode)
    if what is mode.RELU_FWD:
        return _relu(node, operands[0])
    if what is mode.RELU_BWD:
        return _relu_gradient(node, *operands)
    if what is mode.DIV:
        quotient = f"{operands[0]} / {operands[1]}"
        return f"trunc({quotient})" if node.whole else quotient
    template = _WHOLE_TEMPLATES.get(what) if r == "L" else None
    words = {name: literal(node.attributes[name], r) for name in COEFFICIENTS if name in node.attributes and r != "L"}
    constants = {"one": literal(1, r), "zero": literal(0, r), "ones": splat(1, r), "zeros": splat(0, r)}
    return (template or _TEMPLATES[what]).format(*operands, R=r, **constants, **words)


# reductions


@dataclass(frozen=True)
class Sum:
    """How a reduction is computed.

    Attributes
    ----------
    term : str
        What is taken together, of x.
    neutral : float
        What changes nothing.
    join : str
        "sum", "mul", "max" or "min".
    """

    term: str
    neutral: float
    join: str


_SUMS = {
    reduction_mode.ADD: Sum("{0}", 0.0, "sum"),
    reduction_mode.AVG: Sum("{0}", 0.0, "sum"),
    reduction_mode.NORM1: Sum("fabs({0})", 0.0, "sum"),
    reduction_mode.NORM2: Sum("{0} * {0}", 0.0, "sum"),
    reduction_mode.MUL: Sum("{0}", 1.0, "mul"),
    reduction_mode.MUL_NO_ZEROS: Sum("SELECT({0} == {zero}, {ones}, {0})", 1.0, "mul"),
    reduction_mode.MIN: Sum("{0}", math.inf, "min"),
    reduction_mode.MAX: Sum("{0}", -math.inf, "max"),
    reduction_mode.AMAX: Sum("fabs({0})", 0.0, "max"),
}
_JOINS: dict[str, Callable[[str, str, str], str]] = {
    "sum": lambda r, a, b: f"{a} + {b}",
    "mul": lambda r, a, b: f"{a} * {b}",
    "max": lambda r, a, b: f"max_{r}({a}, {b})",
    "min": lambda r, a, b: f"min_{r}({a}, {b})",
}


def sum_of(node: Node) -> Sum:
    """Return how a reduction is computed."""
    assert isinstance(node.mode, reduction_mode)
    return _SUMS[node.mode]


def term(node: Node, x: str) -> str:
    """Return the text of what a reduction takes together."""
    r = node.arithmetic
    return sum_of(node).term.format(x, zero=literal(0, r), ones=splat(1, r))


def joined(node: Node, a: str, b: str) -> str:
    """Return the text that takes two together."""
    return _JOINS[sum_of(node).join](node.arithmetic, a, b)


def finished(node: Node, total: str) -> str:
    """Return the text of the result, of what was taken together."""
    if node.mode is reduction_mode.AVG:
        count = node.inputs[0].size // node.out.size
        return f"{total} / {literal(count, node.arithmetic)}"
    return f"sqrt({total})" if node.mode is reduction_mode.NORM2 else total
