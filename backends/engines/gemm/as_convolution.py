"""Products by engines for convolutions: 1 x 1 ones of rows as pixels, with or without a bias, or data gradients."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from portadnn.enums import ActivationMode
from portadnn.errors import NotSupported
from portadnn.ops.convolution.calls import ConvolutionBackwardData, ConvolutionForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import ALIGNMENT
from portadnn.specs import TensorSpec

from ...base import Device, DeviceInfo, Engine, Launch
from ...fusion.product.choice import fastest
from ..conv.joined import MOST, joined
from ..conv.tensor_core import TensorCoreBackwardData, TensorCoreForward
from ..inner_plans import Place, moved
from .by_graph import Block, GraphProduct
from .product import Gemm

_ONE = ((0, 0), (1, 1), (1, 1))  # padding, stride and dilation
Lowered = ConvolutionForward | ConvolutionBiasActivationForward | ConvolutionBackwardData


@dataclass(frozen=True)
class AsConvolution:
    """c = a b, c += a b, or c = a b + a row; the engine of a convolution, and that as a Problem."""

    product: GraphProduct
    engine: Engine
    problem: Lowered

    @classmethod
    def preferred(cls, product: GraphProduct, info: DeviceInfo) -> AsConvolution | None:
        """Return the product as a convolution, if that is one and is no slower than the kernels of graphs on a GPU."""
        problem = _problem(product) if info.schedule == "gpu" else None
        engine = None if problem is None else _engine(problem, info)
        if problem is None or engine is None:
            return None
        other = product.chosen(info)
        if other and other.engine.seconds(other.problem, info) < engine.seconds(problem, info):
            return None
        return cls(product, engine, problem)

    def workspace(self, info: DeviceInfo) -> int:
        """Return the bytes of scratch memory."""
        return self.engine.workspace(self.problem, info)

    def launches(self, device: Device, start: int) -> Iterator[Launch]:
        """Return the launches; scratch memory begins at byte `start` of the workspace."""
        launches = self.engine.prepare(self.problem, device).launches
        return iter(tuple(moved(launches, self.places, start, self._numbers)))

    @property
    def places(self) -> list[Place]:
        """The memory of the problem's tensors."""
        made = self.product
        sides = {**dict.fromkeys(("x", "dy"), made.a), "w": made.b, **dict.fromkeys(("y", "z", "dx"), made.c)}
        if made.added:
            sides["bias"] = made.added[0]
        return [sides[name].place for name in self.problem.names]

    @property
    def _numbers(self) -> tuple[float, float]:
        return 1.0, float(self.product.accumulate)

    def with_others(self, others: Sequence[AsConvolution], device: Device) -> Launch | None:
        """Return one launch of this product and others of the same problem; None where that takes more than one."""
        if not isinstance(self.engine, TensorCoreForward | TensorCoreBackwardData):
            return None
        launch = joined(self.problem, 1 + len(others), device)
        if launch is None:
            return None
        places = [place for one in (self, *others) for place in one.places]
        return next(iter(moved([launch], places, 0, self._numbers)))


def side_by_side(
    products: Sequence[AsConvolution | GraphProduct | Gemm], device: Device, start: int
) -> Iterator[Launch]:
    """Yield the launches of products that do not wait for each other: those of one kind in one, where they can be."""
    left = list(products)
    while left:
        first = left.pop(0)
        if isinstance(first, AsConvolution):
            key = first.engine, first.problem, first.product.accumulate
            others = [
                one
                for one in left
                if isinstance(one, AsConvolution) and (one.engine, one.problem, one.product.accumulate) == key
            ][: MOST - 1]
            launch = first.with_others(others, device) if others else None
            if launch is not None:
                left = [one for one in left if one not in others]
                yield launch
                continue
        yield from first.launches(device, start)


@functools.lru_cache(maxsize=256)
def _engine(problem: Lowered, info: DeviceInfo) -> Engine | None:
    """Return the fastest engine; None where none takes the convolution."""
    try:
        return fastest(problem, info)
    except NotSupported:
        return None


def _problem(product: GraphProduct) -> Lowered | None:
    """Return the product as a convolution, whose pixels are rows and whose channels are columns; None if it is none."""
    a, b, c, added = product.a, product.b, product.c, product.added
    (batches, rows, columns), depth = c.dims, a.dims[2]
    if b.dims[0] != 1 or len({one.place.dtype for one in (a, b, c, *added)}) > 1:
        return None

    def spec(side: Block, dims: tuple[int, ...], strides: tuple[int, ...]) -> TensorSpec:
        return TensorSpec(side.place.dtype, dims, strides, min(side.place.alignment, ALIGNMENT))

    def pixels(side: Block, channels: int) -> TensorSpec:
        of_batch, of_row, of_column = side.strides
        return spec(side, (batches, channels, 1, rows), (of_batch, of_column, of_row, of_row))

    x, y = pixels(a, depth), pixels(c, columns)
    if not added and b.strides[2] == 1:
        across = spec(b, (depth, columns, 1, 1), (b.strides[1], 1, 1, 1))
        return ConvolutionBackwardData(across, x, y, *_ONE)
    w = spec(b, (columns, depth, 1, 1), (b.strides[2], b.strides[1], 1, 1))
    if not added:
        return ConvolutionForward(x, w, y, *_ONE)
    (row,) = added if len(added) == 1 and not product.accumulate else (None,)
    if row is None or row.dims != (1, 1, columns) or row.strides[2] != 1:
        return None
    bias = spec(row, (1, columns, 1, 1), (columns, 1, 1, 1))
    return ConvolutionBiasActivationForward(x, w, y, bias, y, *_ONE, activation=ActivationMode.IDENTITY)
