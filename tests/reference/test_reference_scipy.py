"""The reference backend against SciPy and NumPy's own functions."""

from __future__ import annotations

import numpy as np
import pytest
from helper import compare
from ml_dtypes import bfloat16

import portadnn as dnn

signal = pytest.importorskip("scipy.signal", reason="scipy is not installed")
special = pytest.importorskip("scipy.special", reason="scipy is not installed")

EXACT = 1e-12


def close(got, want):
    compare(got, want, EXACT * (1 + np.abs(want)))


def normal(*dims):
    return np.random.default_rng(5).standard_normal(dims)


def over_channels(function, x, w):
    """Sum `function`(channel of x, channel of w) over the channels, for every image and filter."""
    return np.array([[sum(map(function, image, weights)) for weights in w] for image in x])


@pytest.mark.parametrize("dims", [((2, 3, 6, 7), (4, 3, 3, 2)), ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2))])
def test_convolution_in_both_modes(reference, dims):
    x, w = normal(*dims[0]), normal(*dims[1])
    plain = (0,) * (x.ndim - 2)
    for mode, function in (("CROSS_CORRELATION", signal.correlate), ("CONVOLUTION", signal.convolve)):
        want = over_channels(lambda a, b, f=function: f(a, b, mode="valid", method="direct"), x, w)
        conv = dnn.ConvolutionDescriptor(padding=plain, mode=mode)
        close(dnn.convolution_forward(reference, x, w, conv), want)
        want = over_channels(lambda a, b, f=function: f(a, b, mode="full", method="direct"), x, w)
        conv = dnn.ConvolutionDescriptor(padding=[size - 1 for size in w.shape[2:]], mode=mode)
        close(dnn.convolution_forward(reference, x, w, conv), want)


def test_strides_and_dilation_select_from_the_plain_convolution(reference):
    x, w = normal(2, 3, 11, 12), normal(4, 3, 3, 2)
    spread = np.zeros((4, 3, 5, 4))
    spread[:, :, ::2, ::3] = w
    want = over_channels(lambda a, b: signal.correlate(a, b, mode="valid", method="direct"), x, spread)
    conv = dnn.ConvolutionDescriptor(stride=(3, 2), dilation=(2, 3))
    close(dnn.convolution_forward(reference, x, w, conv), want[:, :, ::3, ::2])


def test_convolution_backward_data(reference):
    """The gradient of a correlation is the full convolution with the same filter, and the other way round."""
    w, dy = normal(4, 3, 3, 2), normal(2, 4, 4, 5)
    for mode, function in (("CROSS_CORRELATION", signal.convolve), ("CONVOLUTION", signal.correlate)):
        want = over_channels(lambda a, b, f=function: f(a, b, mode="full", method="direct"), dy, w.swapaxes(0, 1))
        conv = dnn.ConvolutionDescriptor(mode=mode)
        close(dnn.convolution_backward_data(reference, w, dy, conv, np.zeros(want.shape)), want)


def test_convolution_backward_filter(reference):
    """The gradient of a filter correlates the input with dy."""
    x, dy = normal(2, 3, 6, 7), normal(2, 4, 4, 6)
    want = over_channels(
        lambda a, b: signal.correlate(a, b, mode="valid", method="direct"), x.swapaxes(0, 1), dy.swapaxes(0, 1)
    ).swapaxes(0, 1)
    close(dnn.convolution_backward_filter(reference, x, dy, dnn.ConvolutionDescriptor(), np.zeros(want.shape)), want)
    turned = dnn.ConvolutionDescriptor(mode="CONVOLUTION")
    got = dnn.convolution_backward_filter(reference, x, dy, turned, np.zeros(want.shape))
    close(got, want[:, :, ::-1, ::-1])


@pytest.mark.parametrize("mode", ["CHANNEL", "INSTANCE"])
def test_softmax(reference, mode):
    x = 6 * normal(2, 5, 3, 4)
    axes = 1 if mode == "CHANNEL" else (1, 2, 3)
    for algorithm in ("FAST", "ACCURATE"):
        close(dnn.softmax_forward(reference, x, algorithm=algorithm, mode=mode), special.softmax(x, axis=axes))
    close(dnn.softmax_forward(reference, x, algorithm="LOG", mode=mode), special.log_softmax(x, axis=axes))


def test_sigmoid_at_both_ends(reference):
    x = np.array([-1000.0, -750, -40, -1, 0, 1, 40, 1000]).reshape(1, 2, 2, 2)
    got = dnn.activation_forward(reference, x, dnn.ActivationDescriptor("SIGMOID"))
    compare(got, special.expit(x), EXACT * special.expit(x) + 1e-300)


def test_max_pooling_is_a_maximum_filter(reference):
    from scipy.ndimage import maximum_filter

    x = normal(1, 1, 9, 8)
    pooling = dnn.PoolingDescriptor("MAX", (3, 3), padding=(1, 1))
    close(dnn.pooling_forward(reference, x, pooling)[0, 0], maximum_filter(x[0, 0], 3, mode="constant", cval=-np.inf))


@pytest.mark.parametrize("dtype", [np.float16, bfloat16, np.float32, np.float64])
def test_results_are_rounded_once(reference, dtype):
    """With exact inputs the stored result is the nearest number of the type."""
    x = (np.arange(1, 25, dtype=np.float64) / 8).reshape(1, 2, 3, 4).astype(dtype)
    y = dnn.activation_forward(reference, x, dnn.ActivationDescriptor("TANH"))
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, np.tanh(x.astype(np.float64)).astype(dtype))
    bias = np.full((1, 2, 1, 1), 1 / 3).astype(dtype)
    want = (x.astype(np.float64) * 0.5 + 2 * bias.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(dnn.add_tensor(reference, bias, x.copy(), alpha=2.0, beta=0.5), want)
