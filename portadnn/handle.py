"""Handles: a device, its stream, and the plans made for it."""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from . import forking
from .bfloat16 import BITS
from .descriptors import make_spec
from .dispatch.arrays import wrapped_one
from .dispatch.call_cache import CallCache
from .dispatch.plan_cache import CacheInfo, PlanCache
from .dispatch.scratch import ScratchPool
from .enums import DataType, TensorFormat, plain_number
from .environment import chosen_device, chosen_schedule
from .errors import BadParam, NotInitialized, NotSupported, public, shown
from .finding.found import Found
from .host_arrays import stored_array
from .problem import TensorSpec
from .registry import get_backend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portadnn_backends.base import Device, DeviceInfo, Engine

    from .dispatch.capture import CapturedStep
    from .dispatch.prepared import Prepared
    from .problem import Problem
    from .profiles.violations import Violation

log = logging.getLogger("portadnn")
_SERIALS = itertools.count(1)  # the handles of this process, for logs and recordings


class Judge(Protocol):
    """What judges a handle's calls as another library would: a profile at work."""

    @property
    def violations(self) -> list[Violation]:
        """What that library would not have taken so far."""

    def release(self) -> Any:
        """End it."""


# from the arguments `profile` and `mode` to what starts to judge a handle; set by portadnn.profiles
Choose = Callable[[str | None, str | None], "Callable[[Handle], Judge] | None"]
_CHOOSE: list[Choose] = []


def judge_handles_by(choose: Choose) -> None:
    """Have `choose` find the profiles that handles to come ask for."""
    _CHOOSE.append(choose)


# what makes plans ahead of calls; set by portadnn.ahead
Prepare = Callable[["Handle", Any], "Prepared"]
_PREPARE: list[Prepare] = []


def prepare_handles_by(prepare: Prepare) -> None:
    """Have `prepare` make plans ahead of calls."""
    _PREPARE[:] = [prepare]


class Handle:
    """A device to compute on (guide sections 4.3 to 4.6).

    A handle may be used from several threads: calls are enqueued one at a time, in the order in which they
    arrive. As the guide's section 2.4 says, changing or closing it while others use it is for the caller to
    order. It is a context manager and frees what it owns when closed; arrays stay valid.

    Parameters
    ----------
    backend
        ``"cuda"``, ``"hip"``, ``"opencl"``, ``"reference"`` or the name of an installed backend; ``"auto"`` takes
        ``PORTADNN_BACKEND`` or else the best device: cuda, hip, an OpenCL GPU, OpenCL on the CPU, reference.
    device
        Number of the device as ``portadnn info`` lists it; by default ``PORTADNN_DEVICE`` or 0.
    stream
        An existing CuPy stream or in-order PyOpenCL queue to enqueue on. "torch" follows PyTorch's current stream,
        whichever that is at each call. By default CuPy's current stream, or a queue of the handle's own.
    cache_bytes
        About how many bytes of plans to keep; the least recently used go first. By default 160 MB.
    find_db
        File that keeps what Find measures, for programs to come; by default ``PORTADNN_FIND_DB``, or none. "" is
        none.
    profile
        Name of a library whose rules are enforced at run time (docs/profiles.md): ``"miopen-1"``, ``"miopen-3"``,
        ``"cudnn-5"`` or ``"cudnn-9"``; by default ``PORTADNN_PROFILE``, or none. "" is none.
    mode
        ``"warn"`` tells of each violation once for each place in the program, ``"error"`` raises; by default
        ``PORTADNN_PROFILE_MODE`` or ``"warn"``.

    Raises
    ------
    BadParam
        Unknown backend, no such device, a stream that is not of this backend, a database that is no path, or an
        unknown profile or mode.
    NotSupported
        The backend does not work on this machine; the message says why and what to install.
    """

    collector: list[Any] | None = None  # where calls leave their problems, with nothing computed; under the lock

    @public
    def __init__(
        self,
        backend: str = "auto",
        device: int | None = None,
        *,
        stream: Any = None,
        find_db: str | os.PathLike[str] | None = None,
        profile: str | None = None,
        mode: str | None = None,
        cache_bytes: int | None = None,
    ) -> None:
        self.serial = next(_SERIALS)
        self._device: Device | None = None
        self._judge: Judge | None = None
        judges = [choose(profile, mode) for choose in _CHOOSE]
        name, index = chosen_device(backend, device)
        self.backend, self.index = name, index
        chosen = get_backend(name)
        reason = chosen.why_unavailable()
        if reason is not None:
            from .advice import advice

            install = advice(chosen)
            hint = f"; try: {install}" if install else ""
            raise NotSupported(f"backend {name} is not available: {reason}{hint}")
        schedule = chosen_schedule()
        self.found = Found(os.environ.get("PORTADNN_FIND_DB") if find_db is None else find_db, chosen.engines_version)
        self._device = chosen.open(index, stream)
        if schedule is not None:
            self._device.info = self._device.info.with_schedule(schedule)
        self.engines: tuple[Engine, ...] = tuple(chosen.engines())
        self.lock = threading.RLock()
        self._start_caches()
        if cache_bytes is not None:
            self.plans.most_bytes = _bytes(cache_bytes, "cache_bytes")
        for judge in judges:
            if judge is not None:
                self._judge = judge(self)
        forking.register(self)

    def _start_caches(self) -> None:
        self.calls = CallCache()
        self.plans = PlanCache(self.calls.drop_plan)
        self.scratches = ScratchPool()

    def settle(self) -> None:
        """Wait for what the device has under way, before a fork and at exit."""
        if self._device is not None:
            self._device.synchronize()

    def lose(self) -> tuple[Any, ...] | None:
        """Give up device and caches without touching them, in a forked child; return what may not be released there."""
        if self._device is None:
            return None
        self.lock._at_fork_reinit()  # type: ignore[attr-defined]  # another thread of the parent's may have held it
        lost = (self._device, self.calls, self.plans, self.scratches)
        self.scratches.invalidate()
        self._start_caches()
        self._device = None
        return lost

    @property
    def violations(self) -> list[Violation]:
        """What the library of the handle's profile would not have taken so far; empty without a profile."""
        return [] if self._judge is None else self._judge.violations

    @property
    def device(self) -> Device:
        """The opened device.

        Raises
        ------
        NotInitialized
            The handle was closed.
        """
        if self._device is None:
            raise NotInitialized(forking.reason(self), argument="handle")
        return self._device

    @property
    def info(self) -> DeviceInfo:
        """What is known of the device."""
        return self.device.info

    @public
    def asarray(
        self,
        array: npt.ArrayLike,
        dtype: npt.DTypeLike | DataType | None = None,
        *,
        format: TensorFormat | int | str | None = None,
    ) -> Any:
        """Copy host data to the device as the backend's own array.

        Parameters
        ----------
        array
            Anything NumPy understands.
        dtype
            float16, bfloat16, float32 or float64; by default the array's own, where it is one of these, else float32.
        format
            Layout of the result; by default the array's own layout is kept.

        Raises
        ------
        BadParam
            Not real numbers, or an unknown type or format.
        AllocFailed
            No memory.
        """
        host = stored_array(array, dtype)
        if format is not None:
            spec = TensorSpec.packed(DataType.of(host.dtype), host.shape, TensorFormat.parse(format, "format"))
            packed = np.lib.stride_tricks.as_strided(
                np.empty(spec.size, host.dtype), spec.dims, [s * spec.dtype.itemsize for s in spec.strides]
            )
            packed[...] = host
            host = packed
        return self.device.asarray(host)

    @public
    def empty(
        self,
        dims: Sequence[int],
        dtype: npt.DTypeLike | DataType = DataType.FLOAT,
        *,
        format: TensorFormat | int | str = TensorFormat.NCHW,
    ) -> Any:
        """Return a new, uninitialised packed array of the backend."""
        spec = make_spec(dims, dtype, format)
        _ = spec.dtype.numpy  # the result is to be a usual array
        return self.device.empty(spec)

    @public
    def empty_bytes(self, nbytes: int) -> Any:
        """Return a new, uninitialised byte buffer of the backend, for reserve spaces, states and workspaces.

        Raises
        ------
        BadParam
            `nbytes` is no number of bytes.
        AllocFailed
            No memory.
        """
        return self.device.empty(TensorSpec(DataType.UINT8, (_bytes(nbytes, "nbytes"),), (1,)))

    @public
    def zeros(
        self,
        dims: Sequence[int],
        dtype: npt.DTypeLike | DataType = DataType.FLOAT,
        *,
        format: TensorFormat | int | str = TensorFormat.NCHW,
    ) -> Any:
        """Return a new packed array of the backend, filled with zeros."""
        spec = make_spec(dims, dtype, format)
        return self.asarray(np.zeros(spec.dims, spec.dtype.numpy), format=format)

    @public
    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        """Copy a tensor (native array or view) to the host, waiting for what writes it."""
        device = self.device
        with self.lock:
            native = wrapped_one(device, array, "array")
            if native.dtype == BITS:
                _ = DataType.BFLOAT16.numpy
            return device.to_numpy(native)

    @public
    def synchronize(self) -> None:
        """Wait for everything enqueued on the handle's stream.

        Raises
        ------
        ExecutionFailed
            Something enqueued failed.
        """
        self.device.synchronize()

    @public
    def set_stream(self, stream: Any) -> None:
        """Enqueue on another stream or queue from now on (guide section 4.5); None means the default."""
        with self.lock:
            self.device.host_access("sets the stream")
            self.scratches.clear(self.device)
            self.device.set_stream(stream)

    @public
    def get_stream(self) -> Any:
        """Return the CuPy stream or PyOpenCL queue in use (guide section 4.6); None on reference."""
        return self.device.stream

    def scratch(self, nbytes: int) -> Any:
        """Return the handle's own workspace of at least `nbytes`, shared by its calls in stream order."""
        with self.lock:
            recorder: Any = self.device.recorder
            if recorder is not None:
                return recorder.scratch(self, nbytes)
            return self.scratches.get(self.device, nbytes).memory

    @public
    def capture(self) -> CapturedStep:
        """Record the calls of a ``with`` block, to run them again as one by ``step.replay()``.

        Calls run as usual meanwhile. What the host does with arrays (``to_numpy``, ``asarray``) cannot be recorded
        and raises NotSupported. Other threads wait for the handle until the block ends. See docs/capture.md.

        Returns
        -------
        CapturedStep
            ``with handle.capture() as step: ...``

        Raises
        ------
        NotInitialized
            The handle was closed.
        """
        from .dispatch.capture import CapturedStep

        _ = self.device
        return CapturedStep(self)

    @public
    def prepare(self, what: Any) -> Prepared:
        """Make the plans of calls to come, and compile their kernels side by side on all cores.

        The calls themselves, on any arrays of these layouts, then find them. Without it a call compiles what it needs
        when it is first made. Kernels go into the kernel cache as well. See docs/first-calls.md.

        Parameters
        ----------
        what : iterable of Problem or str, or a recording
            Problems, problem lines (such as logs show), or what a recording has: its path, or what
            ``portadnn.recording.read`` returned. Graphs of a recording are built.

        Returns
        -------
        Prepared
            How many problems and graphs there were, and in ``refused`` the lines of those that no engine takes.

        Raises
        ------
        BadParam
            Something else, a line that is none, or a problem that is not valid.
        NotSupported
            Calls are being captured.
        OSError
            The recording cannot be read.
        """
        return _PREPARE[0](self, what)

    @public
    def cache_info(self) -> CacheInfo:
        """Return how many plans and bound calls the handle keeps, and its limits."""
        with self.lock:
            plans = self.plans
            return CacheInfo(
                plans=len(plans),
                nbytes=plans.nbytes,
                calls=len(self.calls),
                most_plans=plans.most_plans,
                most_bytes=plans.most_bytes,
                most_calls=self.calls.most,
                evicted=plans.evicted,
            )

    @public
    def clear_cache(self) -> None:
        """Wait for the device, and free all plans, bound calls and scratch memory; later calls make them anew."""
        with self.lock:
            self.device.synchronize()
            self._forget_all()

    def _forget_all(self) -> None:
        self.calls.clear()
        self.plans.clear()
        self.scratches.end()

    def engines_for(self, problem: Problem) -> list[Engine]:
        """Return the engines that may take problems of this kind, in order of preference."""
        return [engine for engine in self.engines if isinstance(problem, engine.problems)]

    def forget(self, problem: Problem) -> None:
        """Drop the plans of a problem, because another engine may be known to be faster."""
        with self.lock:
            self.plans.drop(problem)

    def close(self) -> None:
        """Wait for the device and free what the handle owns (guide section 4.4); closing twice is allowed."""
        with self.lock:
            if self._device is None:
                return
            self._device.host_access("closes the handle")
        if self._judge is not None:
            self._judge.release()
        with self.lock:
            device, self._device = self._device, None
            if device is not None:  # another thread was faster
                device.synchronize()
                self._forget_all()
                device.close()

    def __enter__(self) -> Handle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a Handle is no value to pickle or copy: open another one, as Handle({self.backend!r})")

    def __repr__(self) -> str:
        state = "closed" if self._device is None else self._device.info.name
        return f"Handle({self.backend!r}: {state})"

    def _repr_html_(self) -> str:
        """Show in notebooks where the handle computes."""
        from ._page.cells import table

        if self._device is None:
            return table(repr(self), (), ())
        names = ("name", "vendor", "kind", "platform", "driver", "version", "compute_units", "simd_width")
        return table(repr(self), ("", ""), [(name.replace("_", " "), getattr(self.info, name)) for name in names])


def _bytes(value: Any, argument: str) -> int:
    number = plain_number(value)
    if number is None or not 0 <= number < 2**63:
        raise BadParam(argument=argument, expected="a number of bytes", got=shown(value))
    return number
