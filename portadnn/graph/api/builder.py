"""What the methods of :class:`~portadnn.graph.api.pygraph` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data_types import data_type
from ..tensor import tensor
from .core import Graph

NOT_SET = data_type.NOT_SET


class Builder:
    """A graph under construction."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def _add(
        self, kind: str, inputs: Mapping[str, Any], compute: Any, name: str, **attributes: Any
    ) -> Mapping[str, tensor]:
        """Add a node and return its outputs by port."""
        return self._graph.add(kind, inputs, attributes, compute_type=compute, name=name).outputs
