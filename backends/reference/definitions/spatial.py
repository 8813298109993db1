"""Definitions of the spatial transformer (guide sections 4.121 to 4.124)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import numpy.typing as npt

from portadnn.enums import DataType
from portadnn.ops.spatial_sampler import SpatialTfSamplerBackward, SpatialTfSamplerForward
from portadnn.ops.spatial_transformer import SpatialTfGridGeneratorBackward, SpatialTfGridGeneratorForward
from portadnn.problem import TensorSpec

from ..definition import Array, Arrays, Definition, Numbers

Sampler = SpatialTfSamplerForward | SpatialTfSamplerBackward


# grid generator


def _homogeneous(h: int, w: int) -> Array:
    """(h, w, 3): x, y and 1 of every pixel; i of n sits at -1 + 2i/(n - 1), the only one of a size of 1 at -1."""
    # of whole numbers, so that a place is rounded once; 2 * i / (size - 1) - 1 loses digits in the middle
    y, x = ((2 * np.arange(size) - max(size - 1, 1)) / max(size - 1, 1) for size in (h, w))
    return np.stack([*np.meshgrid(x, y), np.ones((h, w))], axis=-1)


def _grid(problem: SpatialTfGridGeneratorForward, numbers: Numbers, t: Arrays) -> dict[str, Array]:
    return {"grid": np.einsum("hwk,nrk->nhwr", _homogeneous(*problem.grid.dims[1:3]), t["theta"])}


def _grid_terms(problem: SpatialTfGridGeneratorForward, numbers: Numbers, t: Arrays) -> dict[str, Array]:
    places = np.abs(_homogeneous(*problem.grid.dims[1:3]))
    return {"grid": np.einsum("hwk,nrk->nhwr", places, np.abs(t["theta"]))}


def _theta(problem: SpatialTfGridGeneratorBackward, numbers: Numbers, t: Arrays) -> dict[str, Array]:
    return {"dtheta": np.einsum("hwk,nhwr->nrk", _homogeneous(*problem.dgrid.dims[1:3]), t["dgrid"])}


def _theta_terms(problem: SpatialTfGridGeneratorBackward, numbers: Numbers, t: Arrays) -> dict[str, Array]:
    places = np.abs(_homogeneous(*problem.dgrid.dims[1:3]))
    return {"dtheta": np.einsum("hwk,nhwr->nrk", places, np.abs(t["dgrid"]))}


# sampler

Index = npt.NDArray[np.int64]


class _Places:
    """Where in x the points of a grid lie: v rows and u columns from the first pixel's centre, each (n, h, w)."""

    def __init__(self, x: TensorSpec, grid: Array) -> None:
        self.n, self.c, self.h, self.w = x.dims
        self.u = (grid[..., 0] + 1) * (0.5 * (self.w - 1))
        self.v = (grid[..., 1] + 1) * (0.5 * (self.h - 1))
        near = (self.u >= -1) & (self.u < self.w) & (self.v >= -1) & (self.v < self.h)
        self.inside = near  # False for what is not finite
        self.column = np.floor(np.where(near, self.u, 0)).astype(np.int64)
        self.row = np.floor(np.where(near, self.v, 0)).astype(np.int64)
        self.fu = np.where(near, self.u - self.column, 0)
        self.fv = np.where(near, self.v - self.row, 0)
        self.image = np.broadcast_to(np.arange(self.n)[:, None, None], near.shape)

    def pixel(self, di: int, dj: int) -> tuple[tuple[Index, Index, Index], npt.NDArray[np.bool_]]:
        """Return image, row and column of a neighbour of every point, and whether there is such a pixel."""
        i, j = self.row + di, self.column + dj
        there = self.inside & (i >= 0) & (i < self.h) & (j >= 0) & (j < self.w)
        return (self.image, np.where(there, i, 0), np.where(there, j, 0)), there

    def read(self, x: Array, di: int, dj: int) -> Array:
        """Return x, (n, c, h_in, w_in), at a neighbour of every point: (n, h, w, c), zero outside."""
        if x.shape[2] == 0 or x.shape[3] == 0:
            return np.zeros((*self.u.shape, self.c))
        (image, i, j), there = self.pixel(di, dj)
        return np.where(there[..., None], x[image, :, i, j], 0.0)

    def corners(self) -> Iterator[tuple[int, int, Array]]:
        """Yield the four pixels around every point, with their weights."""
        for di, wv in ((0, 1 - self.fv), (1, self.fv)):
            for dj, wu in ((0, 1 - self.fu), (1, self.fu)):
                yield di, dj, wv * wu

    def doubt(self) -> Array:
        """Return what rounding u and v may move a point by, in units of an epsilon: (n, h, w)."""
        margin = 1e-3
        near = (self.u > -1 - margin) & (self.u < self.w + margin)
        near &= (self.v > -1 - margin) & (self.v < self.h + margin)
        return np.where(near, np.abs(self.u) + np.abs(self.v) + 2, 0)

    def kink(self, epsilon: float, axis: int) -> Array:
        """Tell, as 0 or 1, where rounding may decide between two pixels: beside a whole number, but not on it."""
        at = (self.u, self.v)[axis]
        distance = np.abs(at - np.round(at))
        return ((distance > 0) & (distance < 4 * epsilon * (np.abs(at) + 1)) & (self.doubt() > 0)).astype(float)


def _blended(numbers: Numbers, values: Array, prior: Array, suffix: str = "") -> Array:
    alpha, beta = numbers[f"alpha{suffix}"], numbers[f"beta{suffix}"]
    return alpha * values + beta * prior if beta != 0 else alpha * values


def _magnitude(numbers: Numbers) -> Numbers:
    return {name: abs(number) for name, number in numbers.items()}


def _largest(x: Array) -> Array:
    """Return the largest number of every channel of every image: (n, 1, 1, c)."""
    return cast(Array, np.abs(x).max((2, 3), initial=0.0)[:, None, None, :])


def _sampled(problem: SpatialTfSamplerForward, numbers: Numbers, t: Arrays) -> dict[str, Array]:
    places = _Places(problem.x, t["grid"])
    total = np.zeros((*places.u.shape, places.c))
    for di, dj, weight in places.corners():
        here = places.pixel(di, dj)[1][..., None]
        total += np.where(here, weight[..., None] * places.read(t["x"], di, dj), 0.0)
    return {"y": _blended(numbers, np.moveaxis(total, 3, 1), t["y"])}


def _sampled_terms(problem: SpatialTfSamplerForward, numbers: Numbers, t: Arrays) -> dict[str, Array]:
    places = _Places(problem.x, t["grid"])
    terms = places.doubt()[..., None] * _largest(t["x"])  # pixels differ by no more than twice that
    return {"y": _blended(_magnitude(numbers), np.moveaxis(terms, 3, 1), np.abs(t["y"]))}


def _scattered(places: _Places, dy: Array, corners: Iterator[tuple[int, int, Array]]) -> Array:
    """Add every sample's gradient, weighted, to pixels around its place."""
    dx = np.zeros((places.n, places.h, places.w, places.c))
    for di, dj, weight in corners:
        (image, i, j), there = places.pixel(di, dj)
        part = weight[..., None] * np.moveaxis(dy, 1, 3)
        np.add.at(dx, (image[there], i[there], j[there]), part[there])
    return np.moveaxis(dx, 3, 1)


def _gradients(problem: SpatialTfSamplerBackward, numbers: Numbers, t: Arrays) -> dict[str, Array]:
    places = _Places(problem.x, t["grid"])
    a, b, c, d = (places.read(t["x"], di, dj) for di in (0, 1) for dj in (0, 1))
    fu, fv = places.fu[..., None], places.fv[..., None]
    along_u = (1 - fv) * (b - a) + fv * (d - c)
    along_v = (1 - fu) * (c - a) + fu * (d - b)
    dy = np.moveaxis(t["dy"], 1, 3)
    slopes = (0.5 * (places.w - 1) * (dy * along_u).sum(3), 0.5 * (places.h - 1) * (dy * along_v).sum(3))
    dgrid = np.where(places.inside[..., None], np.stack(slopes, axis=-1), 0.0)
    dx = _scattered(places, t["dy"], places.corners())
    return {"dx": _blended(numbers, dx, t["dx"]), "dgrid": _blended(numbers, dgrid, t["dgrid"], "_dgrid")}


def _gradients_terms(problem: SpatialTfSamplerBackward, numbers: Numbers, t: Arrays) -> dict[str, Array]:
    # a point that rounding moves over a pixel's centre also reaches the pixel before, and has another slope
    places = _Places(problem.x, t["grid"])
    doubt, dy = places.doubt(), np.abs(t["dy"])
    around = ((di, dj, doubt * (2 if {di, dj} <= {0, 1} else 1)) for di in (-1, 0, 1, 2) for dj in (-1, 0, 1, 2))
    dx = _scattered(places, dy, around)
    steepest = 4 * (np.moveaxis(dy, 1, 3) * _largest(t["x"])).sum(3)
    accumulator: DataType = problem.dtype.accumulator
    epsilon = accumulator.limits.eps
    sides = [
        0.5 * abs(size - 1) * steepest * (doubt + places.kink(epsilon, axis) / epsilon)
        for axis, size in enumerate((places.w, places.h))
    ]
    magnitude = _magnitude(numbers)
    dgrid = np.stack(sides, axis=-1)
    return {
        "dx": _blended(magnitude, dx, np.abs(t["dx"])),
        "dgrid": _blended(magnitude, dgrid, np.abs(t["dgrid"]), "_dgrid"),
    }


DEFINITIONS = {
    SpatialTfGridGeneratorForward: Definition(_grid, _grid_terms),
    SpatialTfGridGeneratorBackward: Definition(_theta, _theta_terms),
    SpatialTfSamplerForward: Definition(_sampled, _sampled_terms),
    SpatialTfSamplerBackward: Definition(_gradients, _gradients_terms),
}
