"""What a program gives its variables, members and parameters, wherever it does so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..program import Expression, Function, Name, Unit
from . import types
from .parts import assigned_names, declarations, given_arguments, given_members, pointed_at


@dataclass
class Given:
    """All that functions give, by names; each table is made when it is first asked for."""

    units: Sequence[Unit]
    functions: Sequence[Function]
    _assigned: dict[int, frozenset[str]] = field(default_factory=dict)
    _assigned_members: dict[int, frozenset[str]] = field(default_factory=dict)
    _expressions: dict[tuple[str, str], list[tuple[Expression, Function]]] | None = None
    _passed: dict[tuple[str, int], list[Expression]] | None = None
    _pointed: frozenset[str] | None = None

    def assigned(self, unit: Unit) -> frozenset[str]:
        """Return the names of the variables that some function of a unit sets."""
        key = id(unit)
        if key not in self._assigned:
            names = (name for function in unit.functions for name in assigned_names(function.body))
            self._assigned[key] = frozenset(names)
        return self._assigned[key]

    def assigned_members(self, unit: Unit) -> frozenset[str]:
        """Return the names of the members that a unit sets: through an object, or in a class by themselves."""
        key = id(unit)
        if key not in self._assigned_members:
            names: set[str] = set()
            for function in unit.functions:
                local = {declared.name for declared in declarations(function.body)}
                local.update(parameter.name for parameter in function.parameters)
                names.update(assigned_names(function.body, only_members=True))
                names.update(name for name, arguments, _ in function.initializers if arguments)
                names.update(set(assigned_names(function.body)) - local if function.owner else ())
            self._assigned_members[key] = frozenset(names)
        return self._assigned_members[key]

    def may_be_written(self, name: str) -> bool:
        """Whether a number is set through its address, or in a function that was not read."""
        if self._pointed is None:
            pointed = frozenset(name for function in self.functions for name in pointed_at(function.body))
            self._pointed = pointed.union(*(unit.left_out for unit in self.units))
        return name in self._pointed

    def only_given(self, class_name: str, member: str) -> Expression | None:
        """Return what a member of a class is given where the program gives it one thing, in one place.

        Of a parameter, that is what the only call gives it, or its default argument where no call gives it any.
        """
        given = self._every()
        found = [pair for owner in (class_name, "", "::") for pair in given.get((owner, member), ())]
        if len(found) != 1:
            return None
        only: Expression = found[0][0]
        function = found[0][1]
        places = [i for i, p in enumerate(function.parameters) if isinstance(only, Name) and p.name == only.name]
        if not places:
            return only
        passed = self.given_to(function, places[0])
        return passed[0] if len(passed) == 1 else None if passed else function.parameters[places[0]].default

    def _every(self) -> dict[tuple[str, str], list[tuple[Expression, Function]]]:
        """Return all that functions give members and variables."""
        if self._expressions is None:
            self._expressions = {}
            for function in self.functions:
                for owner, name, value in given_members(function):
                    key = owner if owner == "::" else types.simple(owner)
                    self._expressions.setdefault((key, name), []).append((value, function))
        return self._expressions

    def given_to(self, function: Function, place: int) -> list[Expression]:
        """Return what the program's calls give a parameter of a function, or of a constructor."""
        if self._passed is None:
            self._passed = {}
            for caller in self.functions:
                for name, arguments in given_arguments(caller):
                    for i, argument in enumerate(arguments):
                        self._passed.setdefault((name, i), []).append(argument)
        name = types.simple(function.owner if function.kind == "constructor" else function.name)
        return self._passed.get((name, place), [])
