"""Products of rows and matrices: small ones by the kernels for products, large ones by those of graphs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from portadnn.enums import DataType
from portadnn.problem import ALIGNMENT

from ...base import Device, DeviceInfo, Launch
from ..gemm.as_convolution import AsConvolution
from ..gemm.by_convolution import OnConvolution
from ..gemm.by_graph import Block, GraphProduct
from ..gemm.product import Gemm

_LARGE = 1 << 21  # operations from which on a kernel of its own is worth its compilation
_LEAST = 16  # columns of such a product, and what each sums up


@dataclass(frozen=True)
class Product:
    """c = a b + added, or c = a b + c; b and what is added have a batch of 1 or as a.

    Attributes
    ----------
    dtype : DataType
        Storage type of the problem.
    added : tuple of Block
        Of c's dims or broadcast to them; only of a `large` product.
    """

    dtype: DataType
    a: Block
    b: Block
    c: Block
    added: tuple[Block, ...] = ()
    accumulate: bool = False

    @property
    def gemm(self) -> Gemm:
        """The product as the kernels for products take it."""
        (batches, m, n), k = self.c.dims, self.a.dims[2]
        a, b, c = (one.matrix(self.dtype) for one in (self.a, self.b, self.c))
        return Gemm(self.dtype, m, n, k, a, b, c, batches, accumulate=self.accumulate)

    @property
    def of_graph(self) -> GraphProduct:
        """The product as the kernels of graphs take it."""
        return GraphProduct(self.a, self.b, self.c, self.added, self.accumulate)

    def workspace(self, info: DeviceInfo) -> int:
        """Return the bytes of scratch memory."""
        return self.made(info).workspace(info)

    def large(self, info: DeviceInfo) -> bool:
        """Tell whether kernels of graphs compute it."""
        (batches, m, n), k = self.c.dims, self.a.dims[2]
        if 2 * batches * m * n * k < _LARGE or min(n, k) < _LEAST or self.dtype is DataType.DOUBLE:
            return False
        if not self.added and OnConvolution.of_halves(self.gemm, info) is not None:
            return False
        return self.of_graph.chosen(info) is not None

    def launches(self, device: Device, start: int) -> Iterator[Launch]:
        """Return the launches; scratch memory begins at byte `start` of the workspace."""
        return self.made(device.info).launches(device, start)

    def made(self, info: DeviceInfo) -> AsConvolution | GraphProduct | Gemm:
        """Return what computes it."""
        if not self.large(info):
            return self.gemm
        return AsConvolution.preferred(self.of_graph, info) or self.of_graph


def alignment_of(element: int, itemsize: int, whole: int = ALIGNMENT) -> int:
    """Return what an address is a multiple of, so many elements behind one that is a multiple of `whole` bytes."""
    return math.gcd(element * itemsize, whole)
