"""Find database: Find's measurements in a SQLite file shared by programs (``PORTADNN_FIND_DB``).

A row is one engine's time for one problem at one :class:`Place`: a device under a driver, with a version of portadnn
and of its kernels. Times of another place do not count, so nothing has to be thrown away when something is updated.

Each access opens the file anew, which makes threads and forked processes harmless. The rollback journal is used rather
than the write-ahead log, because it leaves one file, works on network drives, and lets a read-only database be read.
Writers take turns by SQLite's own locks; a row is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import stat
import warnings
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TypeVar

from .._io.outside import kind_of
from ..errors import BadParam, shown

try:
    import fcntl
except ImportError:  # not a POSIX system: two processes that mend a file at once may both set one aside
    fcntl = None  # type: ignore[assignment]

APPLICATION_ID = 0x70646E6E  # "pdnn", in the file's header
FORMAT = 1
WAIT = 10.0  # seconds to wait for other writers
_COMPANIONS = ("-journal", "-wal", "-shm")
_DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)  # the other of what SQLite quotes from the file
_TABLE = (
    "CREATE TABLE timing (problem TEXT, device TEXT, driver TEXT, library TEXT, engines TEXT, engine TEXT,"
    " seconds REAL, PRIMARY KEY (problem, device, driver, library, engines, engine)) WITHOUT ROWID"
)

R = TypeVar("R")


@dataclass(frozen=True)
class Place:
    """Origin of timings: device, driver and versions; timings of other origins are ignored.

    Attributes
    ----------
    device, driver : str
        What is known of them.
    library : str
        portadnn's version.
    engines : str
        The version of engines and kernels.
    """

    device: str
    driver: str
    library: str
    engines: str


class _Foreign(Exception):
    """The file is a database of another program."""


class FindDatabase:
    """File of timings. Failures warn, and never stop a computation.

    Parameters
    ----------
    path
        The file; made when something is stored. Its folder must exist.

    Raises
    ------
    BadParam
        `path` is no path.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.path = Path(path).absolute()
        except Exception:  # a user's __fspath__ may raise anything
            raise BadParam(argument="find_db", expected="a path", got=shown(path)) from None
        if "\0" in str(self.path):
            raise BadParam(argument="find_db", expected="a path", got=shown(path))
        self._checked = False
        self._off = False
        self._read_only = False

    def load(self, problem: str, place: Place) -> dict[str, float]:
        """Return the seconds of each engine timed on the problem."""

        def read(connection: sqlite3.Connection) -> dict[str, float]:
            if self._is_new(connection):
                return {}
            where = "problem = ? AND device = ? AND driver = ? AND library = ? AND engines = ?"
            rows = connection.execute(f"SELECT engine, seconds FROM timing WHERE {where}", (problem, *astuple(place)))
            return {name: seconds for name, seconds in rows if isinstance(seconds, float) and 0 <= seconds < math.inf}

        if not self._there():
            return {}
        return self._access(read, "rw") or {}

    def store(self, problem: str, place: Place, seconds: Mapping[str, float]) -> None:
        """Store the timings of engines for a problem, replacing older ones."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            if self._is_new(connection):
                connection.execute(_TABLE)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            rows = [(problem, *astuple(place), engine, time) for engine, time in seconds.items()]
            connection.executemany("INSERT OR REPLACE INTO timing VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            connection.execute("COMMIT")

        if seconds and not self._read_only and (self._there() or not self._off):
            self._access(write, "rwc")

    def _there(self) -> bool:
        """Tell whether a regular file exists."""
        try:
            mode = None if self._off else self.path.stat().st_mode
        except FileNotFoundError:
            return False
        except OSError as error:
            mode, why = 0, f"{error}"
        else:
            why = "" if mode is None else kind_of(mode)
        if mode is None or stat.S_ISREG(mode):
            return mode is not None
        self._off = True
        self._warn(f"{why}; it is not used")
        return False

    def _access(self, work: Callable[[sqlite3.Connection], R], mode: str) -> R | None:
        """Run work on a connection; set a damaged file aside and retry once; warn of other errors."""
        for _ in range(2):
            try:
                return self._work(work, mode)
            except sqlite3.OperationalError as error:  # locked, read-only, no folder, a full disk
                self._read_only = mode == "rwc"
                self._off = not self._read_only
                self._warn(f"{error}; " + ("nothing is stored in it" if self._read_only else "it is not used"))
                return None
            except (*_DAMAGED, _Foreign) as error:
                if not self._set_aside(str(error)):
                    return None
                if mode == "rw":
                    return None  # nothing is left to read
        return None

    def _work(self, work: Callable[[sqlite3.Connection], R], mode: str) -> R:
        # a file that the system protects is opened for reading, whatever the mode
        uri = f"{self.path.as_uri()}?mode={mode}"
        with contextlib.closing(sqlite3.connect(uri, timeout=WAIT, isolation_level=None, uri=True)) as connection:
            if not self._checked:
                self._is_new(connection)
                verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if verdict != "ok":
                    raise sqlite3.DatabaseError(verdict.splitlines()[-1])
                self._checked = True
            return work(connection)

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        """Tell whether the file is still empty.

        Raises
        ------
        _Foreign
            It holds something else.
        """
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if (application, version) == (APPLICATION_ID, FORMAT):
            found = connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT 2").fetchall()
            if found != [("table", "timing", _TABLE)]:  # a view could compute for ever
                raise _Foreign("file has other tables than a find database")
            return False
        (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application or version or objects:
            raise _Foreign("file is another program's database, or another format's")
        return True

    def _set_aside(self, reason: str) -> bool:
        """Rename a damaged file, once among all processes; return whether the path is usable."""
        try:
            with self.path.open("rb") as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)  # not the locks that SQLite uses
                if os.fstat(file.fileno()).st_ino != self.path.stat().st_ino or self._is_good():
                    return True  # somebody else was faster
                number = next(n for n in range(1, 1_000_000) if not self._aside(n).exists())
                self.path.rename(self._aside(number))
                for ending in _COMPANIONS:
                    with contextlib.suppress(FileNotFoundError):
                        Path(f"{self.path}{ending}").rename(f"{self._aside(number)}{ending}")
        except FileNotFoundError:
            return True
        except OSError as error:
            self._off = True
            self._warn(f"{reason}, and it cannot be renamed ({error}); it is not used")
            return False
        self._warn(f"{reason}; it is set aside as {self._aside(number).name} and begun anew")
        return True

    def _aside(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.bad-{number}")

    def _is_good(self) -> bool:
        self._checked = False
        try:
            self._work(lambda connection: None, "rw")
        except sqlite3.OperationalError:  # locked, say
            return True
        except (*_DAMAGED, _Foreign):
            return False
        return True

    def _warn(self, what: str) -> None:
        warnings.warn(f"find database {self.path}: {what}", RuntimeWarning, stacklevel=2)
