"""Gates, rotary embeddings, margin losses, concatenation, selection: against the reference, and loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helper import Case, check, over
from where import BACKENDS, open_handle

import portadnn as dnn

CASES = (
    Case("glu_forward x=f32:4x6x3x5 dim=0"),
    Case("glu_forward x=f16:3x6x5 dim=1", everywhere=False),
    Case("glu_forward x=f64:3x2x6x8:nhwc y=f64:3x2x6x4 dim=3", everywhere=False),
    Case("glu_backward x=bf16:2x8x7 dy=bf16:2x4x7 dim=1", everywhere=False),
    Case("glu_backward x=f32:2x3x4/30,8,2 dy=f32:2x3x2 dx=f32:2x3x4/40,12,3 dim=2"),
    Case("prelu_backward x=f32:5x7x33 weight=f32:1x7x1 dy=f32:5x7x33 dx=f32:5x7x33 dweight=f32:1x7x1"),
    Case("prelu_backward x=f16:90x3x70 weight=f16:1x1x1 dy=f16:90x3x70 dx=f16:90x3x70 dweight=f16:1x1x1"),
    Case("prelu_backward x=f64:2x3x4x5:nhwc weight=f64:1x3x1x1 dy=f64:2x3x4x5 dweight=f64:1x3x1x1"),
    Case("prelu_backward x=bf16:2x1x4 weight=bf16:1x1x1 dy=bf16:2x1x4 dx=bf16:2x1x4", everywhere=False),
    Case("rope_forward x=f32:2x3x5x8 cos=f32:1x1x5x8 sin=f32:1x1x5x8"),
    Case("rope_forward x=f16:2x5x6/40,7,1 cos=f16:1x1x6 sin=f16:1x1x6", everywhere=False),
    Case("rope_backward dy=f64:2x3x5x8 cos=f64:2x3x5x8 sin=f64:2x3x5x8", everywhere=False),
    Case("rope_backward dy=bf16:2x5x6:nhwc cos=bf16:1x5x6 sin=bf16:1x5x6"),
    Case("soft_margin_loss_forward x=f32:2x3x70x90 target=f32:2x3x70x90 reduction=sum"),
    Case("soft_margin_loss_forward x=f16:2x3x4 target=f16:2x3x4 reduction=mean", everywhere=False),
    Case("soft_margin_loss_forward x=f64:2x3x4 target=f64:2x3x4/24,8,2 reduction=none", everywhere=False),
    Case("soft_margin_loss_backward x=f32:2x3x4x5 target=f32:2x3x4x5:nhwc dloss=f32:2x3x4x5 reduction=mean"),
    Case("soft_margin_loss_backward x=bf16:7x3x4 target=bf16:7x3x4 dloss=bf16:7x3x4 reduction=none", everywhere=False),
    Case("cat_forward x0=f32:2x3x4 x1=f32:2x1x4 x2=f32:2x5x4/60,8,2 dim=1", "integer"),
    Case("cat_forward x0=f16:2x3x4 x1=f16:3x3x4 dim=0", "integer", everywhere=False),
    Case("cat_forward x0=bf16:2x3x4:nhwc x1=bf16:2x3x1 y=bf16:2x3x5/90,20,3 dim=2", everywhere=False),
    Case("cat_forward x0=f64:1x3x4 dim=2", everywhere=False),
    Case("kthvalue_forward x=f32:3x40x5 k=7 dim=1", "integer"),
    Case("kthvalue_forward x=f64:3x4x300 k=300"),
    Case("kthvalue_forward x=f16:3x4x5:nhwc y=f16:1x4x5/90,20,3 indices=i32:1x4x5 k=2 dim=0", "integer"),
    Case("kthvalue_forward x=bf16:2x1x65 k=1", "integer", everywhere=False),
    Case("getitem_backward dy=f32:70x4x3 dx=f32:3x5x4x3 index0=i64:70 index1=i64:70 dims=0,1"),
    Case("getitem_backward dy=f16:2x40x5 dx=f16:2x9x5:nhwc index0=i32:41 dims=1 add=yes"),
    Case("getitem_backward dy=f64:2x2x9 dx=f64:5x3x4 index0=i32:9 dims=2 slices=0,1,5,2,1,1,3,1", everywhere=False),
    Case("getitem_backward dy=bf16:3x2 dx=bf16:6x3 slices=0,1,6,1,1,0,9,2 offset=2"),
)


@over(CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


def draw(*dims, dtype=np.float32, seed=5):
    return np.random.default_rng(seed).standard_normal(dims).astype(dtype)


def loops(result, *dims):
    """Fill an array by a function of its places."""
    found = np.empty(dims)
    for place in itertools.product(*map(range, dims)):
        found[place] = result(*place)
    return found


def close(handle, found, want, rtol=1e-5):
    np.testing.assert_allclose(handle.to_numpy(found), want, rtol, 1e-5)


def sigmoid(v):
    return 1 / (1 + math.exp(-v))


def gradient(loss, at, step=1e-6):
    """Return the gradient of a number by central differences."""
    at, found = at.astype(float), np.zeros(at.shape)
    for place in itertools.product(*map(range, at.shape)):
        old = at[place]
        at[place] = old + step
        more = loss(at)
        at[place] = old - step
        found[place] = (more - loss(at)) / (2 * step)
        at[place] = old
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_gated_units_by_loops(backend):
    x, dy = draw(3, 4, 2), draw(3, 2, 2, seed=6)

    def glu(x):
        return loops(lambda i, j, k: x[i, j, k] * sigmoid(x[i, j + 2, k]), 3, 2, 2)

    with open_handle(backend) as h:
        close(h, dnn.glu_forward(h, h.asarray(x), dim=1), glu(x))
        want = gradient(lambda v: (glu(v) * dy).sum(), x)
        close(h, dnn.glu_backward(h, h.asarray(x), h.asarray(dy), dim=1), want)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("channels", [1, 4])
def test_gradients_of_prelu_by_differences(backend, channels):
    x, weight, dy = draw(3, 4, 2), draw(1, channels, 1, seed=1), draw(3, 4, 2, seed=6)

    def loss(x, w):
        return (np.where(x > 0, x, x * w) * dy).sum()

    with open_handle(backend) as h:
        data = map(h.asarray, (x, weight, dy))
        dx, dw = dnn.prelu_backward(h, *data, h.empty(x.shape), h.empty(weight.shape))
        close(h, dx, gradient(lambda v: loss(v, weight), x))
        close(h, dw, gradient(lambda w: loss(x, w), weight))
        with pytest.raises(dnn.BadParam, match="dx"):
            dnn.prelu_backward(h, h.asarray(x), h.asarray(weight), h.asarray(dy))


@pytest.mark.parametrize("backend", BACKENDS)
def test_pairs_are_turned_by_angles(backend):
    """Complex numbers times exp(i * angle), and the gradient turns back."""
    x, angles = draw(2, 3, 5, 8), draw(5, 4, seed=2)
    cos, sin = (np.repeat(f(angles), 2, -1).reshape(1, 1, 5, 8) for f in (np.cos, np.sin))
    turned = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    want = np.stack([turned.real, turned.imag], -1).reshape(x.shape)
    with open_handle(backend) as h:
        y = dnn.rope_forward(h, h.asarray(x), h.asarray(cos), h.asarray(sin))
        close(h, y, want)
        close(h, dnn.rope_backward(h, y, h.asarray(cos), h.asarray(sin)), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rope_of_tables_that_are_no_angles(backend):
    x, cos, sin, dy = (draw(*dims, seed=i) for i, dims in enumerate(((2, 3, 4), (1, 3, 4), (1, 3, 4), (2, 3, 4))))

    def rope(x):
        def one(n, s, d):
            other = -x[n, s, d + 1] if d % 2 == 0 else x[n, s, d - 1]
            return x[n, s, d] * cos[0, s, d] + other * sin[0, s, d]

        return loops(one, 2, 3, 4)

    with open_handle(backend) as h:
        tables = h.asarray(cos), h.asarray(sin)
        close(h, dnn.rope_forward(h, h.asarray(x), *tables), rope(x))
        close(h, dnn.rope_backward(h, h.asarray(dy), *tables), gradient(lambda v: (rope(v) * dy).sum(), x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_soft_margins_by_differences(backend):
    x, target, dloss = draw(2, 3, 4), np.sign(draw(2, 3, 4, seed=1)), draw(2, 3, 4, seed=2)
    each = loops(lambda *p: math.log(1 + math.exp(-float(x[p]) * target[p])), 2, 3, 4)
    wanted = {"none": (each, 1), "sum": (each.sum(), 1), "mean": (each.mean(), each.size)}
    with open_handle(backend) as h:
        a, t, d = map(h.asarray, (x, target, dloss))
        for how, (want, count) in wanted.items():
            loss = dnn.soft_margin_loss_forward(h, a, t, reduction=how)
            close(h, loss, np.reshape(want, loss.shape))
            slope = gradient(lambda v, n=count: (np.log(1 + np.exp(-v * target)) * dloss).sum() / n, x)
            close(h, dnn.soft_margin_loss_backward(h, a, t, d, reduction=how), slope)
        far = h.asarray(np.float32([[[500, -500]]]))
        losses = dnn.soft_margin_loss_forward(h, far, h.asarray(np.ones((1, 1, 2), np.float32)), reduction="none")
        close(h, losses, [[[0, 500]]])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("rows", "classes"), [(5, 4), (40, 1), (70, 90)])
def test_multi_margins_by_loops(backend, rows, classes):
    x, weight = draw(rows, classes), np.abs(draw(classes, seed=3))
    target = np.random.default_rng(4).integers(0, classes, rows)

    def loss(n, p):
        t = target[n]
        terms = (max(0.0, 0.7 - float(x[n, t]) + float(x[n, c])) ** p for c in range(classes) if c != t)
        return weight[t] * sum(terms) / classes

    with open_handle(backend) as h:
        a, w = h.asarray(x), h.asarray(weight)
        for p, index in ((1, np.int64), (2, np.int32)):
            t = h.device.asarray(target.astype(index))
            each = np.array([loss(n, p) for n in range(rows)])
            for how, want in (("none", each), ("sum", [each.sum()]), ("mean", [each.mean()])):
                found = dnn.multi_margin_loss_forward(h, a, t, w, p=p, margin=0.7, reduction=how)
                close(h, found, want, 1e-4)
        wrong = h.device.asarray(np.where(np.arange(rows) == 2, classes, target))
        found = h.to_numpy(dnn.multi_margin_loss_forward(h, a, wrong, w, reduction="none"))
        assert np.flatnonzero(np.isnan(found)).tolist() == [2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_selection_of_what_is_no_number_and_of_zeros(backend):
    nan, inf = np.nan, np.inf
    row = np.float32([nan, 0.0, -inf, 3, -0.0, inf, 3, -2])
    order = [2, 7, 4, 1, 3, 3, 5, 0]  # of equals the first is named each time
    with open_handle(backend) as h:
        x = h.asarray(row.reshape(1, 1, 8))
        for k, place in enumerate(order, 1):
            y, where = (h.to_numpy(v).item() for v in dnn.kthvalue_forward(h, x, k=k))
            assert where == place
            assert np.array_equal(y, row[place], equal_nan=True)
            assert np.signbit(y) == np.signbit(row[place]) or np.isnan(y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_selection_by_sorting(backend):
    x = np.random.default_rng(8).integers(-20, 20, (4, 50, 6)).astype(np.float32) / 4
    with open_handle(backend) as h:
        a = h.asarray(x)
        for dim in (0, 1, 2, -1):
            for k in {1, 2, x.shape[dim] // 2, x.shape[dim]}:
                y, where = map(h.to_numpy, dnn.kthvalue_forward(h, a, k=k, dim=dim))
                assert (y == np.sort(x, dim).take([k - 1], dim)).all()
                assert (where == np.expand_dims((x == y).argmax(dim), dim)).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_concatenation(backend):
    with open_handle(backend) as h:
        for dim in range(3):
            parts = [draw(*(n if i == dim else 3 for i in range(3)), seed=n) for n in (1, 4, 2, 1, 1, 2, 3, 1)]
            for count in (1, 2, 3, 8):
                y = dnn.cat_forward(h, [h.asarray(p) for p in parts[:count]], dim=dim)
                assert (h.to_numpy(y) == np.concatenate(parts[:count], dim)).all()
        with pytest.raises(dnn.NotSupported, match="at most 8"):
            dnn.cat_forward(h, [h.asarray(parts[0])] * 9)
        with pytest.raises(dnn.BadParam, match="xs"):
            dnn.cat_forward(h, [])


def indexed(dx, dy, indices, dims, slices=(), offset=0):
    """Add gradients of indexing to dx with NumPy; return the errors as well."""
    window = dx
    for dim, start, end, step in slices:
        window = window[(slice(None),) * dim + (slice(start, end, step),)]
    window = window[offset:]
    sizes, errors, valid = (
        [window.shape[d] for d in dims],
        [],
        np.ones(len(dy) if not dims else dy.shape[dims[0]], bool),
    )
    for index, size in zip(indices, sizes, strict=True):
        wrong = (index < -size) | (index >= size)
        errors.append(-int(wrong.any()))
        valid &= ~wrong[: len(valid)]
    if not dims:
        window[tuple(map(slice, dy.shape))] += dy
        return errors
    rest = tuple(slice(n) for n in dy.shape[dims[0] + 1 :])
    for row in np.flatnonzero(valid):
        where = tuple(slice(n) for n in dy.shape[: dims[0]]) + tuple(int(index[row]) for index in indices) + rest
        window[where] += dy.take(row, dims[0])
    return errors


WINDOWS = (  # dims of dy and dx, indexed dims, numbers of each index, slices, offset
    ((50, 3), (6, 5, 3), (0, 1), 50, (), 0),
    ((2, 300), (2, 7), (1,), 300, (), 0),
    ((4, 60), (4, 3, 2, 2), (1, 2, 3), 60, (), 0),
    ((9,), (4,), (0,), 12, (), 0),
    ((5, 6), (9, 8), (0,), 5, ((1, 2, 99, 1), (0, 1, 9, 2)), 1),
    ((2, 3, 3, 2), (3, 4, 5, 9), (2,), 3, ((3, 1, 8, 2), (3, 1, 4, 1), (1, 1, 4, 1)), 1),
    ((20,), (3, 2, 2, 1, 3), (0, 1, 2, 3, 4), 20, (), 0),
    ((3, 2), (7, 4), (), 0, ((0, 0, 7, 2), (1, 1, 4, 2)), 1),
    ((0, 3), (4, 3), (0,), 0, (), 0),
)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("given", WINDOWS)
def test_gradients_of_indexing_by_loops(backend, given):
    dims, whole, indexed_dims, count, slices, offset = given
    rng, index_type = np.random.default_rng(3), np.int32 if len(indexed_dims) % 2 else np.int64
    with open_handle(backend) as h:
        for beyond in (0, 1):
            dy, before = draw(*dims), draw(*whole, seed=7)
            left = np.empty(whole)
            for dim, start, end, step in slices:
                left = left[(slice(None),) * dim + (slice(start, end, step),)]
            sizes = [left[offset:].shape[d] for d in indexed_dims]
            indices = [rng.integers(-n - beyond, n + beyond, count).astype(index_type) for n in sizes]
            flat = [number for one in slices for number in one]
            for add in (False, True):
                want = before.astype(float) if add else np.zeros(whole)
                errors = indexed(want, dy.astype(float), indices, indexed_dims, slices, offset)
                places = [h.device.asarray(index) for index in indices]
                words = {"dims": indexed_dims, "slices": flat, "offset": offset, "add": add}
                dx, error = dnn.getitem_backward(h, h.asarray(dy), places, h.asarray(before), **words)
                close(h, dx, want)
                assert error is None if not indices else h.to_numpy(error).tolist() == errors


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_indexing_are_the_same_each_time(backend):
    index, dy = np.random.default_rng(1).integers(0, 3, 4000), draw(4000, 5) * 1000
    with open_handle(backend) as h:
        places, data = [h.device.asarray(index)], h.asarray(dy)
        results = {
            h.to_numpy(
                dnn.getitem_backward(h, data, places, h.asarray(np.ones((3, 5), np.float32)), dims=(0,))[0]
            ).tobytes()
            for _ in range(4)
        }
        assert len(results) == 1
