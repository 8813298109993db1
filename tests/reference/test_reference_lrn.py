"""The reference's local response and divisive normalisation against independent code and finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helper import compare
from test_gradients import agree

import portadnn as dnn

RNG_SEED = 17
PARAMETERS = {"alpha": 0.9, "beta": 0.75, "k": 1.3}


def normal(*dims, seed=RNG_SEED):
    return np.random.default_rng(seed).standard_normal(dims)


def close(got, want, bound=1e-12):
    compare(got, want, bound * (1 + np.abs(want)))


@pytest.mark.parametrize("n", range(1, 17))
@pytest.mark.parametrize("dims", [(7, 7, 3, 4), (20, 20, 1, 2)])
def test_onnx(reference, dims, n):
    """ONNX's window reaches floor((n - 1) / 2) back and ceil((n - 1) / 2) ahead, as cuDNN's does.

    Its evaluator treats as many channels as there are images: here that is all of them.
    """
    pytest.importorskip("onnx", reason="onnx is not installed")
    from test_reference_onnx import evaluate

    x = normal(*dims)
    want = evaluate("LRN", x, size=n, alpha=PARAMETERS["alpha"], beta=PARAMETERS["beta"], bias=PARAMETERS["k"])
    # ONNX's attributes are float32
    close(dnn.lrn_cross_channel_forward(reference, x, dnn.LRNDescriptor(n, **PARAMETERS)), want, 1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 11, 16])
@pytest.mark.parametrize("dims", [(2, 7, 3, 4), (2, 6, 2, 3, 2)])
def test_torch_and_its_gradient(reference, dims, n):
    """torch's window reaches n // 2 back: seen from the last channel it is cuDNN's."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, g = normal(*dims), normal(*dims, seed=1)
    turned = torch.from_numpy(x[:, ::-1].copy()).requires_grad_()
    y = torch.nn.functional.local_response_norm(turned, n, PARAMETERS["alpha"], PARAMETERS["beta"], PARAMETERS["k"])
    (dx,) = torch.autograd.grad(y, turned, torch.from_numpy(g[:, ::-1].copy()))
    lrn = dnn.LRNDescriptor(n, **PARAMETERS)
    got = dnn.lrn_cross_channel_forward(reference, x, lrn)
    close(got, y.detach().numpy()[:, ::-1])
    close(dnn.lrn_cross_channel_backward(reference, got, g, x, lrn), dx.numpy()[:, ::-1])


@pytest.mark.parametrize(("n", "beta"), [(1, 0.5), (2, 1.0), (5, 0.75), (6, 0.3), (16, 2.5)])
def test_finite_differences_across_channels(reference, n, beta):
    rng = np.random.default_rng(RNG_SEED)
    x, g, prior = (rng.standard_normal((2, 9, 2, 2)) for _ in range(3))
    lrn = dnn.LRNDescriptor(n, 0.8, beta, 0.9)
    y = dnn.lrn_cross_channel_forward(reference, x, lrn)
    dx = dnn.lrn_cross_channel_backward(reference, y, g, x, lrn, prior.copy(), alpha=1.75, beta=-0.5)
    agree(lambda v: (g * dnn.lrn_cross_channel_forward(reference, v, lrn, alpha=1.75)).sum(), dx + 0.5 * prior, x, rng)


def brute_divisive(x, m, n, alpha, beta, k):
    """The formula, pixel by pixel."""
    y = np.empty(x.shape)
    spatial = x.shape[2:]
    before, after = (n - 1) // 2, n // 2
    for place in itertools.product(*map(range, spatial)):
        window = tuple(
            slice(max(i - before, 0), min(i + after + 1, size)) for i, size in zip(place, spatial, strict=True)
        )
        centre = (..., *place)
        gaps = x[(..., *window)] - m[centre].reshape(*x.shape[:2], *[1] * len(spatial))
        squares = (gaps**2).sum(tuple(range(2, x.ndim)))
        y[centre] = x[centre] * (k + alpha / n ** len(spatial) * squares) ** -beta
    return y


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("dims", [(2, 3, 5, 6), (1, 2, 3, 4, 3), (1, 1, 1, 1)])
def test_divisive_brute_force(reference, dims, n):
    x, m = normal(*dims), normal(*dims, seed=2)
    lrn = dnn.LRNDescriptor(n, **PARAMETERS)
    close(dnn.divisive_normalization_forward(reference, x, m, lrn), brute_divisive(x, m, n, **PARAMETERS))
    zeros = brute_divisive(x, np.zeros(dims), n, **PARAMETERS)
    close(dnn.divisive_normalization_forward(reference, x, None, lrn), zeros)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_divisive_is_local_contrast_normalisation(reference, n):
    """With means and squares by SciPy's filters: sum of (x - m)^2 = sum of x^2 - 2 m * sum of x + cells * m^2."""
    ndimage = pytest.importorskip("scipy.ndimage", reason="scipy is not installed")
    x = normal(2, 2, 8, 9)
    origin = 0 if n % 2 else -1  # SciPy's even windows reach one further back, cuDNN's one further ahead

    def window_mean(a):
        return ndimage.uniform_filter(a, size=(1, 1, n, n), mode="constant", origin=(0, 0, origin, origin))

    means, inside = window_mean(x), window_mean(np.ones(x.shape))  # sums over n * n
    squares = window_mean(x * x) - 2 * means * means + inside * means**2
    want = x * (PARAMETERS["k"] + PARAMETERS["alpha"] * squares) ** -PARAMETERS["beta"]
    close(dnn.divisive_normalization_forward(reference, x, means, dnn.LRNDescriptor(n, **PARAMETERS)), want)


@pytest.mark.parametrize(("n", "beta"), [(1, 0.5), (2, 0.75), (3, 0.75), (4, 0.6), (5, 1.0)])
@pytest.mark.parametrize("dims", [(1, 2, 4, 5), (1, 1, 2, 4, 3)])
@pytest.mark.parametrize("with_means", [True, False])
def test_finite_differences_of_divisive(reference, dims, n, beta, with_means):
    """Both gradients; with an even n that at x gathers as the library does, and only the one at the means is exact."""
    rng = np.random.default_rng(RNG_SEED)
    x, g, m, prior = (rng.standard_normal(dims) for _ in range(4))
    means = m if with_means else None
    lrn = dnn.LRNDescriptor(n, 1.8, beta, 0.9)

    def loss(x, m):
        return (g * dnn.divisive_normalization_forward(reference, x, m, lrn, alpha=1.75)).sum()

    given = {"alpha": 1.75, "beta": 0.5}
    dx, dm = dnn.divisive_normalization_backward(reference, x, means, g, lrn, prior.copy(), prior.copy(), **given)
    agree(lambda v: loss(x, v), dm - 0.5 * prior, m if with_means else np.zeros(dims), rng)
    if n % 2:
        agree(lambda v: loss(v, means), dx - 0.5 * prior, x, rng)


@pytest.mark.parametrize("n", [2, 4])
def test_even_windows_gather_as_the_library(reference, n):
    """What an even window adds to dx comes from the centres in the forward window around each pixel."""
    x, m, dy = (normal(1, 1, 5, 6, seed=s) for s in range(3))
    before, after, weight = (n - 1) // 2, n // 2, 1.8 / n**2
    want = np.zeros(x.shape)
    for h, w in np.ndindex(5, 6):
        for i, j in np.ndindex(5, 6):
            reach = x[0, 0, max(i - before, 0) : i + after + 1, max(j - before, 0) : j + after + 1]
            s = 0.9 + weight * ((reach - m[0, 0, i, j]) ** 2).sum()
            if (i, j) == (h, w):
                want[0, 0, h, w] += dy[0, 0, i, j] * s**-0.6
            if -before <= i - h <= after and -before <= j - w <= after:
                pull = dy[0, 0, i, j] * x[0, 0, i, j] * s**-1.6
                want[0, 0, h, w] -= 2 * 0.6 * weight * pull * (x[0, 0, h, w] - m[0, 0, i, j])
    lrn = dnn.LRNDescriptor(n, 1.8, 0.6, 0.9)
    close(dnn.divisive_normalization_backward(reference, x, m, dy, lrn)[0], want)
