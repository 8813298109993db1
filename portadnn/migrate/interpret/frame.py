"""A function while it is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model.state import State
from ..program import Function, Unit
from ..values import Value


@dataclass
class Frame:
    """A function while it is followed.

    Attributes
    ----------
    turn : int
        Number of this following: variables of the function carry it in their paths.
    this : str
        Path of the object whose method it is; "" elsewhere.
    scopes : list of dict of str to str
        The variables that are visible, by name: their paths. The innermost scope last.
    returned : list of (State, Value)
        What held at each return.
    """

    turn: int
    unit: Unit
    label: str
    function: Function | None = None
    this: str = ""
    this_class: str = ""
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])
    returned: list[tuple[State, Value]] = field(default_factory=list)
    gotos: list[State] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    objects: list[tuple[str, str]] = field(default_factory=list)  # with destructors: path and class
    read_names: frozenset[str] | None = None
    packs: dict[str, int] = field(default_factory=dict)  # how many arguments ``args...`` stands for
    pack_texts: dict[str, str] = field(default_factory=dict)  # and how the caller writes each
    generic: dict[str, str] = field(default_factory=dict)  # what a template's parameters stand for
    decided: dict[str, dict[str, frozenset[Value]]] = field(default_factory=dict)  # what a condition rules out
    moving: Mapping[str, str] = field(default_factory=dict)  # what each turn of its loops moves on: `Event.moving`

    def path_of(self, name: str) -> str | None:
        """Return the path of a local variable."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None
