"""How far a backend may be from the exact result: one rule for the tests and for diff testing."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .enums import DataType, MathType
from .ops.convolution.calls import Convolution
from .problem import Problem

FEW = 4.0  # roundings around every sum, and the few units that exp, tanh and division may be off
GROWTH = 2.0  # times sqrt(length)
TF32_ROUNDING = 2.0**-11  # of each factor, relative
TF32_SPREAD = 32.0  # over sqrt(length): see `tolerance`
_ROUNDS_FLOAT = (MathType.TENSOR_OP_ALLOW_CONVERSION,)


def tolerance(
    problem: Problem, want: npt.NDArray[np.float64], terms: npt.NDArray[np.float64], output: str | None = None
) -> npt.NDArray[np.float64]:
    """Return the error that each element of the output may have.

    Parameters
    ----------
    problem
        What was computed; its output's type says how results are stored, the accumulator how sums are kept.
        Integers are exact.
    want
        The exact result.
    terms
        The sum of the absolute values of what was added up for each element: large beside `want` where terms
        cancel.
    output
        Name of the output; by default the last.

    Notes
    -----
    Rounding errors of a sum of K terms are independent enough to grow with sqrt(K) [1]_; on top comes the
    rounding of the stored result. A bound with K itself would hide a missing term.

    Where float32 may be rounded to TF32, each product is off by a share d of itself, abs(d) <= 2**-10 (two factors
    of 11 significant bits), so a sum by at most 2**-10 * `terms`. The d are independent with mean 0 and a standard
    deviation of about 0.3 * 2**-10: K terms of similar size add up to 0.5 * 2**-10 * `terms` / sqrt(K) of it. Six
    times that, with at least K/100 terms alike (padding and strides leave out many), gives at most
    2**-10 * min(1, 32 / sqrt(K)).

    Recurrent networks in 16 bits may round what passes from step to step, hidden states and gradients of gates, to the
    stored type, as cuDNN does: each term is off by half a unit of that type once for its layer and once for its step.
    Multi-head attention may as well: heads, weights of keys and results pass from product to product.

    .. [1] N. J. Higham and T. Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci.
       Comput. 41(5), 2019, theorem 2.4.
    """
    name = problem.written[-1] if output is None else output
    dtype = problem.tensors[problem.index(name)].dtype
    if not dtype.is_float:
        return np.zeros(want.shape)
    length = problem.reduction_length(name)
    stored, summed = dtype.limits, dtype.accumulator.limits
    growth = FEW + GROWTH * math.sqrt(length)
    smallest = stored.smallest_subnormal + summed.smallest_normal  # subnormals may become zero
    unit = growth * summed.eps
    if isinstance(problem, Convolution) and problem.dtype is DataType.FLOAT and problem.math in _ROUNDS_FLOAT:
        unit += 2 * TF32_ROUNDING * min(1.0, TF32_SPREAD / math.sqrt(max(length, 1)))
    if problem.rounds_between and dtype is not dtype.accumulator:
        unit += dtype.limits.eps
    rounding = stored.eps if dtype is dtype.accumulator else stored.eps / 2  # the sum was wider
    return unit * terms + rounding * np.abs(want) + smallest
