"""Finds what is to be checked: files, folders, standard input, the files of ``compile_commands.json``."""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pathspec import GitIgnoreSpec

from ..._io.outside import is_open_pipe, kind_of
from ...errors import BadParam, shown
from ..program import Skipped
from ..selection import check_patterns
from . import compilation
from .file_kinds import HEAD, Kind, is_embedding, is_other, may_be_read
from .file_kinds import kind_of as kind_of_source
from .gitignore import Ignored

LARGEST = 64 << 20  # bytes of a source; logs and recordings are read piece by piece
PATIENCE = 5.0  # seconds that somebody may take to begin to write to a named pipe
_FOLDERS = frozenset(
    (".git", ".hg", ".svn", ".bzr", "node_modules", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache",
     ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints", ".eggs", "CMakeFiles", ".idea", ".vs", ".vscode",
     ".ccls-cache", ".cache")
)  # fmt: skip
_PRODUCTS = ("CMakeCache.txt", "pyvenv.cfg", "build.ninja", ".ninja_log", "config.status")  # mark folders of products


@dataclass(frozen=True)
class Found:
    """A file to check.

    Attributes
    ----------
    shown : str
        How it is called in reports: as it was given, or below what was given.
    kind : {"c++", "python", "log", "recording"}
    path : Path or None
        Where it is; None of standard input and pipes, of which `stream` is what was not read yet, and of what is at
        hand as a `text`.
    defines : dict of str to str
        Macros of its compiler's command line.
    """

    shown: str
    kind: Kind
    path: Path | None = None
    defines: Mapping[str, str] = field(default_factory=dict)
    stream: BinaryIO | None = None
    text: bytes | None = None

    @property
    def size(self) -> int:
        """How many bytes it has; 0 where that is not known."""
        if self.text is not None:
            return len(self.text)
        try:
            return 0 if self.path is None else self.path.stat().st_size
        except OSError:
            return 0

    def open(self) -> BinaryIO:
        """Open it for reading; a pipe can be opened once."""
        if self.stream is not None:
            return self.stream
        assert self.path is not None
        return self.path.open("rb")

    def read(self) -> bytes:
        """Return the whole content.

        Raises
        ------
        OSError
            It cannot be read, or has more than `LARGEST` bytes.
        """
        if self.text is not None:
            return self.text
        with self.open() as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise OSError(errno.EFBIG, f"larger than {LARGEST >> 20} MiB")
        return data


@dataclass
class Discovered:
    """What was found, in a stable order; what could not be read, and what was left out as not the project's own.

    `others` are sources in languages that are not read, `rest` files of folders that are no sources by their names.
    """

    found: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    ignored: list[Skipped] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)
    rest: list[Path] = field(default_factory=list)


def sources(
    paths: Sequence[str | os.PathLike[str]],
    *,
    exclude: Sequence[str] = (),
    gitignore: bool = True,
    largest: int = LARGEST,
    stdin: BinaryIO | None = None,
    stdin_name: str = "<stdin>",
) -> Discovered:
    """Find what is to be checked.

    Parameters
    ----------
    paths : sequence of str or path
        Files of any name, folders, ``compile_commands.json``, ``"-"`` for standard input.
    exclude : sequence of str
        Patterns as in .gitignore of what is left out in the folders that are given.
    gitignore : bool
        Whether to leave out what git ignores.
    largest : int
        Bytes; a larger source is skipped.
    stdin : binary stream, optional
        What ``"-"`` reads.
    stdin_name : str
        What it is called; what this ends with tells the language.

    Raises
    ------
    BadParam
        A path does not exist, is a device or a pipe that nobody writes to, or a ``compile_commands.json`` is none; or a
        pattern is none.
    """
    search = _Search(check_patterns(exclude, "exclude"), gitignore, largest)
    for given in paths:
        name = os.fspath(given)
        if name == "-":
            search.pipe(stdin_name, stdin or sys.stdin.buffer)
            continue
        path = Path(name)
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise BadParam(
                argument="paths", expected="files and folders that exist", got=f"{name}: {_why(error)}"
            ) from None
        except ValueError:  # a NUL
            raise BadParam(argument="paths", expected="files and folders that exist", got=shown(name)) from None
        if stat.S_ISDIR(mode):
            search.folder(path)
        elif path.name == "compile_commands.json":
            search.commands(compile_commands(path))
        elif stat.S_ISREG(mode):
            search.file(path, given=True)
        else:
            search.pipe(name, _pipe(name, mode))
    return search.result


def _pipe(name: str, mode: int) -> BinaryIO:
    """Open a named pipe that somebody writes to, or what a shell has opened."""
    if is_open_pipe(name):
        return io.BufferedReader(io.FileIO(name))
    if not stat.S_ISFIFO(mode):
        raise BadParam(argument="paths", expected="files, folders and pipes", got=f"{name}, {kind_of(mode)}")
    try:
        number = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise BadParam(argument="paths", expected="files that can be read", got=f"{name}: {_why(error)}") from None
    ready = select.poll()
    ready.register(number, select.POLLIN)
    try:
        written = bool(ready.poll(PATIENCE * 1000)) or _has_writer(number)
    except BaseException:
        os.close(number)
        raise
    if not written:
        os.close(number)
        raise BadParam(argument="paths", expected="pipes that somebody writes to", got=f"{name}, to which nobody does")
    os.set_blocking(number, True)
    return os.fdopen(number, "rb")


def _has_writer(number: int) -> bool:
    """Tell whether an empty pipe is open for writing."""
    try:
        os.read(number, 1)
    except BlockingIOError:
        return True
    return False


def compile_commands(path: str | os.PathLike[str]) -> list[Found]:
    """Return the files of a ``compile_commands.json``, and the project's headers that they include, with their macros.

    Raises
    ------
    BadParam
        It cannot be read, or is not such a file.
    """
    shown: dict[str, Found] = {}
    for file, defines in compilation.files(Path(path)):
        try:
            name = os.path.relpath(file)
        except ValueError:  # another drive
            name = str(file)
        name = str(file) if name.startswith("..") else name
        shown.setdefault(name, Found(name, "c++", file, defines))
    return list(shown.values())


class _Search:
    def __init__(self, exclude: GitIgnoreSpec, gitignore: bool, largest: int) -> None:
        self.exclude = exclude
        self.gitignore = gitignore
        self.largest = largest
        self.result = Discovered()
        self.seen: set[tuple[int, int]] = set()  # files and folders, by device and inode
        self.links: list[tuple[Path, Path, Ignored]] = []  # to folders: followed last, so that real ones come first

    def pipe(self, name: str, stream: BinaryIO) -> None:
        """Take standard input or a named pipe."""
        buffered: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        try:
            head = buffered.peek(HEAD)[:HEAD]
        except OSError as error:
            self.result.skipped.append(Skipped(name, _why(error)))
            return
        kind = kind_of_source(name, head)
        if kind is None and b"\0" in head:
            self.result.skipped.append(Skipped(name, "binary"))
            return
        self.result.found.append(Found(name, kind or "c++", None, {}, buffered))

    def commands(self, found: list[Found]) -> None:
        """Take the files of a ``compile_commands.json``."""
        for one in found:
            assert one.path is not None
            self.file(one.path, given=False, shown=one.shown, defines=one.defines)

    def file(
        self, path: Path, *, given: bool, shown: str | None = None, defines: Mapping[str, str] | None = None
    ) -> None:
        """Take a file, if it is one to check; one that was `given` by the user may have any name."""
        name = str(path) if shown is None else shown
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                self.result.skipped.append(Skipped(name, "not a regular file"))
                return
            identity = (status.st_dev, status.st_ino)
            if identity in self.seen and status.st_ino:
                return
            with path.open("rb") as stream:
                head = stream.read(HEAD)
        except ValueError:  # a NUL
            self.result.skipped.append(Skipped(name, "no path"))
            return
        except OSError as error:
            broken = error.errno == errno.ENOENT and path.is_symlink()
            self.result.skipped.append(Skipped(name, "a broken symbolic link" if broken else _why(error)))
            return
        kind = kind_of_source(name, head)
        if not given and kind in ("c++", "python") and not may_be_source(name):
            kind = None
        if kind is None:
            if given:
                self.result.skipped.append(Skipped(name, "neither a source nor a log nor a recording"))
            else:
                self.result.rest.append(path)
            return
        self.seen.add(identity)
        if kind in ("c++", "python") and status.st_size > self.largest:
            size = (
                f"larger than {self.largest >> 20} MiB" if self.largest >> 20 else f"larger than {self.largest} bytes"
            )
            self.result.skipped.append(Skipped(name, size))
            return
        self.result.found.append(Found(name, kind, path, defines or {}))

    def folder(self, folder: Path) -> None:
        """Take all that is to be checked in a folder."""
        rules = Ignored.above(folder) if self.gitignore else Ignored()
        first = len(self.result.found)
        self._walk(folder, folder, rules)
        while self.links:
            path, root, around = self.links.pop(0)
            self._walk(path, root, around)
        self.result.found[first:] = sorted(self.result.found[first:], key=lambda one: Path(one.shown).parts)

    def _walk(self, start: Path, root: Path, rules: Ignored) -> None:
        pending = [(start, rules)]
        while pending:
            folder, around = pending.pop()
            try:
                status = folder.stat()
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                self.result.skipped.append(Skipped(str(folder), _why(error)))
                continue
            identity = (status.st_dev, status.st_ino)
            if identity in self.seen and status.st_ino:
                continue
            self.seen.add(identity)
            inside = around.within(folder) if self.gitignore else around
            pending += reversed(list(self._entries(entries, root, inside)))

    def _entries(self, entries: list[os.DirEntry[str]], root: Path, rules: Ignored) -> Iterator[tuple[Path, Ignored]]:
        """Take the files among a folder's entries; yield the folders to go into."""
        for entry in entries:
            path = Path(entry.path)
            try:
                is_folder, is_link = entry.is_dir(), entry.is_symlink()
            except OSError as error:  # a loop of symbolic links
                self.result.skipped.append(Skipped(entry.path, _why(error)))
                continue
            other = not is_folder and is_other(entry.name)
            if not is_folder and not other and not may_be_read(entry.name):
                self.result.rest.append(path)
                continue
            reason = self._left_out(path, root, is_folder, rules)
            if other and not reason:
                self.result.others.append(path)
            if other and (reason or not is_embedding(entry.name)):
                continue
            if reason:
                self.result.ignored.append(Skipped(entry.path, reason))
            elif not is_folder:
                self.file(path, given=False)
            elif is_link:
                self.links.append((path, root, rules))
            else:
                yield path, rules

    def _left_out(self, path: Path, root: Path, is_folder: bool, rules: Ignored) -> str:
        if is_folder:
            if path.name in _FOLDERS or path.name.startswith("cmake-build-"):
                return "not a folder of sources"
            built_here = (path / "CMakeLists.txt").exists()  # with its products among the sources
            if not built_here and any((path / product).exists() for product in _PRODUCTS):
                return "a folder of build products"
        name = path.relative_to(root).as_posix() + ("/" if is_folder else "")
        if self.exclude.match_file(name):
            return "excluded"
        return "ignored by git" if rules.ignores(path, is_folder) else ""


def may_be_source(name: str) -> bool:
    """Tell whether a file's name says that it is a source."""
    return kind_of_source(name, b"") is not None


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
