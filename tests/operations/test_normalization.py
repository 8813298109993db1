"""Kernel backends: layer, instance, group and RMS normalisation against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from cases_norm import SAMPLE_CASES
from helper import check, compare, everywhere, over

import portadnn as dnn


@over(SAMPLE_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


@everywhere()
@pytest.mark.parametrize(
    ("mode", "parameters", "options", "axes"),
    [
        ("LAYER_NORM", (1, 6, 5, 8), {}, (1, 2, 3)),
        ("LAYER_NORM", (1, 1, 1, 8), {"axis": -1}, (3,)),
        ("INSTANCE_NORM", (1, 6, 1, 1), {}, (2, 3)),
    ],
)
def test_large_means_cost_no_digits(handle, mode, parameters, options, axes):
    rng = np.random.default_rng(5)
    x = (1e4 + 1e-2 * rng.standard_normal((3, 6, 5, 8))).astype(np.float32)
    one, zero = (handle.asarray(np.full(parameters, v, np.float32)) for v in (1, 0))
    y = dnn.normalization_forward(handle, handle.asarray(x), one, zero, mode=mode, **options)
    exact = x.astype(np.float64)
    mean, variance = exact.mean(axes, keepdims=True), exact.var(axes, keepdims=True)
    want = (exact - mean) / np.sqrt(variance + 1e-5)
    compare(handle.to_numpy(y), want, 2e-6 * (1 + np.abs(want)))


@everywhere()
def test_what_there_is_is_returned(handle):
    """With a scale both gradients of parameters come back, but RMS_NORM's dbias only where it is given."""
    x = handle.asarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    scale = handle.asarray(np.ones((1, 3, 4), np.float32))
    dx, dscale, dbias = dnn.normalization_backward(handle, x, x)
    assert dx.shape == (2, 3, 4) and dscale is None and dbias is None
    _, dscale, dbias = dnn.normalization_backward(handle, x, x, scale)
    assert dscale.shape == dbias.shape == (1, 3, 4)
    np.testing.assert_array_equal(handle.to_numpy(dbias), handle.to_numpy(x).sum(0, keepdims=True))
    _, dscale, dbias = dnn.normalization_backward(handle, x, x, scale, mode="RMS_NORM")
    assert dscale.shape == (1, 3, 4) and dbias is None
    given = handle.empty((1, 3, 4))
    assert dnn.normalization_backward(handle, x, x, scale, dbias=given, mode="RMS_NORM")[2] is given
    np.testing.assert_array_equal(handle.to_numpy(given), handle.to_numpy(x).sum(0, keepdims=True))


@everywhere()
def test_groups_meet_layer_and_instance_normalisation(handle):
    """One group is all channels, as many groups as channels are one each."""
    rng = np.random.default_rng(8)
    x = handle.asarray(rng.standard_normal((2, 4, 3, 5)), "float32")
    scale, bias = (handle.asarray(rng.standard_normal((1, 4, 1, 1)), "float32") for _ in range(2))
    wide = [handle.asarray(np.broadcast_to(handle.to_numpy(p), (1, 4, 3, 5)).copy()) for p in (scale, bias)]
    each = dnn.normalization_forward(handle, x, scale, bias, mode="GROUP_NORM", groups=4)
    instance = dnn.normalization_forward(handle, x, scale, bias, mode="INSTANCE_NORM")
    compare(handle.to_numpy(each), handle.to_numpy(instance), 1e-6)
    whole = dnn.normalization_forward(handle, x, scale, bias, mode="GROUP_NORM")
    layer = dnn.normalization_forward(handle, x, *wide)
    compare(handle.to_numpy(whole), handle.to_numpy(layer), 2e-6)
