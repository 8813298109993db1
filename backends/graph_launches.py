"""Running the launches of a graph's plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .base import Device, Launch


class Running:
    """The launches of a plan, bound to the device.

    Parameters
    ----------
    used
        Returns the arrays and the numbers that launches count, of those that a plan is run with, by uid.
    """

    def __init__(
        self,
        device: Device,
        launches: Sequence[Launch],
        used: Callable[[Mapping[int, Any]], tuple[Sequence[Any], Sequence[float]]],
    ) -> None:
        self._used = used
        self._call = device.bind(launches)

    def run(self, arrays: Mapping[int, Any], workspace: Any) -> None:
        """Enqueue the launches; see :class:`~portadnn.graph.engine.GraphPlan`."""
        self._call(*self._used(arrays), workspace)
