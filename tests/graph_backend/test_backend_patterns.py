"""Patterns of the specification by backend descriptors, on each backend, compared with their definitions in NumPy."""

from __future__ import annotations

import os

import numpy as np
import pytest
from descriptors import T, close, data, make, numbers, pointwise, run

from portadnn import cudnn
from portadnn.graph.layout import channels_last
from portadnn.registry import backend_names, get_backend

CHOSEN = tuple(filter(None, os.environ.get("PORTADNN_TEST_BACKENDS", "").split(","))) or backend_names()
N, C, H, W, K = 2, 4, 5, 6, 3
CHANNELS = {"axis": (0, 2, 3), "keepdims": True}


@pytest.fixture(params=CHOSEN)
def backend(request):
    reason = get_backend(request.param).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {request.param}: {reason}")
    if get_backend(request.param).vendor:
        pytest.skip("a vendor's library has no kernels of portadnn's")
    return request.param


def nhwc(*dims, virtual=None):
    """Return a FLOAT tensor that lies as the specification wants it."""
    return T(dims, kind="FLOAT", strides=channels_last(dims), virtual=virtual)


def values(*dims, seed=0, low=None):
    """Return numbers that FLOAT holds."""
    return numbers(dims, seed, low).astype(np.float32).astype(np.float64)


def gradient_of_convolution(dy, w):
    """Return the gradient to the image of a convolution of 3 x 3 with padding 1 and stride 1."""
    padded = np.zeros((N, C, H + 2, W + 2))
    for r, s in np.ndindex(3, 3):
        padded[:, :, r : r + H, s : s + W] += np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s])
    return padded[:, :, 1:-1, 1:-1]


def same_padding():
    """Return the parameters of that convolution."""
    sizes = {name: [1, 1] for name in ("PRE_PADDINGS", "POST_PADDINGS", "FILTER_STRIDES", "DILATIONS")}
    mode = cudnn.CUDNN_CROSS_CORRELATION
    return make("CONVOLUTION", COMP_TYPE=data("FLOAT"), CONV_MODE=mode, SPATIAL_DIMS=2, **sizes)


def test_dgrad_drelu_bn_weights_then_apply(backend):
    """DgradDreluBNBwdWeight recomputes what ReLU saw (alpha2 = -1 subtracts the mean); dBNApply makes dx of A, B, C."""
    dy, w, x, z = nhwc(N, K, H, W), nhwc(K, C, 3, 3), nhwc(N, C, H, W), nhwc(N, C, H, W)
    mean, inverse, scale, bias = (nhwc(1, C, 1, 1) for _ in range(4))
    loss, centred, unit, scaled, shifted = (nhwc(N, C, H, W, virtual=True) for _ in range(5))
    a, b, c, dscale, dbias = (nhwc(1, C, 1, 1) for _ in range(5))
    how = {"prec": "FLOAT"}
    operations = [
        make(
            "OPERATION_CONVOLUTION_BACKWARD_DATA",
            CONV_DESC=same_padding(), DY=dy, W=w, DX=loss, ALPHA=1.0, BETA=0.0,
        ),
        pointwise("ADD", x, centred, mean, alpha2=-1.0, **how),
        pointwise("MUL", centred, unit, inverse, **how),
        pointwise("MUL", unit, scaled, scale, **how),
        pointwise("ADD", scaled, shifted, bias, **how),
        pointwise("RELU_BWD", shifted, dx=z, dy=loss, **how),
        make(
            "OPERATION_BN_BWD_WEIGHTS",
            MATH_PREC=data("FLOAT"), MEAN_DESC=mean, INVSTD_DESC=inverse, BN_SCALE_DESC=scale, X_DESC=x, DY_DESC=z,
            DBN_SCALE_DESC=dscale, DBN_BIAS_DESC=dbias, EQ_DY_SCALE_DESC=a, EQ_X_SCALE_DESC=b, EQ_BIAS=c,
        ),
    ]  # fmt: skip
    given = {dy: values(N, K, H, W), w: values(K, C, 3, 3, seed=1), x: values(N, C, H, W, seed=2)}
    given |= {scale: values(1, C, 1, 1, seed=3, low=0.5), bias: values(1, C, 1, 1, seed=4)}
    given |= {mean: given[x].mean(**CHANNELS), inverse: (given[x].var(**CHANNELS) + 1e-3) ** -0.5}
    got = dict(zip("zabcsd", run(operations, given, [z, a, b, c, dscale, dbias], backend), strict=True))

    normal = (given[x] - given[mean]) * given[inverse]
    want = np.where(normal * given[scale] + given[bias] > 0, gradient_of_convolution(given[dy], given[w]), 0)
    close(got["z"], want, 1e-4)
    close(got["s"], (want * normal).sum(**CHANNELS), 1e-4)
    close(got["d"], want.sum(**CHANNELS), 1e-4)

    dx, first, second = nhwc(N, C, H, W), nhwc(N, C, H, W, virtual=True), nhwc(N, C, H, W, virtual=True)
    both = nhwc(N, C, H, W, virtual=True)
    apply = [
        pointwise("MUL", z, first, a, **how),
        pointwise("MUL", x, second, b, **how),
        pointwise("ADD", first, both, second, **how),
        pointwise("ADD", both, dx, c, **how),
    ]
    (result,) = run(apply, {z: got["z"], x: given[x], a: got["a"], b: got["b"], c: got["c"]}, [dx], backend)
    g = want * given[scale]
    close(result, given[inverse] * (g - g.mean(**CHANNELS) - normal * (g * normal).mean(**CHANNELS)), 1e-4)


def test_scale_bias_relu_convolution_statistics(backend):
    """ConvBNfprop: scale, bias and ReLU before a convolution, its channels' sums behind it."""
    x, s, b, w = nhwc(N, C, H, W), nhwc(1, C, 1, 1), nhwc(1, C, 1, 1), nhwc(K, C, 3, 3)
    scaled, shifted, active = (nhwc(N, C, H, W, virtual=True) for _ in range(3))
    y, total, squares = nhwc(N, K, H, W), nhwc(1, K, 1, 1), nhwc(1, K, 1, 1)
    operations = [
        make(
            "OPERATION_GEN_STATS",
            MODE=cudnn.CUDNN_GENSTATS_SUM_SQSUM, MATH_PREC=data("FLOAT"), XDESC=y, SUMDESC=total, SQSUMDESC=squares,
        ),
        make(
            "OPERATION_CONVOLUTION_FORWARD",
            CONV_DESC=same_padding(), X=active, W=w, Y=y, ALPHA=1.0, BETA=0.0,
        ),
        pointwise("RELU_FWD", shifted, active, prec="FLOAT"),
        pointwise("ADD", scaled, shifted, b, prec="FLOAT"),
        pointwise("MUL", x, scaled, s, prec="FLOAT"),
    ]  # fmt: skip
    given = {x: values(N, C, H, W), s: values(1, C, 1, 1, seed=1), b: values(1, C, 1, 1, seed=2)}
    given |= {w: values(K, C, 3, 3, seed=3)}
    got = run(operations, given, [y, total, squares], backend)
    padded = np.pad(np.maximum(given[x] * given[s] + given[b], 0), ((0, 0), (0, 0), (1, 1), (1, 1)))
    taps = [
        np.einsum("nchw,kc->nkhw", padded[:, :, r : r + H, q : q + W], given[w][:, :, r, q])
        for r, q in np.ndindex(3, 3)
    ]
    want = sum(taps)
    close(got[0], want, 1e-4)
    close(got[1], want.sum(**CHANNELS), 1e-3)
    close(got[2], (want * want).sum(**CHANNELS), 1e-3)
