"""Engines of the kernel backends for whole graphs."""

from __future__ import annotations

from collections.abc import Sequence

from portadnn.graph.engine import GraphEngine


def kernel_graph_engines() -> Sequence[GraphEngine]:
    """Return the engines in order of preference."""
    from .attention.engine import ENGINE
    from .fusion.engine import FusionEngine
    from .fusion.product_engine import ProductEngine
    from .graph_random import RandomEngine
    from .graph_resample import ResampleEngine

    return (ENGINE, FusionEngine(), ProductEngine(), RandomEngine(), ResampleEngine())
