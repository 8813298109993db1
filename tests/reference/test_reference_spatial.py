"""The reference's spatial transformer against PyTorch, ONNX, hat functions and finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helper import compare
from test_gradients import agree

import portadnn as dnn

SIZES = [  # n, c, h_in, w_in, h, w
    (2, 3, 6, 7, 5, 4),
    (1, 2, 3, 3, 8, 9),
    (1, 1, 2, 9, 3, 2),
    (3, 4, 5, 1, 4, 6),
    (1, 2, 1, 1, 3, 3),
]


def transformer(n, c, h, w):
    return dnn.SpatialTransformerDescriptor((n, c, h, w), np.float64)


def draw(n, c, h_in, w_in, h, w, seed=3):
    rng = np.random.default_rng(seed)
    grid = rng.uniform(-1.7, 1.7, (n, h, w, 2))
    return rng.standard_normal((n, c, h_in, w_in)), grid, rng.standard_normal((n, c, h, w))


def close(got, want, exact=1e-12):
    want = np.asarray(want)
    compare(got, want, exact * (1 + np.abs(want)))


@pytest.mark.parametrize("sizes", SIZES)
def test_sampler_is_torch_grid_sample(reference, sizes):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, grid, dy = draw(*sizes)
    st = transformer(sizes[0], sizes[1], *sizes[4:])
    tx, tgrid = (torch.tensor(a, requires_grad=True) for a in (x, grid))
    ty = torch.nn.functional.grid_sample(tx, tgrid, mode="bilinear", padding_mode="zeros", align_corners=True)
    ty.backward(torch.tensor(dy))
    close(dnn.spatial_tf_sampler_forward(reference, x, grid, st), ty.detach().numpy())
    dx, dgrid = dnn.spatial_tf_sampler_backward(reference, x, dy, grid, st)
    close(dx, tx.grad.numpy())
    close(dgrid, tgrid.grad.numpy())


@pytest.mark.parametrize(("n", "h", "w"), [(2, 5, 7), (1, 2, 2), (3, 9, 4)])
def test_generator_is_torch_affine_grid(reference, n, h, w):
    """Sizes from 2 on: torch puts the only pixel of a size of 1 at 0, cuDNN at -1."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rng = np.random.default_rng(4)
    theta, dgrid = rng.standard_normal((n, 2, 3)), rng.standard_normal((n, h, w, 2))
    given = torch.tensor(theta, requires_grad=True)
    want = torch.nn.functional.affine_grid(given, [n, 1, h, w], align_corners=True)
    want.backward(torch.tensor(dgrid))
    st = transformer(n, 1, h, w)
    close(dnn.spatial_tf_grid_generator_forward(reference, theta, st), want.detach().numpy())
    close(dnn.spatial_tf_grid_generator_backward(reference, dgrid, st), given.grad.numpy())


@pytest.mark.parametrize("sizes", SIZES[:3])
def test_onnx_agrees(reference, sizes):
    pytest.importorskip("onnx", reason="onnx is not installed")
    from test_reference_onnx import evaluate

    x, grid, _ = draw(*sizes)
    n, c, _, _, h, w = sizes
    options = {"mode": "linear", "padding_mode": "zeros", "align_corners": 1, "opset": 20}
    close(
        dnn.spatial_tf_sampler_forward(reference, x, grid, transformer(n, c, h, w)),
        evaluate("GridSample", x, grid, **options),
        1e-5,  # the evaluator keeps places in float32
    )
    theta = np.random.default_rng(4).standard_normal((n, 2, 3))
    size = np.array([n, c, h, w])
    want = evaluate("AffineGrid", theta, size, align_corners=1, opset=20)
    close(dnn.spatial_tf_grid_generator_forward(reference, theta, transformer(n, c, h, w)), want, 1e-5)


def hats(places, size):
    """(..., size): how much of every pixel a point takes along one axis."""
    return np.maximum(0, 1 - np.abs((places[..., None] + 1) / 2 * (size - 1) - np.arange(size)))


@pytest.mark.parametrize("sizes", SIZES)
def test_weights_are_hats(reference, sizes):
    """Without floors and corners: every pixel's weight is a hat around it, in both axes."""
    x, grid, dy = draw(*sizes)
    weights = np.einsum("npqi,npqj->npqij", hats(grid[..., 1], sizes[2]), hats(grid[..., 0], sizes[3]))
    st = transformer(sizes[0], sizes[1], *sizes[4:])
    prior = np.ones(dy.shape)
    y = dnn.spatial_tf_sampler_forward(reference, x, grid, st, prior.copy(), alpha=2, beta=-3)
    close(y, 2 * np.einsum("npqij,ncij->ncpq", weights, x) - 3)
    dx, _ = dnn.spatial_tf_sampler_backward(reference, x, dy, grid, st, np.ones(x.shape), alpha=0.5, beta=4)
    close(dx, 0.5 * np.einsum("npqij,ncpq->ncij", weights, dy) + 4)


@pytest.mark.parametrize(("h", "w"), [(3, 4), (1, 5), (4, 1), (1, 1)])
def test_generator_point_by_point(reference, h, w):
    theta = np.random.default_rng(2).standard_normal((2, 2, 3))
    got = dnn.spatial_tf_grid_generator_forward(reference, theta, transformer(2, 1, h, w))
    for n, i, j in itertools.product(range(2), range(h), range(w)):
        x = -1 + 2 * j / (w - 1) if w > 1 else -1
        y = -1 + 2 * i / (h - 1) if h > 1 else -1
        close(got[n, i, j], theta[n] @ (x, y, 1))


@pytest.mark.parametrize("sizes", SIZES)
def test_gradients_are_slopes(reference, sizes):
    x, grid, g = draw(*sizes)
    for axis, size in ((0, sizes[3]), (1, sizes[2])):  # no difference quotient may straddle a pixel's centre
        if size > 1:
            at = (grid[..., axis] + 1) / 2 * (size - 1)
            at = np.where(np.abs(at - np.round(at)) < 0.02, at + 0.1, at)
            grid[..., axis] = 2 * at / (size - 1) - 1
    n, c, _, _, h, w = sizes
    st, rng = transformer(n, c, h, w), np.random.default_rng(8)
    prior = rng.standard_normal(grid.shape)
    dx, dgrid = dnn.spatial_tf_sampler_backward(
        reference, x, g, grid, st, None, prior.copy(), alpha=1.5, alpha_dgrid=-2, beta_dgrid=3
    )
    agree(lambda v: 1.5 * (g * dnn.spatial_tf_sampler_forward(reference, v, grid, st)).sum(), dx, x, rng)
    agree(
        lambda v: (g * dnn.spatial_tf_sampler_forward(reference, x, v, st)).sum(), (dgrid - 3 * prior) / -2, grid, rng
    )
    theta = rng.standard_normal((n, 2, 3))
    dtheta = dnn.spatial_tf_grid_generator_backward(reference, prior, st)
    agree(lambda v: (prior * dnn.spatial_tf_grid_generator_forward(reference, v, st)).sum(), dtheta, theta, rng)


def test_opposites_of_each_other(reference):
    """The sampler's dx and the generator's dtheta are the transposes of linear maps: <A x, y> = <x, A' y>."""
    x, grid, dy = draw(2, 3, 6, 7, 5, 4)
    st = transformer(2, 3, 5, 4)
    y = dnn.spatial_tf_sampler_forward(reference, x, grid, st)
    dx, _ = dnn.spatial_tf_sampler_backward(reference, x, dy, grid, st)
    assert (y * dy).sum() == pytest.approx((x * dx).sum(), rel=1e-12)
