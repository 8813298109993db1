"""``portadnn record``: run a program with ``PORTADNN_TRACE`` set."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

DEFAULT = Path("portadnn-trace.jsonl")


def command_of(words: Sequence[str]) -> list[str]:
    """Return the program to run: Python files, ``-m module`` and ``-c code`` by this Python, others as they are."""
    if words[0] in ("-m", "-c") or words[0].endswith(".py"):
        return [sys.executable, *words]
    return list(words)


def record(words: Sequence[str], output: Path, nested: bool) -> None:
    """Become the program: its exit status, its signals and its terminal are its own.

    Raises
    ------
    OSError
        The file cannot be written, or there is no such program.
    """
    path = str(output.absolute())
    if "%p" not in path:
        with output.open("w", encoding="utf-8"):
            pass
        output.unlink()
        os.environ["PORTADNN_TRACE_OWNER"] = f"0:{path}"  # the first process that computes takes the name
    os.environ["PORTADNN_TRACE"] = path
    if nested:
        os.environ["PORTADNN_TRACE_NESTED"] = "1"
    command = command_of(words)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(command[0], command)
