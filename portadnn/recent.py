"""Calls made again just as before: told by what they were given, without a look at every tensor's layout."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .watching import WATCHERS

if TYPE_CHECKING:
    from portadnn_backends.base import Run

    from .handle import Handle

MOST_MISSES = 16  # of what is kept, until something else takes its place

K = TypeVar("K")
V = TypeVar("V")
Key = tuple[Any, int, int]  # what is computed, or the public function's name, and the ids of two tensors
Again = Callable[["Handle", tuple[Any, ...], Any, Any, tuple[Any, ...], Any], Any]
AgainAsGiven = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class Made(NamedTuple):
    """A run that may be repeated, what it was bound to, the problem's tensors as given, and the handle's key for it."""

    run: Run
    stamp: Any
    tensors: tuple[Any, ...]
    key: Key


@dataclass(slots=True)
class Recent:
    """A call that a handle remembers.

    Attributes
    ----------
    again
        `Again`, or `AgainAsGiven`.
    stamp
        Its run's.
    """

    again: Callable[..., Any]
    stamp: Any


class Remembered(dict[K, V]):
    """What is kept of calls that are made again and again, for it takes as long to make as many calls.

    Programs with new arrays all the time, with more calls in turn than there is room for, or with some that take turns
    under one key make hardly any.

    Attributes
    ----------
    most : int
        How many there is room for.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._once: set[K] = set()
        self._waiting = 0  # how many came when there was no room
        self._missed: dict[K, tuple[Any, int]] = {}  # by key, which other call came, and how often in succession

    def due(self, key: K, stamp: Any = None) -> bool:
        """Tell whether to remember a call that can be repeated, which its stamp tells from others of the same key.

        It came before, and there is room or its turn; if another is kept under the key, only it has come for a while.
        """
        if key in self:
            other, count = self._missed.get(key, (stamp, 0))
            count = count + 1 if other is stamp else 1
            self._missed[key] = stamp, count
            return count >= MOST_MISSES
        if key in self._once:
            self._once.discard(key)
            if len(self) < self.most:
                return True
            self._waiting += 1
            return self._waiting % MOST_MISSES == 0
        if len(self._once) >= 4 * self.most:
            self._once.clear()
        self._once.add(key)
        return False

    def make_room(self) -> V | None:
        """Forget the oldest where there is no more room, and return it."""
        if len(self) < self.most:
            return None
        oldest = next(iter(self))
        self._missed.pop(oldest, None)
        return self.pop(oldest)

    def keep(self, key: K, value: V) -> None:
        """Remember a call, instead of the oldest where there is no more room."""
        if key not in self:
            self.make_room()
        self._missed.pop(key, None)
        self[key] = value


class Same(NamedTuple):
    """What tells whether a sequence holds what it held before: an expression, because every call asks.

    Attributes
    ----------
    test : str
        The expression; it takes anything, and may raise AttributeError for what is no such sequence.
    known : dict of str to object
        The names in it, beside the sequence's, and what they stand for.
    """

    test: str
    known: dict[str, Any]

    def function(self, given: str) -> Callable[[Sequence[Any]], bool]:
        """Return the function of the sequence of that name."""
        return _compiled(f"same = lambda {given}: {self.test}", "same", tuple(self.known))(*self.known.values())  # type: ignore[no-any-return]


def items(sequence: str, count: int) -> list[str]:
    """Return the expressions of a sequence's items."""
    return [f"{sequence}[{i}]" for i in range(count)]


def identical(values: Sequence[Any], places: Sequence[str], name: str) -> Same:
    """Return the test whether these very objects are in these places; no test beside it has such a name."""
    known = {f"{name}_{i}": value for i, value in enumerate(values)}
    tests = (f"{place} is {word}" for place, word in zip(places, known, strict=True))
    return Same(" and ".join(tests) or "True", known)


def each(arrays: Sequence[Any], places: Sequence[str], of: Callable[[Any], tuple[str, Sequence[Any]]]) -> Same:
    """Return the test for these arrays, each by its own; None for None.

    ``of(array)`` returns an expression, in which the array is ``{a}`` where it is first named and ``a`` from then on,
    and what its ``{0}``, ``{1}`` and so on stand for.
    """
    tests: list[str] = []
    known: dict[str, Any] = {}
    for i, (array, place) in enumerate(zip(arrays, places, strict=True)):
        test, values = ("{a} is None", ()) if array is None else of(array)
        names = [f"array_{i}_{k}" for k in range(len(values))]
        tests.append(test.format(*names, a=f"(a := {place})"))
        known.update(zip(names, values, strict=True))
    return Same(" and ".join(tests) or "True", known)


@functools.cache
def _compiled(text: str, name: str, known: tuple[str, ...]) -> Callable[..., Any]:
    """Return what makes, of the values of `known`, what `text` calls `name`."""
    lines = "\n    ".join(text.splitlines())
    scope: dict[str, Any] = {"WATCHERS": WATCHERS}
    exec(f"def make({', '.join(known)}):\n    {lines}\n    return {name}", scope)
    return scope["make"]  # type: ignore[no-any-return]


_AGAIN = """\
def again({arguments}):
    try:
        if not ({test}):
            return None
    except (AttributeError, KeyError):
        return None
    acquire()
    try:
        return {result} if run.stamp is stamp and repeat() else None
    finally:
        release()"""


def _again(handle: Handle, run: Run, stamp: Any, arguments: str, tests: Sequence[Same], result: str) -> Any:
    """Return the function that repeats a run whose stamp is still this one where every test holds, or returns None.

    The stamp, (places, numbers, scratch), stands for the run's bound arguments. No memory is kept alive.
    """
    known = {name: value for test in tests for name, value in test.known.items()} | {
        "run": run,
        "repeat": run.repeat,
        "stamp": stamp,
        "scratch": stamp[2],
        "acquire": handle.lock.acquire,  # half the time of a with statement
        "release": handle.lock.release,
    }
    test = " and ".join(test.test for test in tests)
    text = _AGAIN.format(arguments=arguments, test=test, result=result)
    return _compiled(text, "again", tuple(known))(*known.values())


def remember(
    handle: Handle,
    run: Run,
    tensors: tuple[Any, ...],
    params: Any,
    algo: Any,
    scalars: tuple[Any, ...],
    inputs: int,
) -> Again:
    """Return ``again(handle, tensors, params, algo, scalars, workspace)``, which repeats a run if it is its last call.

    Its result is the call's, or None if it is another one. The first `inputs` tensors are no outputs. Tensors are known
    again by the device, everything else by identity (equal numbers may differ: 0.0 and -0.0, 1.0 and True).
    """
    tests = (
        Same("algo is known_algo and not WATCHERS", {"known_algo": algo}),
        Same(
            "(handle.scratches if workspace is None else place(workspace)) == scratch",
            {"place": handle.device.workspace_place},
        ),
        Same("(params is known_params or params == known_params)", {"known_params": params}),
        identical(scalars, items("numbers", len(scalars)), "number"),
        handle.device.same(tensors, items("tensors", len(tensors))),
    )
    result = "tensors[-1]" if len(tensors) == inputs + 1 else f"tensors[{inputs}:]"
    arguments = "handle, tensors, params, algo, numbers, workspace"
    return _again(handle, run, run.stamp, arguments, tests, result)  # type: ignore[no-any-return]


def remember_as_given(made: Made, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> AgainAsGiven | None:
    """Return ``again(args, kwargs)``, which repeats a run if a public function gets what it got in its last call.

    What else the function does must depend on nothing but its arguments. None where not all tensors, and all of its
    result, were given, the last argument without a name is no tensor, or others may change.

    Parameters
    ----------
    made
        The only run that the function made.
    args, kwargs, result
        The function's; the first is the handle.
    """
    handle: Handle = args[0]
    places = {f"args[{i}]": value for i, value in enumerate(args) if i} | {
        f"kwargs[{name!r}]": value for name, value in kwargs.items()
    }
    of_run = {id(one) for one in made.tensors if one is not None}
    arrays = {place: value for place, value in places.items() if id(value) in of_run}
    values = {place: value for place, value in places.items() if place not in arrays}
    given = {id(value): place for place, value in arrays.items()}
    results = result if type(result) is tuple else (result,)
    if id(args[-1]) not in given or not all(one is None or id(one) in given for one in (*made.tensors, *results)):
        return None
    if result is None or not all(map(_stays, values.values())):
        return None
    tests = (
        Same(f"len(args) == {len(args)} and " + (f"len(kwargs) == {len(kwargs)}" if kwargs else "not kwargs"), {}),
        Same("not WATCHERS and args[0].scratches == scratch", {}),
        identical(list(values.values()), list(values), "value"),
        handle.device.same(list(arrays.values()), list(arrays)),
    )
    words = ["None" if one is None else given[id(one)] for one in results]
    text = f"({', '.join(words)},)" if type(result) is tuple else words[0]
    return _again(handle, made.run, made.stamp, "args, kwargs", tests, text)  # type: ignore[no-any-return]


def _stays(value: Any) -> bool:
    """Tell whether a value that is not a tensor is the same for as long as it is the same object."""
    if value is None or isinstance(value, (bool, int, float, str, Enum)):
        return True
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and parameters.frozen
