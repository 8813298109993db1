"""Graphs on kernels: each node that Problems compute, on every kernel backend, against the float64 definitions."""

from __future__ import annotations

import helper
import numpy as np
import pytest
from graphs import D, demand_right, given, new, numbers, run, scalar

import portadnn.graph as cudnn
from portadnn.graph.fallback.run import ALIGNMENT, _Room

M, P, R = cudnn.norm_forward_phase, cudnn.resample_mode, cudnn.reduction_mode


def x(g, *dims, **kwargs):
    return given(g, dims, **kwargs)


def _batchnorm(g):
    p = (1, 4, 1, 1)
    s, b, m, v, x_ = x(g, *p), x(g, *p), x(g, *p), x(g, *p), x(g, 3, 4, 5, 2)
    return [x_, s, b, m, v], g.batchnorm(x_, s, b, m, v, scalar(g, 1e-3), scalar(g, 0.3))


def _batchnorm_inference(g):
    inputs = [x(g, 3, 4, 5, 2, nhwc=True), *(x(g, 1, 4, 1, 1) for _ in range(4))]
    return inputs, [g.batchnorm_inference(*inputs)]


def _batchnorm_backward(g):
    inputs = [x(g, 3, 4, 5, 2), x(g, 3, 4, 5, 2), *(x(g, 1, 4, 1, 1) for _ in range(3))]
    return inputs, g.batchnorm_backward(*inputs)


def _norm(kind, dims, scale):
    def build(g):
        inputs = [x(g, *dims), x(g, *scale), x(g, *scale)]
        return inputs, getattr(g, kind)(M.TRAINING, *inputs, 1e-5)

    return build


def _norm_backward(kind, dims, scale, statistics, **more):
    def build(g):
        count = 1 if kind == "rmsnorm" else 2
        inputs = [x(g, *dims), x(g, *dims), x(g, *scale), *(x(g, *statistics) for _ in range(count))]
        return inputs, getattr(g, f"{kind}_backward")(*inputs, **more)

    return build


def _conv(function, *shapes, dims=None, **options):
    def build(g):
        inputs = [x(g, *shape, nhwc=len(shape) == 4) for shape in shapes]
        out = getattr(g, function)(*inputs, **options)
        return inputs, [out.set_dim(dims) if dims else out]

    return build


def _simple(method, *shapes, dims=None, **options):
    def build(g):
        inputs = [x(g, *shape) for shape in shapes]
        out = getattr(g, method)(*inputs, **options)
        outs = [one for one in out if one is not None] if isinstance(out, (list, tuple)) else [out]
        return inputs, [outs[0].set_dim(dims)] if dims else outs

    return build


def _chain(g):
    """The specification's example with all that is around it: bias, residual, activation, sums."""
    a, w, b, z = x(g, 2, 4, 6, 5, nhwc=True), x(g, 3, 4, 3, 3), x(g, 1, 3, 1, 1), x(g, 2, 3, 6, 5)
    y = g.relu(g.add(g.bias(g.conv_fprop(a, w, padding=[1, 1]), b), z))
    return [a, w, b, z], [y, *g.genstats(y)]


def _structural(g):
    a, b = x(g, 2, 3, 4), x(g, 2, 2, 4)
    both = g.concatenate([a, b], 1)
    turned = g.transpose(g.slice(both, [slice(0, 2), slice(1, 5, 2), slice(1, 4)]), [2, 0, 1])
    logical = g.reshape(turned, reshape_mode=cudnn.reshape_mode.LOGICAL).set_dim([4, 3])
    return [a, b], [both, turned, logical, g.reshape(g.neg(a)).set_dim([8, 3])]


POOL = {"window": [3, 2], "stride": [2, 2]}
EVEN, UNEVEN = {"pre_padding": [1, 1], "post_padding": [1, 1]}, {"pre_padding": [0, 1], "post_padding": [1, 0]}
CASES = {
    "add": _simple("add", (2, 3, 4), (1, 3, 1)),
    "add, first operand broadcast": _simple("add", (1, 3, 1), (2, 3, 4)),
    "sub, both broadcast": _simple("sub", (2, 1, 4), (1, 3, 1)),
    "sub, first operand broadcast": _simple("sub", (1, 3, 1), (2, 3, 4)),
    "mul in 1d": _simple("mul", (7,), (7,)),
    "max": _simple("max", (5, 6), (5, 6)),
    "min": _simple("min", (5, 6), (1, 6)),
    "add_square": _simple("add_square", (2, 3, 4), (1, 3, 4)),
    "scale by a number": lambda g: ((a := [x(g, 3, 5)]), [g.mul(a[0], 0.75), g.add(a[0], scalar(g, 2.0))]),
    "abs": _simple("abs", (4, 5)),
    "relu6": _simple("relu", (4, 5), upper_clip=0.5),
    "leaky relu": _simple("leaky_relu", (4, 5), negative_slope=0.1),
    "steep relu": _simple("leaky_relu", (4, 5), negative_slope=1.5),
    **{name: _simple(name, (3, 4, 5)) for name in ("relu", "tanh", "sigmoid", "elu", "identity", "neg")},
    "swish": _simple("swish", (3, 4, 5), swish_beta=1.5),
    **{f"{n}_backward": _simple(f"{n}_backward", (3, 4), (3, 4)) for n in ("relu", "tanh", "sigmoid", "elu", "swish")},
    "leaky_relu_backward": _simple("leaky_relu_backward", (3, 4), (3, 4), negative_slope=0.25),
    "matmul": _simple("matmul", (5, 6), (6, 7)),
    "matmul of batches": _simple("matmul", (3, 5, 6), (3, 6, 7)),
    "matmul, one left": _simple("matmul", (1, 5, 6), (3, 6, 7)),
    "matmul, one right": _simple("matmul", (3, 5, 6), (1, 6, 7)),
    "matmul, batches of two dims": _simple("matmul", (2, 1, 5, 6), (1, 3, 6, 7)),
    "convolution": _conv("conv_fprop", (2, 4, 7, 6), (6, 2, 3, 2), padding=[1, 0], stride=[2, 1], dilation=[1, 2]),
    "convolution 1d": _conv("conv_fprop", (2, 4, 9), (3, 4, 4), padding=[2], stride=[2]),
    "convolution 3d": _conv("conv_fprop", (1, 2, 4, 4, 5), (3, 2, 2, 3, 1)),
    "convolution, uneven": _conv("conv_fprop", (1, 2, 5, 5), (3, 2, 2, 2), **UNEVEN),
    "dgrad": _conv("conv_dgrad", (2, 3, 4, 4), (3, 4, 3, 3), dims=[2, 4, 8, 8], padding=[1, 1], stride=[2, 2]),
    "dgrad, uneven": _conv("conv_dgrad", (1, 3, 5, 5), (3, 2, 2, 2), dims=[1, 2, 5, 5], **UNEVEN),
    "wgrad": _conv("conv_wgrad", (2, 4, 7, 7), (2, 3, 5, 5), dims=[3, 4, 3, 3]),
    "wgrad, uneven": _conv("conv_wgrad", (1, 2, 5, 5), (1, 3, 5, 5), dims=[3, 2, 2, 2], **UNEVEN),
    **{
        f"reduction {mode.name}": _simple("reduction", (3, 4, 5), mode=mode, dims=[3, 1, 5]) for mode in R if mode.value
    },
    "genstats": _simple("genstats", (2, 3, 4, 5)),
    "softmax, last": _simple("softmax", (5, 6)),
    "softmax, middle": _simple("softmax", (2, 3, 4, 5), axis=2),
    "batchnorm": _batchnorm,
    "batchnorm_inference": _batchnorm_inference,
    "batchnorm_backward": _batchnorm_backward,
    "layernorm": _norm("layernorm", (3, 4, 5), (1, 1, 5)),
    "layernorm of images": _norm("layernorm", (3, 4, 5, 2), (1, 4, 5, 2)),
    "rmsnorm": _norm("rmsnorm", (6, 8), (1, 8)),
    "instancenorm": _norm("instancenorm", (2, 4, 3, 5), (1, 4, 1, 1)),
    "adalayernorm": _norm("adalayernorm", (3, 4, 5), (3, 1, 5)),
    "adalayernorm of rows": _norm("adalayernorm", (3, 5), (3, 5)),
    "layernorm_backward": _norm_backward("layernorm", (3, 4, 5), (1, 1, 5), (3, 4, 1)),
    "rmsnorm_backward": _norm_backward("rmsnorm", (6, 8), (1, 8), (6, 1), has_dbias=False),
    "instancenorm_backward": _norm_backward("instancenorm", (2, 4, 3, 5), (1, 4, 1, 1), (2, 4, 1, 1)),
    "max pooling": _simple("resample", (2, 3, 7, 6), mode=P.MAXPOOL, **POOL, **EVEN),
    "max pooling, uneven": _simple("resample", (2, 3, 7, 6), mode=P.MAXPOOL, **POOL, **UNEVEN),
    "averages": _simple("resample", (2, 3, 7, 6), mode=P.AVGPOOL_EXCLUDE_PADDING, **POOL, **EVEN),
    "averages, uneven": _simple("resample", (2, 3, 7, 6), mode=P.AVGPOOL_INCLUDE_PADDING, **POOL, **UNEVEN),
    "convolution, bias, residual, relu, genstats": _chain,
    "moving": _structural,
}


def _pooling_backward(mode):
    def build(g):
        dy, a = x(g, 2, 3, 4, 4), x(g, 2, 3, 7, 6)
        how = {"mode": mode, **POOL, **EVEN}
        return [dy, a], [g.resample_backward(dy, input=a, **how)]

    return build


CASES["max pooling_backward"] = _pooling_backward(P.MAXPOOL)
CASES["averages_backward"] = _pooling_backward(P.AVGPOOL_INCLUDE_PADDING)


def evaluate(handle, build, io=D.FLOAT, intermediate=D.FLOAT, compute=D.FLOAT):
    g = new(handle, io, intermediate, compute)
    g.deselect_engines(["fusion", "product", "regions"])
    inputs, outs = build(g)
    outs = [one for one in outs if one is not None]
    feeds = {one: numbers(one.get_dim(), 7 + i, low=0.5 if i > 1 else None) for i, one in enumerate(inputs)}
    return run(g, feeds, outs)


def over(names):
    """Parametrise a test with the kernel backends and names of cases; a missing backend is skipped once."""
    params = [
        pytest.param(target, name, id=f"{target.name}-{name}")
        for target in helper.targets()
        if not target.slow
        for name in (names[:1] if target.missing else names)
    ]
    return pytest.mark.parametrize(("handle", "name"), params, indirect=["handle"])


@over(list(CASES))
def test_on_kernels(handle, name):
    got, want = evaluate(handle, CASES[name]), evaluate("reference", CASES[name])
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@over(list(range(8)))
def test_random_graphs(handle, name):
    """Whatever nodes are joined: ``portadnn diff graphs`` draws more of them."""
    demand_right(handle, name, "fallback")


@over(["convolution", "relu", "layernorm", "matmul"])
def test_halves(handle, name):
    got = evaluate(handle, CASES[name], D.HALF, D.HALF) if name != "layernorm" else evaluate(handle, _half_norm, D.HALF)
    want = evaluate("reference", CASES[name] if name != "layernorm" else _half_norm, D.DOUBLE, D.DOUBLE, D.DOUBLE)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=5e-3, atol=1e-2)


def _half_norm(g):
    inputs = [x(g, 3, 4, 5), x(g, 1, 1, 5, data_type=D.FLOAT), x(g, 1, 1, 5, data_type=D.FLOAT)]
    return inputs, g.layernorm(M.INFERENCE, *inputs, 1e-5)


@over(["relu"])
def test_buffers_of_the_backend(handle, name):
    """Native arrays are used where they lie, with a workspace of the program's; one that is too short is refused."""
    g = new(handle)
    a = x(g, 4, 5)
    y = g.relu(g.neg(a)).set_output(True)
    g.deselect_engines(["fusion", "product", "regions"])
    g.build()
    values = numbers((4, 5)).astype(np.float32)
    native, out = handle.asarray(values), handle.empty((1, 4, 5))
    size = g.get_workspace_size()
    assert size >= 80
    g.execute({a: native, y.get_uid(): out}, handle.empty_bytes(size))
    np.testing.assert_array_equal(handle.to_numpy(out)[0], np.maximum(-values, 0))
    g.execute({a: native, y: out}, handle.empty_bytes(size - 1))
    assert [note.id for note in g.explain().notes] == ["PG-PACK-011"]
    with pytest.raises(cudnn.InvalidVariantPack, match="PG-PACK-004"):
        g.execute({a: handle.empty((1, 4, 4)), y: out})
    with pytest.raises(cudnn.InvalidVariantPack, match="PG-PACK-005"):
        g.execute({a: handle.empty((1, 4, 5), np.float16), y: out})


@over(["long chain"])
def test_memory_is_used_again(handle, name):
    """A chain of any length needs room for two tensors, and is right all the same; what is read late stays."""
    sizes = {}
    for length in (4, 16):
        for where in (handle, "reference"):
            g = new(where)
            g.deselect_engines(["fusion", "product", "regions"])
            a = x(g, 8, 64)
            y = first = g.neg(a)
            for _ in range(length):
                y = g.relu(g.sub(y, 0.125))
            out = g.add(y, first)
            results = run(g, {a: numbers((8, 64))}, [out])
            sizes[length, g.get_plan_name(), where == "reference"] = g.get_workspace_size(), results[0]
    (short, _), (long, got) = (sizes[n, "eng_fallback", False] for n in (4, 16))
    assert 3 * 2048 <= short == long <= 4 * 2048
    want = next(result for key, (_, result) in sizes.items() if key[0] == 16 and key[2])
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_no_two_that_live_share_bytes(seed):
    room, rng = _Room(), np.random.default_rng(seed)
    asked = []
    for _ in range(40):
        first = int(rng.integers(0, 12))
        asked.append((int(rng.integers(0, 3000)), first, first + int(rng.integers(0, 4))))
    starts = [room.place(*one) for one in asked]
    for i, (nbytes, first, last) in enumerate(asked):
        assert starts[i] % ALIGNMENT == 0
        assert starts[i] + nbytes <= room.size
        for j in range(i):
            size, begin, end = asked[j]
            if begin <= last and first <= end:
                assert starts[j] + size <= starts[i] or starts[i] + nbytes <= starts[j] or 0 in (size, nbytes)
    assert room.size < sum(nbytes for nbytes, _, _ in asked)
