"""Attention whose scores a function of the program changes, and attention of block-scaled tensors, against NumPy."""

import numpy as np
import pytest
from helper import everywhere

import portadnn.graph as cudnn

D = cudnn.data_type
BOTH = [cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK]


def pygraph(handle, kind=D.FLOAT):
    return cudnn.pygraph("flexible", kind, D.FLOAT, D.FLOAT, handle)


def causal(graph, scores):
    """Leave out columns after the row."""
    row, column = (graph.gen_index(scores, axis).set_data_type(D.INT32) for axis in (2, 3))
    seen = graph.cmp_ge(row, column, compute_data_type=D.BOOLEAN).set_data_type(D.BOOLEAN)
    return graph.binary_select(scores, graph.tensor_scalar(-1e9), seen)


def causal_back(graph, gradient):
    """Leave out the same columns' gradients."""
    row, column = (graph.gen_index(gradient, axis).set_data_type(D.INT32) for axis in (2, 3))
    seen = graph.cmp_ge(row, column, compute_data_type=D.BOOLEAN).set_data_type(D.BOOLEAN)
    return graph.binary_select(gradient, graph.tensor_scalar(0.0), seen)


def capped(graph, scores):
    """Return 0.8 tanh(scores / 0.8)."""
    return graph.mul(graph.tanh(graph.div(scores, 0.8)), 0.8)


def doubled(graph, scores):
    return graph.mul(scores, 2.0)


MODS = {
    "causal": (causal, lambda s: np.where(np.arange(s.shape[2])[:, None] >= np.arange(s.shape[3]), s, -1e9)),
    "softcap": (capped, lambda s: 0.8 * np.tanh(s / 0.8)),
}
HEADS = {"alike": (2, 2), "shared": (4, 2), "one": (3, 1)}


def operands(queries, keys, kind=np.float32, sq=5, skv=7, d=4):
    rng = np.random.default_rng(11)
    shapes = ((2, queries, sq, d), (2, keys, skv, d), (2, keys, skv, d + 2))
    return [rng.standard_normal(shape).astype(kind) for shape in shapes]


def attention(q, k, v, scale, mod):
    """Return O and statistics in float64."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (one.astype(np.float64) for one in (q, k.repeat(group, 1), v.repeat(group, 1)))
    scores = mod(scale * q @ k.swapaxes(2, 3))
    top = scores.max(3, keepdims=True)
    powers = np.exp(scores - top)
    total = powers.sum(3, keepdims=True)
    return powers / total @ v, top + np.log(total)


@everywhere()
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("mod", MODS)
def test_score_mod(handle, mod, heads):
    arrays = operands(*HEADS[heads])
    g = pygraph(handle)
    q, k, v = (g.tensor_like(one) for one in arrays)
    o, stats = g.sdpa(q, k, v, attn_scale=0.5, generate_stats=True, score_mod=MODS[mod][0], name="sdpa")
    o.set_output(True)
    stats.set_output(True).set_data_type(D.FLOAT)
    g.build(BOTH)
    want = attention(*arrays, 0.5, MODS[mod][1])
    got = [np.full(one.shape, np.nan, np.float32) for one in want]
    g.execute({**dict(zip((q, k, v), arrays, strict=True)), o: got[0], stats: got[1]})
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)


@everywhere()
@pytest.mark.parametrize("heads", HEADS)
def test_the_gradients_with_score_mod(handle, heads):
    """Against differences of the loss sum(O * dO) in float64."""
    arrays = operands(*HEADS[heads], sq=4, skv=4)
    do = np.random.default_rng(12).standard_normal((2, HEADS[heads][0], 4, 6)).astype(np.float32)
    mod = MODS["causal"][1]
    o, stats = (one.astype(np.float32) for one in attention(*arrays, 0.5, mod))
    g = pygraph(handle)
    given = dict(zip(("q", "k", "v", "o", "dO", "stats"), (*arrays, o, do, stats), strict=True))
    tensors = {name: g.tensor_like(one) for name, one in given.items()}
    functions = {"score_mod": causal, "score_mod_bprop": causal_back}
    outs = g.sdpa_backward(**tensors, attn_scale=0.5, name="back", **functions)
    for out in outs:
        out.set_output(True)
    g.build(BOTH)
    got = [np.full(one.shape, np.nan, np.float32) for one in arrays]
    g.execute({**{tensors[name]: one for name, one in given.items()}, **dict(zip(outs, got, strict=True))})
    exact, rng = [one.astype(np.float64) for one in arrays], np.random.default_rng(13)
    for which, gradient in enumerate(got):
        for _ in range(6):
            index = tuple(rng.integers(0, size) for size in gradient.shape)
            losses = []
            for step in (1e-5, -1e-5):
                moved = [one.copy() for one in exact]
                moved[which][index] += step
                losses.append((attention(*moved, 0.5, mod)[0] * do).sum())
            assert gradient[index] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=2e-3, abs=2e-4)


@everywhere()
@pytest.mark.parametrize("heads", HEADS)
def test_score_mod_of_pages(handle, heads):
    q, k, v = operands(*HEADS[heads])
    table = np.array([[5, 0, 2], [1, 4, 3]], np.int32).reshape(2, 1, 3, 1)
    arrays = [q]
    for rows in (k, v):  # 7 rows in pages of 3
        container = np.full((6, rows.shape[1], 3, rows.shape[3]), 9, np.float32)
        for b, page in np.ndindex(2, 3):
            part = rows[b, :, 3 * page : 3 * page + 3]
            container[table[b, 0, page, 0], :, : part.shape[1]] = part
        arrays.append(container)
    g = pygraph(handle)
    tensors = [g.tensor_like(one) for one in (*arrays, table)]
    pages = {"paged_attention_k_table": tensors[3], "paged_attention_v_table": tensors[3]}
    o, _ = g.sdpa(*tensors[:3], **pages, paged_attention_max_seq_len_kv=7, generate_stats=False, score_mod=capped)
    o.set_output(True)
    g.build([cudnn.heur_mode.A])
    want, _ = attention(q, k, v, 1.0, MODS["softcap"][1])
    got = np.full(want.shape, np.nan, np.float32)
    g.execute({**dict(zip(tensors, (*arrays, table), strict=True)), o: got})
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def test_a_function_chains_its_gradient():
    """With scores doubled and their gradient doubled, gradients are those of twice the scale."""
    arrays = operands(2, 2, sq=3, skv=3)
    do = np.ones((2, 2, 3, 6), np.float32)
    found = []
    for scale, functions in ((0.5, {"score_mod": doubled, "score_mod_bprop": doubled}), (1.0, {})):
        o, stats = (one.astype(np.float32) for one in attention(*arrays, 1.0, lambda s: s))
        g = pygraph(cudnn.create_handle("reference"))
        given = (*arrays, o, do, stats)
        tensors = [g.tensor_like(one) for one in given]
        outs = g.sdpa_backward(*tensors, attn_scale=scale, **functions)
        for out in outs:
            out.set_output(True)
        g.build(BOTH)
        got = [np.zeros(one.shape, np.float32) for one in arrays]
        g.execute({**dict(zip(tensors, given, strict=True)), **dict(zip(outs, got, strict=True))})
        found.append(got)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


# MXFP8


def tiles(scales):
    """Return scales of rows (rows, columns) as bytes of tiles of 128 x 4."""
    rows, columns = (-(-size // unit) * unit for size, unit in zip(scales.shape, (128, 4), strict=True))
    memory = np.zeros(rows * columns, np.uint8)
    for r, c in np.ndindex(*scales.shape):
        memory[(r // 128 * (columns // 4) + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scales[r, c]
    return memory


@everywhere()
def test_sdpa_mxfp8(handle):
    b, h, s, d = 1, 2, 64, 32
    rng = np.random.default_rng(14)
    data = [rng.integers(-8, 9, (b, h, s, d)).astype(np.float32) / 4 for _ in range(3)]
    codes = [D.FP8_E4M3.stored(one).view(np.uint8) for one in data]
    row_scales = [rng.integers(124, 129, (b * h, s, d // 32)) for _ in range(2)]
    column_scales = rng.integers(124, 129, (b * h, d, s // 32))
    memory = [np.concatenate([tiles(one) for one in each]) for each in (*row_scales, column_scales)]
    g = cudnn.pygraph("mxfp8", D.FP8_E4M3, D.FLOAT, D.FLOAT, handle)
    q, k, v = (g.tensor(dim=(b, h, s, d), stride=(h * s * d, s * d, d, 1), data_type=D.FP8_E4M3) for _ in range(3))
    tiled = {"data_type": D.FP8_E8M0, "reordering_type": cudnn.tensor_reordering.F8_128x4}
    rows = [g.tensor(dim=(b, h, 128, 4), stride=(h * 512, 512, 4, 1), **tiled) for _ in range(2)]
    columns = g.tensor(dim=(b, h, 4, 128), stride=(h * 512, 512, 1, 4), **tiled)
    o, stats, amax = g.sdpa_mxfp8(q, k, v, *rows, columns, attn_scale=0.125, use_causal_mask=True, generate_stats=True)
    for one in (o, stats, amax):
        one.set_output(True).set_data_type(D.FLOAT)
    g.build(BOTH)
    true = [
        one * np.ldexp(1.0, scale.reshape(b, h, s, -1) - 127).repeat(32, 3)
        for one, scale in zip(data, row_scales, strict=False)
    ]
    powers = np.ldexp(1.0, column_scales.reshape(b, h, d, -1) - 127).swapaxes(2, 3)
    want, logarithm = attention(*true, data[2] * powers.repeat(32, 2), 0.125, MODS["causal"][1])
    got = [np.full(shape, np.nan, np.float32) for shape in (want.shape, logarithm.shape, (1, 1, 1, 1))]
    pack = dict(zip((q, k, v, *rows, columns), (*codes, *memory), strict=True))
    g.execute({**pack, **dict(zip((o, stats, amax), got, strict=True))})
    np.testing.assert_allclose(got[0], want, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(got[1], logarithm, rtol=2e-5, atol=2e-5)
    assert got[2].item() == np.abs(got[0]).max()


@everywhere()
def test_sdpa_mxfp8_backward(handle):
    """The gradients by central differences of the definition in float64."""
    b, h, s, d = 1, 1, 32, 32
    rng = np.random.default_rng(15)
    data = [rng.integers(-8, 9, (b, h, s, d)).astype(np.float32) / 4 for _ in range(3)]
    scales = [rng.integers(125, 128, (b * h, s, 1)) for _ in range(3)]
    true = [one * np.ldexp(1.0, two.reshape(b, h, s, 1) - 127) for one, two in zip(data, scales, strict=True)]
    mask = MODS["causal"][1]
    want_o, logarithm = attention(*true, 0.125, mask)
    do = rng.integers(-4, 5, (b, h, s, d)).astype(np.float16) / 4
    g = cudnn.pygraph("mxfp8", D.FP8_E4M3, D.FLOAT, D.FLOAT, handle)
    shape = {"dim": (b, h, s, d), "stride": (h * s * d, s * d, d, 1)}
    names = ("q", "q_T", "k", "k_T", "v", "dO", "dO_T")
    given = {name: g.tensor(**shape, data_type=D.FP8_E4M3, name=name) for name in names}
    given |= {name: g.tensor(**shape, data_type=D.HALF, name=name) for name in ("o_f16", "dO_f16")}
    given["stats"] = g.tensor(dim=(b, h, s, 1), stride=(h * s, s, 1, 1), data_type=D.FLOAT)
    tiled = {"data_type": D.FP8_E8M0, "reordering_type": cudnn.tensor_reordering.F8_128x4}
    for name in names:
        given[f"descale_{name}"] = g.tensor(dim=(b, h, 128, 4), stride=(h * 512, 512, 4, 1), **tiled)
    made = g.sdpa_mxfp8_backward(**given, attn_scale=0.125, use_causal_mask=True)
    for one in made:
        one.set_output(True).set_data_type(D.FLOAT)
    g.build(BOTH)
    pack = {given["o_f16"]: want_o.astype(np.float16), given["dO_f16"]: do}
    pack[given["stats"]] = logarithm.astype(np.float32)
    for name, one, two in zip(("q", "k", "v"), data, scales, strict=True):
        pack[given[name]] = D.FP8_E4M3.stored(one).view(np.uint8)
        pack[given[f"descale_{name}"]] = np.concatenate([tiles(each) for each in two])
    got = [np.full(shape["dim"] if place < 3 else (1, 1, 1, 1), np.nan, np.float32) for place in range(6)]
    g.execute({**pack, **dict(zip(made, got, strict=True))})
    for place in range(3):
        for index in [tuple(one) for one in rng.integers(0, (b, h, s, d), (12, 4))]:
            ends = []
            for step in (1e-4, -1e-4):
                moved = [one.astype(np.float64) for one in true]
                moved[place][index] += step
                ends.append((attention(*moved, 0.125, mask)[0] * do).sum())
            assert abs(got[place][index] - (ends[0] - ends[1]) / 2e-4) < 4e-3  # O is rounded to half
        assert got[place + 3].item() == np.abs(got[place]).max()
