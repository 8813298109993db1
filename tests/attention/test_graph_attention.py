"""Attention by definition, against torch, an oracle that goes score by score, and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from attention_cases import SIZES, Built, Case, counts, oracle
from attention_graphs import CASES, IN_PAGES, LENGTHS, paged
from graphs import D, close, double, given, new, numbers, run

import portadnn.graph as cudnn

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", CASES)
def test_by_definition(name):
    case = CASES[name]
    built, values = Built(case), case.values()
    got = built.forward(values)
    want = oracle(case, values, got.get("kept"))
    for output in ("O", "STATS", "MAX", "SUM_EXP"):
        close(got[output], want[output])
    gradients = built.backward({**values, "O": got["O"], "STATS": got["STATS"]})
    for output in gradients:
        close(gradients[output], got["kept"] if output == "kept" else want[output])


@pytest.mark.parametrize("causal", [False, True])
def test_as_torch_has_it(causal):
    values = Case().values()
    q, k, v = (torch.tensor(values[name]) for name in "qkv")
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=0.375, enable_gqa=True)
    close(Built(Case(options={"use_causal_mask": causal})).forward(values)["O"], want)


def test_block_masks():
    """Bits of blocks of 128 x 128 scores, the lowest first."""
    case = Case(sizes=(1, 2, 1, 1, 130, 1030, 4, 4), blocks=True, seed=3)
    values = case.values()
    assert len({counts(case, values, 0, h, i, j) for h in (0, 1) for i in (0, 129) for j in range(0, 1030, 128)}) == 2
    values["block_mask"][..., 0] |= 1  # no row without columns
    close(Built(case).forward(values)["O"], oracle(case, values)["O"], 1e-9)


def test_pages():
    """Keys and values in pages, with what no sequence uses poisoned."""
    g, values = double(), IN_PAGES.values()
    o, feeds = paged(g, IN_PAGES, values)
    (got,) = run(g, feeds, [o])
    np.testing.assert_array_equal(got, Built(IN_PAGES).forward(values)["O"])


def test_what_lies_in_padding_does_not_matter():
    case = CASES["padding"]
    values = case.values()
    want = Built(case).forward(values)
    grads = Built(case).backward({**values, "O": want["O"], "STATS": want["STATS"]})
    for name, lengths in (("q", LENGTHS[0]), ("k", LENGTHS[1]), ("v", LENGTHS[1]), ("dO", LENGTHS[0])):
        for n, length in enumerate(lengths):
            values[name][n, :, length:] = np.nan
    got = Built(case).forward(values)
    again = Built(case).backward({**values, "O": got["O"], "STATS": got["STATS"]})
    for name, one in {**want, **grads}.items():
        np.testing.assert_array_equal({**got, **again}[name], one)
    assert (got["O"][1, :, 3:] == 0).all()
    assert np.isneginf(got["STATS"][1, :, 3:]).all()


def test_dropout_is_drawn_as_rng_draws():
    """The mask is what a node of random numbers gives, keeps the share that it says, and differs from call to call."""
    sizes = (2, 3, 3, 3, 40, 30, 2, 2)
    kept = Built(Case(sizes=sizes, dropout=0.3)).forward(Case(sizes=sizes).values())["kept"]
    g = double()
    seed, offset = 2**33 + 5, g.tensor_scalar(7)
    drawn = g.rng([2, 3, 40, 30], cudnn.rng_distribution.BERNOULLI, seed, offset, bernoulli_probability=0.7)
    (want,) = run(g, {}, [drawn])
    np.testing.assert_array_equal(kept, want)
    assert abs(kept.mean() - 0.7) < 4 * np.sqrt(0.21 / kept.size)
    assert set(np.unique(kept)) == {0.0, 1.0}


def test_finite_differences():
    case = CASES["everything"]
    built, values = Built(case), case.values()
    first = built.forward(values)
    got = built.backward({**values, "O": first["O"], "STATS": first["STATS"]})
    rng, step = np.random.default_rng(0), 1e-5
    for name in ("q", "k", "v", "bias", "sink_token"):
        direction = rng.standard_normal(values[name].shape)
        ends = [
            (built.forward({**values, name: values[name] + sign * step * direction})["O"] * values["dO"]).sum()
            for sign in (1, -1)
        ]
        assert abs((ends[0] - ends[1]) / (2 * step) - (got[f"d{name}"] * direction).sum()) < 1e-8


def test_inference():
    """Dims, strides and types that are not set, and results that are left out."""
    g = new(io=D.HALF, intermediate=D.HALF)
    q, k, v = given(g, (2, 4, 5, 8)), given(g, (2, 2, 7, 8)), given(g, (2, 2, 7, 6))
    q.set_stride([160, 8, 32, 1])
    o, stats = g.sdpa(q, k, v, is_inference=True)
    assert stats is None
    o.set_output(True)
    g.validate()
    assert (o.get_dim(), o.get_stride(), o.get_data_type()) == ([2, 4, 5, 6], [120, 6, 24, 1], D.HALF)
    o, stats = g.sdpa(q, k, v, False, implementation=cudnn.attention_implementation.COMPOSITE)
    grads = g.sdpa_backward(q, k, v, o, given(g, (2, 4, 5, 6)), stats)
    for one in grads:
        one.set_output(True)
    g.validate()
    assert (stats.get_dim(), stats.get_stride(), stats.get_data_type()) == ([2, 4, 5, 1], [20, 5, 1, 1], D.FLOAT)
    assert [one.get_dim() for one in grads] == [[2, 4, 5, 8], [2, 2, 7, 8], [2, 2, 7, 6]]
    assert grads[0].get_stride() == q.get_stride()


SPELLINGS = [
    {"use_causal_mask": True, "sliding_window_length": 3},
    {"use_causal_mask": True, "sliding_window": 3, "left_bound": 3},
    {"right_bound": 0, "left_bound": 3},
    {"diagonal_band_right_bound": 0, "diagonal_band_left_bound": 3},
    {"use_causal_mask": True, "diagonal_band_right_bound": 0, "left_bound": 3, "diagonal_alignment": "TOP_LEFT"},
]


def test_spellings_are_one_graph():
    keys = set()
    for options in SPELLINGS:
        for method in ("sdpa", "scaled_dot_product_flash_attention"):
            g = new()
            b, hq, hk, hv, sq, skv, d, dv = SIZES
            q, k, v = given(g, (b, hq, sq, d)), given(g, (b, hk, skv, d)), given(g, (b, hv, skv, dv))
            getattr(g, method)(q, k, v, **options)[0].set_output(True)
            keys.add(g.key())
    assert len(keys) == 1


def test_scales_by_number_and_by_tensor():
    values = {name: one.astype(np.float64) for name, one in Case().values().items()}
    found = []
    for form in ("number", "value", "memory"):
        g = double()
        q, k, v = (given(g, values[name].shape) for name in "qkv")
        feeds = {q: values["q"], k: values["k"], v: values["v"]}
        scale = 0.1 if form == "number" else given(g, (1, 1, 1, 1), is_pass_by_value=form == "value")
        o, _ = g.sdpa(q, k, v, attn_scale=scale)
        found.append(run(g, feeds if form == "number" else {**feeds, scale: [0.1]}, [o])[0])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_uniform_rows():
    """Equal keys: each row is the mean of the values that it sees."""
    g = double()
    q, k, v = given(g, (1, 1, 4, 2)), given(g, (1, 1, 4, 2)), given(g, (1, 1, 4, 3))
    o, stats = g.sdpa(q, k, v, use_causal_mask=True, generate_stats=True)
    values = numbers((1, 1, 4, 3))
    got, rows = run(g, {q: numbers((1, 1, 4, 2)), k: np.zeros((1, 1, 4, 2)), v: values}, [o, stats])
    close(got[0, 0], np.cumsum(values[0, 0], 0) / np.arange(1, 5)[:, None])
    close(rows.ravel(), np.log(np.arange(1, 5)))
