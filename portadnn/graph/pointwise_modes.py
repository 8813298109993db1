"""All pointwise modes as data: operands, parameters, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass

from .enums import pointwise_mode as mode


@dataclass(frozen=True)
class Mode:
    """A pointwise mode.

    Attributes
    ----------
    operands : int
        Tensors that it takes.
    formula : str
        In terms of the operands x, y and t, or of dy and x for gradients, where x is the forward input.
    parameters : tuple of str
        Attributes that it heeds.
    backward : bool
        Whether the first operand is a gradient.
    logical : bool
        Whether the result is true or false: 1 or 0 in every type.
    """

    operands: int
    formula: str
    parameters: tuple[str, ...] = ()
    backward: bool = False
    logical: bool = False


_CLIPS = ("relu_lower_clip_slope", "relu_lower_clip", "relu_upper_clip")

MODES: dict[mode, Mode] = {
    mode.ADD: Mode(2, "x + y"),
    mode.SUB: Mode(2, "x - y"),
    mode.MUL: Mode(2, "x * y"),
    mode.DIV: Mode(2, "x / y; truncated for an integer compute type"),
    mode.ADD_SQUARE: Mode(2, "x + y * y"),
    mode.MAX: Mode(2, "the larger one; NaN if one is"),
    mode.MIN: Mode(2, "the smaller one; NaN if one is"),
    mode.MOD: Mode(2, "C's fmod(x, y), with the sign of x"),
    mode.POW: Mode(2, "x ** y"),
    mode.SQRT: Mode(1, "sqrt(x)"),
    mode.RSQRT: Mode(1, "1 / sqrt(x)"),
    mode.RECIPROCAL: Mode(1, "1 / x"),
    mode.ABS: Mode(1, "abs(x)"),
    mode.CEIL: Mode(1, "the next integer above"),
    mode.FLOOR: Mode(1, "the next integer below"),
    mode.NEG: Mode(1, "-x"),
    mode.EXP: Mode(1, "exp(x)"),
    mode.LOG: Mode(1, "the natural logarithm"),
    mode.SIN: Mode(1, "sin(x)"),
    mode.COS: Mode(1, "cos(x)"),
    mode.TAN: Mode(1, "tan(x)"),
    mode.ERF: Mode(1, "the error function"),
    mode.IDENTITY: Mode(1, "x, in the output's type"),
    mode.RELU_FWD: Mode(1, "min(max(slope * x where x < 0 else x, lower clip), upper clip)", _CLIPS),
    mode.TANH_FWD: Mode(1, "tanh(x)"),
    mode.SIGMOID_FWD: Mode(1, "1 / (1 + exp(-x))"),
    mode.ELU_FWD: Mode(1, "x where x > 0 else alpha * (exp(x) - 1)", ("elu_alpha",)),
    mode.GELU_FWD: Mode(1, "x * (1 + erf(x / sqrt(2))) / 2"),
    mode.GELU_APPROX_TANH_FWD: Mode(1, "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2"),
    mode.SOFTPLUS_FWD: Mode(1, "log(1 + exp(beta * x)) / beta", ("softplus_beta",)),
    mode.SWISH_FWD: Mode(1, "x / (1 + exp(-beta * x))", ("swish_beta",)),
    mode.RELU_BWD: Mode(2, "dy where the clips let x pass, slope * dy where x < 0", _CLIPS, backward=True),
    mode.TANH_BWD: Mode(2, "dy * (1 - tanh(x)**2)", backward=True),
    mode.SIGMOID_BWD: Mode(2, "dy * s * (1 - s) with s = sigmoid(x)", backward=True),
    mode.ELU_BWD: Mode(2, "dy where x > 0 else dy * alpha * exp(x)", ("elu_alpha",), backward=True),
    mode.GELU_BWD: Mode(2, "dy * gelu'(x)", backward=True),
    mode.GELU_APPROX_TANH_BWD: Mode(2, "dy times the derivative of gelu_approx_tanh", backward=True),
    mode.SOFTPLUS_BWD: Mode(2, "dy * sigmoid(beta * x)", ("softplus_beta",), backward=True),
    mode.SWISH_BWD: Mode(
        2, "dy * (s + beta * x * s * (1 - s)) with s = sigmoid(beta * x)", ("swish_beta",), backward=True
    ),
    mode.GEN_INDEX: Mode(1, "the place along the axis", ("axis",)),
    mode.BINARY_SELECT: Mode(3, "x where t else y"),
    mode.LOGICAL_AND: Mode(2, "x and y", logical=True),
    mode.LOGICAL_OR: Mode(2, "x or y", logical=True),
    mode.LOGICAL_NOT: Mode(1, "not x", logical=True),
    mode.CMP_EQ: Mode(2, "x == y", logical=True),
    mode.CMP_NEQ: Mode(2, "x != y", logical=True),
    mode.CMP_GT: Mode(2, "x > y", logical=True),
    mode.CMP_GE: Mode(2, "x >= y", logical=True),
    mode.CMP_LT: Mode(2, "x < y", logical=True),
    mode.CMP_LE: Mode(2, "x <= y", logical=True),
}
