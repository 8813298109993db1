"""Graphs cut into regions: which nodes are computed together, and that the results are the definitions'."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import D, given, new, numbers, run
from random_graphs import compare
from test_graph_fallback import CASES, over

import portadnn.graph as cudnn
from portadnn.graph.regions import regions_of
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


def frozen(g, outs):
    for one in outs:
        one.set_output(True)
    g.validate()
    g.build_operation_graph()
    return g._graph_frozen()


class Joining:
    """A handle of a backend whose one engine joins what kernels are written for."""

    backend = "joining"
    info = None


@pytest.mark.parametrize("name", GRAPHS)
def test_regions(name, monkeypatch):
    """Nodes go to the first region that shares a tensor, or to the one that alone reads them."""
    engine = FusionEngine()
    monkeypatch.setattr(engine, "why_not", lambda graph, handle: _refused(graph))
    backend = type("Backend", (), {"graph_engines": lambda self: [engine]})()
    monkeypatch.setattr("portadnn.graph.regions.get_backend", lambda name: backend)
    build, want = GRAPHS[name]
    g = new()
    graph = frozen(g, build(g)[1])
    found = regions_of(graph, Joining())
    assert [[operation.name for operation in region.operations] for region in found] == want
    known = {info.uid for info in graph.tensors} - graph.written
    for region in found:  # in an order in which they can run
        for operation in region.operations:
            assert {uid for _, uid in operation.inputs} <= known
            known |= {uid for _, uid in operation.outputs}


def _refused(graph):
    return [] if graph.operations[0].kind in ("pointwise", "reduction", "genstats") else ["no"]


def _evaluate(handle, build, *types):
    g = new(handle, *types)
    inputs, outs = build(g)
    if handle != "reference":
        g.deselect_engines(["fallback"])
    feeds = {one: numbers(one.get_dim(), 3 + i) for i, one in enumerate(inputs)}
    return g, run(g, feeds, outs)


@over(["a residual block", "a product"])
@pytest.mark.parametrize("intermediate", [D.FLOAT, D.BFLOAT16])
def test_results(handle, name, intermediate):
    """Against the definitions, tensors between regions being rounded as well; the plan tells of its parts."""
    build, parts = GRAPHS[name]
    types = (D.FLOAT, intermediate)
    g, got = _evaluate(handle, build, *types)
    _, want = _evaluate("reference", build, *types)
    rough = intermediate is D.BFLOAT16  # the other way where a sum is half way between two
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-2 if rough else 2e-5, atol=5e-2 if rough else 2e-5)
    assert g.get_plan_name() == "eng_regions"
    plan = g._plans_on(handle).plan(g._chosen)
    assert [list(part) for part in plan.parts] == [part for part in parts if len(part) > 1]
    assert plan.source.count("KERNEL ") >= len(plan.parts)


@over(["workspace"])
def test_what_is_in_memory(handle, name):
    """Only tensors between regions are: here one of 4 * 6 * 6 * 2 floats, after a chain of larger ones."""
    g = new(handle)
    a, w = x(g, 2, 64, 6, 6), x(g, 4, 64, 1, 1)
    y = g.conv_fprop(g.relu(g.mul(g.tanh(a), a)), w)
    g.deselect_engines(["fallback"])
    outs = [g.relu(g.neg(y))]
    frozen(g, outs)
    g.build()
    between = 2 * 64 * 6 * 6 * 4, 2 * 4 * 6 * 6 * 4
    assert sum(between) <= g.get_workspace_size() <= sum(between) + 512


@over([0, 3, 9, 16])
def test_random_graphs(handle, name):
    assert compare(handle, name, "regions") < 1e-4


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
