"""A sequence of calls, recorded once and run again as one by ``step.replay()``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import forking
from ..descriptors import TensorView
from ..errors import BadParam, NotInitialized, NotSupported, public
from ..problem import TensorSpec
from .problems import spec_of, wrapped_one

if TYPE_CHECKING:
    from portadnn_backends.base import Device, LaunchRun, Run

    from ..handle import Handle
    from .plan_cache import CachedPlan


class _Launches:
    """Kernel launches with arguments of their own."""

    def __init__(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        self.run = run
        self.arrays = list(arrays)
        self._rest = scalars, workspace
        self.changed = False

    def __call__(self) -> None:
        if self.changed or not self.run.relaunch():
            self.changed = False
            self.run.call(self.arrays, *self._rest)

    def replace(self, swap: Callable[[Any], Any]) -> None:
        """Take other arrays."""
        arrays = [swap(array) for array in self.arrays]
        self.changed |= any(new is not old for new, old in zip(arrays, self.arrays, strict=True))
        self.arrays = arrays


class _Opaque:
    """A computation that is more than launches, such as one on the host."""

    def __init__(self, run: Callable[..., None], args: Sequence[Any]) -> None:
        self.run = run
        self.args = list(args)

    @property
    def arrays(self) -> list[Any]:
        """The arrays among its arguments."""
        found: list[Any] = []
        for arg in self.args:
            found += arg.values() if isinstance(arg, dict) else arg if isinstance(arg, (list, tuple)) else [arg]
        return found

    def __call__(self) -> None:
        self.run(*self.args)

    def replace(self, swap: Callable[[Any], Any]) -> None:
        """Take other arrays."""
        for i, arg in enumerate(self.args):
            if isinstance(arg, dict):
                self.args[i] = {key: swap(value) for key, value in arg.items()}
            elif isinstance(arg, (list, tuple)):
                self.args[i] = [swap(value) for value in arg]
            else:
                self.args[i] = swap(arg)


class CapturedStep:
    """Calls that were recorded, ready to run again.

    Calls run as usual while they are recorded. A replay repeats what they enqueued, with the same arrays and numbers:
    one CUDA graph on CUDA, and the launches one after another elsewhere. It keeps all arrays alive, and results that
    the calls allocated are overwritten by each replay.

    Attributes
    ----------
    mode : str
        ``"cuda graph"`` or ``"launches"``.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.thread = 0  # that records
        self._parts: list[_Launches | _Opaque] = []
        self._kept: list[Any] = []
        self._scratch: tuple[Any, int] = (None, 0)
        self._graph: Callable[[], None] | None = None
        self._open = False
        self.mode = "launches"

    # recording; see portadnn_backends.base.Recorder

    def __enter__(self) -> CapturedStep:
        self._handle.lock.acquire()
        try:
            device = self._handle.device
            if device.recorder is not None or self._parts:
                raise NotSupported("captures do not nest, and each records once")
        except BaseException:
            self._handle.lock.release()
            raise
        self.thread = threading.get_ident()
        device.recorder = self
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        device = self._handle._device
        if device is not None:
            device.recorder = None
        self._open = False
        if kind is not None:
            self._parts.clear()
        self._handle.lock.release()

    def launch(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        """Launch, and keep the arguments."""
        if run.launches:
            own = run.device.bind(run.launches)
            own.call(arrays, scalars, workspace)
            self._parts.append(_Launches(own, arrays, scalars, workspace))

    def opaque(self, run: Run | Callable[..., None], *args: Any) -> None:
        """Run, and keep the arguments."""
        device = self._handle.device
        device.recorder = None
        try:
            run(*args)
        finally:
            device.recorder = self
        self._parts.append(_Opaque(run, args))

    def allocated(self, memory: Any) -> None:
        """Keep new memory."""
        self._kept.append(memory)

    def host_access(self, what: str) -> None:
        """Refuse what a replay cannot repeat."""
        raise NotSupported(f"handle.capture() cannot record what the host does: it {what}")

    def scratch(self, handle: Handle, nbytes: int) -> Any:
        """Return scratch memory of the step's own."""
        memory, size = self._scratch
        if size < nbytes:
            memory = handle.device.workspace(nbytes)  # which is kept, as all that is allocated
            self._scratch = memory, nbytes
        return memory

    def planned(self, cached: CachedPlan) -> None:
        """Take no notice: the launches are kept themselves."""

    def operands(self, tensors: Sequence[Any]) -> None:
        """Keep what was passed."""
        self._kept.extend(tensors)

    # replaying

    def __len__(self) -> int:
        """Return how many computations a replay makes."""
        return len(self._parts)

    @public
    def replay(self) -> None:
        """Enqueue everything again, on the handle's current stream.

        Raises
        ------
        NotInitialized
            The handle was closed.
        NotSupported
            The calls are still being recorded.
        """
        with self._handle.lock:
            device = self._device()
            if self._graph is None and self.mode == "launches" and not self._any_opaque():
                self._graph = device.graph(self._run)
                if self._graph is not None:
                    self.mode = device.graph_mode
            if self._graph is None:
                self._run()
            else:
                self._graph()

    @public
    def update(self, old: Any, new: Any) -> None:
        """Use another array from the next replay on.

        Parameters
        ----------
        old
            An array that the recorded calls were given, or one that they returned.
        new
            Of the same dims, strides, type and alignment.

        Raises
        ------
        BadParam
            Another layout, an array that no call uses, or memory that another tensor of a call has.
        """
        with self._handle.lock:
            device = self._device()
            before, after = (wrapped_one(device, array, name) for array, name in ((old, "old"), (new, "new")))
            if device.signature(before) != device.signature(after):
                raise BadParam(
                    argument="new", expected=f"the layout of old, {_layout(device, before)}", got=_layout(device, after)
                )
            start, end = _range(device, before)
            used = [array for part in self._parts for array in part.arrays if _within(device, array, start, end)]
            if not used:
                raise BadParam(
                    argument="old", expected="an array of the recorded calls", got="one that none of them uses"
                )
            self._check_apart(device, (start, end), _range(device, after))
            self._kept.append(new)
            for part in self._parts:
                part.replace(lambda array: _moved(device, array, start, end, after))
            self._graph = None
            self.mode = "launches"

    def _check_apart(self, device: Device, before: tuple[int, int], after: tuple[int, int]) -> None:
        """Refuse memory that another tensor of a call has."""
        for part in self._parts:
            ranges = [_range(device, array) for array in part.arrays if device.owns(array)]
            others = [one for one in ranges if not (before[0] <= one[0] and one[1] <= before[1])]
            if len(others) < len(ranges) and any(one[0] < after[1] and after[0] < one[1] for one in others):
                raise BadParam(argument="new", expected="memory of its own", got="memory of another tensor of a call")

    def _any_opaque(self) -> bool:
        return any(isinstance(part, _Opaque) for part in self._parts)

    def _run(self) -> None:
        for part in self._parts:
            part()

    def _device(self) -> Device:
        if self._open:
            raise NotSupported("the calls are still being recorded")
        device = self._handle._device
        if device is None:
            raise NotInitialized(forking.reason(self._handle), argument="handle")
        return device


def _range(device: Device, array: Any) -> tuple[int, int]:
    """Return the addresses of an array's first byte, and of the one after its last."""
    spec = spec_of(device.signature(array), "array")
    start = device.address(array)
    return start, start + spec.span * spec.dtype.itemsize


def _within(device: Device, array: Any, start: int, end: int) -> bool:
    if array is None or not device.owns(array):
        return False
    first, last = _range(device, array)
    return start <= first < last <= end


def _moved(device: Device, array: Any, start: int, end: int, after: Any) -> Any:
    """Return an array that lies in some memory as it lies in another; any other array as it is."""
    if not _within(device, array, start, end):
        return array
    spec = spec_of(device.signature(array), "array")
    offset = (device.address(array) - start) // spec.dtype.itemsize
    return device.wrap(
        TensorView(TensorSpec(spec.dtype, spec.dims, spec.strides), device.as_bytes(after), offset), "new"
    )


def _layout(device: Device, array: Any) -> str:
    shape, strides, dtype, misalignment = device.signature(array)
    return f"{dtype} {tuple(shape)} with strides {tuple(strides)}{f' at {misalignment} mod 16' if misalignment else ''}"
