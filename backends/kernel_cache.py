"""On-disk cache of compiled kernels.

An entry is one file named by the hash of its key (source, options, device, driver, portadnn's format). It
begins with the key's and the payload's digests, so a truncated, foreign or altered file is recognised and
rebuilt. Files are written beside their place and renamed, so concurrent processes see a whole entry or none.
``PORTADNN_CACHE_DIR`` moves the cache; an empty value turns it off. An unwritable folder is not an error:
kernels are then compiled every time. A folder that others may write to is not used: see
:mod:`portadnn._io.disk_cache`. When the entries exceed ``PORTADNN_CACHE_SIZE``, the least recently used
ones are removed.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from portadnn._io import disk_cache

SUFFIX = ".bin"
_PRUNE_EVERY = 32  # entries that are stored between two looks at a folder's size, if it is half full


@dataclass
class _Usage:
    """What a process knows of a folder: the bytes of its entries, and how many it stored itself."""

    size: int
    stored: int = 1


_USAGE: dict[tuple[int, Path], _Usage] = {}  # by process and folder


def cache_dir() -> Path | None:
    """Return the cache's folder, or None when it is turned off."""
    return disk_cache.kernel_folder()


def folder_in_use(folder: Path | None) -> Path | None:
    """Return a folder, or a temporary one of this process's own where that one cannot be trusted."""
    if folder is None or disk_cache.trusted(folder):
        return folder
    try:
        return disk_cache.process_folder() / "kernels"
    except OSError:
        return None


def _digest(parts: tuple[str, ...]) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def load(key: tuple[str, ...], folder: Path | None = None) -> bytes | None:
    """Return the payload stored under `key`, or None when there is none that can be trusted.

    Raises
    ------
    BadParam
        ``PORTADNN_CACHE_SIZE`` is no size.
    """
    disk_cache.size_limit()
    folder = folder_in_use(folder or cache_dir())
    if folder is None:
        return None
    digest = _digest(key)
    path = folder / f"{digest.hex()}{SUFFIX}"
    try:
        payload = disk_cache.kernel_payload(digest, path.read_bytes())
    except OSError:
        return None
    if payload is not None:
        disk_cache.touch(path)
    return payload


def has(key: tuple[str, ...], folder: Path) -> bool:
    """Tell whether something is stored under `key` in a folder."""
    return (folder / f"{_digest(key).hex()}{SUFFIX}").is_file()


def store(key: tuple[str, ...], payload: bytes, folder: Path | None = None) -> None:
    """Store `payload` under `key`, replacing what was there.

    Raises
    ------
    BadParam
        ``PORTADNN_CACHE_SIZE`` is no size.
    """
    limit = disk_cache.size_limit()
    folder = folder_in_use(folder or cache_dir())
    if folder is None or len(payload) > limit:
        return
    digest = _digest(key)
    try:
        disk_cache.make_private(folder)
        if not disk_cache.trusted(folder):  # it came into being just now
            return
        disk_cache.write_entry(folder, f"{digest.hex()}{SUFFIX}", disk_cache.kernel_entry(digest, payload))
    except OSError:
        return
    _count(folder, limit, len(payload))


def _count(folder: Path, limit: int, size: int) -> None:
    """Prune a folder at the first entry that a process stores, every now and then, and when it exits.

    A look takes long where there are thousands of entries: later ones are left out while it is less than half full.
    """
    process = os.getpid()
    usage = _USAGE.get((process, folder))
    if usage is None:
        _USAGE[process, folder] = _Usage(disk_cache.prune(folder, SUFFIX, limit))
        return
    usage.size += size
    usage.stored += 1
    if usage.stored == 2:  # one alone was pruned with
        atexit.register(_prune, process, folder, limit)
    if usage.stored % _PRUNE_EVERY == 1:
        _prune(process, folder, limit)


def _prune(process: int, folder: Path, limit: int) -> None:
    usage = _USAGE.get((process, folder))
    if usage and process == os.getpid() and usage.size > limit // 2:
        usage.size = disk_cache.prune(folder, SUFFIX, limit)


@contextlib.contextmanager
def cupy_folder() -> Iterator[None]:
    """While CuPy is imported, point it to a temporary folder where it cannot make its own: the import would fail."""
    name = "CUPY_CACHE_DIR"
    before = os.environ.get(name)
    if importlib.util.find_spec("cupy") is not None:
        folder = before or os.path.expanduser("~/.cupy/kernel_cache")  # noqa: PTH111 - pathlib's raises without a home
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError:
            with contextlib.suppress(OSError):
                os.environ[name] = str(disk_cache.process_folder() / "cupy")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
