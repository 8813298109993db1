"""Compiled programs of a device, each once: kept as long as a kernel of theirs is, without their texts."""

from __future__ import annotations

import functools
import hashlib
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from portadnn import forking

from . import kernel_text

Defines = Mapping[str, int | float | str]
Finish = Callable[[], tuple[Any, int]]  # returns the device's own program, and what it takes in bytes


class Program:
    """A compiled program, or one that is being built: whoever asks for it waits.

    Parameters
    ----------
    native : object
        The device's own; None with `finish`.
    text : callable
        Puts the source text together again.
    nbytes : int
        What it takes, roughly.
    finish : callable, optional
        Waits for a build that was started, and returns `native` and `nbytes`; raises CompileError.
    """

    __slots__ = ("__weakref__", "_finish", "_native", "_nbytes", "text")

    def __init__(self, native: Any, text: Callable[[], str], nbytes: int, finish: Finish | None = None) -> None:
        self._native = native
        self._nbytes = nbytes
        self._finish = finish
        self.text = text
        forking.register_fragile(self)

    def _wait(self) -> None:
        if self._finish is not None:
            self._native, self._nbytes = self._finish()
            self._finish = None

    @property
    def native(self) -> Any:
        """The device's own program."""
        self._wait()
        return self._native

    @property
    def nbytes(self) -> int:
        """What it takes, roughly."""
        self._wait()
        return self._nbytes


class Programs:
    """The programs of a device by the digest of their source."""

    def __init__(self) -> None:
        self._known: weakref.WeakValueDictionary[bytes, Program] = weakref.WeakValueDictionary()

    def get(
        self, file: str, dialect: str, defines: Defines, text: str, build: Callable[[str], tuple[Any, int] | Finish]
    ) -> Program:
        """Return the program of a kernel file.

        If there is none, ``build(source)`` returns it with its size, or starts to build it and returns what waits.
        """
        assemble = functools.partial(kernel_text.assemble, file, dialect, dict(defines), text)
        source = assemble()
        digest = hashlib.sha256(source.encode()).digest()
        program = self._known.get(digest)
        if program is None:
            built = build(source)
            program = Program(None, assemble, 0, built) if callable(built) else Program(built[0], assemble, built[1])
            self._known[digest] = program
        return program
