"""What the methods of :class:`~portadnn.graph.api.pygraph` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from ...errors import public
from ..data_types import data_type
from ..tensor import tensor
from .core import Graph

NOT_SET = data_type.NOT_SET
P = ParamSpec("P")
R = TypeVar("R")


def method(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as :func:`~portadnn.errors.public`, under the name that it has as a method of ``pygraph``."""
    function.__qualname__ = f"pygraph.{function.__name__}"
    return public(function)


class Builder:
    """A graph under construction."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def _add(
        self, kind: str, inputs: Mapping[str, Any], compute: Any, name: str, **attributes: Any
    ) -> Mapping[str, tensor]:
        """Add a node and return its outputs by port."""
        return self._graph.add(kind, inputs, attributes, compute_type=compute, name=name).outputs
