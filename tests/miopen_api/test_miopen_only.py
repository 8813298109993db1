"""What MIOpen alone has, with its names, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from miopen_env import F, H, close, every_backend, sigmoid

import portadnn as dnn
from portadnn import miopen

NONE, SUM, MEAN = (getattr(miopen, f"MIOPEN_LOSS_REDUCTION_{name}") for name in ("NONE", "SUM", "MEAN"))
I32, I64 = miopen.miopenInt32, miopen.miopenInt64


@every_backend()
@pytest.mark.parametrize(("dims", "dim"), [((4, 3), 0), ((2, 6, 3, 2), 1), ((8,), 0), ((2, 3, 2, 2, 4), 4)])
def test_gated_units(env, dims, dim):
    host, half = env.random(*dims), (*dims[:dim], dims[dim] // 2, *dims[dim + 1 :])
    a, b = (part.astype(float) for part in np.split(host, 2, dim))
    dy = env.random(*half)
    (xd, x), (yd, y), (dd, d), (gd, g) = env.pair(host), env.out(*half), env.pair(dy), env.out(*dims)
    miopen.miopenGLUForward(env.h, xd, x, yd, y, dim)
    close(env.host(y).reshape(half), a * sigmoid(b))
    miopen.miopenGLUBackward(env.h, xd, x, dd, d, gd, g, dim)
    want = np.concatenate([sigmoid(b) * dy, a * dy * sigmoid(b) * sigmoid(-b)], dim)
    close(env.host(g).reshape(dims), want)


@every_backend()
def test_rotary_embeddings(env):
    host, cos, sin = env.random(2, 5, 3, 8), env.random(5, 3, 8), env.random(5, 3, 8)
    tables = (*env.pair(cos), *env.pair(sin))
    yd, y = env.out(2, 5, 3, 8)
    turned = np.empty(host.shape)
    turned[..., ::2], turned[..., 1::2] = -host[..., 1::2], host[..., ::2]
    miopen.miopenRoPEForward(env.h, *env.pair(host), *tables, yd, y)
    close(env.host(y), host * cos + turned * sin)
    moved = np.empty(host.shape)
    moved[..., ::2], moved[..., 1::2] = (host * sin)[..., 1::2], -(host * sin)[..., ::2]
    dxd, dx = env.out(2, 5, 3, 8)
    miopen.miopenRoPEBackward(env.h, *env.pair(host), *tables, dxd, dx)
    close(env.host(dx), host * cos + moved)
    xd, yd = env.pair(env.random(6, 4)), env.out(6, 4)
    flat = env.random(4), env.random(4)
    miopen.miopenRoPEForward(env.h, *xd, *env.pair(flat[0]), *env.pair(flat[1]), *yd)
    assert np.isfinite(env.host(yd[1])).all()


@every_backend()
@pytest.mark.parametrize("dims", [(5, 3, 4), (6, 2), (7,)])
@pytest.mark.parametrize("each", [True, False])
def test_prelu(env, dims, each):
    count = dims[1] if each and len(dims) > 1 else 1
    host, weight, dy = env.random(*dims), env.random(count), env.random(*dims)
    (xd, x), (wd, w), (yd, y) = map(env.pair, (host, weight, dy))
    (dxd, dx), (dwd, dw) = env.out(*dims), env.out(count)
    size = miopen.miopenGetPReLUBackwardWorkspaceSize(env.h, xd, wd)
    miopen.miopenPReLUBackward(env.h, *env.bytes(size), xd, x, wd, w, yd, y, dxd, dx, dwd, dw)
    spread = weight.reshape(1, count, *(1,) * (len(dims) - 2)) if len(dims) > 1 else weight
    close(env.host(dx).reshape(dims), np.where(host > 0, dy, spread * dy.astype(float)))
    terms = np.where(host > 0, 0, host * dy.astype(float))
    axes = tuple(i for i in range(len(dims)) if i != 1 or count == 1)
    close(env.host(dw).reshape(-1), terms.sum(axes).reshape(-1), 1e-4)
    alone = env.out(*dims)
    miopen.miopenPReLUBackward(env.h, None, 0, xd, x, wd, w, yd, y, *alone, None, None)
    close(env.host(alone[1]), env.host(dx))


@every_backend()
def test_soft_margins(env):
    host, target = env.random(3, 4, 5), np.sign(env.random(3, 4, 5))
    each = np.log(1 + np.exp(-host.astype(float) * target))
    (xd, x), (td, t) = env.pair(host), env.pair(target)
    for how, dims, want in ((NONE, (3, 4, 5), each), (SUM, (1,), [each.sum()]), (MEAN, (1, 1), [[each.mean()]])):
        od, o = env.out(*dims)
        size = miopen.miopenGetSoftMarginLossForwardWorkspaceSize(env.h, xd, td, od, how)
        miopen.miopenSoftMarginLossForward(env.h, xd, x, td, t, od, o, how, *env.bytes(size))
        close(env.host(o).reshape(dims), want)
        (dd, d), (gd, g) = env.pair(env.random(3, 4, 5)), env.out(3, 4, 5)
        miopen.miopenSoftMarginLossBackward(env.h, xd, x, td, t, dd, d, gd, g, how)
        slope = -target / (1 + np.exp(host.astype(float) * target)) * env.host(d)
        close(env.host(g), slope / (each.size if how == MEAN else 1))


@every_backend()
@pytest.mark.parametrize("p", [1, 2])
def test_multi_margins(env, p):
    host, weight, target = env.random(6, 4), np.abs(env.random(4)), np.int64([0, 3, 1, 1, 2, 0])
    (xd, x), (td, t), (wd, w) = env.pair(host), env.pair(target), env.pair(weight)
    right = host[np.arange(6), target][:, None].astype(float)
    terms = weight[target][:, None] * np.maximum(0, 0.5 - right + host) ** p / 4
    terms[np.arange(6), target] = 0
    each = terms.sum(1)
    for how, want in ((NONE, each), (SUM, [each.sum()]), (MEAN, [each.mean()])):
        od, o = env.out(len(want))
        size = miopen.miopenGetMultiMarginLossForwardWorkspaceSize(env.h, xd, td, wd, od, p, 0.5, how)
        miopen.miopenMultiMarginLossForward(env.h, xd, x, td, t, wd, w, od, o, p, 0.5, how, *env.bytes(size))
        close(env.host(o), want)
    with pytest.raises(dnn.BadParam, match="miopenInt64"):
        short = env.pair(target.astype(np.int32))
        miopen.miopenMultiMarginLossForward(env.h, xd, x, *short, wd, w, od, o, p, 0.5, MEAN, None, 0)
    with pytest.raises(dnn.BadParam, match="p: expected 1 or 2"):
        miopen.miopenMultiMarginLossForward(env.h, xd, x, td, t, wd, w, od, o, 3, 0.5, MEAN, None, 0)


@every_backend()
def test_concatenation(env):
    parts = [env.random(2, n, 3, 2) for n in (1, 4, 2)]
    pairs = [env.pair(part) for part in parts]
    yd, y = env.out(2, 7, 3, 2)
    descs, memory = zip(*pairs, strict=True)
    miopen.miopenCatForward(env.h, 3, descs, memory, yd, y, 1)
    assert (env.host(y) == np.concatenate(parts, 1)).all()
    for count, dim, word in ((2, 1, "y.dims"), (3, 0, "dims"), (3, 4, "dim"), (4, 1, "xDescs"), (0, 1, "xCount")):
        with pytest.raises(dnn.BadParam, match=word):
            miopen.miopenCatForward(env.h, count, descs, memory, yd, y, dim)
    with pytest.raises(dnn.NotSupported, match="at most 8"):
        miopen.miopenCatForward(env.h, 9, descs * 3, memory * 3, yd, y, 1)


@every_backend()
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(("dims", "dim"), [((4, 30, 3), 1), ((5, 40), -1), ((2, 3, 2, 2, 7), 4), ((9,), 0)])
def test_selection(env, dims, dim, kept):
    host = env.rng.integers(-9, 9, dims).astype(np.float32)
    axis = dim % len(dims)
    left = (*dims[:axis], *(1,) * kept, *dims[axis + 1 :]) or (1,)
    for k in (1, dims[axis] // 2, dims[axis]):
        (xd, x), (yd, y), (nd, n) = env.pair(host), env.out(*left), env.pair(np.full(left, -1, np.int64))
        miopen.miopenKthvalueForward(env.h, xd, x, yd, y, nd, n, k, dim, kept)
        want = np.sort(host, axis).take(k - 1, axis)
        assert (env.host(y).reshape(want.shape) == want).all()
        same = host == np.expand_dims(want, axis)
        assert (env.host(n).reshape(want.shape) == same.argmax(axis)).all()
    for k, word in ((0, "k"), (dims[axis] + 1, "k")):
        with pytest.raises(dnn.BadParam, match=word):
            miopen.miopenKthvalueForward(env.h, xd, x, yd, y, nd, n, k, dim, kept)


@every_backend()
def test_gradients_of_indexing(env):
    host, i, j = env.random(30, 3), env.rng.integers(-4, 4, 30), env.rng.integers(0, 5, 30)
    before = env.random(8, 5, 3)
    pairs = [env.pair(i), env.pair(j)]
    (dd, dy), (xd, dx), (ed, error) = env.pair(host), env.pair(before), env.pair(np.zeros(2, np.int32))
    descs, memory = zip(*pairs, strict=True)
    assert miopen.miopenGetGetitemWorkspaceSize(env.h, 2, descs) == 0
    slices = [0, 1, 8, 2]

    def call(count=2, dims=(0, 1), sliced=1, offset=0):
        words = (count, descs, memory, xd, dx, ed, error, len(dims), dims, sliced, slices, offset)
        miopen.miopenGetitemBackward(env.h, None, 0, dd, dy, *words)

    call()
    want = before.astype(float)
    np.add.at(want[1::2], (i, j), host)
    close(env.host(dx).reshape(want.shape), want)
    assert env.host(error).tolist() == [0, 0]
    call(offset=1)  # 3 places are left
    valid = (i >= -3) & (i < 3)
    np.add.at(want[3::2], (i[valid], j[valid]), host[valid])
    close(env.host(dx).reshape(want.shape), want)
    assert env.host(error).tolist() == [-1, 0]
    for words, match in (
        ({"dims": (0,)}, "dimCount"),
        ({"count": 3, "dims": (0, 1, 2)}, "indexDescs"),
        ({"dims": (1, 0)}, "dims"),
    ):
        with pytest.raises(dnn.BadParam, match=match):
            call(**words)
    with pytest.raises(dnn.NotSupported, match="at most 5"):
        call(count=6)


@every_backend()
def test_types_and_halves(env):
    (xd, x), (yd, y) = env.pair(env.random(4, 3)), env.out(2, 3, dtype=H)
    with pytest.raises(dnn.BadParam, match="dtype") as caught:
        miopen.miopenGLUForward(env.h, xd, x, yd, y, 0)
    assert caught.value.status is miopen.miopenStatusBadParm
    with pytest.raises(dnn.BadParam, match="even"):
        miopen.miopenGLUForward(env.h, *env.pair(env.random(3, 3)), *env.out(1, 3, dtype=F), 0)


def adam_step(p, g, m, v, step, transformers=False, adamw=False, decay=0.25):
    """Return parameters and averages after a step with the rates of the tests."""
    p, g = p.astype(float), g.astype(float)
    g = g if transformers or adamw else g + decay * p
    p = p * (1 - 0.125 * decay) if adamw else p
    m, v = 0.875 * m + 0.125 * g, 0.96875 * v + 0.03125 * g * g
    first, second = 1 - 0.875**step, 1 - 0.96875**step
    if transformers:
        p = p - 0.125 * np.sqrt(second) / first * m / (np.sqrt(v) + 0.0078125)
        return p * (1 - 0.125 * decay), m, v
    return p - 0.125 / first * m / (np.sqrt(v / second) + 0.0078125), m, v


RATES = (0.125, 0.875, 0.96875, 0.25, 0.0078125)


@every_backend()
@pytest.mark.parametrize("transformers", [False, True])
@pytest.mark.parametrize("dims", [(5, 7), (2, 3, 2, 2, 3)])
def test_adam_in_place(env, transformers, dims):
    host, zeros = env.random(*dims), np.zeros(dims, np.float32)
    p, m, v = env.pair(host), env.pair(zeros), env.pair(zeros)
    want, mean, square = host, 0.0, 0.0
    for step in (1, 2, 3):
        g = env.random(*dims)
        if transformers:
            rest = (None, None, step, *RATES, True, None, None, None, None)
            miopen.miopenTransformersAdamW(env.h, *p, *env.pair(g), *m, *v, *rest)
        else:
            rest = (None, None, None, None, step, *RATES, False, False, True, None, None, None, None)
            miopen.miopenFusedAdam(env.h, *p, *env.pair(g), *m, *v, *rest)
        want, mean, square = adam_step(want, g, mean, square, step, transformers, not transformers)
    close(env.host(p[1]).reshape(dims), want)
    close(env.host(m[1]).reshape(dims), mean)
    close(env.host(v[1]).reshape(dims), square)


@every_backend()
def test_adam_of_mixed_precision(env):
    host, zeros = env.random(4, 5), np.zeros((4, 5), np.float32)
    old, new = [env.pair(a) for a in (host, zeros, zeros)], [env.out(4, 5) for _ in range(3)]
    g = env.random(4, 5, dtype=H)
    half, step, scale = env.out(4, 5, dtype=H), env.pair(np.int32([2])), env.pair(np.int32([4]))
    after = env.pair(np.int32([0]))
    found = env.desc(1, dtype=I32), env.dev(np.uint8([0, 0, 0, 0]))
    pairs = (*old[0], *new[0], *half, *env.pair(g), *old[1], *new[1], *old[2], *new[2])
    rest = (None, None, None, None, *step, *after, 0, *RATES, False, False, False, *scale, *found)
    miopen.miopenFusedAdamWithOutput(env.h, *pairs, *rest)
    want = adam_step(host, g.astype(float) / 4, 0.0, 0.0, 3)
    for pair, numbers in zip(new, want, strict=True):
        close(env.host(pair[1]), numbers)
    assert env.host(after[1]).tolist() == [3]
    assert (env.host(half[1]) == env.host(new[0][1]).astype(np.float16)).all()
    bad = env.desc(1, dtype=I32), env.dev(np.uint8([1, 0, 0, 0]))
    miopen.miopenTransformersAdamWWithOutput(env.h, *pairs, *step, *after, 0, *RATES, -1.0, True, *scale, *bad)
    assert (env.host(new[0][1]) == host).all() and env.host(after[1]).tolist() == [2]
    with pytest.raises(dnn.BadParam, match="max_exp_avg_sq"):
        wrong = (None, None, None, None, 1, *RATES, True, False, False, None, None, None, None)
        miopen.miopenFusedAdam(env.h, *old[0], *env.pair(host), *old[1], *old[2], *wrong)
