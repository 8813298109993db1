"""Processes of their own for work that may end its process, or never return.

A process is given tasks and says what it begins. When it dies, or says nothing for too long, its parent learns what
it had begun, and the next task goes to a new process. What a process does is a function ``serve(channel, *arguments)``
of an importable module.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, NoReturn

KERNELS = "PORTADNN_DIFF_KERNELS"  # folder of kernels that campaigns keep between them
STARTING = 60.0  # seconds that a process may take to start, beyond its limit
LAST_WORDS = 400  # characters of a dead process's standard error that its parent repeats

# The parent's folders take the place of the working directory before anything but sys, which is built in, is imported.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from portadnn.diff.campaign.process import main; main({number})"
_BEGINS, _READY, _LOST = "begins", "ready", "lost"


class Channel:
    """The process's end: tasks come in, what begins and what comes of it goes out."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def receive(self) -> Any:
        """Return the next task.

        Raises
        ------
        EOFError
            The parent is gone.
        """
        return self._connection.recv()

    def begins(self, what: object, grace: float = 0.0) -> None:
        """Say what is about to be done, and by how many seconds it may exceed the limit."""
        self._connection.send((_BEGINS, (what, grace)))

    def says(self, kind: str, value: object = None) -> None:
        """Tell the parent something, which its :meth:`Worker.poll` returns."""
        self._connection.send((kind, value))

    def lost(self, why: str) -> NoReturn:
        """End the process at once: its device does not answer any more, and leaving in order would wait for it."""
        self._connection.send((_LOST, why))
        os._exit(1)


@dataclass(frozen=True)
class Died:
    """A process has ended, by itself or because it said nothing for too long.

    Attributes
    ----------
    why : str
        What it died of: its signal or exit code with its last words, the time limit, or the loss of its device.
    begun : object
        What it had begun last with this task; None where it had not begun anything.
    """

    why: str
    begun: Any = None


class Worker:
    """A process that does one task at a time, and is replaced when it dies.

    Parameters
    ----------
    serve : callable
        Runs in the process as ``serve(channel, *arguments)``, until it returns or its parent is gone. It and the
        arguments are pickled.
    environment : mapping of str to str, optional
        Variables of the process besides the parent's.
    """

    def __init__(
        self, serve: Callable[..., None], *arguments: object, environment: Mapping[str, str] | None = None
    ) -> None:
        self._work = pickle.dumps((serve, arguments))
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._errors: IO[bytes] | None = None
        self._begun: Any = None
        self._heard = 0.0  # when the process was last heard; later than now where it has time left over

    @property
    def begun(self) -> Any:
        """What the process began last with its task."""
        return self._begun

    @property
    def connection(self) -> Connection | None:
        """What becomes readable when :meth:`poll` has something; None without a process."""
        return self._connection

    @property
    def has_words(self) -> bool:
        """Whether :meth:`poll` has something to read."""
        return self._connection is not None and self._connection.poll()

    def start(self, task: object) -> None:
        """Give the process a task; there is a new process where there was none."""
        self._heard = time.monotonic()
        if self._process is None:
            self._launch()
        self._begun = None
        assert self._connection is not None
        with contextlib.suppress(OSError):  # it has died meanwhile, which poll() tells
            self._connection.send(task)

    def _launch(self) -> None:
        ours, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(path=import_path(), number=number)],
                pass_fds=[number],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                start_new_session=True,  # an interrupt from the keyboard is the parent's alone
            )
        self._connection = Connection(ours.detach())
        self._connection.send_bytes(self._work)
        self._heard = time.monotonic() + STARTING

    def poll(self, limit: float) -> tuple[str, Any] | Died | None:
        """Return the next that the process said, or that it died, or None.

        Parameters
        ----------
        limit
            Seconds without a word after which it is ended.
        """
        if self._connection is None:
            return None
        try:
            while self._connection.poll():
                kind, value = self._connection.recv()
                self._heard = max(self._heard if kind == _READY else 0.0, time.monotonic())
                if kind == _BEGINS:
                    self._begun, grace = value
                    self._heard += grace
                elif kind == _LOST:
                    return self._died(value)
                elif kind != _READY:
                    return kind, value
        except (EOFError, OSError, pickle.UnpicklingError):
            return self._died(self._end())
        if time.monotonic() - self._heard > limit:
            return self._died(f"nothing for {limit:g} s")
        return None

    def _died(self, why: str) -> Died:
        begun = self._begun
        self.stop()
        return Died(why, begun)

    def _end(self) -> str:
        """Return what the process died of."""
        assert self._process is not None and self._errors is not None
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "the process closed its connection"
        why = f"the process ended with {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                why = f"the process was ended by {signal.Signals(-code).name}"
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - LAST_WORDS))
        words = " ".join(self._errors.read().decode(errors="replace").split())
        return f"{why}: {words}" if words else why

    def stop(self) -> None:
        """End the process; what it does is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        for thing in (self._connection, self._errors):
            if thing is not None:
                thing.close()
        self._connection = self._errors = self._begun = None


def import_path() -> list[str]:
    """Return the folders that this process imports from; the working directory by its name, where it is one."""
    return [str(Path.cwd()) if folder == "" else folder for folder in sys.path if isinstance(folder, str)]


def main(number: int) -> None:
    """Serve the parent at the other end of socket `number`; the first message says how."""
    connection = Connection(number)
    threading.Thread(target=_end_with_parent, args=(number,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        serve, arguments = pickle.loads(connection.recv_bytes())
        channel = Channel(connection)
        channel.says(_READY)
        serve(channel, *arguments)
    except (EOFError, BrokenPipeError, ConnectionResetError):  # the parent is gone
        os._exit(0)


def _end_with_parent(number: int) -> None:
    """End the process once the other end of its socket is closed, whatever it is doing then."""
    hung_up = select.poll()
    hung_up.register(number, 0)
    hung_up.poll()
    os._exit(0)


def quiet_environment(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Return the variables of processes that run many problems, some of them wrong.

    No cache grows without end or is shared with another run, unless ``PORTADNN_DIFF_KERNELS`` names a folder for the
    kernels that PoCL compiled; no thread of PoCL's is tied to a core; there are two, so that work-groups do run at the
    same time.

    Parameters
    ----------
    folder
        For PoCL's temporary files.
    """
    kept = os.environ.get(KERNELS)
    return {
        "POCL_AFFINITY": "0",
        "POCL_MAX_PTHREAD_COUNT": "2",
        "POCL_KERNEL_CACHE": "1" if kept else "0",
        "POCL_CACHE_DIR": kept or str(folder),
        "PORTADNN_CACHE_DIR": "",
        "PORTADNN_FIND_DB": "",
        "PORTADNN_TRACE": "",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
