"""Errors: one class per cuDNN status, each saying which call and argument, what was expected and what came.

Code that finds a mistake raises the fact (``BadParam(argument="w", expected=..., got=...)``); the public
function it happened in adds its own name once, through :func:`public`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from .hooks import CALL_HOOKS, watched

_MOST_SHOWN = 200  # characters
_MOST_GOT = 1000  # characters

P = ParamSpec("P")
R = TypeVar("R")


class DnnError(Exception):
    """Base of all portadnn errors.

    Parameters
    ----------
    message
        What happened. May be left out when `expected` or `got` say it.
    argument
        Name of the argument at fault, such as ``"x"`` or ``"w.dims[1]"``.
    expected, got
        What was wanted and what came.
    call
        The public function; added by :func:`public`.

    Attributes
    ----------
    status : int
        cuDNN's status number (guide section 3.2).
    """

    status = 4

    def __init__(
        self,
        message: str = "",
        *,
        argument: str | None = None,
        expected: str | None = None,
        got: Any = None,
        call: str | None = None,
    ) -> None:
        self.message = message
        self.argument = argument
        self.expected = expected
        self.got = got
        self.call = call
        super().__init__(message)

    def __str__(self) -> str:
        text = self.message
        if self.expected is not None:
            text += f"{'; ' if text else ''}expected {self.expected}, got {written(str, self.got)}"
        if self.argument is not None:
            text = f"{self.argument}: {text}"
        if self.call is not None:
            text = f"{self.call}: {text}"
        return text


def shown(value: Any) -> str:
    """Return a value as a message shows it: on one line, not too long; an array by its type, dtype and shape."""
    try:
        shape = getattr(value, "shape", ())
        if shape and isinstance(shape, tuple):
            return f"a {type(value).__module__}.{type(value).__name__} of shape {tuple(shape)}"
    except Exception:  # a user's attributes may raise anything
        return f"a {type(value).__name__}"
    text = " ".join(written(repr, value).split())
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 4]} ..."


def written(form: Callable[[Any], str], value: Any) -> str:
    """Return ``form(value)``, shortened; what that is where long integers, deep lists and users' objects refuse."""
    try:
        text = form(value)
    except Exception:
        return f"a number of {value.bit_length()} bits" if type(value) is int else f"a {type(value).__name__}"
    return text if len(text) <= _MOST_GOT else f"{text[: _MOST_GOT - 4]} ..."


class NotInitialized(DnnError):
    """A handle was used after it was closed, or a backend could not be started."""

    status = 1


class AllocFailed(DnnError, MemoryError):
    """The device had no memory left for a tensor or a workspace."""

    status = 2


class BadParam(DnnError, ValueError):
    """An argument has a wrong value, shape, type or place."""

    status = 3


class InternalError(DnnError):
    """A mistake inside portadnn; please report it with the message."""

    status = 4


class ArchMismatch(DnnError):
    """The device lacks a feature that the call needs, such as float64."""

    status = 6


class ExecutionFailed(DnnError):
    """The device failed while running a kernel."""

    status = 8


class CompileError(ExecutionFailed):
    """A kernel did not compile; carries the source and the compiler's log.

    Attributes
    ----------
    source, log : str
        What was compiled, and what the compiler said.
    """

    def __init__(self, message: str, *, source: str, log: str) -> None:
        super().__init__(f"{message}\n{log}")
        self.source = source
        self.log = log


class NotSupported(DnnError, NotImplementedError):
    """A valid request that this backend, engine or library cannot serve."""

    status = 9


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a public function or method: any :class:`DnnError` that leaves it without a call gets its name.

    A constructor's name is its class's. Python's MemoryError is raised as AllocFailed.
    """
    call = function.__qualname__.removesuffix(".__init__").removesuffix(".__post_init__")
    if call.startswith("_"):  # a method that public classes inherit
        call = function.__name__

    @functools.wraps(function)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if CALL_HOOKS:
                return watched("portadnn", call, function, args, kwargs)  # type: ignore[no-any-return]
            return function(*args, **kwargs)
        except DnnError as error:
            if error.call is None:
                error.call = call
            raise
        except MemoryError as error:
            raise AllocFailed(str(error), call=call) from error

    return named


_LAST = threading.local()


def last_error() -> str:
    """Return the message of the last error that left a foreign library's function in this thread, and forget it."""
    message: str = getattr(_LAST, "message", "")
    _LAST.message = ""
    return message


def foreign(library: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function of another library's interface, such as ``"cudnn"``, as :func:`public` marks ours.

    Errors that leave it get its name in place of that of the public function that it calls.
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        call = function.__name__

        @functools.wraps(function)
        def named(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                if CALL_HOOKS:
                    return watched(library, call, function, args, kwargs)  # type: ignore[no-any-return]
                return function(*args, **kwargs)
            except DnnError as error:
                error.call = call
                _LAST.message = str(error)
                raise
            except MemoryError as error:
                raise AllocFailed(str(error), call=call) from error

        return named

    return mark
