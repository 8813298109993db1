"""Atomic writing of files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_whole(path: Path, contents: bytes) -> None:
    """Replace a file atomically; keep its mode, or set 644.

    A device or a named pipe is written to, and stays what it is.

    Raises
    ------
    OSError
        The file cannot be written; it is as it was. Nobody reads from a named pipe.
    """
    path = path.resolve()  # what a link leads to, and not the link
    if path.exists() and not path.is_file() and not path.is_dir():
        number = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))  # which does not wait for a reader
        os.set_blocking(number, True)
        with os.fdopen(number, "wb") as file:
            file.write(contents)
        return
    mode = path.stat().st_mode if path.exists() else 0o644
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        Path(temporary).chmod(mode & 0o7777)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
