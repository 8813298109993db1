"""The seam between portadnn and what runs on a device.

A backend is a :class:`Backend` object under the entry-point group ``portadnn.backends``. It lists devices and opens
one as a :class:`Device` (device.py). Its :class:`Engine` objects (engine.py) turn a Problem into a :class:`Plan`; those
in ``engines/`` describe their launches as data (launch.py), which a device binds into a fast callable.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from portadnn.problem import Problem

from .device import Device, DeviceInfo, LaunchRun, Recorder, Schedule
from .engine import EFFICIENCY, LAUNCH_SECONDS, NARROW_SPAN, Engine, Plan, host_seconds, needs_wide_places, roofline
from .launch import (
    MOST_COUNTERS,
    Arg,
    BoundLaunches,
    ConstantArg,
    CountersArg,
    Kernel,
    Launch,
    Run,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from .peers import ExchangeSize, exchange_on, rank_of

__all__ = [
    "EFFICIENCY",
    "LAUNCH_SECONDS",
    "MOST_COUNTERS",
    "NARROW_SPAN",
    "Arg",
    "Backend",
    "BoundLaunches",
    "ConstantArg",
    "CountersArg",
    "Device",
    "DeviceInfo",
    "Engine",
    "ExchangeSize",
    "Kernel",
    "Launch",
    "LaunchRun",
    "Oracle",
    "Plan",
    "Recorder",
    "Run",
    "ScalarArg",
    "Schedule",
    "TensorArg",
    "WorkspaceArg",
    "exchange_on",
    "host_seconds",
    "needs_wide_places",
    "rank_of",
    "roofline",
]


class Oracle(Protocol):
    """Exact results in float64, from the definitions: what every backend is judged by.

    Both functions take a problem, its tensors in the order of ``problem.names`` and its run-time numbers in that of
    ``problem.scalars``, and return arrays by the names of outputs.
    """

    def outcomes(
        self, problem: Problem, tensors: Sequence[np.ndarray[Any, Any]], scalars: Sequence[float], /
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Compute a problem's outputs without storing them."""

    def terms(
        self, problem: Problem, tensors: Sequence[np.ndarray[Any, Any]], scalars: Sequence[float], /
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Return, for each element, the sum of the absolute values of the terms that make it up."""


class Backend(abc.ABC):
    """A way to reach devices."""

    name: str
    install: str = ""  # the pip command that brings what is missing
    vendor: bool = False  # another's library behind portadnn's calls: used only where it is named

    @abc.abstractmethod
    def why_unavailable(self) -> str | None:
        """Return None when the backend works here, else the reason it does not."""

    @abc.abstractmethod
    def devices(self) -> Sequence[DeviceInfo]:
        """List the devices, best first; the position is the number ``Handle(device=...)`` takes."""

    def remarks(self) -> Sequence[str]:
        """Return what is wrong with parts of a backend that works: what is installed and cannot be used, and why."""
        return ()

    @abc.abstractmethod
    def open(self, index: int, stream: Any = None) -> Device:
        """Open device `index`, or the one that `stream` belongs to.

        Raises
        ------
        BadParam
            No such device, or `stream` is no stream of this backend.
        """

    @abc.abstractmethod
    def engines(self) -> Sequence[Engine]:
        """List the engines in order of preference."""

    def oracle(self) -> Oracle | None:
        """Return what computes exact results, if the backend has such definitions."""
        return None

    def graph_engines(self) -> Sequence[Any]:
        """List the engines that take whole graphs (portadnn.graph.engine.GraphEngine), in order of preference."""
        return ()

    def engines_version(self) -> str:
        """Return a text that changes with engines and kernels: what others of them took says nothing of these."""
        return ",".join(engine.name for engine in self.engines())
