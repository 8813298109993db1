"""Kernel backends: softmax against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from cases_windows import SOFTMAX_CASES
from helper import check, compare, everywhere, over
from ml_dtypes import bfloat16, finfo

import portadnn as dnn


@over(SOFTMAX_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


NAN = np.nan
# inputs, and what FAST, ACCURATE and LOG make of them
EXTREMES = [
    ((1000, 0), (NAN, 0), (1, 0), (0, -1000)),
    ((-1000, -1000), (NAN, NAN), (0.5, 0.5), (-np.log(2), -np.log(2))),
    ((0, -1000), (1, 0), (1, 0), (0, -1000)),
    ((3, 3), (0.5, 0.5), (0.5, 0.5), (-np.log(2), -np.log(2))),
]


@everywhere()
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, bfloat16])
@pytest.mark.parametrize("mode", ["CHANNEL", "INSTANCE"])
@pytest.mark.parametrize(("x", "fast", "accurate", "log"), EXTREMES)
def test_large_inputs(handle, x, fast, accurate, log, mode, dtype):
    """FAST subtracts no maximum and overflows to NaN, as cuDNN's does; the others do not."""
    x = handle.asarray(np.array(x, dtype).reshape(1, 2, 1, 1))
    for algorithm, want in (("FAST", fast), ("ACCURATE", accurate), ("LOG", log)):
        y = handle.to_numpy(dnn.softmax_forward(handle, x, algorithm=algorithm, mode=mode))
        want = np.reshape(want, (1, 2, 1, 1)).astype(np.float64)
        compare(y, want, 4 * finfo(dtype).eps * np.abs(want), f"{algorithm} {mode}")


@everywhere()
def test_fast_overflows_where_the_accumulator_does(handle):
    """exp(100) is beyond float32, in which float16, bfloat16 and float32 data is summed, and well within float64."""
    x = np.array([100.0, 99.0]).reshape(1, 2, 1, 1)
    for dtype, first in ((np.float16, NAN), (bfloat16, NAN), (np.float32, NAN), (np.float64, 1 / (1 + np.exp(-1)))):
        y = handle.to_numpy(dnn.softmax_forward(handle, handle.asarray(x, dtype), algorithm="FAST"))
        compare(y[0, 0, 0, 0], first, 1e-14)


@everywhere()
@pytest.mark.parametrize("mode", ["CHANNEL", "INSTANCE"])
def test_a_constant_does_not_matter(handle, mode):
    rng = np.random.default_rng(2)
    x = rng.integers(-4, 5, (2, 3, 4, 5)).astype(np.float32)
    for algorithm in ("ACCURATE", "LOG"):
        plain = dnn.softmax_forward(handle, handle.asarray(x), algorithm=algorithm, mode=mode)
        moved = dnn.softmax_forward(handle, handle.asarray(x + 4096), algorithm=algorithm, mode=mode)
        np.testing.assert_array_equal(handle.to_numpy(plain), handle.to_numpy(moved))
