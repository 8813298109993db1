"""Running a program on several targets, one after another."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ...cli.record import command_of
from ..targets import SCHEDULE, Target
from .compare import ProgramReport, ProgramRun, compare, read_run
from .tap import CHECKS, FOLDER


def run(
    words: Sequence[str],
    targets: Sequence[Target],
    *,
    checks: int = 4,
    timeout: float | None = None,
    told: Callable[[str], None] = lambda text: None,
) -> ProgramReport:
    """Run a program on each target and compare its calls.

    The program chooses its device by ``Handle()``: ``PORTADNN_BACKEND`` and ``PORTADNN_DEVICE`` name the target.

    Parameters
    ----------
    words
        The program and its arguments; Python files, ``-m module`` and ``-c code`` are run by this Python.
    targets
        Where.
    checks
        How many calls of each problem are compared with the exact result.
    timeout
        Seconds for each target.
    told
        Is told which target comes next.

    Raises
    ------
    OSError
        There is no such program.
    """
    found = []
    for target in targets:
        told(str(target))
        with tempfile.TemporaryDirectory(prefix="portadnn-diff-") as name:
            found.append(_run(list(words), target, Path(name), checks, timeout))
    return compare(found)


def _run(words: list[str], target: Target, folder: Path, checks: int, timeout: float | None) -> ProgramRun:
    environment = {
        **os.environ,
        "PORTADNN_BACKEND": target.backend,
        "PORTADNN_DEVICE": str(target.device),
        FOLDER: str(folder),
        CHECKS: str(checks),
    }
    environment.pop(SCHEDULE, None)
    if target.schedule:
        environment[SCHEDULE] = target.schedule
    try:
        done = subprocess.run(command_of(words), env=environment, timeout=timeout, check=False)
        ended = "" if done.returncode == 0 else f"exit status {done.returncode}"
    except subprocess.TimeoutExpired:
        ended = f"more than {timeout:g} s"
    return read_run(str(target), folder, ended)
