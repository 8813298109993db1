"""The seam between portadnn and what runs on a device.

A backend is a :class:`Backend` object under the entry-point group ``portadnn.backends``. It lists devices and opens
one as a :class:`Device`: memory, streams, compiling and launching. Operations are not methods of it. They are
:class:`Engine` objects, which turn a Problem into a :class:`Plan`; the engines in ``engines/`` describe their
launches as data (:class:`Launch`), which a device binds into a fast callable.
"""

from __future__ import annotations

import abc
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from portadnn.enums import DataType, DnnEnum
from portadnn.errors import NotSupported
from portadnn.problem import Problem, TensorSpec

from .programs import Program

Schedule = Literal["gpu", "cpu"]


@dataclass(frozen=True)
class DeviceInfo:
    """What is known of a device; queried, never guessed from its name.

    Attributes
    ----------
    backend, name, vendor, driver, version, platform : str
        For people, and (driver, version) for the kernel cache.
    schedule : {"gpu", "cpu"}
        Which shape of kernel suits it; `kind` unless the user overrides it with ``PORTADNN_SCHEDULE``.
    compute_units : int
        Multiprocessors or cores.
    simd_width : int
        float32 lanes of a vector on a CPU; threads that run in step on a GPU.
    local_memory, global_memory, max_allocation : int
        Bytes.
    dynamic_memory : int
        Bytes of local memory that a launch can ask for (``Launch.local_bytes``); 0 where it cannot.
    arch : str
        Code generation target ("sm_90"), or "".
    flops, bandwidth : float
        float32 operations and bytes of global memory per second, as estimated from clocks and widths; they rank
        engines and promise nothing.
    features : frozenset of str
        Optional abilities that kernels ask for by name ("shuffle", "inline_ptx", "clusters", "mma",
        "grid_fence"), and "early_launches", where these begin while the launch before them ends.
    """

    backend: str
    name: str
    vendor: str
    kind: Literal["gpu", "cpu"]
    driver: str
    version: str
    platform: str = ""
    schedule: Schedule = "cpu"
    compute_units: int = 1
    simd_width: int = 1
    max_work_group: int = 1
    local_memory: int = 0
    global_memory: int = 0
    max_allocation: int = 0
    dynamic_memory: int = 0
    fp64: bool = True
    arch: str = ""
    flops: float = 1e12
    bandwidth: float = 1e11
    features: frozenset[str] = field(default_factory=frozenset)

    def with_schedule(self, schedule: Schedule) -> DeviceInfo:
        """Return the same device with the other kernel shape."""
        width = min(self.simd_width, 16) if schedule == "cpu" else self.simd_width  # a GPU's is no vector's
        return replace(self, schedule=schedule, simd_width=width)


@dataclass(frozen=True)
class TensorArg:
    """A kernel argument: the problem's tensor number `index` (inputs first, then outputs), from byte `offset` on.

    With a `dtype` the kernel sees a byte buffer as elements of that type.
    """

    index: int
    offset: int = 0
    dtype: DataType | None = None


@dataclass(frozen=True)
class ScalarArg:
    """A kernel argument: the problem's run-time number `index`, passed as `dtype` (float32 or float64)."""

    index: int
    dtype: DataType


@dataclass(frozen=True)
class WorkspaceArg:
    """A kernel argument: the workspace from byte `offset` (a multiple of 256) on, holding elements of `dtype`."""

    offset: int = 0
    dtype: DataType = DataType.FLOAT


@dataclass(frozen=True)
class ConstantArg:
    """A kernel argument with a fixed value, such as ``np.int32(n)``."""

    value: np.generic


@dataclass(frozen=True)
class CountersArg:
    """A kernel argument: `count` (at most ``MOST_COUNTERS``) int32 zeros, which the launch leaves as zeros.

    All launches of a stream share them. They let the last work-group of several know that it is the last.
    """

    count: int


MOST_COUNTERS = 65536

Arg = TensorArg | ScalarArg | WorkspaceArg | CountersArg | ConstantArg


@dataclass(frozen=True)
class Kernel:
    """A function of a compiled program."""

    name: str
    program: Program

    @property
    def native(self) -> Any:
        """The device's own program."""
        return self.program.native

    @property
    def source(self) -> str:
        """The source text, with everything that it includes."""
        return self.program.text()


@dataclass(frozen=True)
class Launch:
    """One kernel launch: `grid` work-groups of `block` work-items, and the arguments in order.

    `local_bytes` is local memory that the kernel does not declare; ``DeviceInfo.dynamic_memory`` limits it.
    """

    kernel: Kernel
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Arg, ...]
    local_bytes: int = 0


class Run:
    """What runs a plan: ``run(arrays, scalars, workspace)``, arrays and scalars in the problem's order.

    Parameters
    ----------
    call
        Does it.
    composite
        Whether `call` does nothing but run other Runs, so that recording their launches records it.

    Attributes
    ----------
    recordable : bool
        Whether a recorder of the device sees all that a call does.
    """

    __slots__ = ("call", "recordable")

    def __init__(self, call: Callable[[Sequence[Any], Sequence[float], Any], None], composite: bool = False) -> None:
        self.call = call
        self.recordable = composite

    def __call__(self, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        self.call(arrays, scalars, workspace)

    def instead(self, call: Callable[[Sequence[Any], Sequence[float], Any], None]) -> Run:
        """Return what runs `call` in this run's place, for hooks."""
        return Run(call)


class LaunchRun(Run):
    """Kernel launches with memory for their arguments; made by :meth:`Device.bind`.

    Attributes
    ----------
    relaunch : callable
        Enqueues with the arguments of the last call. Returns False, and enqueues nothing, where these do not hold any
        longer: on another stream, say.
    """

    __slots__ = ("device", "launches", "relaunch")

    def __init__(self, device: Device, launches: Sequence[Launch]) -> None:
        call, self.relaunch = device.binding(launches)
        super().__init__(call, composite=True)
        self.device = device
        self.launches = launches

    def __call__(self, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        recorder = self.device.recorder
        if recorder is None:
            self.call(arrays, scalars, workspace)
        else:
            recorder.launch(self, arrays, scalars, workspace)


# launches with arrays, numbers and workspace, as a LaunchRun is called
BoundLaunches = tuple[Sequence[Launch], Sequence[Any], Sequence[float], Any]


class Recorder(Protocol):
    """Sees what a device does for a call, so that it can be done again (:attr:`Device.recorder`).

    Attributes
    ----------
    thread : int
        The thread whose calls it records; others may allocate and copy meanwhile.
    """

    thread: int

    def launch(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        """Launch, and note how."""

    def allocated(self, memory: Any) -> None:
        """Note memory that the device handed out."""

    def host_access(self, what: str) -> None:
        """Note that the host read or wrote the device's memory."""


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


class Device(abc.ABC):
    """An opened device with its stream or queue. Not shared between handles."""

    info: DeviceInfo
    binds: bool = False  # whether launches can be bound to arguments and made again
    recorder: Recorder | None = None  # set under the lock of the device's handle, by the thread that records

    # arrays

    @abc.abstractmethod
    def owns(self, array: Any) -> bool:
        """Tell whether `array` is this backend's native array type (whatever its device)."""

    @abc.abstractmethod
    def wrap(self, value: Any, argument: str) -> Any:
        """Return `value` as a native array without a copy.

        Accepts native arrays, TensorViews of native arrays or raw buffers, and foreign arrays that live on
        this device (DLPack, CUDA array interface).

        Raises
        ------
        BadParam
            Anything else, an array of another device, or a view larger than its buffer.
        """

    @abc.abstractmethod
    def look(self, arrays: Iterable[Any]) -> list[Any]:
        """Return each array's signature, as fast as possible; None for None.

        A signature is what plans depend on: (shape, byte strides, dtype, address mod 16).

        Raises
        ------
        BadParam
            An array lives on another device, or leaves its memory.
        AttributeError, TypeError
            One is no native array.
        """

    def guard(self, arrays: Sequence[weakref.ref[Any]]) -> Callable[[], bool] | None:
        """Return a function that tells whether these arrays, all alive, still have the memory and layout of now.

        None where the device cannot tell that of one of them. Arrays may be of any library that :meth:`wrap` takes.
        """
        return None

    def allocated(self, memory: Any) -> Any:
        """Return new memory, which a recorder is told of; a device passes on what it allocates."""
        recorder = self.recorder
        if recorder is not None and recorder.thread == threading.get_ident():
            recorder.allocated(memory)
        return memory

    def host_access(self, what: str) -> None:
        """Tell a recorder what launches cannot repeat; a device does so where the host reads or writes memory."""
        recorder = self.recorder
        if recorder is not None and recorder.thread == threading.get_ident():
            recorder.host_access(what)

    def stream_key(self) -> int:
        """Return a number that is the same for work in one order: the stream's."""
        return 0

    def signature(self, array: Any) -> tuple[Any, ...]:
        """Return one array's signature; see :meth:`look`."""
        return self.look((array,))[0]  # type: ignore[no-any-return]

    @abc.abstractmethod
    def address(self, memory: Any) -> int:
        """Return a number that grows with the first byte and is unique in the device's memory.

        Parameters
        ----------
        memory
            A native array, or a raw buffer such as a workspace.
        """

    @abc.abstractmethod
    def room(self, memory: Any) -> int:
        """Return the bytes from the first element of a native array, or byte of a buffer, to the end of its memory."""

    host_memory: bool = False  # whether arrays in host memory are used where they lie; some of them may be read-only

    def host_view(self, array: Any) -> np.ndarray[Any, Any] | None:
        """Return the host memory that a native array lies in as a NumPy array; None where it lies elsewhere."""
        return None

    def writable(self, array: Any) -> bool:
        """Tell whether a native array may be written."""
        return True

    def native_workspace(self, workspace: Any) -> Any:
        """Return a user's workspace as native array or raw buffer; something else, too, for `workspace_size`."""
        return workspace

    @abc.abstractmethod
    def empty(self, spec: TensorSpec) -> Any:
        """Return a new native array with that layout, uninitialised.

        Raises
        ------
        AllocFailed
            No memory.
        """

    @abc.abstractmethod
    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        """Copy a NumPy array to the device, keeping its layout; gaps and overlaps are packed."""

    @abc.abstractmethod
    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        """Copy a native array of any layout to the host, waiting for the stream."""

    def as_bytes(self, array: Any) -> Any:
        """Return the memory of a native array of any elements, from the first to the last, as native bytes.

        Raises
        ------
        NotSupported
            The backend does not define it.
        """
        raise NotSupported(f"{self.info.backend} does not hand out bytes")

    def read_bytes(self, array: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Copy a native array from its first element to its last, gaps included, waiting for the stream.

        Raises
        ------
        NotSupported
            The backend does not define it.
        """
        raise NotSupported(f"{self.info.backend} does not hand out bytes")

    def write_bytes(self, array: Any, content: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        """Overwrite what :meth:`read_bytes` reads; finished when it returns.

        Raises
        ------
        NotSupported
            The backend does not define it.
        """
        raise NotSupported(f"{self.info.backend} does not take bytes")

    @abc.abstractmethod
    def workspace(self, nbytes: int) -> Any:
        """Return a new scratch buffer, to be passed to ``Plan.run``."""

    @abc.abstractmethod
    def workspace_size(self, workspace: Any) -> int:
        """Return the bytes of a user's workspace, as :meth:`native_workspace` returns it.

        A native array has its own bytes, wherever in a buffer it lies.

        Raises
        ------
        BadParam
            It is neither, or lives on another device.
        """

    # execution; a device without kernels leaves out `compile` and `bind`

    def compile(self, file: str, name: str, defines: Mapping[str, int | float | str], text: str = "") -> Kernel:
        """Compile kernel function `name` of kernel file `file` (such as ``"shared/pool/pooling.cl"``).

        `text` is what follows the file, where kernels are written at run time. Compiled programs are cached in memory
        and on disk; `defines` become ``#define`` lines.

        Raises
        ------
        CompileError
            With source and log.
        NotSupported
            The device runs no kernels.
        """
        raise NotSupported(f"{self.info.backend} runs no kernels")

    def bind(self, launches: Sequence[Launch]) -> LaunchRun:
        """Return what enqueues the launches in order on the current stream.

        Raises
        ------
        NotSupported
            The device runs no kernels.
        """
        return LaunchRun(self, launches)

    def binding(self, launches: Sequence[Launch]) -> tuple[Callable[..., None], Callable[[], bool]]:
        """Return the functions `call` and `relaunch` of a :class:`LaunchRun`.

        Raises
        ------
        NotSupported
            The device runs no kernels.
        """
        raise NotSupported(f"{self.info.backend} runs no kernels")

    graph_mode = ""

    def graph(self, calls: Sequence[BoundLaunches]) -> Callable[[], None]:
        """Return a function that enqueues all launches at once, in their order, on the stream that is current then.

        Whoever calls keeps the arrays and workspaces alive.

        Raises
        ------
        NotSupported
            The device cannot; the message says why.
        """
        raise NotSupported(f"{self.info.backend} has no graphs of launches")

    @abc.abstractmethod
    def synchronize(self) -> None:
        """Wait until everything enqueued has finished.

        Raises
        ------
        ExecutionFailed
            Something enqueued failed.
        """

    @abc.abstractmethod
    def time(self, function: Callable[[], None]) -> float:
        """Return the device seconds between the start and the end of what `function` enqueues."""

    @property
    @abc.abstractmethod
    def stream(self) -> Any:
        """The CuPy stream or PyOpenCL queue in use; None where there is none."""

    @abc.abstractmethod
    def set_stream(self, stream: Any) -> None:
        """Use another stream or queue of the same device from now on.

        Raises
        ------
        BadParam
            It is no stream of this backend, or belongs to another device.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Free what the device object owns."""


NARROW_SPAN = 2**31  # elements of the largest tensor whose places fit 32 bits, with room for the last round of a loop
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
    problem: Problem, info: DeviceInfo, efficiency: float = 0.5, *, extra_bytes: int = 0, launches: int = 1
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
            return own == algo
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


__all__ = [
    "Arg",
    "Backend",
    "BoundLaunches",
    "ConstantArg",
    "CountersArg",
    "Device",
    "DeviceInfo",
    "Engine",
    "Kernel",
    "Launch",
    "LaunchRun",
    "Oracle",
    "Plan",
    "Recorder",
    "Run",
    "ScalarArg",
    "TensorArg",
    "WorkspaceArg",
    "needs_wide_places",
    "roofline",
]
