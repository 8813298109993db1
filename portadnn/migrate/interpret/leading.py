"""Which functions lead to calls of a library."""

from __future__ import annotations

from collections.abc import Sequence

from ... import mapping
from ..frontend.methods import makers
from ..program import Braces, Name, Unit
from . import types
from .index import Index, Known
from .parts import declarations, named_arguments


def index_of(units: Sequence[Unit]) -> Index:
    """Return all units of a program, and note which functions lead to calls of a library, whatever lies between."""
    index = Index(units)
    _mark(index)
    return index


def _mark(index: Index) -> None:
    callers: dict[str, list[Known]] = {}
    waiting: list[Known] = []
    handed = frozenset().union(*(unit.handed for unit in index.units))  # type: frozenset[str]
    pointers = frozenset(
        types.simple(variable.name)
        for unit in index.units
        for variable in unit.variables
        if isinstance(variable.value, Braces)
        for part in variable.value.values
        if isinstance(part, Name) and part.name in mapping.table().functions
    )
    for known in index.all:
        index.here = known.unit.file
        names = {types.simple(index.resolved(types.simple(name))) for name in known.function.calls}
        names |= {types.simple(name) for name, _, _ in known.function.initializers}
        names |= _made(index, known)
        names |= {name for name in named_arguments(known.function) if name in index.functions}
        for name in names:
            callers.setdefault(name, []).append(known)
        handed_to = types.simple(known.function.name) in handed and not names.isdisjoint(
            parameter.name for parameter in known.function.parameters
        )
        if handed_to or any(index.is_library(n) or n in makers() or n in pointers for n in names):
            known.leads = True
            waiting.append(known)
    while waiting:
        known = waiting.pop()
        function = known.function
        reached = [types.simple(function.name)]
        if function.kind in ("constructor", "destructor"):
            reached.append(types.simple(function.owner))
        for name in reached:
            for caller in callers.get(name, ()):
                if not caller.leads:
                    caller.leads = True
                    waiting.append(caller)


def _made(index: Index, known: Known) -> set[str]:
    """Return the program's classes of which a function, or its class, has objects: they are made and destroyed."""
    if not index.classes:
        return set()
    declared = {d.type for d in declarations(known.function.body)}
    if known.function.kind in ("constructor", "destructor"):
        class_ = index.class_named(types.simple(known.function.owner))
        if class_ is not None:
            declared |= {member.type for member in class_.members}
            declared |= set(class_.bases)
    found = {index.class_of(type_) for type_ in declared if "*" not in type_}
    return {types.simple(c.name) for class_ in found if class_ is not None for c in index.lineage(class_.name)}
