"""Calls that are repeated with the same arguments: looked up by identity, guarded, and launched again.

A call is noted the first time, bound to its arguments the second time, and from then on only its launches are made
again. Arrays are held weakly: with them goes what was noted of their calls, so an identity never means another array.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ..descriptors import TensorView
from ..errors import DnnError
from ..watching import WATCHERS

if TYPE_CHECKING:
    from portadnn_backends.base import Device, LaunchRun

    from ..handle import Handle
    from .plan_cache import CachedPlan
    from .scratch import Lease

MOST_CALLS = 8192  # that a handle keeps bound, and as many that it noted
_MOST_PATIENCE = 64  # calls between two attempts to bind one whose bindings do not hold

Key = tuple[Hashable, ...]
_PLAIN = (bool, int, float, str, bytes, type(None), Enum, np.generic)


class Versioned:
    """Base of objects that can be set; every change gives another version.

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
    """Base of objects that stand for something in a call's key, and are no arrays."""


class BoundCall:
    """A call bound to its arguments: all its launches, ready to be made again.

    Attributes
    ----------
    plans : list of CachedPlan
        What it runs, for the plan cache.
    """

    __slots__ = ("_acquire", "_alive", "_device", "_holds", "_lease", "_relaunch", "_release", "plans", "result")

    def __init__(self, handle: Handle, noted: Noted, holds: Callable[[], bool], recorder: CallRecorder) -> None:
        self._acquire, self._release = handle.lock.acquire, handle.lock.release  # half the time of a with statement
        self._holds = holds
        self._device = handle.device
        self._lease: Lease = recorder.lease or handle.scratches.base
        self._alive = (noted, recorder.kept)
        self._relaunch = _in_order(recorder.relaunches)
        self.plans = recorder.plans
        self.result = noted.result

    def __call__(self) -> bool:
        """Launch again; False, with nothing launched, where something is not as it was."""
        if WATCHERS:
            return False
        try:
            if not self._holds():
                return False
        except (AttributeError, RuntimeError):  # an array without memory any more
            return False
        self._acquire()
        try:
            if self._device.recorder is not None or not (self._lease.valid and self._relaunch()):
                return False
            for plan in self.plans:
                plan.used = True
            return True
        finally:
            self._release()


def _in_order(relaunches: Sequence[Callable[[], bool]]) -> Callable[[], bool]:
    """Return a function that makes all launches; only the first may find that nothing holds any longer."""
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


class Noted:
    """What is known of a call that may come again.

    Attributes
    ----------
    refs : list of weakref.ref
        The objects that come and go.
    arrays : list of weakref.ref
        Those that are arrays.
    strong : list
        All else that was passed, kept so that an identity stays the same value.
    versions : list of (weakref.ref, int)
        Objects that can be set, and their versions.
    result : callable
        Returns the call's result.
    patience : int
        Calls to wait before it is bound again.
    """

    __slots__ = ("arrays", "failures", "patience", "refs", "result", "strong", "versions")

    def __init__(self, result: Callable[[], Any]) -> None:
        self.refs: list[weakref.ref[Any]] = []
        self.arrays: list[weakref.ref[Any]] = []
        self.strong: list[Any] = []
        self.versions: list[tuple[weakref.ref[Any], int]] = []
        self.result = result
        self.patience = self.failures = 0

    def current(self) -> bool:
        """Tell whether all of its objects are alive and, where they can be set, as they were."""
        return all(ref() is not None for ref in self.refs) and self._same_versions()

    def _same_versions(self) -> bool:
        return all(getattr(ref(), "version", None) == version for ref, version in self.versions)

    def guard(self, device: Device) -> Callable[[], bool] | None:
        """Return the function that tells whether a bound call still holds; None where the device cannot."""
        holds = device.guard(self.arrays)
        if holds is None or not self.versions:
            return holds
        arrays, same_versions = holds, self._same_versions
        return lambda: arrays() and same_versions()

    def reads_host(self, tensors: set[int]) -> bool:
        """Tell whether an array in host memory was passed that is none of these tensors: its contents may count."""
        return any(_in_host_memory(array) and id(array) not in tensors for array in (ref() for ref in self.arrays))


class CallRecorder:
    """Binds the launches of one call as they are made; see :class:`~portadnn_backends.base.Recorder`.

    Attributes
    ----------
    tensors : set of int
        The identities of the operands that it was given.
    reason : str
        Why the call cannot be bound; "" where it can.
    """

    def __init__(self) -> None:
        self.tensors: set[int] = set()
        self.relaunches: list[Callable[[], bool]] = []
        self.kept: list[Any] = []
        self.plans: list[CachedPlan] = []
        self.lease: Lease | None = None
        self.reason = ""

    def launch(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        """Launch with arguments of the call's own."""
        if not run.launches:
            return
        own = run.device.bind(run.launches)
        own.call(arrays, scalars, workspace)
        self.relaunches.append(own.relaunch)

    def opaque(self, run: Callable[..., None], *args: Any) -> None:
        """Run what does more than to launch: it cannot be bound."""
        self.reason = "it computes outside of kernels"
        run(*args)

    def allocated(self, memory: Any) -> None:
        """Keep memory that was handed out meanwhile."""
        self.kept.append(memory)

    def host_access(self, what: str) -> None:
        """Note what cannot be repeated by launches."""
        self.reason = what

    def scratch(self, handle: Handle, nbytes: int) -> Any:
        """Return the handle's scratch memory, and note that the call uses it."""
        self.lease = handle.scratches.get(handle.device, nbytes)
        return self.lease.memory

    def planned(self, cached: CachedPlan) -> None:
        """Note a plan that the call uses."""
        self.plans.append(cached)

    def operands(self, tensors: Sequence[Any]) -> None:
        """Note tensors and workspaces as they were passed."""
        self.tensors.update(map(id, tensors))


class CallCache(dict[Key, BoundCall]):
    """The bound calls of one handle, and those that were noted. The oldest go first."""

    def __init__(self) -> None:
        super().__init__()
        self.most = MOST_CALLS
        self._noted: dict[Key, Noted] = {}

    def make(self, handle: Handle, key: Key, call: Callable[[], Any], values: Callable[[], Sequence[Any]]) -> Any:
        """Make a call that is not bound; note it the first time, and bind it when it comes again.

        Parameters
        ----------
        key
            The identities of everything that the call's result depends on.
        call
            Makes it.
        values
            Returns the objects behind the key's identities.
        """
        device = handle._device
        if device is None or not device.binds or device.recorder is not None or WATCHERS:
            return call()
        noted = self._noted.get(key)
        if noted is not None and noted.current():
            if noted.patience == 0:
                return self._bind(handle, key, noted, call)
            noted.patience -= 1
            return call()
        result = call()
        self._note(key, values(), result)
        return result

    def _note(self, key: Key, values: Sequence[Any], result: Any) -> None:
        """Note a call, if it may be bound when it comes again."""
        given = _result_of(result, values)
        if given is None:
            return
        noted = Noted(given)
        drop = functools.partial(_drop, weakref.ref(self), key)
        for value in values:
            if isinstance(value, _PLAIN):
                noted.strong.append(value)
                continue
            try:
                ref = weakref.ref(value, drop)
            except TypeError:  # of which nobody can say when it is gone
                if not _frozen(value):
                    return
                noted.strong.append(value)
                continue
            noted.refs.append(ref)
            if isinstance(value, Versioned):
                noted.versions.append((ref, value.version))
            elif not _frozen(value) and not isinstance(value, Marker):
                noted.arrays.append(ref)
        _make_room(self._noted, self.most)
        self._noted[key] = noted

    def _bind(self, handle: Handle, key: Key, noted: Noted, call: Callable[[], Any]) -> Any:
        """Make a call and bind its launches."""
        self.pop(key, None)
        with handle.lock:
            device = handle._device
            if device is None or device.recorder is not None:
                return call()
            holds = noted.guard(device)
            device.recorder = recorder = CallRecorder()
            try:
                result = call()
            finally:
                device.recorder = None
            noted.failures += 1
            noted.patience = min(2**noted.failures, _MOST_PATIENCE)
            if holds is None or recorder.reason or not recorder.relaunches or noted.reads_host(recorder.tensors):
                noted.patience = 2**62  # never
                return result
            _make_room(self, self.most)
            self[key] = BoundCall(handle, noted, holds, recorder)
        return result

    def drop_plan(self, plan: CachedPlan) -> None:
        """Forget the calls that run a plan."""
        for key, call in list(self.items()):
            if plan in call.plans:
                self.pop(key, None)

    def drop(self, key: Key) -> None:
        """Forget a call."""
        self.pop(key, None)
        self._noted.pop(key, None)

    def clear(self) -> None:
        """Forget all calls."""
        super().clear()
        self._noted.clear()


def _make_room(calls: dict[Key, Any], most: int) -> None:
    while len(calls) >= most:
        try:
            del calls[next(iter(calls))]
        except (KeyError, RuntimeError, StopIteration):  # another thread was faster
            continue


def _drop(cache: weakref.ref[CallCache], key: Key, _: Any = None) -> None:
    found = cache()
    if found is not None:
        found.drop(key)


def _frozen(value: Any) -> bool:
    """Tell whether a value stays the same for as long as it is the same object."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen) and not isinstance(value, TensorView)


def _in_host_memory(array: Any) -> bool:
    return isinstance(array, np.ndarray) or getattr(getattr(array, "device", None), "type", None) == "cpu"


def _result_of(result: Any, values: Sequence[Any]) -> Callable[[], Any] | None:
    """Return what gives a call's result again: what was passed, or None; None for a result that was made for it."""
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


def key_of(name: Hashable, args: Sequence[Any], kwargs: dict[str, Any]) -> Key:
    """Return a call's key: identities, and the values of numbers that are named, which are seldom the same object.

    Zeros count by identity: 0.0 and -0.0 are equal, but not the same argument.
    """
    words = [(value,) if type(value) is float and value else id(value) for value in kwargs.values()]
    return (name, *map(id, args), *kwargs, *words)


def cached_call(
    function: Callable[..., Any],
    make: Callable[..., Any],
    handle_type: type[Handle],
    translate: Callable[[DnnError], None] | None = None,
) -> Callable[..., Any]:
    """Return a function that repeats what is bound, and else calls `make`.

    Its first argument is the handle. What else it does must depend on nothing but its arguments.

    Parameters
    ----------
    function
        Whose name the calls have.
    make
        Does the work.
    translate
        Makes an error of a repeated call what `make` would raise, beside its name.
    """
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not args or type(handle := args[0]) is not handle_type:
            return make(*args, **kwargs)
        key = key_of(name, args, kwargs) if kwargs else (name, *map(id, args))
        calls = handle.calls
        bound = calls.get(key)
        if bound is not None:
            try:
                if bound():
                    return bound.result()
            except DnnError as error:
                error.call = name
                if translate is not None:
                    translate(error)
                raise
        return calls.make(handle, key, lambda: make(*args, **kwargs), lambda: (*args[1:], *kwargs.values()))

    return call
