"""Captured steps: calls recorded once, and replayed as one by ``step.replay()``."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import forking
from ..errors import NotInitialized, NotSupported, public
from .replacement import Replacement

if TYPE_CHECKING:
    from portadnn_backends.base import BoundLaunches, Device, LaunchRun, Run

    from .owner import Owner
    from .plan_cache import CachedPlan

_log = logging.getLogger("portadnn")
_BEFORE, _OPEN = "its with block has not begun", "its calls are still being recorded"
Swap = Callable[[Any], Any]


class _Launches:
    """Kernel launches with bound arguments."""

    def __init__(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        self.run = run
        self.arrays, self.scalars, self.workspace = list(arrays), scalars, workspace
        self._held = [run.device.as_bytes(array) for array in arrays]  # an array can be set to other memory
        self._changed = False

    @property
    def memory(self) -> list[Any]:
        """Arrays and workspace."""
        return [*self.arrays, self.workspace]

    def __call__(self) -> None:
        if self._changed or not self.run.relaunch():
            self.run.call(self.arrays, self.scalars, self.workspace)
            self._changed = False

    def bound(self) -> BoundLaunches:
        """Return the launches for a graph."""
        return self.run.launches, self.arrays, self.scalars, self.workspace

    def record(self, recorder: Any) -> None:
        """Launch, and record it."""
        recorder.launch(self.run, self.arrays, self.scalars, self.workspace)

    def replaced(self, swap: Swap) -> _Launches:
        """Return the launches with other arrays."""
        part = _Launches(self.run, list(map(swap, self.arrays)), self.scalars, swap(self.workspace))
        part._changed = self._changed or any(new is not old for new, old in zip(part.memory, self.memory, strict=True))
        return part


class _Opaque:
    """Computation that is more than launches, for instance on the host."""

    def __init__(self, run: Run | Callable[..., None], args: Sequence[Any]) -> None:
        self.run, self.args = run, args

    @property
    def memory(self) -> list[Any]:
        """Return all arguments."""
        found: list[Any] = []
        for arg in self.args:
            found += arg.values() if isinstance(arg, dict) else arg if isinstance(arg, (list, tuple)) else [arg]
        return found

    def __call__(self) -> None:
        self.run(*self.args)

    def bound(self) -> BoundLaunches:
        """Refuse to become part of a graph."""
        raise NotSupported("a call computes outside of kernels")

    def record(self, recorder: Any) -> None:
        """Run, and record it."""
        recorder.opaque(self.run, *self.args)

    def replaced(self, swap: Swap) -> _Opaque:
        """Return the computation of other arrays."""

        def other(arg: Any) -> Any:
            if isinstance(arg, dict):
                return {key: swap(value) for key, value in arg.items()}
            return list(map(swap, arg)) if isinstance(arg, (list, tuple)) else swap(arg)

        return _Opaque(self.run, [other(arg) for arg in self.args])


class CapturedStep:
    """Recorded calls, ready to be replayed.

    Calls run as usual while they are recorded. A replay repeats what they enqueued, with the same arrays and numbers.
    The step keeps all arrays alive, and results that the calls allocated are overwritten by each replay.

    Attributes
    ----------
    mode : str
        How replays run: as one ``"cuda graph"`` or ``"command buffer"`` (OpenCL), or by ``"launches"``, one after the
        other.
    reason : str
        Why a replay makes single launches; "" where it does not.
    thread : int
        The thread that records.
    """

    def __init__(self, handle: Owner) -> None:
        self.mode, self.reason = "launches", ""
        self.thread = 0
        self._handle = handle
        self._device: Device | None = None
        self._parts: list[_Launches | _Opaque] = []
        self._owners: list[Any] = []  # of memory that arrays of the device do not keep alive
        self._scratch: tuple[Any, int] = (None, 0)
        self._graph: Callable[[], None] | None = None
        self._outdated = False  # whether arrays were replaced since the graph was made
        self._unusable = _BEFORE

    # recording; see portadnn_backends.base.Recorder

    def __enter__(self) -> CapturedStep:
        self._handle.lock.acquire()
        try:
            device = self._handle.device
            if device.recorder is not None:
                raise NotSupported("captures do not nest; replay() of a step inside of a capture is recorded")
            if self._unusable is not _BEFORE:
                raise NotSupported("a step records once; handle.capture() returns another one")
        except BaseException:
            self._handle.lock.release()
            raise
        self.thread, self._unusable = threading.get_ident(), _OPEN
        self._device, device.recorder = device, self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._device is not None
        self._device.recorder = None
        if self._handle._device is not self._device:  # in a forked child, which has locks of its own
            return
        try:
            if kind is not None:
                self._unusable = f"its with block raised {kind.__name__}"
            if self._unusable is _OPEN:
                self._unusable = ""
                self._prepare(self._device)
            else:
                self._parts, self._owners, self._scratch = [], [], (None, 0)
        finally:
            self._handle.lock.release()

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Make the step refuse replays if only a part of a call was recorded."""
        try:
            yield
        except Exception as error:
            self._unusable = f"a call failed while it was recorded: {error}"
            raise

    def launch(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        """Launch, and keep the arguments."""
        if run.launches:
            with self._whole():
                own = run.device.bind(run.launches)
                own.call(arrays, scalars, workspace)
                self._parts.append(_Launches(own, arrays, scalars, workspace))

    def opaque(self, run: Run | Callable[..., None], *args: Any) -> None:
        """Run, and keep the arguments."""
        device = self._handle.device
        device.recorder = None
        try:
            with self._whole():
                run(*args)
        finally:
            device.recorder = self
        self._parts.append(_Opaque(run, args))

    def allocated(self, memory: Any) -> None:
        """Do nothing: the calls that use the memory keep it alive."""

    def host_access(self, what: str) -> None:
        """Refuse host accesses, which a replay cannot repeat."""
        raise NotSupported(f"handle.capture() records calls, and not what the host does: this {what}")

    def scratch(self, handle: Owner, nbytes: int) -> Any:
        """Return scratch memory that belongs to the step."""
        memory, size = self._scratch
        if size < nbytes:
            with self._whole():
                memory = handle.device.workspace(nbytes)
            self._scratch = memory, nbytes
        return memory

    def planned(self, cached: CachedPlan) -> None:
        """Do nothing: the step keeps the launches."""

    def operands(self, tensors: Sequence[Any]) -> None:
        """Keep the arguments alive."""
        owns = self._handle.device.owns
        known = set(map(id, self._owners))
        self._owners += [one for one in tensors if one is not None and id(one) not in known and not owns(one)]

    # replaying

    def __len__(self) -> int:
        """Return the number of computations of a replay."""
        return len(self._parts)

    def bound_launches(self) -> list[BoundLaunches]:
        """Return what a replay launches, with arrays, numbers and workspace, for measurements.

        Raises
        ------
        NotSupported
            A call computes outside of kernels.
        """
        return [part.bound() for part in self._parts]

    @public
    def replay(self) -> None:
        """Enqueue all launches on the handle's current stream.

        In the block of another capture the replay is recorded there.

        Raises
        ------
        NotInitialized
            The handle was closed.
        NotSupported
            The calls are still being recorded, or were not recorded as a whole.
        """
        with self._handle.lock:
            device = self._ready()
            recorder: Any = device.recorder
            if recorder is not None:
                recorder.operands(self._owners)
                for part in self._parts:
                    part.record(recorder)
                return
            if self._outdated:
                self._prepare(device)
            if self._graph is not None:
                self._graph()
                return
            for part in self._parts:
                part()

    @public
    def update(self, old: Any, new: Any) -> None:
        """Replace an array, and its views, from the next replay on.

        The array that is replaced is not kept alive any longer. A CUDA graph is built again by the next replay.

        Parameters
        ----------
        old
            An array that the recorded calls were given, or one that they returned.
        new
            Of the same dims, strides, type and alignment.

        Raises
        ------
        BadParam
            Another layout, an array that no call uses or that shares memory with a larger one, memory that another
            tensor of a call has, or read-only memory.
        """
        with self._handle.lock:
            device = self._ready()
            replacement = Replacement(device, old, new)
            replacement.check(self._parts)
            self._parts = [part.replaced(replacement.swapped) for part in self._parts]
            self._owners = [owner for owner in self._owners if replacement.keeps(owner)]
            if not device.owns(new):
                self._owners.append(new)
            self._outdated = True

    def _prepare(self, device: Device) -> None:
        """Instantiate a graph of the launches, if the device has graphs."""
        graph, self.mode, self.reason = None, "launches", ""
        try:
            graph = device.graph(self.bound_launches())
            self.mode = device.graph_mode
        except NotSupported as error:
            self.reason = error.message
            _log.info("a captured step of %d computations replays by single launches: %s", len(self), self.reason)
        self._graph, self._outdated = graph, False  # only now, as the old one may have been running until then

    def _ready(self) -> Device:
        if self._unusable:
            raise NotSupported(f"the step cannot be used: {self._unusable}")
        device = self._handle._device
        if device is None:
            raise NotInitialized(forking.reason(self._handle), argument="handle")
        return device
