"""Products of rows and matrices: small ones by the kernels for products, large ones by those of graphs."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from portadnn.enums import DataType
from portadnn.errors import NotSupported
from portadnn.graph.enums import pointwise_mode
from portadnn.graph.operation_graph import OperationGraph
from portadnn.problem import ALIGNMENT

from ...base import Device, DeviceInfo, Launch
from ...fusion.prepare import uid_of
from ...fusion.product.choice import Chosen, chosen_for
from ..gemm.operands import Matrix
from ..gemm.product import Gemm
from ..inner_plans import Place, moved
from .graphs import Tensors, node

_LARGE = 1 << 21  # operations from which on a kernel of its own is worth its compilation
_LEAST = 16  # columns of such a product, and what each sums up


@dataclass(frozen=True)
class Block:
    """Matrices in memory: [batch][row][column], strides in elements."""

    place: Place
    dims: tuple[int, int, int]
    strides: tuple[int, int, int]

    @classmethod
    def packed(cls, place: Place, rows: int, columns: int) -> Block:
        """Return one matrix without gaps."""
        return cls(place, (1, rows, columns), (rows * columns, columns, 1))

    @property
    def turned(self) -> Block:
        """The matrices with rows and columns exchanged."""
        (b, m, n), (of_b, of_m, of_n) = self.dims, self.strides
        return Block(self.place, (b, n, m), (of_b, of_n, of_m))

    def matrix(self, dtype: DataType) -> Matrix:
        """Return it as the kernels for products take it; `dtype` is the storage type."""
        batch = self.strides[0] if self.dims[0] > 1 else 0
        aligned = self.place.alignment >= ALIGNMENT
        return Matrix(self.place.arg, 0, *self.strides[1:], batch, self.place.dtype is dtype, aligned)


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

    def workspace(self, info: DeviceInfo) -> int:
        """Return the bytes of scratch memory."""
        if not self.large(info):
            return self.gemm.workspace(info)
        chosen = self.chosen(info)
        return chosen.engine.workspace(chosen.problem, info)

    def large(self, info: DeviceInfo) -> bool:
        """Tell whether kernels of graphs compute it."""
        (batches, m, n), k = self.c.dims, self.a.dims[2]
        if 2 * batches * m * n * k < _LARGE or min(n, k) < _LEAST or self.dtype is DataType.DOUBLE:
            return False
        return self._found(info) is not None

    def chosen(self, info: DeviceInfo) -> Chosen:
        """Return what computes a large one."""
        found = self._found(info)
        assert found is not None
        return found

    def _found(self, info: DeviceInfo) -> Chosen | None:
        return _chosen(self._graph[0], info)

    @functools.cached_property
    def _graph(self) -> tuple[OperationGraph, Tensors]:
        tensors = Tensors()
        a, b = (tensors.add(one.dims, one.strides, one.place) for one in (self.a, self.b))
        dims = self.c.dims
        packed = (dims[1] * dims[2], dims[2], 1)
        added = (*self.added, self.c) if self.accumulate else self.added
        sums = tensors.virtual(dims, packed)
        operations = [node("matmul", {"A": a, "B": b}, {"C": sums})]
        for place, one in enumerate(added or (None,)):
            last = place >= len(added) - 1
            result = tensors.add(dims, self.c.strides, self.c.place) if last else tensors.virtual(dims, packed)
            inputs = {"IN_0": sums}
            if one is not None:
                inputs["IN_1"] = tensors.add(one.dims, one.strides, one.place)
            mode = pointwise_mode.IDENTITY if one is None else pointwise_mode.ADD
            operations.append(node("pointwise", inputs, {"OUT_0": result}, mode=mode))
            sums = result
        return tensors.graph(operations), tensors

    def launches(self, device: Device, start: int) -> Iterator[Launch]:
        """Return the launches; scratch memory begins at byte `start` of the workspace."""
        if not self.large(device.info):
            return self.gemm.launches(device, start)
        chosen, tensors = self.chosen(device.info), self._graph[1]
        made = chosen.fused
        operands = [None if view is None else view.memory for view in made.views]
        uids = [*operands, None, *(uid_of(value) for value in made.memory)]
        unread = uid_of(made.memory[-1])
        places = [tensors.place(unread if uid is None else uid) for uid in uids]
        problem = chosen.problem
        specs: dict[str, Any] = {
            name: replace(spec, alignment=min(spec.alignment, place.alignment))
            for name, spec, place in zip(problem.inputs, problem.tensors, places, strict=False)
        }
        plan = chosen.engine.prepare(replace(problem, **specs), device)
        return iter(tuple(moved(plan.launches, places, start, (1.0, 0.0))))


@functools.lru_cache(maxsize=256)
def _chosen(graph: OperationGraph, info: DeviceInfo) -> Chosen | None:
    """Return what computes a graph; None where nothing does."""
    try:
        return chosen_for(graph, info)
    except NotSupported:
        return None


def alignment_of(element: int, itemsize: int, whole: int = ALIGNMENT) -> int:
    """Return what an address is a multiple of, so many elements behind one that is a multiple of `whole` bytes."""
    return math.gcd(element * itemsize, whole)


def workspace_of(products: Sequence[Product], info: DeviceInfo) -> int:
    """Return the bytes of scratch memory of products that run one after another."""
    return max((one.workspace(info) for one in products), default=0)
