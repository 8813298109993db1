"""Fewer searches for garbage in commands that fill the memory with syntax trees."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (50_000, 20, 10)  # objects more than were freed, and how often until older ones are looked at, too


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Let the collector look at young objects seldom, and at all of them hardly ever.

    A program's trees stay until the command ends: to look through all of them again and again, as Python does by
    default while they grow, takes a quarter of the time and frees nothing. Processes that are forked inherit this. Nor
    does the interpreter go through them when it ends, a second before the memory is given back as a whole.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        atexit.unregister(gc.freeze)
        atexit.register(gc.freeze)
