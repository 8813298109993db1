"""Functions that share variables: they are followed one after another, each from what the others left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ..model.state import Deed, State, Thing
from ..values import Value
from . import types
from .index import Index, Known
from .order import FIRST, phase_of
from .parts import declarations

_VERBS = frozenset(
    {
        "make",
        "create",
        "init",
        "initialize",
        "setup",
        "set",
        "up",
        "build",
        "alloc",
        "allocate",
        "forward",
        "backward",
        "fwd",
        "bwd",
        "update",
        "resize",
        "reshape",
        "destroy",
        "free",
        "release",
        "layer",
        "gpu",
        "cuda",
        "cudnn",
        "miopen",
        "hip",
        "cpu",
        "run",
        "compute",
        "execute",
        "train",
        "test",
        "infer",
        "get",
    }
)

_LARGEST = 150  # functions of a group: each carries the state of those before it


def grouped(entries: Iterable[Known], index: Index) -> list[list[Known]]:
    """Return entries in groups: those that work on the same file's variables, or on the same struct, are together.

    The main function of a program is by itself: nothing happened before it.
    """
    entries = list(entries)
    leaders: dict[object, object] = {}

    def leader(key: object) -> object:
        while leaders.setdefault(key, key) != key:
            leaders[key] = leaders[leaders[key]]
            key = leaders[key]
        return key

    for known in entries:
        for key in _keys(known, entries, index):
            leaders[leader(key)] = leader(id(known))
    groups: dict[object, list[Known]] = {}
    for known in entries:
        groups.setdefault(leader(id(known)), []).append(known)
    return [whole[i : i + _LARGEST] for whole in groups.values() for i in range(0, len(whole), _LARGEST)]


def _keys(known: Known, entries: list[Known], index: Index) -> Iterator[object]:
    if known.function.name == "main":
        return
    if id(known.unit) in _units_with_globals(index):
        yield known.unit.file
    for name in shared_classes(known, index):
        yield (name, known.unit.file if len(_units_of(name, entries, index)) == 1 else _subject(known))


def _units_with_globals(index: Index) -> frozenset[int]:
    if index.units_with_globals is None:
        index.units_with_globals = frozenset(
            id(unit)
            for unit in index.units
            if any(index.kind_of(variable.type) or index.class_of(variable.type) for variable in unit.variables)
        )
    return index.units_with_globals


def shared_classes(known: Known, index: Index) -> Iterator[str]:
    """Yield the program's classes that hold descriptors or handles and that a function gets, or makes and returns."""
    given = [parameter.type for parameter in known.function.parameters]
    if phase_of(known) == FIRST:
        given += [declared.type for declared in declarations(known.function.body)]
    for type_ in given:
        class_ = index.class_of(type_)
        if class_ is not None and index.holds_things(class_.name):
            yield types.simple(class_.name)


def _units_of(name: str, entries: list[Known], index: Index) -> frozenset[str]:
    if name not in index.units_by_class:
        index.units_by_class[name] = frozenset(k.unit.file for k in entries if name in shared_classes(k, index))
    return index.units_by_class[name]


def _subject(known: Known) -> tuple[str, ...]:
    """Return what a function is about by its name: ``("convolutional",)`` of ``forward_convolutional_layer_gpu``."""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", known.function.name)
    return tuple(word.lower() for word in words if word.lower() not in _VERBS)


def left_over(state: State, shared: Iterable[str], journal: Mapping[int, Deed]) -> State:
    """Return what of a state the next function of a group sees: the shared variables, and what was done with them."""
    starts = ("::", *(f"{path}{sign}" for path in shared for sign in (".", "[", "->")))
    result = State(variables={path: value for path, value in state.variables.items() if path.startswith(starts)})
    held = {id_ for value in result.variables.values() for id_ in _things_in(value)}
    result.things = {id_: thing for id_, thing in state.things.items() if id_ in held or id_.startswith(starts)}
    for function, numbers in state.done.items():
        kept = {number: False for number in numbers if _concerns(journal.get(number), result.things)}
        if kept:
            result.done[function] = kept
    return result


def _things_in(value: Value) -> Iterator[str]:
    for option in value.options:
        if option.kind == "thing":
            yield option.data


def _concerns(deed: Deed | None, things: Mapping[str, Thing]) -> bool:
    """Whether a call had to do with things that are still there, or with a handle alone."""
    if deed is None:
        return False
    found = [thing for thing in deed.things.values() if thing.kind != "handle"]
    return any(thing.id in things for thing in (found or deed.things.values()))
