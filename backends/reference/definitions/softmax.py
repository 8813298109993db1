"""Definitions of softmax (guide sections 4.57 and 4.58)."""

from __future__ import annotations

from typing import cast

import numpy as np

from portadnn.enums import SoftmaxAlgorithm, SoftmaxMode
from portadnn.ops.softmax import SoftmaxBackward, SoftmaxForward

from ..definition import Array, Numbers, blended


def _summed_axes(problem: SoftmaxForward | SoftmaxBackward) -> tuple[int, ...]:
    """Return the axes that sum to one: c at each place, or all of an image."""
    return (1,) if problem.mode is SoftmaxMode.CHANNEL else tuple(range(1, len(problem.tensors[0].dims)))


def _softmax(problem: SoftmaxForward, numbers: Numbers, x: Array) -> Array:
    if x.size == 0:
        return x
    axes = _summed_axes(problem)
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
    axes = _summed_axes(problem)
    if problem.algorithm is SoftmaxAlgorithm.LOG:
        return cast(Array, dy - np.exp(y) * dy.sum(axes, keepdims=True))
    return cast(Array, y * (dy - (y * dy).sum(axes, keepdims=True)))


def _softmax_terms(problem: SoftmaxForward, numbers: Numbers, x: Array) -> Array:
    axes = _summed_axes(problem)
    distance = np.abs(x - x.max(axes, keepdims=True, initial=-np.inf))
    if problem.algorithm is SoftmaxAlgorithm.LOG:
        return cast(Array, 1 + distance + np.log(np.exp(-distance).sum(axes, keepdims=True)))
    # the rounding of x - max becomes a relative error of exp(x - max)
    return cast(Array, _softmax(problem, numbers, x) * (1 + distance))


def _gradient_terms(problem: SoftmaxBackward, numbers: Numbers, y: Array, dy: Array) -> Array:
    axes, dy = _summed_axes(problem), np.abs(dy)
    if problem.algorithm is SoftmaxAlgorithm.LOG:
        return cast(Array, dy + np.exp(y) * dy.sum(axes, keepdims=True))
    return cast(Array, np.abs(y) * (dy + (np.abs(y) * dy).sum(axes, keepdims=True)))


DEFINITIONS = {
    SoftmaxForward: blended(_softmax, _softmax_terms),
    SoftmaxBackward: blended(_softmax_gradient, _gradient_terms),
}
