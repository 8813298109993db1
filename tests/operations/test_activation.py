"""Kernel backends: activation against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from cases_elementwise import ACTIVATION_CASES
from helper import check, compare, everywhere, over
from ml_dtypes import bfloat16, finfo

import portadnn as dnn


@over(ACTIVATION_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


NAN, INF = np.nan, np.inf
KEEP, DROP = "PROPAGATE_NAN", "NOT_PROPAGATE_NAN"
SPECIAL = (NAN, -INF, -2.0, -0.0, 0.0, 0.5, 2.0, INF)
FORWARD = [
    ("RELU", DROP, (0, 0, 0, 0, 0, 0.5, 2, INF)),
    ("RELU", KEEP, (NAN, 0, 0, 0, 0, 0.5, 2, INF)),
    ("CLIPPED_RELU", DROP, (0, 0, 0, 0, 0, 0.5, 1, 1)),
    ("CLIPPED_RELU", KEEP, (NAN, 0, 0, 0, 0, 0.5, 1, 1)),
    ("SIGMOID", DROP, (NAN, 0, 0.11920292202211755, 0.5, 0.5, 0.6224593312018546, 0.8807970779778823, 1)),
    ("ELU", DROP, (NAN, -0.5, -0.43233235838169365, 0, 0, 0.5, 2, INF)),
    ("SWISH", DROP, (NAN, NAN, -0.5378828427399902, 0, 0, 0.28108825044289903, 1.4621171572600098, INF)),
    ("IDENTITY", DROP, SPECIAL),
    ("TANH", DROP, (NAN, -1, -0.9640275800758169, 0, 0, 0.46211715726000973, 0.9640275800758169, 1)),
]


def tensor(*values, dtype=np.float32):
    return np.array(values, dtype).reshape(1, 1, 1, -1)


@everywhere()
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, bfloat16])
@pytest.mark.parametrize(("mode", "nan", "want"), FORWARD)
def test_special_values(handle, mode, nan, want, dtype):
    activation = dnn.ActivationDescriptor(mode, nan, ceiling=1.0, coef=0.5)
    y = dnn.activation_forward(handle, handle.asarray(tensor(*SPECIAL, dtype=dtype)), activation)
    eps = finfo(dtype).eps
    compare(handle.to_numpy(y), tensor(*want, dtype=np.float64), 4 * eps * np.abs(tensor(*want)), f"{mode} {nan}")


@everywhere()
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, bfloat16])
def test_gradient_at_the_kinks(handle, dtype):
    """Relu's slope at 0 is 0, and the ceiling itself still passes the gradient (as cuDNN does)."""
    x = handle.asarray(tensor(-1, -0.0, 0, 1e-3, 0.5, 1, 1.25, INF, -INF, dtype=dtype))
    dy = handle.asarray(tensor(1, 2, 3, 4, 5, 6, 7, 8, 9, dtype=dtype))
    for mode, want in (("RELU", (0, 0, 0, 4, 5, 6, 7, 8, 0)), ("CLIPPED_RELU", (0, 0, 0, 4, 5, 6, 0, 0, 0))):
        activation = dnn.ActivationDescriptor(mode, ceiling=1.0)
        y = dnn.activation_forward(handle, x, activation)
        got = handle.to_numpy(dnn.activation_backward(handle, y, dy, x, activation))
        np.testing.assert_array_equal(got, tensor(*want, dtype=dtype))
    activation = dnn.ActivationDescriptor("ELU", coef=0.5)  # which lets dy pass where y is 0, as cuDNN 9.19
    y = handle.asarray(tensor(-0.25, -0.0, 0, 0.25, dtype=dtype))
    dy = handle.asarray(tensor(1, 2, 3, 4, dtype=dtype))
    got = handle.to_numpy(dnn.activation_backward(handle, y, dy, y, activation))
    np.testing.assert_array_equal(got, tensor(0.25, 2, 3, 4, dtype=dtype))


@everywhere()
def test_a_ceiling_that_float32_rounds(handle):
    """0.1 is no float32: a stored 0.1 is above the ceiling as a float64, and at it as the kernels see it."""
    x = handle.asarray(tensor(0.1, 0.0999, 0.1001))
    activation = dnn.ActivationDescriptor("CLIPPED_RELU", ceiling=0.1)
    y = dnn.activation_forward(handle, x, activation)
    dy = handle.asarray(tensor(1, 1, 1))
    got = handle.to_numpy(dnn.activation_backward(handle, y, dy, x, activation))
    np.testing.assert_array_equal(got, tensor(1, 1, 0))


@everywhere()
@pytest.mark.parametrize("ceiling", [INF, 1e300])
@pytest.mark.parametrize("nan", ["NOT_PROPAGATE_NAN", "PROPAGATE_NAN"])
def test_a_ceiling_beyond_float32(handle, nan, ceiling):
    """It clips nothing, as in cuDNN 9.19."""
    x, dy = (handle.asarray(tensor(*values)) for values in ((-INF, -1, 0, 2, 3e38, INF, NAN), range(1, 8)))
    activation = dnn.ActivationDescriptor("CLIPPED_RELU", nan, ceiling=ceiling)
    y = dnn.activation_forward(handle, x, activation)
    last = NAN if nan == "PROPAGATE_NAN" else 0
    np.testing.assert_array_equal(handle.to_numpy(y), tensor(0, 0, 0, 2, 3e38, INF, last))
    got = handle.to_numpy(dnn.activation_backward(handle, y, dy, x, activation))
    np.testing.assert_array_equal(got, tensor(0, 0, 0, 4, 5, 6, 0))


@everywhere()
@pytest.mark.parametrize(("coef", "low"), [(1e300, -INF), (-1e300, INF)])
def test_a_coefficient_beyond_float32(handle, coef, low):
    """It is infinite, and multiplies negative numbers only."""
    x = handle.asarray(tensor(-INF, -1, 0, 2, INF))
    y = dnn.activation_forward(handle, x, dnn.ActivationDescriptor("ELU", coef=coef))
    np.testing.assert_array_equal(handle.to_numpy(y), tensor(low, low, 0, 2, INF))


@everywhere()
@pytest.mark.parametrize("nan", ["NOT_PROPAGATE_NAN", "PROPAGATE_NAN"])
def test_a_ceiling_below_0(handle, nan):
    """min(max(x, 0), ceiling) is the ceiling; measured with cuDNN 9.19, NaN too."""
    x, dy = (handle.asarray(tensor(*values)) for values in ((-INF, -2, 0, 0.5, INF, NAN), range(1, 7)))
    activation = dnn.ActivationDescriptor("CLIPPED_RELU", nan, ceiling=-1.0)
    y = dnn.activation_forward(handle, x, activation)
    np.testing.assert_array_equal(handle.to_numpy(y), tensor(-1, -1, -1, -1, -1, NAN if nan[0] == "P" else -1))
    got = handle.to_numpy(dnn.activation_backward(handle, y, dy, x, activation))
    np.testing.assert_array_equal(got, tensor(0, 0, 0, 0, 0, 0))


@everywhere()
def test_beta_decides_whether_the_output_is_read(handle):
    x, prior = tensor(1, 2, 3), tensor(NAN, 4, INF)
    relu = dnn.ActivationDescriptor("RELU")
    y = dnn.activation_forward(handle, handle.asarray(x), relu, handle.asarray(prior), beta=0.0)
    np.testing.assert_array_equal(handle.to_numpy(y), x)
    y = dnn.activation_forward(handle, handle.asarray(x), relu, handle.asarray(prior), beta=1.0)
    np.testing.assert_array_equal(handle.to_numpy(y), tensor(NAN, 6, INF))
