"""Definitions of pooling (guide sections 4.75 and 4.76).

They loop over the cells of the window and treat all places of the output at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from portadnn.enums import NanPropagation, PoolingMode
from portadnn.ops.pooling import PoolingBackward, PoolingForward

from ..definition import Array, Numbers, blended
from ..windows import Cell, Place, cells, inside, padded


def _pooling_cells(problem: PoolingForward | PoolingBackward) -> Iterator[tuple[Cell, Place]]:
    ones = (1,) * len(problem.window)
    return cells(problem.window, problem.stride, ones, problem.y.dims[2:])


def _maxima(problem: PoolingForward | PoolingBackward, x: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return each window's maximum and the row-major number of the cell that gives it, -1 for none.

    The first of equal maxima wins, also in a window of -inf, whose maximum is the lowest finite number. A window of
    nothing but padding and NaN has no cell. Where NaN propagates, the first NaN wins.
    """
    wide = padded(x, problem.padding, -math.inf)
    image = padded(np.ones((1, 1, *problem.x.dims[2:])), problem.padding) > 0
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
    image = padded(np.ones((1, 1, *problem.x.dims[2:])), problem.padding)
    count = np.zeros(problem.y.dims[2:])
    for _, place in _pooling_cells(problem):
        count += image[place][0, 0]
    return np.maximum(count, 1.0)  # a window of padding only sums to 0


def _pooling(problem: PoolingForward, numbers: Numbers, x: Array) -> Array:
    if problem.mode is PoolingMode.MAX:
        return _maxima(problem, x)[0]
    wide = padded(x, problem.padding)
    total = np.zeros(problem.y.dims)
    for _, place in _pooling_cells(problem):
        total += wide[place]
    return total / _counts(problem)


def _pooling_gradient(problem: PoolingBackward, numbers: Numbers, y: Array, dy: Array, x: Array) -> Array:
    wide = padded(np.zeros(x.shape), problem.padding)
    if problem.mode is PoolingMode.MAX:
        winner = _maxima(problem, x)[1]
        for number, (_, place) in enumerate(_pooling_cells(problem)):
            wide[place] += np.where(winner == number, dy, 0.0)
    else:
        share = dy / _counts(problem)
        for _, place in _pooling_cells(problem):
            wide[place] += share
    return wide[inside(x.shape[2:], problem.padding)]


def _pooling_terms(problem: PoolingForward, numbers: Numbers, x: Array) -> Array:
    if problem.mode is PoolingMode.MAX:
        return np.abs(_pooling(problem, numbers, x))
    return _pooling(problem, numbers, np.abs(x))


def _gradient_terms(problem: PoolingBackward, numbers: Numbers, y: Array, dy: Array, x: Array) -> Array:
    return _pooling_gradient(problem, numbers, y, np.abs(dy), x)


DEFINITIONS = {
    PoolingForward: blended(_pooling, _pooling_terms),
    PoolingBackward: blended(_pooling_gradient, _gradient_terms),
}
