"""What PoCL compiled, kept on disk so that PoCL cannot be harmed by it.

PoCL trusts its cache: a damaged file in it ends in an abort of LLVM, or in SIGBUS. It also needs a folder that it can
write, or it has no devices, and without ``HOME`` it takes one in ``/tmp`` that anybody may have made. So PoCL works in
a folder that is this process's alone, and that is removed at exit. Before a program is built, its files are put there
from an entry of the kernel cache, which is whole or not taken (:mod:`.kernel_cache`); afterwards what PoCL added
becomes the entry.

A program's files are ``AB/CDEF.../program.bc``, and ``<kernel>/<sizes>/<kernel>.so`` from the first launch on. The
name is PoCL's own hash of the preprocessed source, so which folder is a program's is known once it was built.

This needs portadnn to start PoCL. In a program that has listed OpenCL's devices before, PoCL goes on using its own
cache (``POCL_CACHE_DIR``, or ``~/.cache/pocl``).
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from portadnn._io import disk_cache
from portadnn.errors import CompileError, DnnError

from .. import kernel_cache
from ..base import DeviceInfo
from . import pocl_cpu

_VARIABLE = "POCL_CACHE_DIR"
_TOUCHED = "last_accessed"  # PoCL's note that a program was built
_NAME = re.compile(r"[A-Z]{2}/[A-Za-z0-9._/-]{1,300}", re.ASCII)  # of a file
_RECENT = 16  # programs that are looked at for new files when the next one is built
_ROOM = 1 << 20  # bytes that compiling a kernel may take; without them LLVM ends the process
_AMPLE = 64 << 20  # bytes of a folder that is taken without a look at the next one
_SHARED_MEMORY = Path("/dev/shm")
_SETTLED = 2_000_000_000  # nanoseconds after which another change of a folder bears another time, on any file system
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # PoCL's compiler must not be at work in another thread
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


@dataclass
class _Program:
    """A program that was built here: its key, its folders, and how many of their files are in the cache."""

    key: tuple[str, ...]
    folders: tuple[str, ...]
    stored: int


class Workplace:
    """The folder in which PoCL works for this process.

    Attributes
    ----------
    path : Path
        The folder.
    store : Path, optional
        Where entries are kept; None where nothing is.
    """

    def __init__(self, path: Path, store: Path | None) -> None:
        self.path = path
        self.store = store
        self._process = os.getpid()
        self._wrote = False  # whether a file as large as a kernel was written
        self._programs: dict[tuple[str, ...], _Program] = {}
        self._recent: deque[_Program] = deque(maxlen=_RECENT)
        self._seen: set[str] = set()
        self._settled: dict[str, int] = {}  # when folders of the first level changed that were read since
        self._lock = disk_cache.hold(path)
        atexit.register(self.close)

    @contextlib.contextmanager
    def building(self, key: tuple[str, ...]) -> Iterator[None]:
        """Have a program's files in place while it is built, and learn which they are.

        Raises
        ------
        CompileError
            There is no room to compile it.
        """
        if not self.path.is_dir():  # somebody tidied up
            with contextlib.suppress(OSError):
                disk_cache.make_private(self.path)
        known = key in self._programs
        restored = () if self.store is None or known else self._restore(key)
        if not restored and not known:
            self._check_room()
        if self.store is None or known:
            yield
            return
        for program in list(self._recent):  # a killed process loses little
            if self._keep(program):
                self._recent.remove(program)
        self._seen.update(restored)
        try:
            yield
        finally:
            if not restored or not all((self.path / name / _TOUCHED).exists() for name in restored):
                added = self._folders() - self._seen  # PoCL knows the program by another name
                self._seen |= added
                restored, stored = tuple(sorted(added)), 0
            else:
                stored = len(self._files(restored))
            program = self._programs[key] = _Program(key, restored, stored)
            if not stored:
                self._recent.append(program)

    def _check_room(self) -> None:
        """Demand room for a compiled kernel."""
        try:
            if not self._wrote:  # once: it takes as long as some kernels
                disk_cache.reserve(self.path, _ROOM)
                self._wrote = True
            elif disk_cache.room(self.path) < _ROOM:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            message = (
                f"PoCL cannot compile in {self.path} ({error.strerror or error}): a kernel may take "
                f"{_ROOM >> 20} MiB, and TMPDIR or PORTADNN_CACHE_DIR may name another folder"
            )
            raise CompileError(message, source="", log="") from None

    def disown(self) -> None:
        """Take what was compiled so far for no program's."""
        self._seen |= self._folders()

    def _folders(self) -> set[str]:
        """Return programs' folders, but for some that were there at the last call: thousands take long to list."""
        found: set[str] = set()
        now = time.time_ns()
        with contextlib.suppress(OSError):  # somebody removed it
            for first in os.listdir(self.path):  # noqa: PTH208 - names, and quickly
                if len(first) == 2:
                    folder = f"{self.path}/{first}"
                    changed = os.stat(folder).st_mtime_ns  # noqa: PTH116
                    if self._settled.get(first) != changed:
                        found.update(f"{first}/{second}" for second in os.listdir(folder))  # noqa: PTH208
                        if now - changed > _SETTLED:
                            self._settled[first] = changed
        return found

    def _files(self, folders: tuple[str, ...]) -> list[str]:
        """Return the finished files of some programs, below the workplace."""
        found, waiting = [], list(folders)
        while waiting:
            below = waiting.pop()
            with contextlib.suppress(OSError), os.scandir(f"{self.path}/{below}") as entries:
                for entry in entries:
                    name = f"{below}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(name)
                    elif name.endswith((".bc", ".so")):
                        found.append(name)
        return sorted(found)

    def _keep(self, program: _Program) -> bool:
        """Store a program's files, if there are more than are stored; tell whether it was launched."""
        names = self._files(program.folders)
        launched = any(name.endswith(".so") for name in names)
        if len(names) <= program.stored:
            return launched
        program.stored = len(names)
        try:
            contents = [(self.path / name).read_bytes() for name in names]
        except OSError:  # PoCL is at it, or somebody removed the folder
            return launched
        head = json.dumps([[name, len(content)] for name, content in zip(names, contents, strict=True)])
        kernel_cache.store(program.key, b"\n".join((head.encode(), b"".join(contents))), self.store)
        return launched

    def _restore(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """Put a program's files in place; return its folders, or nothing."""
        payload = kernel_cache.load(key, self.store)
        if payload is None:
            return ()
        head, _, rest = payload.partition(b"\n")
        files = _listed(head, len(rest))
        folders = tuple(sorted({"/".join(name.split("/")[:2]) for name, _ in files}))
        # a folder that is there is of another source that was the same once preprocessed
        absent = {name for name in folders if not (self.path / name).exists()}
        start = 0
        try:
            for name, size in files:
                if "/".join(name.split("/")[:2]) in absent:
                    path = f"{self.path}/{name}"
                    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - quickly
                    with open(path, "wb") as file:  # noqa: PTH123
                        file.write(rest[start : start + size])
                start += size
        except OSError:  # the disk is full, say
            for name in absent:
                shutil.rmtree(self.path / name, ignore_errors=True)
            return ()
        return folders

    def close(self) -> None:
        """Store what is new, and remove the folder."""
        if self._process != os.getpid():  # a forked child
            return
        with _LOCK, contextlib.suppress(OSError, DnnError):
            if self.store is not None:
                for program in self._programs.values():
                    self._keep(program)
            self._programs.clear()
        disk_cache.remove_folder(self.path, self._process)
        os.close(self._lock)


def _listed(head: bytes, size: int) -> list[tuple[str, int]]:
    """Return the files of an entry with their sizes; none if one of them could lie elsewhere than below the folder."""
    try:
        files = [(str(name), int(count)) for name, count in json.loads(head)]
    except (ValueError, TypeError):
        return []
    inside = all(_NAME.fullmatch(name) and not {"", ".", ".."} & set(name.split("/")) for name, _ in files)
    return files if inside and sum(count for _, count in files) == size and all(n >= 0 for _, n in files) else []


_WORKPLACES: dict[int, Workplace] = {}  # by process
_MISSING: dict[int, str] = {}  # by process, why there is none


def missing() -> str | None:
    """Return why PoCL has no folder of its own here; None where it has one, or did not need one."""
    return _MISSING.get(os.getpid())


def _kept_in() -> Path | None:
    """Return the folder of entries: where PoCL's cache was to be, if somebody said so, else portadnn's."""
    text = os.environ.get(_VARIABLE)
    return Path(text) if text else kernel_cache.cache_dir()


def _make() -> Workplace | None:
    """Make the folder: beside the entries, where temporary files go, or in shared memory; where there is room."""
    kept = kernel_cache.folder_in_use(_kept_in())
    reasons = []
    caches = os.environ.get("POCL_KERNEL_CACHE", "1") != "0"
    made: list[tuple[int, Path]] = []
    for parent in (*([] if kept is None else [kept / disk_cache.RUNNING]), None, _SHARED_MEMORY):
        try:
            place = _folder(parent)
            room = disk_cache.room(place)
        except OSError as error:
            reasons.append(f"{parent or 'the temporary folder'}: {error.strerror or error}")
            continue
        if not _executes(place):
            reasons.append(f"{place.parent}: its file system is mounted noexec")
            disk_cache.remove_folder(place, os.getpid())
            continue
        made.append((min(room, _AMPLE), place))
        if room >= _AMPLE:
            break
    if not made:
        _MISSING[os.getpid()] = "; ".join(dict.fromkeys(reasons))
        return None
    _, best = max(made, key=lambda one: one[0])
    for _, place in made:
        if place != best:
            disk_cache.remove_folder(place, os.getpid())
    return Workplace(best, kept if caches else None)


def _folder(parent: Path | None) -> Path:
    if parent is None or parent is _SHARED_MEMORY:
        return disk_cache.make_running(parent or Path(tempfile.gettempdir()))
    disk_cache.make_private(parent)
    if not disk_cache.trusted(parent) or not disk_cache.trusted(parent.parent):
        raise PermissionError("it cannot be trusted")
    return disk_cache.make_running(parent)


def _executes(folder: Path) -> bool:
    """Tell whether shared libraries can be loaded from a folder."""
    return not os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0) if hasattr(os, "statvfs") else True


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """While OpenCL starts, have PoCL find a folder of this process's own; the environment is as before afterwards."""
    with _LOCK:
        process = os.getpid()
        if process not in _WORKPLACES and not loaded():
            made = _make()
            if made is not None:
                _WORKPLACES[process] = made
        place = _WORKPLACES.get(process)
        if place is None:
            yield
            return
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = str(place.path)
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(_VARIABLE, None)
            else:
                os.environ[_VARIABLE] = before


def disown() -> None:
    """Take what PoCL compiled so far, as when a device was asked for what it has, for no program's."""
    place = _WORKPLACES.get(os.getpid())
    if place is not None:
        place.disown()


def keeps() -> bool:
    """Tell whether what this process compiles is kept for others."""
    place = _WORKPLACES.get(os.getpid())
    return place is not None and place.store is not None


def has(info: DeviceInfo, options: str, source: str) -> bool:
    """Tell whether a program that some process compiled is kept."""
    place = _WORKPLACES.get(os.getpid())
    return place is not None and place.store is not None and kernel_cache.has(_key(info, options, source), place.store)


def not_needed() -> None:
    """Remove the folder again, because there is no PoCL here."""
    place = _WORKPLACES.pop(os.getpid(), None)
    if place is not None:
        atexit.unregister(place.close)
        place.close()


def loaded() -> bool:
    """Tell whether PoCL is in this process already."""
    try:
        return b"libpocl" in Path("/proc/self/maps").read_bytes()
    except OSError:
        return False


@contextlib.contextmanager
def building(info: DeviceInfo, options: str, source: str) -> Iterator[None]:
    """Have what PoCL compiled of a program before in place while it is built; does nothing for other platforms.

    Raises
    ------
    CompileError
        It failed, and PoCL has no folder, or cannot write it any more.
    """
    place = _WORKPLACES.get(os.getpid())
    if not is_pocl(info):
        yield
        return
    if place is None:
        try:
            yield
        except CompileError as error:
            if missing() is None:
                raise
            message = f"PoCL has no folder of its own to compile in ({missing()}): {error}"
            raise CompileError(message, source=error.source, log=error.log) from None
        return
    with _LOCK:
        try:
            with place.building(_key(info, options, source)):
                yield
        except CompileError as error:
            fault = disk_cache.unusable(place.path)
            if fault is None:
                raise
            message = f"PoCL's folder {place.path} is lost: {fault}"
            raise CompileError(message, source=error.source, log=error.log) from None


def _key(info: DeviceInfo, options: str, source: str) -> tuple[str, ...]:
    digest = hashlib.sha256(source.encode()).hexdigest()  # sources are long, and keys stay
    return ("pocl", digest, options, info.platform, info.name, info.driver, info.version, _processor())


@functools.cache
def _processor() -> str:
    """Return the name that an unknown processor gets; homes may be shared by several kinds of machines."""
    return pocl_cpu.nearest_name() or ""


def is_pocl(info: DeviceInfo) -> bool:
    """Tell whether a device is PoCL's."""
    return "Portable Computing" in info.platform or "PoCL" in info.version
