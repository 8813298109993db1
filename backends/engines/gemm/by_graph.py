"""Products by the kernels of graphs: warpgroups and their tiles, and additions to sums as they are stored."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
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
from ..inner_graphs import Tensors, node
from ..inner_plans import Place, moved
from .operands import Matrix
from .terms import Terms

_FEWEST = 2e8  # operations from which on a kernel of its own is worth its compilation
_LEAST = 16  # rows and columns of such a product, and what each sums up


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
class GraphProduct:
    """c = a b + added, or c = a b + c; b and what is added have a batch of 1 or as a.

    Attributes
    ----------
    added : tuple of Block
        Of c's dims or broadcast to them.
    """

    a: Block
    b: Block
    c: Block
    added: tuple[Block, ...] = ()
    accumulate: bool = False

    def chosen(self, info: DeviceInfo) -> Chosen | None:
        """Return what computes it; None where nothing does."""
        return _chosen(self._graph[0], info)

    def workspace(self, info: DeviceInfo) -> int:
        """Return the bytes of scratch memory."""
        chosen = self._found(info)
        return chosen.engine.workspace(chosen.problem, info)

    def launches(self, device: Device, start: int) -> Iterator[Launch]:
        """Return the launches; scratch memory begins at byte `start` of the workspace."""
        chosen, tensors = self._found(device.info), self._graph[1]
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

    def _found(self, info: DeviceInfo) -> Chosen:
        found = self.chosen(info)
        assert found is not None
        return found

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


@functools.lru_cache(maxsize=256)
def _chosen(graph: OperationGraph, info: DeviceInfo) -> Chosen | None:
    """Return what computes a graph; None where nothing does."""
    try:
        return chosen_for(graph, info)
    except NotSupported:
        return None


@dataclass(frozen=True)
class OnWarpgroups:
    """A large product of operands that both are of the storage type, on Hopper's tensor cores; several run in turn."""

    products: tuple[GraphProduct, ...]
    workspace: int

    @classmethod
    def of(cls, gemm: Terms, info: DeviceInfo) -> OnWarpgroups | None:
        """Return the product, if a device computes it so."""
        stored = gemm.dtype in (DataType.HALF, DataType.BFLOAT16) and gemm.a.stored and gemm.b.stored
        if not stored or not is_large(gemm.m, gemm.n, gemm.k, gemm.batches, info):
            return None
        products = tuple(_product(gemm, batch) for batch in range(gemm.batches))
        if any(one.chosen(info) is None for one in products):
            return None
        return cls(products, max(one.workspace(info) for one in products))

    def launches(self, device: Device, scratch: int) -> Iterator[Launch]:
        for one in self.products:
            yield from one.launches(device, scratch)


def is_large(m: int, n: int, k: int, batches: int, info: DeviceInfo) -> bool:
    """Tell whether Hopper's warpgroups are worth their compilation for a product of halves."""
    return "wgmma" in info.features and 2.0 * m * n * k * batches >= _FEWEST and min(m, n, k) >= _LEAST


def _product(gemm: Terms, batch: int) -> GraphProduct:
    """Return one of the products."""

    def block(side: Matrix, rows: int, columns: int) -> Block:
        dtype = gemm.dtype if side.stored else gemm.dtype.accumulator
        first = (side.first + batch * side.batch) * dtype.itemsize
        whole = math.gcd(first, ALIGNMENT if side.aligned else dtype.itemsize)
        place = Place(replace(side.arg, offset=side.arg.offset + first), dtype, whole)
        step = max(rows * side.rows, columns * side.columns)
        return Block(place, (1, rows, columns), (step, side.rows, side.columns))

    a, b = block(gemm.a, gemm.m, gemm.k), block(gemm.b, gemm.k, gemm.n)
    return GraphProduct(a, b, block(gemm.c, gemm.m, gemm.n), accumulate=gemm.accumulate)
