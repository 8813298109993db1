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


class Program:
    """A compiled program.

    Attributes
    ----------
    native : object
        The device's own.
    text : callable
        Puts the source text together again.
    nbytes : int
        What it takes, roughly.
    """

    __slots__ = ("__weakref__", "native", "nbytes", "text")

    def __init__(self, native: Any, text: Callable[[], str], nbytes: int) -> None:
        self.native = native
        self.text = text
        self.nbytes = nbytes
        forking.register_fragile(self)


class Programs:
    """The programs of a device by the digest of their source."""

    def __init__(self) -> None:
        self._known: weakref.WeakValueDictionary[bytes, Program] = weakref.WeakValueDictionary()

    def get(
        self, file: str, dialect: str, defines: Defines, text: str, build: Callable[[str], tuple[Any, int]]
    ) -> Program:
        """Return the program of a kernel file, built if there is none; ``build(source)`` returns it with its size."""
        assemble = functools.partial(kernel_text.assemble, file, dialect, dict(defines), text)
        source = assemble()
        digest = hashlib.sha256(source.encode()).digest()
        program = self._known.get(digest)
        if program is None:
            native, nbytes = build(source)
            program = self._known[digest] = Program(native, assemble, nbytes)
        return program
