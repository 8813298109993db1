"""Definitions of convolution (guide sections 4.45, 4.46, 4.51 and 4.56).

They loop over the cells of the filter and treat all places of the output at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from portadnn.enums import ActivationMode, ConvolutionMode
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardBias,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward

from ..definition import Array, Numbers, blended
from ..windows import Cell, Place, cells, inside, padded
from .activation import activate

_CURVED = (ActivationMode.SIGMOID, ActivationMode.TANH)  # values up to 1, which have rounding errors of their own


class _Geometry:
    """Sizes of a convolution, and its tensors as matrices with the groups as an axis of their own."""

    def __init__(self, problem: Convolution) -> None:
        self.problem = problem
        self.groups = problem.groups
        self.n, channels = problem.image.dims[:2]
        self.c = channels // self.groups
        self.k = problem.filter.dims[0] // self.groups
        self.window = problem.filter.dims[2:]
        self.out = problem.result.dims[2:]
        self.places = math.prod(self.out)

    def cells(self) -> Iterator[tuple[Cell, Place]]:
        """Yield each filter cell and where it lies; the CONVOLUTION mode turns the filter around."""
        problem = self.problem
        for cell, place in cells(self.window, problem.stride, problem.dilation, self.out):
            if problem.mode is ConvolutionMode.CONVOLUTION:
                yield tuple(size - 1 - i for i, size in zip(cell, self.window, strict=True)), place
            else:
                yield cell, place

    def image(self, x: Array) -> Array:
        """(n, c, h, w) -> (n, g, c/g, h, w)."""
        return x.reshape(self.n, self.groups, self.c, *x.shape[2:])

    def result(self, y: Array) -> Array:
        """(n, k, p, q) -> (n, g, k/g, p*q)."""
        return y.reshape(self.n, self.groups, self.k, self.places)

    def filter(self, w: Array) -> Array:
        """(k, c/g, r, s) -> (r, s, g, k/g, c/g)."""
        cells = w.transpose(*range(2, w.ndim), 0, 1)
        return np.ascontiguousarray(cells).reshape(*self.window, self.groups, self.k, self.c)


def _convolution(problem: ConvolutionForward, numbers: Numbers, x: Array, w: Array) -> Array:
    """y[n, k, p, q] = sum over c, r, s of w[k, c, r, s] * x[n, c, p*stride - pad + r*dilation, ...]."""
    geometry = _Geometry(problem)
    image, filters = geometry.image(padded(x, problem.padding)), geometry.filter(w)
    y = np.zeros((geometry.n, geometry.groups, geometry.k, geometry.places))
    for cell, place in geometry.cells():
        patch = image[place].reshape(geometry.n, geometry.groups, geometry.c, geometry.places)
        y += filters[cell] @ patch
    return y.reshape(problem.y.dims)


def _convolution_bias_activation(
    problem: ConvolutionBiasActivationForward, numbers: Numbers, x: Array, w: Array, z: Array, bias: Array
) -> Array:
    """Y = activation(alpha1 * conv(x, w) + alpha2 * z + bias), where z is not read with alpha2 == 0."""
    total = numbers["alpha1"] * _convolution(problem.convolution, numbers, x, w) + bias
    if numbers["alpha2"] != 0:
        total = total + numbers["alpha2"] * z
    return activate(problem, problem.activation, total)


def _convolution_data(problem: ConvolutionBackwardData, numbers: Numbers, w: Array, dy: Array) -> Array:
    """Every output's gradient goes back to the pixels that the filter saw, by the weight each had."""
    geometry = _Geometry(problem)
    filters, dy = geometry.filter(w), geometry.result(dy)
    wide = padded(np.zeros(problem.dx.dims), problem.padding)
    dx = geometry.image(wide)  # a view
    for cell, place in geometry.cells():
        dx[place] += (filters[cell].swapaxes(-1, -2) @ dy).reshape(dx[place].shape)
    return wide[inside(problem.dx.dims[2:], problem.padding)]


def _convolution_filter(problem: ConvolutionBackwardFilter, numbers: Numbers, x: Array, dy: Array) -> Array:
    """Each weight's gradient is the sum over all images and places of dy times the pixel it met."""
    geometry = _Geometry(problem)
    n, groups, k, c = geometry.n, geometry.groups, geometry.k, geometry.c
    image = geometry.image(padded(x, problem.padding))
    dy = geometry.result(dy).transpose(1, 2, 0, 3).reshape(groups, k, n * geometry.places)
    dw = np.empty((*geometry.window, groups, k, c))
    for cell, place in geometry.cells():
        patch = image[place].reshape(n, groups, c, geometry.places).transpose(1, 2, 0, 3)
        dw[cell] = dy @ patch.reshape(groups, c, n * geometry.places).swapaxes(-1, -2)
    return np.moveaxis(dw.reshape(*geometry.window, groups * k, c), (-2, -1), (0, 1))


def _convolution_bias(problem: ConvolutionBackwardBias, numbers: Numbers, dy: Array) -> Array:
    return cast(Array, dy.sum((0, *range(2, dy.ndim)), keepdims=True))


def _fused_terms(
    problem: ConvolutionBiasActivationForward, numbers: Numbers, x: Array, w: Array, z: Array, bias: Array
) -> Array:
    linear = replace(problem, activation=ActivationMode.IDENTITY)
    sums = _convolution_bias_activation(linear, numbers, *map(np.abs, (x, w, z, bias)))
    steepest = {ActivationMode.ELU: max(1.0, abs(problem.coef)), ActivationMode.SWISH: 1.5}  # with its own rounding
    return steepest.get(problem.activation, 1.0) * (sums + (problem.activation in _CURVED))


DEFINITIONS = {
    ConvolutionForward: blended(_convolution),
    ConvolutionBiasActivationForward: blended(_convolution_bias_activation, _fused_terms),
    ConvolutionBackwardData: blended(_convolution_data),
    ConvolutionBackwardFilter: blended(_convolution_filter),
    ConvolutionBackwardBias: blended(_convolution_bias),
}
