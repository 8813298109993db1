"""Cache of bound calls, keyed by argument identity.

A call is noted the first time, bound to its arguments the second time, and from then on only its launches are made
again. Arrays are held weakly: with them goes what was noted of their calls, so an identity never means another array.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ..descriptors import Parameters
from ..errors import DnnError
from ..hooks import CALL_HOOKS
from .bound_call import PLAIN, Arguments, BoundCall, CallRecorder, result_of

if TYPE_CHECKING:
    from .owner import Owner
    from .plan_cache import CachedPlan

MOST_CALLS = 8192  # that a handle keeps bound, and as many that it noted
_MOST_PATIENCE = 64  # calls between two attempts to bind one whose bindings do not hold
_NEVER = 2**62
_MOST_FIRSTS = 1024

Key = tuple[Hashable, ...]


class CallCache(dict[Key, BoundCall]):
    """Bound calls of one handle, and keys seen once; the oldest are evicted first."""

    def __init__(self) -> None:
        super().__init__()
        self.most = MOST_CALLS
        self._seen: dict[Key, tuple[Any, ...]] = {}  # what was passed once: weak references, and plain values
        self._arguments: dict[Key, Arguments] = {}  # of calls that were to be bound
        self._firsts: dict[Any, Any] = {}  # the first of equal descriptors and numbers

    def make(self, handle: Owner, key: Key, call: Callable[[], Any], values: Sequence[Any]) -> Any:
        """Make a call in full; remember its key the first time, bind it the second time.

        Parameters
        ----------
        key
            The identities of everything that the call's result depends on.
        call
            Makes it.
        values
            The objects behind the key's identities.
        """
        device = handle._device
        if device is None or not device.binds or device.recorder is not None or CALL_HOOKS:
            return call()
        arguments = self._arguments.get(key)
        if arguments is None and not self._again(key, values):
            own, (key, values) = key, self._with_firsts(key, values)
            bound = None if key is own else self.get(key)
            if bound is not None and bound.again():
                return bound.result()
            arguments = self._arguments.get(key)
            if arguments is None and (key is own or not self._again(key, values)):
                return call()
        if arguments is None:
            try:
                arguments = Arguments(values, functools.partial(_drop, weakref.ref(self), key))
            except TypeError:
                return call()
            _make_room(self._arguments, self.most)
            self._arguments[key] = arguments
        if arguments.patience or not arguments.current():
            arguments.patience = max(arguments.patience - 1, 0)
            if not arguments.current():
                self.drop(key)
            return call()
        return self._bind(handle, key, arguments, call, values)

    def _again(self, key: Key, values: Sequence[Any]) -> bool:
        """Tell whether a call with these objects was seen before; remember it if not."""
        seen = self._seen.get(key)
        if seen is not None and all(one() is not None for one in seen if type(one) is weakref.ref):
            self._seen.pop(key, None)  # another thread may have been faster
            return True
        try:
            noted = tuple([value if isinstance(value, PLAIN) else weakref.ref(value) for value in values])
        except TypeError:  # something of which nobody can say when it is gone
            return False
        _make_room(self._seen, self.most)
        self._seen[key] = noted
        return False

    def _with_firsts(self, key: Key, values: Sequence[Any]) -> tuple[Key, Sequence[Any]]:
        """Replace descriptors and numbers in key and values by the first equal ones.

        Zeros count by identity: 0.0 and -0.0 are equal, but not the same argument.
        """
        swaps = {}
        for value in values:
            if (type(value) is float and value) or (isinstance(value, Parameters) and value.by_value):
                first = self._firsts.setdefault(value, value)
                if first is not value:
                    swaps[id(value)] = first
        if len(self._firsts) > _MOST_FIRSTS:
            self._firsts.clear()
        if not swaps:
            return key, values
        words = [id(swaps[word]) if type(word) is int and word in swaps else word for word in key]
        return tuple(words), [swaps.get(id(value), value) for value in values]

    def _bind(
        self, handle: Owner, key: Key, arguments: Arguments, call: Callable[[], Any], values: Sequence[Any]
    ) -> Any:
        """Make a call, and bind its launches."""
        self.pop(key, None)
        with handle.lock:
            device = handle._device
            if device is None or device.recorder is not None:
                return call()
            holds = arguments.guard(device)
            device.recorder = recorder = CallRecorder()
            try:
                result = call()
            finally:
                device.recorder = None
            given = result_of(result, values)
            hidden = recorder.reason or not recorder.relaunches or arguments.reads_host(recorder.tensors)
            if holds is None or given is None or hidden:
                arguments.patience = _NEVER
                return result
            arguments.failures += 1
            arguments.patience = min(2**arguments.failures, _MOST_PATIENCE)
            _make_room(self, self.most)
            self[key] = BoundCall(handle, arguments, holds, recorder, given)
        return result

    def drop_plan(self, plan: CachedPlan) -> None:
        """Drop the calls that run a plan."""
        for key, call in self.copy().items():  # which no array that goes meanwhile can change
            if plan in call.plans:
                self.pop(key, None)

    def drop(self, key: Key) -> None:
        """Drop a call."""
        self.pop(key, None)
        self._arguments.pop(key, None)

    def clear(self) -> None:
        """Drop all calls."""
        super().clear()
        self._seen.clear()
        self._arguments.clear()
        self._firsts.clear()


def _make_room(calls: dict[Key, Any], most: int) -> None:
    while len(calls) >= most:
        try:
            del calls[next(iter(calls))]
        except (KeyError, RuntimeError, StopIteration):  # another thread was faster
            continue


def _drop(cache: weakref.ref[CallCache], key: Key, _: Any) -> None:
    found = cache()
    if found is not None:
        found.drop(key)


def cached_call(
    function: Callable[..., Any],
    make: Callable[..., Any],
    handle_type: type[Any],
    translate: Callable[[DnnError], None] | None = None,
) -> Callable[..., Any]:
    """Return a function that repeats a bound call, or else calls `make`.

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
        count = len(args)  # the most common are written out: that takes half the time
        if count == 4:
            key: Key = (name, id(args[1]), id(args[2]), id(args[3]))
        elif count == 3:
            key = (name, id(args[1]), id(args[2]))
        else:
            key = (name, *map(id, args[1:]))
        if kwargs:
            key = (*key, *kwargs, *map(id, kwargs.values()))
        calls = handle.calls
        bound = calls.get(key)
        if bound is not None:
            try:
                if bound.again():
                    return bound.result()
            except DnnError as error:
                error.call = name
                if translate is not None:
                    translate(error)
                raise
        return calls.make(handle, key, lambda: make(*args, **kwargs), (*args[1:], *kwargs.values()))

    return call
