"""The definitions of all operations in NumPy and float64, to be read beside the cuDNN v5 guide.

Every function here takes float64 arrays in logical order (n, c, [d,] h, w) and returns the operation's result
before it is blended. Convolution and pooling loop over the cells of the filter or window and treat all places
of the output at once; nothing else is done for speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from portadnn import bfloat16
from portadnn.bfloat16 import as_float64
from portadnn.enums import (
    ActivationMode,
    ConvolutionMode,
    NanPropagation,
    OpTensorOp,
    PoolingMode,
    SoftmaxAlgorithm,
    SoftmaxMode,
)
from portadnn.ops.activation import ActivationBackward, ActivationForward
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardBias,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.ops.pooling import PoolingBackward, PoolingForward
from portadnn.ops.softmax import SoftmaxBackward, SoftmaxForward
from portadnn.ops.tensor import AddTensor, OpTensor, ScaleTensor, SetTensor, TransformTensor
from portadnn.problem import Problem

Array = npt.NDArray[np.float64]
Numbers = dict[str, float]


def evaluate(problem: Problem, tensors: Sequence[npt.NDArray[Any]], scalars: Sequence[float]) -> Array:
    """Compute a problem's output without storing it.

    Parameters
    ----------
    tensors
        The problem's tensors, inputs then outputs, of any float type and strides. When beta is 0 the output
        is not read and may hold anything (guide section 2.6).
    scalars
        The run-time numbers in the order of ``problem.scalars``; see :func:`rounded_numbers`.

    Returns
    -------
    array
        Float64, in the dims of the output.
    """
    with np.errstate(all="ignore"):  # overflow and NaN are results like others
        numbers = rounded_numbers(problem, scalars)
        inputs = [as_float64(t) for t in tensors[: len(problem.inputs)]]
        if isinstance(problem, SetTensor):
            return np.full(problem.y.dims, numbers["value"])
        if isinstance(problem, ScaleTensor):
            return numbers["alpha"] * as_float64(tensors[0])
        result = DEFINITIONS[type(problem)](problem, numbers, *inputs)
        result = numbers.get("alpha", 1.0) * result
        if numbers.get("beta", 0.0) != 0:
            result = result + numbers["beta"] * as_float64(tensors[-1])
        return cast(Array, np.broadcast_to(result, problem.tensors[-1].dims))


def rounded_numbers(problem: Problem, scalars: Sequence[float]) -> Numbers:
    """Return the run-time numbers by name, rounded to the accumulator's type.

    The C interface takes them as float, or as double for double tensors.
    """
    round_number = problem.dtype.accumulator.numpy.type
    with np.errstate(all="ignore"):
        return {name: float(round_number(s)) for name, s in zip(problem.scalars, scalars, strict=True)}


def store(tensor: npt.NDArray[Any], values: Array) -> None:
    """Round numbers into a tensor."""
    with np.errstate(all="ignore"):  # indices and bytes are whole numbers
        if bfloat16.is_bfloat16(tensor.dtype):
            tensor.view(np.uint16)[...] = bfloat16.rounded(values)
        else:
            tensor[...] = values


# tensor operations (guide sections 4.14 to 4.18)


def _transform(problem: TransformTensor, numbers: Numbers, x: Array) -> Array:
    return x


def _add(problem: AddTensor, numbers: Numbers, a: Array) -> Array:
    return np.broadcast_to(a, problem.c.dims)


def _op(problem: OpTensor, numbers: Numbers, a: Array, b: Array) -> Array:
    a = numbers["alpha1"] * a
    if problem.operation.unary:
        return np.sqrt(a) if problem.operation is OpTensorOp.SQRT else 1 - a
    b = numbers["alpha2"] * b
    if problem.operation is OpTensorOp.ADD:
        return a + b
    if problem.operation is OpTensorOp.MUL:
        return a * b
    keep_nan = problem.nan_propagation is NanPropagation.PROPAGATE_NAN
    if problem.operation is OpTensorOp.MIN:
        return np.minimum(a, b) if keep_nan else np.fmin(a, b)
    return np.maximum(a, b) if keep_nan else np.fmax(a, b)


# activations (guide sections 4.77 and 4.78)


def _ceiling(problem: ActivationForward | ActivationBackward | ConvolutionBiasActivationForward) -> float:
    """Return the ceiling as the arithmetic of the data type sees it, so that x == ceiling means the same."""
    if _function(problem) is not ActivationMode.CLIPPED_RELU:
        return math.inf
    return float(problem.dtype.accumulator.numpy.type(problem.ceiling))


def _coef(problem: ActivationForward | ActivationBackward | ConvolutionBiasActivationForward) -> float:
    """Return the coefficient of ELU or SWISH as the arithmetic of the data type sees it."""
    return float(problem.dtype.accumulator.numpy.type(problem.coef))


def _function(problem: ActivationForward | ActivationBackward | ConvolutionBiasActivationForward) -> ActivationMode:
    return problem.activation if isinstance(problem, ConvolutionBiasActivationForward) else problem.mode


def _activation(problem: ActivationForward | ConvolutionBiasActivationForward, numbers: Numbers, x: Array) -> Array:
    function = _function(problem)
    if function is ActivationMode.IDENTITY:
        return x
    if function is ActivationMode.SIGMOID:
        return 1 / (1 + np.exp(-x))
    if function is ActivationMode.TANH:
        return np.tanh(x)
    if function is ActivationMode.ELU:
        return cast(Array, np.where(x > 0, x, _coef(problem) * np.expm1(x)))
    if function is ActivationMode.SWISH:
        return cast(Array, x / (1 + np.exp(-_coef(problem) * x)))
    clipped = np.fmin(np.fmax(x, 0.0), _ceiling(problem))  # NaN becomes 0
    if problem.nan_propagation is NanPropagation.PROPAGATE_NAN:
        clipped = np.where(np.isnan(x), x, clipped)
    return clipped


def _activation_gradient(problem: ActivationBackward, numbers: Numbers, y: Array, dy: Array, x: Array) -> Array:
    if problem.mode is ActivationMode.SIGMOID:
        return dy * (y * (1 - y))
    if problem.mode is ActivationMode.TANH:
        return dy * (1 - y * y)
    if problem.mode is ActivationMode.IDENTITY:
        return dy
    if problem.mode is ActivationMode.ELU:  # the sign of y decides, as in the library
        return dy * np.where(y > 0, 1.0, y + _coef(problem))
    if problem.mode is ActivationMode.SWISH:
        gate = 1 / (1 + np.exp(-_coef(problem) * x))
        return dy * (gate + _coef(problem) * x * gate * (1 - gate))
    return np.where((x > 0) & (x <= _ceiling(problem)), dy, 0.0)  # 0 at x = 0; the ceiling itself passes


# softmax (guide sections 4.57 and 4.58)


def summed_axes(problem: SoftmaxForward | SoftmaxBackward) -> tuple[int, ...]:
    """Return the axes that sum to one: c at each place, or all of an image."""
    return (1,) if problem.mode is SoftmaxMode.CHANNEL else tuple(range(1, len(problem.tensors[0].dims)))


def _softmax(problem: SoftmaxForward, numbers: Numbers, x: Array) -> Array:
    if x.size == 0:
        return x
    axes = summed_axes(problem)
    if problem.algorithm is SoftmaxAlgorithm.FAST:
        # no maximum is subtracted: exp overflows, and the result is NaN, where the accumulator's range ends
        accumulator = problem.dtype.accumulator.numpy
        powers = np.exp(x).astype(accumulator).astype(np.float64)
        total = powers.sum(axes, keepdims=True).astype(accumulator)
        return cast(Array, powers / total.astype(np.float64))
    shifted = x - x.max(axes, keepdims=True)
    total = np.exp(shifted).sum(axes, keepdims=True)
    if problem.algorithm is SoftmaxAlgorithm.LOG:
        return cast(Array, shifted - np.log(total))
    return cast(Array, np.exp(shifted) / total)


def _softmax_gradient(problem: SoftmaxBackward, numbers: Numbers, y: Array, dy: Array) -> Array:
    axes = summed_axes(problem)
    if problem.algorithm is SoftmaxAlgorithm.LOG:
        return cast(Array, dy - np.exp(y) * dy.sum(axes, keepdims=True))
    return cast(Array, y * (dy - (y * dy).sum(axes, keepdims=True)))


# windows, shared by convolution and pooling

Cell = tuple[int, ...]
Place = tuple[Any, ...]


def _cells(
    window: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], out: tuple[int, ...]
) -> Iterator[tuple[Cell, Place]]:
    """Yield, in row-major order, each cell of the window and what it meets of the padded image."""
    for cell in np.ndindex(*window):
        place = (
            slice(i * d, i * d + (p - 1) * s + 1, s) for i, s, d, p in zip(cell, stride, dilation, out, strict=True)
        )
        yield cell, (..., *place)


def _padded(x: Array, padding: tuple[int, ...], value: float = 0.0) -> Array:
    """Return x with `padding` more cells of `value` at both ends of each spatial dimension."""
    sizes = [d + 2 * p for d, p in zip(x.shape[2:], padding, strict=True)]
    wide = np.full((*x.shape[:2], *sizes), value)
    wide[_inside(x.shape[2:], padding)] = x
    return wide


def _inside(sizes: tuple[int, ...], padding: tuple[int, ...]) -> Place:
    """Return where the image lies in the padded image."""
    return (..., *(slice(p, p + d) for d, p in zip(sizes, padding, strict=True)))


# convolution (guide sections 4.45, 4.46, 4.51 and 4.56)


class _Geometry:
    """Sizes of a convolution, and its tensors as matrices with the groups as an axis of their own."""

    def __init__(self, problem: Convolution) -> None:
        self.problem = problem
        self.groups = problem.groups
        self.n, channels = problem.image.dims[:2]
        self.c = channels // self.groups
        self.k = problem.filter.dims[0] // self.groups
        self.window = problem.filter.dims[2:]
        self.out = problem.result.dims[2:]
        self.places = math.prod(self.out)

    def cells(self) -> Iterator[tuple[Cell, Place]]:
        """Yield each filter cell and where it lies; the CONVOLUTION mode turns the filter around."""
        problem = self.problem
        for cell, place in _cells(self.window, problem.stride, problem.dilation, self.out):
            if problem.mode is ConvolutionMode.CONVOLUTION:
                yield tuple(size - 1 - i for i, size in zip(cell, self.window, strict=True)), place
            else:
                yield cell, place

    def image(self, x: Array) -> Array:
        """(n, c, h, w) -> (n, g, c/g, h, w)."""
        return x.reshape(self.n, self.groups, self.c, *x.shape[2:])

    def result(self, y: Array) -> Array:
        """(n, k, p, q) -> (n, g, k/g, p*q)."""
        return y.reshape(self.n, self.groups, self.k, self.places)

    def filter(self, w: Array) -> Array:
        """(k, c/g, r, s) -> (r, s, g, k/g, c/g)."""
        cells = w.transpose(*range(2, w.ndim), 0, 1)
        return np.ascontiguousarray(cells).reshape(*self.window, self.groups, self.k, self.c)


def _convolution(problem: ConvolutionForward, numbers: Numbers, x: Array, w: Array) -> Array:
    """y[n, k, p, q] = sum over c, r, s of w[k, c, r, s] * x[n, c, p*stride - pad + r*dilation, ...]."""
    geometry = _Geometry(problem)
    image, filters = geometry.image(_padded(x, problem.padding)), geometry.filter(w)
    y = np.zeros((geometry.n, geometry.groups, geometry.k, geometry.places))
    for cell, place in geometry.cells():
        patch = image[place].reshape(geometry.n, geometry.groups, geometry.c, geometry.places)
        y += filters[cell] @ patch
    return y.reshape(problem.y.dims)


def _convolution_bias_activation(
    problem: ConvolutionBiasActivationForward, numbers: Numbers, x: Array, w: Array, z: Array, bias: Array
) -> Array:
    """Y = activation(alpha1 * conv(x, w) + alpha2 * z + bias), where z is not read with alpha2 == 0."""
    total = numbers["alpha1"] * _convolution(problem.convolution, numbers, x, w) + bias
    if numbers["alpha2"] != 0:
        total = total + numbers["alpha2"] * z
    return _activation(problem, numbers, total)


def _convolution_data(problem: ConvolutionBackwardData, numbers: Numbers, w: Array, dy: Array) -> Array:
    """Every output's gradient goes back to the pixels that the filter saw, by the weight each had."""
    geometry = _Geometry(problem)
    filters, dy = geometry.filter(w), geometry.result(dy)
    wide = _padded(np.zeros(problem.dx.dims), problem.padding)
    dx = geometry.image(wide)  # a view
    for cell, place in geometry.cells():
        dx[place] += (filters[cell].swapaxes(-1, -2) @ dy).reshape(dx[place].shape)
    return wide[_inside(problem.dx.dims[2:], problem.padding)]


def _convolution_filter(problem: ConvolutionBackwardFilter, numbers: Numbers, x: Array, dy: Array) -> Array:
    """Each weight's gradient is the sum over all images and places of dy times the pixel it met."""
    geometry = _Geometry(problem)
    n, groups, k, c = geometry.n, geometry.groups, geometry.k, geometry.c
    image = geometry.image(_padded(x, problem.padding))
    dy = geometry.result(dy).transpose(1, 2, 0, 3).reshape(groups, k, n * geometry.places)
    dw = np.empty((*geometry.window, groups, k, c))
    for cell, place in geometry.cells():
        patch = image[place].reshape(n, groups, c, geometry.places).transpose(1, 2, 0, 3)
        dw[cell] = dy @ patch.reshape(groups, c, n * geometry.places).swapaxes(-1, -2)
    return np.moveaxis(dw.reshape(*geometry.window, groups * k, c), (-2, -1), (0, 1))


def _convolution_bias(problem: ConvolutionBackwardBias, numbers: Numbers, dy: Array) -> Array:
    return cast(Array, dy.sum((0, *range(2, dy.ndim)), keepdims=True))


# pooling (guide sections 4.75 and 4.76)


def _pooling_cells(problem: PoolingForward | PoolingBackward) -> Iterator[tuple[Cell, Place]]:
    ones = (1,) * len(problem.window)
    return _cells(problem.window, problem.stride, ones, problem.y.dims[2:])


def _maxima(problem: PoolingForward | PoolingBackward, x: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return each window's maximum and the row-major number of the cell that gives it, -1 for none.

    The first of equal maxima wins, also in a window of -inf, whose maximum is the lowest finite number. A window of
    nothing but padding and NaN has no cell. Where NaN propagates, the first NaN wins.
    """
    wide = _padded(x, problem.padding, -math.inf)
    image = _padded(np.ones((1, 1, *problem.x.dims[2:])), problem.padding) > 0
    best = np.full(problem.y.dims, -math.inf)
    winner = np.full(problem.y.dims, -1)
    for number, (_, place) in enumerate(_pooling_cells(problem)):
        value = wide[place]
        better = (value > best) | ((winner < 0) & np.isneginf(value) & image[place])
        if problem.nan_propagation is NanPropagation.PROPAGATE_NAN:
            better |= np.isnan(value) & ~np.isnan(best)
        best[better] = value[better]
        winner[better] = number
    lowest = problem.x.dtype.limits.lowest
    return np.where(best < lowest, lowest, best), winner


def _counts(problem: PoolingForward | PoolingBackward) -> Array:
    """Return the number by which an average divides, for each place of the output."""
    if problem.mode is PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING:
        return np.full(problem.y.dims[2:], float(math.prod(problem.window)))
    image = _padded(np.ones((1, 1, *problem.x.dims[2:])), problem.padding)
    count = np.zeros(problem.y.dims[2:])
    for _, place in _pooling_cells(problem):
        count += image[place][0, 0]
    return np.maximum(count, 1.0)  # a window of padding only sums to 0


def _pooling(problem: PoolingForward, numbers: Numbers, x: Array) -> Array:
    if problem.mode is PoolingMode.MAX:
        return _maxima(problem, x)[0]
    wide = _padded(x, problem.padding)
    total = np.zeros(problem.y.dims)
    for _, place in _pooling_cells(problem):
        total += wide[place]
    return total / _counts(problem)


def _pooling_gradient(problem: PoolingBackward, numbers: Numbers, y: Array, dy: Array, x: Array) -> Array:
    wide = _padded(np.zeros(x.shape), problem.padding)
    if problem.mode is PoolingMode.MAX:
        winner = _maxima(problem, x)[1]
        for number, (_, place) in enumerate(_pooling_cells(problem)):
            wide[place] += np.where(winner == number, dy, 0.0)
    else:
        share = dy / _counts(problem)
        for _, place in _pooling_cells(problem):
            wide[place] += share
    return wide[_inside(x.shape[2:], problem.padding)]


DEFINITIONS: dict[type[Problem], Callable[..., Array]] = {
    TransformTensor: _transform,
    AddTensor: _add,
    OpTensor: _op,
    ActivationForward: _activation,
    ActivationBackward: _activation_gradient,
    SoftmaxForward: _softmax,
    SoftmaxBackward: _softmax_gradient,
    ConvolutionForward: _convolution,
    ConvolutionBiasActivationForward: _convolution_bias_activation,
    ConvolutionBackwardData: _convolution_data,
    ConvolutionBackwardFilter: _convolution_filter,
    ConvolutionBackwardBias: _convolution_bias,
    PoolingForward: _pooling,
    PoolingBackward: _pooling_gradient,
}
