"""What the program sets on descriptors that are members, wherever the objects are that hold them."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..model.state import Thing
from ..values import POSSIBLY, Value, join

_MOST_AGAIN = 50
_HANDED = frozenset({"rnn"})  # kinds of descriptors that rules ask how they were set where they are used
_FEW = 3  # settings that a program has of a kind


def _nothing() -> None:
    """Follow nothing."""


class KeptSettings:
    """Modes, formats and types by the member that holds the descriptor.

    A factory sets the descriptors of an object and hands it over in a ``shared_ptr``; who gets it from a list of
    layers has not seen that. Where all calls set a member's descriptor to the same constant, it possibly has it. An
    algorithm in a member possibly is any that the program puts there.
    """

    def __init__(self) -> None:
        self._set: dict[tuple[str, str], dict[str, set[str]]] = {}
        self._algorithms: dict[tuple[str, str], dict[Value, None]] = {}
        self.here: Callable[[], None] = _nothing  # what follows what is followed now once more
        self._wanting: dict[Callable[[], None], dict[tuple[str, str], None]] = {}
        self._setting: dict[tuple[str, str], set[Callable[[], None]]] = {}

    def note(self, class_name: str, path: str, thing: Thing) -> None:
        """Note what a descriptor in a member of a class was set to."""
        fields = self._set.setdefault((class_name, _member(path)), {})
        self._is_set(class_name, path)
        for name, value in thing.fields.items():
            constants = {option.data for option in value.options if option.kind == "known"}
            if len(constants) == len(value.options) and all(isinstance(one, str) for one in constants):
                fields.setdefault(name, set()).update(constants)

    def note_kind(self, thing: Thing) -> None:
        """Note what a descriptor was set to of a kind that functions hand to each other."""
        if thing.kind in _HANDED:
            self.note("", thing.kind, thing)

    def _is_set(self, class_name: str, path: str) -> None:
        """Note that what is followed now sets a member; that it read it before, as to make it, says nothing then."""
        member = (class_name, _member(path))
        self._setting.setdefault(member, set()).add(self.here)
        if member in self._wanting.get(self.here, {}):
            del self._wanting[self.here][member]

    def note_algorithm(self, class_name: str, path: str, value: Value) -> None:
        """Note where an algorithm in a member of a class comes from: a choice of the program, a call that chose it."""
        chosen = self._algorithms.setdefault((class_name, _member(path)), {})
        for option in value.options:
            if option.origins or (option.kind == "known" and isinstance(option.data, str)):
                chosen[option] = None
                self._is_set(class_name, path)

    def want(self, class_name: str, path: str) -> None:
        """Note that an algorithm, a size or a descriptor in a member was read before anything had set it."""
        self._wanting.setdefault(self.here, {})[class_name, _member(path)] = None

    def late(self) -> list[Callable[[], None]]:
        """Return what follows once more what had read members that something else set only afterwards."""
        found = [
            again
            for again, members in self._wanting.items()
            if any(self._setting.get(member, set()) - {again} for member in members)
        ]
        self._wanting = {}
        return found[:_MOST_AGAIN]

    def algorithms(self, class_name: str, path: str) -> tuple[Value, ...]:
        """Return what calls and constants an algorithm in a member was set from until now."""
        return tuple(self._algorithms.get((class_name, _member(path)), ()))

    def of_kind(self, kind: str) -> dict[str, Value]:
        """Return what a descriptor that came from outside possibly is set to: what those of its kind are."""
        if kind not in _HANDED:
            return {}
        found = self._set.get(("", kind), {})
        if not found:
            self.want("", kind)
        return {
            name: join([*(Value("known", constant) for constant in sorted(constants)), POSSIBLY])
            for name, constants in found.items()
            if 0 < len(constants) <= _FEW
        }

    def of(self, class_name: str, path: str) -> dict[str, Value]:
        """Return what a member's descriptor possibly is set to."""
        found = self._set.get((class_name, _member(path)), {})
        only = {name: next(iter(constants)) for name, constants in found.items() if len(constants) == 1}
        return {name: join((Value("known", constant), POSSIBLY)) for name, constant in only.items()}


_WORKSPACE = re.compile(
    r"(?:work|ws|scratch|temp|buf)\w*_?(?:size|bytes)|(?:size|bytes)\w*(?:work|ws|scratch)", re.IGNORECASE
)


def is_chosen(path: str, type_: str) -> bool:
    """Whether a variable's type is that of a convolution's algorithms, or it is the size of a workspace by its name."""
    if type_.endswith(("Algo_t", "Algorithm_t")) and "Conv" in type_:
        return True
    return type_.endswith("size_t") and _WORKSPACE.search(_member(path)) is not None


def _member(path: str) -> str:
    return re.split(r"\.|->", re.sub(r"[@~]\d+$", "", path))[-1]
