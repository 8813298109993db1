"""Rotary embeddings and products of mixtures of experts, against loops over elements in NumPy and float64."""

import math

import numpy as np
import pytest
from helper import everywhere

import portadnn.graph as cudnn

D, M = cudnn.data_type, cudnn.moe_grouped_matmul_mode
TOLERANCE = {D.FLOAT: 2e-5, D.DOUBLE: 1e-12, D.HALF: 2e-3}
STORAGE = {D.FLOAT: np.float32, D.DOUBLE: np.float64, D.HALF: np.float16, D.INT32: np.int32}


def pygraph(handle, kind):
    compute = D.DOUBLE if kind is D.DOUBLE else D.FLOAT
    return cudnn.pygraph("rows", kind, D.FLOAT, compute, handle)


def permuted(values, order):
    """Return an array that has its axes in another order in memory, the last of `order` fastest."""
    return np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))


def run(g, pack, result, kind, layout=None):
    """Build and execute a graph; return what it wrote to `result`."""
    result.set_output(True).set_data_type(kind)
    if layout is not None:
        result.set_dim(layout.shape).set_stride([step // layout.itemsize for step in layout.strides])
    g.build([cudnn.heur_mode.A])
    out = np.full(result.get_dim(), np.nan, STORAGE[kind]) if layout is None else layout
    out = permuted(out, np.argsort([-s for s in result.get_stride()], kind="stable"))
    g.execute({**pack, result: out})
    return out.astype(np.float64)


# rotary embeddings


def turned_by_loops(x, table, count, scale, sign):
    """Turn each pair of numbers by itself."""
    y = x * scale
    for b, h, s in np.ndindex(x.shape[:3]):
        for i in range(count // 2):
            c, d = math.cos(table[s, i]), sign * math.sin(table[s, i])
            first, second = x[b, h, s, i], x[b, h, s, i + count // 2]
            y[b, h, s, i] = scale * (first * c - second * d)
            y[b, h, s, i + count // 2] = scale * (second * c + first * d)
    return y


ROPES = {  # dims, columns and rows of the table, rope_dim, scale, type, order of the axes in memory
    "all": ((2, 3, 5, 8), (5, 8), None, 1.0, D.FLOAT, (0, 1, 2, 3)),
    "a part": ((1, 2, 4, 10), (9, 3), 6, 1.0, D.FLOAT, (0, 2, 1, 3)),
    "scaled": ((1, 2, 4, 6), (4, 3), None, 1.5, D.HALF, (0, 1, 2, 3)),
    "a part, scaled": ((2, 1, 3, 4), (3, 4), 2, 0.5, D.DOUBLE, (0, 2, 1, 3)),
}


@everywhere()
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("case", ROPES)
def test_rope(handle, case, backward):
    dims, (positions, columns), count, scale, kind, order = ROPES[case]
    rng = np.random.default_rng(1)
    x = permuted(rng.standard_normal(dims).astype(STORAGE[kind]), order)
    table = np.full((positions, columns), np.nan)
    used = (count or dims[3]) // 2
    table[:, :used] = rng.uniform(-9, 9, (positions, used))  # other columns are not read
    table = table.astype(np.float64 if kind is D.DOUBLE else np.float32)
    g = pygraph(handle, kind)
    a, freqs = g.tensor_like(x), g.tensor_like(table.reshape(positions, 1, 1, columns))
    method = g.rope_backward if backward else g.rope
    got = run(g, {a: x, freqs: table}, method(a, freqs, output_scale=scale, rope_dim=count), kind)
    want = turned_by_loops(
        x.astype(np.float64), table.astype(np.float64), count or dims[3], scale, -1 if backward else 1
    )
    np.testing.assert_allclose(got, want, rtol=TOLERANCE[kind], atol=TOLERANCE[kind])


def test_the_gradient_of_rope_turns_back():
    g = pygraph(cudnn.create_handle("reference"), D.DOUBLE)
    rng = np.random.default_rng(2)
    x, table = rng.standard_normal((1, 2, 3, 4)), rng.standard_normal((3, 1, 1, 2))
    a, freqs = g.tensor_like(x), g.tensor_like(table)
    back = g.rope_backward(g.rope(a, freqs).set_data_type(D.DOUBLE), freqs)
    np.testing.assert_allclose(run(g, {a: x, freqs: table}, back, D.DOUBLE), x, atol=1e-14)


# mixtures of experts


def owners(offsets, rows):
    """Return the expert of each row, None before the first."""
    found = [None] * rows
    for expert, start in enumerate(offsets):
        for row in range(start, rows):
            found[row] = expert
    return found


MIXTURES = {  # mode, offsets, tokens, index, ks, top_k, type
    "sorted": (M.NONE, [0, 2, 2, 5], 7, None, None, 0, D.FLOAT),
    "half": (M.NONE, [0, 1, 6], 6, None, None, 0, D.HALF),
    "rows before the first expert": (M.NONE, [1, 3], 5, None, None, 0, D.DOUBLE),
    "gathered": (M.GATHER, [0, 3, 3], 3, [2, 0, 1, 1, 2], None, 2, D.FLOAT),
    "scattered": (M.SCATTER, [0, 2], 4, [3, 0, 2, 1], None, 0, D.FLOAT),
    "scattered by rank": (M.SCATTER, [0, 2], 4, [1, 0, 0, 1], [0, 1, 0, 1], 2, D.FLOAT),
}


@everywhere()
@pytest.mark.parametrize("case", MIXTURES)
def test_moe_grouped_matmul(handle, case):
    mode, offsets, tokens, index, ks, top_k, kind = MIXTURES[case]
    rng = np.random.default_rng(3)
    width, out, experts = 5, 3, len(offsets)
    x = rng.standard_normal((1, tokens, width)).astype(STORAGE[kind])
    w = permuted(rng.standard_normal((experts, width, out)).astype(STORAGE[kind]), (0, 2, 1))
    pack, g = {}, pygraph(handle, kind)
    for name, values in (("offset", offsets), ("index", index), ("ks", ks)):
        if values is not None:
            array = np.array(values, np.int32).reshape((-1, 1, 1) if name == "offset" else (1, -1, 1))
            pack[name] = (g.tensor_like(array), array)
    a, b = g.tensor_like(x), g.tensor_like(w)
    ports = [pack[name][0] if name in pack else None for name in ("offset", "index", "ks")]
    y = g.moe_grouped_matmul(a, b, *ports, mode=mode, top_k=top_k)
    got = run(g, {a: x, b: w, **dict(pack.values())}, y, kind)
    rows = index if mode is M.GATHER else range(tokens)
    want = np.zeros((len(rows), out))
    for row, expert in enumerate(owners(offsets, len(rows))):
        if expert is None:
            continue
        source = index[row] if mode is M.GATHER else row
        to = row
        if mode is M.SCATTER:
            to = index[row] if ks is None else index[row] * top_k + ks[row]
        for n in range(out):
            want[to, n] = sum(float(x[0, source, k]) * float(w[expert, k, n]) for k in range(width))
    np.testing.assert_allclose(got[0], want, rtol=TOLERANCE[kind], atol=TOLERANCE[kind])


@everywhere()
@pytest.mark.parametrize("case", [name for name in MIXTURES if MIXTURES[name][0] is M.NONE])
def test_moe_grouped_matmul_bwd(handle, case):
    _, offsets, tokens, _, _, _, kind = MIXTURES[case]
    rng = np.random.default_rng(4)
    x = rng.standard_normal((1, tokens, 5)).astype(STORAGE[kind])
    dy = rng.standard_normal((1, tokens, 3)).astype(STORAGE[kind])
    offset = np.array(offsets, np.int32).reshape(-1, 1, 1)
    g = pygraph(handle, kind)
    tensors = [g.tensor_like(one) for one in (dy, x, offset)]
    got = run(g, dict(zip(tensors, (dy, x, offset), strict=True)), g.moe_grouped_matmul_bwd(*tensors), kind)
    want = np.zeros((len(offsets), 5, 3))
    for row, expert in enumerate(owners(offsets, tokens)):
        if expert is not None:
            want[expert] += np.outer(x[0, row].astype(np.float64), dy[0, row].astype(np.float64))
    np.testing.assert_allclose(got, want, rtol=TOLERANCE[kind], atol=TOLERANCE[kind])


@everywhere()
def test_moe_grouped_matmul_combines(handle):
    """Each token's rows, which stand sorted by expert, times their scores and added up."""
    tokens, each, width, out = 4, 2, 5, 3
    rng = np.random.default_rng(4)
    choice = [(0, 2), (1, 2), (0, 1), (2, 0)]  # experts of each token, by rank
    order = sorted((expert, token, rank) for token, pair in enumerate(choice) for rank, expert in enumerate(pair))
    offsets = [sum(one[0] < expert for one in order) for expert in range(3)]
    x = rng.standard_normal((1, tokens * each, width)).astype(np.float32)
    w = rng.standard_normal((3, width, out)).astype(np.float32)
    scores = rng.uniform(0, 1, (1, tokens, each)).astype(np.float32)
    g = pygraph(handle, D.FLOAT)
    arrays = [x, w, np.array(offsets, np.int32).reshape(-1, 1, 1)]
    arrays += [np.array([one[place] for one in order], np.int32).reshape(1, -1, 1) for place in (1, 2)]
    inputs = [g.tensor_like(one) for one in (*arrays, scores)]
    y = g.moe_grouped_matmul(*inputs[:5], mode=M.COMBINE, top_k=each, top_k_scores=inputs[5])
    got = run(g, dict(zip(inputs, (*arrays, scores), strict=True)), y, D.FLOAT)
    want = np.zeros((tokens, out))
    for row, (expert, token, rank) in enumerate(order):
        want[token] += float(scores[0, token, rank]) * (x[0, row].astype(np.float64) @ w[expert])
    np.testing.assert_allclose(got, want[None], rtol=2e-5, atol=2e-5)
