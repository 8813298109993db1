"""Processes that compile for a handle whose device compiles one kernel at a time: PoCL's.

They share the kernel cache. Problems are dealt out by the texts of their kernels, so that no text is compiled twice.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dispatch.choice import choose
from ..handle import Handle
from ..problem import Problem

if TYPE_CHECKING:
    from ..enums import DnnEnum

_HELPER = "PORTADNN_PREPARES_FOR"  # set in a helper: it starts none itself
_LEAST = 6  # texts for each process: starting one takes as long as compiling three
_SECONDS = 600.0  # that a helper may take
_CODE = "from portadnn.ahead import help_out; help_out()"


def dealt(handle: Handle, wanted: Sequence[tuple[Problem, DnnEnum | None]]) -> tuple[list[list[str]], set[Problem]]:
    """Return problem lines for helpers, fewer than there are cores, and the problems that have to wait for them.

    Both are empty where helpers would not pay.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if _HELPER in os.environ or not sys.executable or cores < 2:
        return [], set()
    texts: dict[Problem, frozenset[bytes]] = {}
    for problem, algo in wanted:
        with contextlib.suppress(Exception):  # what is wrong is said when the plan is made
            texts[problem] = handle.device.texts(functools.partial(_prepares, handle, problem, algo))
    every = frozenset[bytes]().union(*texts.values())
    processes = min(cores, len(every) // _LEAST)
    if processes < 2:
        return [], set()
    shares: list[list[str]] = [[] for _ in range(processes)]  # the first one's are made here
    loads, makers = [0] * processes, dict[bytes, int]()
    for problem, needed in texts.items():
        new = [text for text in needed if text not in makers]
        if new:
            least = loads.index(min(loads))
            loads[least] += len(new)
            shares[least].append(str(problem))
            makers.update(dict.fromkeys(new, least))
    return shares[1:], {problem for problem, needed in texts.items() if any(makers[text] for text in needed)}


def _prepares(handle: Handle, problem: Problem, algo: DnnEnum | None, device: Any) -> None:
    choose(handle, problem, algo).prepare(problem, device)


def started(handle: Handle, shares: Sequence[Sequence[str]]) -> list[subprocess.Popen[str]]:
    """Start a helper for each share."""
    found = []
    for lines in shares:
        with contextlib.suppress(OSError):
            process = subprocess.Popen(
                [sys.executable, "-c", _CODE],
                env={**os.environ, _HELPER: str(os.getpid())},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps({"backend": handle.backend, "device": handle.index, "lines": list(lines)}))
            process.stdin.close()
            found.append(process)
    return found


def wait(helpers: Sequence[subprocess.Popen[str]]) -> None:
    """Wait for helpers; what one of them did not compile is compiled here."""
    for process in helpers:
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
