"""The definitions of resampling in graphs.

Cell i of an axis covers [i, i + 1). The window of output o begins at o * stride - pre_padding. Pooling takes the cells
in it. Interpolations read at the window's centre: NEAREST the cell that it lies in, BILINEAR between the centres of the
two nearest cells; beyond the edge the outermost cell goes on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.enums import resample_mode
from portadnn.graph.operation_graph import Operation, OperationGraph

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]


class _Windows:
    """The cells of pooling windows over a padded image."""

    def __init__(self, op: Operation, image: tuple[int, ...], out: tuple[int, ...]) -> None:
        self.op = op
        self.image, self.out = image, out
        self.padding = [(int(a), int(b)) for a, b in zip(op["pre_padding"], op["post_padding"], strict=True)]
        self.inside: tuple[Any, ...] = (
            ...,
            *(slice(a, a + d) for (a, _), d in zip(self.padding, image[2:], strict=True)),
        )

    def padded(self, x: Array, value: float) -> Array:
        """Return the image with `value` around it."""
        return np.pad(x, ((0, 0), (0, 0), *self.padding), constant_values=value)

    def cells(self) -> Iterator[tuple[int, Any]]:
        """Yield the number of each cell, row-major, and where all windows meet it."""
        steps = [int(s) for s in self.op["stride"]]
        for number, cell in enumerate(np.ndindex(*self.op["window"])):
            yield (
                number,
                (..., *(slice(c, c + (p - 1) * s + 1, s) for c, s, p in zip(cell, steps, self.out[2:], strict=True))),
            )

    def counts(self) -> Array:
        """Return what an average divides by."""
        if self.op["mode"] is resample_mode.AVGPOOL_INCLUDE_PADDING:
            return np.full((), float(math.prod(self.op["window"])))
        ones = self.padded(np.ones((1, 1, *self.image[2:])), 0.0)
        return np.asarray(np.maximum(sum(ones[place] for _, place in self.cells()), 1.0))

    def maxima(self, x: Array) -> tuple[Array, Array]:
        """Return the maximum of each window and the number of the first cell that has it; NaN wins."""
        wide = self.padded(x.astype(np.float64), -np.inf)  # INT64 has no infinity
        best, where = np.full(self.out, -np.inf), np.full(self.out, -1)
        for number, place in self.cells():
            value = wide[place]
            better = (value > best) | (np.isnan(value) & ~np.isnan(best)) | (where < 0)
            best, where = np.where(better, value, best), np.where(better, number, where)
        return best, where


def _centres(op: Operation, axis: int, size: int) -> list[float]:
    window, pre, stride = op["window"][axis], op["pre_padding"][axis], op["stride"][axis]
    return [float(o * stride - pre + window / 2) for o in range(size)]


def _interpolated(op: Operation, x: Array, out: tuple[int, ...]) -> Array:
    for axis, size in enumerate(out[2:]):
        last = x.shape[axis + 2] - 1
        centre = np.array(_centres(op, axis, size))
        if op["mode"] is resample_mode.NEAREST:
            x = x.take(np.clip(np.floor(centre), 0, last).astype(int), axis + 2)
            continue
        low = np.floor(centre - 0.5)
        share = (centre - 0.5 - low).reshape([-1 if k == axis + 2 else 1 for k in range(x.ndim)])
        cells = [np.clip(low + k, 0, last).astype(int) for k in (0, 1)]
        x = x.take(cells[0], axis + 2) * (1 - share) + x.take(cells[1], axis + 2) * share
    return x


def _forward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    x, out = t["X"], graph.at(op, "Y").dims
    if op["mode"] in (resample_mode.NEAREST, resample_mode.BILINEAR):
        return {"Y": _interpolated(op, x, out)}
    windows = _Windows(op, x.shape, out)
    if op["mode"] is resample_mode.MAXPOOL:
        best, where = windows.maxima(x)
        return {"Y": best, "INDEX": where.astype(np.float64)}
    wide = windows.padded(x, 0.0)
    return {"Y": sum(wide[place] for _, place in windows.cells()) / windows.counts()}


def _backward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    dy, image = t["DY"], graph.at(op, "DX").dims
    windows = _Windows(op, image, dy.shape)
    wide = windows.padded(np.zeros(image), 0.0)
    if op["mode"] is resample_mode.MAXPOOL:
        where = t["INDEX"] if "INDEX" in t else windows.maxima(t["X"])[1]
        shares: Iterator[Array] = (np.where(where == number, dy, 0.0) for number in itertools.count())
    else:
        shares = itertools.repeat(dy / windows.counts())
    for (_, place), share in zip(windows.cells(), shares, strict=False):
        wide[place] += share
    return {"DX": wide[windows.inside]}


DEFINITIONS = {"resample": _forward, "resample_backward": _backward}
