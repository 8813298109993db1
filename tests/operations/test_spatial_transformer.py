"""Kernel backends: the spatial transformer against the reference, and where points meet, or lie nowhere."""

from __future__ import annotations

import numpy as np
import pytest
from cases_spatial import GENERATOR_CASES, LARGE_CASES, SAMPLER_CASES
from helper import assert_same, check, everywhere, over

import portadnn as dnn

NAN, INF = np.nan, np.inf


@over(GENERATOR_CASES)
def test_grid_generator_agrees_with_the_reference(handle, case):
    check(handle, case)


@over(SAMPLER_CASES + LARGE_CASES)
def test_sampler_agrees_with_the_reference(handle, case):
    check(handle, case)


def sample(handle, x, grid, dy=None):
    """Return y, or dx and dgrid, as NumPy arrays."""
    n, h, w, _ = grid.shape
    transformer = dnn.SpatialTransformerDescriptor((n, x.shape[1], h, w), x.dtype)
    arrays = [handle.asarray(a) for a in (x, grid)]
    if dy is None:
        return handle.to_numpy(dnn.spatial_tf_sampler_forward(handle, *arrays, transformer))
    both = dnn.spatial_tf_sampler_backward(handle, arrays[0], handle.asarray(dy), arrays[1], transformer)
    return tuple(handle.to_numpy(array) for array in both)


@everywhere()
def test_corners_are_aligned(handle):
    """The identity's grid reads every pixel exactly; a size of 1 sits at -1."""
    x = np.arange(2 * 3 * 5 * 6, dtype=np.float32).reshape(2, 3, 5, 6)
    transformer = dnn.SpatialTransformerDescriptor(x.shape)
    theta = handle.asarray(np.tile(np.eye(2, 3, dtype=np.float32), (2, 1, 1)))
    grid = dnn.spatial_tf_grid_generator_forward(handle, theta, transformer)
    corners = handle.to_numpy(grid)[0, ::4, ::5]
    assert_same(corners, np.array([[[-1, -1], [1, -1]], [[-1, 1], [1, 1]]], np.float32))
    y = handle.to_numpy(dnn.spatial_tf_sampler_forward(handle, handle.asarray(x), grid, transformer))
    np.testing.assert_allclose(y, x, rtol=1e-5, atol=1e-5)
    one = dnn.SpatialTransformerDescriptor((2, 3, 1, 1))
    grid = handle.to_numpy(dnn.spatial_tf_grid_generator_forward(handle, theta, one))
    assert_same(grid, np.full((2, 1, 1, 2), -1, np.float32))


OUTSIDE = (-3.0, 3.0, -1e30, 1e30, NAN, INF, -INF)


@everywhere()
def test_nothing_is_read_outside(handle):
    """Points off the image, or nowhere at all, give zero and take no gradient, whatever pixels and gradients hold."""
    x = np.full((1, 9, 3, 4), NAN, np.float32)
    x[..., 1:, :] = INF
    grid = np.zeros((1, 2, len(OUTSIDE), 2), np.float32)
    grid[0, 0, :, 0] = grid[0, 1, :, 1] = OUTSIDE
    assert_same(sample(handle, x, grid), np.zeros((1, 9, 2, len(OUTSIDE)), np.float32))
    dx, dgrid = sample(handle, x, grid, np.full((1, 9, 2, len(OUTSIDE)), NAN, np.float32))
    assert_same(dx, np.zeros_like(dx))
    assert_same(dgrid, np.zeros_like(grid))


@everywhere()
def test_samples_fade_at_the_border(handle):
    """Between the last pixel and one step beyond it the sample falls to zero, and so does its share of dx."""
    x = np.full((1, 1, 3, 3), 8, np.float32)
    grid = np.array([[-1, 0], [-1.5, 0], [-2, 0], [1.25, 0], [1.5, 1.5], [1.75, 0]], np.float32).reshape(1, 1, 6, 2)
    assert_same(sample(handle, x, grid).ravel(), np.array([8, 4, 0, 6, 2, 2], np.float32))
    dx, dgrid = sample(handle, x, grid, np.ones((1, 1, 1, 6), np.float32))
    assert_same(dx[0, 0], np.array([[0, 0, 0], [1.5, 0, 1], [0, 0, 0.25]], np.float32))
    slopes = [[0, 0], [8, 0], [8, 0], [-8, 0], [-4, -4], [-8, 0]]  # at -2, as cuDNN and PyTorch, towards the image
    assert_same(dgrid[0, 0], np.array(slopes, np.float32))


@everywhere()
@pytest.mark.parametrize("spot", [(-0.7, 0.4), (2.5, 0.0), (-1.0, -1.0)])
def test_all_points_at_one_place(handle, spot):
    """A cell that holds every point of its image is sorted by a whole work-group; sums of small integers are exact."""
    grid = np.empty((2, 37, 29, 2), np.float32)
    grid[0] = spot
    grid[1] = np.random.default_rng(5).uniform(-1.2, 1.2, (37, 29, 2))
    x = np.ones((2, 3, 3, 3), np.float32)
    dy = np.random.default_rng(6).integers(-4, 5, (2, 3, 37, 29)).astype(np.float32)
    dx, _ = sample(handle, x, grid, dy)
    with dnn.Handle("reference") as reference:
        want, _ = sample(reference, x.astype(np.float64), grid.astype(np.float64), dy.astype(np.float64))
    np.testing.assert_allclose(dx, want, rtol=0, atol=2e-3)
    again, _ = sample(handle, x, grid, dy)
    assert dx.tobytes() == again.tobytes()


def test_descriptor(reference):
    made = dnn.SpatialTransformerDescriptor.set_nd("BILINEAR", "float16", (2, 3, 4, 5))
    assert made == dnn.SpatialTransformerDescriptor((2, 3, 4, 5), dnn.DataType.HALF, dnn.SamplerType.BILINEAR)
    assert hash(made) == hash(dnn.SpatialTransformerDescriptor((2, 3, 4, 5), np.float16, 0))
    assert dnn.SamplerType.BILINEAR.c_name == "CUDNN_SAMPLER_BILINEAR"
    theta = np.zeros((2, 2, 3), np.float16)
    assert dnn.spatial_tf_grid_generator_forward(reference, theta, made).shape == (2, 4, 5, 2)
    dgrid = np.zeros((2, 4, 5, 2), np.float16)
    assert dnn.spatial_tf_grid_generator_backward(reference, dgrid, made).shape == (2, 2, 3)
