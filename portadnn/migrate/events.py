"""Calls of a library, as all readers give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from .. import mapping
from .older import older
from .program import Span
from .values import Value

Library = Literal["cudnn", "miopen"]


@dataclass(frozen=True)
class Place:
    """Where something is written: a file, and 1-based lines and columns (in characters); the end is behind the last.

    `start` and `end` are byte offsets in the file, -1 where there is no source to rewrite (logs, code from macros).
    """

    file: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0
    start: int = -1
    end: int = -1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @classmethod
    def of(cls, file: str, span: Span) -> Place:
        """Return the place of a span of a file."""
        return cls(file, span.line, span.column, span.end_line, span.end_column, span.start, span.end)


@dataclass(frozen=True)
class Argument:
    """An argument of a call: as it is written, what is known of its value, and where it stands.

    A pointer's `value` says what it points to as a path; `content` is what was there at the time of the call.
    """

    text: str
    value: Value
    content: Value | None = None
    place: Place | None = None

    @property
    def read(self) -> Value:
        """What a function that dereferences pointers reads: the content of a pointer, else the value."""
        return self.value if self.content is None else self.content


@dataclass(frozen=True, eq=False)
class Event:
    """A call of cuDNN or MIOpen.

    Attributes
    ----------
    number : int
        Of the call in its run of the reader, rising: later calls have higher ones. One place in a source may have
        several (loops, helper functions called from several places).
    function : str
        The name in C.
    arguments : tuple of Argument
        In order.
    place : Place
        Of the whole call expression, or the first line of it in a log.
    text : str
        The call as it is written.
    status : str
        How the program treats the returned status: ``"checked"``, ``"ignored"``, ``"returned"`` or ``"unknown"``; in
        logs the status itself where it was logged, such as ``"CUDNN_STATUS_SUCCESS"``.
    through : tuple of Place
        Calls of the program's own functions through which it was reached, the outermost first.
    turns : tuple of int
        The followings of the program's own functions that it is in, the outermost first.
    within : str
        The program's function that holds the call, qualified by its class; "" in logs.
    thread : str
        Which thread of control: of a log the process and thread, of sources the function where it starts.
    in_loop : bool
        Whether a loop of the program repeats it.
    moving : dict of str to str
        The variables of its function that each turn of a loop over groups moves on by some step, with what each is
        reckoned from: ``p`` from ``x`` in ``p = x + i * size``, else from itself.
    guards : int
        How many ``if``s are around it, those around the calls that lead to it too.
    version : str or None
        The library's version, where a log says it or a branch of the preprocessor demands it.
    origin : {"source", "log", "recording", "driver"}
    holder : str
        Of a call that makes or destroys something in a member of an object: the object's class; "" of others.
    followed : bool
        False of a call that following the program did not reach: nothing is known but its text.
    """

    number: int
    function: str
    arguments: tuple[Argument, ...]
    place: Place
    text: str = ""
    status: str = "unknown"
    through: tuple[Place, ...] = ()
    turns: tuple[int, ...] = ()
    within: str = ""
    thread: str = ""
    in_loop: bool = False
    moving: Mapping[str, str] = field(default_factory=dict, repr=False)
    guards: int = 0
    version: str | None = None
    origin: Literal["source", "log", "recording", "driver"] = "source"
    followed: bool = True
    holder: str = ""
    named: Mapping[str, Argument] | None = field(default=None, repr=False)  # logs name arguments themselves

    @property
    def library(self) -> Library:
        """Whose function it is."""
        return "miopen" if self.function.startswith("miopen") else "cudnn"

    @cached_property
    def declared(self) -> mapping.Function | None:
        """The function in the mapping table; None where the table does not know it."""
        return mapping.table().functions.get(self.function)

    @cached_property
    def parameters(self) -> tuple[mapping.Parameter, ...]:
        """The signature that the call follows: the newest one with as many parameters, an older one, or the newest."""
        if self.declared is None:
            return ()
        signatures = self.declared.signatures
        fitting = [s for s in signatures if len(s) == len(self.arguments)]
        return fitting[-1] if fitting else older(self.function, len(self.arguments)) or signatures[-1]

    @cached_property
    def by_name(self) -> Mapping[str, Argument]:
        """The arguments by the names of the parameters, as the mapping table has them."""
        given = dict(zip((p.name for p in self.parameters), self.arguments, strict=False))
        return {**given, **(self.named or {})}

    def argument(self, *names: str) -> Argument | None:
        """Return the argument for the first of these parameters that the function has; None where none was given."""
        for name in names:
            if name in self.by_name:
                return self.by_name[name]
        return None
