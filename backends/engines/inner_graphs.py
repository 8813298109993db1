"""Graphs inside of a plan: their tensors, with the plan's own memory behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portadnn.graph.data_types import data_type, of_problem
from portadnn.graph.node import KINDS, REQUIRED
from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo

from .inner_plans import Place


class Tensors:
    """The tensors of a graph, with the memory behind them."""

    def __init__(self) -> None:
        self.infos: list[TensorInfo] = []
        self._places: dict[int, Place] = {}

    def add(self, dims: Sequence[int], strides: Sequence[int], place: Place, kind: data_type | None = None) -> int:
        """Return the uid of a tensor in memory; `kind` is its type where no Problem knows it."""
        uid = len(self.infos) + 1
        known = of_problem(place.dtype) if kind is None else kind
        info = TensorInfo(uid, f"t{uid}", tuple(dims), tuple(strides), known, alignment=place.alignment)
        self.infos.append(info)
        self._places[uid] = place
        return uid

    def virtual(self, dims: Sequence[int], strides: Sequence[int]) -> int:
        """Return the uid of a tensor of FLOAT inside of the graph."""
        uid = len(self.infos) + 1
        self.infos.append(TensorInfo(uid, f"t{uid}", tuple(dims), tuple(strides), data_type.FLOAT, virtual=True))
        return uid

    def number(self, value: float, kind: data_type = data_type.FLOAT) -> int:
        """Return the uid of a constant."""
        uid = len(self.infos) + 1
        ones = (1, 1, 1, 1)
        self.infos.append(TensorInfo(uid, f"t{uid}", ones, ones, kind, by_value=True, value=value, constant=True))
        return uid

    def graph(self, operations: Sequence[Operation]) -> OperationGraph:
        """Return the graph of some operations."""
        return OperationGraph("", tuple(operations), tuple(self.infos))

    def place(self, uid: int) -> Place:
        """Return the memory behind a tensor."""
        return self._places[uid]


def node(kind: str, inputs: dict[str, int], outputs: dict[str, int], **attributes: Any) -> Operation:
    """Return an operation with the attributes that are stated, and its kind's defaults."""
    values = {one.name: one.default for one in KINDS[kind].attributes if one.default is not REQUIRED}
    values |= attributes
    return Operation(kind, "", tuple(inputs.items()), tuple(outputs.items()), tuple(values.items()), data_type.FLOAT)


class Sizing:
    """Stands for a device where only a plan's workspace is asked for: nothing is compiled."""

    def __init__(self, info: Any) -> None:
        self.info = info

    def compile(self, *_: Any, **__: Any) -> Any:
        """Return no kernel."""
        return None
