"""Hooks of public calls, for the recorder and for profiles of foreign libraries.

Without hooks a call pays for one check of an empty list.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, TypeAlias

Problem: TypeAlias = Any  # portadnn.problem.Problem: problems stand above errors, and those above this module

OURS = str(Path(__file__).parent)
_PROGRAMS = tuple(str(Path(OURS, name)) for name in ("benchmarks", "examples"))  # callers like any other


class CallHook(Protocol):
    """Object that sees every public call.

    Calls that are made inside of others are told too: see :attr:`Call.parent`. They need not be, and then cost less, if
    all watchers have an attribute `nested` that is False. What `before` raises is raised to the caller instead of the
    call. What watchers call themselves is not told.
    """

    def before(self, call: Call) -> None:
        """Look at a call that is about to be made."""

    def after(self, call: Call) -> None:
        """Look at a call that returned or raised; the caller gets the call's `result`, which may be replaced here.

        A watcher may also have a method ``computing(call, problem, scalars, addresses)``: see :func:`computing`.
        """


class Call:
    """A public call in progress, or done.

    Attributes
    ----------
    library : str
        ``"portadnn"``, ``"cudnn"`` or ``"miopen"``: whose name the caller used.
    function : str
        The name, as ``"convolution_forward"``, ``"ConvolutionDescriptor.set_2d"`` or ``"cudnnConvolutionForward"``.
    parent : Call or None
        The public call that made this one.
    problem : Problem or None
        What was computed, once it is known, where the call computes. A call with several has its last one.
    scalars : tuple of float
        The run-time numbers that the problem was computed with.
    addresses : sequence of int
        Where the problem's tensors lie, in its order, as the device counts (``Device.address``).
    earlier : tuple of (Problem, tuple of float, sequence of int)
        Of a call that computed several problems those before the last: problem, scalars and addresses.
    result : object
        What it returned.
    error : BaseException or None
        What it raised.
    start, seconds : float
        Host time: when it began (``time.perf_counter``), and how long it took.
    """

    problem: Problem | None = None  # these belong to the class, because setting a dozen attributes takes its time
    scalars: tuple[float, ...] = ()
    addresses: Sequence[int] = ()
    earlier: tuple[tuple[Problem, tuple[float, ...], Sequence[int]], ...] = ()
    result: Any = None
    error: BaseException | None = None
    start: float = 0.0
    seconds: float = 0.0

    def __init__(
        self, library: str, function: str, target: Callable[..., Any], args: Any, kwargs: Any, parent: Call | None
    ) -> None:
        self.library = library
        self.function = function
        self.target = target
        self.args = args
        self.kwargs = kwargs
        self.parent = parent

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments by name, without the defaults; those of a wrong call by position, as ``"0"``."""
        try:
            return _signature(self.target).bind(*self.args, **self.kwargs).arguments
        except TypeError:
            return {**{str(i): value for i, value in enumerate(self.args)}, **self.kwargs}

    @property
    def site(self) -> tuple[str, int]:
        """The file and the line, outside of portadnn, that the call under way came from."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code is not watched.__code__:  # the watcher's own frames
            frame = frame.f_back
        frame = outside(frame)
        return frame.f_code.co_filename, frame.f_lineno


def outside(frame: FrameType) -> FrameType:
    """Return the first frame, from this one outwards, that is not portadnn's: the caller's."""
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        module = frame.f_globals.get("__name__", "")
        if name.startswith(OURS):
            if name.startswith(_PROGRAMS):
                break
        elif not module.startswith("portadnn_backends.") and (name != "<string>" or not module.startswith("portadnn.")):
            break  # dataclasses make their constructors from a string
        frame = frame.f_back
    return frame


@functools.lru_cache(1024)
def _signature(target: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(target)


CALL_HOOKS: list[CallHook] = []  # told in this order before a call, in the opposite one after it


class _State(threading.local):
    call: Call | None = None
    quiet = False


_STATE = _State()


def watched(library: str, function: str, target: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Make a call and tell the watchers."""
    state = _STATE
    if state.quiet:
        return target(*args, **kwargs)
    watchers = tuple(CALL_HOOKS)
    told = 0
    parent = state.call
    if parent is not None:
        for watcher in watchers:
            if getattr(watcher, "nested", True):
                break
        else:
            return target(*args, **kwargs)
    call = Call(library, function, target, args, kwargs, parent)
    try:
        state.quiet = True
        try:
            for watcher in watchers:
                watcher.before(call)
                told += 1
        finally:
            state.quiet = False
        state.call = call
        call.start = time.perf_counter()
        call.result = target(*args, **kwargs)
    except BaseException as error:
        call.error = error
        raise
    finally:
        if call.start:
            call.seconds = time.perf_counter() - call.start
        state.call = parent
        state.quiet = True
        try:
            while told:
                told -= 1
                watchers[told].after(call)
        finally:
            state.quiet = False
    return call.result


def computed(problem: Problem, scalars: tuple[float, ...], addresses: Sequence[int] = ()) -> None:
    """Note what the call under way computes, in it and in the calls that made it."""
    call = _STATE.call
    while call is not None:
        if call.problem is not None and not (call.problem is problem and call.addresses == addresses):  # not told twice
            call.earlier += ((call.problem, call.scalars, call.addresses),)
        call.problem, call.scalars, call.addresses = problem, scalars, addresses
        call = call.parent


def computing(problem: Problem, scalars: Sequence[float] = (), addresses: Sequence[int] = ()) -> None:
    """Tell those watchers who want to know what the call under way is about to compute, before anything runs.

    Calls that only ask about a problem (Find, Get, workspace sizes) tell too, without `scalars`; those that are given
    no memory without `addresses`, which are where the tensors begin, in the problem's order. What a watcher raises is
    raised to the caller instead of the call.
    """
    state = _STATE
    call = state.call
    if call is None or state.quiet:
        return
    for watcher in tuple(CALL_HOOKS):
        hear = getattr(watcher, "computing", None)
        if hear is not None:
            state.quiet = True
            try:
                hear(call, problem, scalars, addresses)
            finally:
                state.quiet = False
