"""Resampling on devices: maxima with indices, interpolations, uneven padding and every type, beside NumPy and SciPy."""

from __future__ import annotations

import itertools
from fractions import Fraction

import helper
import numpy as np
import pytest
from graphs import D, buffer, frozen, given, new, numbers
from scipy import ndimage
from test_nvrtc import EACH, compile_recorded, recorder_of

import portadnn.graph as cudnn
from portadnn_backends.engines.resample import ResampleEngine

P = cudnn.resample_mode
over = pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
WINDOWS = {
    "uneven": {"window": (3, 2), "pre_padding": (1, 0), "post_padding": (0, 1), "stride": (2, 1)},
    "apart": {"window": (2, 1), "pre_padding": (0, 0), "post_padding": (1, 2), "stride": (3, 2)},
    "wide": {"window": (5, 4), "pre_padding": (3, 3), "post_padding": (4, 1), "stride": (1, 2)},
    "three axes": {"window": (2, 3, 1), "pre_padding": (0, 2, 0), "post_padding": (1, 0, 0), "stride": (1, 2, 3)},
}
DIMS = {2: (2, 3, 7, 9), 3: (2, 3, 4, 5, 6)}


def dims_of(name):
    return DIMS[len(WINDOWS[name]["window"])]


def windows_of(shape, window, pre_padding, post_padding, stride):
    """Yield for each output its place, and the cells of its window by number: (number, place in the image)."""
    sizes = [
        (d + a + b - w) // s + 1
        for d, a, b, w, s in zip(shape[2:], pre_padding, post_padding, window, stride, strict=True)
    ]
    for out in np.ndindex(*shape[:2], *sizes):
        cells = []
        for number, cell in enumerate(np.ndindex(*window)):
            at = [o * s - a + k for o, s, a, k in zip(out[2:], stride, pre_padding, cell, strict=True)]
            if all(0 <= i < d for i, d in zip(at, shape[2:], strict=True)):
                cells.append((number, (*out[:2], *at)))
        yield out, cells
    return


def pooled(mode, x, how):
    """Return the result, the index of each maximum, and the Jacobian as a list of (out, cell, weight)."""
    found = list(windows_of(x.shape, **how))
    shape = tuple(1 + i for i in found[-1][0])
    y, index, slopes = np.full(shape, -np.inf), np.zeros(shape), []
    for out, cells in found:
        if mode is P.MAXPOOL:
            first = next((cell for cell in cells if np.isnan(x[cell[1]])), None)
            best = first or max(cells, key=lambda cell: x[cell[1]], default=None)  # the first of equal ones
            if best is not None:
                y[out], index[out] = x[best[1]], best[0]
                slopes.append((out, best[1], 1.0))
            continue
        count = max(len(cells), 1) if mode is P.AVGPOOL_EXCLUDE_PADDING else np.prod(how["window"])
        y[out] = sum(x[cell] for _, cell in cells) / count
        slopes += [(out, cell, 1.0 / count) for _, cell in cells]
    return y, index, slopes


def executed(target, kind, build, arrays, nhwc=False, compute=D.FLOAT):
    """Run what `build` makes of inputs; returns the plan's name and the outputs' numbers."""
    g = new(helper.open_handle(target), kind, compute)
    inputs = [given(g, array.shape, nhwc=nhwc) for array in arrays]
    outs = build(g, *inputs)
    for one in outs:
        one.set_output(True)
    g.build([cudnn.heur_mode.A])
    assert not {cudnn.behavior_note.HOST_COMPUTATION} & set(g.get_behavior_notes())
    views = [buffer(one) for one in outs]
    pack = {one: buffer(one, array)[0] for one, array in zip(inputs, arrays, strict=True)}
    g.execute({**pack, **{one: flat for one, (flat, _) in zip(outs, views, strict=True)}})
    return g.get_plan_name(), [one.get_data_type().loaded(view) for one, (_, view) in zip(outs, views, strict=True)]


def with_index(how):
    return lambda g, x: g.resample(x, P.MAXPOOL, generate_index=True, **how)


@pytest.mark.parametrize("nhwc", [False, True], ids=["rows", "channels last"])
@pytest.mark.parametrize("name", WINDOWS)
@over
def test_maxima_with_indices(target, name, nhwc):
    """Of few different numbers, so that many are equal."""
    how, x = WINDOWS[name], np.random.default_rng(3).integers(-2, 3, dims_of(name)).astype(float)
    plan, (got, index) = executed(target, D.HALF, with_index(how), [x], nhwc)
    want, places, _ = pooled(P.MAXPOOL, x, how)
    assert plan == "eng_resample"
    np.testing.assert_array_equal(got, want)
    some = np.isfinite(want)  # windows of nothing but padding have no place
    np.testing.assert_array_equal(index[some], places[some])


@over
def test_nan_is_the_largest(target):
    how, x = WINDOWS["uneven"], numbers(dims_of("uneven"), 2)
    x[0, 0, 2, 3] = x[1, 2, 0, 0] = x[1, 2, 1, 0] = np.nan
    x[0, 1] = -np.inf
    _, (got, index) = executed(target, D.FLOAT, with_index(how), [x])
    want, places, _ = pooled(P.MAXPOOL, x, how)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(index[~np.isneginf(want)], places[~np.isneginf(want)])


@pytest.mark.parametrize("wanted", [0, 1], ids=["maxima", "indices"])
@over
def test_results_that_nobody_reads(target, wanted):
    how, x = WINDOWS["uneven"], np.random.default_rng(9).permutation(2 * 3 * 7 * 9).reshape(DIMS[2]).astype(float)
    build = with_index(how)
    _, (got,) = executed(target, D.FLOAT, lambda g, x: [build(g, x)[wanted]], [x])
    np.testing.assert_array_equal(got, pooled(P.MAXPOOL, x, how)[wanted])


AVERAGES = (P.AVGPOOL_EXCLUDE_PADDING, P.AVGPOOL_INCLUDE_PADDING)


@pytest.mark.parametrize("mode", [P.MAXPOOL, *AVERAGES], ids=str)
@pytest.mark.parametrize("kind", [D.INT64, D.INT8, D.DOUBLE, D.BFLOAT16], ids=lambda kind: kind.name)
@over
def test_types(target, kind, mode):
    how = WINDOWS["wide"]
    x = kind.rounded(np.random.default_rng(4).integers(-100, 100, DIMS[2]))
    _, (got,) = executed(target, kind, lambda g, x: g.resample(x, mode, **how)[:1], [x])
    want = kind.rounded(pooled(mode, x, how)[0])
    eps = {D.DOUBLE: 2.0**-50, D.BFLOAT16: 2.0**-8}.get(kind, 0)  # a float may be rounded the other way
    np.testing.assert_allclose(got, want, rtol=eps, atol=0)


@pytest.mark.parametrize("nhwc", [False, True], ids=["rows", "channels last"])
@pytest.mark.parametrize("mode", [P.MAXPOOL, *AVERAGES], ids=str)
@pytest.mark.parametrize("name", WINDOWS)
@over
def test_gradients(target, mode, name, nhwc):
    how, shape = WINDOWS[name], dims_of(name)
    x = np.random.default_rng(5).permutation(np.prod(shape)).reshape(shape) / 64.0
    y, index, slopes = pooled(mode, x, how)
    dy = numbers(y.shape, 6)
    want = np.zeros(shape)
    for out, cell, weight in slopes:
        want[cell] += dy[out] * weight

    def by_input(g, dy, x):
        return [g.resample_backward(dy, mode, input=x, **how)]

    _, (got,) = executed(target, D.FLOAT, by_input, [dy, x], nhwc)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    if mode is P.MAXPOOL:

        def by_index(g, dy, index):
            index.set_data_type(D.INT8)
            return [g.resample_backward(dy, mode, index=index, **how).set_dim(list(shape))]

        plan, (got,) = executed(target, D.FLOAT, by_index, [dy, index], nhwc)
        assert plan == "eng_resample"
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


INTERPOLATIONS = {
    "twice": {"window": (2, 2), "stride": (0.5, 0.5), "pre_padding": (0.5, 0.5), "post_padding": (1, 1)},
    "thirds": {"window": (1, 1), "stride": ("1/3", "2/3"), "pre_padding": (0, 0), "post_padding": (0, 0)},
    "fewer": {"window": (3, 2), "stride": (1.75, 2), "pre_padding": (1.5, 0), "post_padding": (2, 0.25)},
    "three axes": {
        "window": (2,) * 3,
        "stride": (0.5, 0.75, 1.5),
        "pre_padding": (0.5, 0.5, 0),
        "post_padding": (1,) * 3,
    },
}


@pytest.mark.parametrize("nhwc", [False, True], ids=["rows", "channels last"])
@pytest.mark.parametrize("mode", [P.BILINEAR, P.NEAREST], ids=str)
@pytest.mark.parametrize("name", INTERPOLATIONS)
@over
def test_interpolations(target, name, mode, nhwc):
    """SciPy's of first order, with the last cell going on; the nearest is by floor."""
    how = {key: [Fraction(value) for value in values] for key, values in INTERPOLATIONS[name].items()}
    shape = DIMS[len(how["window"])]
    x = numbers(shape, 7)
    sizes, centres = [], []
    each = (how[key] for key in ("window", "stride", "pre_padding", "post_padding"))
    for d, w, s, a, b in zip(shape[2:], *each, strict=True):
        sizes.append((d + a + b - w) // s + 1)
        centres.append([o * s - a + w / 2 for o in range(sizes[-1])])
    want = np.empty((*shape[:2], *sizes))
    if mode is P.NEAREST:
        for out in np.ndindex(*want.shape):
            at = [min(max(int(c[o] // 1), 0), d - 1) for c, o, d in zip(centres, out[2:], shape[2:], strict=True)]
            want[out] = x[(*out[:2], *at)]
    else:
        grid = np.stack(np.meshgrid(*([float(c - Fraction(1, 2)) for c in axis] for axis in centres), indexing="ij"))
        for n, c in itertools.product(*map(range, shape[:2])):
            want[n, c] = ndimage.map_coordinates(x[n, c], grid, order=1, mode="nearest")
    how["window"] = [int(w) for w in how["window"]]
    plan, (got,) = executed(target, D.FLOAT, lambda g, x: g.resample(x, mode, **how)[:1], [x], nhwc)
    assert plan == "eng_resample"
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def graphs():
    """Yield frozen graphs that together reach every kind of resampling."""
    how, sizes = WINDOWS["uneven"], pooled(P.MAXPOOL, np.zeros(DIMS[2]), WINDOWS["uneven"])[0].shape
    builds = [
        (D.HALF, lambda g: g.resample(given(g, DIMS[2]), P.MAXPOOL, generate_index=True, **how)),
        (D.FLOAT, lambda g: [g.resample_backward(given(g, sizes), P.MAXPOOL, input=given(g, DIMS[2]), **how)]),
        (D.INT64, lambda g: [g.resample_backward(given(g, sizes), AVERAGES[0], input=given(g, DIMS[2]), **how)]),
        (D.INT8, lambda g: g.resample(given(g, DIMS[3]), P.BILINEAR, (2, 2, 2), stride=(0.5, 0.5, 0.5))[:1]),
        (D.FP8_E4M3, lambda g: g.resample(given(g, DIMS[2]), P.NEAREST, (1, 1), stride=(0.5, 0.5))[:1]),
    ]
    for kind, build in builds:
        g = new("reference", kind, D.FLOAT)
        yield frozen(g, build(g))


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("arch", EACH)
def test_compiles_for_cuda(arch):
    recorder = recorder_of(arch)
    for graph in graphs():
        ResampleEngine().prepare(graph, recorder)
    compile_recorded(recorder)
