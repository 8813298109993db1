"""Sets of functions that rule files name in words: ``"cudnn* gone in 9"``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from ... import mapping
from ..events import Library
from . import targets
from .problems import OPERATIONS

GRAPH_API = tuple(  # which the mapping table does not have
    f"cudnnBackend{name}"
    for name in (
        *("CreateDescriptor", "DestroyDescriptor", "Initialize", "Finalize", "SetAttribute", "GetAttribute"),
        *("Execute", "PopulateCudaGraph", "UpdateCudaGraph"),
    )
)


def functions(library: Library, patterns: Sequence[str]) -> Iterator[str]:
    """Yield the functions that some patterns stand for, each a name with stars and perhaps one of `WORDS`.

    Raises
    ------
    ValueError
        One stands for none.
    """
    known = [f.name for f in mapping.table().functions.values() if f.library == library]
    known += GRAPH_API if library == "cudnn" else ()
    for words in patterns:
        pattern, _, rest = words.partition(" ")
        if rest and rest not in WORDS:
            raise ValueError(f"{rest!r} is none of {', '.join(WORDS)}")
        chosen = [name for name in known if fnmatchcase(name, pattern) and (not rest or _is(name, WORDS[rest]))]
        if not chosen:
            raise ValueError(f"no function of {library} is called {words!r}")
        yield from chosen


def _is(name: str, test: Callable[[mapping.Function], bool]) -> bool:
    declared = mapping.table().functions.get(name)
    return declared is not None and test(declared)


def gone(function: mapping.Function) -> bool:
    """Tell whether cuDNN 9 does not have a function."""
    return function.removed is not None or targets.version(function.headers[1]) < targets.version("9")


@functools.cache
def rows() -> Mapping[str, mapping.Row]:
    """Return the rows of the mapping table by cuDNN's functions."""
    return {row.cudnn.name: row for row in mapping.table().rows if row.cudnn}


def _late(function: mapping.Function) -> bool:
    """Tell whether what stands for a function came to MIOpen after 1.8, or never."""
    first = [f.headers[0].removeprefix("rocm-") for f in rows()[function.name].miopen]
    return all(targets.version(version) > targets.version("1.8") for version in first)


@functools.cache
def _shared() -> frozenset[str]:
    return frozenset(e.cudnn for e in mapping.table().enumerations if e.cudnn and e.miopen)


WORDS: dict[str, Callable[[mapping.Function], bool]] = {
    "gone in 9": gone,
    "not in MIOpen 1": _late,
    "not in portadnn": lambda f: not rows()[f.name].portadnn,
    "with older signatures": lambda f: bool(f.changes) and not gone(f),
    "that compute": lambda f: f.name in OPERATIONS,
    "with enumerators": lambda f: any(p.type in _shared() for p in f.latest),
}
