"""Which names of algorithms are taken: by NumPy all, by kernels WINOGRAD_NONFUSED and FFT_TILING as far as by cuDNN."""

from __future__ import annotations

import helper
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


NAMED = [  # algorithm, filter, stride, image: what cuDNN has by these names, and portadnn's transforms have not
    ("WINOGRAD_NONFUSED", (5, 5), (1, 1), (9, 8)),
    ("FFT_TILING", (3, 3), (2, 2), (9, 8)),
    ("FFT_TILING", (256, 1), (1, 1), (258, 3)),
    ("FFT_TILING", (1, 200), (1, 1), (2, 203)),
]


@helper.everywhere()
@pytest.mark.parametrize(("name", "taps", "stride", "image"), NAMED)
def test_names_go_as_far_as_cudnns(handle, name, taps, stride, image):
    """All three directions of integers, against loops over the taps."""
    x, w = (RNG.integers(-3, 4, dims).astype(np.float32) for dims in ((2, 3, *image), (4, 3, *taps)))
    conv = dnn.ConvolutionDescriptor((0, 0), stride)
    out = [(size - tap) // step + 1 for size, tap, step in zip(image, taps, stride, strict=True)]
    dy = RNG.integers(-3, 4, (2, 4, *out)).astype(np.float32)
    y, dx, dw = np.zeros(dy.shape), np.zeros(x.shape), np.zeros(w.shape)
    for r, s in np.ndindex(*taps):
        seen = (..., slice(r, r + stride[0] * out[0], stride[0]), slice(s, s + stride[1] * out[1], stride[1]))
        y += np.einsum("nchw,kc->nkhw", x[seen], w[..., r, s])
        dx[seen] += np.einsum("nkhw,kc->nchw", dy, w[..., r, s])
        dw[..., r, s] = np.einsum("nkhw,nchw->kc", dy, x[seen])
    x_, w_, dy_ = map(handle.asarray, (x, w, dy))
    got = dnn.convolution_forward(handle, x_, w_, conv, algo=name)
    np.testing.assert_array_equal(handle.to_numpy(got), y)
    got = dnn.convolution_backward_data(handle, w_, dy_, conv, handle.zeros(x.shape, "float32"), algo=name)
    np.testing.assert_array_equal(handle.to_numpy(got), dx)
    got = dnn.convolution_backward_filter(handle, x_, dy_, conv, handle.zeros(w.shape, "float32"), algo=name)
    np.testing.assert_array_equal(handle.to_numpy(got), dw)
