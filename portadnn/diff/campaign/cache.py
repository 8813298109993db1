"""Exact results that were expensive to compute, kept on disk for the next campaign.

An entry's name says what it is of: the case's line, its data, and all source that decides inputs and exact results.
It is written whole under another name and then renamed, so that any number of processes may share a folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._io.disk_cache import kernel_folder, make_private, trusted
from ..._io.outside import open_regular
from ..._version import __version__
from ...registry import package_folder
from ..cases import Case
from ..inputs import Buffers
from ..oracle import oracle
from ..verdict import Expected, expect

EXPENSIVE = 0.05  # seconds from which on a result is kept; reading one back takes a few milliseconds
LARGEST = 512 << 20  # bytes of a folder, by default
_SWEEP = 32  # entries that are written between two looks at a folder's size
_SUFFIX = ".npz"


def default_folder() -> Path | None:
    """Return the folder below portadnn's cache; None where there is none, or ``PORTADNN_CACHE_DIR`` is empty."""
    kernels = kernel_folder()
    if kernels is None:
        return None
    return (kernels if os.environ.get("PORTADNN_CACHE_DIR") else kernels.parent) / "exact"


@functools.cache
def sources_digest() -> str:
    """Return a hash of all source that decides what cases feed and what is due for them."""
    digest = hashlib.sha256(f"{__version__} {np.__version__}".encode())
    oracle_module = sys.modules[type(oracle()).__module__]
    packages = {__name__.partition(".")[0], oracle_module.__name__.partition(".")[0]}
    for package in sorted(packages):
        folder = package_folder(package)
        for path in sorted(folder.rglob("*.py")) if folder is not None else ():
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


class ExactResults:
    """A folder of exact results, bounded in size.

    Parameters
    ----------
    folder
        Made where it is missing. One that cannot be written, or that others may write to, is no error: nothing is kept.
    largest
        Bytes; the entries that were not used for the longest time go first.
    expensive
        Seconds from which on a result is worth keeping.
    """

    def __init__(self, folder: Path, *, largest: int = LARGEST, expensive: float = EXPENSIVE) -> None:
        self.folder = folder
        self.largest = largest
        self.expensive = expensive
        self._written = 0

    def expect(self, case: Case, buffers: Buffers) -> Expected:
        """Return what :func:`portadnn.diff.verdict.expect` does, from the folder where it is there."""
        if not trusted(self.folder):
            return expect(case, buffers)
        path = self.folder / f"{_name(case)}{_SUFFIX}"
        found = _read(path)
        if found is not None:
            return found
        began = time.perf_counter()
        made = expect(case, buffers)
        if time.perf_counter() - began >= self.expensive:
            self._write(path, made)
        return made

    def _write(self, path: Path, made: Expected) -> None:
        arrays = {f"want.{name}": value for name, value in made.want.items()}
        arrays |= {f"sums.{name}": value for name, value in (made.sums or {}).items()}
        about = np.array([made.product, made.sums is not None])
        with contextlib.suppress(OSError):
            make_private(self.folder)
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".new", delete=False) as file:
                try:
                    np.savez(file, about=about, **arrays)  # type: ignore[arg-type]  # names are no parameters
                    file.close()
                    Path(file.name).replace(path)
                finally:
                    Path(file.name).unlink(missing_ok=True)
            if self._written % _SWEEP == 0:
                self._sweep()
            self._written += 1

    def _sweep(self) -> None:
        """Remove the entries that were not used for the longest time, and what a killed process left half written."""
        entries = []
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):  # another process removed it
                found = path.stat()
                if path.suffix == _SUFFIX:
                    entries.append((found.st_mtime, found.st_size, path))
                elif path.suffix == ".new" and time.time() - found.st_mtime > 3600:
                    path.unlink()
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.largest:
                break
            path.unlink(missing_ok=True)
            total -= size


def _name(case: Case) -> str:
    text = f"{replace(case, algo='', engine='')}\n{sources_digest()}"
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> Expected | None:
    """Return an entry; None where there is none that is whole."""
    try:
        with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST:
                return None
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as file:
                arrays: dict[str, npt.NDArray[Any]] = {name: file[name] for name in file.files}
        product, judged = arrays.pop("about")
        parts: dict[str, dict[str, npt.NDArray[Any]]] = {"want": {}, "sums": {}}
        for name, value in arrays.items():
            kind, _, tensor = name.partition(".")
            parts[kind][tensor] = value
    except FileNotFoundError:
        return None
    except Exception:  # of a dozen kinds, as zipfile and NumPy meet damage
        return None  # it is computed and written again
    with contextlib.suppress(OSError):
        os.utime(path)
    return Expected(parts["want"], parts["sums"] if judged else None, float(product))
