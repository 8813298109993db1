"""Folders of disk caches: location, trust, size limit.

A cache folder is created with mode 0700. One that belongs to another user, or that others may write to, is never read
or written: whoever can put a file there could make this process run it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadParam, shown

try:
    import fcntl
except ImportError:  # not a POSIX system: folders of killed processes stay
    fcntl = None  # type: ignore[assignment]

DEFAULT_SIZE = 1 << 30  # bytes of the kernel cache
UNFINISHED = "new-"  # begins the name of a file that is being written
ABANDONED = 3600.0  # seconds after which an unfinished file counts as left by a killed process
RUNNING = "running"  # below a cache's folder, the folders of processes
_RUNNING_PREFIX = "portadnn-run-"
_LOCK = "lock"  # held for as long as the process lives
_YOUNG = 60.0  # seconds for which a folder without a held lock is taken to be in the making
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"\s*(\d{1,15})\s*([kmgt]?)(i?b)?\s*", re.IGNORECASE | re.ASCII)


def kernel_folder() -> Path | None:
    """Return the folder of compiled kernels; None if caches are off or there is no home folder."""
    text = os.environ.get("PORTADNN_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or ""
    try:
        if text is not None:
            return Path(text).expanduser() if text else None  # a container's environment has no shell to expand ~
        # the XDG specification has relative paths ignored
        folder = Path(base) if os.path.isabs(base) else Path.home() / ".cache"  # noqa: PTH117
    except RuntimeError:  # no home folder
        return None
    return folder / "portadnn" / "kernels"


def size_limit() -> int:
    """Return the size limit of the kernel cache in bytes: ``PORTADNN_CACHE_SIZE``, by default 1 GiB.

    Raises
    ------
    BadParam
        The variable is no size such as ``500M``.
    """
    text = os.environ.get("PORTADNN_CACHE_SIZE") or ""
    if not text:
        return DEFAULT_SIZE
    match = _SIZE.fullmatch(text)
    if match is None:
        raise BadParam(
            argument="PORTADNN_CACHE_SIZE", expected="a number of bytes, or a size such as 500M or 2G", got=shown(text)
        )
    return int(match[1]) * _UNITS[match[2].lower()]


def refusal(folder: Path) -> str | None:
    """Return why a folder cannot be trusted; None if it can, or does not exist.

    Raises
    ------
    OSError
        It cannot be looked at.
    """
    try:
        state = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not hasattr(os, "geteuid"):
        return None
    if state.st_uid != os.geteuid():
        return f"it belongs to another user (uid {state.st_uid})"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users may write to it (mode {stat.S_IMODE(state.st_mode):03o}; chmod go-w would do)"
    return None


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700.

    Raises
    ------
    OSError
        It cannot be created, or is no folder.
    """
    if not folder.is_dir():
        if not folder.parent.is_dir():
            make_private(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder")


def trusted(folder: Path) -> bool:
    """Tell whether a folder can be trusted; warn once for each one that cannot."""
    try:
        reason = refusal(folder)
    except OSError:
        return True  # whoever uses it finds out
    if reason is not None:
        _warn_once(folder, reason)
    return reason is None


@functools.cache
def _warn_once(folder: Path, reason: str) -> None:
    warnings.warn(f"cache folder {folder} is not used: {reason}", RuntimeWarning, stacklevel=4)


def unusable(folder: Path) -> str | None:
    """Create a folder if missing; return why it is unusable, or None."""
    try:
        make_private(folder)
        reason = refusal(folder)
        if reason is None and not os.access(folder, os.W_OK | os.X_OK):
            return "it cannot be written"
    except OSError as error:
        return f"it cannot be written ({error.strerror or error})"
    return reason


def room(folder: Path) -> int:
    """Return the bytes that a folder's file system has left for this user; many where nobody can say.

    Raises
    ------
    OSError
        It cannot be looked at.
    """
    if not hasattr(os, "statvfs"):
        return 1 << 62
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


def reserve(folder: Path, nbytes: int) -> None:
    """Demand that a file of so many bytes can be written to a folder; nothing stays.

    Raises
    ------
    OSError
        The disk is full, a quota is used up, or files of this process may not grow so large.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, nbytes)


_FOLDERS: dict[int, Path] = {}  # this process's temporary folder, by process: a forked child has another


def process_folder() -> Path:
    """Return this process's temporary folder, removed at exit, or by a later process.

    Raises
    ------
    OSError
        There is nowhere to make one.
    """
    process = os.getpid()
    if process not in _FOLDERS:
        folder = _FOLDERS[process] = make_running(Path(tempfile.gettempdir()))
        hold(folder)  # for as long as the process lives
        atexit.register(remove_folder, folder, process)
    return _FOLDERS[process]


def remove_folder(folder: Path, process: int) -> None:
    """Remove a folder tree, if the current process is `process`."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


# folders of processes


def make_running(parent: Path) -> Path:
    """Make a folder for this process below another; :func:`sweep` removes it when its lock is free.

    Raises
    ------
    OSError
        It cannot be made.
    """
    sweep(parent)
    return Path(tempfile.mkdtemp(dir=parent, prefix=_RUNNING_PREFIX))


def hold(folder: Path) -> int:
    """Lock a folder of :func:`make_running`; return the descriptor, which holds the lock until it is closed."""
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def sweep(parent: Path) -> None:
    """Remove the folders of killed processes."""
    for folder in parent.glob(f"{_RUNNING_PREFIX}*"):
        with contextlib.suppress(OSError, AttributeError):  # the latter where there are no such locks
            state = folder.lstat()
            if state.st_uid != os.geteuid() or not stat.S_ISDIR(state.st_mode):
                continue
            if time.time() - state.st_mtime < _YOUNG:  # it may be in the making
                continue
            lock = folder / _LOCK
            if lock.exists():
                with lock.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while the process lives
            shutil.rmtree(folder, ignore_errors=True)


# entries

KERNEL_MAGIC = b"portadnn kernel 1\n"  # begins an entry of compiled kernels: then the digests of its key and payload
_DIGEST = hashlib.sha256().digest_size


def kernel_entry(key: bytes, payload: bytes) -> bytes:
    """Return the content of an entry for a key, of which the digest is given."""
    return KERNEL_MAGIC + key + hashlib.sha256(payload).digest() + payload


def kernel_payload(key: bytes, content: bytes) -> bytes | None:
    """Return an entry's payload; None if it is truncated, altered or another key's."""
    head = KERNEL_MAGIC + key
    payload = content[len(head) + _DIGEST :]
    if not content.startswith(head) or content[len(head) : len(head) + _DIGEST] != hashlib.sha256(payload).digest():
        return None
    return payload


def write_entry(folder: Path, name: str, content: bytes) -> None:
    """Write an entry beside its place and rename it, so that other processes see all of it or nothing.

    Raises
    ------
    OSError
        It cannot be written.
    """
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=UNFINISHED)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        _rename(Path(temporary), folder / name)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _rename(temporary: Path, path: Path) -> None:
    try:
        temporary.replace(path)
    except OSError:
        if not path.is_dir():
            raise
        shutil.rmtree(path, ignore_errors=True)  # in the place of an entry, a folder is damage
        temporary.replace(path)


@dataclass(frozen=True)
class Entry:
    """Cache file: path, size in bytes, time of last use in seconds since the epoch."""

    path: Path
    size: int
    used: float


def entries(folder: Path, suffix: str) -> Iterator[Entry]:
    """Iterate over the entries of a folder, if it exists."""
    return (Entry(Path(path), size, used) for used, size, path in _files(folder, suffix))


def _files(folder: Path, suffix: str) -> Iterator[tuple[float, int, str]]:
    """Iterate over what there is of each entry, without a path's object: a cache has thousands."""
    try:
        with os.scandir(folder) as found:
            for item in found:
                if item.name.endswith(suffix):
                    with contextlib.suppress(OSError):  # another process removed it
                        state = item.stat(follow_symlinks=False)
                        if stat.S_ISREG(state.st_mode):
                            yield state.st_mtime, state.st_size, item.path
    except OSError:
        return


def touch(path: Path) -> None:
    """Mark an entry as used."""
    with contextlib.suppress(OSError):
        os.utime(path)


def prune(folder: Path, suffix: str, limit: int) -> int:
    """Remove the least recently used entries until a tenth of the limit is free, if the limit is exceeded.

    Files are removed one by one, which other processes that read or write them do not notice; a file that is being
    written has another name.

    Returns
    -------
    int
        Bytes of the entries that are left.
    """
    found = list(_files(folder, suffix))
    total = sum(size for _, size, _ in found)
    if total > limit:
        for _, size, path in sorted(found):
            if total <= limit - limit // 10:
                break
            with contextlib.suppress(OSError):
                Path(path).unlink()
            total -= size
    remove_unfinished(folder)
    return total


def remove_unfinished(folder: Path) -> None:
    """Remove incomplete files of killed processes."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for item in found:
            if item.name.startswith(UNFINISHED):
                with contextlib.suppress(OSError):
                    if time.time() - item.stat().st_mtime > ABANDONED:
                        Path(item.path).unlink()
