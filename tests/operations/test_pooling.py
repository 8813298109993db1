"""Kernel backends: pooling against the reference."""

from __future__ import annotations

import brute
import numpy as np
import pytest
from cases_windows import POOLING_CASES
from helper import assert_same, check, everywhere, over
from ml_dtypes import bfloat16

import portadnn as dnn
from portadnn.ops.pooling import PoolingBackward
from portadnn.problem import TensorSpec


@over(POOLING_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


NAN, INF = np.nan, np.inf
KEEP, DROP = "PROPAGATE_NAN", "NOT_PROPAGATE_NAN"
LOWEST = {
    np.float16: -65504.0,
    bfloat16: -3.3895313892515355e38,
    np.float32: -3.4028234663852886e38,
    np.float64: -1.7976931348623157e308,
}
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, bfloat16])


def row(*values, dtype=np.float32):
    return np.array(values, dtype).reshape(1, 1, 1, -1)


def pool(handle, pooling, x, dy):
    """Return y and dx as NumPy arrays."""
    x = handle.asarray(x)
    y = dnn.pooling_forward(handle, x, pooling)
    dx = dnn.pooling_backward(handle, y, handle.asarray(dy), x, pooling)
    return handle.to_numpy(y), handle.to_numpy(dx)


# windows of three next to one another: x, y and dx for dy = 1, 2, 3, ...
MAXIMA = [
    ("the first maximum", DROP, (5, 5, 1, 2, 7, 7), (5, 7), (1, 0, 0, 0, 2, 0)),
    ("NaN is skipped", DROP, (NAN, 1, 2, 3, NAN, 1), (2, 3), (0, 0, 1, 2, 0, 0)),
    ("only NaN", DROP, (NAN, NAN, NAN, -INF, -1, NAN), (None, -1), (0, 0, 0, 0, 2, 0)),
    ("only -inf", DROP, (-INF, -INF, -INF, 0, -0.0, -1), (None, 0), (1, 0, 0, 2, 0, 0)),
    ("-inf and NaN", DROP, (NAN, -INF, -INF, -INF, -INF, NAN), (None, None), (0, 1, 0, 2, 0, 0)),
    ("NaN after -inf", KEEP, (-INF, -INF, NAN, -INF, -INF, -INF), (NAN, None), (0, 0, 1, 2, 0, 0)),
    ("inf", DROP, (INF, INF, 1, -INF, INF, 0), (INF, INF), (1, 0, 0, 0, 2, 0)),
    ("the first NaN", KEEP, (NAN, 1, 2, 3, NAN, NAN), (NAN, NAN), (1, 0, 0, 0, 2, 0)),
    ("NaN after the maximum", KEEP, (9, 1, NAN, INF, 2, NAN), (NAN, NAN), (0, 0, 1, 0, 0, 2)),
    ("no NaN", KEEP, (1, 3, 3, -INF, -INF, -INF), (3, None), (0, 1, 0, 2, 0, 0)),
]


@everywhere()
@TYPES
@pytest.mark.parametrize(("nan", "x", "y", "dx"), [case[1:] for case in MAXIMA], ids=[case[0] for case in MAXIMA])
def test_which_maximum_wins(handle, nan, x, y, dx, dtype):
    """None stands for the lowest finite number of the type, which cuDNN gives to a window without a maximum."""
    pooling = dnn.PoolingDescriptor("MAX", (1, 3), stride=(1, 3), nan_propagation=nan)
    got_y, got_dx = pool(handle, pooling, row(*x, dtype=dtype), row(1, 2, dtype=dtype))
    want = row(*[LOWEST[dtype] if v is None else v for v in y], dtype=dtype)
    assert_same(got_y, want)
    assert_same(got_dx, row(*dx, dtype=dtype))


@everywhere()
@pytest.mark.parametrize(
    ("dims", "window", "padding", "stride"),
    [
        ((2, 3, 7, 9), (3, 3), (1, 1), (2, 2)),
        ((1, 4, 16, 40), (3, 2), (2, 1), (1, 1)),
        ((1, 2, 12, 12), (2, 2), (0, 0), (3, 3)),
        ((1, 2, 5, 6), (20, 20), (19, 19), (1, 2)),
        ((1, 2, 4, 5, 6), (2, 3, 2), (1, 2, 1), (2, 1, 2)),
    ],
    ids=["3x3", "overlapping", "gaps", "large", "volume"],
)
@pytest.mark.parametrize("format", ["nchw", "nhwc"])
@pytest.mark.parametrize("nan", [KEEP, DROP])
def test_windows_of_infinities(handle, dims, window, padding, stride, nan, format):
    """Images of -inf with some NaN, and with a number here and there, against loops over the windows."""
    rng = np.random.default_rng(11)
    x = rng.choice([-np.inf, np.nan, -3.0e38, 2.0], dims, p=[0.85, 0.1, 0.03, 0.02]).astype(np.float32)
    pooling = dnn.PoolingDescriptor("MAX", window, padding, stride, nan)
    given = handle.asarray(x, format=format)
    y = dnn.pooling_forward(handle, given, pooling)
    dy = rng.integers(1, 9, y.shape).astype(np.float32)
    dx = dnn.pooling_backward(handle, y, handle.asarray(dy, format=format), given, pooling)
    image, out = (TensorSpec.packed(dnn.DataType.FLOAT, sizes) for sizes in (dims, tuple(y.shape)))
    problem = PoolingBackward(out, out, image, image, *pooling.params)
    want = brute.pooling_backward(problem, {}, None, dy, x)
    np.testing.assert_array_equal(handle.to_numpy(dx), want)


@everywhere()
@TYPES
def test_windows_of_padding_only(handle, dtype):
    """Padding may be as large as the window: the outermost windows then see no pixel."""
    x = row(4, 8, dtype=dtype)
    dy = row(1, 2, 4, 8, 16, dtype=dtype)
    lowest = LOWEST[dtype]
    for mode, y, dx in (
        ("MAX", (lowest, 4, 8, 8, lowest), (2, 12)),
        ("AVERAGE_COUNT_INCLUDE_PADDING", (0, 2, 6, 4, 0), (3, 6)),
        ("AVERAGE_COUNT_EXCLUDE_PADDING", (0, 4, 6, 8, 0), (4, 10)),
    ):
        pooling = dnn.PoolingDescriptor(mode, (1, 2), padding=(0, 2))
        got_y, got_dx = pool(handle, pooling, x, dy)
        np.testing.assert_array_equal(got_y, row(*y, dtype=dtype))
        np.testing.assert_array_equal(got_dx, row(*dx, dtype=dtype))


@everywhere()
@pytest.mark.parametrize("nan", [KEEP, DROP])
def test_averages_keep_nan(handle, nan):
    for mode in ("AVERAGE_COUNT_INCLUDE_PADDING", "AVERAGE_COUNT_EXCLUDE_PADDING"):
        pooling = dnn.PoolingDescriptor(mode, (1, 2), stride=(1, 2), nan_propagation=nan)
        y, _ = pool(handle, pooling, row(1, NAN, 1, 2, INF, 1), row(1, 1, 1))
        np.testing.assert_array_equal(y, row(NAN, 1.5, INF))


@everywhere()
def test_maxima_of_a_volume_come_in_row_major_order(handle):
    """Equal maxima everywhere: the gradient goes to the first in depth, then height, then width."""
    x = np.zeros((1, 1, 2, 2, 2), np.float32)
    x[0, 0, 0, 1, 0] = x[0, 0, 0, 1, 1] = x[0, 0, 1, 0, 0] = 3
    pooling = dnn.PoolingDescriptor("MAX", (2, 2, 2))
    _, dx = pool(handle, pooling, x, np.ones((1, 1, 1, 1, 1), np.float32))
    assert dx[0, 0, 0, 1, 0] == 1 and dx.sum() == 1
