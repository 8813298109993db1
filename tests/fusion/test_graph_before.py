"""Pointwise nodes before products and convolutions, in their kernels' loads, on every kernel backend and schedule."""

from __future__ import annotations

import numpy as np
import pairwise
import pytest
from graphs import D, frozen, given, new, scalar
from test_graph_fusion import on_all
from test_graph_product import _space, check, evaluate
from test_graph_regions import _evaluate as regions
from test_nvrtc import compile_recorded, recorder_of

import portadnn.graph as cudnn
from portadnn.graph.support.on_paper import PaperHandle
from portadnn_backends.fusion.product.engine import ProductEngine

R = cudnn.reduction_mode


def x(g, *dims, **kwargs):
    return given(g, dims, **kwargs)


def _image(*dims, window=(3, 3), filters=6, groups=1, nhwc=False, after=True, **how):
    """Return what builds a convolution of a scaled, shifted, clipped image, with its bias after it or alone."""

    def build(g):
        ones = [1] * len(window)
        inputs = [x(g, *dims, nhwc=nhwc), x(g, filters, dims[1] // groups, *window, nhwc=nhwc)]
        scale, shift = x(g, 1, dims[1], *ones), x(g, 1, dims[1], *ones)
        more = [x(g, 1, filters, *ones)] if after else []
        start = g.relu(g.add(g.mul(inputs[0], scale), shift))
        y = g.conv_fprop(start, inputs[1], **how)
        out = g.relu(g.add(y, *more)) if after else y
        return [*inputs, scale, shift, *more], [out]

    return build


def _both(a, b, after=True):
    """Return what builds a product of two matrices that are computed, of rows, columns, numbers and a gate."""

    def build(g):
        inputs = [x(g, *a), x(g, *b), x(g, *a[:-1], 1), x(g, *[1] * (len(b) - 1), b[-1]), x(g, *b)]
        left = g.mul(g.add(inputs[0], inputs[2]), scalar(g, 0.75))
        right = g.mul(g.sigmoid(g.sub(inputs[1], inputs[3])), inputs[4])
        y = g.matmul(left, right)
        return inputs, [g.gelu(y) if after else y]

    return build


def _gradient(*dims, window=(3, 3), filters=6, groups=1, nhwc=False, **how):
    """Return what builds a data gradient of a masked gradient, by a filter that is scaled for each of its channels."""

    def build(g):
        out = [dims[0], filters, *_space(dims, window, how)]
        dy, saved = x(g, *out, nhwc=nhwc), x(g, *out, nhwc=nhwc)
        w, scale = x(g, filters, dims[1] // groups, *window, nhwc=nhwc), x(g, filters, 1, *[1] * len(window))
        dx = g.conv_dgrad(g.relu_backward(dy, saved), g.mul(w, scale), **how).set_dim(list(dims))
        return [dy, saved, w, scale], [dx]

    return build


def _weights(*dims, window=(3, 3), filters=6, groups=1, nhwc=False, of=("x", "dy"), after=False, **how):
    """Return what builds a filter's gradient, of a normalised image, a masked gradient or both."""

    def build(g):
        ones = [1] * len(window)
        reach = [1 + (r - 1) * d for r, d in zip(window, how.get("dilation", ones), strict=True)]
        out = [dims[0], filters, *_space(dims, reach, how)]
        image, dy = x(g, *dims, nhwc=nhwc), x(g, *out, nhwc=nhwc)
        inputs, more = [image, dy], []
        if "x" in of:
            more += [x(g, 1, dims[1], *ones), x(g, 1, dims[1], *ones)]
            image = g.relu(g.add(g.mul(image, more[0]), more[1]))
        if "dy" in of:
            more += [x(g, *out, nhwc=nhwc), x(g, 1, filters, *ones)]
            dy = g.mul(g.relu_backward(dy, more[-2]), more[-1])
        dw = g.conv_wgrad(image, dy, **how).set_dim([filters, dims[1] // groups, *window])
        if after:
            more.append(x(g, filters, 1, *ones))
            dw = g.add(g.mul(dw, 0.5), more[-1])
        return [*inputs, *more], [dw]

    return build


GRAPHS = {
    "NCHW, padded": _image(2, 4, 7, 9, padding=[1, 1]),
    "NHWC, padded": _image(2, 4, 7, 9, nhwc=True, padding=[1, 0], filters=20),
    "NHWC, vectors of channels": _image(2, 24, 6, 7, nhwc=True, padding=[1, 1], filters=16),
    "channels beside vectors": _image(2, 19, 6, 7, nhwc=True, padding=[2, 1], filters=5),
    "stride 2": _image(2, 8, 19, 40, stride=[2, 2], padding=[1, 1]),
    "stride 3, dilated": _image(2, 8, 19, 21, stride=[3, 2], padding=[2, 2], dilation=[2, 2], nhwc=True),
    "groups": _image(2, 8, 7, 8, groups=2, padding=[1, 1]),
    "pixels in one row": _image(2, 8, 6, 7, window=(1, 1), filters=16),
    "pixels in one row, NHWC": _image(2, 16, 6, 7, window=(1, 1), nhwc=True, filters=19),
    "nothing after": _image(2, 4, 8, 8, padding=[1, 1], after=False),
    "one dim": _image(2, 4, 19, window=(3,), padding=[1]),
    "three dims": _image(1, 2, 4, 5, 6, window=(2, 2, 2), padding=[1, 0, 1]),
    "both operands": _both((7, 5), (5, 9)),
    "both, larger than a tile": _both((70, 33), (33, 130)),
    "both of each": _both((3, 7, 5), (3, 5, 8)),
    "both, one matrix with several": _both((1, 7, 5), (3, 5, 8)),
    "both, several with one matrix": _both((3, 7, 5), (1, 5, 8)),
    "both, a long sum": _both((5, 3000), (3000, 12), after=False),
    "a gradient": _gradient(2, 4, 9, 8, padding=[1, 1]),
    "a gradient, NHWC, stride 2": _gradient(2, 16, 9, 8, nhwc=True, padding=[1, 0], stride=[2, 2], filters=24),
    "a gradient, groups": _gradient(1, 4, 9, 10, groups=2, window=(1, 2), stride=[3, 2]),
    "filters": _weights(2, 4, 9, 8, padding=[1, 1]),
    "filters, of x, NHWC": _weights(2, 19, 7, 9, nhwc=True, padding=[1, 0], filters=21, of="x"),
    "filters, of dy, stride 2": _weights(2, 8, 19, 21, stride=[2, 2], padding=[1, 1], of=("dy",), after=True),
    "filters, groups, dilated": _weights(1, 8, 12, 9, groups=2, padding=[2, 2], dilation=[2, 2], nhwc=True, after=True),
    "filters, 1 x 1": _weights(3, 16, 8, 16, window=(1, 1), filters=24),
    "filters, 1 x 1, NHWC, stride 2": _weights(2, 24, 9, 8, window=(1, 1), filters=40, nhwc=True, stride=[2, 2]),
    "filters, one dim": _weights(2, 4, 39, window=(3,), padding=[1]),
    "filters, three dims": _weights(1, 2, 4, 5, 6, window=(2, 2, 2), padding=[1, 0, 1]),
}


@on_all(list(GRAPHS))
def test_what_comes_before(handle, name):
    """Against the definitions in float64; a shift shows padding that is not zero."""
    check(handle, GRAPHS[name])


SHORT = (
    "NCHW, padded",
    "NHWC, vectors of channels",
    "pixels in one row, NHWC",
    "both, larger than a tile",
    "a gradient, NHWC, stride 2",
    "filters, of x, NHWC",
    "filters, 1 x 1",
)


@on_all([(D.HALF, D.HALF), (D.BFLOAT16, D.BFLOAT16)])
def test_short_types(handle, name):
    """Operands are rounded to their type, as all virtual tensors are."""
    for graph in SHORT if handle.backend == "cuda" else SHORT[D.BFLOAT16 in name :: 2]:  # others share their loads
        build = GRAPHS[graph]
        check(handle, build, *name, rtol=2e-2, atol=8e-2 if D.BFLOAT16 in name else 1e-2)


@on_all([D.HALF, D.BFLOAT16])
def test_operands_are_rounded(handle, name):
    """Integers that the type does not hold, by a matrix of a single one in each column: each result is an operand."""
    rng = np.random.default_rng(3)
    a, b, one = rng.integers(-40, 41, (21, 37)), rng.integers(200, 300, (1, 37)), np.eye(37)

    def build(g):
        inputs = [x(g, 21, 37), x(g, 1, 37), x(g, 37, 37)]
        left = g.mul(g.mul(inputs[0], inputs[1]).set_data_type(name), 3.0).set_data_type(name)
        return inputs, [g.matmul(left, inputs[2])]

    _, (got,) = evaluate(handle, build, name, D.FLOAT, feeds=[a, b, one])
    want = name.rounded(name.rounded(name.rounded(a).astype(np.float64) * name.rounded(b)).astype(np.float64) * 3)
    np.testing.assert_array_equal(got, want)
    assert np.count_nonzero(want != 3 * a * b) > 20


@on_all([D.INT8, D.FP8_E4M3, D.HALF])
def test_dequantised(handle, name):
    """Operands of other types, scaled for each row and each column, are exact in FLOAT."""
    rng = np.random.default_rng(4)
    feeds = [rng.integers(-8, 9, (9, 20)), rng.integers(-8, 9, (20, 33)), np.exp2(rng.integers(-2, 3, (9, 1))), [[0.5]]]

    def build(g):
        inputs = [x(g, 9, 20, data_type=name), x(g, 20, 33, data_type=name), x(g, 9, 1), x(g, 1, 1)]
        return inputs, [g.matmul(g.mul(inputs[0], inputs[2]), g.mul(inputs[1], inputs[3]))]

    _, (got,) = evaluate(handle, build, feeds=feeds)
    np.testing.assert_array_equal(got, (feeds[0] * feeds[2]) @ (feeds[1] * 0.5))


@on_all([(D.HALF, D.FLOAT), (D.FLOAT, D.BFLOAT16), (D.HALF, D.BFLOAT16), (D.INT8, D.FLOAT), (D.FP8_E5M2, D.HALF)])
def test_operands_of_two_types(handle, name):
    """Products of several types are those of FLOAT numbers; a tensor that is read after as well keeps its own."""
    rng = np.random.default_rng(8)
    a, w, s = (rng.integers(-4, 5, dims) for dims in ((3, 8, 7, 6), (8, 8, 1, 1), (1, 8, 1, 1)))

    def operands(g):
        return [x(g, 3, 8, 7, 6, data_type=name[0]), x(g, 8, 8, 1, 1, nhwc=True, data_type=name[1])]

    def scaled(g):
        inputs = [*operands(g), x(g, 1, 8, 1, 1)]
        return inputs, [g.conv_fprop(g.mul(inputs[0], inputs[2]), inputs[1])]

    def beside(g):
        inputs = operands(g)
        return inputs, [g.add(g.conv_fprop(*inputs), inputs[0])]

    _, (got,) = evaluate(handle, scaled, feeds=[a, w, s])
    np.testing.assert_array_equal(got, np.einsum("nchw,kc->nkhw", a * s, w[:, :, 0, 0]))
    _, (got,) = evaluate(handle, beside, feeds=[a, w])
    np.testing.assert_array_equal(got, np.einsum("nchw,kc->nkhw", a, w[:, :, 0, 0]) + a)


@on_all()
def test_places_and_gaps(handle, name):
    """Operands that the place itself makes, from tensors with gaps and in another order."""

    def build(g):
        inputs = [g.tensor(dim=[9, 12], stride=[1, 10]), g.tensor(dim=[12, 19], stride=[24, 1])]
        left = g.mul(inputs[0], g.gen_index(inputs[0], axis=1))
        return inputs, [g.neg(g.matmul(left, g.abs(inputs[1])))]

    check(handle, build)


@on_all()
def test_source_is_shown(handle, name):
    g, _ = evaluate(handle, GRAPHS["NCHW, padded"])
    plan = g._plans_on(handle).plan(g._chosen)
    assert "// prologue_image: 2 x 4 x 7 x 9 places" in plan.source
    assert "// epilogue: 2 x 6 x 7 x 9 places" in plan.source
    assert [len(part) for part in plan.parts] == [len(g._graph_frozen().operations)]


def _read_after(g):
    a, b = x(g, 6, 6), x(g, 6, 6)
    left = g.relu(a)
    return [g.add(g.matmul(left, b), left)]


def _stored(g):
    left = g.relu(x(g, 6, 5))
    return [left, g.matmul(left, x(g, 5, 7))]


def _doubles(g):
    return [g.matmul(g.relu(x(g, 6, 5)).set_data_type(D.DOUBLE), x(g, 5, 7))]


REFUSED = {
    "read after": (_read_after, "PG-PRODUCT-005"),
    "stored": (_stored, "PG-PRODUCT-005"),
    "operands of 64 bits": (_doubles, "PG-PRODUCT-002"),
    "a sum before": (lambda g: [g.matmul(g.softmax(x(g, 6, 5))[0], x(g, 5, 7))], "PG-PRODUCT-001"),
    "integers": (
        lambda g: [g.matmul(g.mul(g.abs(x(g, 6, 5)).set_data_type(D.INT64), 2.0), x(g, 5, 7))],
        "PG-PRODUCT-002",
    ),
    "two products": (lambda g: [g.matmul(g.relu(g.matmul(x(g, 6, 5), x(g, 5, 7))), x(g, 7, 8))], "PG-PRODUCT-001"),
}


@on_all(list(REFUSED))
def test_refusals(handle, name):
    """Reasons tell what to do instead."""
    build, id = REFUSED[name]
    g = new(handle)
    reasons = ProductEngine().reasons(frozen(g, build(g)), handle.info)
    assert [reason.id for reason in reasons] == [id]
    assert "regions" in reasons[0].fix


def _tall(*dims, **how):
    return _image(*dims, window=(1, 1), filters=64, **how)


LARGE = {
    "NHWC": _image(16, 64, 28, 28, nhwc=True, padding=[1, 1], filters=64),
    "NCHW": _tall(16, 64, 28, 28),
    "both": _both((300, 33), (33, 130)),
    "parts of sums": _both((64, 8000), (8000, 64)),
    "a gradient": _gradient(16, 64, 28, 28, nhwc=True, padding=[1, 1], filters=64),
    "filters": _weights(16, 64, 28, 28, nhwc=True, padding=[1, 1], filters=64),
    "filters, NCHW": _weights(16, 64, 28, 28, window=(1, 1), filters=128),
}


TEXTS = [  # of CUDA: graphs, types, and the files of kernels that compute the image
    ("NHWC", D.FLOAT, "shared/conv/gemm.cl"),
    ("both", D.FLOAT, "shared/conv/gemm.cl"),
    ("parts of sums", D.FLOAT, "shared/conv/gemm.cl"),
    ("a gradient", D.FLOAT, "shared/conv/gemm.cl"),
    ("NHWC", D.HALF, "cuda/conv/mma.cu"),
    ("NCHW", D.BFLOAT16, "shared/conv/mma_pack_image.cl"),
    ("parts of sums", D.BFLOAT16, "shared/conv/mma_pack_image.cl"),
    ("a gradient", D.HALF, "cuda/conv/mma.cu"),
    ("filters", D.FLOAT, "shared/conv/gemm.cl"),
    ("filters", D.HALF, "shared/conv/mma_pack_image.cl"),
    ("filters, NCHW", D.BFLOAT16, "shared/conv/mma_pack_image.cl"),
]


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize(("name", "kind", "file"), pairwise.every_other(TEXTS))
def test_nvrtc(name, kind, file):
    """The text for GPUs is CUDA C++ as well, within tensor cores' kernels, too."""
    handle = PaperHandle("cuda")
    handle._device = recorder_of("sm_90")
    g = new("reference", kind, kind)
    part, engine = frozen(g, LARGE[name](g)[1]), ProductEngine()
    assert not engine.reasons(part, handle.info)
    plan = engine.prepare(part, handle.device)
    compile_recorded(handle.device)
    read = [of[0] for source, of in handle.device.sources.items() if "#define PROLOGUE_IMAGE" in source]
    assert file in read
    assert plan.source in "".join(handle.device.sources)


def _two(g, nhwc=False):
    """Two convolutions: what is between serves the second, unless the first computes it; a norm before the first."""
    a, w, v = (x(g, *dims, nhwc=nhwc) for dims in ((2, 8, 9, 8), (8, 8, 3, 3), (6, 8, 1, 1)))
    scale, shift, z = x(g, 1, 8, 1, 1), x(g, 1, 8, 1, 1), x(g, 2, 6, 9, 8)
    mean = g.reduction(a, R.AVG, name="mean").set_dim([1, 8, 1, 1])
    start = g.relu(g.mul(g.sub(a, mean, name="centre"), scale, name="scale"), name="start")
    first = g.conv_fprop(start, w, padding=[1, 1], name="first")
    middle = g.relu(g.add(first, shift, name="shift"), name="middle")
    second = g.conv_fprop(g.mul(middle, scale, name="gate"), v, name="second")
    return [a, w, v, scale, shift, z], [g.relu(g.add(second, z, name="sum"), name="end"), first]


@on_all(["NCHW", "NHWC"])
def test_in_larger_graphs(handle, name):
    """Regions let products compute what is before them as well; sums stay where they are."""

    def build(g):
        return _two(g, name == "NHWC")

    g, got = regions(handle, build, finish=1)
    _, want = regions("reference", build)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    plan = g._plans_on(handle).plan(g._chosen)
    parts = [set(part) for part in plan.parts]
    assert {"centre", "scale", "start", "first"} <= next(part for part in parts if "first" in part)
    assert "gate" in next(part for part in parts if "first" in part or "second" in part)
    assert {"second", "sum", "end"} <= next(part for part in parts if "second" in part)
    assert "prologue_image" in plan.source
