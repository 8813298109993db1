"""Graphs cut into regions: which nodes are computed together, and that the results are the definitions'."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import D, buffer, demand_right, frozen, given, new, numbers, run
from test_graph_fallback import CASES, over

import portadnn.graph as cudnn
from portadnn.graph.fusion.regions import regions_of
from portadnn_backends.fusion.engine import FusionEngine

R = cudnn.reduction_mode


def x(g, *dims, **kwargs):
    return given(g, dims, **kwargs)


def _block(g):
    """A residual block: what is before the convolutions, between them, and after."""
    a, w, v, b, z = x(g, 2, 4, 6, 6), x(g, 4, 4, 3, 3), x(g, 4, 4, 1, 1), x(g, 1, 4, 1, 1), x(g, 2, 4, 6, 6)
    start = g.relu(g.mul(a, b, name="scale"), name="start")
    first = g.conv_fprop(start, w, padding=[1, 1], name="first")
    middle = g.gelu(g.bias(first, b, name="shift"), name="middle")
    second = g.conv_fprop(middle, v, name="second")
    beside = g.tanh(z, name="beside")
    end = g.relu(g.add(g.add(second, b, name="shift2"), beside, name="join"), name="end")
    return [a, w, v, b, z], [end, *g.genstats(end, name="stats")]


def _product(g):
    a, b, c = x(g, 2, 5, 6), x(g, 2, 6, 7), x(g, 1, 1, 7)
    y = g.gelu(g.add(g.matmul(a, b, name="product"), c, name="shift"), name="act")
    return [a, b, c], [y, g.reduction(y, R.MAX, name="most").set_dim([2, 5, 1])]


GRAPHS = {
    "a residual block": (
        _block,
        [["scale", "start"], ["first"], ["shift", "middle"], ["second"], ["beside", "shift2", "join", "end", "stats"]],
    ),
    "a product": (_product, [["product"], ["shift", "act", "most"]]),
    "all in one": (
        lambda g: ([a := x(g, 4, 5)], [g.relu(g.neg(a, name="first"), name="second")]),
        [["first", "second"]],
    ),
    "side by side": (
        lambda g: ([a := x(g, 4, 5), b := x(g, 4, 5)], [g.relu(a, name="first"), g.relu(b, name="second")]),
        [["first"], ["second"]],
    ),
}


class Joining:
    """A handle of a backend whose one engine joins what kernels are written for."""

    backend = "joining"
    info = None


@pytest.mark.parametrize("name", GRAPHS)
def test_regions(name, monkeypatch):
    """Nodes go to the first region that shares a tensor, or to the one that alone reads them."""
    engine = FusionEngine()
    monkeypatch.setattr(engine, "reasons", lambda graph, info: _refused(graph))
    backend = type("Backend", (), {"graph_engines": lambda self: [engine]})()
    monkeypatch.setattr("portadnn.graph.fusion.regions.get_backend", lambda name: backend)
    monkeypatch.setattr("portadnn.graph.fusion.regions.chain_of", lambda *arguments: None)
    build, want = GRAPHS[name]
    g = new()
    graph = frozen(g, build(g)[1])
    found = regions_of(graph, Joining())
    assert [[operation.name for operation in region.operations] for region in found] == want
    known = {info.uid for info in graph.infos} - graph.results
    for region in found:  # in an order in which they can run
        for operation in region.operations:
            assert {uid for _, uid in operation.inputs} <= known
            known |= {uid for _, uid in operation.outputs}


def _refused(graph):
    return [] if graph.operations[0].kind in ("pointwise", "reduction", "genstats") else ["no"]


def _evaluate(handle, build, *types, finish=None):
    """Return a graph and its results; `finish` is the knob that lets products compute what follows."""
    g = new(handle, *types)
    inputs, outs = build(g)
    feeds = {one: numbers(one.get_dim(), 3 + i) for i, one in enumerate(inputs)}
    if handle == "reference":
        return g, run(g, feeds, outs)
    g.deselect_engines(["fallback"])
    if finish is None:
        return g, run(g, feeds, outs)
    frozen(g, outs)
    engine = next(i for i in range(g.get_engine_count()) if g._engine(i).name == "regions")
    g.create_execution_plan(engine, {one.type: finish for one in g.get_knobs_for_engine(engine)})
    g.check_support()
    g.build_plans()
    pairs = {one: buffer(one, values) for one, values in feeds.items()} | {one: buffer(one) for one in outs}
    g.execute({one: pair[0] for one, pair in pairs.items()})
    return g, [one.get_data_type().loaded(pairs[one][1]) for one in outs]


PARTS = {
    "a residual block": [
        ["scale", "start", "first", "shift", "middle"],
        ["second", "beside", "shift2", "join", "end", "stats"],
    ],
    "a product": [["product", "shift", "act", "most"]],
}


@over(["a residual block", "a product"])
@pytest.mark.parametrize("intermediate", [D.FLOAT, D.BFLOAT16])
def test_results(handle, name, intermediate):
    """Against the definitions, tensors between regions being rounded as well; the plan tells of its parts."""
    build, _ = GRAPHS[name]
    types = (D.FLOAT, intermediate)
    g, got = _evaluate(handle, build, *types, finish=1)
    _, want = _evaluate("reference", build, *types)
    rough = intermediate is D.BFLOAT16  # the other way where a sum is half way between two
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-2 if rough else 2e-5, atol=5e-2 if rough else 2e-5)
    assert g.get_plan_name().startswith("eng_regions")
    plan = g._plans_on(handle).plan(g._chosen)
    assert [list(part) for part in plan.parts] == PARTS[name]
    assert "DEVICE void epilogue" in plan.source or "KERNEL " in plan.source


def _chain(g):
    a, w = x(g, 2, 64, 6, 6), x(g, 4, 64, 1, 1)
    y = g.conv_fprop(g.relu(g.mul(g.tanh(a), a)), w)
    return [a, w], [g.reduction(g.neg(g.reduction(y, R.MAX).set_dim([2, 4, 1, 1])), R.ADD).set_dim([1, 4, 1, 1])]


@over(["workspace"])
def test_what_is_in_memory(handle, name):
    """Only tensors between regions are: here one of 4 * 6 * 6 * 2 floats, after a chain of larger ones."""
    g, _ = _evaluate(handle, _chain, finish=0)
    between = 2 * 64 * 6 * 6 * 4, 2 * 4 * 6 * 6 * 4
    assert sum(between) <= g.get_workspace_size() <= sum(between) + 512


@over([1, 3, 11, 14])
def test_random_graphs(handle, name):
    demand_right(handle, name, "regions")


REFUSED = {
    "nothing to join": (CASES["matmul"], "PG-REGION-001"),
    "all in one kernel": (GRAPHS["all in one"][0], "PG-ENGINE-007"),
}


@over(list(REFUSED))
def test_refusals(handle, name):
    build, id = REFUSED[name]
    g = new(handle)
    frozen(g, build(g)[1])
    g.create_execution_plans([cudnn.heur_mode.A])
    (answer,) = [one for one in g.explain().answers if one.engine == "regions"]
    assert [reason.id for reason in answer.reasons] == [id]
    assert answer.reasons[0].fix


def _statistics_twice(g):
    """Sums of a part, which lie in the workspace, beside tensors that lie there as well."""
    a, w, s = x(g, 3, 4, 90, 91), x(g, 4, 4, 1, 1), x(g, 1, 4, 1, 1)
    y = g.conv_fprop(g.relu(g.mul(a, s)), w)
    return [a, w, s], [g.sub(y, g.reduction(y, R.AVG).set_dim([1, 1, 1, 1])), g.relu(y)]


@over(["sums of all"])
def test_workspaces_of_parts(handle, name):
    """What a part needs for itself lies apart from the tensors between the parts."""
    _, got = _evaluate(handle, _statistics_twice)
    _, want = _evaluate("reference", _statistics_twice)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def _conv(*after, dims=(2, 4, 6, 5), window=(3, 3), **how):
    """Return what builds a convolution with 6 filters and what follows; "bias", "z" and names of activations."""

    def build(g):
        inputs = [x(g, *dims, nhwc=True), x(g, 6, 2, *window)]
        y = g.conv_fprop(*inputs, **how)
        ones, none = [1] * len(window), [0] * len(window)
        pads = [how.get(name, how.get("padding", none)) for name in ("pre_padding", "post_padding")]
        steps = zip(dims[2:], *pads, window, how.get("stride", ones), how.get("dilation", ones), strict=True)
        out = [dims[0], 6, *(1 + (d + a + b - (r - 1) * e - 1) // s for d, a, b, r, s, e in steps)]
        return _followed(g, inputs, y, after, {"bias": [1, 6, *[1] * len(window)], "z": out, "other": [*out[:-1], 1]})

    return build


def _matmul(*after, a=(7, 5), b=(5, 8)):
    def build(g):
        inputs = [x(g, *a), x(g, *b)]
        out = [*a[:-1], b[-1]]
        more = {"bias": [*[1] * (len(a) - 1), b[-1]], "z": out, "other": [*out[:-1], 1]}
        return _followed(g, inputs, g.matmul(*inputs), after, more)

    return build


def _followed(g, inputs, y, after, dims):
    for word in after:
        if word in dims:
            inputs.append(x(g, *dims[word]))
            y = g.add(y, inputs[-1]) if len(inputs) % 2 else g.add(inputs[-1], y)
        elif word == "relu6":
            y = g.relu(y, upper_clip=0.75)
        else:
            y = getattr(g, word)(y)
    return inputs, [y]


FINISHED = {  # and how many nodes the product's step computes
    "bias, relu": (_conv("bias", "relu"), 3),
    "bias, residual, clipped relu": (_conv("bias", "z", "relu6", padding=[1, 1]), 4),
    "residual, bias": (_conv("z", "bias", stride=[2, 1]), 3),
    "relu alone": (_conv("relu", padding=[1, 0], dilation=[1, 2]), 2),
    "bias, swish": (_conv("bias", "swish", dims=(2, 4, 16, 16)), 3),
    "padding at one end": (_conv("bias", "tanh", pre_padding=[1, 0], post_padding=[0, 1]), 3),
    "one dim": (_conv("bias", "z", "sigmoid", dims=(2, 4, 9), window=(3,)), 4),
    "three dims": (_conv("bias", "elu", dims=(1, 4, 4, 3, 5), window=(2, 2, 2)), 3),
    "another bias": (_conv("bias", "bias", "relu"), 4),
    "not of channels": (_conv("bias", "other", "relu"), 4),
    "two activations": (_conv("bias", "relu", "tanh"), 4),
    "product, bias, swish": (_matmul("bias", "swish", a=(34, 15), b=(15, 18)), 3),
    "product, bias, residual": (_matmul("bias", "z", "relu"), 4),
    "products with one matrix": (_matmul("bias", "z", "tanh", a=(3, 7, 5), b=(1, 5, 8)), 4),
    "products with several": (_matmul("bias", "z", "tanh", a=(3, 7, 5), b=(3, 5, 8)), 4),
}


def _joined(g, handle):
    plan = g._plans_on(handle).plan(g._chosen)
    return next((len(part) for part in plan.parts if part[0] == "0"), 0)


@over(list(FINISHED))
def test_what_follows_a_product(handle, name):
    """Biases, residuals and an activation are computed where the sums are stored."""
    build, nodes = FINISHED[name]
    _, want = _evaluate("reference", build)
    for finish in (1, 0) if nodes else (None,):
        g, got = _evaluate(handle, build, finish=finish)
        np.testing.assert_allclose(got[0], want[0], rtol=2e-5, atol=2e-5)
        assert _joined(g, handle) == (0 if finish == 0 else nodes)


@over(["nothing pays", "the engine product has it all"])
def test_what_is_slower_together_may_be_asked_for(handle, name, monkeypatch):
    """Where nothing is joined but on request, or all by another engine, the graph is taken for the request's sake."""
    monkeypatch.setattr("portadnn.graph.fusion.regions._pays", lambda *args: False)
    monkeypatch.setattr("portadnn.graph.fusion.regions._gains", lambda *args: name != "nothing pays")
    build, nodes = FINISHED["relu alone"]
    (want,) = _evaluate("reference", build)[1]
    g, (got,) = _evaluate(handle, build, finish=1)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
    assert _joined(g, handle) == nodes


@over(["bias, relu", "bias, swish", "two activations", "product, bias, swish"])
def test_without_the_knob(handle, name):
    """What follows a product is computed with it."""
    build, nodes = FINISHED[name]
    assert _joined(_evaluate(handle, build)[0], handle) == nodes


@over(["half"])
def test_halves_are_rounded_once(handle, name):
    """Halves with virtual floats between: the sum is rounded once, at the end; with virtual halves after each node."""
    build = _conv("bias", "z", "relu")
    for intermediate in (D.FLOAT, D.HALF):
        g, got = _evaluate(handle, build, D.HALF, intermediate, finish=1)
        _, want = _evaluate("reference", build, D.HALF, intermediate)
        np.testing.assert_allclose(got[0], want[0], rtol=2e-3, atol=4e-3)
        assert _joined(g, handle) == 4


@over(["shared"])
def test_what_is_read_twice(handle, name):
    """A sum that another node reads, or that is an output, is stored where the product is."""

    def build(g):
        inputs, (y,) = _conv("bias")(g)
        return inputs, [g.relu(y), g.tanh(g.mul(y, 2.0)), y]

    g, got = _evaluate(handle, build)
    _, want = _evaluate("reference", build)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    assert _joined(g, handle) == 5


@over(["uniform"])
def test_a_node_that_reads_nothing(handle, name):
    """Random numbers, of which nothing is made but by what follows them."""

    def build(g):
        drawn = g.rng([6, 50], cudnn.rng_distribution.UNIFORM, seed=7)
        return [], [g.add(g.mul(drawn, 2.0), 1.0)]

    (got,), (want,) = (_evaluate(one, build)[1] for one in (handle, "reference"))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert got.min() >= 1 and got.max() <= 3 and got.std() > 0.3
