"""Kernel backends: convolution and its gradients against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from cases_convolution import BIAS_CASES, CONVOLUTION_CASES
from helper import check, everywhere, over
from ml_dtypes import bfloat16

import portadnn as dnn


@over(CONVOLUTION_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


@over(BIAS_CASES)
def test_bias_gradient_agrees_with_the_reference(handle, case):
    check(handle, case)


@everywhere()
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, bfloat16])
@pytest.mark.parametrize(("mode", "want"), [("CROSS_CORRELATION", (1, 4, 7, 10, 8)), ("CONVOLUTION", (2, 5, 8, 11, 4))])
def test_the_mode_turns_the_filter(handle, mode, want, dtype):
    x = np.array([1, 2, 3, 4], dtype).reshape(1, 1, 1, 4)
    w = np.array([2, 1], dtype).reshape(1, 1, 1, 2)
    conv = dnn.ConvolutionDescriptor(padding=(0, 1), mode=mode)
    y = handle.to_numpy(dnn.convolution_forward(handle, handle.asarray(x), handle.asarray(w), conv))
    np.testing.assert_array_equal(y.ravel(), want)
