"""What backends have in common that run portadnn's kernels: engines, and engines of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .base import Backend, Engine

if TYPE_CHECKING:
    from portadnn.graph.engine import GraphEngine


class KernelBackend(Backend):
    """A backend whose devices run portadnn's kernels."""

    def engines(self) -> Sequence[Engine]:
        from .engines import kernel_engines

        return kernel_engines()

    def graph_engines(self) -> Sequence[GraphEngine]:
        from .attention.engine import ENGINE
        from .engines.nodes.engine import NodesEngine
        from .engines.random_numbers import RandomEngine
        from .engines.resample import ResampleEngine
        from .fusion.engine import FusionEngine
        from .fusion.product.engine import ProductEngine

        return (ENGINE, FusionEngine(), ProductEngine(), RandomEngine(), ResampleEngine(), NodesEngine())

    def engines_version(self) -> str:
        from .engines import kernel_engines_version

        return kernel_engines_version()
