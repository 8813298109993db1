"""What rules say in code: functions that look at a situation, by the names that the rule files use."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .situation import Hit, Situation

Look = Callable[[Situation], Iterator[Hit]]


@dataclass(frozen=True)
class Check:
    """A function that yields a :class:`Hit` for everything wrong with a call.

    Attributes
    ----------
    name : str
        What rule files call it: the function's name.
    look : callable
    words : tuple of str
        The words that all of its hits bring for the message and the fix.
    """

    name: str
    look: Look
    words: tuple[str, ...]


_CHECKS: dict[str, Check] = {}


def check(*words: str) -> Callable[[Look], Look]:
    """Register a function under its name; `words` are those that all of its hits have."""

    def register(look: Look) -> Look:
        name = look.__name__
        if name in _CHECKS:
            raise ValueError(f"two checks are called {name}")
        _CHECKS[name] = Check(name, look, words)
        return look

    return register


@functools.cache
def checks() -> Mapping[str, Check]:
    """Return all checks: those of the modules of ``checks/``."""
    load("checks")
    return _CHECKS


def load(folder: str) -> None:
    """Import the modules of a folder beside this file: what is in them registers itself."""
    package = f"{__name__.rpartition('.')[0]}.{folder}"
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
