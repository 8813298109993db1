"""Threads that compile kernels side by side: compilers release Python's lock, and take a core each."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_POOLS: dict[int, ThreadPoolExecutor] = {}  # by process: threads do not survive a fork


def submit(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Have a thread call a function that compiles."""
    process = os.getpid()
    pool = _POOLS.get(process)
    if pool is None:
        pool = _POOLS[process] = ThreadPoolExecutor(cores(), "portadnn-build")
    return pool.submit(function, *args, **kwargs)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
