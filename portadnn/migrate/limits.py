"""How much of the processor's time and of memory a check may take: less than 2 GB, whatever it reads."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

SECONDS = 30.0  # of processor time for one source
# Bytes that a process may take more than it had before:
MEMORY = 600 << 20  # for one source
NONE = -1  # for one that is not to be parsed
LEAST = 150 << 20  # for one of the sources that several processes read: more than real ones take
HARD = 2  # times as many, and the process that reads it ends: the parser cannot always be stopped
KEPT = 600 << 20  # for all sources together, after they were read
FOLLOWING = 400 << 20  # to follow the program
_STATM = Path("/proc/self/statm")  # of Linux
_SELDOM = 64  # times that the time is looked at before the memory is: that takes a call of the system

try:
    _PAGE = os.sysconf("SC_PAGE_SIZE")
except (AttributeError, ValueError):
    _PAGE = 4096


class Exhausted(Exception):
    """Something takes more time or memory than it may; the message says which."""


def resident() -> int:
    """Return the bytes of memory that this process holds; 0 where the system does not say."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def end_beyond(memory: int) -> None:
    """Have this process fail or end where it takes more bytes than it has now; not on systems that cannot."""
    try:
        import resource

        most = int(_STATM.read_bytes().split()[0]) * _PAGE + memory
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError, IndexError):
        pass


class Limits:
    """What may be taken from now on, of the thread's time and of the process's memory.

    Parameters
    ----------
    seconds : float
        Of the processor.
    memory : int
        Bytes.
    """

    def __init__(self, seconds: float = math.inf, memory: int = MEMORY) -> None:
        self._deadline = time.thread_time() + seconds
        self._most = resident() + memory
        self._asked = 0

    def exceeded(self, *, memory: bool = True) -> str:
        """Return what there is too little of, "time", "memory" or ""; whether to ask for memory, too."""
        if time.thread_time() > self._deadline:
            return "time"
        return "memory" if memory and resident() > self._most else ""

    def check(self, *, memory: bool = False) -> None:
        """Stop where more is taken than may be; memory is looked at now and then, or always.

        Raises
        ------
        Exhausted
        """
        self._asked += 1
        if exceeded := self.exceeded(memory=memory or self._asked % _SELDOM == 0):
            raise Exhausted(exceeded)
