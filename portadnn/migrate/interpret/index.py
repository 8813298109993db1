"""The functions, classes and constants of a program, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ... import mapping
from ..model.kinds import kind_of
from ..program import Class, Declare, Function, Unit
from . import types
from .parts import assigned_names, declarations

_LIBRARY = re.compile(r"^(?:cudnn|miopen)[A-Z]\w*(?<!_t)$")

_DEEPEST_OBJECT = 2


@dataclass(eq=False)
class Known:
    """A function of the program: where it is, and whether following it leads to a call of a library."""

    function: Function
    unit: Unit
    leads: bool = False
    followed: int = 0  # from how many places
    spent: int = 0  # steps spent in it

    @property
    def label(self) -> str:
        """Its name, qualified by its class."""
        owner = self.function.owner
        return f"{owner}::{self.function.name}" if owner else self.function.name


@dataclass
class Index:
    """All of a program's units, looked up by names without qualification."""

    units: Sequence[Unit]
    functions: dict[str, list[Known]] = field(default_factory=dict)
    methods: dict[str, list[Known]] = field(default_factory=dict)  # by class
    classes: dict[str, Class] = field(default_factory=dict)
    variables: dict[str, list[tuple[Declare, Unit]]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    all: list[Known] = field(default_factory=list)
    units_with_globals: frozenset[int] | None = None
    units_by_class: dict[str, frozenset[str]] = field(default_factory=dict)
    _members: dict[str, Mapping[str, Declare]] = field(default_factory=dict)
    _classes_by_type: dict[str, Class | None] = field(default_factory=dict)
    _assigned: dict[int, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for unit in self.units:
            self.aliases.update(unit.aliases)
            for class_ in unit.classes:
                old = self.classes.get(types.simple(class_.name))
                if old is None or len(class_.members) > len(old.members):
                    self.classes[types.simple(class_.name)] = class_
            for variable in unit.variables:
                self.variables.setdefault(types.simple(variable.name), []).append((variable, unit))
            for function in unit.functions:
                known = Known(function, unit)
                self.all.append(known)
                self.functions.setdefault(types.simple(function.name), []).append(known)
                if function.owner:
                    self.methods.setdefault(types.simple(function.owner), []).append(known)
        self._mark_leading()

    def assigned(self, unit: Unit) -> frozenset[str]:
        """Return the names of the variables that some function of a unit sets."""
        key = id(unit)
        if key not in self._assigned:
            names = (name for function in unit.functions for name in assigned_names(function.body))
            self._assigned[key] = frozenset(names)
        return self._assigned[key]

    def is_library(self, name: str) -> bool:
        """Whether a name, without qualification, is that of a function of cuDNN or MIOpen."""
        if _LIBRARY.match(name) is None:
            return False
        return name in mapping.table().functions or name not in self.functions

    def resolved(self, name: str) -> str:
        """Return a name with the program's own other names for it undone."""
        for _ in range(4):
            other = self.aliases.get(name)
            if other is None or other == name:
                break
            name = other
        return name

    def class_of(self, type_: str) -> Class | None:
        """Return the program's class that a type names, by itself or behind pointers."""
        if type_ not in self._classes_by_type:
            self._classes_by_type[type_] = self._class_of(type_)
        return self._classes_by_type[type_]

    def _class_of(self, type_: str) -> Class | None:
        name = types.bare(type_)
        for _ in range(4):
            while inner := types.pointee(name):
                name = inner
            found = self.classes.get(types.simple(name))
            other = self.aliases.get(name) or self.aliases.get(types.simple(name))
            if found is not None or other is None or types.bare(other) == name:
                return found
            name = types.bare(other)
        return None

    def kind_of(self, type_: str) -> str:
        """Return the kind of thing that a type names, aliases undone."""
        return kind_of(type_) or kind_of(self.resolved(types.simple(types.bare(type_))))

    def lineage(self, name: str) -> Iterator[Class]:
        """Yield a class and its bases, the class first."""
        seen: set[str] = set()
        waiting = [types.simple(name)]
        while waiting:
            current = waiting.pop(0)
            class_ = self.classes.get(current)
            if class_ is None or current in seen:
                continue
            seen.add(current)
            yield class_
            waiting.extend(types.simple(self.resolved(types.simple(base))) for base in class_.bases)

    def members(self, name: str) -> Iterable[Declare]:
        """Return a class's data members, those of its bases too."""
        return self.members_by_name(name).values()

    def members_by_name(self, name: str) -> Mapping[str, Declare]:
        """Return a class's data members by name, the class's own before those of its bases."""
        if name not in self._members:
            found: dict[str, Declare] = {}
            for class_ in self.lineage(name):
                for member in class_.members:
                    found.setdefault(member.name, member)
            self._members[name] = found
        return self._members[name]

    def holds_things(self, name: str, within: tuple[str, ...] = ()) -> bool:
        """Whether objects of a class have descriptors or handles in them."""
        if name in within or len(within) > _DEEPEST_OBJECT:
            return False
        for member in self.members(name):
            if self.kind_of(member.type):
                return True
            inner = self.class_of(member.type)
            if inner is not None and self.holds_things(types.simple(inner.name), (*within, name)):
                return True
        return False

    def found_methods(self, class_name: str, method: str) -> list[Known]:
        """Return the definitions of a method: the nearest class's that has some."""
        for class_ in self.lineage(class_name):
            owned = self.methods.get(types.simple(class_.name), [])
            if found := [known for known in owned if types.simple(known.function.name) == method]:
                return found
        return []

    def special(self, class_name: str, kind: str) -> list[Known]:
        """Return a class's constructors or destructors."""
        return [known for known in self.methods.get(types.simple(class_name), []) if known.function.kind == kind]

    # What leads to calls ----------------------------------------------------------------------------------------

    def _mark_leading(self) -> None:
        callers: dict[str, list[Known]] = {}
        waiting: list[Known] = []
        for known in self.all:
            names = {self.resolved(types.simple(name)) for name in known.function.calls}
            names |= {types.simple(name) for name, _, _ in known.function.initializers}
            names |= self._made(known)
            for name in names:
                callers.setdefault(name, []).append(known)
            if any(self.is_library(name) for name in names):
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

    def _made(self, known: Known) -> set[str]:
        """Return the program's classes of which a function, or its class, has objects: they are made and destroyed."""
        if not self.classes:
            return set()
        declared = {d.type for d in declarations(known.function.body)}
        if known.function.kind in ("constructor", "destructor"):
            class_ = self.classes.get(types.simple(known.function.owner))
            if class_ is not None:
                declared |= {member.type for member in class_.members}
                declared |= set(class_.bases)
        found = {self.class_of(type_) for type_ in declared if "*" not in type_}
        return {types.simple(class_.name) for class_ in found if class_ is not None}
