"""Sums over products' results, taken in their kernels' stores: statistics of channels, and reductions of all kinds."""

from __future__ import annotations

import numpy as np
import pairwise
import pytest
from graphs import D, frozen, new, scalar
from test_graph_fusion import on_all
from test_graph_product import _space, check, evaluate, nvrtc_of, x

import portadnn.graph as cudnn
from portadnn.graph.layout import channels_last
from portadnn_backends.fusion.product.engine import ProductEngine

R = cudnn.reduction_mode


def _statistics(*dims, window=(3, 3), filters=6, groups=1, nhwc=False, before=False, **how):
    """Return what builds a convolution and its channels' statistics: ConvBNfprop, with its beginning if `before`."""

    def build(g):
        ones = [1] * len(window)
        inputs = [x(g, *dims, nhwc=nhwc), x(g, filters, dims[1] // groups, *window, nhwc=nhwc)]
        image, more = inputs[0], []
        if before:
            more = [x(g, 1, dims[1], *ones), x(g, 1, dims[1], *ones)]
            image = g.relu(g.add(g.mul(image, more[0]), more[1]))
        y = g.conv_fprop(image, inputs[1], **how)
        if nhwc:
            y.set_stride(list(channels_last([dims[0], filters, *_space(dims, window, how)])))
        return [*inputs, *more], [y, *g.genstats(y)]

    return build


def _hidden(*dims, window=(3, 3), filters=6, axes=(0, 2, 3), mode=R.ADD, nhwc=False, groups=1, **how):
    """Return what builds a convolution, an activation, and a reduction of it, the only result."""

    def build(g):
        inputs = [x(g, *dims, nhwc=nhwc), x(g, filters, dims[1] // groups, *window, nhwc=nhwc)]
        bias = x(g, 1, filters, *[1] * len(window))
        t = g.relu(g.add(g.conv_fprop(*inputs, **how), bias))
        return [*inputs, bias], [_over(g, t, [dims[0], filters, *_space(dims, window, how)], axes, mode)]

    return build


def _over(g, t, dims, axes, mode):
    return g.reduction(t, mode).set_dim([1 if axis in axes else size for axis, size in enumerate(dims)])


def _matrix(a, b, out, axes, mode=R.ADD, stored=False):
    """Return what builds a product of matrices, gelu, and a reduction."""

    def build(g):
        inputs = [x(g, *a), x(g, *b)]
        t = g.gelu(g.mul(g.matmul(*inputs), scalar(g, 0.75)))
        return inputs, [_over(g, t, out, axes, mode), *([t] if stored else [])]

    return build


def _gradient(*dims, window=(3, 3), filters=6, nhwc=False, **how):
    """Return what builds a data gradient, relu's, and the two sums that a normalisation's gradient begins with."""

    def build(g):
        dy = x(g, dims[0], filters, *_space(dims, window, how), nhwc=nhwc)
        w, saved = x(g, filters, dims[1], *window, nhwc=nhwc), x(g, *dims, nhwc=nhwc)
        dx = g.relu_backward(g.conv_dgrad(dy, w, **how).set_dim(list(dims)), saved)
        over = (0, *range(2, len(dims)))
        sums = [_over(g, one, dims, over, R.ADD) for one in (dx, g.mul(dx, saved))]
        if nhwc:
            dx.set_stride(list(channels_last(dims)))
        return [dy, w, saved], [dx, *sums]

    return build


def _one_statistic(g):
    """Build a product of which one of two statistics is asked for."""
    inputs = [x(g, 2, 3, 6, 5), x(g, 7, 3, 1, 1)]
    return inputs, [g.genstats(g.conv_fprop(*inputs))[1]]


GRAPHS = {
    "one statistic": _one_statistic,
    "NCHW": _statistics(2, 4, 7, 9, padding=[1, 1]),
    "NCHW in words": _statistics(2, 4, 8, 8, padding=[1, 1], filters=8),
    "NHWC": _statistics(2, 4, 7, 9, nhwc=True, padding=[1, 0], filters=20),
    "NHWC in words": _statistics(2, 4, 8, 7, nhwc=True, filters=24),
    "groups, NHWC": _statistics(2, 6, 7, 8, groups=2, nhwc=True, filters=22),
    "several tiles": _statistics(3, 5, 24, 25, filters=70),
    "several tiles, NHWC": _statistics(3, 5, 24, 25, filters=70, nhwc=True),
    "many pixels": _statistics(2, 16, 66, 65, window=(1, 1), filters=40),
    "planes": _statistics(2, 96, 32, 34, window=(1, 1), filters=140),
    "three dims": _statistics(1, 2, 4, 5, 6, window=(2, 2, 2)),
    "with a beginning, NHWC": _statistics(2, 8, 7, 9, padding=[1, 1], before=True, nhwc=True, filters=16),
    "pixels of hidden results": _hidden(2, 4, 7, 9, axes=(1,), filters=70),
    "pixels of hidden results, NHWC": _hidden(2, 4, 7, 9, axes=(1,), filters=19, nhwc=True),
    "pixels over groups": _hidden(2, 6, 7, 9, axes=(1,), filters=8, groups=2),
    "all of them": _hidden(2, 4, 17, 9, axes=(0, 1, 2, 3), filters=70),
    "all of them, NHWC, groups": _hidden(2, 4, 7, 9, axes=(0, 1, 2, 3), nhwc=True, groups=2),
    "rows": _matrix((70, 33), (33, 130), (70, 130), (0,)),
    "columns": _matrix((70, 33), (33, 130), (70, 130), (1,)),
    "a whole matrix": _matrix((7, 5), (5, 9), (7, 9), (0, 1)),
    "rows of each, stored": _matrix((3, 7, 5), (3, 5, 9), (3, 7, 9), (1,), stored=True),
    "columns of each, stored": _matrix((3, 7, 5), (3, 5, 9), (3, 7, 9), (2,), stored=True),
    "columns of all": _matrix((3, 7, 5), (3, 5, 9), (3, 7, 9), (0, 2)),
    "a data gradient": _gradient(2, 4, 9, 8, padding=[1, 1]),
    "a data gradient in steps": _gradient(2, 6, 9, 8, nhwc=True, padding=[1, 0], stride=[2, 2]),
    "a data gradient with pixels of no tap": _gradient(1, 4, 9, 10, window=(1, 2), stride=[3, 2]),
}


@on_all(list(GRAPHS))
def test_sums(handle, name):
    """Against the definitions in float64."""
    check(handle, GRAPHS[name], rtol=2e-5, atol=2e-4)


MODES = (R.AVG, R.MAX, R.MIN, R.AMAX, R.NORM1, R.NORM2, R.MUL, R.MUL_NO_ZEROS)


@on_all(MODES)
def test_modes(handle, name):
    """Every kind of reduction, of lanes that are summed over and of lanes that are not."""
    axes = (0, 2, 3) if name not in (R.MUL, R.MUL_NO_ZEROS) else (1,)
    check(handle, _hidden(1, 4, 7, 11, axes=axes, mode=name), atol=2e-4)
    check(handle, _matrix((5, 3), (3, 19), (5, 19), (0,), name))


@on_all([D.HALF, D.BFLOAT16])
def test_sums_are_of_rounded_results(handle, name):
    """Integers that the type does not hold: the sums tell whether what they add up was rounded."""
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-40, 41, dims) for dims in ((9, 13), (13, 21)))

    def build(g):
        inputs = [x(g, 9, 13), x(g, 13, 21)]
        y = g.matmul(*inputs).set_data_type(name)
        return inputs, [_over(g, y, (9, 21), (0,), R.ADD).set_data_type(D.FLOAT), y]

    _, (total, y) = evaluate(handle, build, feeds=[a, b])
    np.testing.assert_array_equal(y, name.rounded(a @ b))
    np.testing.assert_array_equal(total, name.rounded(a @ b).astype(np.float64).sum(0, keepdims=True))


SHORT = {  # whose results of small integers are exact
    D.HALF: (
        "NCHW",
        "NHWC in words",
        "groups, NHWC",
        "several tiles",
        "several tiles, NHWC",
        "many pixels",
        "planes",
        "with a beginning, NHWC",
        "pixels of hidden results, NHWC",
        "all of them",
        "a data gradient in steps",
    ),
    D.BFLOAT16: ("NCHW in words", "planes", "pixels of hidden results", "all of them, NHWC, groups"),
}


@on_all(list(SHORT))
def test_short_types(handle, name):
    """Small integers, of which all sums are exact: tensor cores' too. Other kernels convert as they load and store."""
    rng = np.random.default_rng(9)
    for graph in SHORT[name] if handle.backend == "cuda" else SHORT[name][1::2]:
        inputs, _ = GRAPHS[graph](new("reference", name, name))
        feeds = [rng.integers(-1, 2, one.get_dim()) for one in inputs]
        _, got = evaluate(handle, GRAPHS[graph], name, name, feeds=feeds)
        _, want = evaluate("reference", GRAPHS[graph], name, name, feeds=feeds)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=graph)


@on_all(["NHWC", "several tiles", "pixels of hidden results"])
def test_two_runs_agree_in_every_bit(handle, name):
    first, second = (evaluate(handle, GRAPHS[name])[1] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.tobytes() == other.tobytes()


@on_all()
def test_source_is_shown(handle, name):
    g, _ = evaluate(handle, GRAPHS["NCHW"])
    source = g._plans_on(handle).plan(g._chosen).source
    assert "epilogue" in source
    assert "sums_join" in source


def _chained(g, y):
    return [g.add(_over(g, y, (6, 7), (0,), R.ADD), y)]


def _apart(g, y):
    return [_over(g, y, (6, 7), (0,), R.ADD), _over(g, y, (6, 7), (1,), R.ADD)]


@pytest.mark.parametrize("follow", [_chained, _apart])
def test_refusals(follow):
    g = new("reference")
    graph = frozen(g, follow(g, g.matmul(x(g, 6, 5), x(g, 5, 7))))
    reasons = ProductEngine().reasons(graph, None)
    assert "PG-PRODUCT-006" in [reason.id for reason in reasons]
    assert "regions" in reasons[-1].fix


@on_all()
def test_batches_alone_are_refused(handle, name):
    """Sums over neither rows nor columns of a product."""
    g = new(handle)
    _, outs = _matrix((3, 7, 5), (3, 5, 9), (3, 7, 9), (0,))(g)
    assert [reason.id for reason in ProductEngine().reasons(frozen(g, outs), handle.info)] == ["PG-PRODUCT-004"]


LARGE = {
    "NHWC": (_statistics(16, 64, 28, 28, nhwc=True, padding=[1, 1], filters=64), D.FLOAT, "shared/conv/gemm.cl"),
    "NCHW": (_statistics(16, 64, 28, 28, window=(1, 1), filters=128), D.FLOAT, "shared/conv/gemm.cl"),
    "with a beginning": (
        _statistics(16, 64, 28, 28, nhwc=True, before=True, filters=64),
        D.FLOAT,
        "shared/conv/gemm.cl",
    ),
    "rows": (_matrix((300, 33), (33, 130), (300, 130), (0,)), D.FLOAT, "shared/conv/gemm.cl"),
    "all": (_matrix((300, 4000), (4000, 130), (300, 130), (0, 1)), D.FLOAT, "shared/conv/gemm.cl"),
    "tensor cores, NHWC": (
        _statistics(16, 64, 28, 28, nhwc=True, padding=[1, 1], filters=64),
        D.HALF,
        "cuda/conv/mma.cu",
    ),
    "tensor cores, NCHW": (_statistics(16, 64, 28, 28, window=(1, 1), filters=128), D.BFLOAT16, "cuda/conv/mma.cu"),
    "tensor cores, with a beginning": (
        _statistics(16, 64, 28, 28, nhwc=True, before=True, filters=64),
        D.HALF,
        "cuda/conv/mma.cu",
    ),
    "tensor cores, pixels": (
        _hidden(16, 64, 28, 28, axes=(1,), nhwc=True, filters=64),
        D.HALF,
        "cuda/conv/mma.cu",
    ),
    "tensor cores, a long sum": (_matrix((300, 4000), (4000, 136), (300, 136), (0, 1)), D.HALF, "cuda/conv/mma.cu"),
}


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("name", pairwise.every_other(list(LARGE)))
def test_nvrtc(name):
    """The text for GPUs is CUDA C++ as well, within tensor cores' kernels, too."""
    build, kind, wanted = LARGE[name]
    g = new("reference", kind, kind)
    nvrtc_of(g, build(g)[1], wanted)
