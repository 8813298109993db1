"""Devices: memory, streams, compiling and launching. Operations are not methods of them."""

from __future__ import annotations

import abc
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from portadnn.errors import BadParam, NotSupported
from portadnn.problem import TensorSpec

from .launch import BoundLaunches, Kernel, Launch, Run
from .peer_buffers import HostPeer, peer_key

if TYPE_CHECKING:
    from .scout import Scout

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
        "mma_ptx", "mfma", "wmma", "grid_fence", "cooperative"), "peer_memory", where they reach the memory of other
        devices, and "early_launches", where these begin while the launch before them ends.
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

    def launchable(self, tensors: Sequence[Any]) -> Sequence[Any] | None:
        """Return what launches read in place of torch tensors, whose layouts a call has looked at before.

        None where there is no shorter way than a whole call.
        """
        return None

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

    def capturing(self) -> bool:
        """Tell whether PyTorch captures a graph on the stream: each call has scratch memory of its own then.

        The graph writes there whenever it is replayed, and PyTorch's pool of the graph keeps it.
        """
        return False

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

    # buffers in which ranks of one computation meet (peers/)

    def peer_buffer(self, value: Any, spec: TensorSpec, argument: str) -> Any:
        """Return a rank's peer buffer, which may lie on another device; by default it only says who meets whom.

        Raises
        ------
        BadParam
            It is no array or buffer, or smaller than `spec`.
        """
        nbytes = getattr(value, "nbytes", None)
        if isinstance(nbytes, int) and nbytes < spec.span * spec.dtype.itemsize:
            raise BadParam(
                argument=argument, expected=f"{spec.span * spec.dtype.itemsize} bytes at least", got=f"{nbytes} bytes"
            )
        return HostPeer(peer_key(value, argument), getattr(value, "queue", self) is self.stream)

    def is_home(self, peer: Any) -> bool:
        """Tell whether a peer buffer is known to lie on this device."""
        return peer.home  # type: ignore[no-any-return]

    def reach(self, peer: Any) -> None:
        """See to it that kernels reach a peer buffer.

        Raises
        ------
        NotSupported
            The device does not reach that memory.
        """
        raise NotSupported(f"{self.info.backend} reaches no memory of other devices", argument="peer_stats")

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
        and on disk; `defines` become ``#define`` lines. The kernel may still be being built when this returns: then
        :meth:`bind` waits, and raises what the compiler had to say.

        Raises
        ------
        CompileError
            With source and log.
        NotSupported
            The device runs no kernels.
        """
        raise NotSupported(f"{self.info.backend} runs no kernels")

    @property
    def compiles_late(self) -> bool:
        """Whether a kernel is compiled no sooner than at its first launch."""
        return False

    def texts(self, prepare: Callable[[Any], object]) -> frozenset[bytes]:
        """Return digests of the texts that a plan would compile, where processes can compile for each other; else none.

        Parameters
        ----------
        prepare
            ``prepare(stand_in)`` makes the plan.
        """
        return frozenset()

    def scout(self) -> Scout | None:
        """Return what starts to build the kernels of plans; None where :meth:`compile` builds them one by one."""
        return None

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

    populates = False  # whether populate() works

    def populate(self, graph: int, calls: Sequence[BoundLaunches], *, update: bool) -> Any:
        """Make launches the content of a graph of the driver's; return what has to live as long.

        Whoever calls keeps the arrays and workspaces alive.

        Parameters
        ----------
        graph
            Its address. It is empty, or with `update` has what this method put there.

        Raises
        ------
        ValueError
            The graph has other content.
        NotSupported
            The device cannot; the message says why.
        """
        raise NotSupported(f"{self.info.backend} has no graphs of a driver's")

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
