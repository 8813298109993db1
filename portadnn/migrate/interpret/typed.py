"""The types of expressions where nothing is followed: by what functions declare and give their variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..program import Cast, Class, Expression, Function, Invocation, Member, Name, Operation
from ..program import Index as Element
from . import types
from .index import Index, Known
from .parts import all_expressions, declarations, loop_variables

_DEEPEST = 40


@dataclass
class Typed:
    """Types of expressions in functions."""

    index: Index
    _locals: dict[int, dict[str, str]] = field(default_factory=dict)
    _values: dict[int, dict[str, list[Expression]]] = field(default_factory=dict)
    _depth: int = 0

    def class_of(self, expression: Expression, known: Known) -> str:
        """Return the class of the object that an expression gives; "" where that is not known."""
        if isinstance(expression, Name) and expression.name == "this":
            return types.simple(known.function.owner)
        class_ = self.index.class_of(self.type_of(expression, known))
        return "" if class_ is None else types.simple(class_.name)

    def type_of(self, expression: Expression, known: Known) -> str:
        """Return the type of an expression in a function; "" where that is not known."""
        if isinstance(expression, Cast):
            return expression.type
        if isinstance(expression, Element):
            return self.type_of(expression.base, known)  # classes are looked up behind all containers
        if isinstance(expression, Operation) and expression.operator in ("*x", "&x"):
            return self.type_of(expression.operands[0], known)
        if isinstance(expression, Name):
            name = expression.name
            local = self.types_of(known)
            if name in local:
                return self._type_of_auto(name, known) if "auto" in local[name].split() else local[name]
            owner = types.simple(known.function.owner)
            member = self.index.members_by_name(owner).get(name) if owner else None
            if member is None:
                member = next((declared for declared, _ in self.index.variables_named(types.simple(name))), None)
            return "" if member is None else member.type
        if isinstance(expression, Member):
            member = self.index.members_by_name(self.class_of(expression.base, known)).get(expression.name)
            return "" if member is None else member.type
        if isinstance(expression, Invocation) and isinstance(expression.callee, Name):
            short = types.simple(expression.callee.name)
            if short in self.index.classes:
                return short
            return next((k.function.returns for k in self.index.functions.get(short, ())), "")
        return ""

    def _type_of_auto(self, name: str, known: Known) -> str:
        self._depth += 1
        try:
            values = self.values_of(known).get(name, ()) if self._depth < _DEEPEST else ()
            return next((self.type_of(value, known) for value in values), "")
        finally:
            self._depth -= 1

    def types_of(self, known: Known) -> dict[str, str]:
        """Return the types of a function's parameters and variables, by name."""
        if id(known) not in self._locals:
            self._locals[id(known)] = _types_in(known.function)
        return self._locals[id(known)]

    def values_of(self, known: Known) -> dict[str, list[Expression]]:
        """Return what a function gives its variables and parameters."""
        if id(known) not in self._values:
            found: dict[str, list[Expression]] = {}
            for declared in declarations(known.function.body):
                for value in (declared.value, *declared.arguments[:1]):
                    if value is not None:
                        found.setdefault(declared.name, []).append(value)
            for name, values in loop_variables(known.function.body):
                found.setdefault(name, []).append(values)
            for target, value in assignments(known.function):
                if isinstance(target, Name):
                    found.setdefault(target.name, []).append(value)
            self._values[id(known)] = found
        return self._values[id(known)]

    def declaring(self, class_name: str, name: str) -> Class | None:
        """Return which of a class and its bases declares a member."""
        for class_ in self.index.lineage(class_name):
            if any(member.name == name for member in class_.members):
                return class_
        return None


def _types_in(function: Function) -> dict[str, str]:
    found = {parameter.name: parameter.type for parameter in function.parameters}
    found |= dict.fromkeys((name for name, _ in loop_variables(function.body)), "auto")
    return found | {declared.name: declared.type for declared in declarations(function.body)}


def assignments(function: Function) -> Iterator[tuple[Expression, Expression]]:
    """Yield what a function assigns, and to what."""
    for expression in all_expressions(function.body):
        if isinstance(expression, Operation) and expression.operator == "=":
            yield expression.operands[0], expression.operands[1]
