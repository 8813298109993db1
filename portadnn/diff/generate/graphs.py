"""Random graphs: all operations of :mod:`portadnn.graph`, types, layouts and broadcasts, joined at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graph_around import AroundNodes
from .graph_attention import AttentionNodes
from .graph_draw import Drawing
from .graph_rows import RowNodes

MOST_NODES = 12
JOINED = (  # what kernels are written for together
    *("unary", "unary", "written", "binary", "binary", "scalar", "gradient", "reduce", "softmax", "norm", "positive"),
    *("exponential", "sharp", "compare", "select", "index", "tame", "norm_gradient", "batch", "batch_gradient"),
    "statistics",
)
MOVING = ("transpose", "slice", "reshape", "concatenate")
ALONE = (
    "matmul",
    "conv",
    "conv_gradient",
    "around",
    "pool",
    "pool_gradient",
    "interpolate",
    "attention",
    "fp8_attention",
    "random",
    "rope",
    "experts",
    "pages",
    "blocks",
)
KINDS = (*JOINED, *MOVING, *ALONE, "unary", "binary", "matmul", "conv", "reduce", "attention")


class Draw(AroundNodes, AttentionNodes, RowNodes):
    """One graph, node by node."""

    def draw(self, kinds: Sequence[str], most: int) -> None:
        """Draw nodes of these kinds, names of methods, until there are as many as were drawn first."""
        wanted = self.draws.few(most)
        while len(self.graph.nodes) < wanted:
            getattr(self, self.draws.choice(kinds))()
        self.finish()


def random_graph(
    number: int,
    seed: int = 0,
    *,
    kinds: Sequence[str] = KINDS,
    most: int = MOST_NODES,
    plain: bool = False,
    handle: Any = None,
) -> Drawing:
    """Return a graph of up to about a dozen nodes; the same for the same number and seed on every machine.

    Parameters
    ----------
    kinds
        Names of methods of :class:`Draw`, of which each node is drawn.
    most
        Nodes at most, but for those that go with others.
    plain
        Whether all tensors are FLOAT.
    handle
        Of the graph, as :class:`~portadnn.graph.api.pygraph` takes it.
    """
    found = Draw(number, seed, handle=handle, plain=plain)
    found.draw(kinds, most)
    found.pygraph.validate()
    return found


__all__ = ["ALONE", "JOINED", "KINDS", "MOVING", "Draw", "random_graph"]
