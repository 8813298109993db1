"""Kernels in PyTorch's dispatcher that see calls of operators while a thread is watched.

They are registered once, under two dispatch keys that calls have only in threads that are watched: other operators,
other threads and all calls afterwards cost what they did. Autograd hands the keys on to the threads of its backward
passes. Modes of Python would see every operator instead, and let PyTorch compute otherwise: it adds up gradients out of
place while one is active.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..keys import ABOVE, BELOW, KEYS, NAMES
from .names import Where, where

_core: Any = torch._C
_WATCHES = "portadnn.watches"  # a thread's, which autograd hands on as well
_include = _core._dispatch_tls_set_dispatch_key_included
_included = _core._dispatch_tls_is_dispatch_key_included
_watches = _core._get_obj_in_tls
_clock = time.perf_counter
_LIBRARIES: list[Any] = []  # kernels last as long as these
_OPERATORS: set[str] = set()  # with kernels below autograd


class Span(NamedTuple):
    """When a call began, its seconds, and the first of the autograd nodes that it made and the one behind its last."""

    start: float
    seconds: float
    first: int
    last: int


class Unwatched:
    """A context in which nobody sees what this thread computes."""

    def __enter__(self) -> None:
        self._were = [_included(key) for key in KEYS]
        for key in KEYS:
            _include(key, False)

    def __exit__(self, *error: object) -> None:
        for key, was in zip(KEYS, self._were, strict=True):
            _include(key, was)


def _forked() -> None:
    """See nothing of a new process, which has no thread that writes."""
    for key in KEYS:
        _include(key, False)


def watch(one: Any) -> None:
    """Let a watch see this thread's calls: its `saw` gets those of operators, its `saw_whole` those of functions."""
    given = _watches(_WATCHES) if _core._is_key_in_tls(_WATCHES) else ()
    _stash((*given, one))
    for key in KEYS:
        _include(key, True)


def leave(one: Any) -> None:
    """Let a watch see no more."""
    rest = tuple(other for other in _watches(_WATCHES) if other is not one)
    _stash(rest)
    for key in KEYS:
        _include(key, bool(rest))


def _stash(watches: tuple[Any, ...]) -> None:
    """Keep a thread's watches where autograd hands them on: older versions of PyTorch take a reference of ours."""
    before = sys.getrefcount(watches)
    _core._stash_obj_in_tls(_WATCHES, watches)
    if sys.getrefcount(watches) == before:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(watches))


def install(operators: Callable[[str], bool], functions: Iterable[str]) -> None:
    """Register the kernels: of the operators of aten whose names `operators` takes, and of some functions."""
    if _LIBRARIES:
        return
    other, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    for name in NAMES:
        other.m.fallback_fallthrough(name)  # others than these pass them by
    for name in _core._dispatch_get_all_op_names():
        space, _, full = name.partition("::")
        if space == "aten" and operators(full):
            _OPERATORS.add(full)
            aten.impl(full, _kernel(full), NAMES[0], with_keyset=True)
    for full in functions:
        aten.impl(full, _function(full), NAMES[1], with_keyset=True)
    _LIBRARIES.extend((other, aten))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)


@functools.cache
def overload(full: str) -> Any:
    """Return the operator of aten that has a name, as ``"convolution"`` or ``"lstm.input"``."""
    name, _, variant = full.partition(".")
    return getattr(getattr(torch.ops.aten, name), variant or "default")


def _kernel(full: str) -> Callable[..., Any]:
    """Return the kernel of an operator. Between two large ones nothing of it is in caches: each function counts."""
    behind = _core._dispatch_keyset_full_after(BELOW)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        func = overload(full)
        return _see(func, func.redispatch, (keys & behind,), args, kwargs)

    return kernel


def _see(func: Any, call: Callable[..., Any], before: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
    """Call an operator, some arguments before its own, and tell those who watch; its parts are not seen."""
    _include(BELOW, False)
    try:
        start = _clock()
        out = call(*before, *args, **kwargs)
        seconds = _clock() - start
        place = where()
        for one in _watches(_WATCHES):
            one.saw(func, args, kwargs, out, place, start, seconds)
        return out
    finally:
        _include(BELOW, True)


class Above(TorchDispatchMode):
    """Sees operators as the program's modes that were entered before leave them; kernels are below all modes."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not _included(BELOW) or func.name().removeprefix("aten::") not in _OPERATORS:
            return func(*args, **(kwargs or {}))
        return _see(func, func, (), args, kwargs or {})


def _function(full: str) -> Callable[..., Any]:
    """Return the kernel of a function, whose parts nobody sees."""
    behind = _core._dispatch_keyset_full_after(ABOVE)
    number = torch.autograd._get_sequence_nr

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        with Unwatched():
            func, first, start = overload(full), number(), _clock()
            out = func.redispatch(keys & behind, *args, **kwargs)
            span = Span(start, _clock() - start, first, number())
            place: Where = where()
            for one in _watches(_WATCHES):
                one.saw_whole(func, args, kwargs, out, place, span)
            return out

    return kernel
