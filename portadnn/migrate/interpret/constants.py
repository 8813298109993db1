"""The constants that a program gives parameters, members and variables, wherever and through whatever functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..program import (
    Braces,
    Cast,
    Constant,
    Expression,
    Function,
    Invocation,
    Member,
    Name,
    Operation,
)
from ..program import Index as Element
from . import types
from .index import Index, Known, fitting
from .parts import ENUMERATOR, all_expressions, declarations, returned
from .typed import Typed, assignments

_MOST = 8  # numbers of one parameter or member: more say nothing
_FEW_FUNCTIONS = 4  # that a call in a value may mean
_DEEPEST = 40

Constants = dict[object, Constant | None]  # numbers by themselves; names of enumerators, OTHERS for anything else
OTHERS = ""
_OTHER: Constants = {OTHERS: None}


class _Call(NamedTuple):
    arguments: Sequence[Expression]
    base: Expression | None  # the object whose method it is
    caller: Known


class _Gift(NamedTuple):
    value: Expression
    giver: Known | None  # None of what a declaration gives


@dataclass
class ConstantsGiven:
    """Numbers and enumerators by where they end: of a parameter those of all calls, of a member those of all objects.

    Calls are matched by name, number of arguments and what is known of the object's class. A call that gives something
    else, as a number from a file, adds no number: that a parameter possibly is one of them holds all the same.
    Of enumerators is told whether something else is given, too.
    """

    index: Index
    typed: Typed = field(init=False)
    _found: dict[tuple[object, ...], Constants] = field(default_factory=dict)
    _calls: dict[str, list[_Call]] = field(default_factory=dict)
    _gifts: dict[tuple[int, str], list[_Gift]] = field(default_factory=dict)
    _given_to_variables: dict[str, list[_Gift]] = field(default_factory=dict)
    _holders: dict[str, set[str]] = field(default_factory=dict)  # classes that declare a member of a name
    _depth: int = 0
    _read: bool = False

    def __post_init__(self) -> None:
        self.typed = Typed(self.index)

    def numbers_of_parameter(self, known: Known, place: int) -> tuple[Constant, ...]:
        """Return the numbers that calls give a parameter; its default argument where one leaves it out."""
        return _numbers(self._of_parameter(known, place))

    def numbers_of_member(self, class_name: str, name: str) -> tuple[Constant, ...]:
        """Return the numbers that a member of a class is given, by its declaration, constructors and anything else."""
        return _numbers(self._of_member(class_name, name))

    def numbers_of_variable(self, name: str) -> tuple[Constant, ...]:
        """Return the numbers that functions set a variable of a file to."""
        return _numbers(self._of_variable(name))

    def names_of_parameter(self, known: Known, place: int) -> tuple[str, ...]:
        """Return the enumerators that calls give a parameter, `OTHERS` among them where one gives anything else."""
        return _names(self._of_parameter(known, place))

    def names_of_member(self, class_name: str, name: str) -> tuple[str, ...]:
        """Return the enumerators that a member of a class is given, `OTHERS` among them for anything else."""
        return _names(self._of_member(class_name, name))

    def names_of_variable(self, name: str) -> tuple[str, ...]:
        """Return the enumerators that functions set a variable of a file to, `OTHERS` among them for anything else."""
        return _names(self._of_variable(name))

    # Where constants come from ------------------------------------------------------------------------------------

    def _of_parameter(self, known: Known, place: int) -> Constants:
        key = id(known), place
        if key not in self._found and self._depth < _DEEPEST:
            self._gather()
            found = self._found[key] = Constants()
            function = known.function
            default = function.parameters[place].default
            name = types.simple(function.owner if function.kind == "constructor" else function.name)
            calls = [call for call in self._calls.get(name, ()) if self._may_mean(call, known)]
            for call in calls:
                given = call.arguments[place] if place < len(call.arguments) else None
                if given is not None:
                    found.update(self._of(given, call.caller))
            if default is not None and (not calls or any(place >= len(call.arguments) for call in calls)):
                found.update(self._of(default, known))
            elif not calls:
                found.update(_OTHER)
        return self._found.get(key, {})

    def _of_member(self, class_name: str, name: str) -> Constants:
        self._gather()
        key = id(self.typed.declaring(class_name, name)), name
        if key not in self._found and self._depth < _DEEPEST:
            found = self._found[key] = Constants()
            for gift in self._gifts.get(key, ()):
                found.update(self._of(gift.value, gift.giver))
        return self._found.get(key, {})

    def _of_variable(self, name: str) -> Constants:
        self._gather()
        key = "::", name
        if key not in self._found and self._depth < _DEEPEST:
            found = self._found[key] = Constants()
            for gift in self._given_to_variables.get(name, ()):
                found.update(self._of(gift.value, gift.giver))
        return self._found.get(key, {})

    def _of(self, value: Expression, known: Known | None) -> Constants:
        self._depth += 1
        here = self.index.here
        self.index.here = here if known is None else known.unit.file
        try:
            return self._within(value, known) if self._depth < _DEEPEST else _OTHER
        finally:
            self._depth -= 1
            self.index.here = here

    def _within(self, value: Expression, known: Known | None) -> Constants:
        if isinstance(value, Constant):
            number = isinstance(value.value, int | float) and not isinstance(value.value, bool)
            return {value.value: value} if number else _OTHER
        if isinstance(value, Cast):
            return self._of(value.value, known)
        if isinstance(value, Braces):
            parts = [self._of(part, known) for part in value.values]  # of a list any
            return {key: number for part in parts for key, number in part.items()} or _OTHER
        if isinstance(value, Operation):
            return self._of_operation(value, known)
        if isinstance(value, Name):
            return self._of_name(value.name, known)
        if isinstance(value, Member) and known is not None:
            class_name = self.typed.class_of(value.base, known) or self._only_holder(value.name)
            return self._of_member(class_name, value.name) if class_name else _OTHER
        if isinstance(value, Invocation) and known is not None:
            return self._of_call(value, known)
        return _OTHER

    def _of_operation(self, value: Operation, known: Known | None) -> Constants:
        if value.operator == "?:" and len(value.operands) == 3:
            return {**self._of(value.operands[1], known), **self._of(value.operands[2], known)}
        if value.operator == "&x":
            return self._of(value.operands[0], known)
        return _OTHER

    def _of_call(self, call: Invocation, known: Known) -> Constants:
        """Return what a function of the program returns: of a few that a call may mean."""
        if not isinstance(call.callee, Name | Member):
            return _OTHER
        short, count = types.simple(call.callee.name), len(call.arguments)
        if isinstance(call.callee, Member):
            class_name = self.typed.class_of(call.callee.base, known)
            meant = fitting(self.index.found_methods(class_name, short), count) if class_name else []
        else:
            own = self.index.found_methods(types.simple(known.function.owner), short) if known.function.owner else []
            meant = fitting(own, count) or fitting(self.index.free_functions(short), count)
        if not 0 < len(meant) <= _FEW_FUNCTIONS:
            return _OTHER
        found = Constants()
        for one in meant:
            for value in returned(one.function.body):
                found.update(self._of(value, one))
        return found

    def _of_name(self, name: str, known: Known | None) -> Constants:
        other = self.index.resolved(types.simple(name))
        if ENUMERATOR.match(other):
            return {other: None}
        if known is None:
            return self._of_file(name)
        found: Constants = {}
        for one in self.typed.values_of(known).get(name, ()):
            found.update(self._of(one, known))
        for i, parameter in enumerate(known.function.parameters):
            if parameter.name == name:
                return {**self._of_parameter(known, i), **found}
        if name in self.typed.types_of(known):
            return found or _OTHER
        owner = types.simple(known.function.owner)
        if owner and "::" not in name and self.typed.declaring(owner, name):
            return self._of_member(owner, name)
        return found | self._of_file(name)

    def _of_file(self, name: str) -> Constants:
        """Return what a variable of a file begins with, and is set to."""
        found = dict(self._of_variable(types.simple(name)))
        for declared, _ in self.index.variables_named(types.simple(name)):
            if declared.value is not None:
                found.update(self._of(declared.value, None))
        return found or _OTHER

    # Whom a call means, and whose member one is -----------------------------------------------------------------

    def _may_mean(self, call: _Call, known: Known) -> bool:
        function = known.function
        required = sum(parameter.default is None for parameter in function.parameters)
        if not required <= len(call.arguments) <= len(function.parameters):
            return False
        owner = types.simple(function.owner)
        here = self.index.here
        try:
            self.index.here = known.unit.file
            class_ = self.index.class_named(owner)
            self.index.here = call.caller.unit.file
            if self.index.class_named(owner) is not class_:  # another one of the same name is nearer
                return False
            return self._may_mean_here(call, function, owner, known)
        finally:
            self.index.here = here

    def _may_mean_here(self, call: _Call, function: Function, owner: str, known: Known) -> bool:
        if function.kind == "constructor":
            return True
        if not owner:
            return call.base is None and known in self.index.free_functions(types.simple(function.name))
        class_name = types.simple(call.caller.function.owner) if call.base is None else ""
        if call.base is not None:
            class_name = self.typed.class_of(call.base, call.caller)
        if class_name:
            return self._related(class_name, owner)
        if call.base is None:
            return function.static
        others = {types.simple(k.function.owner) for k in self.index.methods_named(types.simple(function.name))}
        return all(not self._roots(owner).isdisjoint(self._roots(other)) for other in others)

    def _related(self, one: str, other: str) -> bool:
        return one in self._line(other) or other in self._line(one)

    def _line(self, name: str) -> list[str]:
        return [types.simple(class_.name) for class_ in self.index.lineage(name)] or [name]

    def _roots(self, name: str) -> frozenset[str]:
        line = self._line(name)
        return frozenset(line[1:] or line)

    def _only_holder(self, name: str) -> str:
        holders = self._holders.get(name, set())
        return next(iter(holders)) if len(holders) == 1 else ""

    # The program's calls and assignments ------------------------------------------------------------------------

    def _gather(self) -> None:
        """Read, once, who calls what with what, and what members are given."""
        if self._read:
            return
        self._read = True
        here = self.index.here
        for class_, _ in (pair for pairs in self.index.classes.values() for pair in pairs):
            for member in class_.members:
                self._holders.setdefault(member.name, set()).add(types.simple(class_.name))
                if member.value is not None:
                    self._gifts.setdefault((id(class_), member.name), []).append(_Gift(member.value, None))
        for known in self.index.all:
            for name, call in _calls_in(known, self.index):
                self._calls.setdefault(name, []).append(call)
        for known in self.index.all:
            self.index.here = known.unit.file
            self._read_gifts(known)
        for declared, unit in (pair for pairs in self.index.variables.values() for pair in pairs):
            self.index.here = unit.file
            self._read_braces(declared.value, declared.type, None)
        self.index.here = here

    def _read_gifts(self, known: Known) -> None:
        owner = types.simple(known.function.owner)
        for name, arguments, _ in known.function.initializers:
            if len(arguments) == 1:
                self._give(owner, name, arguments[0], known)
        for target, value in assignments(known.function):
            self._read_gift(target, value, known)
        for declared in declarations(known.function.body):
            self._read_braces(declared.value, declared.type, known)
        for value in returned(known.function.body):
            self._read_braces(value, known.function.returns, known)
        for expression in all_expressions(known.function.body):
            if isinstance(expression, Invocation):
                self._read_appended(expression, known)

    def _read_gift(self, target: Expression, value: Expression, known: Known) -> None:
        """Read what is given to a member, or to a variable of a file; what gets an element has it, too."""
        while isinstance(target, Element):
            target = target.base
        if isinstance(target, Member):
            class_name = self.typed.class_of(target.base, known) or self._only_holder(target.name)
            self._give(class_name, target.name, value, known)
        elif isinstance(target, Name) and target.name not in self.typed.types_of(known):
            if known.function.owner:
                self._give(types.simple(known.function.owner), target.name, value, known)
            else:
                self._given_to_variables.setdefault(target.name, []).append(_Gift(value, known))

    def _give(self, class_name: str, name: str, value: Expression, giver: Known | None) -> None:
        declaring = self.typed.declaring(class_name, name) if class_name else None
        if declaring is not None:
            self._gifts.setdefault((id(declaring), name), []).append(_Gift(value, giver))

    def _read_appended(self, call: Invocation, known: Known) -> None:
        """Read what braces give a record that is appended to a container, or handed to a function."""
        callee = call.callee
        braced = any(isinstance(one, Braces) for one in call.arguments)
        if isinstance(callee, Member) and callee.name in ("push_back", "emplace_back", "push", "insert"):
            for value in call.arguments if braced else ():
                self._read_braces(value, self.typed.type_of(callee.base, known), known)
            if isinstance(callee.base, Name | Member) and len(call.arguments) == 1:
                self._read_gift(callee.base, call.arguments[0], known)
        elif braced and isinstance(callee, Name | Member):
            meant = fitting(self.index.functions.get(types.simple(callee.name), []), len(call.arguments))
            for one in meant[:_FEW_FUNCTIONS]:
                for value, parameter in zip(call.arguments, one.function.parameters, strict=False):
                    self._read_braces(value, parameter.type, known)

    def _read_braces(self, value: Expression | None, type_: str, known: Known | None) -> None:
        """Read what braces give the members of a record, or of each in an array of them."""
        if not isinstance(value, Braces):
            return
        class_ = self.index.class_of(value.type or type_)
        if class_ is None or class_.constructed:
            return
        waiting = [value]
        while waiting:
            braces = waiting.pop()
            inner = [part for part in braces.values if isinstance(part, Braces)]
            if len(inner) == len(braces.values):
                waiting += inner
                continue
            for member, part in zip(class_.members, braces.values, strict=False):
                self._give(types.simple(class_.name), member.name, part, known)


def _numbers(found: Constants) -> tuple[Constant, ...]:
    numbers = tuple(one for one in found.values() if one is not None)
    return numbers if len(numbers) <= _MOST else ()


def _names(found: Constants) -> tuple[str, ...]:
    names = sorted(name for name in found if isinstance(name, str) and name)
    return (*names, OTHERS) if names and len(names) < len(found) else tuple(names)


def _calls_in(known: Known, index: Index) -> Iterator[tuple[str, _Call]]:
    """Yield the calls in a function by the names of what they call; where objects are made, of the classes."""
    for expression in all_expressions(known.function.body):
        if not isinstance(expression, Invocation) or not isinstance(expression.callee, Name | Member):
            continue
        callee = expression.callee
        base = callee.base if isinstance(callee, Member) else None
        name = types.simple(callee.name)
        yield name, _Call(expression.arguments, base, known)
        before = expression.text.partition("(")[0]
        made = types.template_argument(before) if "<" in before else ""  # make_shared<Layer>(...), add<Layer>(...)
        if made and (class_ := index.class_of(made)) is not None:
            yield types.simple(class_.name), _Call(expression.arguments, None, known)
    for declared in declarations(known.function.body):
        if declared.arguments:
            yield types.simple(declared.type), _Call(declared.arguments, None, known)
    for name, arguments, _ in known.function.initializers:
        yield types.simple(name), _Call(arguments, None, known)
