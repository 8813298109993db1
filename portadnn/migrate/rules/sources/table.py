"""What rules say of sources where no call shows it: tables of types, dropped arguments, tests of a status."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ...findings import Certainty
from ...program import Span, Unit
from .. import registry


@dataclass(frozen=True)
class SourceHit:
    """What a check of sources answers: where, how certain, what fills the braces, and the function that it is about."""

    span: Span
    certainty: Certainty = "proven"
    words: Mapping[str, str] = field(default_factory=dict)
    function: str = ""


Look = Callable[[Unit], Iterator[SourceHit]]


@dataclass(frozen=True)
class SourceCheck:
    """A function that looks at a source file; as :class:`registry.Check`, which looks at calls."""

    name: str
    look: Look
    words: tuple[str, ...]


_CHECKS: dict[str, SourceCheck] = {}


def source_check(*words: str) -> Callable[[Look], Look]:
    """Register a function under its name; `words` are those that all of its hits have."""

    def register(look: Look) -> Look:
        if look.__name__ in _CHECKS:
            raise ValueError(f"two checks are called {look.__name__}")
        _CHECKS[look.__name__] = SourceCheck(look.__name__, look, words)
        return look

    return register


@functools.cache
def source_checks() -> Mapping[str, SourceCheck]:
    """Return all checks of sources: those of the modules of this folder."""
    registry.load("sources")
    return _CHECKS
