"""Sets of functions that rule files name in words: ``"cudnn* gone in 9"``."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate

from ... import mapping
from .. import versions
from ..events import Library
from ..model.kinds import destroyer_of
from ..names import function_offered, in_portadnn, shared_enumerations
from .problems import posed


def functions(library: Library, patterns: Sequence[str]) -> Iterator[str]:
    """Yield the functions that some patterns stand for, each a name with stars and perhaps one of `WORDS`.

    Raises
    ------
    ValueError
        One stands for none.
    """
    for words in patterns:
        yield from _chosen(library, words)


@functools.cache
def _chosen(library: Library, words: str) -> tuple[str, ...]:
    """Return the functions that one pattern stands for: many rules are about the same."""
    pattern, _, rest = words.partition(" ")
    if rest and rest not in WORDS:
        raise ValueError(f"{rest!r} is none of {', '.join(WORDS)}")
    fits = re.compile(translate(pattern)).match
    known = (f.name for f in mapping.table().functions.values() if f.library == library)
    chosen = tuple(name for name in known if fits(name) and (not rest or _is(name, WORDS[rest])))
    if not chosen:
        raise ValueError(f"no function of {library} is called {words!r}")
    return chosen


def _is(name: str, test: Callable[[mapping.Function], bool]) -> bool:
    declared = mapping.table().functions.get(name)
    return declared is not None and test(declared)


def gone(function: mapping.Function) -> bool:
    """Tell whether cuDNN 9 does not have a function."""
    return function.removed is not None or versions.numbers(function.headers[1]) < versions.numbers("9")


def _late(function: mapping.Function) -> bool:
    """Tell whether what stands for a function came to MIOpen after 1.8, or never."""
    return not any(function_offered(f, "miopen-1") for f in mapping.table().by_cudnn[function.name].miopen)


WORDS: dict[str, Callable[[mapping.Function], bool]] = {
    "gone in 9": gone,
    "not in MIOpen 1": _late,
    "not in portadnn": lambda f: not in_portadnn(f.name),
    "with older signatures": lambda f: bool(f.changes) and not gone(f),
    "that have a destroyer": lambda f: bool(destroyer_of(f.name)),
    "that compute": lambda f: f.name in posed("cudnn"),
    "with enumerators": lambda f: any(p.type in shared_enumerations() for p in f.latest),
}
