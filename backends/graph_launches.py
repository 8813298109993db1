"""Running the launches of a graph's plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portadnn.graph.operation_graph import OperationGraph

from .base import Device, Launch, Run

Scalar = Callable[[Mapping[int, Any]], float]


def bound(graph: OperationGraph, device: Device, launches: Sequence[Launch], scalars: Sequence[Scalar]) -> Run:
    """Return the launches bound to a device; `scalars` compute their numbers from the graph's arrays and numbers."""
    run = device.bind(launches)
    if not scalars:
        return run

    def call(arrays: Sequence[Any], numbers: Sequence[float], workspace: Any) -> None:
        values = graph.keyed(arrays, numbers)
        run(arrays, [scalar(values) for scalar in scalars], workspace)

    return Run(call, composite=True)
