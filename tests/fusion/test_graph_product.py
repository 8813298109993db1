"""Products and convolutions with what follows them as text in their kernels, on every kernel backend and schedule."""

from __future__ import annotations

import numpy as np
import pairwise
import pytest
from graphs import D, buffer, frozen, given, new, numbers, run, scalar
from test_graph_fusion import on_all
from test_nvrtc import Recorder, recorder_of

import portadnn.graph as cudnn
from portadnn.enums import DataType
from portadnn.graph.layout import channels_last
from portadnn.graph.operation_graph import OperationGraph
from portadnn.graph.support.on_paper import PaperHandle
from portadnn.problem import TensorSpec
from portadnn_backends.cuda import device as cuda
from portadnn_backends.engines.conv.by_images import by_images
from portadnn_backends.engines.conv.cpu.common import ConvCpu
from portadnn_backends.engines.conv.epilogue import ForwardWithEpilogue
from portadnn_backends.engines.conv.gemm import ConvGemm
from portadnn_backends.engines.conv.tensor_core import TensorCore
from portadnn_backends.fusion.product.choice import chosen_for
from portadnn_backends.fusion.product.engine import ProductEngine

M = cudnn.pointwise_mode


def x(g, *dims, **kwargs):
    return given(g, dims, **kwargs)


def evaluate(handle, build, *types, feeds=None):
    """Return a graph, on the engine where it is not the reference's, and its results."""
    g = new(handle, *types)
    inputs, outs = build(g)
    if handle != "reference":
        g.deselect_engines(["fallback", "regions"])
    values = feeds or [numbers(one.get_dim(), 3 + i) for i, one in enumerate(inputs)]
    got = run(g, dict(zip(inputs, values, strict=True)), outs)
    if handle != "reference":
        assert g.get_plan_name() == "eng_product"
    return g, got


def check(handle, build, *types, feeds=None, rtol=1e-5, atol=2e-5):
    """Compare a graph's results with the definitions'."""
    g, got = evaluate(handle, build, *types, feeds=feeds)
    _, want = evaluate("reference", build, *types, feeds=feeds)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
    return g


def _operands(g, dims):
    """Return one of every way to broadcast: full, along rows, along columns, a number in memory; and a number."""
    ones = [1] * (len(dims) - 2)
    return [x(g, *dims), x(g, *ones, 1, dims[-1]), x(g, *ones, dims[-2], 1), x(g, *ones, 1, 1)], scalar(g, 0.75)


def _broadcast(a, b, out):
    """Return what builds a product of matrices with every kind of operand after it, and three results."""

    def build(g):
        inputs = [x(g, *a), x(g, *b)]
        y = g.matmul(*inputs)
        (full, column, row, one), number = _operands(g, out)
        scaled = g.mul(g.add(y, column), row)
        shifted = g.sub(g.gelu(scaled), g.mul(full, number))
        return [*inputs, full, column, row, one], [g.max(shifted, one), scaled, y]

    return build


def _image(*dims, window=(3, 3), filters=6, groups=1, nhwc=False, nhwc_result=None, **how):
    """Return what builds a convolution with operands for each channel, each pixel and each row after it."""

    def build(g):
        c = dims[1] // groups
        inputs = [x(g, *dims, nhwc=nhwc), x(g, filters, c, *window, nhwc=nhwc)]
        y = g.conv_fprop(*inputs, **how)
        space = _space(dims, window, how)
        ones = [1] * len(space)
        channel, pixel = x(g, 1, filters, *ones), x(g, dims[0], 1, *space)
        row, full = x(g, 1, 1, *space[:-1], 1), x(g, dims[0], filters, *space, nhwc=not nhwc)
        t = g.tanh(g.add(g.mul(y, channel), pixel))
        out = g.add(g.mul(t, row), full)
        if nhwc if nhwc_result is None else nhwc_result:
            out.set_stride(list(channels_last([dims[0], filters, *space])))
        return [*inputs, channel, pixel, row, full], [out, t]

    return build


def _gradient(*dims, window=(3, 3), filters=6, groups=1, nhwc=False, **how):
    """Return what builds a data gradient, relu's gradient of a saved tensor after it, and a sum with another branch."""

    def build(g):
        inputs = [
            x(g, dims[0], filters, *_space(dims, window, how), nhwc=nhwc),
            x(g, filters, dims[1] // groups, *window, nhwc=nhwc),
        ]
        dx = g.conv_dgrad(*inputs, **how).set_dim(list(dims))
        saved, other, scale = x(g, *dims, nhwc=nhwc), x(g, *dims), x(g, 1, dims[1], *[1] * len(window))
        masked = g.relu_backward(dx, saved)
        out = g.add(g.mul(masked, scale), other)
        if nhwc:
            out.set_stride(list(channels_last(dims)))
        return [*inputs, saved, other, scale], [out, masked]

    return build


def _space(dims, window, how):
    none, ones = [0] * len(window), [1] * len(window)
    steps = zip(dims[2:], how.get("padding", none), window, how.get("stride", ones), strict=True)
    return [1 + (d + 2 * p - r) // s for d, p, r, s in steps]


def _after(shape, follow, *more):
    """Return what builds a product of `shape` (m, k, n) and lets `follow(g, y, *more)` go on."""

    def build(g):
        m, k, n = shape
        inputs = [x(g, m, k), x(g, k, n), *(x(g, *dims) for dims in more)]
        return inputs, follow(g, g.matmul(*inputs[:2]), *inputs[2:])

    return build


def _types(g, y):
    """Outputs of several types, and comparisons."""
    outs = [g.neg(y).set_data_type(kind) for kind in (D.HALF, D.BFLOAT16, D.INT8, D.FP8_E4M3)]
    return [*outs, g.cmp_gt(y, g.abs(y)).set_data_type(D.BOOLEAN), g.cmp_gt(g.relu(y), 0.5).set_data_type(D.BOOLEAN)]


def _selected(g, y, other):
    mask = g.cmp_lt(y, other).set_data_type(D.BOOLEAN)
    places = g.gen_index(y, axis=1)
    return [g.binary_select(input0=g.mul(y, places), input1=other, mask=mask)]


def _columns(g):
    """Products of matrices that lie by columns, whose results do so, too."""
    a, b = (g.tensor(dim=dims, stride=[dims[1] * dims[2], 1, dims[1]]) for dims in ([4, 7, 5], [4, 5, 6]))
    return [a, b], [g.tanh(g.matmul(a, b)).set_stride([42, 1, 7])]


GRAPHS = {
    "rows that no vector ends": _broadcast((7, 5), (5, 9), (7, 9)),
    "larger than a tile": _broadcast((70, 33), (33, 130), (70, 130)),
    "one matrix with several": _broadcast((3, 7, 5), (1, 5, 8), (3, 7, 8)),
    "several with one matrix": _broadcast((1, 7, 5), (3, 5, 8), (3, 7, 8)),
    "one for each": _broadcast((3, 7, 5), (3, 5, 8), (3, 7, 8)),
    "two dims of products": _broadcast((2, 3, 7, 5), (2, 3, 5, 9), (2, 3, 7, 9)),
    "a long sum": _broadcast((5, 3000), (3000, 12), (5, 12)),
    "one column": _broadcast((40, 6), (6, 1), (40, 1)),
    "one row": _broadcast((1, 6), (6, 40), (1, 40)),
    "NCHW": _image(2, 4, 7, 9, padding=[1, 1]),
    "NHWC": _image(2, 4, 7, 9, nhwc=True, padding=[1, 0], filters=20),
    "runs along rows": _broadcast((24, 6), (6, 40), (24, 40)),
    "runs along pixels": _image(2, 4, 8, 8, filters=8, padding=[1, 1]),
    "runs along channels": _image(2, 4, 8, 7, nhwc=True, filters=24),
    "groups": _image(2, 6, 7, 8, groups=2, stride=[2, 1]),
    "pixels in one row": _image(2, 8, 6, 7, window=(1, 1), filters=16),
    "pixels in one row, NHWC": _image(2, 8, 6, 7, window=(1, 1), nhwc=True, filters=19),
    "large windows": _image(1, 3, 20, 21, window=(5, 4), stride=[2, 2], padding=[2, 1]),
    "one dim": _image(2, 4, 19, window=(3,)),
    "three dims": _image(1, 2, 4, 5, 6, window=(2, 2, 2)),
    "columns of several": _columns,
    "a data gradient": _gradient(2, 4, 9, 8, padding=[1, 1]),
    "a data gradient, NHWC, stride 2": _gradient(2, 6, 9, 8, nhwc=True, padding=[1, 0], stride=[2, 2], groups=2),
    "a data gradient with pixels of no tap": _gradient(1, 4, 9, 10, window=(1, 2), stride=[3, 2]),
    "a data gradient, pixels in one row": _gradient(2, 20, 4, 6, window=(1, 1), nhwc=True, filters=8),
    "the other order": lambda g: (
        [a := x(g, 6, 5), b := x(g, 5, 20)],
        [g.exp(g.matmul(a, b)).set_stride([1, 6])],
    ),
    "a residual that is added to itself": _after((6, 5, 7), lambda g, y, z: [g.add(g.mul(z, y), z)], (6, 7)),
    "a mask and places": _after((20, 6, 18), _selected, (1, 18)),
}


@on_all(list(GRAPHS))
def test_what_follows(handle, name):
    """Against the definitions in float64, for every kind of operand and several results."""
    check(handle, GRAPHS[name], atol=1e-4 if name == "a long sum" else 2e-5)  # of 3,000 products, one after the other


WINOGRAD = {  # of so many channels that sums are as good as plain ones
    "NCHW": _image(2, 35, 9, 8, padding=[1, 1], filters=7),
    "NHWC, groups": _image(2, 66, 6, 7, nhwc=True, padding=[1, 0], filters=18, groups=2),
    "a data gradient": _gradient(2, 6, 9, 8, padding=[1, 1], filters=34),
    "a data gradient, NHWC": _gradient(1, 6, 7, 9, nhwc=True, padding=[0, 1], filters=33),
}


@on_all([(name, kind) for name in WINOGRAD for kind in (D.FLOAT, D.HALF)])
def test_winograd(handle, name, monkeypatch):
    """Transformed convolutions, though implicit products be faster."""
    graph, kind = name
    for others in (ConvGemm, ConvCpu, TensorCore):
        monkeypatch.setattr(others, "why_not", lambda *_: "not here")
    chosen_for.cache_clear()
    tolerance = {"rtol": 2e-2, "atol": 4e-2} if kind is D.HALF else {"rtol": 1e-4, "atol": 1e-4}
    g = check(handle, WINOGRAD[graph], kind, D.FLOAT, **tolerance)
    assert "winograd" in chosen_for(g._graph_frozen(), handle.info).engine.name


@on_all([(D.HALF, D.FLOAT), (D.HALF, D.HALF), (D.BFLOAT16, D.FLOAT), (D.BFLOAT16, D.BFLOAT16)])
def test_short_types(handle, name):
    """Virtual tensors have their own type."""
    for build in (GRAPHS["runs along channels"], GRAPHS["runs along rows"]):
        check(handle, build, *name, rtol=2e-2, atol=8e-2 if D.BFLOAT16 in name else 1e-2)


ROWS = {  # so large that tensor cores have them, which read rows and planes where they lie
    "rows": _broadcast((150, 237), (237, 520), (150, 520)),
    "rows of four": _broadcast((70, 600), (600, 268), (70, 268)),
    "rows of several": _broadcast((1, 170, 240), (3, 240, 136), (3, 170, 136)),
    "rows of each": _broadcast((3, 120, 212), (3, 212, 136), (3, 120, 136)),
    "planes": _image(4, 124, 14, 14, window=(1, 1), filters=140),
    "planes, NHWC result": _image(4, 96, 16, 15, window=(1, 1), filters=144, nhwc_result=True),
    "planes, data gradient": _gradient(4, 120, 14, 16, window=(1, 1), filters=137),
}


@on_all([D.HALF, D.BFLOAT16])
def test_rows_of_short_types(handle, name):
    for build in ROWS.values():
        check(handle, build, name, D.FLOAT, rtol=2e-2, atol=8e-2 if name is D.BFLOAT16 else 1e-2)


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_not_packed(name):
    """Tensor cores' kernel reads them, unless they are not aligned."""
    handle = PaperHandle("cuda")
    handle._device = Recorder("sm_80")
    g = new("reference", D.HALF, D.FLOAT)
    ProductEngine().prepare(frozen(g, ROWS[name](g)[1]), handle.device)
    files = [file for file, _, _ in handle.device.sources.values()]
    assert "shared/conv/mma_pack_image.cl" not in files[: files.index("cuda/conv/mma.cu")]
    assert "#define PLANES 1" in next(s for s, of in handle.device.sources.items() if of[0] == "cuda/conv/mma.cu")


@on_all([D.HALF, D.BFLOAT16])
def test_virtual_tensors_are_rounded(handle, name):
    """Sums of integers that the type does not hold: the results tell how each tensor between was rounded."""
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(-40, 41, dims) for dims in ((9, 13), (13, 21), (1, 21)))

    def build(g):
        inputs = [x(g, 9, 13), x(g, 13, 21), x(g, 1, 21)]
        y = g.matmul(*inputs[:2]).set_data_type(name)
        return inputs, [g.sub(g.add(y, inputs[2]).set_data_type(name), inputs[2])]

    _, (got,) = evaluate(handle, build, feeds=[a, b, c])
    want = name.rounded(name.rounded(a @ b).astype(np.float64) + c).astype(np.float64) - c
    np.testing.assert_array_equal(got, want)
    assert np.count_nonzero(want != a @ b) > 20


@on_all()
def test_outputs_of_all_types(handle, name):
    rng = np.random.default_rng(6)
    a, b = rng.integers(-3, 4, (11, 4)), rng.integers(-3, 4, (4, 37))
    _, got = evaluate(handle, _after((11, 4, 37), _types), feeds=[a, b])
    y = a @ b
    for one, kind in zip(got, (D.HALF, D.BFLOAT16, D.INT8, D.FP8_E4M3), strict=False):
        np.testing.assert_array_equal(one, kind.rounded(-y))
    np.testing.assert_array_equal(got[4], y > abs(y))
    np.testing.assert_array_equal(got[5], y > 0)


@on_all()
def test_gaps_are_left_alone(handle, name):
    """Operands and results with gaps between their rows."""

    def build(g):
        inputs = [x(g, 9, 5), x(g, 5, 19), g.tensor(dim=[9, 19], stride=[24, 1])]
        return inputs, [g.add(g.neg(g.matmul(*inputs[:2])), inputs[2]).set_stride([23, 1])]

    check(handle, build)
    g = new(handle)
    inputs, (out,) = build(g)
    frozen(g, [out])
    g.deselect_engines(["fallback", "regions"])
    g.build()
    pack = {one: buffer(one, numbers(one.get_dim()))[0] for one in inputs}
    pack[out], _ = buffer(out)
    g.execute(pack)
    holes = np.pad(pack[out], (0, 4)).reshape(9, 23)[:-1, 19:]
    assert (holes.view(np.uint8) == 0xA5).all()


@on_all()
def test_bound_and_in_place(handle, name):
    """A second call on the same memory, whose result takes the place of a residual, counts on from it."""
    g = new(handle)
    a, b, z = x(g, 16, 3), x(g, 3, 24), x(g, 16, 24)
    out = g.add(g.mul(g.matmul(a, b), 2.0), z)
    frozen(g, [out])
    g.deselect_engines(["fallback", "regions"])
    g.build()
    values = [np.round(4 * numbers(one.get_dim(), i)).astype(np.float32) for i, one in enumerate((a, b, z))]
    arrays = [handle.asarray(v) for v in values]
    pack = {a: arrays[0], b: arrays[1], z: arrays[2], out: arrays[2]}
    for calls in (1, 2, 3):
        g.execute(pack)
        got = handle.to_numpy(arrays[2])
        np.testing.assert_array_equal(got, values[2] + calls * 2 * (values[0] @ values[1]))


@on_all()
def test_source_is_shown(handle, name):
    g, _ = evaluate(handle, GRAPHS["rows that no vector ends"])
    plan = g._plans_on(handle).plan(g._chosen)
    assert "// epilogue: 7 x 9 places, after matmul" in plan.source
    assert plan.source.count("gelu_F") == 1
    assert [len(part) for part in plan.parts] == [len(g._graph_frozen().operations)]


REFUSED = {
    "no product": (lambda g: ([a := x(g, 4, 5)], [g.relu(g.neg(a))]), "PG-PRODUCT-001"),
    "two products": (_after((6, 5, 7), lambda g, y, z: [g.relu(g.matmul(y, z))], (7, 4)), "PG-PRODUCT-001"),
    "nothing follows": (_after((6, 5, 7), lambda g, y: [y]), "PG-PRODUCT-001"),
    "integers": (_after((6, 5, 7), lambda g, y: [g.abs(y).set_data_type(D.INT64)]), "PG-PRODUCT-002"),
    "a wider result": (_after((1, 5, 7), lambda g, y, z: [g.add(y, z)], (6, 7)), "PG-PRODUCT-003"),
    "several products": (
        lambda g: ([a := x(g, 3, 1, 4, 5), b := x(g, 1, 2, 5, 6)], [g.relu(g.matmul(a, b))]),
        "PG-PRODUCT-004",
    ),
    "padding at one end": (
        lambda g: (
            [a := x(g, 1, 2, 5, 5), b := x(g, 3, 2, 2, 2)],
            [g.relu(g.conv_fprop(a, b, pre_padding=[1, 1], post_padding=[0, 0], stride=[1, 1], dilation=[1, 1]))],
        ),
        "PG-PRODUCT-004",
    ),
}


@on_all(list(REFUSED))
def test_refusals(handle, name):
    """Reasons tell what to do instead."""
    build, id = REFUSED[name]
    g = new(handle)
    graph = frozen(g, build(g)[1])
    reasons = ProductEngine().reasons(graph, handle.info)
    assert [reason.id for reason in reasons] == [id]
    assert "regions" in reasons[0].fix


def test_float64_is_refused():
    g = new("reference", D.DOUBLE, D.DOUBLE, D.DOUBLE)
    graph = frozen(g, _after((6, 5, 7), lambda g, y: [g.relu(y)])(g)[1])
    assert [reason.id for reason in ProductEngine().reasons(graph, None)] == ["PG-PRODUCT-002"]


LARGE = {
    "NHWC": _image(16, 64, 28, 28, nhwc=True, padding=[1, 1], filters=64),
    "NCHW": _image(16, 64, 28, 28, window=(1, 1), filters=128),
    "a long sum": _broadcast((64, 8000), (8000, 64), (64, 64)),
    "a data gradient": _gradient(16, 64, 28, 28, nhwc=True, padding=[1, 1], filters=64),
    "NHWC, in steps": _image(16, 64, 28, 28, nhwc=True, padding=[1, 1], stride=[2, 2], filters=64),
    "a data gradient in steps": _gradient(16, 64, 28, 28, nhwc=True, padding=[1, 1], stride=[2, 2], filters=64),
    "larger than a tile": _broadcast((300, 33), (33, 130), (300, 130)),
    "rows": _broadcast((300, 64), (64, 512), (300, 512)),
}
TEXTS = {  # of CUDA: graphs, types, and the files of kernels that they go to
    "plain tiles": ("larger than a tile", D.FLOAT, "shared/conv/gemm.cl"),
    "parts of sums": ("a long sum", D.FLOAT, "shared/conv/gemm.cl"),
    "images": ("NHWC, in steps", D.FLOAT, "shared/conv/gemm.cl"),
    "images, Winograd": ("NHWC", D.FLOAT, "shared/winograd/convolve.cl"),
    "tensor cores": ("NHWC", D.HALF, "cuda/conv/mma.cu"),
    "tensor cores, NCHW": ("NCHW", D.BFLOAT16, "cuda/conv/mma.cu"),
    "tensor cores, rows": ("rows", D.HALF, "cuda/conv/mma.cu"),
    "data gradient": ("a data gradient in steps", D.FLOAT, "shared/conv/gemm.cl"),
    "data gradient, Winograd": ("a data gradient", D.FLOAT, "shared/winograd/convolve.cl"),
    "tensor cores, data gradient": ("a data gradient", D.HALF, "cuda/conv/mma.cu"),
    "tensor cores, parts of sums": ("a long sum", D.HALF, "shared/conv/mma_reduce.cl"),
}


def test_parts_of_the_images_count_on():
    """A convolution that is done some images at a time tells its text where each part's output begins."""
    x, w, y = (TensorSpec.packed(DataType.FLOAT, dims) for dims in ((5, 2, 4, 6), (3, 2, 1, 1), (5, 3, 4, 6)))
    problem = ForwardWithEpilogue(x, w, y, (0, 0), (1, 1), (1, 1), graph=OperationGraph("", (), ()), first=7)
    assert [part.problem.first for part in by_images(problem, 2)] == [7, 7 + 2 * 72, 7 + 4 * 72]


def nvrtc_of(g, outs, wanted):
    """Compile the kernels of a graph's plan with NVRTC, of which those that have its text are ELF."""
    handle = PaperHandle("cuda")
    handle._device = recorder_of("sm_90")
    part, engine = frozen(g, outs), ProductEngine()
    assert not engine.reasons(part, handle.info)
    plan = engine.prepare(part, handle.device)
    compiled = {}
    for source, (file, _, _) in handle.device.sources.items():
        if ("epilogue(" in source and "EPILOGUE_LANES" in source) or "sums_join" in source:
            compiled[file] = cuda.compile_cubin(source, "sm_90")
    assert wanted in compiled
    assert all(cubin[:4] == b"\x7fELF" for cubin in compiled.values())
    sources = "".join(handle.device.sources)
    assert all(part in sources for part in plan.source.split("\n\n"))


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("name", pairwise.every_other(TEXTS))
def test_nvrtc(name):
    """The text for GPUs is CUDA C++ as well, within tensor cores' kernels, too."""
    graph, kind, wanted = TEXTS[name]
    g = new("reference", kind, D.FLOAT)
    nvrtc_of(g, LARGE[graph](g)[1], wanted)
