"""Definitions of the activations (guide sections 4.77 and 4.78)."""

from __future__ import annotations

import math
from typing import TypeAlias, cast

import numpy as np

from portadnn.enums import ActivationMode, NanPropagation
from portadnn.ops.activation import ActivationBackward, ActivationForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward

from ..definition import Array, Numbers, blended

Activated: TypeAlias = ActivationForward | ActivationBackward | ConvolutionBiasActivationForward


def _rounded(number: float, problem: Activated) -> float:
    with np.errstate(over="ignore"):
        return float(problem.dtype.accumulator.numpy.type(number))


def _ceiling(problem: Activated, function: ActivationMode) -> float:
    """Return the ceiling as the arithmetic of the data type sees it, so that x == ceiling means the same."""
    if function is not ActivationMode.CLIPPED_RELU:
        return math.inf
    return _rounded(problem.ceiling, problem)


def _coef(problem: Activated) -> float:
    """Return the coefficient of ELU or SWISH as the arithmetic of the data type sees it."""
    return _rounded(problem.coef, problem)


def activate(problem: Activated, function: ActivationMode, x: Array) -> Array:
    """Return a function of x, with the problem's coefficients."""
    if function is ActivationMode.IDENTITY:
        return x
    if function is ActivationMode.SIGMOID:
        return 1 / (1 + np.exp(-x))
    if function is ActivationMode.TANH:
        return np.tanh(x)
    if function is ActivationMode.ELU:
        return cast(Array, np.where(x >= 0, x, _coef(problem) * np.expm1(x)))
    if function is ActivationMode.SWISH:
        return cast(Array, x / (1 + np.exp(-_coef(problem) * x)))
    clipped = np.fmin(np.fmax(x, 0.0), _ceiling(problem, function))  # NaN becomes 0, or a ceiling below it
    if problem.nan_propagation is NanPropagation.PROPAGATE_NAN:
        clipped = np.where(np.isnan(x), x, clipped)
    return clipped


def _activation(problem: ActivationForward, numbers: Numbers, x: Array) -> Array:
    return activate(problem, problem.mode, x)


def _activation_terms(problem: ActivationForward, numbers: Numbers, x: Array) -> Array:
    terms = np.abs(_activation(problem, numbers, x))
    return cast(Array, terms * (1 + np.abs(problem.coef * x))) if problem.mode is ActivationMode.SWISH else terms


def _activation_gradient(problem: ActivationBackward, numbers: Numbers, y: Array, dy: Array, x: Array) -> Array:
    if problem.mode is ActivationMode.SIGMOID:
        return dy * (y * (1 - y))
    if problem.mode is ActivationMode.TANH:
        return dy * (1 - y * y)
    if problem.mode is ActivationMode.IDENTITY:
        return dy
    if problem.mode is ActivationMode.ELU:  # the sign of y decides, and 0 counts as positive, as in cuDNN 9.19
        return dy * np.where(y >= 0, 1.0, y + _coef(problem))
    if problem.mode is ActivationMode.SWISH:
        gate = 1 / (1 + np.exp(-_coef(problem) * x))
        return dy * (gate + _coef(problem) * x * gate * (1 - gate))
    return np.where((x > 0) & (x <= _ceiling(problem, problem.mode)), dy, 0.0)  # 0 at x = 0; the ceiling itself passes


def _gradient_terms(problem: ActivationBackward, numbers: Numbers, y: Array, dy: Array, x: Array) -> Array:
    y, dy = np.abs(y), np.abs(dy)
    if problem.mode is ActivationMode.SIGMOID:
        return dy * y * (1 + y)
    if problem.mode is ActivationMode.TANH:
        return dy * (1 + y * y)
    if problem.mode is ActivationMode.ELU:
        return dy * (1 + y + abs(problem.coef))
    if problem.mode is ActivationMode.SWISH:  # the gate's exponent is rounded
        power = np.abs(problem.coef * x)
        return cast(Array, dy * (1 + power) * (1 + power))
    return dy


DEFINITIONS = {
    ActivationForward: blended(_activation, _activation_terms),
    ActivationBackward: blended(_activation_gradient, _gradient_terms),
}
