"""Rules of the profiles, read from rules.toml."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import errors
from .._io.toml import tomllib

FILE = Path(__file__).parent / "rules.toml"


@dataclass(frozen=True)
class Rule:
    """Rule of a library about its callers.

    Attributes
    ----------
    id : str
        K and a number for the porting guide's key differences; S, V and A as the migration rules count; F01 for
        functions that do not exist; T01 for what the capability table refuses and no migration rule names.
    title : str
        The mistake in a few words.
    profiles : tuple of str
        The libraries that it holds for.
    severity : {"E", "W!", "W"}
        The library reports an error; goes on with wrong numbers or broken memory; is slow, or fails at times.
    error : str
        The class of portadnn's errors that is raised in the mode "error"; "" if none is.
    message, fix : str
        What to say, with words in braces to be filled in.
    source : str
        Who says so.
    """

    id: str
    title: str
    profiles: tuple[str, ...]
    severity: str
    error: str
    message: str
    fix: str
    source: str

    @property
    def error_class(self) -> type[errors.DnnError] | None:
        """Return the error class raised in the mode "error"."""
        return getattr(errors, self.error) if self.error else None


@functools.cache
def _file() -> dict[str, dict[str, Any]]:
    return dict(tomllib.loads(FILE.read_text(encoding="utf-8")))


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Return all rules by id."""
    return {
        name: Rule(name, **{**entry, "profiles": tuple(entry["profiles"])})
        for name, entry in _file().items()
        if not name.startswith("advice")
    }


def advice(rule: str, facts: Iterable[str]) -> str:
    """Return the fix for a rule of a capability table, by the migration rule's id or its topic."""
    known = _file()
    about = [fact.rpartition(".")[2] for fact in facts]  # of w.layout the layout
    for texts, names in ((known["advice"], [rule]), (known["advice_on"], about)):
        for name in names:
            if name in texts:
                return str(texts[name])
    return "compute it with a kernel of your own, or with what the library has: portadnn caps lists it"
