"""``execute(..., check="reference")``: right graphs pass, and what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import D, buffer, demand_right, given, new, numbers
from test_graph_fallback import over
from test_graph_patterns import everywhere, values_of

import portadnn.graph as cudnn
from portadnn.graph.checks.checking import difference
from portadnn.graph.engine import GraphEngine, GraphPlan
from portadnn.graph.patterns import PATTERNS
from portadnn.registry import get_backend
from portadnn_backends.base import Run

SHOWN = ["BnAddRelu", "DBARCS", "ConvScaleBiasAct", "DgradDreluBNBwdWeight", "MhaFprop", "FP8 flash attention fprop"]


@everywhere(SHOWN)
def test_right_graphs_pass(handle, name):
    g = new(handle, io=D.HALF)
    pattern = PATTERNS[name](g)
    g.build()
    values = values_of(name, pattern.inputs)
    pack = {one: buffer(one, values[port])[0] for port, one in pattern.inputs.items()}
    results = {one: buffer(one)[0] for one in pattern.outputs.values()}
    g.execute({**pack, **results}, check="reference")
    again = {one: buffer(one)[0] for one in pattern.outputs.values()}
    g.execute({**pack, **again})
    for one, flat in results.items():
        np.testing.assert_array_equal(flat.view(np.uint8), again[one].view(np.uint8))


class Liar(GraphEngine):
    """By definition, but for what a function does to arrays by tensors' names afterwards."""

    name = "liar"

    def __init__(self, lie):
        self.lie = lie

    def estimate(self, graph, info):
        return 0.0

    def tuned(self, graph, device, knobs):
        honest = DEFINITION.prepare(graph, device)
        parts = (tuple(operation.name for operation in graph.operations),)

        def run(arrays, numbers, workspace):
            honest.run(arrays, numbers, workspace)
            infos = (*graph.memory, *graph.numbers)
            self.lie({info.name: value for info, value in zip(infos, (*arrays, *numbers), strict=True)})

        return GraphPlan(graph, self, 0, Run(run), parts=parts)


(DEFINITION,) = get_backend("reference").graph_engines()


def chain():
    """Three nodes: middle and last read what is before them."""
    g = new(io=D.FLOAT)
    x, w = given(g, (4, 6), name="x"), given(g, (6, 5), name="w")
    first = g.matmul(x, w, name="first").set_name("one")
    middle = g.tanh(first, name="middle").set_name("two")
    g.mul(middle, 100.0, name="last").set_output(True).set_name("three")
    return g, x, w


def executed(lie, monkeypatch, **kwargs):
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: [Liar(lie)])
    g, x, w = chain()
    g.build()
    assert g.get_plan_name() == "eng_liar"
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: [DEFINITION])
    pack = {x: numbers((4, 6)).astype(np.float32), w: numbers((6, 5), 1).astype(np.float32)}
    last = next(one for one in g._graph.tensors() if one.get_name() == "three")
    out = np.empty((4, 5), np.float32)
    g.execute({**pack, last: out}, **kwargs)
    return out


def wrong(name, change):
    """A lie about one tensor, where that is in memory."""

    def lie(arrays):
        if name in arrays:
            change(arrays[name])

    return lie


def bump(amount):
    def change(array):
        array[2, 3] += amount

    return change


@pytest.mark.parametrize(
    ("name", "node", "change"),
    [
        ("one", "matmul 'first'", bump(1e-3)),
        ("two", "pointwise 'middle'", bump(1e-4)),
        ("three", "pointwise 'last'", bump(-0.01)),
        ("two", "pointwise 'middle'", bump(np.nan)),
        ("one", "matmul 'first'", bump(np.inf)),
        ("two", "pointwise 'middle'", lambda array: array.fill(0)),
    ],
)
def test_the_first_node_that_is_off(name, node, change, monkeypatch):
    with pytest.raises(cudnn.GraphCheckFailed, match="PG-CHECK-001") as caught:
        executed(wrong(name, change), monkeypatch, check="reference")
    error = caught.value
    assert error.node == node
    assert f"'{name}'" in error.tensor
    assert "engine liar" in str(error)
    assert "reproducer" in error.fix


def test_the_place_is_named(monkeypatch):
    with pytest.raises(cudnn.GraphCheckFailed, match=r"at \[2, 3\]"):
        executed(wrong("one", bump(1.0)), monkeypatch, check="reference")


def test_rounding_is_no_fault(monkeypatch):
    def near(arrays):
        for name in arrays:
            if name in ("one", "two", "three"):
                arrays[name][...] = np.nextafter(arrays[name], np.float32(np.inf))

    out = executed(near, monkeypatch, check="reference")
    assert np.isfinite(out).all()


def test_nodes_that_are_wrong_together_only(monkeypatch):
    """The lie is told where nothing but the result is in memory, so that each node alone is right."""

    def lie(arrays):
        if "one" not in arrays:
            arrays["three"][1] *= 1.5

    with pytest.raises(cudnn.GraphCheckFailed, match="PG-CHECK-002") as caught:
        executed(lie, monkeypatch, check="reference")
    assert caught.value.node == "pointwise 'last'"
    assert "together with first, middle, last" in str(caught.value)


def test_without_the_check_nobody_notices(monkeypatch):
    assert np.isnan(executed(wrong("three", bump(np.nan)), monkeypatch)).any()


def test_other_checks_are_mistakes(monkeypatch):
    with pytest.raises(cudnn.InvalidValue, match="PG-NODE-004"):
        executed(lambda arrays: None, monkeypatch, check="torch")


@over(["tanh_backward", "sigmoid_backward"])
def test_slopes_that_cancel(handle, name):
    """1 - tanh(x)^2 of a large x is a rounding or 0, where the definition has the smallest of numbers."""
    g = new(handle)
    dy, x = given(g, (3, 5)), given(g, (3, 5))
    y = getattr(g, name)(dy, x).set_output(True)
    g.validate()
    g.build_operation_graph()
    g.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    many = 9 + np.arange(15).reshape(3, 5) / 4
    for index in range(g.get_execution_plan_count()):
        g.build_plan_at_index(index)
        g.execute({dy: buffer(dy, many)[0], x: buffer(x, many)[0], y: buffer(y)[0]}, check="reference")


def mean_near_nothing(handle="reference"):
    """A mean of numbers near 1000 that is rounding: numbers of both signs, of which float32 sums leave about 1e-5."""
    g = new(handle)
    x, scale, bias = given(g, (7, 1, 11, 13)), given(g, (1, 1, 1, 1)), given(g, (1, 1, 1, 1))
    phase = cudnn.norm_forward_phase.TRAINING
    given_to = {"input": x, "scale": scale, "bias": bias, "epsilon": g.tensor_scalar(1e-5)}
    y, mean, inverse = g.instancenorm(norm_forward_phase=phase, **given_to)
    outs = [one.set_output(True) for one in (y, mean.set_name("mean"), inverse)]
    values = 1000 * numbers((7, 1, 11, 13)).astype(np.float32)
    return g, {x: values - values.mean(axis=(1, 2, 3), keepdims=True), scale: np.ones(1), bias: np.zeros(1)}, outs


@over(["instancenorm"])
def test_means_of_numbers_that_cancel(handle, name):
    g, inputs, outs = mean_near_nothing(handle)
    g.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    pack = {one: buffer(one, values)[0] for one, values in inputs.items()}
    g.execute({**pack, **{one: buffer(one)[0] for one in outs}}, check="reference")


@pytest.mark.parametrize(("factor", "right"), [(1e-8, True), (1e-4, False)])
def test_means_are_held_against_the_size_of_what_they_are_of(factor, right, monkeypatch):
    """1e-8 of 1000 is what sums in single precision may be off by, 1e-4 is not."""
    off = wrong("mean", lambda array: np.add(array, 1000 * factor, out=array))
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: [Liar(off)])
    g, inputs, outs = mean_near_nothing()
    g.build()
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: [DEFINITION])
    pack = {one: np.asarray(values, np.float32).reshape(one.get_dim()) for one, values in inputs.items()}
    pack |= {one: np.empty(one.get_dim(), np.float32) for one in outs}
    if right:
        g.execute(pack, check="reference")
    else:
        with pytest.raises(cudnn.GraphCheckFailed, match="'mean'"):
            g.execute(pack, check="reference")


@pytest.mark.parametrize(
    ("mean", "name", "factor", "right"),
    [
        (0.5, "bias", 1e-7, True),
        (0.5, "bias", 1e-4, False),
        (300.0, "bias", 1e-3, True),
        (300.0, "bias", 0.5, False),
        (300.0, "scale", 1e-3, True),
        (300.0, "variance", 1e-3, True),
        (300.0, "variance", 5.0, False),
        (0.5, "variance", 1e-4, False),
        (300.0, "mean", 1e-5, False),
    ],
)
def test_what_remains_of_a_variance_is_held_against_what_it_is_of(mean, name, factor, right, monkeypatch):
    """Of squares near 90000 a variance of 1 is left, of which single precision knows three digits."""
    off = wrong(name, lambda array: np.multiply(array, 1 + factor, out=array))
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: [Liar(off)])
    g, ones = new(io=D.FLOAT), (1, 4, 1, 1)
    total, squares, scale, bias, before, spread = (given(g, ones) for _ in range(6))
    numbers_of = {"epsilon": 1e-5, "accum_count": 64.0, "momentum": 0.1}
    by_value = {key: g.tensor_scalar(value) for key, value in numbers_of.items()}
    results = g.bn_finalize(total, squares, scale, bias, in_running_mean=before, in_running_var=spread, **by_value)
    for key, one in zip(("scale", "bias", "mean", "inverse", "running", "variance"), results, strict=True):
        one.set_output(True).set_name(key)
    g.build()
    monkeypatch.setattr(type(get_backend("reference")), "graph_engines", lambda self: [DEFINITION])
    values = (64 * mean, 64 * (mean**2 + 1), 1.0, 0.0, 0.0, 0.0)
    fed = (total, squares, scale, bias, before, spread)
    pack = {one: np.full(ones, value, np.float32) for one, value in zip(fed, values, strict=True)}
    pack |= {one: np.empty(ones, np.float32) for one in results}
    if right:
        g.execute(pack, check="reference")
    else:
        with pytest.raises(cudnn.GraphCheckFailed, match=f"'{name}'"):
            g.execute(pack, check="reference")


@over(["bfloat16"])
def test_gradients_to_scores_that_cancel(handle, name):
    """With one key for all columns queries have no gradient: what is left is rounding, on tensor cores of BFLOAT16."""
    g = new(handle, D.BFLOAT16, D.FLOAT, D.FLOAT)
    q, v, dy = (given(g, dims) for dims in ((1, 3, 6, 4), (1, 1, 21, 11), (1, 3, 6, 11)))
    k = g.tensor(dim=[1, 1, 21, 4], stride=[4, 4, 0, 1])
    o, stats = g.sdpa(q, k, v, generate_stats=True, attn_scale=0.5)
    outs = [one.set_output(True) for one in (o, stats)]
    dq, dk, dv = g.sdpa_backward(q, k, v, o, dy, stats, attn_scale=0.5)
    outs += [one.set_output(True) for one in (dq, dk.set_stride([84, 84, 4, 1]), dv)]
    g.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    pack = {one: buffer(one, numbers(one.get_dim(), i))[0] for i, one in enumerate((q, v, dy))}
    pack[k] = D.BFLOAT16.stored(numbers((4,), 9))
    pack |= {one: buffer(one)[0] for one in outs}
    g.execute(pack, check="reference")


@over(["gaps"])
def test_gaps_numbers_by_value_and_a_node_in_place(handle, name):
    g = new(handle)
    x = g.tensor(dim=[3, 4], stride=[9, 2], name="x")
    by = g.tensor_scalar(0.5, cudnn.scalar_type.RUNTIME_PARAM)
    y = g.mul(x, by).set_output(True).set_stride([1, 5])
    g.build()
    pack = {x: buffer(x, numbers((3, 4)))[0], y: buffer(y)[0], by: 0.25}
    g.execute(pack, check="reference")
    g = new(handle)
    x = given(g, (5,))
    y = g.sub(x, 3.0).set_output(True)
    g.build()
    if handle.backend == "reference":
        both = np.arange(5, dtype=np.float32)
        g.execute({x: both, y: both}, check="reference")
        assert both.tolist() == [-3, -2, -1, 0, 1]


@pytest.mark.parametrize(
    ("got", "want", "bound", "off"),
    [
        (1.0, 1.0, 0.0, False),
        (1.1, 1.0, 0.2, False),
        (1.3, 1.0, 0.2, True),
        (np.nan, np.nan, 0.0, False),
        (np.nan, 1.0, 1e9, True),
        (1.0, np.nan, 1e9, True),
        (np.inf, np.inf, 0.0, False),
        (np.inf, -np.inf, 1e9, True),
        (np.inf, 1.0, 1e9, True),
    ],
)
def test_differences(got, want, bound, off):
    found = difference(np.array([0.0, got]), np.array([0.0, want]), np.array([0.0, bound]))
    assert (found is not None) == off
    if off:
        assert found.place == (1,)
        assert found.count == 1


@over(list(range(6)))
def test_random_types(handle, name):
    """Graphs of several types at once are right node by node; ``portadnn diff graphs`` draws more of them."""
    demand_right(handle, name, plain=False)
