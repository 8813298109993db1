"""Batch normalisation in halves: kernels against the reference, and ranks of any sizes against their whole batch."""

from __future__ import annotations

import numpy as np
import pytest
from cases import LAYOUTS, Turns, tensor
from helper import Case, check, compare, everywhere, over

import portadnn as dnn

_SHAPES = (
    ((2, 3, 5, 7), "spatial"),
    ((5, 8, 4, 4), "per_activation"),
    ((3, 5, 1, 1), "spatial"),
    ((2, 3, 2, 3, 4), "spatial"),
    ((1, 2, 61, 64), "spatial"),
    ((9, 40, 1, 1), "per_activation"),
)


def _cases():
    turns = Turns(LAYOUTS)
    for i, (dims, mode) in enumerate(_SHAPES):
        dtype, layout, _ = turns("parts")
        sizes = dims[1:] if mode == "per_activation" else (dims[1], *(1,) * (len(dims) - 2))
        ranks = (1, 2, 5)[i % 3]
        real = dtype.accumulator
        p = tensor(real, (1, *sizes), "spread" if i % 3 == 1 else "nchw")
        gathered = tensor(real, (ranks, *sizes), "spread" if i % 2 else "nchw")
        counts = tensor(real, (ranks, *(1,) * (len(dims) - 1)), "nchw")
        x, y = tensor(dtype, dims, "nchw"), tensor(dtype, dims, layout)
        rest = f"mode={mode}"
        optional = f"running_mean={p} running_variance={p} saved_mean={p} saved_inv_variance={p} " if i % 2 else ""
        totals = f"dscale={p} dbias={p} " if i % 2 == 0 else ""
        saved = f"saved_mean={p} saved_inv_variance={p}"
        kept = i % 3 == 0
        yield Case(f"batch_normalization_statistics x={x} mean={p} variance={p} {rest}", everywhere=kept)
        parts = f"means={gathered} variances={gathered} counts={counts}"
        numbers = f"epsilon=0.001 exponential_average_factor={(0.25, 1)[i % 4 == 3]}"
        line = f"batch_normalization_apply x={x} y={y} scale={p} bias={p} {parts} {optional}{rest} {numbers}"
        yield Case(line, everywhere=kept)
        line = f"batch_normalization_backward_statistics x={x} dy={y} {saved} dscale={p} dbias={p} {rest}"
        yield Case(line, everywhere=kept)
        parts = f"dscales={gathered} dbiases={gathered} counts={counts}"
        line = f"batch_normalization_backward_apply x={x} dy={y} dx={y} scale={p} {saved} {parts} {totals}{rest}"
        yield Case(line, everywhere=kept)


CASES = list(_cases())


@over(CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


@everywhere()
@pytest.mark.parametrize("mode", ["SPATIAL", "PER_ACTIVATION"])
def test_ranks_of_any_sizes_are_their_whole_batch(handle, mode):
    """One of them has nothing, as at the end of an epoch."""
    sizes, axes, p = (3, 0, 2), (0, 2, 3), (1, 5, 1, 1)
    if mode == "PER_ACTIVATION":
        axes, p = (0,), (1, 5, 6, 7)
    rng = np.random.default_rng(4)
    xs, dys = ([rng.standard_normal((n, 5, 6, 7)).astype("f") + rank for rank, n in enumerate(sizes)] for _ in "xy")
    scale, bias = rng.standard_normal((2, *p)).astype("f")
    x, dy = (np.concatenate(parts).astype(np.float64) for parts in (xs, dys))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    inverse = 1 / np.sqrt(variance + 1e-3)
    z, count = (x - mean) * inverse, x.size // mean.size

    def gathered(parts):
        return [handle.asarray(np.concatenate([handle.to_numpy(part[i]) for part in parts])) for i in range(2)]

    def zeros():
        return handle.asarray(np.zeros(p, "f"))

    own = [(handle.asarray(one), handle.asarray(other)) for one, other in zip(xs, dys, strict=True)]
    device_scale, device_bias = handle.asarray(scale), handle.asarray(bias)
    counts = handle.asarray(np.array(sizes, "f").reshape(3, 1, 1, 1) * (count / len(x)))
    first = gathered([dnn.batch_normalization_statistics(handle, one, mode=mode) for one, _ in own])
    results, saved = [], [zeros(), zeros()]
    for one, _ in own:
        running = [zeros(), zeros()]
        y = dnn.batch_normalization_apply(
            *(handle, one, device_scale, device_bias, *first, counts, None, *running, *saved),
            mode=mode,
            epsilon=1e-3,
            exponential_average_factor=0.25,
        )
        results.append(handle.to_numpy(y))
        compare(handle.to_numpy(running[1]), 0.25 * variance * count / (count - 1), 1e-6 + 1e-5 * variance)
    compare(np.concatenate(results), z * scale + bias, 2e-5)
    compare(handle.to_numpy(saved[0]), mean, 1e-6)
    compare(handle.to_numpy(saved[1]), inverse, 1e-5 * inverse)
    second = gathered([dnn.batch_normalization_backward_statistics(handle, *both, *saved, mode=mode) for both in own])
    dscale, dbias = (dy * z).sum(axes, keepdims=True), dy.sum(axes, keepdims=True)
    results, totals = [], [zeros(), zeros()]
    for both in own:
        dx, *found = dnn.batch_normalization_backward_apply(
            handle, *both, device_scale, *saved, *second, counts, None, *totals, mode=mode
        )
        results.append(handle.to_numpy(dx))
        assert all(a is b for a, b in zip(found, totals, strict=True))
    compare(np.concatenate(results), scale * inverse * (dy - dbias / count - z * dscale / count), 2e-4)
    compare(handle.to_numpy(totals[0]), dscale, 2e-4)
    compare(handle.to_numpy(totals[1]), dbias, 2e-4)
