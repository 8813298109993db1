"""Resampling, what moves elements, random numbers and attention by backend descriptors, compared with NumPy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from descriptors import T, close, data, make, number, numbers, run

from portadnn import NotSupported, cudnn

DIMS = (2, 3, 6, 5)


def resampling(mode, window, pre, post, stride):
    return make(
        "RESAMPLE",
        MODE=getattr(cudnn, f"CUDNN_RESAMPLE_{mode}"),
        COMP_TYPE=data("DOUBLE"),
        SPATIAL_DIMS=2,
        WINDOW_DIMS=window,
        PRE_PADDINGS=pre,
        POST_PADDINGS=post,
        STRIDES=stride,
    )


def windows(x, window, pre, post, stride):
    """Return (n, c, p, q, r, s) of padded windows, NaN in the padding."""
    padded = np.pad(x, ((0, 0), (0, 0), *zip(pre, post, strict=True)), constant_values=np.nan)
    views = np.lib.stride_tricks.sliding_window_view(padded, window, axis=(2, 3))
    return views[:, :, :: stride[0], :: stride[1]]


HOW = ([3, 2], [1, 0], [0, 1], [2, 1])
POOLED = (2, 3, 3, 5)


@pytest.mark.parametrize("mode", ["MAXPOOL", "AVGPOOL", "AVGPOOL_INCLUDE_PADDING", "AVGPOOL_EXCLUDE_PADDING"])
def test_pooling(mode):
    x, y, index = T(DIMS), T(POOLED), T(POOLED, kind="INT32")
    values = numbers(DIMS)
    with_index = mode == "MAXPOOL"
    operation = make(
        "OPERATION_RESAMPLE_FWD",
        DESC=resampling(mode, *HOW),
        XDESC=x,
        YDESC=y,
        IDXDESC=index if with_index else None,
        ALPHA=1.0,
        BETA=0.0,
    )
    got = run([operation], {x: values}, [y, index] if with_index else [y])
    seen = windows(values, *HOW).reshape(*POOLED, 6)
    if with_index:
        close(got[0], np.nanmax(seen, axis=-1))
        close(got[1], np.nanargmax(seen, axis=-1))
    elif mode.endswith("EXCLUDE_PADDING"):
        close(got[0], np.nanmean(seen, axis=-1))
    else:
        close(got[0], np.nansum(seen, axis=-1) / 6)


@pytest.mark.parametrize("mode", ["MAXPOOL", "AVGPOOL_INCLUDE_PADDING"])
def test_pooling_backward(mode):
    """Each loss goes to the maximum, whose place the index says, or to all of its window."""
    x, dy, dx, index = T(DIMS), T(POOLED), T(DIMS), T(POOLED, kind="INT32")
    values, loss = numbers(DIMS), numbers(POOLED, 1)
    by_index = mode == "MAXPOOL"
    operation = make(
        "OPERATION_RESAMPLE_BWD",
        DESC=resampling(mode, *HOW),
        DYDESC=dy,
        DXDESC=dx,
        XDESC=None if by_index else x,
        IDXDESC=index if by_index else None,
    )
    places = np.nanargmax(windows(values, *HOW).reshape(*POOLED, 6), axis=-1)
    feeds = {dy: loss} | ({index: places} if by_index else {x: values})
    (got,) = run([operation], feeds, [dx])
    want = np.zeros((2, 3, 6 + 1, 5 + 1))
    for n, c, p, q in np.ndindex(*POOLED):
        for r, s in np.ndindex(3, 2):
            share = float(places[n, c, p, q] == 2 * r + s) if by_index else 1 / 6
            want[n, c, 2 * p + r, q + s] += share * loss[n, c, p, q]
    close(got, want[:, :, 1:, :5])


def test_bilinear_by_fractions():
    """The one interpolation that cuDNN has: twice the size, window 2, stride and padding a half."""
    x, y = T((1, 1, 3, 4)), T((1, 1, 6, 8))
    half, one = Fraction(1, 2), Fraction(1)
    how = resampling("BILINEAR", [one * 2, (2, 1)], [half, half], [one, (1, 1)], [half, (1, 2)])
    values = numbers((1, 1, 3, 4))
    (got,) = run([make("OPERATION_RESAMPLE_FWD", DESC=how, XDESC=x, YDESC=y)], {x: values}, [y])
    want = values[0, 0]
    for axis in (0, 1):  # the middle of window i is at half * i - half + half
        size = want.shape[axis]
        at = np.minimum(np.arange(2 * size) / 2, size - 1)
        low = np.floor(at).astype(int)
        share = (at - low).reshape((-1, 1) if axis == 0 else (1, -1))
        want = np.take(want, low, axis) * (1 - share) + np.take(want, np.minimum(low + 1, size - 1), axis) * share
    close(got[0, 0], want)


def moved(kind, x_dims, y_dims, feeds=None, **more):
    x, y = T(x_dims), T(y_dims)
    values = numbers(x_dims)
    (got,) = run([make(f"OPERATION_{kind}", XDESC=x, YDESC=y, **more)], {x: values}, [y])
    return got, values


def test_transpose_slice_and_reshape():
    got, x = moved("TRANSPOSE", (2, 3, 4), (4, 2, 3), PERMUTATION=[2, 0, 1])
    close(got, x.transpose(2, 0, 1))
    got, x = moved("SLICE", (5, 6), (2, 3), START_INDICES=[1, 0], LIMIT_INDICES=[5, 5], STRIDES=[3, 2])
    close(got, x[1:5:3, 0:5:2])
    got, x = moved("SLICE", (5, 6), (2, 6), START_INDICES=[3, 0], LIMIT_INDICES=[5, 6])
    close(got, x[3:])
    got, x = moved("RESHAPE", (2, 6), (3, 4), RESHAPE_MODE=cudnn.CUDNN_RESHAPE_LOGICAL)
    close(got, x.reshape(3, 4))


def test_concat():
    inputs, y = [T((2, size, 3)) for size in (1, 4, 2)], T((2, 7, 3))
    values = [numbers(one.value.info.dims) for one in inputs]
    operation = make("OPERATION_CONCAT", AXIS=1, INPUT_DESCS=inputs, OUTPUT_DESC=y)
    (got,) = run([operation], dict(zip(inputs, values, strict=True)), [y])
    close(got, np.concatenate(values, axis=1))


@pytest.mark.parametrize("by_tensor", [False, True])
def test_random_numbers(by_tensor):
    """The numbers of one seed are the same again, those of another differ, and all lie as the distribution says."""
    y = T((40, 50))
    seed, offset = (T([1, 1], kind="INT64", IS_BY_VALUE=True) for _ in range(2))
    uniform = cudnn.CUDNN_RNG_DISTRIBUTION_UNIFORM
    how = make("RNG", DISTRIBUTION=uniform, UNIFORM_DIST_MINIMUM=2.0, UNIFORM_DIST_MAXIMUM=4.0)

    def drawn(start):
        operation = make("OPERATION_RNG", DESC=how, YDESC=y, SEED=seed if by_tensor else start, OFFSET_DESC=offset)
        return run([operation], ({seed: start} if by_tensor else {}) | {offset: 0}, [y])[0]

    first = drawn(7)
    assert (first == drawn(7)).all()
    assert (first != drawn(8)).mean() > 0.99
    assert 2 <= first.min() < 2.02 < 3.98 < first.max() <= 4
    assert abs(first.mean() - 3) < 0.05


def test_softmax():
    x, y, stats = T((2, 3, 4, 5)), T((2, 3, 4, 5)), T((2, 3, 4, 1))
    values = numbers((2, 3, 4, 5))
    (got, logs) = run([make("OPERATION_SOFTMAX", XDESC=x, YDESC=y, STATS_DESC=stats)], {x: values}, [y, stats])
    total = np.exp(values).sum(axis=-1, keepdims=True)
    close(got, np.exp(values) / total)
    close(logs, np.log(total))


B, H, S, K, E = 2, 2, 3, 4, 5  # batch, heads, queries, keys, length


def attention(q, k, v, lengths):
    """Return scores' probabilities and the logarithms of their sums, with keys beyond the lengths left out."""
    scores = 0.5 * q @ k.swapaxes(2, 3)
    scores = np.where(np.arange(K) < np.reshape(lengths, (B, 1, 1, 1)), scores, -np.inf)
    total = np.exp(scores).sum(axis=-1, keepdims=True)
    return np.exp(scores) / total, np.log(total)


@pytest.mark.parametrize("lengths", [None, [4, 2]])
def test_attention_forward_and_backward(lengths):
    dims = {"Q": (B, H, S, E), "K": (B, H, K, E), "V": (B, H, K, E), "O": (B, H, S, E)}
    t = {name: T(each) for name, each in dims.items()}
    stats, scale = T((B, H, S, 1)), number()
    values = {name: numbers(each, i) for i, (name, each) in enumerate(dims.items())}
    q, k, v = (values[name] for name in "QKV")
    p, logs = attention(q, k, v, lengths or [K] * B)
    padding, told = {}, {}
    if lengths:
        padding = {f"SEQ_LEN_{name}DESC": T((B, 1, 1, 1), kind="INT32") for name in ("Q", "KV")}
        told = dict(zip(padding.values(), (np.full((B, 1, 1, 1), S), lengths), strict=True))
    forward = make(
        "OPERATION_SDPA_FWD",
        **{f"{name}DESC": one for name, one in t.items()},
        STATSDESC=stats,
        SCALEDESC=scale,
        **padding,
    )
    feeds = {t[name]: values[name] for name in "QKV"} | {scale: 0.5} | told
    got = run([forward], feeds, [t["O"], stats])
    close(got[0], p @ v)
    close(got[1], logs)
    loss, grads = T(dims["O"]), {name: T(dims[name]) for name in "QKV"}
    backward = make(
        "OPERATION_SDPA_BWD",
        **{f"{name}DESC": one for name, one in t.items()},
        DODDESC=loss,
        STATSDESC=stats,
        SCALEDESC=scale,
        **{f"D{name}DESC": one for name, one in grads.items()},
        **padding,
    )
    do = numbers(dims["O"], 9)
    got = run([backward], feeds | {t["O"]: p @ v, stats: logs, loss: do}, list(grads.values()))
    dp = do @ v.swapaxes(2, 3)
    ds = 0.5 * p * (dp - (p * dp).sum(axis=-1, keepdims=True))
    close(got[0], ds @ k)
    close(got[1], ds.swapaxes(2, 3) @ q)
    close(got[2], p.swapaxes(2, 3) @ do)


@pytest.mark.parametrize("kind", ["SIGNAL", "PAGED_CACHE_LOAD", "BLOCK_SCALE_QUANTIZE", "MOE_GROUPED_MATMUL"])
def test_operations_that_graphs_lack(kind):
    number_ = getattr(cudnn, f"CUDNN_BACKEND_OPERATION_{kind}_DESCRIPTOR")
    with pytest.raises(
        NotSupported, match=rf"OPERATION_MATMUL_DESCRIPTOR.*got CUDNN_BACKEND_OPERATION_{kind}"
    ) as caught:
        cudnn.cudnnBackendCreateDescriptor(number_)
    assert caught.value.status == cudnn.cudnnStatus_t.CUDNN_STATUS_NOT_SUPPORTED == 9
