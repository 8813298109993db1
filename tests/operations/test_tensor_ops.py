"""Kernel backends: tensor ops against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from cases_elementwise import TENSOR_CASES
from helper import assert_same, check, everywhere, over
from ml_dtypes import bfloat16

import portadnn as dnn
import portadnn.cudnn as cudnn


@over(TENSOR_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


NAN, INF = np.nan, np.inf
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, bfloat16])


def row(*values, dtype=np.float32):
    return np.array(values, dtype).reshape(1, 1, 1, -1)


@everywhere()
@TYPES
def test_minimum_and_maximum_of_nan(handle, dtype):
    a, b = row(NAN, 1, NAN, -INF, 2, dtype=dtype), row(1, NAN, NAN, 0, 3, dtype=dtype)
    for operation, nan, want in (
        ("MIN", "NOT_PROPAGATE_NAN", (1, 1, NAN, -INF, 2)),
        ("MAX", "NOT_PROPAGATE_NAN", (1, 1, NAN, 0, 3)),
        ("MIN", "PROPAGATE_NAN", (NAN, NAN, NAN, -INF, 2)),
        ("MAX", "PROPAGATE_NAN", (NAN, NAN, NAN, 0, 3)),
        ("ADD", "NOT_PROPAGATE_NAN", (NAN, NAN, NAN, -INF, 5)),
    ):
        op = dnn.OpTensorDescriptor(operation, nan_propagation=nan)
        c = handle.to_numpy(dnn.op_tensor(handle, op, handle.asarray(a), handle.asarray(b)))
        assert_same(c, row(*want, dtype=dtype), f"{operation} {nan}")


@everywhere()
@TYPES
def test_sqrt_and_not_have_one_operand(handle, dtype):
    a, b, prior = (
        row(4, 0, -1, INF, NAN, dtype=dtype),
        row(NAN, NAN, NAN, NAN, NAN, dtype=dtype),
        row(1, 2, 3, 4, 5, dtype=dtype),
    )
    for operation, want in (("SQRT", (3, 0, NAN, INF, NAN)), ("NOT", (-8, 1, 3.25, -INF, NAN))):
        for other in ((), (handle.asarray(b),)):
            c = handle.to_numpy(dnn.op_tensor(handle, operation, handle.asarray(a), *other, alpha1=2.25))
            assert_same(c, row(*want, dtype=dtype), operation)
        c = dnn.op_tensor(handle, operation, handle.asarray(a), None, handle.asarray(prior), alpha1=2.25, beta=2)
        want = np.array(want) + 2 * prior.astype(np.float64)
        assert_same(handle.to_numpy(c), row(*want.ravel(), dtype=dtype), operation)
    with pytest.raises(dnn.BadParam, match="b: expected a tensor"):
        dnn.op_tensor(handle, "add", handle.asarray(a))


@everywhere()
def test_cudnn_looks_at_one_operand(handle):
    """Neither the descriptor nor the memory of B, which programs pass as NULL."""
    x, op = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateOpTensorDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(x, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, 1, 1, 1, 3)
    a, c = handle.asarray(np.float32([1, 4, 9])), handle.asarray(np.float32([0, 0, 0]))
    for operation, want in ((cudnn.CUDNN_OP_TENSOR_SQRT, (1, 2, 3)), (cudnn.CUDNN_OP_TENSOR_NOT, (0, -3, -8))):
        cudnn.cudnnSetOpTensorDescriptor(op, operation, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_NOT_PROPAGATE_NAN)
        cudnn.cudnnOpTensor(handle, op, 1, x, a, 1, None, None, 0, x, c)
        np.testing.assert_array_equal(handle.to_numpy(c), want)


@everywhere()
def test_half_is_rounded_to_nearest_even(handle):
    """2048 + 1 lies between two float16 numbers, and so does 2048 + 3; 65504 + 16 rounds to infinity."""
    a = handle.asarray(row(1, 3, -3, 15, 16, 2**-24, dtype=np.float16))
    c = handle.asarray(row(2048, 2048, -2048, 65504, 65504, 2**-24, dtype=np.float16))
    want = row(2048, 2052, -2052, 65504, INF, 2**-23, dtype=np.float16)
    np.testing.assert_array_equal(handle.to_numpy(dnn.add_tensor(handle, a, c)), want)


@everywhere()
@TYPES
def test_set_and_scale_special_values(handle, dtype):
    y = handle.asarray(row(1, NAN, INF, -2, dtype=dtype))
    assert_same(handle.to_numpy(dnn.scale_tensor(handle, y, -0.5)), row(-0.5, NAN, -INF, 1, dtype=dtype))
    for value in (NAN, -INF, 0.0, 0.1):
        assert_same(handle.to_numpy(dnn.set_tensor(handle, y, value)), row(*[value] * 4, dtype=dtype))


@everywhere()
@pytest.mark.parametrize(("value", "stored"), [(65510, 65504), (1e5, np.inf), (-1e5, -np.inf)])
def test_values_beyond_float16_are_rounded(handle, value, stored):
    y = handle.asarray(row(1, 2, dtype=np.float16))
    assert_same(handle.to_numpy(dnn.set_tensor(handle, y, value)), row(stored, stored, dtype=np.float16))


@everywhere()
def test_beta_decides_whether_the_output_is_read(handle):
    x = row(1, 2, 3)
    for beta, want in ((0.0, (1, 2, 3)), (1.0, (NAN, 6, INF)), (-0.5, (NAN, 0, -INF))):
        prior = handle.asarray(row(NAN, 4, INF))
        y = dnn.transform_tensor(handle, handle.asarray(x), prior, beta=beta)
        np.testing.assert_array_equal(handle.to_numpy(y), row(*want))
        prior = handle.asarray(row(NAN, 4, INF))
        c = dnn.op_tensor(handle, "MUL", handle.asarray(x), handle.asarray(row(1)), prior, beta=beta)
        np.testing.assert_array_equal(handle.to_numpy(c), row(*want))
