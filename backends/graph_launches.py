"""Running the launches of a graph's plan, again and again on the same memory where a program does so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .base import Device, Launch

Arguments = tuple[Sequence[Any], Sequence[float], Any]


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
        self._device, self._launches, self._used = device, launches, used
        self._call = device.bind(launches)

    def run(self, arrays: Mapping[int, Any], workspace: Any) -> None:
        """Enqueue the launches; see :class:`~portadnn.graph.engine.GraphPlan`."""
        self._call(*self._used(arrays), workspace)

    def bind(self, arrays: Mapping[int, Any], workspace: Any) -> Callable[[], bool] | None:
        """Return what enqueues them again with these arguments."""
        return bound_launches(self._device, self._launches, (*self._used(arrays), workspace))


def bound_launches(device: Device, launches: Sequence[Launch], arguments: Arguments) -> Callable[[], bool]:
    """Return what runs launches with these tensors, numbers and workspace as often as it is called.

    They are let go of after the first call; False says that they do not hold any longer.
    """
    run = device.bind(launches)
    held: Arguments | None = arguments

    def again() -> bool:
        nonlocal held
        if held is not None:
            run.call(*held)
            held = None
            return True
        return run.repeat is not None and run.repeat()

    return again
