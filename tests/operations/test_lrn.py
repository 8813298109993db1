"""Kernel backends: local response and divisive normalisation against the reference, and what no table shows."""

from __future__ import annotations

import numpy as np
import pytest
from cases_lrn import DIVISIVE_CASES, LRN_CASES
from helper import check, compare, everywhere, over

import portadnn as dnn


@over(LRN_CASES)
def test_across_channels(handle, case):
    check(handle, case)


@over(DIVISIVE_CASES)
def test_divisive(handle, case):
    check(handle, case)


@everywhere()
@pytest.mark.parametrize("format", ["nchw", "nhwc"])
def test_a_large_channel_leaves_no_trace_behind_its_windows(handle, format):
    """A running sum that subtracts what leaves the window would have lost the small squares."""
    x = np.full((1, 24, 2, 8), 1e-3, np.float32)
    x[:, 7] = 1e6
    lrn = dnn.LRNDescriptor(3, 1.0, 0.5, 1e-5)
    y = handle.to_numpy(dnn.lrn_cross_channel_forward(handle, handle.asarray(x, format=format), lrn))
    quiet = 1e-3 / np.sqrt(1e-5 + 1e-6)
    np.testing.assert_allclose(y[:, 10:23], quiet, rtol=1e-6)
    np.testing.assert_allclose(y[:, 1:6], quiet, rtol=1e-6)


@everywhere()
@pytest.mark.parametrize("beta", [0.01, 0.5, 0.75, 1.0, 3.0])
def test_squares_beyond_the_range(handle, beta):
    """x^2 overflows in float32: the result is 0, not NaN; NaN stays in the windows that see it."""
    x = np.ones((1, 9, 1, 1), np.float32)
    x[0, 2], x[0, 7] = 1e30, np.nan
    y = handle.to_numpy(dnn.lrn_cross_channel_forward(handle, handle.asarray(x), dnn.LRNDescriptor(3, 1.0, beta, 1.0)))
    assert np.isnan(y[0, 6:, 0, 0]).all() and not np.isnan(y[0, :6]).any()
    if handle.backend != "reference":  # which has float64's range
        assert not y[0, 1:4].any()


@everywhere()
@pytest.mark.parametrize("format", ["nchw", "nhwc"])
def test_large_means_cost_no_digits(handle, format):
    """Pixels and means at 1e4, deviations of 1: squares less the mean's square would have no digit right."""
    rng = np.random.default_rng(3)
    dims = (2, 8, 7, 6)
    x, m = (1e4 + rng.standard_normal(dims).astype(np.float32) for _ in range(2))
    dy = rng.standard_normal(dims).astype(np.float32)
    lrn = dnn.LRNDescriptor(3, 1.0, 0.75, 0.5)
    results = []
    for where in (handle, dnn.Handle("reference")):
        a, b, g = (where.asarray(v, format=format) for v in (x, m, dy))
        y = dnn.divisive_normalization_forward(where, a, b, lrn)
        dx, dm = dnn.divisive_normalization_backward(where, a, b, g, lrn, dmeans=where.empty(dims))
        results.append([where.to_numpy(v).astype(np.float64) for v in (y, dx, dm)])
    for got, want in zip(*results, strict=True):
        compare(got, want, 2e-5 * np.abs(want).max())


@everywhere()
@pytest.mark.parametrize("format", ["nchw", "nhwc"])
def test_an_infinite_mean_concerns_its_own_pixel(handle, format):
    """Everything is infinitely far from it: 0, in the corner of the image as well."""
    x = np.ones((1, 8, 4, 5), np.float32)
    means = np.zeros_like(x)
    means[:, :, 0, 0] = means[:, :, 2, 2] = np.inf
    a, b = (handle.asarray(v, format=format) for v in (x, means))
    y = handle.to_numpy(dnn.divisive_normalization_forward(handle, a, b, dnn.LRNDescriptor(3, 1.0, 0.75, 1.0)))
    assert np.array_equal(y == 0, np.isinf(means)) and np.isfinite(y).all()


@everywhere()
@pytest.mark.parametrize("format", ["nchw", "nhwc"])
@pytest.mark.parametrize("divisive", [False, True])
def test_pixels_outside_a_window_change_no_bit(handle, divisive, format):
    """One pixel whose square overflows: its neighbours in the same vector of the kernel keep their last bits."""
    x = np.random.default_rng(5).uniform(0.1, 30, (1, 16, 1, 16)).astype(np.float32)
    other = x.copy()
    other[0, 3], other[..., 5] = 1e30, 1e30
    lrn = dnn.LRNDescriptor(1, 0.5, 0.6, 2.0)
    results = []
    for v in (x, other):
        a = handle.asarray(v, format=format)
        if divisive:
            y = dnn.divisive_normalization_forward(handle, a, None, lrn)
        else:
            y = dnn.lrn_cross_channel_forward(handle, a, lrn)
        results.append(handle.to_numpy(y)[x == other])
    np.testing.assert_array_equal(results[0].view(np.int32), results[1].view(np.int32))


@everywhere()
def test_gradients_come_as_a_pair(handle):
    x = handle.asarray(np.ones((1, 1, 3, 3), np.float32))
    lrn = dnn.LRNDescriptor(3)
    dx, dm = dnn.divisive_normalization_backward(handle, x, None, x, lrn)
    assert dm is None and dx.shape == (1, 1, 3, 3)
    given = handle.empty((1, 1, 3, 3)), handle.empty((1, 1, 3, 3))
    assert all(
        a is b for a, b in zip(dnn.divisive_normalization_backward(handle, x, x, x, lrn, *given), given, strict=True)
    )


def test_descriptor():
    lrn = dnn.LRNDescriptor()
    assert (lrn.n, lrn.alpha, lrn.beta, lrn.k) == (5, 1e-4, 0.75, 2.0)  # guide section 4.88
    assert lrn == dnn.LRNDescriptor(np.int64(5), beta=np.float32(0.75)) and hash(lrn) == hash(dnn.LRNDescriptor())
    assert lrn != dnn.LRNDescriptor(4)
    with pytest.raises(AttributeError):
        lrn.n = 3
