"""NumPy computes by every algorithm's name: a definition is what each of them computes."""

from __future__ import annotations

import numpy as np
import pytest

import portadnn as dnn

RNG = np.random.default_rng(45)
X, W = RNG.integers(-4, 5, (2, 3, 7, 6)).astype(np.float32), RNG.integers(-4, 5, (4, 3, 5, 5)).astype(np.float32)
CONV = dnn.ConvolutionDescriptor(padding=(2, 2))


def forward():
    wide = np.pad(X, ((0, 0), (0, 0), (2, 2), (2, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (5, 5), (2, 3))
    return np.einsum("nchwrs,kcrs->nkhw", windows, W)


@pytest.mark.parametrize("algo", dnn.ConvolutionFwdAlgo)
def test_forward(reference, algo):
    np.testing.assert_array_equal(dnn.convolution_forward(reference, X, W, CONV, algo=algo), forward())


@pytest.mark.parametrize("algo", dnn.ConvolutionBwdDataAlgo)
def test_backward_data(reference, algo):
    """The gradient of sum(y * dy) by one pixel is y of that pixel alone, times dy."""
    dy, dx = forward(), np.empty_like(X)
    dnn.convolution_backward_data(reference, W, dy, CONV, dx, algo=algo)
    spot = np.zeros_like(X)
    spot[1, 2, 3, 4] = 1
    assert dx[1, 2, 3, 4] == (dnn.convolution_forward(reference, spot, W, CONV) * dy).sum()
    mirrored = np.pad(dy, ((0, 0), (0, 0), (2, 2), (2, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(mirrored, (5, 5), (2, 3))
    np.testing.assert_array_equal(dx, np.einsum("nkhwrs,kcrs->nchw", windows, W[:, :, ::-1, ::-1]))


@pytest.mark.parametrize("algo", dnn.ConvolutionBwdFilterAlgo)
def test_backward_filter(reference, algo):
    dy, dw = forward(), np.empty_like(W)
    dnn.convolution_backward_filter(reference, X, dy, CONV, dw, algo=algo)
    wide = np.pad(X, ((0, 0), (0, 0), (2, 2), (2, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (5, 5), (2, 3))
    np.testing.assert_array_equal(dw, np.einsum("nchwrs,nkhw->kcrs", windows, dy))


def test_find_and_get_offer_the_definition_first(reference):
    found = dnn.find_convolution_forward_algorithm(reference, X, W, CONV)
    assert all(perf.status == dnn.Status.SUCCESS for perf in found)
    assert len(found) == len(dnn.ConvolutionFwdAlgo)
    assert dnn.get_convolution_forward_algorithm(reference, X, W, CONV) is dnn.ConvolutionFwdAlgo.IMPLICIT_GEMM
