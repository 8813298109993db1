"""The definitions of all pointwise modes, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.enums import pointwise_mode as mode
from portadnn.graph.operation_graph import Operation, OperationGraph

Array = npt.NDArray[Any]

erf: Callable[[Array], Array] = np.vectorize(math.erf, otypes=[np.float64])
_ROOT = math.sqrt(2 / math.pi)
_CUBE = 0.044715


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(1 / (1 + np.exp(-x)))


def _clips(op: Operation) -> tuple[float, float, float]:
    """Return slope, lower and upper clip; a slope takes the place of the lower clip at 0."""
    slope, lower, upper = op["relu_lower_clip_slope"], op["relu_lower_clip"], op["relu_upper_clip"]
    if lower is None:
        lower = 0.0 if slope is None else -math.inf
    return slope or 0.0, lower, math.inf if upper is None else upper


def _relu(op: Operation, x: Array) -> Array:
    slope, lower, upper = _clips(op)
    bent = x if slope == 0 else np.where(x < 0, slope * x, x)  # 0 * -inf would be NaN
    if slope == 0:
        bent = np.where(x < 0, 0.0, x)
    return np.minimum(np.maximum(bent, lower), upper)


def _relu_gradient(op: Operation, dy: Array, x: Array) -> Array:
    slope, lower, upper = _clips(op)
    bent = np.where(x > 0, x, slope * x)
    return np.where((bent > lower) & (bent <= upper), dy * np.where(x > 0, 1.0, slope), 0.0)


def _gelu_gradient(dy: Array, x: Array) -> Array:
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return np.asarray(dy * ((1 + erf(x / math.sqrt(2))) / 2 + x * density))


def _gelu_tanh_gradient(dy: Array, x: Array) -> Array:
    t = np.tanh(_ROOT * (x + _CUBE * x**3))
    return np.asarray(dy * ((1 + t) / 2 + x / 2 * (1 - t * t) * _ROOT * (1 + 3 * _CUBE * x * x)))


def _swish_gradient(op: Operation, dy: Array, x: Array) -> Array:
    beta = op["swish_beta"]
    s = sigmoid(beta * x)
    return np.asarray(dy * (s + beta * x * s * (1 - s)))


def _divide(op: Operation, x: Array, y: Array) -> Array:
    quotient = x / y
    whole = op.compute_type.is_stored and not op.compute_type.is_float
    return np.trunc(quotient) if whole else quotient


def _remainder(x: Array, y: Array) -> Array:
    """Return what is left of a division; of one by zero nothing, also where NumPy has whole numbers and gives 0."""
    left = np.fmod(x, y)
    return np.where(y == 0, np.nan, left) if np.any(y == 0) else left


FUNCTIONS: dict[mode, Callable[..., Any]] = {
    mode.ADD: lambda op, x, y: x + y,
    mode.SUB: lambda op, x, y: x - y,
    mode.MUL: lambda op, x, y: x * y,
    mode.DIV: _divide,
    mode.ADD_SQUARE: lambda op, x, y: x + y * y,
    mode.MAX: lambda op, x, y: np.maximum(x, y),
    mode.MIN: lambda op, x, y: np.minimum(x, y),
    mode.MOD: lambda op, x, y: _remainder(x, y),
    mode.POW: lambda op, x, y: np.power(x.astype(np.float64), y),
    mode.SQRT: lambda op, x: np.sqrt(x),
    mode.RSQRT: lambda op, x: 1 / np.sqrt(x),
    mode.RECIPROCAL: lambda op, x: 1 / x,
    mode.ABS: lambda op, x: np.abs(x),
    mode.CEIL: lambda op, x: np.ceil(x),
    mode.FLOOR: lambda op, x: np.floor(x),
    mode.NEG: lambda op, x: -x,
    mode.EXP: lambda op, x: np.exp(x),
    mode.LOG: lambda op, x: np.log(x),
    mode.SIN: lambda op, x: np.sin(x),
    mode.COS: lambda op, x: np.cos(x),
    mode.TAN: lambda op, x: np.tan(x),
    mode.ERF: lambda op, x: erf(x),
    mode.IDENTITY: lambda op, x: x,
    mode.RELU_FWD: _relu,
    mode.TANH_FWD: lambda op, x: np.tanh(x),
    mode.SIGMOID_FWD: lambda op, x: sigmoid(x),
    mode.ELU_FWD: lambda op, x: np.where(x > 0, x, op["elu_alpha"] * np.expm1(x)),
    mode.GELU_FWD: lambda op, x: x * (1 + erf(x / math.sqrt(2))) / 2,
    mode.GELU_APPROX_TANH_FWD: lambda op, x: x * (1 + np.tanh(_ROOT * (x + _CUBE * x**3))) / 2,
    mode.SOFTPLUS_FWD: lambda op, x: np.logaddexp(0.0, op["softplus_beta"] * x) / op["softplus_beta"],
    mode.SWISH_FWD: lambda op, x: x * sigmoid(op["swish_beta"] * x),
    mode.RELU_BWD: _relu_gradient,
    mode.TANH_BWD: lambda op, dy, x: dy * (1 - np.tanh(x) ** 2),
    mode.SIGMOID_BWD: lambda op, dy, x: dy * sigmoid(x) * (1 - sigmoid(x)),
    mode.ELU_BWD: lambda op, dy, x: dy * np.where(x > 0, 1.0, op["elu_alpha"] * np.exp(x)),
    mode.GELU_BWD: lambda op, dy, x: _gelu_gradient(dy, x),
    mode.GELU_APPROX_TANH_BWD: lambda op, dy, x: _gelu_tanh_gradient(dy, x),
    mode.SOFTPLUS_BWD: lambda op, dy, x: dy * sigmoid(op["softplus_beta"] * x),
    mode.SWISH_BWD: _swish_gradient,
    mode.BINARY_SELECT: lambda op, x, y, t: np.where(t != 0, x, y),
    mode.LOGICAL_AND: lambda op, x, y: (x != 0) & (y != 0),
    mode.LOGICAL_OR: lambda op, x, y: (x != 0) | (y != 0),
    mode.LOGICAL_NOT: lambda op, x: x == 0,
    mode.CMP_EQ: lambda op, x, y: x == y,
    mode.CMP_NEQ: lambda op, x, y: x != y,
    mode.CMP_GT: lambda op, x, y: x > y,
    mode.CMP_GE: lambda op, x, y: x >= y,
    mode.CMP_LT: lambda op, x, y: x < y,
    mode.CMP_LE: lambda op, x, y: x <= y,
}


def _pointwise(graph: OperationGraph, op: Operation, t: Mapping[str, Array]) -> Mapping[str, Any]:
    if op["mode"] is mode.GEN_INDEX:
        dims = graph.at(op, "OUT_0").dims
        shape = [-1 if axis == op["axis"] else 1 for axis in range(len(dims))]
        return {"OUT_0": np.arange(dims[op["axis"]], dtype=np.float64).reshape(shape)}
    result = FUNCTIONS[op["mode"]](op, *t.values())
    return {"OUT_0": result.astype(np.float64) if result.dtype == np.bool_ else result}


DEFINITIONS = {"pointwise": _pointwise}
