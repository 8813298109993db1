"""What the program sets on descriptors that are members, wherever the objects are that hold them."""

from __future__ import annotations

import re

from ..model.state import Thing
from ..values import POSSIBLY, Value, join


class KeptSettings:
    """Modes, formats and types by the member that holds the descriptor.

    A factory sets the descriptors of an object and hands it over in a ``shared_ptr``; who gets it from a list of
    layers has not seen that. Where all calls set a member's descriptor to the same constant, it possibly has it.
    """

    def __init__(self) -> None:
        self._set: dict[tuple[str, str], dict[str, set[str]]] = {}

    def note(self, class_name: str, thing: Thing) -> None:
        """Note what a descriptor in a member of a class was set to."""
        fields = self._set.setdefault((class_name, _member(thing.id)), {})
        for name, value in thing.fields.items():
            constants = {option.data for option in value.options if option.kind == "known"}
            if len(constants) == len(value.options) and all(isinstance(one, str) for one in constants):
                fields.setdefault(name, set()).update(constants)

    def of(self, class_name: str, path: str) -> dict[str, Value]:
        """Return what a member's descriptor possibly is set to."""
        found = self._set.get((class_name, _member(path)), {})
        only = {name: next(iter(constants)) for name, constants in found.items() if len(constants) == 1}
        return {name: join((Value("known", constant), POSSIBLY)) for name, constant in only.items()}


def _member(path: str) -> str:
    return re.split(r"\.|->", re.sub(r"[@~]\d+$", "", path))[-1]
