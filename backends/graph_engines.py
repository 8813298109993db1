"""Engines of the kernel backends for whole graphs."""

from __future__ import annotations

from collections.abc import Sequence

from portadnn.graph.engine import GraphEngine


def kernel_graph_engines() -> Sequence[GraphEngine]:
    """Return the engines in order of preference."""
    from .attention.engine import ENGINE
    from .engines.nodes import NodesEngine
    from .engines.random_numbers import RandomEngine
    from .engines.resample import ResampleEngine
    from .fusion.engine import FusionEngine
    from .fusion.product.engine import ProductEngine

    return (ENGINE, FusionEngine(), ProductEngine(), RandomEngine(), ResampleEngine(), NodesEngine())
