"""What rules say in code, by the names in the rule files: functions that look at situations, sources or graphs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..frontend.judge import Judged
from ..program import Unit
from .situation import GraphHit, Hit, Situation, SourceHit

Look = TypeVar("Look", bound=Callable[..., Iterator[Any]])


@dataclass(frozen=True)
class Check(Generic[Look]):
    """A function that yields a :class:`Hit`, or another kind of it, for everything wrong with what it looks at.

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


class Registry(Generic[Look]):
    """Checks of one kind: a decorator for functions of the modules of one folder beside this file."""

    def __init__(self, folder: str) -> None:
        self._folder, self._checks, self._loaded = folder, dict[str, Check[Look]](), False

    def __call__(self, *words: str) -> Callable[[Look], Look]:
        """Register a function under its name; `words` are those that all of its hits have."""

        def register(look: Look) -> Look:
            name = look.__name__
            if name in self._checks:
                raise ValueError(f"two checks are called {name}")
            self._checks[name] = Check(name, look, words)
            return look

        return register

    def all(self) -> Mapping[str, Check[Look]]:
        """Return all checks, by name: importing a module registers what is in it."""
        if not self._loaded:
            package = f"{__name__.rpartition('.')[0]}.{self._folder}"
            for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
                importlib.import_module(f"{package}.{module.name}")
            self._loaded = True
        return self._checks


CallCheck = Check[Callable[[Situation], Iterator[Hit]]]
SourceCheck = Check[Callable[[Unit], Iterator[SourceHit]]]
GraphCheck = Check[Callable[[Judged], Iterator[GraphHit]]]
check = Registry[Callable[[Situation], Iterator[Hit]]]("checks")
source_check = Registry[Callable[[Unit], Iterator[SourceHit]]]("sources")
graph_check = Registry[Callable[[Judged], Iterator[GraphHit]]]("graphs")
