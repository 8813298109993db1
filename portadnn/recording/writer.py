"""The file of a recording: written by a thread of its own, and by nobody else."""

from __future__ import annotations

import contextlib
import datetime
import errno
import json
import os
import platform
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._version import __version__
from .encode import place

SCHEMA_VERSION = 1
INTERVAL = 0.1  # seconds from one look at the queue to the next: what a crash loses at most
BACKLOG = 20_000  # calls in the queue before the caller writes them out itself
CHUNK = 1 << 16  # bytes of one write
OWNER = "PORTADNN_TRACE_OWNER"  # process:file, for the processes that it starts: they add their numbers to the name

_BEING_WRITTEN: set[str] = set()  # files of this process

Event = tuple[int, float, float, Any, Any, str]  # form, start, seconds, addresses, scalars, more


def header() -> dict[str, Any]:
    """Return the first line of a recording."""
    return {
        "portadnn_recording": SCHEMA_VERSION,
        "portadnn": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "process": os.getpid(),
        "argv": [str(word) for word in sys.argv][:64],
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(),
    }


def file_of_process(path: str) -> tuple[str, int]:
    """Return the file that this process records to, and how to open it.

    ``%p`` is the process. Where another process has the file already, which children inherit through the environment,
    the number of this one is put before the suffix.
    """
    process = os.getpid()
    if "%p" in path:
        return path.replace("%p", str(process)), os.O_TRUNC
    owner, _, owned = os.environ.get(OWNER, "").partition(":")
    place = str(Path(path).absolute())
    if owned != place:
        os.environ[OWNER] = f"{process}:{place}"
    elif owner != str(process):
        given = Path(path)
        if not given.exists():
            return path, os.O_EXCL
        return str(given.with_name(f"{given.stem}.{process}{given.suffix}")), os.O_TRUNC
    return path, os.O_TRUNC


def _opened(path: str, mode: int) -> int:
    """Open a file for writing, without waiting for somebody to read from a named pipe.

    Raises
    ------
    OSError
        It cannot be opened; nobody reads from it.
    """
    number = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | mode, 0o666)
    os.set_blocking(number, True)
    return number


class Writer:
    """Takes lines and events from any thread and appends them to the file.

    Parameters
    ----------
    path : str
        The file; see :func:`file_of_process`.
    failed : callable
        Told once, with the reason, when the file cannot be written any more.
    """

    def __init__(self, path: str, failed: Callable[[OSError], None]) -> None:
        self._wanted = path
        self._failed = failed
        self.queue: deque[Event | str] = deque()
        self._scalars: dict[Any, str] = {}
        self._begin()

    def _begin(self) -> None:
        self.path = ""
        self.calls = 0
        self._file = -1
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Make the file and start the thread.

        Raises
        ------
        OSError
            It cannot be made, or another recording of this process writes it.
        """
        self.path, mode = file_of_process(self._wanted)
        real = os.path.realpath(self.path)
        if real in _BEING_WRITTEN and Path(real).is_file():
            raise OSError(errno.EBUSY, "another recording of this process, which is still open, writes it")
        try:
            self._file = _opened(self.path, mode)
        except FileExistsError:  # another process was faster
            self.path, mode = file_of_process(self._wanted)
            self._file = _opened(self.path, mode)
        _BEING_WRITTEN.add(os.path.realpath(self.path))
        self.clock = time.perf_counter()
        self._write(json.dumps(header()) + "\n")
        self._thread = threading.Thread(target=self._loop, name="portadnn-recorder", daemon=True)
        self._thread.start()

    def line(self, facts: dict[str, Any]) -> None:
        """Append a line."""
        self.queue.append(json.dumps(facts) + "\n")

    def drain(self) -> None:
        """Write everything that is in the queue."""
        try:
            with self._lock:
                self._drain()
        except OSError as error:
            self._give_up(error)

    def _drain(self) -> None:
        if self._file < 0:
            self.queue.clear()
            return
        queue, lines, size = self.queue, [], 0
        while queue:
            item = queue.popleft()
            text = item if isinstance(item, str) else self._text(item)
            lines.append(text)
            size += len(text)
            if size >= CHUNK:
                self._write("".join(lines))
                lines, size = [], 0
        self._write("".join(lines))

    def _text(self, event: Event) -> str:
        form, start, seconds, addresses, scalars, more = event
        self.calls += 1
        text = f'{{"call":{form},"start":{start - self.clock:.7f},"seconds":{seconds:.3g}'
        if addresses:
            text += f',"at":[{",".join([str(place(a)) for a in addresses])}]'
        if scalars:
            known = self._scalars.get(scalars)
            if known is None:
                if len(self._scalars) > BACKLOG:
                    self._scalars.clear()
                known = self._scalars[scalars] = json.dumps(
                    [s if s - s == 0 else {"float": repr(s)} for s in map(float, scalars)]
                )
            text += f',"scalars":{known}'
        return f"{text}{more}}}\n"

    def _write(self, text: str) -> None:
        data = memoryview(text.encode())
        while data:
            data = data[os.write(self._file, data) :]

    def _loop(self) -> None:
        stop = self._stop
        while not stop.wait(INTERVAL):
            self.drain()

    def _give_up(self, error: OSError) -> None:
        with self._lock:
            file, self._file = self._file, -1
            self._left()
            self.queue.clear()
            self._stop.set()
            if file < 0:
                return
            with contextlib.suppress(OSError):
                os.close(file)
        self._failed(error)

    def close(self) -> None:
        """Write the rest, and a last line that says how many calls there were."""
        self._stop.set()
        self.drain()
        with self._lock:
            if self._file >= 0:
                try:
                    self._write(json.dumps({"end": self.calls, "seconds": time.perf_counter() - self.clock}) + "\n")
                    os.close(self._file)
                except OSError as error:
                    self._failed(error)
                self._file = -1
                self._left()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(1)

    def _left(self) -> None:
        _BEING_WRITTEN.discard(os.path.realpath(self.path))

    def forked(self) -> None:
        """Leave the parent's file to the parent; this process opens one of its own when it has something to say."""
        if self._file >= 0:
            os.close(self._file)
            self._left()
        self.queue.clear()
        self._begin()
