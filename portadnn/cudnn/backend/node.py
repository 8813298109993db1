"""A node of a graph in the making, as the attributes of an operation's descriptor state it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...graph.data_types import data_type

if TYPE_CHECKING:
    from .tensors import Described


@dataclass
class NodeCall:
    """What becomes a node; the fields are those of :class:`~portadnn.cudnn.backend.operations.Operation`."""

    kind: str
    inputs: dict[str, Described] = field(default_factory=dict)
    outputs: dict[str, Described] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    compute: data_type = data_type.NOT_SET
    scales: dict[str, float] = field(default_factory=dict)
