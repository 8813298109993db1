"""Heuristics, knobs, autotune, files of plans, kernel caches, and packs that come again."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import helper
import numpy as np
import pytest
from graphs import D, buffer, given, new, numbers, run
from test_graph_fallback import CASES, over

import portadnn as dnn
import portadnn.graph as cudnn
from portadnn.graph.api.core import Graph
from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.files import as_data, graph_of
from portadnn.graph.operation_graph import TensorInfo
from portadnn.graph.rules import fail
from portadnn.registry import get_backend
from portadnn_backends.base import Run

A, B, FALLBACK = cudnn.heur_mode.A, cudnn.heur_mode.B, cudnn.heur_mode.FALLBACK


def convolution(handle):
    """A graph of a convolution and a sum: its tensors are x, w, b and y."""
    g = new(handle)
    x, w, b = given(g, (2, 8, 9, 9), name="x"), given(g, (4, 8, 3, 3), name="w"), given(g, (1, 4, 1, 1), name="b")
    y = g.bias(g.conv_fprop(x, w, padding=[1, 1], name="conv"), b, name="sum").set_output(True).set_name("y")
    return g, (x, w, b, y)


def feeds(tensors):
    return [numbers(one.get_dim(), seed).astype(np.float32) for seed, one in enumerate(tensors[:-1])]


def expected(tensors):
    """The result by the definition, in float64."""
    g, (x, w, b, y) = convolution("reference")
    return run(g, dict(zip((x, w, b), feeds(tensors), strict=True)), [y])[0]


def computed(g, tensors):
    flat, view = buffer(tensors[-1])
    uids = [one.get_uid() for one in tensors]
    g.execute(dict(zip(uids, [*feeds(tensors), flat], strict=True)))
    return view


def fixed(seconds, name, taken=True, modes=frozenset(cudnn.heur_mode)):
    """Return an engine of the reference with an estimate, whose plans write their estimate."""

    def broken(graph, info):
        return [] if taken else [fail("PG-ENGINE-002", node=o.label, argument=name) for o in graph.operations]

    class Fixed(GraphEngine):
        rules = (SupportRule("PG-ENGINE-002", "anything, or nothing", broken),)

        def estimate(self, graph, info):
            return seconds

        def knobs(self, graph, info):
            return (cudnn.knob(cudnn.knob_type.STAGES, 7, 3, 2),)

        def tuned(self, graph, device, knobs):
            def run(arrays, numbers, workspace):
                for name in graph.written:
                    arrays[graph.names.index(name)][...] = seconds + knobs.get(cudnn.knob_type.STAGES, 0)

            return GraphPlan(graph, self, 0, Run(run), knobs=knobs)

    Fixed.name, Fixed.modes = name, modes
    return Fixed()


@pytest.fixture
def engines(monkeypatch):
    def use(*made):
        backend = get_backend("reference")
        monkeypatch.setattr(type(backend), "graph_engines", lambda self: made)

    return use


def small(handle="reference", **kwargs):
    g = new(handle, **kwargs)
    x = given(g, (3,), uid=1)
    g.identity(x).set_output(True).set_uid(2)
    return g


def names(g):
    return [g.get_plan_name_at_index(i) for i in range(g.get_execution_plan_count())]


def test_a_ranks_by_estimates(engines):
    engines(fixed(3, "slow"), fixed(1, "quick"), fixed(0, "never", taken=False), fixed(2, "late", modes={FALLBACK}))
    g = small()
    g.build([A, FALLBACK])
    assert names(g) == ["eng_fallback", "eng_quick", "eng_slow", "eng_late"]
    assert g.get_plan_name() == "eng_fallback"
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match=r"PG-ENGINE-002.*never"):
        g.create_execution_plan(2)


def test_knobs(engines):
    engines(fixed(1, "quick"))
    g = small()
    g.build_operation_graph()
    (one,) = g.get_knobs_for_engine(0)
    assert (one.type, one.max_value, one.min_value, one.stride) == (cudnn.knob_type.STAGES, 7, 3, 2)
    g.create_execution_plan(0, {cudnn.knob_type.STAGES: 5})
    g.build_plans()
    assert names(g) == ["eng_quick_k7=5"]
    assert g.get_engine_and_knobs_at_index(0) == (0, {cudnn.knob_type.STAGES: 5})
    out = np.empty(3, np.float32)
    g.execute({1: np.zeros(3, np.float32), 2: out})
    assert out.tolist() == [6, 6, 6]
    for wrong in ({cudnn.knob_type.STAGES: 4}, {cudnn.knob_type.STAGES: 9}, {cudnn.knob_type.TILE_M: 3}):
        with pytest.raises(cudnn.InvalidValue, match="PG-PLAN-006"):
            g.create_execution_plan(0, wrong)


def test_autotune_is_kept_for_b(engines, tmp_path, monkeypatch):
    """The times decide, not the estimates, in this process and in the next one; another graph knows nothing of them."""
    engines(fixed(1, "quick"), fixed(2, "slow"))
    times = {"eng_quick": 4.0, "eng_slow": 3.0, "eng_slow_k7=7": 1.0, "eng_fallback": 9.0}
    monkeypatch.setattr(
        "portadnn.graph.plans.Plans._time",
        lambda self, plan, *rest: times.get(name_of(plan), 5.0 + sum(plan.knobs.values())),
    )
    database = tmp_path / "find.db"
    handle = dnn.Handle("reference", find_db=database)
    g = small(handle)
    g.deselect_engines(["quick_k7=3"])
    g.build([A])
    rows = g.autotune()
    assert [row.name for row in rows][:4] == ["eng_slow_k7=7", "eng_slow", "eng_quick", "eng_slow_k7=3"]
    assert "eng_quick_k7=3" not in [row.name for row in rows]
    assert g.get_plan_name() == "eng_slow_k7=7"
    with contextlib.closing(sqlite3.connect(database)) as kept:
        lines = kept.execute("SELECT DISTINCT problem FROM timing").fetchall()
    assert lines == [("pointwise IN_0=f32:3 OUT_0=f32:3 mode=IDENTITY",)]
    for later in (handle, dnn.Handle("reference", find_db=database)):
        other = small(later)
        other.build([B])
        assert names(other)[:3] == ["eng_slow_k7=7", "eng_slow", "eng_quick"]
        other.create_execution_plans([A])
        assert names(other) == ["eng_fallback", "eng_quick", "eng_slow"]
    g = new(dnn.Handle("reference", find_db=database))
    g.identity(given(g, (4,))).set_output(True)
    g.build([B])
    assert names(g) == ["eng_fallback", "eng_quick", "eng_slow"]


def name_of(plan):
    return "_".join([f"eng_{plan.engine.name}", *(f"k{int(k)}={v}" for k, v in plan.knobs.items())])


@over(["autotune"])
def test_the_fallbacks_knob(handle, name):
    """Each value is another engine for the convolution, with the same result; autotune times them all."""
    g, tensors = convolution(handle)
    g.build([A])
    want = expected(tensors)
    number = next(i for i in range(g.get_engine_count()) if "fallback" in g._engine(i).name)
    knobs = g.get_knobs_for_engine(number)
    for one in knobs:
        assert one.type is cudnn.knob_type.KERNEL_CFG
        for value in one.values():
            g.create_execution_plan(number, {one.type: value})
            g.build_plans()
            np.testing.assert_allclose(computed(g, tensors), want, rtol=2e-5, atol=2e-5)
    g.build([A])
    rows = g.autotune()
    assert len({row.name for row in rows}) == len(rows) >= 1 + sum(len(one.values()) for one in knobs)
    assert [row.seconds for row in rows if row.seconds >= 0] == sorted(row.seconds for row in rows if row.seconds >= 0)
    assert rows[0].name == g.get_plan_name()
    np.testing.assert_allclose(computed(g, tensors), want, rtol=2e-5, atol=2e-5)


def test_autotune_on_a_pack(engines):
    engines(fixed(1, "quick"))
    g = small()
    g.build([A])
    rows = g.autotune({1: np.zeros(3, np.float32), 2: np.empty(3, np.float32)})
    assert {row.name for row in rows} == {"eng_fallback", "eng_quick", *(f"eng_quick_k7={v}" for v in (3, 5, 7))}


# files


@pytest.mark.parametrize("name", list(CASES))
def test_every_kind_comes_back(name):
    g = new()
    for one in CASES[name](g)[1]:
        if one is not None:
            one.set_output(True)
    g.build_operation_graph()
    text = json.dumps(as_data(g._graph, g._frozen))
    made = graph_of(json.loads(text))
    made.validate()
    assert made.freeze() == g._frozen


def test_every_field_of_a_tensor_comes_back():
    """Whatever is added to TensorInfo has to be written, too."""
    known = {"uid", "name", "dims", "strides", "data_type", "virtual", "by_value", "value", "constant", "alignment"}
    assert set(TensorInfo.__dataclass_fields__) == known | {"reordering", "ragged_offset", "ragged_multiplier"}
    graph = Graph("g", compute_data_type=D.FLOAT)
    x = cudnn.tensor("x").set_dim([4]).set_stride([1]).set_data_type(D.HALF).set_alignment(64).set_uid(9)
    s = cudnn.tensor("s").set_dim([1]).set_stride([1]).set_data_type(D.FLOAT).set_uid(7)
    s.set_value(0.1, cudnn.scalar_type.RUNTIME_PARAM)
    y = cudnn.tensor("y").set_data_type(D.INT8).set_uid(3)
    node = graph.add("pointwise", {"IN_0": x, "IN_1": s}, {"mode": "MUL"}, outputs={"OUT_0": y}, name="scale")
    graph.validate()
    made = graph_of(json.loads(json.dumps(as_data(graph, graph.freeze()))))
    made.validate()
    assert made.freeze() == graph.freeze()
    assert made.nodes[0].attributes == node.attributes
    assert made.nodes[0].inputs["IN_1"].value == 0.1


def test_a_plan_goes_to_another_device():
    g, tensors = convolution("reference")
    g.deselect_engines(["definition"])
    g.build([A])
    data = g.serialize()
    said = json.loads(data)
    assert (said["format"], said["version"], said["plan"]["engine"]) == ("portadnn.graph", 1, "fallback")
    assert [node["kind"] for node in said["operations"]] == ["conv_fprop", "pointwise"]
    for target in helper.targets():
        if target.missing:
            continue
        for text in (data, data.decode(), list(data)):
            other = cudnn.pygraph()
            other.deserialize(helper.open_handle(target), text)
            assert other.get_plan_name() == "eng_fallback"
        np.testing.assert_allclose(computed(other, tensors), expected(tensors), rtol=2e-5, atol=2e-5)
        assert other.query_tensor_attributes_of_uid(tensors[-1].get_uid()).get_name() == "y"


def test_a_plan_of_an_engine_that_is_missing(engines):
    engines(fixed(0, "special"))
    g = small()
    g.build_operation_graph()
    g.create_execution_plan(0, {cudnn.knob_type.STAGES: 3})
    g.build_plans()
    data = g.serialize()
    assert json.loads(data)["plan"]["knobs"] == {"STAGES": 3}
    again = cudnn.pygraph(handle=cudnn.create_handle("reference"))
    again.deserialize(data)
    assert names(again) == ["eng_special_k7=3"]
    engines(fixed(0, "another"))
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match=r"PG-FILE-002.*another, fallback.*special") as caught:
        again.deserialize(data)
    assert "graph.build(" in caught.value.fix
    again.build([A])
    assert names(again) == ["eng_another", "eng_fallback"]


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"format": "portadnn.graph", "version": 99}', '{"format": "portadnn.graph", "version": 1}'],
)
def test_other_files(text):
    with pytest.raises(cudnn.InvalidValue, match="PG-FILE-001"):
        cudnn.pygraph().deserialize(text)


def test_kernel_caches(engines):
    engines(fixed(1, "quick"))
    cache = cudnn.create_kernel_cache()
    g = small(kernel_cache=cache)
    g.build_operation_graph()
    g.create_execution_plan(0, {cudnn.knob_type.STAGES: 7})
    g.build_plans()
    kept = cudnn.create_kernel_cache()
    kept.deserialize(cache.serialize())
    other = small(kernel_cache=kept)
    other.build([A])
    assert names(other) == ["eng_quick_k7=7"]
    with pytest.raises(cudnn.InvalidValue, match="empty cache"):
        kept.deserialize(cache.serialize())
    with pytest.raises(cudnn.InvalidValue, match="create_kernel_cache"):
        small(kernel_cache={})


def test_device_properties():
    with dnn.Handle("reference") as handle:
        made = cudnn.create_device_properties(handle)
        kept = cudnn.create_device_properties(made.serialize())
        assert kept.values == made.values
        assert kept.values["backend"] == "reference"
        small(handle, device_property=kept).build()
        kept.values["name"] = "another"
        with pytest.raises(cudnn.InvalidValue, match=r"PG-PLAN-003.*another"):
            small(handle, device_property=kept)


# packs that come again


@over(["again"])
def test_packs_that_come_again(handle, name):
    """Known packs are told from others by arrays, numbers, workspace and plan."""
    g = new(handle)
    x, s = given(g, (1, 4, 5)), g.tensor(dim=[1, 1, 1], stride=[1, 1, 1], is_pass_by_value=True)
    y = g.relu(g.mul(x, s)).set_output(True)
    g.build()
    values = numbers((1, 4, 5)).astype(np.float32)
    first, second, out = handle.asarray(values), handle.asarray(-values), handle.empty((1, 4, 5))
    workspaces = [None, handle.empty_bytes(max(g.get_workspace_size(), 1)), None]
    for array, sign in ((first, 1), (second, -1)):
        for factor in (2.0, 2.0, 2.0, 3.0, 3.0, 2.0, 0.0, -0.0):
            for workspace in workspaces:
                g.execute({x: array, s: factor, y: out}, workspace)
                want = np.maximum(sign * factor * values, 0)
                np.testing.assert_array_equal(handle.to_numpy(out), want)
    other = handle.empty((1, 4, 5))
    for _ in range(3):
        g.execute({x: first, s: 2.0, y: other})
    np.testing.assert_array_equal(handle.to_numpy(other), np.maximum(2 * values, 0))
    again = g.bind({x: second, s: 3.0, y: out})
    handle.set_stream(None)
    for _ in range(3):
        out.fill(0)
        again()
        np.testing.assert_array_equal(handle.to_numpy(out), np.maximum(-3 * values, 0))


@over(["again"])
def test_many_packs_take_turns(handle, name, monkeypatch):
    """As those of a network's equal layers; the same arrays under other keys, and more than there is room for."""
    g = new(handle)
    a, b = given(g, (1, 4, 5)), given(g, (1, 4, 5))
    y = g.sub(a, b).set_output(True)
    g.build()
    values = [numbers((1, 4, 5), seed).astype(np.float32) for seed in range(9)]
    arrays = list(map(handle.asarray, values))
    out = handle.empty((1, 4, 5))
    layers = [
        (pack, values[i] - values[j])
        for i, j in zip(range(8), range(1, 9), strict=True)
        for pack, i, j in (
            ({a: arrays[i], b: arrays[j], y: out}, i, j),
            ({b: arrays[i], a: arrays[j], y: out}, j, i),  # the same ids in the same order
        )
    ]

    for turn in range(5):
        if turn == 4:  # by now all of them are known
            monkeypatch.setattr("portadnn.graph.api.execution._run_anew", None)
        for pack, want in layers:
            out.fill(0)
            g.execute(pack)
            np.testing.assert_array_equal(handle.to_numpy(out), want)


@over(["again"])
def test_packs_that_never_come_again_are_not_bound(handle, name):
    g = new(handle)
    x = given(g, (1, 4, 5))
    y = g.neg(x).set_output(True)
    g.build()
    before = handle.cache_info().calls
    for seed in range(20):
        values = numbers((1, 4, 5), seed).astype(np.float32)
        pack = {x: handle.asarray(values), y: handle.empty((1, 4, 5))}
        g.execute(pack)
        np.testing.assert_array_equal(handle.to_numpy(pack[y]), -values)
    assert handle.cache_info().calls == before


def test_a_pack_of_the_hosts_is_bound():
    g = new()
    x = given(g, (3,))
    y = g.neg(x).set_output(True)
    g.build()
    (flat, view), source = buffer(y), np.float32([1, 2, 3])
    call = g.bind({x: source, y: flat})
    call()
    source *= 2
    call()
    assert view.tolist() == [-2, -4, -6]
