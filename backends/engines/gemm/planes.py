"""Products of float32 by Hopper's warpgroups, each the sum of three of TF32: 1 x 1 convolutions of one image.

Where an input is infinite, results are NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from portadnn.enums import DataType
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardFilter, ConvolutionForward
from portadnn.specs import TensorSpec

from ...base import Device, DeviceInfo, Launch
from ..conv.planes import ENGINES, Planes
from ..inner_plans import Place, moved
from .operands import Matrix
from .terms import Terms

_FEWEST = 2e8  # operations; with fewer, products of infinite numbers stay infinite
_ONE = ((0, 0), (1, 1), (1, 1))  # padding, stride and dilation


@dataclass(frozen=True)
class OnPlanes:
    """The engine of a convolution, and that as a Problem; several products run one after another."""

    gemm: Terms
    engine: Planes
    problem: Convolution
    workspace: int

    @classmethod
    def of(cls, gemm: Terms, info: DeviceInfo) -> OnPlanes | None:
        """Return the product by an engine that takes it, if there is one."""
        if gemm.dtype is not DataType.FLOAT or 2.0 * gemm.m * gemm.n * gemm.k * gemm.batches < _FEWEST:
            return None
        problem = _problem(gemm)
        for engine in ENGINES:
            if engine.three and isinstance(problem, engine.problems) and engine.why_not(problem, info) is None:
                return cls(gemm, engine, problem, engine.workspace(problem, info))
        return None

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time."""
        return self.gemm.batches * self.engine.seconds(self.problem, info)

    def launches(self, device: Device, scratch: int) -> Iterator[Launch]:
        gemm = self.gemm
        plan = self.engine.prepare(self.problem, device)
        sides = {"w": gemm.a, "x": gemm.b, "y": gemm.c, "dy": gemm.a, "dw": gemm.c}
        for batch in range(gemm.batches):
            places = [_place(sides[name], batch) for name in self.problem.names]
            yield from moved(plan.launches, places, scratch, (1.0, float(gemm.accumulate)))


def _problem(gemm: Terms) -> Convolution | None:
    """Return the product as a convolution in which the pixels of a row are neighbours, if it is one."""
    m, n, k, c = gemm.m, gemm.n, gemm.k, gemm.c
    if gemm.b.columns == 1:  # filters (m, k) of k channels of n pixels
        w = _spec(gemm, gemm.a, (m, k, 1, 1), (gemm.a.rows, gemm.a.columns, 1, 1))
        x, y = _lines(gemm, gemm.b, gemm.b.rows, k, n), _lines(gemm, c, c.rows, m, n)
        return ConvolutionForward(x, w, y, *_ONE)
    if gemm.a.columns != 1:
        return None
    # the gradient of filters (m, n), a sum over k pixels
    x, dy = _lines(gemm, gemm.b, gemm.b.columns, n, k), _lines(gemm, gemm.a, gemm.a.rows, m, k)
    return ConvolutionBackwardFilter(x, dy, _spec(gemm, c, (m, n, 1, 1), (c.rows, 1, 1, 1)), *_ONE)


def _spec(gemm: Terms, side: Matrix, dims: tuple[int, ...], strides: tuple[int, ...]) -> TensorSpec:
    """Return a tensor at the places of a side; of several, each is as aligned as all."""
    whole = side.aligned and side.first % 4 == 0 and (gemm.batches == 1 or side.batch % 4 == 0)
    return TensorSpec(gemm.dtype, dims, strides, 16 if whole else 4)


def _lines(gemm: Terms, side: Matrix, pitch: int, lines: int, pixels: int) -> TensorSpec:
    return _spec(gemm, side, (1, lines, 1, pixels), (pitch * lines, pitch, pixels, 1))


def _place(side: Matrix, batch: int) -> Place:
    first = (side.first + batch * side.batch) * DataType.FLOAT.itemsize
    return Place(replace(side.arg, offset=side.arg.offset + first), DataType.FLOAT)
