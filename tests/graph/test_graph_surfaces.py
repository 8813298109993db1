"""``check_against``: what other libraries' documentation says to graphs, and that the tables are sound."""

from __future__ import annotations

import json
import re

import pytest
from graphs import D, given, new

import portadnn.graph as cudnn
from portadnn.graph.node import KINDS
from portadnn.graph.other_libraries import libraries, library
from portadnn.graph.other_libraries.matching import parsed
from portadnn.graph.other_libraries.predicates import CHECKS
from portadnn.graph.other_libraries.table import cc_fits
from portadnn.graph.patterns import PATTERNS

M, P = cudnn.norm_forward_phase, cudnn.resample_mode
AMPERE, ADA, HOPPER, VOLTA = (8, 0), (8, 9), (9, 0), (7, 0)


def half(**kwargs):
    return new(io=D.HALF, **kwargs)


def x(g, *dims, nhwc=True, **kwargs):
    return given(g, dims, nhwc=nhwc and len(dims) > 3, **kwargs)


def fused(nhwc=True, channels=16, io=D.HALF, bias_first=False, stored=False, groups=1, act="relu", kernel=3):
    """Convolution, bias, activation."""
    g = new(io=io)
    a = x(g, 2, channels, 8, 8, nhwc=nhwc)
    w = x(g, 32, channels // groups, kernel, kernel, nhwc=nhwc)
    b = x(g, 1, 32, 1, 1)
    y = g.conv_fprop(a, w, padding=[kernel // 2] * 2, name="conv").set_output(stored)
    y = g.add(b, y, name="sum") if bias_first else g.add(y, b, name="sum")
    getattr(g, act)(y, name="act").set_output(True)
    return g


def single(method="conv_fprop", io=D.HALF, compute=D.FLOAT, **options):
    g = new(io=io, compute=compute)
    g.conv_fprop(x(g, 2, 3, 8, 8, nhwc=False), x(g, 4, 3, 3, 3, nhwc=False), **options).set_output(True)
    return g


def product(dims=((4, 32, 64), (4, 64, 16)), io=D.HALF, act=None, before=None, reduced=None, **kwargs):
    g = new(io=io, **kwargs)
    a, b = (given(g, one) for one in dims)
    a = getattr(g, before)(a) if before else a
    c = g.matmul(a, b, name="product")
    c = getattr(g, act)(c) if act else c
    if reduced:
        c = g.reduction(c, cudnn.reduction_mode[reduced]).set_dim([c_ if i else 1 for i, c_ in enumerate(dims[0])])
        c.set_dim([1, 1, 1]).set_data_type(D.FLOAT)
    c.set_output(True)
    return g


def mixed():
    g = new(io=D.HALF)
    a, b = given(g, (4, 32, 64), D.INT8), given(g, (4, 64, 16))
    wide = g.identity(a).set_data_type(D.HALF)
    g.matmul(wide, b).set_output(True)
    return g


def dgrad(stride=1, io=D.HALF):
    g = new(io=io)
    size = 8 * stride
    dx = g.conv_dgrad(x(g, 2, 32, 8, 8), x(g, 32, 16, 3, 3), padding=[1, 1], stride=[stride] * 2)
    dx.set_dim([2, 16, size, size])
    g.relu(dx).set_output(True)
    return g


def pointwise(dims=(2, 16, 8, 8), compute=D.FLOAT):
    g = half(compute=compute)
    g.relu(g.add(x(g, *dims), x(g, *dims))).set_output(True)
    return g


def attention(d=64, io=D.HALF, heads=(4, 4), fp8=False, sink=False):
    g = new(io=io)
    q, k, v = (given(g, (2, n, 32, d)) for n in (heads[0], heads[1], heads[1]))
    more = {"sink_token": given(g, (1, heads[0], 1, 1), D.FLOAT)} if sink else {}
    if fp8:
        o = g.sdpa_fp8(q, k, v, *[1.0] * 6, generate_stats=False)[0]
    else:
        o = g.sdpa(q, k, v, generate_stats=False, use_causal_mask=True, **more)[0]
    o.set_output(True)
    for one in g._graph.nodes[0].outputs.values():
        one.set_output(True)
    return g


def norm(kind, io=D.HALF, weights=D.FLOAT, compute=D.FLOAT):
    g = new(io=io, compute=compute)
    scale = (1, 16, 1, 1) if kind == "instancenorm" else (1, 16, 8, 8)
    s, b = (x(g, *scale, data_type=weights) for _ in range(2))
    y = getattr(g, kind)(M.INFERENCE, x(g, 2, 16, 8, 8), s, b, 1e-5)[0]
    y.set_output(True)
    return g


def norm_gradient(io=D.HALF, weights=D.FLOAT):
    g = new(io=io, compute=D.FLOAT)
    scale = x(g, 1, 16, 8, 8, data_type=weights)
    mean, inverse = (x(g, 2, 1, 1, 1, data_type=D.FLOAT) for _ in range(2))
    outs = g.layernorm_backward(x(g, 2, 16, 8, 8), x(g, 2, 16, 8, 8), scale, mean, inverse)
    outs[0].set_output(True)
    for one in outs[1:]:
        one.set_output(True).set_data_type(D.FLOAT)
    return g


def batchnorm(channels=16, running=True, io=D.HALF, nhwc=True, slope=None, compute=D.FLOAT):
    g = new(io=io, compute=compute)
    p = [x(g, 1, channels, 1, 1, data_type=D.FLOAT) for _ in range(4)]
    more = (*p[2:], 1e-3, 0.1) if running else (None, None, 1e-3, None)
    outs = g.batchnorm(x(g, 2, channels, 8, 8, nhwc=nhwc), *p[:2], *more)
    g._graph.declared[:] = [one for one in g._graph.declared if any(one in n.inputs.values() for n in g._graph.nodes)]
    for one in outs[1:]:
        if one is not None:
            one.set_output(True).set_data_type(D.FLOAT)
    g.relu(outs[0], negative_slope=slope).set_output(True)
    return g


def inference(weights=D.FLOAT):
    g = half()
    parameters = (x(g, 1, 16, 1, 1, data_type=weights) for _ in range(4))
    g.relu(g.batchnorm_inference(x(g, 2, 16, 4, 4), *parameters)).set_output(True)
    return g


def residual(z_dims=(2, 32, 8, 8), nhwc=True):
    """MIOpen's pattern: convolution, residual, bias, RELU."""
    g = half()
    y = g.conv_fprop(x(g, 2, 16, 8, 8, nhwc=nhwc), x(g, 32, 16, 3, 3, nhwc=nhwc), padding=[1, 1])
    g.relu(g.add(g.add(y, x(g, *z_dims)), x(g, 1, 32, 1, 1))).set_output(True)
    return g


def block_scaled(block=32, k=128):
    g = cudnn.pygraph(compute_data_type=D.FLOAT, intermediate_data_type=D.FLOAT, io_data_type=D.FP8_E4M3)
    scales = [x(g, 1, 16, k // block, nhwc=False), x(g, 1, k // block, 32, nhwc=False)]
    a, b = x(g, 1, 16, k, nhwc=False), x(g, 1, k, 32, nhwc=False)
    for one in scales:
        one.set_data_type(D.FP8_E8M0)
    left = g.block_scale_dequantize(a, scales[0], [block])
    right = g.block_scale_dequantize(b, scales[1], [block, 1])
    g.matmul(left, right).set_output(True).set_data_type(D.HALF)
    return g


def alone(method, *dims, **options):
    g = half()
    out = getattr(g, method)(*(x(g, *one) for one in dims), **options)
    for one in out if isinstance(out, (list, tuple)) else [out]:
        if one is not None:
            one.set_output(True)
    return g


def named(name, **options):
    g = half()
    PATTERNS[name](g, **options)
    return g


C9, MI, HIP = "cudnn-9", "miopen-3", "hipdnn"
# graph, library, compute capability, answer, and a rule that is broken (its id)
CASES = {
    "the specification's example": (fused, C9, AMPERE, "yes", None),
    "on an unknown device": (fused, C9, None, "unknown", "device"),
    "on Pascal": (fused, C9, (6, 1), "no", "device"),
    "NCHW": (lambda: fused(nhwc=False), C9, AMPERE, "no", "image-layout"),
    "three channels, Hopper": (lambda: fused(channels=3), C9, HOPPER, "yes", None),
    "odd rows, Volta": (lambda: fused(channels=3), C9, VOLTA, "no", "70-alignment"),
    "a broadcast operand first": (lambda: fused(bias_first=True), C9, AMPERE, "no", "broadcast-second"),
    "groups on Volta": (lambda: fused(groups=2), C9, VOLTA, "no", "70-groups"),
    "groups on Ampere": (lambda: fused(groups=2), C9, AMPERE, "yes", None),
    "a convolution alone, NCHW": (single, C9, None, "yes", None),
    "float64 alone": (lambda: single(io=D.DOUBLE, compute=D.DOUBLE), C9, HOPPER, "yes", None),
    "uneven padding alone, NCHW": (
        lambda: single(pre_padding=[1, 1], post_padding=[0, 0]),
        C9,
        AMPERE,
        "no",
        "image-layout",
    ),
    "matmul": (product, C9, AMPERE, "yes", None),
    "matmul and gelu": (lambda: product(act="gelu"), C9, HOPPER, "yes", None),
    "matrices of two dims": (lambda: product(((32, 64), (64, 16))), C9, AMPERE, "no", "matrix-rank"),
    "FP8 on Ampere": (lambda: product(io=D.FP8_E4M3), C9, AMPERE, "no", "80-fp8"),
    "FP8 on Ada": (lambda: product(io=D.FP8_E4M3), C9, ADA, "yes", None),
    "float64": (lambda: product(io=D.DOUBLE, compute=D.DOUBLE), C9, HOPPER, "no", "types"),
    "mixed types": (mixed, C9, AMPERE, "yes", None),
    "mixed types on Volta": (mixed, C9, VOLTA, "no", "70-mainloop"),
    "a mean behind a product": (lambda: product(reduced="AVG"), C9, HOPPER, "no", "reduction-modes"),
    "a sum behind a product": (lambda: product(reduced="ADD"), C9, HOPPER, "yes", None),
    "two products": (lambda: _twice(), C9, HOPPER, "no", "form"),
    "dgrad and relu on Ampere": (dgrad, C9, AMPERE, "yes", None),
    "strided dgrad, Hopper": (lambda: dgrad(2), C9, HOPPER, "yes", None),
    "pointwise": (pointwise, C9, AMPERE, "yes", None),
    "pointwise in half": (lambda: pointwise(compute=D.HALF), C9, AMPERE, "no", "70p-compute"),
    "pointwise of two dims": (lambda: pointwise((4, 4)), C9, AMPERE, "no", "70p-rank"),
    "attention": (attention, C9, AMPERE, "yes", None),
    "attention on Turing": (attention, C9, (7, 5), "no", "device"),
    "heads of 192 on Ampere": (lambda: attention(192), C9, AMPERE, "no", "ff-size-128"),
    "heads of 192 on Hopper": (lambda: attention(192), C9, HOPPER, "yes", None),
    "heads of 192 somewhere": (lambda: attention(192), C9, None, "unknown", "ff-size-128"),
    "heads of 12": (lambda: attention(12), C9, HOPPER, "no", "ff-size"),
    "attention in float": (lambda: attention(io=D.FLOAT), C9, HOPPER, "no", "ff-types"),
    "a sink": (lambda: attention(sink=True), C9, HOPPER, "unknown", "ff-beyond"),
    "FP8 attention, Hopper": (lambda: attention(128, io=D.FP8_E4M3, fp8=True), C9, HOPPER, "yes", None),
    "FP8 attention, Ampere": (lambda: attention(128, io=D.FP8_E4M3, fp8=True), C9, AMPERE, "no", "device"),
    "layer norm": (lambda: norm("layernorm"), C9, None, "yes", None),
    "instance norm, half weights": (lambda: norm("instancenorm", weights=D.HALF), C9, None, "no", "in-weight-types"),
    "layer norm in float64": (lambda: norm("layernorm", io=D.DOUBLE, compute=D.DOUBLE), C9, None, "no", "ln-types"),
    "12 channels": (lambda: batchnorm(12), C9, HOPPER, "no", "bar-channels-16"),
    "12 channels of float": (lambda: batchnorm(12, io=D.FLOAT), C9, HOPPER, "yes", None),
    "batch norm, NCHW": (lambda: batchnorm(nhwc=False), C9, HOPPER, "no", "bar-layout"),
    "DBARCS on Ampere": (lambda: named("DBARCS"), C9, AMPERE, "no", None),
    "DBARCS on Hopper": (lambda: named("DBARCS"), C9, HOPPER, "yes", None),
    "ConvBNwgrad": (lambda: named("ConvBNwgrad"), C9, AMPERE, "yes", None),
    "DgradDreluBNBwdWeight on Ada": (lambda: named("DgradDreluBNBwdWeight"), C9, ADA, "no", "device"),
    "FP8 backward, heads of 16": (lambda: named("FP8 flash attention bprop"), C9, HOPPER, "no", "f8b-size"),
    "FP8 backward": (lambda: named("FP8 flash attention bprop", q=(2, 4, 16, 128)), C9, HOPPER, "yes", None),
    "stored probabilities": (lambda: named("MhaFprop", q=(1, 2, 64, 64)), C9, HOPPER, "no", "mha-reordering"),
    "slice": (lambda: alone("slice", (2, 3, 4), slices=[slice(0, 1)]), C9, HOPPER, "unknown", "undocumented"),
    "nearest": (
        lambda: alone("resample", (2, 16, 4, 4), mode=P.NEAREST, window=[1, 1], stride=[0.5, 0.5]),
        C9,
        HOPPER,
        "no",
        "70p-resample-modes",
    ),
    "pooling": (
        lambda: alone("resample", (2, 16, 4, 4), mode=P.MAXPOOL, window=[2, 2], stride=[2, 2]),
        C9,
        AMPERE,
        "yes",
        None,
    ),
    "MIOpen's pattern": (residual, MI, None, "unknown", "conv-kernels"),
    "MIOpen's pattern, NCHW": (lambda: residual(nhwc=False), MI, None, "no", "conv-layout"),
    "bias alone on MIOpen": (fused, MI, None, "no", "form"),
    "a convolution on MIOpen": (single, MI, None, "no", "form"),
    "attention on MIOpen": (attention, MI, None, "no", "form"),
    "layer norm's gradient on hipDNN": (norm_gradient, HIP, None, "yes", None),
    "its half scale and float gradient": (lambda: norm_gradient(weights=D.HALF), HIP, None, "no", "lnb-affine"),
    "its float64": (lambda: norm_gradient(D.DOUBLE), HIP, None, "no", "lnb-types"),
    "bias on hipDNN": (fused, HIP, None, "yes", None),
    "NCHW on hipDNN": (lambda: fused(nhwc=False), HIP, None, "yes", None),
    "a stored intermediate": (lambda: fused(stored=True), HIP, None, "no", "cba-virtual"),
    "tanh on hipDNN": (lambda: fused(act="tanh"), HIP, None, "no", "form"),
    "a convolution on hipDNN": (single, HIP, None, "yes", None),
    "uneven padding on hipDNN": (
        lambda: single(pre_padding=[1, 1], post_padding=[0, 0]),
        HIP,
        None,
        "no",
        "conv-padding",
    ),
    "flipped filters on hipDNN": (
        lambda: single(convolution_mode=cudnn.convolution_mode.CONVOLUTION),
        HIP,
        None,
        "no",
        "conv-mode",
    ),
    "float64 on hipDNN": (lambda: single(io=D.DOUBLE, compute=D.DOUBLE), HIP, None, "no", "conv-types"),
    "running statistics on hipDNN": (batchnorm, HIP, None, "yes", None),
    "batch norm in half on hipDNN": (lambda: batchnorm(compute=D.HALF), HIP, None, "no", "bnt-compute"),
    "leaky batch norm on hipDNN": (lambda: batchnorm(slope=0.1), HIP, None, "no", "bnt-leaky"),
    "inference on hipDNN": (inference, HIP, None, "yes", None),
    "inference with scales of half on hipDNN": (lambda: inference(D.HALF), HIP, None, "no", "bni-statistics"),
    "layer norm on hipDNN": (lambda: norm("layernorm"), HIP, None, "yes", None),
    "RMS norm on hipDNN": (lambda: _norm_alone("rmsnorm", (2, 16), (1, 16)), HIP, None, "yes", None),
    "RMS norm in float64 on hipDNN": (
        lambda: _norm_alone("rmsnorm", (2, 16), (1, 16), io=D.DOUBLE),
        HIP,
        None,
        "no",
        "rms-types",
    ),
    "block scales on Blackwell": (block_scaled, C9, (10, 0), "unknown", "scaled-unread"),
    "block scales on Hopper": (block_scaled, C9, HOPPER, "no", "product of block-scaled matrices: device"),
    "block scales on hipDNN": (block_scaled, HIP, None, "unknown", "mx-device"),
    "block scales, 16 each on hipDNN": (lambda: block_scaled(16), HIP, None, "no", "mx-blocks"),
    "few block scales on hipDNN": (lambda: block_scaled(k=64), HIP, None, "no", "mx-inner"),
    "nearest on hipDNN": (
        lambda: alone("resample", (2, 16, 4, 4), mode=P.NEAREST, window=[1, 1], stride=[0.5, 0.5]),
        HIP,
        None,
        "no",
        "resample-mode",
    ),
    "pooling on hipDNN": (
        lambda: alone("resample", (2, 16, 4, 4), mode=P.MAXPOOL, window=[2, 2], stride=[2, 2]),
        HIP,
        None,
        "yes",
        None,
    ),
    "batch norm on hipDNN": (lambda: batchnorm(running=False), HIP, None, "yes", None),
    "a product on hipDNN": (product, HIP, None, "yes", None),
    "a product and tanh on hipDNN": (lambda: product(act="tanh"), HIP, None, "no", "form"),
    "FP8 on hipDNN": (lambda: product(io=D.FP8_E4M3), HIP, None, "no", "matmul-types"),
    "attention on hipDNN": (lambda: attention(128, io=D.BFLOAT16), HIP, None, "unknown", "sdpa-device"),
    "heads of 64 on hipDNN": (lambda: attention(io=D.BFLOAT16), HIP, None, "no", "sdpa-heads"),
    "attention in half on hipDNN": (attention, HIP, None, "unknown", "flash2-engine"),
    "attention in float on hipDNN": (lambda: attention(128, io=D.FLOAT), HIP, None, "no", "sdpa-types"),
    "a sink on hipDNN": (lambda: attention(128, io=D.BFLOAT16, sink=True), HIP, None, "no", "sdpa-plain"),
    "FP8 attention on hipDNN": (
        lambda: attention(128, io=D.FP8_E4M3, fp8=True),
        HIP,
        None,
        "unknown",
        "undocumented",
    ),
    "causal attention, backward on hipDNN": (lambda: named("flash attention bprop"), HIP, None, "no", "sdpab-mask"),
    "attention's statistics on hipDNN": (lambda: named("flash attention fprop"), HIP, None, "no", "statistics"),
}


def _twice():
    g = half()
    a, b, c = (given(g, (2, 32, 32)) for _ in range(3))
    g.matmul(g.matmul(a, b), c).set_output(True)
    return g


@pytest.mark.parametrize("name", list(CASES))
def test_answers(name):
    build, which, cc, answer, rule = CASES[name]
    found = build().check_against(which, cc)
    assert found.answer == answer, str(found)
    assert bool(found.broken) == (answer != "yes")
    assert rule is None or rule in " ".join(one.rule for surface in found.surfaces for one in surface.broken), found
    for one in found.broken:
        assert one.source or one.rule == "form"
    assert json.loads(found.to_json())["answer"] == answer


def test_every_surface_takes_a_graph_or_is_named():
    """Each surface of the tables answers something other than "another form" to a graph of these tests."""
    graphs = [build() for build, *_ in CASES.values()] + [named(name) for name in PATTERNS]
    backward = {"layernorm": (2, 1, 1, 1), "rmsnorm": (2, 1, 1, 1), "instancenorm": (2, 16, 1, 1)}
    for kind, statistics in backward.items():
        scale = (1, 16, 1, 1) if kind == "instancenorm" else (1, 16, 8, 8)
        saved = [statistics] * (1 if kind == "rmsnorm" else 2)
        more = {"has_dbias": False} if kind == "rmsnorm" else {}
        graphs.append(alone(f"{kind}_backward", (2, 16, 8, 8), (2, 16, 8, 8), scale, *saved, **more))
    graphs += [_norm_alone("rmsnorm", (2, 16), (1, 16)), _norm_alone("adalayernorm", (2, 8, 16), (2, 1, 16))]
    graphs.append(alone("batchnorm_backward", *[(2, 16, 4, 4)] * 2, *[(1, 16, 1, 1)] * 3))
    graphs += [_dgrad_alone(), _wgrad_alone(), _dbn(), _mha(), *(_miopen(name) for name in ("forward", "backward"))]
    for name in libraries():
        fitting = {one.surface for g in graphs for one in g.check_against(name, HOPPER).surfaces if one.fits}
        assert {surface.name for surface in library(name).surfaces} <= fitting


def _norm_alone(kind, dims, scale, io=D.HALF):
    g = new(io=io)
    getattr(g, kind)(M.INFERENCE, x(g, *dims), x(g, *scale), epsilon=1e-5)[0].set_output(True)
    return g


def _dgrad_alone():
    g = half()
    g.conv_dgrad(x(g, 2, 4, 8, 8), x(g, 4, 3, 3, 3), padding=[1, 1]).set_dim([2, 3, 8, 8]).set_output(True)
    return g


def _wgrad_alone():
    g = half()
    g.conv_wgrad(x(g, 2, 3, 8, 8), x(g, 2, 4, 8, 8), padding=[1, 1]).set_dim([4, 3, 3, 3]).set_output(True)
    return g


def _dbn():
    """Batch normalisation as inference, the gradient of relu, and that of the normalisation."""
    g = half()
    a, dy = x(g, 2, 16, 4, 4), x(g, 2, 16, 4, 4)
    mean, inverse, s, b = (x(g, 1, 16, 1, 1, data_type=D.FLOAT) for _ in range(4))
    y = g.batchnorm_inference(a, mean, inverse, s, b)
    for one in g.batchnorm_backward(g.relu_backward(dy, y), a, s, mean, inverse):
        one.set_output(True)
    return g


def _mha():
    """Attention node by node with virtual probabilities, with stored statistics."""
    g = half()
    q, v = given(g, (1, 2, 64, 64)), given(g, (1, 2, 64, 64))
    k = g.tensor(dim=(1, 2, 64, 64), stride=(8192, 4096, 1, 64))
    s = g.mul(g.matmul(q, k), 0.125)
    largest = g.reduction(s, cudnn.reduction_mode.MAX).set_dim([1, 2, 64, 1])
    powers = g.exp(g.sub(s, largest))
    total = g.reduction(powers, cudnn.reduction_mode.ADD).set_dim([1, 2, 64, 1])
    g.add(largest, g.log(total)).set_output(True).set_data_type(D.FLOAT)
    g.matmul(g.div(powers, total), v).set_output(True)
    return g


def _miopen(name):
    """A graph made of MIOpen's pattern itself: its shapes are all one, which no rule of form asks."""
    surface = next(one for one in library(MI).surfaces if one.name.endswith(name))
    g, made = new(), {}
    known = {name: given(g, (1, 1, 4, 4), name=name) for name in ("Q", "K", "V", "DO", "O", "M", "ZINV")}

    def tensor(name):
        return given(g, (1, 1, 4, 4)) if name == "_" else made.get(name, known.get(name))

    for line in parsed(surface.pattern):
        kind, mode = line.kinds[0].partition(":")[::2]
        inputs = [tensor(one) for one in line.inputs]
        if kind == "rng":
            out = g.rng([1, 1, 4, 4], cudnn.rng_distribution.UNIFORM, seed=1)
            inputs = []
        elif kind == "reduction":
            out = g.reduction(*inputs, cudnn.reduction_mode[mode]).set_dim([1, 1, 4, 4])
        elif kind == "reshape":
            out = g.reshape(*inputs).set_dim([1, 1, 4, 4])
        else:
            out = getattr(g, {"IDENTITY": "identity"}.get(kind, kind.lower()))(*inputs)
        made[line.outputs[0]] = out
    read = {id(one) for node in g._graph.nodes for one in node.inputs.values()}
    for one in made.values():
        if id(one) not in read:
            one.set_output(True)
    g._graph.declared[:] = []
    return g


def test_the_tables_are_sound():
    for name in libraries():
        found = library(name)
        ids = [rule.id for rule in found.rules]
        assert len(set(ids)) == len(ids)
        words = set(found.sources)
        for rule in found.rules:
            assert rule.check in CHECKS
            assert rule.source.split()[0].rstrip(":") in words, rule
            assert re.fullmatch(r"((>=|<=|<|>|==|!=)\d+\.\d+ ?)*", rule.cc), rule
            assert set(rule.kinds) <= set(KINDS)
            names = rule.arguments.get("types", [])
            assert all(kind in D.__members__ for kind in names), rule
        assert set(found.undocumented) <= set(KINDS)


@pytest.mark.parametrize(
    ("condition", "cc", "fits"),
    [
        (">=8.0 !=8.9", (8, 0), True),
        (">=8.0 !=8.9", (8, 9), False),
        (">=8.0 !=8.9", (7, 5), False),
        (">=8.0", (10, 0), True),
        ("<8.9", (8, 6), True),
        ("<8.9", (8, 9), False),
        ("==9.0", (9, 0), True),
    ],
)
def test_compute_capabilities(condition, cc, fits):
    assert cc_fits(condition, cc) is fits


def test_names_and_mistakes():
    g = fused()
    assert g.check_against("cudnn-9.20", (8, 0)).library == "cudnn-9"
    assert "takes the graph" in str(g.check_against("cudnn-9", (8, 0)))
    with pytest.raises(cudnn.InvalidValue, match="PG-SURFACE-001"):
        g.check_against("cudnn-7")
    for cc in (8.0, "80", (8,), (8, 0, 0)):
        with pytest.raises(cudnn.InvalidValue, match="PG-SURFACE-002"):
            g.check_against("cudnn-9", cc)


def test_an_alignment_that_is_not_promised():
    g = named("ConvBNfprop")
    next(iter(g._graph.tensors())).set_alignment(8)
    found = g.check_against("cudnn-9", (8, 0))
    assert "cbf-alignment" in [one.rule for surface in found.surfaces for one in surface.broken]
