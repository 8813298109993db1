"""The pointwise methods of :class:`~portadnn.graph.api.pygraph`.

Each returns the output, virtual until ``set_output(True)``, in NumPy's broadcast dims. Operands are tensors, or numbers
for constants. ``compute_data_type`` is the type to compute in, by default the graph's; ``name`` is the node's.
"""

from __future__ import annotations

from typing import Any

from ...tensor import tensor
from ..builder import NOT_SET, Builder


def pointwise(
    self: Builder, mode: str, operands: tuple[Any, ...], compute: Any, name: str, **parameters: Any
) -> tensor:
    """Add a pointwise node and return its output."""
    inputs = {f"IN_{i}": operand for i, operand in enumerate(operands)}
    return self._add("pointwise", inputs, compute, name, mode=mode, **parameters)["OUT_0"]


def add(self: Builder, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return a + b."""
    return pointwise(self, "ADD", (a, b), compute_data_type, name)


def sub(self: Builder, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return a - b."""
    return pointwise(self, "SUB", (a, b), compute_data_type, name)


def mul(self: Builder, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return a * b."""
    return pointwise(self, "MUL", (a, b), compute_data_type, name)


def div(self: Builder, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return a / b."""
    return pointwise(self, "DIV", (a, b), compute_data_type, name)


def add_square(self: Builder, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return a + b * b."""
    return pointwise(self, "ADD_SQUARE", (a, b), compute_data_type, name)


def logical_and(self: Builder, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return a and b, as 1 or 0."""
    return pointwise(self, "LOGICAL_AND", (a, b), compute_data_type, name)


def logical_or(self: Builder, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return a or b, as 1 or 0."""
    return pointwise(self, "LOGICAL_OR", (a, b), compute_data_type, name)


def bias(self: Builder, input: Any, bias: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input + bias."""
    return pointwise(self, "ADD", (input, bias), compute_data_type, name)


def scale(self: Builder, input: Any, scale: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input * scale."""
    return pointwise(self, "MUL", (input, scale), compute_data_type, name)


def max(self: Builder, input0: Any, input1: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return the larger of both; NaN if one is."""
    return pointwise(self, "MAX", (input0, input1), compute_data_type, name)


def min(self: Builder, input0: Any, input1: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return the smaller of both; NaN if one is."""
    return pointwise(self, "MIN", (input0, input1), compute_data_type, name)


def mod(self: Builder, input0: Any, input1: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return C's fmod(input0, input1)."""
    return pointwise(self, "MOD", (input0, input1), compute_data_type, name)


def pow(self: Builder, input0: Any, input1: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input0 ** input1."""
    return pointwise(self, "POW", (input0, input1), compute_data_type, name)


def sqrt(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return the square root."""
    return pointwise(self, "SQRT", (input,), compute_data_type, name)


def rsqrt(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return 1 / sqrt(input)."""
    return pointwise(self, "RSQRT", (input,), compute_data_type, name)


def reciprocal(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return 1 / input."""
    return pointwise(self, "RECIPROCAL", (input,), compute_data_type, name)


def abs(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return the absolute value."""
    return pointwise(self, "ABS", (input,), compute_data_type, name)


def ceil(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return the next integer above."""
    return pointwise(self, "CEIL", (input,), compute_data_type, name)


def floor(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return the next integer below."""
    return pointwise(self, "FLOOR", (input,), compute_data_type, name)


def neg(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return -input."""
    return pointwise(self, "NEG", (input,), compute_data_type, name)


def exp(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return exp(input)."""
    return pointwise(self, "EXP", (input,), compute_data_type, name)


def log(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return the natural logarithm."""
    return pointwise(self, "LOG", (input,), compute_data_type, name)


def sin(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return sin(input)."""
    return pointwise(self, "SIN", (input,), compute_data_type, name)


def cos(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return cos(input)."""
    return pointwise(self, "COS", (input,), compute_data_type, name)


def tan(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return tan(input)."""
    return pointwise(self, "TAN", (input,), compute_data_type, name)


def erf(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return the error function."""
    return pointwise(self, "ERF", (input,), compute_data_type, name)


def identity(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return a copy, in the output's type."""
    return pointwise(self, "IDENTITY", (input,), compute_data_type, name)


def tanh(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return tanh(input)."""
    return pointwise(self, "TANH_FWD", (input,), compute_data_type, name)


def sigmoid(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return 1 / (1 + exp(-input))."""
    return pointwise(self, "SIGMOID_FWD", (input,), compute_data_type, name)


def elu(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return ELU with alpha 1."""
    return pointwise(self, "ELU_FWD", (input,), compute_data_type, name)


def gelu(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return GELU, by the error function."""
    return pointwise(self, "GELU_FWD", (input,), compute_data_type, name)


def gelu_approx_tanh(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return GELU, approximated by tanh."""
    return pointwise(self, "GELU_APPROX_TANH_FWD", (input,), compute_data_type, name)


def softplus(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return log(1 + exp(input))."""
    return pointwise(self, "SOFTPLUS_FWD", (input,), compute_data_type, name)


def logical_not(self: Builder, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return not input, as 1 or 0."""
    return pointwise(self, "LOGICAL_NOT", (input,), compute_data_type, name)


def relu(
    self: Builder,
    input: Any,
    negative_slope: float | None = None,
    lower_clip: float | None = None,
    upper_clip: float | None = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> tensor:
    """Return min(max(slope * x where x < 0 else x, lower clip), upper clip)."""
    return pointwise(
        self,
        "RELU_FWD",
        (input,),
        compute_data_type,
        name,
        relu_lower_clip_slope=negative_slope,
        relu_lower_clip=lower_clip,
        relu_upper_clip=upper_clip,
    )


def leaky_relu(
    self: Builder, input: Any, negative_slope: float, compute_data_type: Any = NOT_SET, name: str = ""
) -> tensor:
    """Return input where it is positive, else negative_slope * input."""
    return pointwise(self, "RELU_FWD", (input,), compute_data_type, name, relu_lower_clip_slope=negative_slope)


def swish(
    self: Builder, input: Any, swish_beta: float | None = None, compute_data_type: Any = NOT_SET, name: str = ""
) -> tensor:
    """Return input / (1 + exp(-swish_beta * input)), with a beta of 1 by default."""
    return pointwise(
        self, "SWISH_FWD", (input,), compute_data_type, name, swish_beta=1.0 if swish_beta is None else swish_beta
    )


def relu_backward(
    self: Builder,
    loss: Any,
    input: Any,
    negative_slope: float | None = None,
    lower_clip: float | None = None,
    upper_clip: float | None = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> tensor:
    """Return relu's gradient at the forward input."""
    return pointwise(
        self,
        "RELU_BWD",
        (loss, input),
        compute_data_type,
        name,
        relu_lower_clip_slope=negative_slope,
        relu_lower_clip=lower_clip,
        relu_upper_clip=upper_clip,
    )


def leaky_relu_backward(
    self: Builder, loss: Any, input: Any, negative_slope: float, compute_data_type: Any = NOT_SET, name: str = ""
) -> tensor:
    """Return leaky_relu's gradient at the forward input."""
    return pointwise(self, "RELU_BWD", (loss, input), compute_data_type, name, relu_lower_clip_slope=negative_slope)


def tanh_backward(self: Builder, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return tanh's gradient at the forward input."""
    return pointwise(self, "TANH_BWD", (loss, input), compute_data_type, name)


def sigmoid_backward(self: Builder, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return sigmoid's gradient at the forward input."""
    return pointwise(self, "SIGMOID_BWD", (loss, input), compute_data_type, name)


def elu_backward(self: Builder, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return elu's gradient at the forward input."""
    return pointwise(self, "ELU_BWD", (loss, input), compute_data_type, name)


def gelu_backward(self: Builder, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return gelu's gradient at the forward input."""
    return pointwise(self, "GELU_BWD", (loss, input), compute_data_type, name)


def gelu_approx_tanh_backward(
    self: Builder, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = ""
) -> tensor:
    """Return gelu_approx_tanh's gradient at the forward input."""
    return pointwise(self, "GELU_APPROX_TANH_BWD", (loss, input), compute_data_type, name)


def softplus_backward(self: Builder, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return softplus's gradient at the forward input."""
    return pointwise(self, "SOFTPLUS_BWD", (loss, input), compute_data_type, name)


def cmp_eq(self: Builder, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input == comparison, as 1 or 0."""
    return pointwise(self, "CMP_EQ", (input, comparison), compute_data_type, name)


def cmp_neq(self: Builder, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input != comparison, as 1 or 0."""
    return pointwise(self, "CMP_NEQ", (input, comparison), compute_data_type, name)


def cmp_gt(self: Builder, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input > comparison, as 1 or 0."""
    return pointwise(self, "CMP_GT", (input, comparison), compute_data_type, name)


def cmp_ge(self: Builder, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input >= comparison, as 1 or 0."""
    return pointwise(self, "CMP_GE", (input, comparison), compute_data_type, name)


def cmp_lt(self: Builder, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input < comparison, as 1 or 0."""
    return pointwise(self, "CMP_LT", (input, comparison), compute_data_type, name)


def cmp_le(self: Builder, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return input <= comparison, as 1 or 0."""
    return pointwise(self, "CMP_LE", (input, comparison), compute_data_type, name)


def binary_select(
    self: Builder, input0: Any, input1: Any, mask: Any, compute_data_type: Any = NOT_SET, name: str = ""
) -> tensor:
    """Return input0 where mask is not 0, else input1."""
    return pointwise(self, "BINARY_SELECT", (input0, input1, mask), compute_data_type, name)


def gen_index(self: Builder, input: Any, axis: int, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
    """Return each element's place along the axis."""
    return pointwise(self, "GEN_INDEX", (input,), compute_data_type, name, axis=axis)


def swish_backward(
    self: Builder,
    loss: Any,
    input: Any,
    compute_data_type: Any = NOT_SET,
    swish_beta: float | None = None,
    name: str = "",
) -> tensor:
    """Return swish's gradient at the forward input."""
    beta = 1.0 if swish_beta is None else swish_beta
    return pointwise(self, "SWISH_BWD", (loss, input), compute_data_type, name, swish_beta=beta)
