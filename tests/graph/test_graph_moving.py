"""Slices, transpositions, reshapes and concatenations: beside NumPy, alone and joined with what is around them."""

from __future__ import annotations

import helper
import numpy as np
import pytest
from graphs import D, buffer, given, new, numbers

import portadnn.graph as cudnn
from portadnn.graph.layout import viewed

ALL = slice(None)
LOGICAL = cudnn.reshape_mode.LOGICAL
over = pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)


def execute(target, build, arrays, kind=D.FLOAT, compute=D.FLOAT):
    """Run what `build` makes of inputs with these numbers; returns the built graph and the outputs' numbers."""
    g = new(helper.open_handle(target), kind, compute)
    inputs = [given(g, array.shape) for array in arrays]
    outs = build(g, *inputs)
    for one in outs:
        one.set_output(True)
    g.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    pack = {one: buffer(one, array)[0] for one, array in zip(inputs, arrays, strict=True)}
    views = [buffer(one) for one in outs]
    g.execute({**pack, **{one: flat for one, (flat, _) in zip(outs, views, strict=True)}})
    return g, [one.get_data_type().loaded(view) for one, (_, view) in zip(outs, views, strict=True)]


def swish(x):
    return x / (1 + np.exp(-x))


def reshaped(g, x, dims):
    return g.reshape(x, reshape_mode=LOGICAL).set_dim(list(dims))


def gated(g, x):
    """Two halves of a product's columns, one of which is the other's gate."""
    first, second = (g.slice(x, [ALL, ALL, part]) for part in (slice(0, 20), slice(20, 40)))
    return [g.mul(g.swish(first), second)]


def split_heads(g, x, bias):
    """(b, s, h * d) to (b, h, s, d), and a bias added."""
    return [g.add(g.transpose(reshaped(g, x, (2, 5, 3, 8)), [0, 2, 1, 3]), bias)]


def merge_heads(g, x):
    """A number of (b, h, s, d) to its place in (b, s, h, d)."""
    return [g.transpose(g.relu(x), [0, 2, 1, 3])]


def joined(g, x, y):
    return [g.concatenate([g.relu(x), g.neg(y), x], 1)]


def every_second(g, x):
    return [g.neg(g.slice(g.transpose(x, [1, 0, 2]), [slice(1, 3), slice(None, None, 2), slice(2, 9, 3)]))]


def row_sums(g, x):
    """Sums of parts of rows, by means of other dims."""
    return [g.reduction(reshaped(g, x, (4, 3, 5)), cudnn.reduction_mode.ADD).set_dim([4, 3, 1])]


def as_it_lies(g, x):
    return [g.neg(g.reshape(x, reshape_mode=cudnn.reshape_mode.VIEW_ONLY).set_dim([6, 10]))]


JOINED = {
    "gated": (gated, [(2, 6, 40)], lambda x: swish(x[..., :20]) * x[..., 20:], 1),
    "split heads": (
        split_heads,
        [(2, 5, 24), (1, 3, 1, 8)],
        lambda x, b: x.reshape(2, 5, 3, 8).transpose(0, 2, 1, 3) + b,
        1,
    ),
    "merge heads": (merge_heads, [(2, 3, 5, 8)], lambda x: np.maximum(x, 0).transpose(0, 2, 1, 3), 1),
    "joined": (joined, [(2, 3, 7), (2, 4, 7)], lambda x, y: np.concatenate([np.maximum(x, 0), -y, x], 1), 2),
    "every second": (every_second, [(5, 4, 11)], lambda x: -x.transpose(1, 0, 2)[1:3, ::2, 2:9:3], 1),
    "sums": (row_sums, [(4, 15)], lambda x: x.reshape(4, 3, 5).sum(2, keepdims=True), 1),
    "as it lies": (as_it_lies, [(3, 20)], lambda x: -x.reshape(6, 10), 1),
}


@pytest.mark.parametrize("name", JOINED)
@over
def test_joined(target, name):
    """One kernel, or one for each size that is stored; nothing is copied."""
    build, shapes, oracle, kernels = JOINED[name]
    arrays = [numbers(shape, i) for i, shape in enumerate(shapes)]
    g, (got,) = execute(target, build, arrays)
    np.testing.assert_allclose(got, oracle(*arrays), rtol=1e-5, atol=1e-6)
    assert g.get_plan_name_at_index(0) == "eng_fusion"
    assert g.get_plan_source().count("KERNEL ") == kernels


ALONE = {
    "slice": (lambda g, x: g.slice(x, [slice(1, 3), ALL, slice(None, None, 2)]), lambda x: x[1:3, :, ::2]),
    "transpose": (lambda g, x: g.transpose(x, [2, 0, 1]), lambda x: x.transpose(2, 0, 1)),
    "reshape": (lambda g, x: reshaped(g, x, (6, 4, 5)), lambda x: x.reshape(6, 4, 5)),
    "concatenate": (lambda g, x: g.concatenate([x, x], 1), lambda x: np.concatenate([x, x], 1)),
}
LARGE = {D.INT64: 2**62 + 1, D.INT32: 2**31 - 2, D.UINT8: 255, D.INT8: 127, D.FP8_E4M3: 1, D.BOOLEAN: 1}


@pytest.mark.parametrize("kind", LARGE, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ALONE)
@over
def test_every_bit_of_other_types(target, name, kind):
    build, oracle = ALONE[name]
    values = LARGE[kind] - np.arange(120).reshape(4, 5, 6) % (2 if LARGE[kind] == 1 else 100)
    kinds = {"kind": kind, "compute": D.FLOAT}
    g, (got,) = execute(target, lambda g, x: [build(g, x)], [values], **kinds)
    np.testing.assert_array_equal(got, oracle(values))
    assert "host" not in g.get_plan_name_at_index(0)


def after_a_product(g, a, b):
    """Halves of a product's columns, turned: what is multiplied is in memory, what is computed of it is not."""
    c = g.matmul(a, b)
    first, second = (g.slice(c, [ALL, ALL, part]) for part in (slice(0, 4), slice(4, 8)))
    return [g.transpose(g.mul(g.tanh(first), second), [0, 2, 1])]


def of_what_is_computed(g, a, b):
    """Slices of what is computed, which then has to lie in memory, and which others read as well."""
    y = g.tanh(g.add(a, g.transpose(b, [0, 2, 1])))
    part = g.slice(y, [ALL, slice(1, 3)])
    return [g.mul(part, g.slice(part, [ALL, slice(0, 1)])), y]


def joined_and_read(g, a, b):
    c = g.concatenate([g.neg(a), g.transpose(b, [0, 2, 1])], 2)
    return [g.mul(c, c), g.slice(c, [ALL, ALL, slice(5, 9)])]


def product_of_parts(a, b):
    c = a @ b
    return [(np.tanh(c[..., :4]) * c[..., 4:]).transpose(0, 2, 1)]


def parts_of_sums(a, b):
    y = np.tanh(a + b.transpose(0, 2, 1))
    return [y[:, 1:3] * y[:, 1:2], y]


def joined_parts(a, b):
    c = np.concatenate([-a, b.transpose(0, 2, 1)], 2)
    return [c * c, c[..., 5:9]]


MIXED = {
    "after a product": (after_a_product, [(2, 6, 8), (2, 8, 8)], product_of_parts),
    "of what is computed": (of_what_is_computed, [(2, 6, 8), (2, 8, 6)], parts_of_sums),
    "joined and read": (joined_and_read, [(2, 6, 8), (2, 8, 6)], joined_parts),
}


@pytest.mark.parametrize("name", MIXED)
@over
def test_with_other_nodes(target, name):
    build, shapes, oracle = MIXED[name]
    arrays = [numbers(shape, i) for i, shape in enumerate(shapes)]
    g, got = execute(target, build, arrays)
    for one, want in zip(got, oracle(*arrays), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)
    assert g.get_plan_name_at_index(0) == "eng_regions"


@over
def test_a_large_matrix_is_turned_by_its_own_kernel(target):
    """Neighbours would come apart in a written kernel."""
    x = numbers((2048, 3072), 1)
    g, (got,) = execute(target, lambda g, x: [g.neg(g.transpose(x, [1, 0]))], [x])
    np.testing.assert_array_equal(got, -x.T)
    assert g.get_plan_name_at_index(0) == "eng_fallback"


def test_views_in_other_dims():
    """NumPy gives an array another shape without a copy just where there are strides for it."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(2000):
        sizes = rng.choice([1, 2, 3, 4, 6], rng.integers(1, 5))
        room = np.zeros(sizes * rng.integers(1, 3, sizes.size))
        array = room[tuple(slice(size) for size in sizes)].transpose(rng.permutation(sizes.size))
        wanted = list(rng.choice([1, 2, 3], rng.integers(0, 4)))
        rest, odd = divmod(array.size, int(np.prod(wanted, dtype=int)))
        if odd:
            continue
        wanted.insert(rng.integers(len(wanted) + 1), rest)
        got = viewed(array.shape, [step // array.itemsize for step in array.strides], wanted)
        other = array.reshape(wanted)
        if not np.shares_memory(other, array):
            assert got is None
            continue
        found += 1
        steps = [step // array.itemsize for step in other.strides]
        assert got is not None
        assert [g for g, size in zip(got, wanted, strict=True) if size > 1] == [
            step for step, size in zip(steps, wanted, strict=True) if size > 1
        ]
    assert found > 300
