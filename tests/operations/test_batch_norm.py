"""Kernel backends: batch normalisation against the reference, and its behaviour from call to call."""

from __future__ import annotations

import numpy as np
import pytest
from cases_norm import BATCH_CASES
from helper import check, compare, everywhere, over

import portadnn as dnn


@over(BATCH_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


def plain(x, axes, epsilon=1e-5):
    """Normalise float64 numbers."""
    x = x.astype(np.float64)
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon), mean, variance


HARD = [  # dims, format, whether the first number is far off; kernels that keep rows, slice them, go across
    ((4, 3, 6, 5), "nchw", True),
    ((1, 2, 180, 190), "nchw", False),
    ((5, 8, 9, 9), "nhwc", True),
    ((4, 5, 9, 9), "nhwc", False),
]


@everywhere()
@pytest.mark.parametrize(("dims", "format", "outlier"), HARD)
def test_large_means_cost_no_digits(handle, dims, format, outlier):
    """Mean 1e4, deviation 1e-2: E[x^2] - E[x]^2 has no digit right in float32, nor has a mean that is one float32."""
    rng = np.random.default_rng(5)
    x = (1e4 + 1e-2 * rng.standard_normal(dims)).astype(np.float32)
    if outlier:
        x[0, :, 0, 0] = 0  # also where the kernels take their pivot
    one, zero = (handle.asarray(np.full((1, dims[1], 1, 1), v, np.float32)) for v in (1, 0))
    mean, inverse = handle.empty(one.shape), handle.empty(one.shape)
    device_x = handle.asarray(x, format=format)
    y = dnn.batch_normalization_forward_training(
        handle, device_x, one, zero, saved_mean=mean, saved_inv_variance=inverse
    )
    want, means, variances = plain(x, (0, 2, 3))
    count = x.size // dims[1]
    bound = 4e-7 * np.sqrt(count)
    compare(handle.to_numpy(y), want, bound * (1 + np.abs(want)))
    compare(handle.to_numpy(mean), means, 6e-8 * means + bound * np.sqrt(variances))
    compare(handle.to_numpy(inverse) * np.sqrt(variances + 1e-5), np.ones(means.shape), bound)
    dy = rng.standard_normal(dims).astype(np.float32)
    dx, dscale, _ = dnn.batch_normalization_backward(handle, device_x, handle.asarray(dy, format=format), one)
    products = (dy * want).sum((0, 2, 3), keepdims=True)
    spread = np.abs(dy * want).sum((0, 2, 3), keepdims=True)
    compare(handle.to_numpy(dscale), products, bound * (spread + 1))
    gradient = dy - dy.mean((0, 2, 3), keepdims=True, dtype=np.float64) - want * products / count
    gradient /= np.sqrt(variances + 1e-5)
    compare(handle.to_numpy(dx), gradient, bound * np.abs(gradient).max())


@everywhere()
def test_cumulative_average(handle):
    """A factor of 1 / (1 + k) at call k makes the running statistics the mean over all calls; 1 does not read them."""
    rng = np.random.default_rng(1)
    batches = rng.standard_normal((3, 4, 2, 3, 3)).astype(np.float32)
    one = handle.asarray(np.ones((1, 2, 1, 1), np.float32))
    mean, variance = (handle.asarray(np.full((1, 2, 1, 1), np.nan, np.float32)) for _ in range(2))
    for k, batch in enumerate(batches):
        dnn.batch_normalization_forward_training(
            handle,
            handle.asarray(batch),
            one,
            one,
            running_mean=mean,
            running_variance=variance,
            exponential_average_factor=1 / (1 + k),
        )
    means = batches.astype(np.float64).mean((1, 3, 4))
    variances = batches.astype(np.float64).var((1, 3, 4), ddof=1)
    compare(handle.to_numpy(mean).ravel(), means.mean(0), 1e-6)
    compare(handle.to_numpy(variance).ravel(), variances.mean(0), 1e-6)


@everywhere()
def test_one_element_has_no_unbiased_variance(handle):
    x = handle.asarray(np.full((1, 3, 2, 2), 5.0, np.float32))
    parameters = [handle.asarray(np.full((1, 3, 2, 2), v, np.float32)) for v in (2, 3, 0, 0)]
    mean, variance = parameters[2:]
    y = dnn.batch_normalization_forward_training(
        handle, x, *parameters[:2], running_mean=mean, running_variance=variance, mode="PER_ACTIVATION"
    )
    np.testing.assert_array_equal(handle.to_numpy(y), 3)
    np.testing.assert_array_equal(handle.to_numpy(mean), 5)
    assert np.isnan(handle.to_numpy(variance)).all()


@everywhere()
@pytest.mark.parametrize(
    ("dims", "mode"),
    [
        ((4, 3, 2, 5), "CUDNN_BATCHNORM_SPATIAL_PERSISTENT"),
        ((3, 2, 2, 3, 2), "SPATIAL"),
        ((4, 3, 2, 5), "PER_ACTIVATION"),
    ],
)
def test_training_backward_and_inference_fit_together(handle, dims, mode):
    """The saved statistics change no gradient, and are those with which inference does what training did."""
    rng = np.random.default_rng(9)
    descriptor = dnn.derive_bn_tensor_descriptor(dnn.TensorDescriptor(dims), mode)
    x, dy = (handle.asarray(rng.standard_normal(dims), "float32") for _ in range(2))
    scale, bias = (handle.asarray(rng.standard_normal(descriptor.dims), "float32") for _ in range(2))
    mean, inverse, running, variance = (handle.empty(descriptor.dims, descriptor.dtype) for _ in range(4))
    y = dnn.batch_normalization_forward_training(
        handle, x, scale, bias, None, running, variance, mean, inverse, mode=mode, epsilon=0.01
    )
    with_saved = dnn.batch_normalization_backward(handle, x, dy, scale, mean, inverse, mode=mode)
    without = dnn.batch_normalization_backward(handle, x, dy, scale, mode=mode, epsilon=0.01)
    for one, other in zip(with_saved, without, strict=True):
        compare(handle.to_numpy(one), handle.to_numpy(other), 2e-5)
    biased = 1 / handle.to_numpy(inverse).astype(np.float64) ** 2 - 0.01
    count = np.prod(dims) // np.prod(descriptor.dims)
    compare(handle.to_numpy(variance), biased * count / (count - 1), 1e-5)
    again = dnn.batch_normalization_forward_inference(
        handle, x, scale, bias, mean, handle.asarray(biased, "float32"), mode=mode, epsilon=0.01
    )
    compare(handle.to_numpy(again), handle.to_numpy(y), 2e-5)


def test_derived_descriptors():
    for dtype, derived in (("half", "float"), ("bfloat16", "float"), ("float", "float"), ("double", "double")):
        x = dnn.TensorDescriptor((2, 3, 4, 5), dtype, format="NHWC")
        assert dnn.derive_bn_tensor_descriptor(x) == dnn.TensorDescriptor((1, 3, 1, 1), derived)
        assert dnn.derive_bn_tensor_descriptor(x, 0) == dnn.TensorDescriptor((1, 3, 4, 5), derived)
    x = dnn.TensorDescriptor((2, 3, 4, 5, 6))
    assert dnn.derive_bn_tensor_descriptor(x, "spatial").dims == (1, 3, 1, 1, 1)
    assert dnn.derive_bn_tensor_descriptor(x, "per_activation").dims == (1, 3, 4, 5, 6)


@everywhere()
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-6])
def test_small_epsilons(handle, epsilon):
    """As cuDNN 8 and 9 take them; without one, a channel of equal numbers has no inverse deviation."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2) ** 2 / 64
    one, zero = (handle.asarray(np.full((1, 3, 1, 1), v, np.float32)) for v in (1, 0))
    y = dnn.batch_normalization_forward_training(handle, handle.asarray(x), one, zero, epsilon=epsilon)
    want, means, variances = plain(x, (0, 2, 3), epsilon)
    compare(handle.to_numpy(y), want, 1e-5)
    statistics = (handle.asarray(a.astype(np.float32)) for a in (means, variances))
    y = dnn.batch_normalization_forward_inference(handle, handle.asarray(x), one, zero, *statistics, epsilon=epsilon)
    compare(handle.to_numpy(y), want, 1e-5)
