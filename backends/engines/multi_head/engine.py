"""Multi-head attention: its three passes as products, attention over heads, and small kernels between them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from portadnn.ops.attention.problems import (
    Attention,
    MultiHeadAttnBackwardData,
    MultiHeadAttnBackwardWeights,
    MultiHeadAttnForward,
)
from portadnn.problem import Problem

from ...base import Device, DeviceInfo, Engine, Launch, Plan, roofline
from ..gemm.as_convolution import side_by_side
from ..gemm.by_graph import Block
from ..inner_plans import Place
from .attend import Bounds, attention
from .products import Product
from .rows import POST, Pass
from .sums import BiasSums

_LAUNCHES = {"multi_head_attn_forward": 9, "multi_head_attn_backward_data": 12}


class _Products(Pass):
    """A pass whose products share scratch memory, which begins where everything else ends."""

    def close(self, products: list[Product]) -> None:
        """Take room for products that run one after another."""
        self.begin = self.workspace
        self.workspace += max((one.workspace(self.info) for one in products), default=0)

    def above(self, fits: Callable[[Block], bool]) -> Block:
        """Return the rows of the gradient of what the second dropout was given: the tensor itself where it fits."""
        seen = None if self.has("lengths_q") or self.chance(POST) else self.seen("dout")
        if seen is not None and fits(seen):
            return seen
        rows, columns = self.rows(0), self.layout.out
        return Block.packed(self.scratch(rows * columns), rows, columns)

    def cut(self, place: Place, of: Block, columns: int) -> Block:
        """Return rows without gaps, cut as those of another block are."""
        batch, rows, _ = of.dims
        return Block(place, (batch, rows, columns), (rows * columns, columns, 1))


class Forward(_Products):
    """The forward pass."""

    def __init__(self, problem: MultiHeadAttnForward, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        training = problem.reserve is not None
        layout, kept = self.layout, self.kept
        bounds = self.bounds = Bounds(self)
        self.sources = [self._source(which) for which in range(3)]
        self.heads: list[Place] = []
        for which, source in enumerate(self.sources):
            if training:
                self.heads.append(self.reserved(kept.part(which)))
            elif layout.projections[which]:
                self.heads.append(self.scratch(self.rows(which) * kept.width(which)))
            else:
                self.heads.append(source.place)
        self.merged = self.reserved(kept.merged) if training else self.scratch(self.rows(0) * layout.merged)
        places = dict(zip("QKVO", (*self.heads, self.merged), strict=True))
        if training:
            places["STATS"] = self.reserved(kept.statistics, self.real)
        self.attended = attention(self, bounds, places)
        widest = max(self.rows(which) * layout.shape(which)[0] for which in range(4))
        self.wide = self.scratch(widest, self.real)
        self.projected = [self._projection(which) for which in range(3)]
        self.result = self._result()
        every = [one for one in (*self.projected, self.result) if one is not None]
        self.close(every)

    def _source(self, which: int) -> Block:
        """Return the rows of queries, keys or values that are projected: the tensor itself where its strides allow."""
        columns, rows = self.layout.sizes[which], self.rows(which)
        seen = self.seen("qkv"[which]) if self.lengths_of(which) is None and self.layout.projections[which] else None
        if seen is not None:
            return seen
        if self.layout.projections[which] or not self.has("reserve"):
            return Block.packed(self.scratch(rows * columns), rows, columns)
        return Block.packed(self.reserved(self.kept.part(which)), rows, columns)

    def _projection(self, which: int) -> Product | None:
        """Return the product with a projection's matrix; its bias is added by it, or later."""
        columns = self.layout.shape(which)[0]
        if not columns:
            return None
        source = self.sources[which]
        to = self.cut(self.heads[which], source, columns)
        made = Product(self.dtype, source, self.matrix("w", which).turned, to)
        if not self.layout.has_bias(which):
            return made
        if made.large(self.info):
            biased = Product(self.dtype, made.a, made.b, to, (self.bias(which),))
            if biased.large(self.info):
                return biased
        return Product(self.dtype, made.a, made.b, self.cut(self.wide, source, columns))

    def bias(self, which: int) -> Block:
        """Return a projection's bias as one row."""
        return Block.packed(self.parameters("w", self.layout.bias(which)), 1, self.layout.shape(which)[0])

    def _result(self) -> Product | None:
        """Return the product that makes outputs, at once or for a kernel that finishes them."""
        columns = self.layout.shape(3)[0]
        if not columns:
            return None
        rows, merged = self.rows(0), self.layout.merged
        weights = self.matrix("w", 3).turned
        out = None if self.has("lengths_q") or self.chance(POST) else self.seen("out")
        if out is not None:
            added = [self.bias(3)] if self.layout.has_bias(3) else []
            residuals = self.seen("residuals") if self.has("residuals") else None
            alike = residuals is None or residuals.dims == out.dims
            if residuals is not None:
                added.append(residuals)
            if alike and (residuals is not None) == self.has("residuals"):
                made = Product(self.dtype, self.cut(self.merged, out, merged), weights, out, tuple(added))
                if made.large(self.info) or not added:
                    return made
        a = Block.packed(self.merged, rows, merged)
        return Product(self.dtype, a, weights, Block.packed(self.wide, rows, columns))

    def launches(self, device: Device) -> Iterator[Launch]:
        """Yield the launches of the whole pass."""
        for stream, name in enumerate(("attn_states", "post_states")):
            if self.has(name):
                yield self.in_groups(device, "mha_draw", (self.tensor(name), self.drawn(stream)), 1, 1)
        yield from self.bounds.launches(device)
        yield from self._projections(device)
        yield from self.attended.launches(device)
        if self.result is None:
            yield self.finish(device, self.merged, bias=False)
            return
        yield from self.result.launches(device, self.begin)
        if self.result.c.place == self.wide:
            yield self.finish(device, self.wide, bias=self.layout.has_bias(3))

    def _projections(self, device: Device) -> Iterator[Launch]:
        """Yield the launches that project queries, keys and values: products that finish them side by side."""
        finished: list[Product] = []
        for which, name in enumerate("qkv"):
            source = self.sources[which]
            if source.place.arg != self.tensor(name):
                yield self.packed(device, name, which, source.place)
            product = self.projected[which]
            if product is None:
                continue
            if product.c.place != self.wide:
                finished.append(product)
                continue
            yield from product.launches(device, self.begin)
            yield self.biased(device, which, self.wide, self.heads[which])
        yield from side_by_side([one.made(device.info) for one in finished], device, self.begin)


class BackwardData(_Products):
    """The gradients of queries, keys and values."""

    def __init__(self, problem: MultiHeadAttnBackwardData, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        layout, kept = self.layout, self.kept
        self.bounds = Bounds(self)
        projected = layout.projections[3] > 0
        self.dout = self.above(lambda seen: projected or seen == Block.packed(seen.place, *seen.dims[1:]))
        self.merged = self.scratch(self.rows(0) * layout.merged) if projected else self.dout.place
        self.gradients = [self._gradient(which) for which in range(3)]
        parts = [self.reserved(kept.part(which)) for which in range(3)]
        names = ("Q", "K", "V", "O", "DO", "DQ", "DK", "DV")
        places = dict(zip(names, (*parts, self.reserved(kept.merged), self.merged, *self.gradients), strict=True))
        places["STATS"] = self.reserved(kept.statistics, self.real)
        self.attended = attention(self, self.bounds, places)
        self.wide = self.scratch(max(self.rows(which) * layout.sizes[which] for which in range(3)), self.real)
        self.results = [self._result(which) for which in range(3)]
        self.result = self._merged()
        self.close([one for one in (self.result, *self.results) if one is not None])

    def _gradient(self, which: int) -> Place:
        """Return where the gradient of queries, keys or values as heads have them goes."""
        if self.layout.projections[which]:
            return self.reserved(self.kept.gradient(which))
        heads = self.layout.heads if which == 0 else 1
        return self.scratch(self.rows(which) * heads * self.layout.sizes[which], self.real)

    def _merged(self) -> Product | None:
        """Return the product that makes the gradient of the heads' results."""
        if not self.layout.projections[3]:
            return None
        merged = self.cut(self.merged, self.dout, self.layout.merged)
        return Product(self.dtype, self.dout, self.matrix("w", 3), merged)

    def _result(self, which: int) -> Product | None:
        """Return the product that makes the gradient of a tensor, in place or as rows."""
        columns = self.layout.shape(which)[0]
        if not columns:
            return None
        to = self.seen(f"d{'qkv'[which]}")
        if to is None:
            to = Block.packed(self.wide, self.rows(which), self.layout.sizes[which])
        a = self.cut(self.gradients[which], to, columns)
        return Product(self.dtype, a, self.matrix("w", which), to)

    def launches(self, device: Device) -> Iterator[Launch]:
        """Yield the launches of the whole pass."""
        yield from self.bounds.launches(device)
        if self.dout.place.arg != self.tensor("dout"):
            yield self.packed(device, "dout", 0, self.dout.place, drops=True)
        if self.result is not None:
            yield from self.result.launches(device, self.begin)
        yield from self.attended.launches(device)
        finished: list[Product] = []
        for which, name in enumerate(("dq", "dk", "dv")):
            product = self.results[which]
            if product is None:
                yield self.unpacked(device, self.gradients[which], name, self.layout.heads if which == 0 else 1)
            elif product.c.place == self.wide:
                yield from product.launches(device, self.begin)
                yield self.unpacked(device, self.wide, name, 1)
            else:
                finished.append(product)
        yield from side_by_side([one.made(device.info) for one in finished], device, self.begin)


class BackwardWeights(_Products):
    """The gradients of the parameters."""

    def __init__(self, problem: MultiHeadAttnBackwardWeights, info: DeviceInfo) -> None:
        super().__init__(problem, info)
        self.given = self.scratch(max(self.rows(which) * self.layout.sizes[which] for which in range(3)))
        self.dout = self.above(lambda seen: seen.dims[0] == 1) if self.layout.shape(3)[0] else None
        self.sums = BiasSums(self, {which: self._gradient(which) for which in range(4) if self.layout.has_bias(which)})
        self.products = {which: self._product(which) for which in range(4) if self.layout.shape(which)[0]}
        self.close(list(self.products.values()))

    def _gradient(self, which: int) -> Block:
        """Return the gradient of what a projection gave."""
        if which == 3:
            assert self.dout is not None
            return self.dout
        return Block.packed(self.reserved(self.kept.gradient(which)), self.rows(which), self.layout.shape(which)[0])

    def _product(self, which: int) -> Product:
        return Product(
            self.dtype, self._gradient(which).turned, self._source(which), self.matrix("dw", which), accumulate=True
        )

    def _source(self, which: int) -> Block:
        """Return the rows that a projection was given."""
        many, columns = self.rows(which), self.layout.shape(which)[1]
        if which == 3:
            return Block.packed(self.reserved(self.kept.merged), many, columns)
        seen = self.seen("qkv"[which]) if self.lengths_of(which) is None else None
        return seen if seen is not None and seen.dims[0] == 1 else Block.packed(self.given, many, columns)

    def launches(self, device: Device) -> Iterator[Launch]:
        """Yield the launches of the whole pass."""
        if self.dout is not None and self.dout.place.arg != self.tensor("dout"):
            yield self.packed(device, "dout", 0, self.dout.place, drops=True)
        for which, product in self.products.items():
            if product.b.place == self.given:
                yield self.packed(device, "qkv"[which], which, self.given)
            yield from product.launches(device, self.begin)
        yield from self.sums.launches(device)


_PASSES: dict[type[Problem], type[Forward] | type[BackwardData] | type[BackwardWeights]] = {
    MultiHeadAttnForward: Forward,
    MultiHeadAttnBackwardData: BackwardData,
    MultiHeadAttnBackwardWeights: BackwardWeights,
}


@functools.lru_cache(maxsize=256)
def _made(problem: Attention, info: DeviceInfo) -> Forward | BackwardData | BackwardWeights:
    return _PASSES[type(problem)](problem, info)  # type: ignore[arg-type]


class MultiHeadAttention(Engine):
    """The three passes, every mode."""

    name = "multi_head_attention"
    problems = tuple(_PASSES)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        if info.schedule == "cpu" and info.backend != "opencl":
            return "its kernels for CPUs are written in OpenCL C"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        return roofline(problem, info, 0.4, launches=_LAUNCHES.get(problem.op, 8))

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Attention)
        return _made(problem, info).workspace

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Attention)
        todo = _made(problem, device.info)
        launches = tuple(todo.launches(device))
        return Plan(problem, self, todo.workspace, device.bind(launches), launches)


ENGINES = (MultiHeadAttention(),)
