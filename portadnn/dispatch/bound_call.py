"""Calls bound to their arguments: launches, the objects they use, and guards."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ..descriptors import TensorView
from ..hooks import CALL_HOOKS

if TYPE_CHECKING:
    from portadnn_backends.base import Device, LaunchRun

    from .owner import Owner
    from .plan_cache import CachedPlan
    from .scratch import Lease

PLAIN = (bool, int, float, str, bytes, type(None), Enum, np.generic)


class Versioned:
    """Base of mutable descriptors; every change increments the version.

    Attributes
    ----------
    version : int
        Grows with each attribute that is set.
    """

    version = 0

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        object.__setattr__(self, "version", self.version + 1)


class Marker:
    """Base of objects in a call's key that are not arrays."""


class Arguments:
    """Arguments of a call: arrays and descriptors by weak reference, other values by strong reference.

    Attributes
    ----------
    arrays : list of weakref.ref
        The arrays.
    patience : int
        How often the call is still made anew before it is bound again.
    """

    __slots__ = ("_strong", "_versions", "_weak", "arrays", "failures", "patience")

    def __init__(self, values: Sequence[Any], dead: Callable[[Any], None]) -> None:
        """Store values; call `dead` when a weakly referenced one is collected.

        Raises
        ------
        TypeError
            Nobody can say when one of them goes or changes.
        """
        self.arrays: list[weakref.ref[Any]] = []
        self._weak: list[weakref.ref[Any]] = []
        self._strong: list[Any] = []
        self._versions: list[tuple[Callable[[], Any], int]] = []
        self.patience = self.failures = 0
        for value in values:
            if isinstance(value, PLAIN):
                self._strong.append(value)
                continue
            try:
                ref = weakref.ref(value, dead)
            except TypeError:
                if not _frozen(value):
                    raise
                self._strong.append(value)
                continue
            if isinstance(value, Versioned):
                self._versions.append((ref, value.version))
            elif _frozen(value) or isinstance(value, Marker):
                self._weak.append(ref)
            else:
                self.arrays.append(ref)

    def current(self) -> bool:
        """Tell whether all versions of mutable descriptors are unchanged."""
        return all(getattr(ref(), "version", None) == version for ref, version in self._versions)

    def guard(self, device: Device) -> Callable[[], bool] | None:
        """Return the guard: a function that tells whether the arguments are unchanged. None if the device has none."""
        holds = device.guard(self.arrays)
        if holds is None or not self._versions:
            return holds
        arrays, versions = holds, self._versions

        def all_hold() -> bool:
            for ref, version in versions:
                if ref().version != version:  # of one that is gone: AttributeError, as for arrays
                    return False
            return arrays()

        return all_hold

    def reads_host(self, operands: set[int]) -> bool:
        """Tell whether an array in host memory was passed that is no operand: its contents may count."""
        return any(_in_host_memory(array) and id(array) not in operands for array in (ref() for ref in self.arrays))


class CallRecorder:
    """Binds the launches of one call as they are made; see :class:`~portadnn_backends.base.Recorder`.

    Attributes
    ----------
    thread : int
        The thread that makes the call.
    tensors : set of int
        The identities of the operands and workspaces that it was given.
    reason : str
        Why the call cannot be bound; "" where it can.
    """

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.tensors: set[int] = set()
        self.relaunches: list[Callable[[], bool]] = []
        self.kept: list[Any] = []
        self.plans: list[CachedPlan] = []
        self.lease: Lease | None = None
        self.reason = ""

    def launch(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        """Launch with arguments bound to this call."""
        if run.launches:
            own = run.device.bind(run.launches)
            own.call(arrays, scalars, workspace)
            self.relaunches.append(own.relaunch)

    def opaque(self, run: Callable[..., None], *args: Any) -> None:
        """Run a computation that does more than launch; the call cannot be bound."""
        self.reason = "it computes outside of kernels"
        run(*args)

    def allocated(self, memory: Any) -> None:
        """Keep a reference to memory allocated during the call."""
        self.kept.append(memory)

    def host_access(self, what: str) -> None:
        """Record a host access, which launches cannot repeat."""
        self.reason = what

    def scratch(self, handle: Owner, nbytes: int) -> Any:
        """Return the handle's scratch memory, and record its use."""
        if handle.device.capturing():
            self.reason = "PyTorch captures a graph of it"
        self.lease = handle.scratches.get(handle.device, nbytes)
        return self.lease.memory

    def planned(self, cached: CachedPlan) -> None:
        """Record a plan that the call uses."""
        self.plans.append(cached)

    def operands(self, tensors: Sequence[Any]) -> None:
        """Record the tensors and workspaces as passed."""
        self.tensors.update(map(id, tensors))


class _Plans:
    """Several plans whose use is marked together."""

    def __init__(self, plans: Sequence[CachedPlan]) -> None:
        self._plans = plans

    @property
    def used(self) -> bool:
        return any(plan.used for plan in self._plans)

    @used.setter
    def used(self, value: bool) -> None:
        for plan in self._plans:
            plan.used = value


class BoundCall:
    """Call bound to its arguments: all launches, ready to be repeated.

    Attributes
    ----------
    again : callable
        Launches again. Returns False, with nothing launched, where something is not as it was.
    result : callable
        Returns the call's result.
    plans : list of CachedPlan
        What it runs.
    """

    __slots__ = ("_kept", "again", "plans", "result")

    def __init__(
        self,
        handle: Owner,
        arguments: Arguments,
        holds: Callable[[], bool],
        recorder: CallRecorder,
        result: Callable[[], Any],
    ) -> None:
        self._kept = (arguments, recorder.kept)
        self.plans = recorder.plans
        self.result = result
        lease = recorder.lease or handle.scratches.base
        self.again = _again(handle, holds, lease, _in_order(recorder.relaunches), recorder.plans)


def _again(
    handle: Owner, holds: Callable[[], bool], lease: Lease, relaunch: Callable[[], bool], plans: Sequence[CachedPlan]
) -> Callable[[], bool]:
    """Return the function that repeats the launches; it checks mutable state under the handle's lock."""
    lock, device = handle.lock, handle.device
    plan = plans[0] if len(plans) == 1 else _Plans(plans)

    def again() -> bool:
        if CALL_HOOKS:
            return False
        try:
            if not holds():
                return False
        except (AttributeError, RuntimeError):  # an array without memory any more
            return False
        with lock:  # a KeyboardInterrupt behind acquire() would keep it for ever
            if device.recorder is not None or not lease.valid or not relaunch():
                return False
            plan.used = True
            return True

    return again


def _in_order(relaunches: Sequence[Callable[[], bool]]) -> Callable[[], bool]:
    """Return a function that makes all launches in order; only the first may fail its check."""
    if len(relaunches) == 1:
        return relaunches[0]
    first, *others = relaunches

    def relaunch() -> bool:
        if not first():
            return False
        for other in others:
            other()
        return True

    return relaunch


def result_of(result: Any, values: Sequence[Any]) -> Callable[[], Any] | None:
    """Return a getter of the call's result among its arguments; None if the result was allocated."""
    known = {id(value) for value in values}
    several = type(result) is tuple
    results = result if several else (result,)
    if not all(one is None or id(one) in known for one in results):
        return None
    try:
        refs = [_nothing if one is None else weakref.ref(one) for one in results]
    except TypeError:
        return None
    return (lambda: tuple([ref() for ref in refs])) if several else refs[0]


def _nothing() -> None:
    return None


def _frozen(value: Any) -> bool:
    """Tell whether a value is immutable."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen) and not isinstance(value, TensorView)


def _in_host_memory(array: Any) -> bool:
    return isinstance(array, np.ndarray) or getattr(getattr(array, "device", None), "type", None) == "cpu"
