"""Wrong local response and divisive normalisations; see bad_calls."""

from __future__ import annotations

import math
from typing import Any

from bad_calls import Env, Row, bad, unsupported

import portadnn as dnn

L, T = dnn.LRNDescriptor, dnn.TensorDescriptor
X = (2, 6, 4, 5)
FORWARD, BACKWARD = "lrn_cross_channel_forward", "lrn_cross_channel_backward"
DIVISIVE, GRADIENT = "divisive_normalization_forward", "divisive_normalization_backward"


def forward(e: Env, **given: Any) -> Any:
    """Make the right call unless told otherwise."""
    return e._call(dnn.lrn_cross_channel_forward, "x lrn y", {"x": X, "lrn": L(3), "y": X}, given)


def backward(e: Env, **given: Any) -> Any:
    defaults = {"y": X, "dy": X, "x": X, "lrn": L(3), "dx": X}
    return e._call(dnn.lrn_cross_channel_backward, "y dy x lrn dx", defaults, given)


def divisive(e: Env, **given: Any) -> Any:
    defaults = {"x": X, "means": X, "lrn": L(3), "y": X}
    return e._call(dnn.divisive_normalization_forward, "x means lrn y", defaults, given)


def gradient(e: Env, **given: Any) -> Any:
    defaults = {"x": X, "means": X, "dy": X, "lrn": L(3), "dx": X, "dmeans": X}
    return e._call(dnn.divisive_normalization_backward, "x means dy lrn dx dmeans", defaults, given)


RIGHT = (forward, backward, divisive, gradient)
KERNELS = ("opencl", "cuda")


def _in_place(e: Env, call: Any, out: str) -> Any:
    x = e.t(X)
    return call(e, x=x, **{out: x})


def _strided_in_place(e: Env) -> Any:
    x = e.t(X)
    return divisive(e, x=x, y=T(X, format="nhwc").view(x))


def _both(e: Env) -> Any:
    out = e.t(X)
    return gradient(e, dx=out, dmeans=out)


def _six_dims(e: Env) -> Any:
    one = (1,) * 6
    return gradient(e, x=one, means=None, dy=one, dx=one, dmeans=None)


def _small(e: Env) -> Any:
    return e.t((1, 1, 2))


DESCRIPTORS: list[Row] = [
    bad("4.88", "LRNDescriptor", lambda e: L(0), "n", "1 to 16", "0"),
    bad("4.88", "LRNDescriptor", lambda e: L(17), "n", "1 to 16", "17"),
    bad("4.88", "LRNDescriptor", lambda e: L(5.0), "n", "an integer", "5.0"),  # type: ignore[arg-type]
    bad("4.88", "LRNDescriptor", lambda e: L(True), "n", "an integer", "True"),
    bad("4.88", "LRNDescriptor", lambda e: L(alpha=math.nan), "alpha", "finite", "nan"),
    bad("4.88", "LRNDescriptor", lambda e: L(alpha="1"), "alpha", "a number", "'1'"),  # type: ignore[arg-type]
    bad("4.88", "LRNDescriptor", lambda e: L(beta=0.009), "beta", ">= 0.01", "0.009"),
    bad("4.88", "LRNDescriptor", lambda e: L(beta=math.inf), "beta", "finite", "inf"),
    bad("4.88", "LRNDescriptor", lambda e: L(k=0.0), "k", ">= 1e-05", "0.0"),
    bad("4.88", "LRNDescriptor", lambda e: L(k=math.nan), "k", ">= 1e-05", "nan"),
    bad("4.88", "LRNDescriptor", lambda e: L(k=None), "k", "a number", "None"),  # type: ignore[arg-type]
    bad("4.88", "parse", lambda e: dnn.parse(f"{FORWARD} x=f32:1x2x3x4 lrn_n=17"), "lrn_n", "1 to 16", "17"),
    bad("4.88", "parse", lambda e: dnn.parse(f"{DIVISIVE} x=f32:1x2x3x4 lrn_k=0"), "lrn_k", ">= 1e-05", "0.0"),
    bad("4.88", "parse", lambda e: dnn.parse(f"{BACKWARD} x=f32:1x2x3x4 lrn_beta=a"), "lrn_beta", "numbers", "'a'"),
]

CROSS_CHANNEL: list[Row] = [
    bad("4.91", FORWARD, lambda e: forward(e, x=None), "x", "a tensor", "None"),
    bad("4.91", FORWARD, lambda e: forward(e, lrn=5), "lrn", "LRNDescriptor", "5"),
    bad("4.91", FORWARD, lambda e: forward(e, mode="within_channel"), "mode", "CROSS_CHANNEL_DIM1", "within"),
    bad("4.91", FORWARD, lambda e: forward(e, alpha=1e300), "alpha", "float32", "1e+300"),
    bad("4.91", FORWARD, lambda e: _in_place(e, forward, "y"), "y", "apart from x", "shared memory"),
    unsupported("4.91", FORWARD, lambda e: forward(e, y=(2, 6, 4, 4)), "y.dims", "as x", "(2, 6, 4, 4)"),
    unsupported("4.91", FORWARD, lambda e: forward(e, y=e.t(X, "float16")), "y.dtype", "FLOAT as x", "HALF"),
    bad("4.92", BACKWARD, lambda e: backward(e, y=None), "y", "a tensor", "None"),
    bad("4.92", BACKWARD, lambda e: backward(e, dy=None), "dy", "a tensor", "None"),
    bad("4.92", BACKWARD, lambda e: backward(e, lrn=None), "lrn", "LRNDescriptor", "None"),
    bad("4.92", BACKWARD, lambda e: backward(e, mode=1), "mode", "CROSS_CHANNEL_DIM1", "1"),
    bad("4.92", BACKWARD, lambda e: _in_place(e, backward, "dx"), "dx", "apart from x", "shared memory"),
    unsupported("4.92", BACKWARD, lambda e: backward(e, dy=(2, 5, 4, 5)), "dy.dims", "as y", "(2, 5, 4, 5)"),
    unsupported("4.92", BACKWARD, lambda e: backward(e, x=(2, 6, 5, 4)), "x.dims", "as y", "(2, 6, 5, 4)"),
    unsupported("4.92", BACKWARD, lambda e: backward(e, dx=e.t(X, "float64")), "dx.dtype", "FLOAT as y", "DOUBLE"),
]

SPATIAL: list[Row] = [
    bad("4.93", DIVISIVE, lambda e: divisive(e, x=None), "x", "a tensor", "None"),
    bad("4.93", DIVISIVE, lambda e: divisive(e, lrn="lrn"), "lrn", "LRNDescriptor", "'lrn'"),
    bad("4.93", DIVISIVE, lambda e: divisive(e, mode="means"), "mode", "PRECOMPUTED_MEANS", "'means'"),
    bad("4.93", DIVISIVE, lambda e: divisive(e, x=(2, 6, 4), means=None, y=None), "x.dims", "4 or 5 dims", "(2, 6, 4)"),
    bad("4.93", DIVISIVE, lambda e: divisive(e, means=(1, 6, 4, 5)), "means.dims", "as x", "(1, 6, 4, 5)"),
    bad("4.93", DIVISIVE, lambda e: divisive(e, means=e.t(X, "float64")), "means.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.93", DIVISIVE, lambda e: divisive(e, y=(2, 6, 5, 4)), "y.dims", "as x", "(2, 6, 5, 4)"),
    bad("4.93", DIVISIVE, lambda e: _strided_in_place(e), "y.strides", "2x6x4x5", "nhwc"),
    bad("4.93", DIVISIVE, lambda e: divisive(e, workspace=_small(e)), "workspace", "at least", "8", backends=KERNELS),
    bad("4.94", GRADIENT, lambda e: _six_dims(e), "x.dims", "4 or 5 dims", "(1, 1, 1, 1, 1, 1)"),
    bad("4.94", GRADIENT, lambda e: gradient(e, dy=None), "dy", "a tensor", "None"),
    bad("4.94", GRADIENT, lambda e: gradient(e, lrn=dnn.OpTensorDescriptor("add")), "lrn", "LRNDescriptor", "OpTensor"),
    bad("4.94", GRADIENT, lambda e: gradient(e, dy=(2, 6, 5, 4)), "dy.dims", "as x", "(2, 6, 5, 4)"),
    bad("4.94", GRADIENT, lambda e: gradient(e, dx=(2, 6, 5, 4)), "dx.dims", "as x", "(2, 6, 5, 4)"),
    bad("4.94", GRADIENT, lambda e: gradient(e, dmeans=e.t(X, "float16")), "dmeans.dtype", "FLOAT as x", "HALF"),
    bad("4.94", GRADIENT, lambda e: _both(e), "dmeans", "apart from dx", "shared memory"),
    bad("4.94", GRADIENT, lambda e: gradient(e, mode=7), "mode", "PRECOMPUTED_MEANS", "7"),
]  # fmt: skip

ROWS = DESCRIPTORS + CROSS_CHANNEL + SPATIAL
