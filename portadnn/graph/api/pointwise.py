"""The pointwise methods of :class:`~portadnn.graph.api.pygraph`.

Each returns the output, virtual until ``set_output(True)``, in NumPy's broadcast dims. Operands are tensors, or numbers
for constants. ``compute_data_type`` is the type to compute in, by default the graph's; ``name`` is the node's.
"""

from __future__ import annotations

from typing import Any

from ..tensor import tensor
from .builder import NOT_SET, Builder


class PointwiseMethods(Builder):
    """Pointwise operations."""

    def _pointwise(self, mode: str, operands: tuple[Any, ...], compute: Any, name: str, **parameters: Any) -> tensor:
        inputs = {f"IN_{i}": operand for i, operand in enumerate(operands)}
        return self._add("pointwise", inputs, compute, name, mode=mode, **parameters)["OUT_0"]

    def add(self, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return a + b."""
        return self._pointwise("ADD", (a, b), compute_data_type, name)

    def sub(self, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return a - b."""
        return self._pointwise("SUB", (a, b), compute_data_type, name)

    def mul(self, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return a * b."""
        return self._pointwise("MUL", (a, b), compute_data_type, name)

    def div(self, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return a / b."""
        return self._pointwise("DIV", (a, b), compute_data_type, name)

    def add_square(self, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return a + b * b."""
        return self._pointwise("ADD_SQUARE", (a, b), compute_data_type, name)

    def logical_and(self, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return a and b, as 1 or 0."""
        return self._pointwise("LOGICAL_AND", (a, b), compute_data_type, name)

    def logical_or(self, a: Any, b: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return a or b, as 1 or 0."""
        return self._pointwise("LOGICAL_OR", (a, b), compute_data_type, name)

    def bias(self, input: Any, bias: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input + bias."""
        return self._pointwise("ADD", (input, bias), compute_data_type, name)

    def scale(self, input: Any, scale: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input * scale."""
        return self._pointwise("MUL", (input, scale), compute_data_type, name)

    def max(self, input0: Any, input1: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return the larger of both; NaN if one is."""
        return self._pointwise("MAX", (input0, input1), compute_data_type, name)

    def min(self, input0: Any, input1: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return the smaller of both; NaN if one is."""
        return self._pointwise("MIN", (input0, input1), compute_data_type, name)

    def mod(self, input0: Any, input1: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return C's fmod(input0, input1)."""
        return self._pointwise("MOD", (input0, input1), compute_data_type, name)

    def pow(self, input0: Any, input1: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input0 ** input1."""
        return self._pointwise("POW", (input0, input1), compute_data_type, name)

    def sqrt(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return the square root."""
        return self._pointwise("SQRT", (input,), compute_data_type, name)

    def rsqrt(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return 1 / sqrt(input)."""
        return self._pointwise("RSQRT", (input,), compute_data_type, name)

    def reciprocal(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return 1 / input."""
        return self._pointwise("RECIPROCAL", (input,), compute_data_type, name)

    def abs(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return the absolute value."""
        return self._pointwise("ABS", (input,), compute_data_type, name)

    def ceil(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return the next integer above."""
        return self._pointwise("CEIL", (input,), compute_data_type, name)

    def floor(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return the next integer below."""
        return self._pointwise("FLOOR", (input,), compute_data_type, name)

    def neg(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return -input."""
        return self._pointwise("NEG", (input,), compute_data_type, name)

    def exp(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return exp(input)."""
        return self._pointwise("EXP", (input,), compute_data_type, name)

    def log(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return the natural logarithm."""
        return self._pointwise("LOG", (input,), compute_data_type, name)

    def sin(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return sin(input)."""
        return self._pointwise("SIN", (input,), compute_data_type, name)

    def cos(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return cos(input)."""
        return self._pointwise("COS", (input,), compute_data_type, name)

    def tan(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return tan(input)."""
        return self._pointwise("TAN", (input,), compute_data_type, name)

    def erf(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return the error function."""
        return self._pointwise("ERF", (input,), compute_data_type, name)

    def identity(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return a copy, in the output's type."""
        return self._pointwise("IDENTITY", (input,), compute_data_type, name)

    def tanh(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return tanh(input)."""
        return self._pointwise("TANH_FWD", (input,), compute_data_type, name)

    def sigmoid(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return 1 / (1 + exp(-input))."""
        return self._pointwise("SIGMOID_FWD", (input,), compute_data_type, name)

    def elu(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return ELU with alpha 1."""
        return self._pointwise("ELU_FWD", (input,), compute_data_type, name)

    def gelu(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return GELU, by the error function."""
        return self._pointwise("GELU_FWD", (input,), compute_data_type, name)

    def gelu_approx_tanh(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return GELU, approximated by tanh."""
        return self._pointwise("GELU_APPROX_TANH_FWD", (input,), compute_data_type, name)

    def softplus(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return log(1 + exp(input))."""
        return self._pointwise("SOFTPLUS_FWD", (input,), compute_data_type, name)

    def logical_not(self, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return not input, as 1 or 0."""
        return self._pointwise("LOGICAL_NOT", (input,), compute_data_type, name)

    def relu(
        self,
        input: Any,
        negative_slope: float | None = None,
        lower_clip: float | None = None,
        upper_clip: float | None = None,
        compute_data_type: Any = NOT_SET,
        name: str = "",
    ) -> tensor:
        """Return min(max(slope * x where x < 0 else x, lower clip), upper clip)."""
        return self._pointwise(
            "RELU_FWD",
            (input,),
            compute_data_type,
            name,
            relu_lower_clip_slope=negative_slope,
            relu_lower_clip=lower_clip,
            relu_upper_clip=upper_clip,
        )

    def leaky_relu(self, input: Any, negative_slope: float, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input where it is positive, else negative_slope * input."""
        return self._pointwise("RELU_FWD", (input,), compute_data_type, name, relu_lower_clip_slope=negative_slope)

    def swish(
        self, input: Any, swish_beta: float | None = None, compute_data_type: Any = NOT_SET, name: str = ""
    ) -> tensor:
        """Return input / (1 + exp(-swish_beta * input)), with a beta of 1 by default."""
        return self._pointwise(
            "SWISH_FWD", (input,), compute_data_type, name, swish_beta=1.0 if swish_beta is None else swish_beta
        )

    def relu_backward(
        self,
        loss: Any,
        input: Any,
        negative_slope: float | None = None,
        lower_clip: float | None = None,
        upper_clip: float | None = None,
        compute_data_type: Any = NOT_SET,
        name: str = "",
    ) -> tensor:
        """Return relu's gradient at the forward input."""
        return self._pointwise(
            "RELU_BWD",
            (loss, input),
            compute_data_type,
            name,
            relu_lower_clip_slope=negative_slope,
            relu_lower_clip=lower_clip,
            relu_upper_clip=upper_clip,
        )

    def leaky_relu_backward(
        self, loss: Any, input: Any, negative_slope: float, compute_data_type: Any = NOT_SET, name: str = ""
    ) -> tensor:
        """Return leaky_relu's gradient at the forward input."""
        return self._pointwise("RELU_BWD", (loss, input), compute_data_type, name, relu_lower_clip_slope=negative_slope)

    def tanh_backward(self, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return tanh's gradient at the forward input."""
        return self._pointwise("TANH_BWD", (loss, input), compute_data_type, name)

    def sigmoid_backward(self, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return sigmoid's gradient at the forward input."""
        return self._pointwise("SIGMOID_BWD", (loss, input), compute_data_type, name)

    def elu_backward(self, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return elu's gradient at the forward input."""
        return self._pointwise("ELU_BWD", (loss, input), compute_data_type, name)

    def gelu_backward(self, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return gelu's gradient at the forward input."""
        return self._pointwise("GELU_BWD", (loss, input), compute_data_type, name)

    def gelu_approx_tanh_backward(
        self, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = ""
    ) -> tensor:
        """Return gelu_approx_tanh's gradient at the forward input."""
        return self._pointwise("GELU_APPROX_TANH_BWD", (loss, input), compute_data_type, name)

    def softplus_backward(self, loss: Any, input: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return softplus's gradient at the forward input."""
        return self._pointwise("SOFTPLUS_BWD", (loss, input), compute_data_type, name)

    def cmp_eq(self, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input == comparison, as 1 or 0."""
        return self._pointwise("CMP_EQ", (input, comparison), compute_data_type, name)

    def cmp_neq(self, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input != comparison, as 1 or 0."""
        return self._pointwise("CMP_NEQ", (input, comparison), compute_data_type, name)

    def cmp_gt(self, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input > comparison, as 1 or 0."""
        return self._pointwise("CMP_GT", (input, comparison), compute_data_type, name)

    def cmp_ge(self, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input >= comparison, as 1 or 0."""
        return self._pointwise("CMP_GE", (input, comparison), compute_data_type, name)

    def cmp_lt(self, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input < comparison, as 1 or 0."""
        return self._pointwise("CMP_LT", (input, comparison), compute_data_type, name)

    def cmp_le(self, input: Any, comparison: Any, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return input <= comparison, as 1 or 0."""
        return self._pointwise("CMP_LE", (input, comparison), compute_data_type, name)

    def binary_select(
        self, input0: Any, input1: Any, mask: Any, compute_data_type: Any = NOT_SET, name: str = ""
    ) -> tensor:
        """Return input0 where mask is not 0, else input1."""
        return self._pointwise("BINARY_SELECT", (input0, input1, mask), compute_data_type, name)

    def gen_index(self, input: Any, axis: int, compute_data_type: Any = NOT_SET, name: str = "") -> tensor:
        """Return each element's place along the axis."""
        return self._pointwise("GEN_INDEX", (input,), compute_data_type, name, axis=axis)

    def swish_backward(
        self, loss: Any, input: Any, compute_data_type: Any = NOT_SET, swish_beta: float | None = None, name: str = ""
    ) -> tensor:
        """Return swish's gradient at the forward input."""
        beta = 1.0 if swish_beta is None else swish_beta
        return self._pointwise("SWISH_BWD", (loss, input), compute_data_type, name, swish_beta=beta)
