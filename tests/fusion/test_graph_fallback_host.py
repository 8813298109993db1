"""What kernels do not compute: nodes of several types between conversions, and nodes by definition on the host."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import D, buffer, given, new, numbers
from test_graph_fallback import CASES, over

import portadnn.graph as cudnn
from portadnn.graph.engine import GraphEngine
from portadnn.graph.enums import pointwise_mode
from portadnn.graph.fallback import parts as fallback_parts
from portadnn.graph.fallback.engine import FallbackEngine
from portadnn.graph.fallback.host import DefinitionOnHost
from portadnn.graph.rules import fail
from portadnn.registry import get_backend

A, FALLBACK = cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK
M, P = cudnn.norm_forward_phase, cudnn.resample_mode


class Converter(GraphEngine):
    """Converts, and does nothing else."""

    name = "converter"

    def reasons(self, graph, info):
        modes = [operation.values.get("mode") for operation in graph.operations]
        return [] if modes == [pointwise_mode.IDENTITY] else [fail("PG-ENGINE-002")]

    def tuned(self, graph, device, knobs):
        return DefinitionOnHost().prepare(graph, device)


def use(engines, handle, monkeypatch):
    """Have these engines of the backend, and no others."""
    monkeypatch.setattr(type(get_backend(handle.backend)), "graph_engines", lambda self: engines)
    monkeypatch.setattr(fallback_parts, "_KNOWN", type(fallback_parts._KNOWN)())


@pytest.fixture
def alone(handle, monkeypatch):
    """Problems alone: the backend has no engines for graphs."""
    use([], handle, monkeypatch)


@pytest.fixture
def converting(handle, monkeypatch):
    """Problems, and an engine that converts."""
    use([Converter()], handle, monkeypatch)


def x(g, *dims, **kwargs):
    return given(g, dims, **kwargs)


REFUSED = {
    "a mode without a kernel": (lambda g: g.erf(x(g, 3)), "PG-ENGINE-002", "ERF"),
    "random numbers": (lambda g: g.rng([3], cudnn.rng_distribution.UNIFORM, seed=1), "PG-ENGINE-002", "rng"),
    "integers": (lambda g: g.abs(x(g, 3, data_type=D.INT32)), "PG-ENGINE-003", "INT32"),
    "sums of squares": (lambda g: g.genstats(x(g, 1, 1, 4, 4, data_type=D.HALF))[0], "PG-ENGINE-003", "HALF"),
    "two types": (lambda g: g.abs(x(g, 3, data_type=D.HALF)), "PG-ENGINE-003", "its kernels do not convert"),
    "indices": (
        lambda g: g.resample(x(g, 1, 1, 4, 4), P.MAXPOOL, [2, 2], generate_index=True)[1],
        "PG-ENGINE-004",
        "INDEX",
    ),
}


@over(list(REFUSED))
def test_what_kernels_do_not_compute(handle, name, alone):
    """Heuristics A say so, with a reason that names the node; FALLBACK computes it, and says how."""
    build, id, word = REFUSED[name]
    g = new(handle)
    build(g).set_output(True)
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="PG-ENGINE-001") as caught:
        g.build([A])
    reasons = [reason for reason in caught.value.reasons if reason.id == id]
    assert word in str(reasons[0])
    assert reasons[0].node in str(caught.value)
    g.build([A, FALLBACK])
    assert g.get_plan_name() == "eng_fallback_host"
    assert g.get_behavior_notes() == [cudnn.behavior_note.HOST_COMPUTATION]
    (remark,) = g.explain().answers[-1].remarks
    assert (remark.id, remark.node) == ("PG-ENGINE-008", reasons[0].node)
    with pytest.raises(cudnn.cudnnGraphNotSupportedError):
        g.deselect_behavior_notes([cudnn.behavior_note.HOST_COMPUTATION]).build([A, FALLBACK])


def feeds_of(inputs):
    return [numbers(one.get_dim(), 3 + i, low=0.5 if i > 1 else None) for i, one in enumerate(inputs)]


def execute(g, inputs, outs, modes):
    """Build, run on poisoned buffers, and return the results' bytes with their gaps, and numbers."""
    for out in outs:
        out.set_output(True)
    g.build(modes)
    pack, flats = {}, []
    for one, values in zip(inputs, feeds_of(inputs), strict=True):
        pack[one] = buffer(one, 8 * values if one.get_data_type() in WHOLE else values)[0]
    for out in outs:
        flats.append(buffer(out)[0])
        pack[out] = flats[-1]
    g.execute(pack)
    return [(flat.view(np.uint8), loaded(out, flat)) for flat, out in zip(flats, outs, strict=True)]


WHOLE = (D.INT8, D.UINT8, D.INT32, D.INT64)


def loaded(one, flat):
    """Return the numbers of a tensor that lies in memory."""
    strides = [s * flat.itemsize for s in one.get_stride()]
    return one.get_data_type().loaded(np.ndarray(one.get_dim(), flat.dtype, flat, strides=strides))


def _types(g):
    """A tensor of each type, all added up, with gaps between the result's elements."""
    inputs = [x(g, 2, 3, data_type=kind) for kind in D if kind.is_stored and kind is not D.DOUBLE]
    total = inputs[0]
    for one in inputs[1:]:
        total = g.add(total, one)
    outs = [g.identity(total).set_data_type(kind).set_stride([7, 2]) for kind in D if kind.is_stored]
    for out in outs:
        out.set_dim([2, 3])
    return inputs, outs


def _attention(g):
    q, k, v = (x(g, 1, 2, 4, 8, data_type=D.HALF) for _ in range(3))
    o, stats = g.sdpa(q, k, v, attn_scale=0.5, use_causal_mask=True, generate_stats=True)
    return [q, k, v], [o.set_data_type(D.HALF), stats]


ON_HOST = {
    "every type, gaps": _types,
    "attention": _attention,
    "indices of maxima": lambda g: (
        (inputs := [x(g, 1, 2, 6, 6)]),
        list(g.resample(inputs[0], P.MAXPOOL, [2, 2], stride=[2, 2], generate_index=True)),
    ),
    "logic": lambda g: (
        (inputs := [x(g, 3, 4), x(g, 1, 4)]),
        [g.binary_select(inputs[0], inputs[1], g.cmp_gt(inputs[0], inputs[1]).set_data_type(D.BOOLEAN))],
    ),
    "kernels before and behind": lambda g: ((inputs := [x(g, 5, 6)]), [g.relu(g.neg(g.erf(g.relu(inputs[0]))))]),
}


@over(list(ON_HOST))
def test_on_the_host(handle, name, alone):
    """The definitions' bits, and gaps between elements that nobody touches."""
    results = []
    for where in (handle, "reference"):
        g = new(where)
        results.append(execute(g, *ON_HOST[name](g), [FALLBACK]))
    for (one, _), (other, _) in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def _mixed(g):
    """Half images and bfloat16 filters, FLOAT results; then a normalisation of halves with FLOAT parameters."""
    a, w = x(g, 2, 4, 6, 5, data_type=D.HALF, nhwc=True), x(g, 8, 4, 3, 3, data_type=D.BFLOAT16)
    s, b = x(g, 1, 8, 1, 1), x(g, 1, 8, 1, 1)
    y = g.conv_fprop(a, w, padding=[1, 1]).set_data_type(D.HALF)
    z, mean, inverse, _, _ = g.batchnorm(y, s, b, None, None, 1e-3, 0.5)
    return [a, w, s, b], [g.relu(z).set_data_type(D.BFLOAT16), mean, inverse]


def _fp8(g):
    a, b = x(g, 2, 8, 16, data_type=D.FP8_E4M3), x(g, 2, 16, 4, data_type=D.FP8_E5M2)
    c = g.matmul(a, b)
    return [a, b], [c, g.mul(c, 0.25).set_data_type(D.FP8_E4M3)]


def _whole(g):
    """Products of INT8 in INT32, which FLOAT would not hold."""
    a, w = x(g, 1, 4, 5, 5, data_type=D.INT8), x(g, 2, 4, 3, 3, data_type=D.INT8)
    return [a, w], [g.conv_fprop(a, w, compute_data_type=D.INT32).set_data_type(D.INT32)]


def _once(g):
    """One tensor at two ports, one of them of another type than the result."""
    a = x(g, 3, 4, data_type=D.HALF)
    return [a], [g.add_square(a, a), *g.genstats(x_of(g, a))]


def x_of(g, a):
    return g.reshape(a, reshape_mode=cudnn.reshape_mode.LOGICAL).set_dim([1, 3, 2, 2])


WIDENED = {"mixed": _mixed, "FP8": _fp8, "integers": _whole, "one tensor twice": _once}


@over(list(WIDENED))
def test_types_that_differ(handle, name, converting):
    """Kernels compute in a type that holds all, between conversions: no node is computed on the host."""
    build = WIDENED[name]
    g = new(handle)
    got = execute(g, *build(g), [A])
    assert g.get_plan_name() == "eng_fallback"
    g = new("reference")
    inputs, outs = build(g)
    want = execute(g, inputs, outs, [A])
    for (_, one), (_, other), out in zip(got, want, outs, strict=True):
        coarse = {D.HALF: 2e-3, D.BFLOAT16: 1e-2, D.FP8_E4M3: 0.13, D.INT32: 0}.get(out.get_data_type(), 2e-5)
        np.testing.assert_allclose(one, other, rtol=coarse, atol=coarse)


@over(["steep"])
def test_what_is_rounded_is_rounded_once(handle, name, converting):
    """Sums of squares of halves are FLOAT all the way, and numbers that a type does not hold are not given it."""
    g = new(handle, io=D.HALF)
    a = x(g, 1, 1, 64, 1)
    _, squares = g.genstats(a)
    big = g.mul(a, 1e6).set_data_type(D.FLOAT)
    squares.set_output(True).set_data_type(D.FLOAT)
    big.set_output(True)
    g.build([A])
    values = np.full((1, 1, 64, 1), 60.0, np.float16)
    out, many = np.empty(1, np.float32), np.empty((1, 1, 64, 1), np.float32)
    g.execute({a: values, squares: out, big: many})
    assert out[0] == 64 * 3600
    assert (many == 6e7).all()


@over(["matmul"])
def test_one_type_is_not_converted(handle, name, converting):
    """Where kernels take a node as it is, there are no conversions."""
    g = new(handle)
    _, outs = CASES[name](g)
    outs[0].set_output(True)
    g.validate()
    made = fallback_parts.cut(g._graph.freeze(), handle, FallbackEngine.helpers)
    assert len(made.parts) == 1
    assert len(made.graph.infos) == 3
