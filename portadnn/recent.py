"""Calls made again just as before: told by what they were given, without a look at every tensor's layout."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .watching import WATCHERS

if TYPE_CHECKING:
    from portadnn_backends.base import Run

    from .handle import Handle

MOST_RECENT = 1024  # calls that a handle remembers

Again = Callable[["Handle", tuple[Any, ...], Any, Any, tuple[Any, ...], Any], Any]


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


def identical(values: Sequence[Any], given: str) -> Same:
    """Return the test for these very objects; no test of others is to have the same name for its sequence."""
    known = {f"{given}_{i}": value for i, value in enumerate(values)}
    return Same(" and ".join(f"{given}[{i}] is {name}" for i, name in enumerate(known)) or "True", known)


def each(arrays: Sequence[Any], given: str, of: Callable[[Any], tuple[str, Sequence[Any]]]) -> Same:
    """Return the test for these arrays, each by its own; None for None.

    ``of(array)`` returns an expression, in which the array is ``{a}`` where it is first named and ``a`` from then on,
    and what its ``{0}``, ``{1}`` and so on stand for.
    """
    tests: list[str] = []
    known: dict[str, Any] = {}
    for i, array in enumerate(arrays):
        test, values = ("{a} is None", ()) if array is None else of(array)
        names = [f"{given}_{i}_{k}" for k in range(len(values))]
        tests.append(test.format(*names, a=f"(a := {given}[{i}])"))
        known.update(zip(names, values, strict=True))
    return Same(" and ".join(tests), known)


@functools.cache
def _compiled(text: str, name: str, known: tuple[str, ...]) -> Callable[..., Any]:
    """Return what makes, of the values of `known`, what `text` calls `name`."""
    lines = "\n    ".join(text.splitlines())
    scope: dict[str, Any] = {"WATCHERS": WATCHERS}
    exec(f"def make({', '.join(known)}):\n    {lines}\n    return {name}", scope)
    return scope["make"]  # type: ignore[no-any-return]


_AGAIN = """\
def again(handle, tensors, params, algo, numbers, workspace):
    try:
        if not (
            algo is known_algo
            and not WATCHERS
            and (handle.scratches if workspace is None else place(workspace)) == scratch
            and (params is known_params or params == known_params)
            and {numbers}
            and {tensors}
        ):
            return None
    except AttributeError:
        return None
    acquire()
    try:
        return {result} if run.stamp is stamp and repeat() else None
    finally:
        release()"""


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
    again by the device, everything else by identity (equal numbers may differ: 0.0 and -0.0, 1.0 and True), and no
    memory is kept alive. The run's stamp, (places, numbers, scratch), stands for its bound arguments.
    """
    device, stamp = handle.device, run.stamp
    same_tensors, same_numbers = device.same(tensors, "tensors"), identical(scalars, "numbers")
    result = "tensors[-1]" if len(tensors) == inputs + 1 else f"tensors[{inputs}:]"
    known = {
        **same_tensors.known,
        **same_numbers.known,
        "run": run,
        "repeat": run.repeat,
        "stamp": stamp,
        "scratch": stamp[2],
        "place": device.workspace_place,
        "acquire": handle.lock.acquire,  # half the time of a with statement
        "release": handle.lock.release,
        "known_params": params,
        "known_algo": algo,
    }
    text = _AGAIN.format(numbers=same_numbers.test, tensors=same_tensors.test, result=result)
    return _compiled(text, "again", tuple(known))(*known.values())  # type: ignore[no-any-return]
