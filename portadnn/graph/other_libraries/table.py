"""Libraries and their support surfaces, read from TOML."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ..._io.toml import tomllib
from ...errors import shown
from ..rules import fail

Capability: TypeAlias = tuple[int, int]
_CONDITION = re.compile(r"(>=|<=|==|!=|<|>)(\d+)\.(\d+)")
_FOLDER = Path(__file__).parent
_OF_RULES = ("id", "check", "says", "source", "cc", "for", "only_with")


def cc_fits(condition: str, cc: Capability) -> bool:
    """Tell whether a compute capability fulfils all parts of ``">=8.0 !=8.9"``."""
    for sign, major, minor in _CONDITION.findall(condition):
        wanted = int(major), int(minor)
        order = (cc > wanted) - (cc < wanted)
        signs = {0: (">=", "<=", "=="), 1: (">=", ">", "!="), -1: ("<=", "<", "!=")}
        if sign not in signs[order]:
            return False
    return True


@dataclass(frozen=True)
class SurfaceRule:
    """A rule of a surface.

    Attributes
    ----------
    id : str
        Unique in the library.
    check : str
        Name of a predicate.
    says, source : str
        What graphs have to be like, and where that is said.
    cc : str
        Compute capabilities that the rule is for; all where empty.
    kinds : tuple of str
        Main operations that the rule is for; all where empty.
    only_with : str
        "before" or "after": the rule is for graphs with operations there.
    arguments : dict
        For the predicate.
    """

    id: str
    check: str
    says: str
    source: str
    cc: str = ""
    kinds: tuple[str, ...] = ()
    only_with: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Surface:
    """Graphs of one form that a library takes.

    Attributes
    ----------
    name, source : str
    pattern : tuple of str
        Nodes, as :mod:`.matching` reads them; empty where `main` says what there is.
    main : tuple of str
        Kinds of operation of which there is one; "" where there may be none.
    before, after : tuple of str
        Kinds of operation before and after it.
    cc : str
        Compute capabilities, such as ``">=8.0 !=8.9"``.
    rules : tuple of SurfaceRule
    """

    name: str
    source: str
    pattern: tuple[str, ...]
    main: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    cc: str
    rules: tuple[SurfaceRule, ...]


@dataclass(frozen=True)
class Library:
    """A library with its surfaces.

    Attributes
    ----------
    name, title : str
    sources : dict of str to str
        What the first words of rules' sources stand for.
    undocumented : dict of str to str
        Kinds of operation of which no source says what is taken, with the reason.
    surfaces : tuple of Surface
    """

    name: str
    title: str
    sources: Mapping[str, str]
    undocumented: Mapping[str, str]
    surfaces: tuple[Surface, ...]

    @property
    def rules(self) -> tuple[SurfaceRule, ...]:
        """All rules of all surfaces."""
        return tuple(rule for surface in self.surfaces for rule in surface.rules)


def libraries() -> list[str]:
    """Return the names of all libraries."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@functools.cache
def library(name: str) -> Library:
    """Return a library by name; a version may be more exact than the file's, as in ``"cudnn-9.20"``.

    Raises
    ------
    InvalidValue
        There is no such library (PG-SURFACE-001).
    """
    known = next((stem for stem in libraries() if name == stem or name.startswith(f"{stem}.")), None)
    if known is None and f"{name}-" in "".join(f"{stem}-" for stem in libraries()):
        known = next(stem for stem in libraries() if stem.rpartition("-")[0] == name)
    if known is None:
        raise fail("PG-SURFACE-001", argument="library", expected=", ".join(libraries()), got=shown(name))
    read = tomllib.loads((_FOLDER / f"{known}.toml").read_text(encoding="utf-8"))
    common = read.get("common", {})
    surfaces = tuple(_surface(one, common) for one in read["surface"])
    return Library(known, read["title"], read["sources"], read.get("undocumented", {}), surfaces)


def _surface(read: Mapping[str, Any], common: Mapping[str, Any]) -> Surface:
    rules = [*(rule for group in read.get("include", ()) for rule in common[group]), *read.get("rule", ())]
    prefix = read.get("prefix", "")
    return Surface(
        read["name"],
        read["source"],
        tuple(read.get("pattern", ())),
        tuple(read.get("main", ())),
        tuple(read.get("before", ())),
        tuple(read.get("after", ())),
        read.get("cc", ""),
        tuple(_rule(rule, prefix, read["source"]) for rule in rules),
    )


def _rule(read: Mapping[str, Any], prefix: str, source: str) -> SurfaceRule:
    arguments = {name: value for name, value in read.items() if name not in _OF_RULES}
    return SurfaceRule(
        f"{prefix}{read['id']}",
        read["check"],
        read["says"],
        read.get("source", source),
        read.get("cc", ""),
        tuple(read.get("for", ())),
        read.get("only_with", ""),
        arguments,
    )
