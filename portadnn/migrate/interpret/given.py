"""What a program gives its variables, members and parameters, wherever it does so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..program import Class, Constant, Expression, Function, Name, Unit
from . import types
from .parts import assigned_names, declarations, enumerators, given_arguments, given_members, numbers_in, pointed_at


@dataclass
class Given:
    """All that functions give, by names; each table is made when it is first asked for."""

    units: Sequence[Unit]
    functions: Sequence[Function]
    classes: Mapping[str, list[tuple[Class, str]]]  # by name, with their files
    _assigned: dict[int, frozenset[str]] = field(default_factory=dict)
    _assigned_members: dict[int, frozenset[str]] = field(default_factory=dict)
    _given: dict[tuple[str, str], set[str]] | None = None
    _expressions: dict[tuple[str, str], list[tuple[Expression, Function]]] | None = None
    _passed: dict[tuple[str, int], list[Expression]] | None = None
    _pointed: frozenset[str] | None = None
    _holders: Counter[str] | None = None  # how many classes have a member of a name
    _arguments: dict[tuple[int, int], set[str]] = field(default_factory=dict)

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

    def constants_of(self, class_name: str, member: str) -> tuple[str, ...]:
        """Return the enumerators that the program gives a member of a class; none where it gives it anything else."""
        given = self._enumerators()
        found = given.get((class_name, member), set()) | given.get(("", member), set())
        return () if "" in found else tuple(sorted(found))

    def algorithms_of(self, class_name: str, member: str) -> tuple[str, ...]:
        """Return the algorithms by name that the program gives a member of a class, among whatever else."""
        given = self._enumerators()
        found = set(given.get((class_name, member), ()))
        if self._holders is None:
            first = (some[0][0] for some in self.classes.values())
            self._holders = Counter(name for class_ in first for name in {one.name for one in class_.members})
        if self._holders[member] == 1:
            found |= given.get(("", member), set())
        return tuple(sorted(name for name in found if "_ALGO_" in name or name.startswith("miopenConv")))

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

    def numbers_of(self, variable: str) -> list[Constant]:
        """Return the numbers that functions set a variable of a file to, among whatever else."""
        return [number for value, _ in self._every().get(("::", variable), ()) for number in numbers_in(value)]

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

    def _enumerators(self) -> dict[tuple[str, str], set[str]]:
        if self._given is None:
            self._given = {}
            for function in self.functions:
                for owner, name, value in given_members(function):
                    found = self._given.setdefault((types.simple(owner), name), set())
                    found.update(enumerators(value))
        return self._given

    def constants_given(self, function: Function, place: int) -> tuple[str, ...]:
        """Return the enumerators of a library that the program's calls give a parameter; "" among them for others."""
        key = id(function), place
        if key not in self._arguments:
            self._arguments[key] = {name for one in self.given_to(function, place) for name in enumerators(one)}
        return tuple(sorted(self._arguments[key]))
