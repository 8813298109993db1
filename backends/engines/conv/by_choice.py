"""What convolutions share that are estimated for some choices, such as tiles, and run with the best one."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from portadnn.ops.convolution.calls import Convolution
from portadnn.problem import Problem

from ...base import Device, DeviceInfo, Engine, Launch, Plan


class Choice(Protocol):
    """How to compute a problem on a device."""

    @property
    def workspace(self) -> int:
        """Bytes that the launches need."""

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time."""


C = TypeVar("C", bound=Choice)


@functools.lru_cache(maxsize=256)
def chosen(choose: Callable[[Any, DeviceInfo], Any], problem: Problem, info: DeviceInfo) -> Any:
    """Return what an engine chooses: it is asked several times for each call, and estimates hundreds of choices."""
    return choose(problem, info)


class ByChoice(Engine, Generic[C]):
    """A convolution of which `choose` finds the best way."""

    @abc.abstractmethod
    def choose(self, problem: Convolution, info: DeviceInfo) -> C | None:
        """Return the choice with the least estimated time; None where no tile fits the device."""

    @abc.abstractmethod
    def declines(self, problem: Convolution, info: DeviceInfo) -> str | None:
        """Return the reason why no choice would do, if any."""

    @abc.abstractmethod
    def launches(self, problem: Convolution, choice: C, device: Device) -> Iterator[Launch]:
        """Yield the launches for an output that is not empty."""

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = self.declines(problem, info)
        if reason is not None:
            return reason
        choice: C | None = chosen(self.choose, problem, info)
        if choice is None:
            return "no tile fits the device's work-group size and local memory"
        if choice.workspace > info.max_allocation:
            return f"needs {choice.workspace} bytes of workspace, the device allocates {info.max_allocation}"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        choice: C | None = chosen(self.choose, problem, info)
        assert choice is not None
        return choice.seconds(info)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        choice: C | None = chosen(self.choose, problem, info)
        return choice.workspace if choice and problem.tensors[-1].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        choice: C | None = chosen(self.choose, problem, device.info)
        assert choice is not None
        launches = tuple(self.launches(problem, choice, device)) if problem.tensors[-1].size else ()
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)
