"""Engines of the kernel backends for whole graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portadnn.graph.engine import GraphEngine

from .base import Device, Launch


def kernel_graph_engines() -> Sequence[GraphEngine]:
    """Return the engines in order of preference."""
    from .attention.engine import ENGINE
    from .fusion.engine import FusionEngine
    from .fusion.product_engine import ProductEngine
    from .graph_random import RandomEngine
    from .graph_resample import ResampleEngine

    return (ENGINE, FusionEngine(), ProductEngine(), RandomEngine(), ResampleEngine())


def bound_launches(
    device: Device, launches: Sequence[Launch], arguments: tuple[Sequence[Any], Sequence[float], Any]
) -> Callable[[], bool]:
    """Return what runs launches with these tensors, numbers and workspace as often as it is called.

    They are let go of after the first call; False says that they do not hold any longer.
    """
    run = device.bind(launches)
    held: tuple[Sequence[Any], Sequence[float], Any] | None = arguments

    def again() -> bool:
        nonlocal held
        if held is not None:
            run.call(*held)
            held = None
            return True
        return run.repeat is not None and run.repeat()

    return again
