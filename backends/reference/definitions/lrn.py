"""The definitions of local response and divisive normalisation (guide sections 4.87 to 4.94).

With s = k + weight * sum over the window of squared distances, a number x becomes x * s ** -beta. A distance is that to
0, or to the mean at the window's centre. Windows end where the tensor does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from portadnn.ops.divisive_norm import DivisiveNormalizationBackward, DivisiveNormalizationForward
from portadnn.ops.lrn import LRNCrossChannelBackward, LRNCrossChannelForward, Window

from ..definition import Array, Arrays, Definition, Numbers, Outcome, blend, blend_terms

_LRN = (1,)


def _spatial(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def _neighbours(a: Array, before: int, after: int, axes: Sequence[int]) -> Iterator[Array]:
    """Yield for each cell of the window the numbers that lie there as seen from every place, 0 outside the tensor."""
    padded = np.pad(a, [(before, after) if axis in axes else (0, 0) for axis in range(a.ndim)])
    for cell in itertools.product(range(before + after + 1), repeat=len(axes)):
        first = dict(zip(axes, cell, strict=True))
        starts = [first.get(axis, 0) for axis in range(a.ndim)]
        yield padded[tuple(slice(start, start + size) for start, size in zip(starts, a.shape, strict=True))]


def _sums(a: Array, before: int, after: int) -> Array:
    """Return the sums over windows along the channels."""
    return sum(_neighbours(a, before, after, _LRN), np.zeros(a.shape))


def _sums_of_gaps(x: Array, m: Array, window: Window, power: int) -> Array:
    """Return, for every centre i, the sum over its spatial window of (x[j] - m[i]) ** power; 3 stands for |...|."""
    around = (window.before, window.after, _spatial(x))
    function = {1: np.positive, 2: np.square, 3: np.abs}[power]
    inside = _neighbours(np.ones(x.shape), *around)
    cells = zip(_neighbours(x, *around), inside, strict=True)
    return sum((np.where(there, function(v - m), 0.0) for v, there in cells), np.zeros(x.shape))


def _gathered(x: Array, m: Array, slope: Array, window: Window, function: Callable[[Array], Array]) -> Array:
    """Return, for every j, the sum over the centres i of slope[i] * (x[j] - m[i]), each term through a function.

    The library's i are those of the forward window around j; only for an odd n are theirs the windows that j is in.
    """
    around = (window.before, window.after, _spatial(x))
    pairs = zip(_neighbours(slope, *around), _neighbours(m, *around), strict=True)
    return sum((function(q * (x - mean)) for q, mean in pairs), np.zeros(x.shape))


class _Parts:
    """What forward and backward passes of both operations are made of, and how far rounding may reach."""

    def __init__(self, window: Window, squares: Array) -> None:
        self.window = window
        self.s = window.k + window.weight * squares
        self.factor = self.s**-window.beta
        # relative error of the factor and of factor / s, in roundings: of s, and of log(s) in the power
        self.factor_error = 1 + window.beta * (1 + np.abs(np.log(np.abs(self.s))))
        self.slope_error = self.factor_error + 1

    def slope(self, g: Array) -> Array:
        """Return how the sum of g * y changes with the sum of squares, but for the sign and a factor of 2."""
        return self.window.beta * self.window.weight * g * self.factor / self.s


def _lrn_parts(problem: LRNCrossChannelForward | LRNCrossChannelBackward, x: Array) -> _Parts:
    window = problem.window
    return _Parts(window, _sums(x * x, window.before, window.after))


def _lrn(problem: LRNCrossChannelForward, numbers: Numbers, t: Arrays) -> Outcome:
    return {"y": blend(numbers, t["x"] * _lrn_parts(problem, t["x"]).factor, t["y"])}


def _lrn_terms(problem: LRNCrossChannelForward, numbers: Numbers, t: Arrays) -> Outcome:
    parts = _lrn_parts(problem, t["x"])
    return {"y": blend_terms(numbers, np.abs(t["x"]) * parts.factor * parts.factor_error, t["y"])}


def _lrn_gradient(problem: LRNCrossChannelBackward, numbers: Numbers, t: Arrays) -> Outcome:
    x, dy, window = t["x"], t["dy"], problem.window
    parts = _lrn_parts(problem, x)
    # channel j is in the windows of those that lie `after` before it to `before` behind it
    through = _sums(parts.slope(dy * x), window.after, window.before)
    return {"dx": blend(numbers, dy * parts.factor - 2 * x * through, t["dx"])}


def _lrn_gradient_terms(problem: LRNCrossChannelBackward, numbers: Numbers, t: Arrays) -> Outcome:
    x, dy, window = np.abs(t["x"]), np.abs(t["dy"]), problem.window
    parts = _lrn_parts(problem, x)
    slope = np.abs(parts.slope(dy * x)) * parts.slope_error
    through = _sums(slope, window.after, window.before)
    return {"dx": blend_terms(numbers, dy * parts.factor * parts.factor_error + 2 * x * through, t["dx"])}


def _means(t: Arrays) -> Array:
    return t["means"] if "means" in t else np.zeros(t["x"].shape)


def _divisive_parts(problem: DivisiveNormalizationForward | DivisiveNormalizationBackward, t: Arrays) -> _Parts:
    return _Parts(problem.window, _sums_of_gaps(t["x"], _means(t), problem.window, 2))


def _divisive(problem: DivisiveNormalizationForward, numbers: Numbers, t: Arrays) -> Outcome:
    return {"y": blend(numbers, t["x"] * _divisive_parts(problem, t).factor, t["y"])}


def _divisive_terms(problem: DivisiveNormalizationForward, numbers: Numbers, t: Arrays) -> Outcome:
    parts = _divisive_parts(problem, t)
    return {"y": blend_terms(numbers, np.abs(t["x"]) * parts.factor * parts.factor_error, t["y"])}


def _divisive_gradient(problem: DivisiveNormalizationBackward, numbers: Numbers, t: Arrays) -> Outcome:
    x, m, dy, window = t["x"], _means(t), t["dy"], problem.window
    parts = _divisive_parts(problem, t)
    slope = parts.slope(dy * x)
    through = _gathered(x, m, slope, window, np.positive)
    found = {"dx": blend(numbers, dy * parts.factor - 2 * through, t["dx"])}
    if problem.dmeans is not None:
        found["dmeans"] = blend(numbers, 2 * slope * _sums_of_gaps(x, m, window, 1), t["dmeans"])
    return found


def _divisive_gradient_terms(problem: DivisiveNormalizationBackward, numbers: Numbers, t: Arrays) -> Outcome:
    x, m, dy, window = t["x"], _means(t), np.abs(t["dy"]), problem.window
    parts = _divisive_parts(problem, t)
    slope = np.abs(parts.slope(dy * x)) * parts.slope_error
    through = _gathered(x, m, slope, window, np.abs)
    found = {"dx": blend_terms(numbers, dy * parts.factor * parts.factor_error + 2 * through, t["dx"])}
    if problem.dmeans is not None:
        found["dmeans"] = blend_terms(numbers, 2 * slope * _sums_of_gaps(x, m, window, 3), t["dmeans"])
    return found


DEFINITIONS = {
    LRNCrossChannelForward: Definition(_lrn, _lrn_terms),
    LRNCrossChannelBackward: Definition(_lrn_gradient, _lrn_gradient_terms),
    DivisiveNormalizationForward: Definition(_divisive, _divisive_terms),
    DivisiveNormalizationBackward: Definition(_divisive_gradient, _divisive_gradient_terms),
}
