"""Nodes of random graphs that belong together: a product, pointwise nodes around it, and sums of the result."""

from __future__ import annotations

from ...graph.layout import Dims
from .graph_draw import TAME, Value
from .graph_pointwise import BINARY, SMOOTH, PointwiseNodes
from .graph_products import NormNodes, ProductNodes


class AroundNodes(PointwiseNodes, ProductNodes, NormNodes):
    """Products of what nothing else reads."""

    def around(self) -> None:
        """Add a product of computed operands, or a gradient, with nodes after it; the last result is for others."""
        known = list(self.values)
        first = self.input(self.dims(self.draws.choice((2, 3, 4, 4, 4, 5)), 33))
        start = self._computed(first, 1 + self.draws.integers(3))
        self.values = []
        if self.draws.one_in(3):
            image = start if len(first.dims) > 2 and self.draws.one_in(2) else None
            self.conv_gradient(image, self._result_gradient)
        elif len(first.dims) > 3 and not self.draws.one_in(3):
            self.conv(start)
        else:
            self.matmul(start)
        if not self.values:
            self.values = [*known, start]
            return
        result = self.values[-1]
        self._hide(result)
        if not self.draws.one_in(4):
            result = self._computed(result, 1 + self.draws.integers(2))
        self.values = [*known, result]
        if self.draws.one_in(4):
            self.statistics(result)
        elif self.draws.one_in(2):
            self.reduce(result)

    def _result_gradient(self, dims: Dims) -> Value:
        return self._computed(self.input(dims), self.draws.integers(3))

    def _computed(self, x: Value, nodes: int) -> Value:
        """Return what some nodes make of a tensor, whose dims it keeps, with operands of their own."""
        for _ in range(nodes):
            name, made = self.draws.choice((*SMOOTH, *BINARY, *BINARY)), None
            if name in SMOOTH:
                made = self.pointwise(name, x)
            elif self.draws.one_in(4):
                made = self.pointwise(name, x, self.draws.integers(-3, 4) / 2, size=2 * x.size + 2)
            else:
                other = self.input([1 if self.draws.one_in(2) else d for d in x.dims], apart=True)
                pair = (x, other) if self.draws.one_in(2) or name == "ADD_SQUARE" else (other, x)
                made = self.pointwise(name, *pair, size=x.size * other.size + other.size**2)
            if made is None or made.size > TAME:
                return made or x
            self._hide(made)
            x = made
        return x

    def _hide(self, one: Value) -> None:
        """Keep a tensor out of the results, but for a few; :meth:`finish` makes results of what nobody reads."""
        if not self.draws.one_in(10):
            one.tensor.set_output(False)
