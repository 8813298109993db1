"""Comparing numbers: how far an output is from the exact result, by several measures, and which of them decided.

A number is right when it is within the tolerance of its own sum (:func:`portadnn.tolerance.tolerance`), NaN where NaN
is due and infinite where that is due. Whole numbers that no order of summation rounds are compared bit for bit. What
cannot be said is left out and counted: where the sum of absolute terms leaves the accumulator's range, partial sums
overflow or do not, depending on their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..bfloat16 import as_float64
from ..enums import DataType, ReduceTensorOp
from ..ops.convolution.calls import Convolution
from ..problem import Problem
from ..tolerance import tolerance

Reals = npt.NDArray[np.float64]
Measure = Literal["bits", "tolerance", "largest element's tolerance", "NaN", "infinity", "none"]

PROFILE = 64  # bins along an axis
ULP_BINS = (0, 0.5, 1, 2, 4, 16, 256, 65536)  # lower ends of the histogram's bins
ZEROS = 0.98  # share of zeros in what is due from which on an output proves nothing


@dataclass(frozen=True)
class Difference:
    """How an output differs from the exact result.

    Attributes
    ----------
    decided : str
        The measure that the verdict came from: ``"bits"``, ``"tolerance"``, ``"largest element's tolerance"`` (of
        engines that multiply transformed data), ``"NaN"``, ``"infinity"``, or ``"none"`` where nothing was compared.
    wrong, size, left_out : int
        Elements that are wrong, that there are, and that could not be judged.
    excess : float
        The largest error in units of what is allowed; infinite for a NaN that should be none.
    absolute, relative, ulp, rms, l2 : float
        Largest absolute and relative error, largest error in units of the last place of the stored type, MIOpen's
        root of mean squares (over the largest magnitude), and the L2 norm of the error over that of the exact result.
    first, worst : tuple of int
        Index of the first wrong element, and of the one with the largest excess.
    got, want : float
        The numbers at `worst`.
    histogram : tuple of int
        How many elements have an error in each bin of `ULP_BINS`.
    profile : tuple of tuple of float
        For each axis the largest excess at each index (of each of 64 equal parts, where there are more).
    proves : str
        Why the output proves nothing, such as ``"all zeros"``; "" where it does.
    """

    decided: Measure
    wrong: int = 0
    size: int = 0
    left_out: int = 0
    excess: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0
    ulp: float = 0.0
    rms: float = 0.0
    l2: float = 0.0
    first: tuple[int, ...] = ()
    worst: tuple[int, ...] = ()
    got: float = 0.0
    want: float = 0.0
    histogram: tuple[int, ...] = ()
    profile: tuple[tuple[float, ...], ...] = field(default=(), repr=False)
    proves: str = ""

    def __str__(self) -> str:
        if not self.wrong:
            return f"{self.size} elements agree, excess {self.excess:.2g}, {self.ulp:.2g} ulp"
        return (
            f"{self.wrong} of {self.size} elements are wrong by {self.decided}, first at {self.first}, "
            f"worst at {self.worst}: got {self.got!r}, expected {self.want!r}, {self.excess:.3g} times the tolerance, "
            f"{self.ulp:.3g} ulp, relative {self.relative:.3g}, RMS {self.rms:.3g}, L2 {self.l2:.3g}"
        )


def bounds(
    problem: Problem,
    name: str,
    want: Reals,
    sums: Reals | None,
    *,
    factor: float = 1.0,
    transforms: bool = False,
    product: float = 0.0,
    overflows: bool = False,
    scale: float = 1.0,
) -> tuple[Reals, Reals, npt.NDArray[np.bool_]]:
    """Return what is due, by how much each element may be off, and which cannot be judged.

    Parameters
    ----------
    want
        The exact result.
    sums
        Sums of absolute terms, None where the result has to be exact.
    factor, transforms
        The engine's ``error_factor``, and whether it multiplies transformed data.
    product
        With a factor, the largest product of two factors there may be; infinite where inputs hold NaN or infinities.
    overflows
        Whether finite inputs are so large that sums overflow, in float64 as well.
    scale
        Smallest of the run-time factors (alpha): sums may overflow before they are multiplied by it.
    """
    dtype = problem.tensors[problem.index(name)].dtype
    with np.errstate(over="ignore"):
        stored = as_float64(dtype.stored(want))
    unknown = np.zeros(want.shape, bool)
    if sums is None or not dtype.is_float:
        return stored, np.zeros(want.shape), unknown
    with np.errstate(all="ignore"):
        range_end = -dtype.accumulator.limits.lowest / 4 * (scale if overflows else 1.0)
        unknown = (np.isfinite(want) | overflows) & ~(sums < range_end)
        spread = not np.all(np.isfinite(want)) or not np.isfinite(product)  # by a transform, over its tile
        usable = np.where(np.isfinite(sums), sums, 0.0)
        if (factor != 1 or (transforms and (spread or overflows))) and sums.size:
            sums = np.full_like(sums, factor * max(usable.max(), product))
            if spread:
                unknown = np.ones(want.shape, bool)
        elif transforms and isinstance(problem, Convolution) and sums.size:
            # rounding of a tile's numbers is spread over its results, those of no terms among them
            sums = np.maximum(sums, usable.max(tuple(range(2, sums.ndim)), keepdims=True))
        if scale == 0 and _multiplies(problem):  # an overflowed product times 0
            unknown = np.ones(want.shape, bool)
        exact = np.where(np.isinf(stored), stored, want)  # beyond what the type can hold
        bound = tolerance(problem, exact, sums, name)
        # close to the largest number, rounding to it and to infinity are both within the tolerance
        most = -dtype.limits.lowest
        edge = np.isfinite(want) & (np.abs(want) + bound > most) & (np.abs(want) - bound <= most)
    return exact, bound, unknown | edge


def _multiplies(problem: Problem) -> bool:
    """Tell whether a result is a product of many numbers, which overflows without any of them being large."""
    operation = getattr(problem, "operation", None)
    return operation in (ReduceTensorOp.MUL, ReduceTensorOp.MUL_NO_ZEROS)


def compare(problem: Problem, name: str, got: npt.NDArray[Any], want: Reals, bound: Reals, unknown: Any) -> Difference:
    """Compare an output with what is due.

    Parameters
    ----------
    name
        Of the output, whose shape `got`, `want`, `bound` and `unknown` have.
    got
        As stored.
    """
    found = measure(got, want, bound, unknown, problem.tensors[problem.index(name)].dtype)
    return replace(found, proves=_emptiness(want, unknown)) if problem.op != "set_tensor" and want.size else found


def measure(got: npt.NDArray[Any], want: Reals, bound: Reals, unknown: Any, dtype: DataType) -> Difference:
    """Return how numbers of a type differ from what is due; see :func:`compare`."""
    if want.size == 0:
        return Difference("none")
    found = as_float64(got)
    with np.errstate(all="ignore"):
        error = np.abs(found - want)
        same = (found == want) | (np.isnan(found) & np.isnan(want)) | unknown
        error = np.where(same, np.where(np.isfinite(error), error, 0.0), error)
        excess = np.where(same & (error == 0), 0.0, error / bound)
        excess = np.where(unknown, 0.0, np.where(np.isnan(excess), np.inf, excess))
    wrong = excess > 1
    worst = tuple(map(int, np.unravel_index(excess.argmax(), want.shape)))
    judged = np.isfinite(found) & np.isfinite(want) & ~unknown
    magnitudes, errors = np.abs(want[judged]), error[judged]
    units = _ulp(errors, magnitudes, dtype)
    largest = float(magnitudes.max(initial=0.0))
    with np.errstate(all="ignore"):
        relative = float(
            (errors / np.maximum(magnitudes, dtype.limits.smallest_normal if dtype.is_float else 1)).max(initial=0.0)
        )
        rms = float(np.sqrt(np.mean((errors / largest) ** 2))) if largest else 0.0
        l2 = float(np.linalg.norm(errors / largest) / np.linalg.norm(magnitudes / largest)) if largest else 0.0
    return Difference(
        decided=_measure(found, want, bound, excess),
        wrong=int(wrong.sum()),
        size=int(want.size),
        left_out=int(np.sum(unknown)),
        excess=float(excess.max()),
        absolute=float(errors.max(initial=0.0)),
        relative=relative,
        ulp=float(units.max(initial=0.0)),
        rms=rms,
        l2=l2,
        first=tuple(map(int, np.argwhere(wrong)[0])) if wrong.any() else (),
        worst=worst,
        got=float(found[worst]),
        want=float(want[worst]),
        histogram=tuple(map(int, np.histogram(units, (*ULP_BINS, np.inf))[0])),
        profile=tuple(_along(excess, axis) for axis in range(want.ndim)),
    )


def _ulp(errors: Reals, magnitudes: Reals, dtype: DataType) -> Reals:
    """Return errors in units of the last place that the stored type has at these magnitudes."""
    if not dtype.is_float:
        return errors
    limits = dtype.limits
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.maximum(magnitudes, limits.smallest_normal)))
        units: Reals = errors / np.exp2(exponent) / limits.eps
    return units


def _measure(found: Reals, want: Reals, bound: Reals, excess: Reals) -> Measure:
    """Return what the verdict depended on: for a failure, what the worst element fails by."""
    if np.isinf(excess.max()):
        place = np.unravel_index(excess.argmax(), want.shape)
        if np.isnan(found[place]) != np.isnan(want[place]):
            return "NaN"
        if np.isinf(found[place]) or np.isinf(want[place]):
            return "infinity"
    return "tolerance" if bound.any() else "bits"


def _along(excess: Reals, axis: int) -> tuple[float, ...]:
    """Return the largest excess at each index of an axis, of at most `PROFILE` parts."""
    others = tuple(i for i in range(excess.ndim) if i != axis)
    line = excess.max(axis=others) if others else excess
    if line.size > PROFILE:
        starts = np.arange(PROFILE) * line.size // PROFILE
        line = np.maximum.reduceat(line, starts)
    return tuple(float(np.float32(min(value, 1e30))) for value in line)


def _emptiness(want: Reals, unknown: Any) -> str:
    """Return why an output of these numbers proves nothing."""
    judged = want[~unknown]
    if not judged.size:
        return "no element could be judged"
    if np.all(np.isnan(judged)):
        return "all NaN"
    if judged.size >= 8 and np.mean(judged == 0) >= ZEROS:
        return "all zeros" if not judged.any() else "nearly all zeros"
    if judged.size >= 8 and np.all(judged == judged.flat[0]):
        return "one number everywhere"
    return ""
