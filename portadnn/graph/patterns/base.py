"""What the builders of patterns share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..data_types import data_type
from ..layout import channels_last, row_major
from ..tensor import tensor

if TYPE_CHECKING:
    from ..api.pygraph import pygraph

FLOAT = data_type.FLOAT


@dataclass(frozen=True)
class Pattern:
    """The tensors of a pattern in a graph, by the names that the specification has for them."""

    inputs: dict[str, tensor]
    outputs: dict[str, tensor]


Builder: TypeAlias = Callable[..., Pattern]


def image(graph: pygraph, name: str, dims: Sequence[int], data_type: Any = data_type.NOT_SET) -> tensor:
    """Return an input of type io_data_type, or another one, packed with channels last."""
    return graph.tensor(dim=dims, stride=channels_last(dims), data_type=data_type, name=name)


def channels(graph: pygraph, name: str, c: int, rank: int = 4, data_type: Any = FLOAT) -> tensor:
    """Return an input with a number for each channel."""
    return image(graph, name, (1, c, *(1,) * (rank - 2)), data_type)


def rows(graph: pygraph, name: str, dims: Sequence[int], data_type: Any = data_type.NOT_SET) -> tensor:
    """Return an input of type io_data_type, or another one, packed row by row."""
    return graph.tensor(dim=dims, stride=row_major(dims), data_type=data_type, name=name)


def pattern(inputs: Sequence[tensor], **outputs: tensor) -> Pattern:
    """Return inputs by their names, and outputs by those that are given, which they get."""
    for name, out in outputs.items():
        out.set_output(True).set_name(name)
    return Pattern({one.get_name(): one for one in inputs}, outputs)
