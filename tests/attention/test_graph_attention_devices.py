"""Attention on devices, against the oracle of the definition's tests, which goes score by score in float64."""

from __future__ import annotations

import helper
import numpy as np
import pytest
from attention_cases import RAGGED, SEED, Built, Case, near, oracle
from attention_graphs import CASES, IN_PAGES, paged
from graphs import D, given, new, numbers, run

import portadnn.graph as cudnn
from portadnn_backends.attention.engine import ENGINE

pytest.importorskip("torch")

FLOATS = {"io": D.FLOAT, "intermediate": D.FLOAT, "compute": D.FLOAT}
CAUSAL = {"use_causal_mask": True}
# several tiles of every size, with rests
LARGE = {
    "large": Case(sizes=(1, 2, 1, 1, 150, 301, 24, 40)),
    "large, causal": Case(sizes=(2, 2, 2, 1, 132, 131, 24, 40), options=CAUSAL),
    "large, a window": Case(
        sizes=(1, 1, 1, 1, 204, 180, 24, 40), lengths=([204], [180]), options={"left_bound": 70, "right_bound": 3}
    ),
    "large, sequences": Case(
        sizes=(2, 2, 2, 2, 102, 290, 24, 40),
        lengths=([102, 37], [290, 141]),
        options={"diagonal_alignment": "BOTTOM_RIGHT", "right_bound": 0},
    ),
    "large, without padding": Case(
        sizes=(3, 4, 2, 2, 102, 290, 24, 40),
        lengths=([102, 37, 0], [290, 141, 20]),
        ragged=RAGGED,
        options={"diagonal_alignment": "BOTTOM_RIGHT", "right_bound": 0},
    ),
    "large, blocks": Case(sizes=(1, 2, 1, 1, 130, 1030, 4, 4), blocks=True, seed=3),
    "large, dropout": Case(sizes=(1, 2, 1, 1, 66, 83, 24, 40), dropout=0.4, bshd=True),
    "long rows": Case(sizes=(1, 1, 1, 1, 20, 18, 256, 200)),
    "one query": Case(sizes=(3, 4, 2, 2, 1, 300, 64, 64)),
    "few queries": Case(sizes=(2, 2, 1, 2, 3, 301, 48, 80), scale=-0.37, options=CAUSAL),
}
EVERY = {**CASES, **LARGE}
ON_SLOW = {
    "everything",
    "large",
    "large, causal",
    "large, sequences",
    "large, blocks",
    "large, without padding",
    "long rows",
}


def pairs(names=EVERY):
    """Return every case on every target; the slow ones get those that differ in more than a number."""
    return [
        pytest.param(name, target, id=f"{name}-{target.name}")
        for target in helper.targets()
        for name in names
        if not target.slow or name in ON_SLOW
    ]


@pytest.mark.parametrize(("name", "target"), pairs())
def test_attention(name, target):
    """Forward, and gradients from the oracle's results, rounded: twice the same bits."""
    case, handle = EVERY[name], helper.open_handle(target)
    built, values = Built(case, handle, **FLOATS), case.values()
    if case.blocks:
        values["block_mask"][..., 0] |= 1  # no row without columns
    got = built.forward(values)
    assert built.plan == "eng_flash_attention"
    want = oracle(case, values, got.get("kept"))
    for output in ("O", "STATS", "MAX", "SUM_EXP"):
        near(got[output], want[output])
    if case.blocks:
        return  # backward has no block masks
    feeds = {**values, "O": want["O"], "STATS": want["STATS"]}
    gradients, again = built.backward(feeds), built.backward(feeds)
    assert built.plan == "eng_flash_attention"
    for output, found in gradients.items():
        near(found, got["kept"] if output == "kept" else want[output])
        np.testing.assert_array_equal(found, again[output])


TYPES = [D.HALF, D.BFLOAT16, D.DOUBLE]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_types(target, kind):
    case = Case(sizes=(1, 2, 1, 1, 66, 70, 24, 40), bias=(1, 1, 66, 70), options=CAUSAL)
    values = {name: kind.rounded(value) for name, value in case.values().items()}
    compute = D.DOUBLE if kind is D.DOUBLE else D.FLOAT
    built = Built(case, helper.open_handle(target), io=kind, intermediate=compute, compute=compute)
    got = built.forward(values)
    want = oracle(case, values)
    near(got["O"], want["O"], kind, 4)
    near(got["STATS"], want["STATS"], compute)
    gradients = built.backward({**values, "O": want["O"], "STATS": want["STATS"]})
    for output, found in gradients.items():  # the rounding of O is in all of them
        near(found, want[output], kind, 8)


@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_what_lies_in_padding_does_not_matter(target):
    case, handle = CASES["padding"], helper.open_handle(target)
    values = case.values()
    built = Built(case, handle, **FLOATS)
    want = built.forward(values)
    grads = built.backward({**values, "O": want["O"], "STATS": want["STATS"]})
    rows, columns = case.lengths
    for name, lengths in (("q", rows), ("k", columns), ("v", columns), ("dO", rows)):
        for n, length in enumerate(lengths):
            values[name][n, :, length:] = np.nan
    got = built.forward(values)
    got.update(built.backward({**values, "O": got["O"], "STATS": got["STATS"]}))
    for name, one in {**want, **grads}.items():
        np.testing.assert_array_equal(got[name], one)


@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_pages(target):
    g, values = new(helper.open_handle(target)), IN_PAGES.values()
    o, feeds = paged(g, IN_PAGES, values)
    (got,) = run(g, feeds, [o])
    near(got, oracle(IN_PAGES, values)["O"])


@pytest.mark.parametrize("place", ["memory", "value"])
@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_numbers(target, place):
    """Scale, seed and offset in memory, or as numbers of the call; lengths of 64 bits."""
    case = Case(dropout=0.375, lengths=([5, 3], [4, 7]))
    values, one = case.values(), (1, 1, 1, 1)
    g = new(helper.open_handle(target))
    by_value = place == "value"
    q, k, v = (given(g, values[name].shape) for name in "qkv")
    scale = given(g, one, D.FLOAT, is_pass_by_value=by_value)
    seed = given(g, one, D.INT64, is_pass_by_value=by_value)
    offset = given(g, one, D.INT32, is_pass_by_value=by_value)
    lengths = {name: given(g, (2, 1, 1, 1), D.INT64) for name in ("seq_len_q", "seq_len_kv")}
    kept = given(g, (2, 4, 5, 7), D.UINT8).set_output(True)
    o, _ = g.sdpa(
        q, k, v, attn_scale=scale, dropout=(0.375, seed, offset), rng_dump=kept, use_padding_mask=True, **lengths
    )
    feeds = {q: values["q"], k: values["k"], v: values["v"], scale: [case.scale], seed: [SEED], offset: [7]}
    feeds.update({tensor: values[name] for name, tensor in lengths.items()})
    got, drawn = run(g, feeds, [o, kept])
    np.testing.assert_array_equal(drawn, Built(case).forward(values)["kept"])
    near(got, oracle(case, values, drawn)["O"])


@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_between_other_nodes(target):
    """A node of a larger graph, whose inputs and workspace lie inside the graph's workspace."""
    case = Case(scale=1.0)
    values = case.values()
    g = new(helper.open_handle(target))
    q, k, v, more = (given(g, values[name].shape) for name in ("q", "k", "v", "q"))
    o, _ = g.sdpa(g.add(q, more), k, v)
    extra = numbers(values["q"].shape, 9)
    (got,) = run(g, {q: values["q"], k: values["k"], v: values["v"], more: extra}, [g.relu(o)])
    sums = (values["q"] + extra).astype(np.float32).astype(np.float64)
    near(got, np.maximum(oracle(case, {**values, "q": sums})["O"], 0))


def knob_graph(handle):
    case = Case(sizes=(1, 2, 1, 1, 210, 301, 16, 16), options=CAUSAL)
    values = case.values()
    g = new(handle)
    q, k, v = (given(g, values[name].shape) for name in "qkv")
    o, _ = g.sdpa(q, k, v, attn_scale=case.scale, use_causal_mask=True)
    o.set_output(True)
    g.validate()
    g.build_operation_graph()
    return g, {q: values["q"], k: values["k"], v: values["v"]}, o, oracle(case, values)["O"]


@pytest.mark.parametrize("target", helper.cpu_targets(), ids=lambda target: target.name)
def test_knobs(target):
    """Every value of every knob gives the result; a plan says which nodes it computes together."""
    handle = helper.open_handle(target)
    g, feeds, o, want = knob_graph(handle)
    found = g.get_knobs_for_engine(0)
    assert {knob.type for knob in found} == {cudnn.knob_type.TILE_ROWS, cudnn.knob_type.TILE_COLS}
    for knob in found:
        for value in list(knob.values())[::2]:
            g, feeds, o, _ = knob_graph(handle)
            g.create_execution_plan(0, {knob.type: value})
            g.check_support()
            g.build_plans()
            assert f"k{int(knob.type)}={value}" in g.get_plan_name_at_index(0)
            out = np.zeros(o.get_dim(), np.float32)
            g.execute({**{one: np.asarray(x, np.float32) for one, x in feeds.items()}, o: out})
            near(out.astype(np.float64), want)


def refused(g):
    g.validate()
    g.build_operation_graph()
    return ENGINE.reasons(g._graph_frozen(), g._handle.info)


@pytest.mark.parametrize("target", helper.cpu_targets(), ids=lambda target: target.name)
def test_what_is_refused(target):
    """A type of integers, and lengths that are passed by value, each with the node, the tensor and a fix."""
    g = new(helper.open_handle(target))
    lengths = [given(g, (1, 1, 1, 1), D.INT32, is_pass_by_value=True, name=name) for name in ("rows", "columns")]
    q, k, v = (given(g, (1, 2, 5, 8)) for _ in range(3))
    o, _ = g.sdpa(q, k, v, use_padding_mask=True, seq_len_q=lengths[0], seq_len_kv=lengths[1], name="padded")
    o.set_output(True)
    text = str(refused(g)[0])
    for word in ("PG-ENGINE-004", "sdpa 'padded'", "'rows'", "passed by value", "fix: set_is_pass_by_value(False)"):
        assert word in text
    g = new(helper.open_handle(target))
    o, _ = g.sdpa(*(given(g, (1, 1, 4, 8)) for _ in range(3)), name="whole")
    o.set_output(True).set_data_type(D.INT32)
    text = str(refused(g)[0])
    for word in ("PG-ENGINE-003", "sdpa 'whole'", "O = ", "FLOAT", "got INT32"):
        assert word in text


@pytest.mark.parametrize("target", helper.cpu_targets(), ids=lambda target: target.name)
def test_lengths_of_two_types_with_gaps(target):
    g = new(helper.open_handle(target))
    q, k, v = (given(g, (2, 1, 4, 8)) for _ in range(3))
    kinds = {3: D.INT32, 2: D.INT64}
    rows, columns = (given(g, (2, 1, 1, 1), kind).set_stride([step, 1, 1, 1]) for step, kind in kinds.items())
    o, _ = g.sdpa(q, k, v, use_padding_mask=True, seq_len_q=rows, seq_len_kv=columns)
    o.set_output(True)
    g.build([cudnn.heur_mode.A])
    assert g.get_plan_name_at_index(0) == "eng_flash_attention"
    x, result = numbers((2, 1, 4, 8), 1).astype(np.float32), np.full((2, 1, 4, 8), 7, np.float32)
    lengths = {rows: np.int32([1, -1, -1, 3]), columns: np.int64([4, -1, 2])}
    g.execute({q: x, k: x, v: x, o: result, **lengths})
    for n, (i, j) in enumerate(((1, 4), (3, 2))):
        scores = np.exp(x[n, 0, :i] @ x[n, 0, :j].T)
        near(result[n, 0, :i], scores / scores.sum(1, keepdims=True) @ x[n, 0, :j])
        assert (result[n, 0, i:] == 0).all()


@pytest.mark.parametrize("wanted", ["DQ", "DK", "DV"])
@pytest.mark.parametrize("target", helper.cpu_targets(), ids=lambda target: target.name)
def test_gradients_that_nobody_reads(target, wanted):
    """One of three, the others stay virtual."""
    case = Case(sizes=(1, 2, 1, 1, 9, 11, 8, 6))
    values = case.values()
    want = oracle(case, values)
    feeds = {**values, "O": want["O"], "STATS": want["STATS"]}
    g = new(helper.open_handle(target))
    made = {name: given(g, np.shape(value)) for name, value in feeds.items()}
    found = g.sdpa_backward(*(made[name] for name in ("q", "k", "v", "O", "dO", "STATS")), attn_scale=case.scale)
    one = found[("DQ", "DK", "DV").index(wanted)]
    (got,) = run(g, {made[name]: value for name, value in feeds.items()}, [one])
    assert g.get_plan_name() == "eng_flash_attention"
    near(got, want[f"d{wanted[1].lower()}"])


@pytest.mark.parametrize("target", helper.cpu_targets(), ids=lambda target: target.name)
def test_statistics_that_nobody_reads(target):
    """Of FP8 the largest numbers, of both the sums."""
    case = Case(sizes=(1, 2, 1, 1, 9, 11, 8, 6))
    values = case.values()
    g = new(helper.open_handle(target))
    q, k, v = (given(g, values[name].shape, D.FP8_E4M3) for name in "qkv")
    o, *_ = g.sdpa_fp8(q, k, v, 1, 1, 1, 1 / 256, 256, 1, generate_stats=True, attn_scale=case.scale)
    rounded = {name: D.FP8_E4M3.rounded(values[name]) for name in "qkv"}
    (got,) = run(g, {q: values["q"], k: values["k"], v: values["v"]}, [o.set_data_type(D.FLOAT)])
    assert g.get_plan_name() == "eng_flash_attention"
    np.testing.assert_allclose(got, oracle(case, {**values, **rounded})["O"], atol=0.1)
