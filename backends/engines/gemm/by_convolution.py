"""Products by Hopper's warpgroups as 1 x 1 convolutions of one image, or the gradients of their filters.

Those of float32 are sums of three of TF32: where an input is infinite, results are NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from portadnn.enums import DataType
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardFilter, ConvolutionForward
from portadnn.problem import ALIGNMENT
from portadnn.specs import TensorSpec

from ...base import Device, DeviceInfo, Engine, Launch
from ..conv.planes import ENGINES
from ..conv.tensor_core import TensorCoreBackwardFilter
from ..inner_plans import Place, moved
from .operands import Matrix
from .terms import Terms

_FEWEST = 2e8  # operations; with fewer, products of infinite numbers stay infinite
_ONE = ((0, 0), (1, 1), (1, 1))  # padding, stride and dilation


@dataclass(frozen=True)
class OnConvolution:
    """The engine of a convolution, and that as a Problem; several products run one after another."""

    gemm: Terms
    engine: Engine
    problem: Convolution
    workspace: int

    @classmethod
    def of_floats(cls, gemm: Terms, info: DeviceInfo) -> OnConvolution | None:
        """Return the product of float32 by an engine that takes it, if there is one."""
        if gemm.dtype is not DataType.FLOAT or not _is_large(gemm):
            return None
        return cls._by([engine for engine in ENGINES if engine.three], gemm, _problem(gemm), info)

    @classmethod
    def of_halves(cls, gemm: Terms, info: DeviceInfo) -> OnConvolution | None:
        """Return the product of halves whose operands both lie across K, which needs no packing so."""
        halves = gemm.dtype in (DataType.HALF, DataType.BFLOAT16) and "wgmma" in info.features and _is_large(gemm)
        across = gemm.a.rows == 1 and gemm.b.columns == 1
        if not (halves and across and gemm.a.stored and gemm.b.stored and gemm.c.stored):
            return None
        m, n, k = gemm.m, gemm.n, gemm.k
        x, dy = _pixels(gemm, gemm.b, gemm.b.rows, n, k), _pixels(gemm, gemm.a, gemm.a.columns, m, k)
        problem = ConvolutionBackwardFilter(x, dy, _spec(gemm, gemm.c, (m, n, 1, 1), (gemm.c.rows, 1, 1, 1)), *_ONE)
        return cls._by([TensorCoreBackwardFilter()], gemm, problem, info)

    @classmethod
    def _by(
        cls, engines: Sequence[Engine], gemm: Terms, problem: Convolution | None, info: DeviceInfo
    ) -> OnConvolution | None:
        for engine in engines:
            if isinstance(problem, engine.problems) and engine.why_not(problem, info) is None:
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
            places = [_place(gemm, sides[name], batch) for name in self.problem.names]
            yield from moved(plan.launches, places, scratch, (1.0, float(gemm.accumulate)))


def _is_large(gemm: Terms) -> bool:
    return 2.0 * gemm.m * gemm.n * gemm.k * gemm.batches >= _FEWEST


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
    whole = side.aligned and side.first * gemm.dtype.itemsize % ALIGNMENT == 0
    whole = whole and (gemm.batches == 1 or side.batch * gemm.dtype.itemsize % ALIGNMENT == 0)
    return TensorSpec(gemm.dtype, dims, strides, ALIGNMENT if whole else gemm.dtype.itemsize)


def _lines(gemm: Terms, side: Matrix, pitch: int, lines: int, pixels: int) -> TensorSpec:
    """Return a tensor whose pixels are neighbours."""
    return _spec(gemm, side, (1, lines, 1, pixels), (pitch * lines, pitch, pixels, 1))


def _pixels(gemm: Terms, side: Matrix, pitch: int, channels: int, pixels: int) -> TensorSpec:
    """Return a tensor whose channels are neighbours."""
    return _spec(gemm, side, (1, channels, 1, pixels), (pitch * pixels, 1, pitch * pixels, pitch))


def _place(gemm: Terms, side: Matrix, batch: int) -> Place:
    first = (side.first + batch * side.batch) * gemm.dtype.itemsize
    return Place(replace(side.arg, offset=side.arg.offset + first), gemm.dtype)
