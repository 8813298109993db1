"""The processor that calls to a GPU are made from while they are timed: whichever is fastest at the moment.

Where a core's other thread is busy, with work of another virtual machine for instance, Python takes 1.7 times as long,
and so does what a short call costs the host. That comes and goes within tenths of a second, and differs from processor
to processor.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator

_MOST = 16  # processors that are tried
_ADDITIONS = 2000


def _seconds() -> float:
    """Return what some additions take here and now."""
    best = float("inf")
    for _ in range(2):
        start, total = time.perf_counter(), 0
        for i in range(_ADDITIONS):
            total += i
        best = min(best, time.perf_counter() - start)
    return best


@contextlib.contextmanager
def fastest(wanted: bool = True, seconds: Callable[[], float] = _seconds) -> Iterator[Callable[[], None]]:
    """Give a function that moves the calling thread to the processor that is fastest at the moment.

    At the end the thread may run on all that it could before. Where a thread cannot choose (macOS, Windows), the
    function does nothing.

    Parameters
    ----------
    wanted
        False where it is to do nothing: threads that a CPU's kernels start would stay on one processor.
    seconds
        Tells how long something takes on the processor that calls it.
    """
    if not wanted or not hasattr(os, "sched_setaffinity"):
        yield lambda: None
        return
    allowed = os.sched_getaffinity(0)
    tried = sorted(allowed)[:: -(-len(allowed) // _MOST)]

    def there(processor: int) -> float:
        os.sched_setaffinity(0, {processor})
        return seconds()

    try:
        yield lambda: os.sched_setaffinity(0, {min(tried, key=there)})
    finally:
        os.sched_setaffinity(0, allowed)
