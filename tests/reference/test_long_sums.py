"""Sums of many equal numbers, which lose digits where one register takes them all, against their exact value.

Tensors are broadcast (strides of 0), so that millions of numbers take a few pages of memory.
"""

from __future__ import annotations

import numpy as np
import pairwise
import pytest
from helper import optimised, targets

import portadnn as dnn
from portadnn.tolerance import tolerance

kernels = pytest.mark.parametrize("handle", [pytest.param(optimised(t), id=t.name) for t in targets()], indirect=True)
VALUE = 0.1  # no float32 has it, and sums of it round the same way for long


def repeated(handle, dims, strides, dtype=np.float32):
    """Return a tensor that is full of one number, and that number."""
    span = 1 + sum((size - 1) * stride for size, stride in zip(dims, strides, strict=True))
    memory = handle.asarray(np.full(span, VALUE, dtype))
    value = float(dtype(VALUE))
    return dnn.TensorDescriptor(dims, dtype, strides=strides).view(memory), value


LAYOUTS = {  # repeats -> dims and strides: one number above another, or beside it
    "row": lambda n: ((n, 1, 1, 4096), (0, 4096, 4096, 1)),
    "planes": lambda n: ((n, 3, 1, 4096), (0, 4096, 4096, 1)),
    "long run": lambda n: ((1, 2, 1, 4096 * min(n, 1024)), (0, 0, 0, 1)),
    "channels last": lambda n: ((n, 16, 1, 256), (0, 1, 4096, 16)),
    "three channels last": lambda n: ((n, 3, 1, 1365), (0, 1, 4095, 3)),
    "many channels last": lambda n: ((n // 4, 1024, 1, 16), (0, 1, 16384, 1024)),
    "gaps": lambda n: ((n, 1, 1, 2048), (0, 0, 0, 2)),
}


def alternating(one, other):
    """Return every layout with one of two values for `make test`, and with the other for `make test-all`."""
    return pairwise.every_other([(layout, one) for layout in LAYOUTS]) + pairwise.every_other(
        [(layout, other) for layout in LAYOUTS], first=1
    )


def close(problem, got, want):
    """Demand what the one rule for all backends allows; all terms have the sign of the sum."""
    wanted = np.full(got.shape, want)
    error = tolerance(problem, wanted, abs(wanted))
    assert (abs(got.astype(float) - wanted) <= error).all(), f"{got.flat[0]} is not {want}"


@kernels
@pytest.mark.parametrize(("layout", "dtype"), alternating("f32", "f16"))
def test_bias_gradients(handle, layout, dtype):
    """Up to 2**26 numbers a channel in float32, a quarter of it in half, which is added up in float32 as well."""
    dims, strides = LAYOUTS[layout](16384 if dtype == "f32" else 4096)
    dy, value = repeated(handle, dims, strides, np.float32 if dtype == "f32" else np.float16)
    alpha = 1.0 if dtype == "f32" else 2.0**-20  # half holds nothing larger
    db = handle.to_numpy(dnn.convolution_backward_bias(handle, dy, alpha=alpha))
    problem = dnn.parse(f"convolution_backward_bias dy={dtype}:{'x'.join(map(str, dims))}")
    close(problem, db, alpha * value * np.prod(dims, dtype=float) / dims[1])


@kernels
@pytest.mark.parametrize(("layout", "op"), alternating("add", "norm2"))
def test_reductions(handle, layout, op):
    """Over everything, and over everything but the channels."""
    dims, strides = LAYOUTS[layout](4096)
    a, value = repeated(handle, dims, strides)
    for kept in (1, dims[1]):
        c = handle.zeros((1, kept, 1, 1))
        got = handle.to_numpy(dnn.reduce_tensor(handle, dnn.ReduceTensorDescriptor(op), a, c))
        count = np.prod(dims, dtype=float) / kept
        want = value * (count if op == "add" else np.sqrt(count))
        line = f"reduce_tensor a=f32:{'x'.join(map(str, dims))} c=f32:1x{kept}x1x1 operation={op}"
        close(dnn.parse(line), got, want)


@kernels
def test_infinities_stay(handle):
    """What a block loses is nothing where sums are infinite."""
    for value, other, want in ((np.inf, 1.0, np.inf), (-np.inf, 1.0, -np.inf), (np.inf, -np.inf, np.nan)):
        host = np.full((1, 1, 1, 4096), 0.1, np.float32)
        host[..., 17], host[..., 3000] = value, other
        memory = handle.asarray(host)
        dy = dnn.TensorDescriptor((4096, 1, 1, 4096), strides=(0, 4096, 4096, 1)).view(memory)
        got = handle.to_numpy(dnn.convolution_backward_bias(handle, dy)).item()
        np.testing.assert_equal(got, want)
