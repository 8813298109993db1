"""Gradients of filters with what follows them as text, where the parts of their sums are added up."""

from __future__ import annotations

import pairwise
import pytest
from graphs import D, new
from test_graph_fusion import on_all
from test_graph_product import _space, check, evaluate, nvrtc_of, x

import portadnn.graph as cudnn
from portadnn.enums import DataType
from portadnn.graph.layout import channels_last
from portadnn.graph.operation_graph import OperationGraph
from portadnn.problem import TensorSpec
from portadnn_backends.engines.conv.by_images import by_images
from portadnn_backends.engines.conv.epilogue import BackwardFilterWithEpilogue


def _filters(*dims, window=(3, 3), filters=6, groups=1, nhwc=False, **how):
    """Return what builds a filter's gradient, a step of descent with weight decay after it, and its size."""

    def build(g):
        shape = [filters, dims[1] // groups, *window]
        ones = [1] * len(window)
        inputs = [x(g, *dims, nhwc=nhwc), x(g, dims[0], filters, *_space(dims, window, how), nhwc=nhwc)]
        dw = g.conv_wgrad(*inputs, **how).set_dim(shape)
        saved, scale, channel = x(g, *shape, nhwc=nhwc), x(g, filters, 1, *ones), x(g, 1, shape[1], *ones)
        scaled = g.mul(g.add(dw, channel), scale)
        out = g.sub(saved, g.add(g.mul(scaled, 0.25), g.mul(saved, 0.125)))
        if nhwc:
            out.set_stride(list(channels_last(shape)))
        return [*inputs, saved, scale, channel], [out, scaled]

    return build


GRAPHS = {
    "NCHW": _filters(2, 4, 7, 9, padding=[1, 1]),
    "NHWC": _filters(2, 4, 7, 9, nhwc=True, padding=[1, 0], filters=20),
    "whole vectors": _filters(2, 8, 8, 8, padding=[1, 1], filters=16),
    "groups and strides": _filters(2, 6, 9, 8, groups=2, stride=[2, 1]),
    "one tap": _filters(2, 24, 6, 7, window=(1, 1), filters=16),
    "one tap, NHWC": _filters(2, 8, 6, 7, window=(1, 1), nhwc=True, filters=19),
    "one dim": _filters(2, 4, 19, window=(3,)),
    "three dims": _filters(1, 2, 4, 5, 6, window=(2, 2, 2)),
    "turned over": _filters(2, 4, 8, 9, window=(2, 3), convolution_mode=cudnn.convolution_mode.CONVOLUTION),
    "sums in many parts": _filters(4, 3, 30, 31, filters=5, padding=[1, 1]),
}


@on_all(list(GRAPHS))
def test_what_follows(handle, name):
    """Against the definitions in float64."""
    check(handle, GRAPHS[name], rtol=2e-5, atol=1e-4)


@on_all([D.HALF, D.BFLOAT16])
def test_short_types(handle, name):
    for build in (GRAPHS["NCHW"], GRAPHS["one tap, NHWC"]):
        check(handle, build, name, D.FLOAT, rtol=2e-2, atol=4e-1 if name is D.BFLOAT16 else 5e-2)


@on_all()
def test_two_runs_agree_in_every_bit(handle, name):
    first, second = (evaluate(handle, GRAPHS["sums in many parts"])[1] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.tobytes() == other.tobytes()


def test_parts_of_the_images_write_one_gradient():
    """A gradient that is summed some images at a time has one place in memory."""
    x, dy, dw = (TensorSpec.packed(DataType.FLOAT, dims) for dims in ((5, 2, 4, 6), (5, 3, 4, 6), (3, 2, 1, 1)))
    problem = BackwardFilterWithEpilogue(x, dy, dw, (0, 0), (1, 1), (1, 1), graph=OperationGraph("", (), ()))
    assert [part.problem.first for part in by_images(problem, 2)] == [0, 0, 0]


LARGE = {
    "tiles": (_filters(16, 64, 28, 28, padding=[1, 1], filters=64), D.FLOAT, "shared/conv/gemm.cl"),
    "tensor cores": (
        _filters(16, 64, 28, 28, nhwc=True, padding=[1, 1], filters=64),
        D.HALF,
        "shared/conv/mma_reduce.cl",
    ),
    "tensor cores, NCHW": (
        _filters(16, 64, 28, 28, window=(1, 1), filters=128),
        D.BFLOAT16,
        "shared/conv/mma_reduce.cl",
    ),
}


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("name", pairwise.every_other(list(LARGE)))
def test_nvrtc(name):
    """The text for GPUs is CUDA C++ as well, where tensor cores' sums are added up, too."""
    build, kind, wanted = LARGE[name]
    g = new("reference", kind, D.FLOAT)
    nvrtc_of(g, build(g)[1], wanted)
