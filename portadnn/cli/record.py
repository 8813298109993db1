"""``portadnn record``: run a program with ``PORTADNN_TRACE`` set."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import BadParam

DEFAULT = Path("portadnn-trace.jsonl")
USAGE, NOT_EXECUTABLE, NOT_FOUND = 2, 126, 127


def command_of(words: Sequence[str]) -> list[str]:
    """Return the program to run: Python files, ``-m module`` and ``-c code`` by this Python, others as they are."""
    if words[0] in ("-m", "-c") or words[0].endswith(".py"):
        return [sys.executable, *words]
    return list(words)


def _check_output(output: Path) -> None:
    """Refuse a file that cannot be made; one that is there goes, because the recording is to be of this program."""
    try:
        if output.exists() and not output.is_file():
            raise BadParam(argument="--output", expected="a file", got=str(output))
        if "%p" in str(output):
            return
        with output.open("w", encoding="utf-8"):
            pass
        output.unlink()
    except (OSError, ValueError) as error:
        if isinstance(error, BadParam):
            raise
        why = getattr(error, "strerror", None) or error
        raise BadParam(argument="--output", expected="a file that can be written", got=f"{output}: {why}") from None


def exit_code(error: OSError) -> int:
    """Return what shells exit with where a program cannot be run."""
    return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def record(words: Sequence[str], output: Path, nested: bool) -> None:
    """Become the program: its exit status, its signals and its terminal are its own.

    Raises
    ------
    BadParam
        The file cannot be written.
    OSError
        The program cannot be run.
    """
    path = str(output.absolute())
    _check_output(output)
    if "%p" not in path:
        os.environ["PORTADNN_TRACE_OWNER"] = f"0:{path}"  # the first process that computes takes the name
    os.environ["PORTADNN_TRACE"] = path
    if nested:
        os.environ["PORTADNN_TRACE_NESTED"] = "1"
    command = command_of(words)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(command[0], command)


def record_torch(words: Sequence[str], output: Path) -> int:
    """Run a Python program here, record what PyTorch computes, say what became of it, and return its exit status.

    Raises
    ------
    DnnError
        The file cannot be written, PyTorch is not installed, or there is no such program.
    """
    from . import pytorch

    recorder = pytorch.recording().record(output)
    with recorder:
        code = pytorch.run_program(words)
    print(pytorch.summary(recorder), file=sys.stderr)
    return code
