"""Engines: each one way to compute some Problems. They prepare plans and estimate times."""

from __future__ import annotations

import abc
from dataclasses import dataclass

from portadnn.enums import DataType, DnnEnum
from portadnn.problem import Problem

from .device import Device, DeviceInfo
from .launch import Launch, Run


@dataclass(frozen=True)
class Plan:
    """An engine prepared for one problem on one device.

    Attributes
    ----------
    workspace_size : int
        Bytes of scratch memory that `run` needs.
    launches : tuple of Launch
        What it runs, for logs and tests; empty for plans that are not kernels.
    """

    problem: Problem
    engine: Engine
    workspace_size: int
    run: Run
    launches: tuple[Launch, ...] = ()


NARROW_SPAN = 2**31  # elements of the largest tensor whose places fit 32 bits, with room for the last round of a loop
EFFICIENCY = 0.5  # the share of a device's limits that kernels reach, where nothing more is known
LAUNCH_SECONDS = 4e-6  # from one launch to the next


def host_seconds(launches: int, info: DeviceInfo) -> float:
    """Return how long a call of so many launches occupies the host: small kernels take no less, one after another.

    3 us are this library's; CUDA takes 5 us a launch, OpenCL 7 us (measured on NVIDIA's drivers).
    """
    return 3e-6 + launches * (5e-6 if info.backend == "cuda" else 7e-6)


def needs_wide_places(problem: Problem) -> bool:
    """Tell whether a tensor is so large that its places take more than 32 bits; byte buffers hold larger things."""
    specs = (spec for name, spec in zip(problem.names, problem.tensors, strict=True) if name not in problem.raw)
    return any(max(spec.span, spec.size) > NARROW_SPAN for spec in specs)


def roofline(
    problem: Problem, info: DeviceInfo, efficiency: float = EFFICIENCY, *, extra_bytes: int = 0, launches: int = 1
) -> float:
    """Return the seconds that a problem takes at a share of the device's limits, for :meth:`Engine.seconds`.

    Parameters
    ----------
    efficiency
        Share of ``info.flops`` and of ``info.bandwidth`` that the engine reaches.
    extra_bytes
        What it reads and writes beyond each tensor once.
    launches
        Launches one after another.
    """
    rate = info.flops / 2 if problem.dtype is DataType.DOUBLE else info.flops
    seconds = max(problem.flops() / rate, (problem.bytes() + extra_bytes) / info.bandwidth)
    return seconds / efficiency + launches * LAUNCH_SECONDS


class Engine(abc.ABC):
    """One way to compute some problems on one kind of device.

    Attributes
    ----------
    name : str
        For logs and capability tables, such as ``"implicit_gemm"``.
    problems : tuple of type
        Problem classes it may take.
    algo : DnnEnum or None
        The guide's algorithm that asks for this engine; None where the call has no algorithm argument.
    deterministic : bool
        Whether repetition gives the same bits.
    wide : bool
        Whether it takes tensors that :func:`needs_wide_places`.
    transforms : bool
        Whether it multiplies transformed data (Winograd, FFT): a tile's NaN, infinities and rounding errors of its
        largest numbers then reach all its results.
    """

    name: str
    problems: tuple[type[Problem], ...]
    deterministic: bool = True
    wide: bool = False
    transforms: bool = False

    def algo(self, problem: Problem) -> DnnEnum | None:
        """Return the guide's algorithm number that this engine implements for the problem, if any."""
        return None

    def implements(self, problem: Problem, algo: DnnEnum) -> bool:
        """Tell whether a call that asks for an algorithm may have this engine."""
        return self.algo(problem) == algo

    def error_factor(self, problem: Problem) -> float:
        """Return how far the result may be off, in units of :func:`portadnn.tolerance.tolerance`.

        1 promises a sum of products: every element within its own tolerance, integers exact. Engines that multiply
        transformed data (Winograd, FFT) return more, and are within that many times the largest element's tolerance.
        That counts one product of the largest factors at least: a stride may leave out all elements but zeros.
        """
        return 1.0

    def serves(self, problem: Problem, algo: DnnEnum | None) -> bool:
        """Tell whether it may be chosen: its algorithm if one is asked for, else if it is exact and repeatable.

        One without an algorithm's number cannot be asked for.
        """
        own = self.algo(problem)
        if algo is not None:
            return self.implements(problem, algo)
        return own is None or (self.deterministic and self.error_factor(problem) == 1)

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Estimate the time on a device without measuring; of several engines the one with the least is chosen."""
        return roofline(problem, info)

    @abc.abstractmethod
    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Return the engine's own reason not to take the problem on such a device, if any; see :meth:`refusal`."""

    def refusal(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Return None when the engine takes the problem on such a device, else the reason it does not."""
        if not self.wide and needs_wide_places(problem):
            return "a tensor has more than 2 Gi elements"
        if not info.fp64 and any(spec.dtype is DataType.DOUBLE for spec in problem.tensors):
            return "the device has no float64"
        return self.why_not(problem, info)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        """Return the exact bytes of scratch memory the plan will need."""
        return 0

    def raw_size(self, problem: Problem, name: str, info: DeviceInfo) -> int:
        """Return the bytes that the engine needs of a byte buffer among the outputs, where that is not the problem's.

        A call that leaves the buffer out gets one that serves every engine.
        """
        return 0

    @abc.abstractmethod
    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Compile and lay out everything, so that running is a launch."""
