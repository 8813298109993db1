"""Compiled kernels in one file, to be carried to machines of the same kind: ``portadnn cache export`` and ``import``.

The file is a ZIP archive: ``portadnn-kernels.json`` says what it is and where it is from, and every other member is an
entry of the kernel cache. Entries are found by a digest of source, compiler options, device and driver, so on another
kind of machine they are never used. They are machine code: whoever imports an archive trusts its maker.
"""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._version import __version__
from ..errors import BadParam, shown
from . import disk_cache
from .outside import open_regular, parse_json

NAME = re.compile(r"[0-9a-f]{64}\.bin", re.ASCII)  # of an entry
_MANIFEST = "portadnn-kernels.json"
_FORMAT = 1
_MOST_ENTRIES = 1 << 20
_MOST_MANIFEST = 1 << 16
_EXPECTED = "an archive of portadnn cache export"
_BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)


@dataclass(frozen=True)
class Moved:
    """How many entries were written, how many bytes they have, and how many were left out."""

    entries: int
    nbytes: int
    left_out: int = 0


def machine() -> dict[str, str]:
    """Return what machine code depends on at least."""
    return {"system": platform.system(), "machine": platform.machine()}


def export(folder: Path, path: Path) -> Moved:
    """Write all sound entries of a cache into an archive, which replaces a file of that name when it is whole.

    Raises
    ------
    OSError
        It cannot be written.
    """
    count = size = left = 0
    descriptor, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            facts = {"portadnn_kernels": _FORMAT, "portadnn": __version__, **machine()}
            archive.writestr(zipfile.ZipInfo(_MANIFEST), json.dumps(facts))
            for entry in sorted(disk_cache.entries(folder, ".bin"), key=lambda one: one.path.name):
                try:
                    content = entry.path.read_bytes()
                except OSError:  # another process removed it
                    continue
                if not NAME.fullmatch(entry.path.name) or not _sound(entry.path.name, content):
                    left += 1
                    continue
                archive.writestr(zipfile.ZipInfo(entry.path.name), content, zipfile.ZIP_DEFLATED)
                count, size = count + 1, size + len(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return Moved(count, size, left)


def import_(path: Path, folder: Path) -> Moved:
    """Add an archive's entries to a cache; those that are there already stay. Nothing is written unless all are sound.

    Raises
    ------
    BadParam
        It is no archive of kernels, is of another kind of machine, damaged, or larger than the cache may be.
    OSError
        It cannot be read, or an entry cannot be written.
    """
    with open_regular(path, "archive") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                names = _check(archive, str(path))
                for _ in _contents(archive, names, str(path)):  # each is whole
                    pass
                reason = disk_cache.unusable(folder)
                if reason is not None:
                    raise PermissionError(f"{folder}: {reason}")
                count = size = left = 0
                for name, content in _contents(archive, names, str(path)):
                    if (folder / name).is_file() and _sound(name, (folder / name).read_bytes()):
                        left += 1
                        continue
                    disk_cache.write_entry(folder, name, content)
                    count, size = count + 1, size + len(content)
        except _BROKEN as error:
            raise BadParam(argument=str(path), expected=_EXPECTED, got=str(error)) from None
    disk_cache.prune(folder, ".bin", disk_cache.size_limit())
    return Moved(count, size, left)


def _check(archive: zipfile.ZipFile, path: str) -> list[str]:
    """Return the names of an archive's entries."""
    members = archive.infolist()
    if strange := [one for one in members if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]:
        raise BadParam(argument=path, expected=_EXPECTED, got=f"compression of type {strange[0].compress_type}")
    if not members or members[0].filename != _MANIFEST or members[0].file_size > _MOST_MANIFEST:
        got = shown(members[0].filename) if members else "an empty archive"
        raise BadParam(argument=path, expected=f"{_EXPECTED}, which begins with {_MANIFEST}", got=got)
    facts = parse_json(archive.read(members[0]), f"{path}: {_MANIFEST}")
    _check_facts(facts if isinstance(facts, dict) else {}, path)
    names = [member.filename for member in members[1:]]
    for name in names:
        if not NAME.fullmatch(name):
            raise BadParam(argument=path, expected="entries named by 64 hexadecimal digits and .bin", got=shown(name))
    if len(set(names)) < len(names) or len(names) > _MOST_ENTRIES:
        raise BadParam(argument=path, expected=f"at most {_MOST_ENTRIES:,} entries, each once", got="more")
    size, limit = sum(member.file_size for member in members[1:]), disk_cache.size_limit()
    if size > limit:
        raise BadParam(argument=path, expected=f"at most {limit:,} bytes (PORTADNN_CACHE_SIZE)", got=f"{size:,} bytes")
    return names


def _check_facts(facts: dict[str, Any], path: str) -> None:
    if facts.get("portadnn_kernels") != _FORMAT:
        raise BadParam(argument=path, expected=f"format {_FORMAT}", got=shown(facts.get("portadnn_kernels")))
    for name, here in machine().items():
        if facts.get(name) != here:
            raise BadParam(
                argument=path, expected=f"kernels of a machine with {name} {here}", got=shown(facts.get(name))
            )


def _contents(archive: zipfile.ZipFile, names: list[str], path: str) -> Iterator[tuple[str, bytes]]:
    for name in names:
        content = archive.read(name)
        if not _sound(name, content):
            raise BadParam(argument=path, expected="sound entries", got=f"{name}, which is damaged")
        yield name, content


def _sound(name: str, content: bytes) -> bool:
    return disk_cache.kernel_payload(bytes.fromhex(name.removesuffix(".bin")), content) is not None
