"""cuDNN's legacy calls of convolutions, one maker for each direction and algorithm.

Sums are kept in float32 (float64 for float64 data). float32 data is multiplied as it is (FMA_MATH), and rounded to TF32
only where the problem permits that; data of 16 bits may go to tensor cores unless the problem forbids it.
"""

from __future__ import annotations

from typing import Any

from portadnn.enums import DataType, DnnEnum, MathType, TensorFormat
from portadnn.errors import NotSupported

from .calls import activation_of, real_of
from .library import ints
from .setting import Calls, Maker, Setting

# by operation: what cuDNN calls the direction, and the tensors in the order of its arguments
DIRECTIONS = {
    "convolution_forward": ("Forward", ("x", "w"), "y"),
    "convolution_backward_data": ("BackwardData", ("w", "dy"), "dx"),
    "convolution_backward_filter": ("BackwardFilter", ("x", "dy"), "dw"),
}
FILTERS = ("w", "dw")


def math_of(dtype: DataType, math: MathType) -> MathType:
    """Return the math type that keeps portadnn's promise: cuDNN's DEFAULT would round float32 data to TF32."""
    if dtype in (DataType.HALF, DataType.BFLOAT16):
        return MathType.FMA if math is MathType.FMA else MathType.TENSOR_OP
    allowed = math is MathType.TENSOR_OP_ALLOW_CONVERSION and dtype is DataType.FLOAT
    return math if allowed else MathType.FMA


def _filter(s: Setting, name: str) -> Any:
    spec = s.spec(name)
    if spec.format is None:
        raise NotSupported(f"{name} has to be packed, in NCHW or NHWC")
    image = s.spec(s.problem.roles[0])  # a filter that fits both formats takes the image's
    both = all(map(spec.is_packed, TensorFormat))
    format = TensorFormat.NHWC if both and image.format is TensorFormat.NHWC else spec.format
    return s.descriptor("Filter", "Nd", int(spec.dtype), int(format), len(spec.dims), ints(spec.dims))


def _shape(s: Setting, name: str) -> Any:
    return _filter(s, name) if name in FILTERS else s.tensor(name)


def _convolution(s: Setting) -> Any:
    p = s.problem
    places = (ints(values) for values in (p.padding, p.stride, p.dilation))
    how = s.descriptor("Convolution", "Nd", len(p.padding), *places, int(p.mode), int(real_of(s)))
    if p.groups > 1:
        s.library.call("cudnnSetConvolutionGroupCount", how, p.groups)
    s.library.call("cudnnSetConvolutionMathType", how, int(math_of(p.dtype, p.math)))
    return how


def plain(algo: DnnEnum) -> Maker:
    """Return the maker of the three directions with an algorithm."""

    def make(s: Setting) -> Calls:
        direction, inputs, output = DIRECTIONS[s.problem.op]
        how = _convolution(s)
        first, second, out = (_shape(s, name) for name in (*inputs, output))
        query = f"cudnnGetConvolution{direction}WorkspaceSize"
        size = s.library.size(query, s.handle, first, second, how, out, int(algo))
        given = s.number("alpha"), first, s.data(inputs[0]), second, s.data(inputs[1]), how, int(algo)
        args = *given, s.scratch(size), size, s.number("beta"), out, s.data(output)
        return s.one(f"cudnnConvolution{direction}", *args)

    return make


def fused(algo: DnnEnum) -> Maker:
    """Return the maker of convolution, bias and activation in one call, with an algorithm."""

    def make(s: Setting) -> Calls:
        how, activation = _convolution(s), activation_of(s, s.problem.activation)
        x, w, y = (_shape(s, name) for name in ("x", "w", "y"))
        size = s.library.size("cudnnGetConvolutionForwardWorkspaceSize", s.handle, x, w, how, y, int(algo))
        given = s.number("alpha1"), x, s.data("x"), w, s.data("w"), how, int(algo), s.scratch(size), size
        args = *given, s.number("alpha2"), *s.pairs("z", "bias"), activation, *s.pairs("y")
        return s.one("cudnnConvolutionBiasActivationForward", *args)

    return make
