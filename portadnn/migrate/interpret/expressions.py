"""What expressions give and do."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any, TypeGuard

from ..model import symbols
from ..model.state import meet
from ..program import (
    Braces,
    Cast,
    Constant,
    Expression,
    Index,
    Invocation,
    Lambda,
    Member,
    Name,
    Operation,
    Unclear,
)
from ..sizes import POINTER, SIZES
from ..values import UNKNOWN, Value, items, known, pointer, unknown
from . import types
from .facts import Facts
from .parts import ASSIGNMENTS, has_calls
from .places import DEEPEST

_ENUMERATOR = re.compile(
    r"^(?:CUDNN_[A-Z0-9_]+(x\d+)?|MIOPEN_[A-Z0-9_]+|miopen[A-Z]\w*|CL_[A-Z_]+|cuda[A-Z]\w+|hip[A-Z]\w+)$"
)
_GIVING = (Invocation, Lambda, Operation)


class Expressions(Facts):
    """Follows expressions: their values, and the calls and assignments in them."""

    last_find: int  # the number of the last call that searched for an algorithm
    use: str  # what the expression that is evaluated now is for: "ignored", "returned", "checked", "assigned NAME"

    @abstractmethod
    def invoke(self, call: Invocation, use: str) -> Value:
        """Follow a call, and return what it gives."""

    @abstractmethod
    def overloaded(self, operator: str, operand: Expression, whole: Expression) -> Value | None:
        """Follow an operator that a class of the program defines; None where the operand is of no such class."""

    @abstractmethod
    def follow_lambda(self, expression: Lambda) -> Value:
        """Follow an anonymous function where it stands, and return a value that stands for it."""

    @abstractmethod
    def construct(self, path: str, class_name: str, arguments: tuple[Expression, ...]) -> None:
        """Make an object of one of the program's classes."""

    def evaluate(self, expression: Expression, use: str = "checked") -> Value:
        """Follow an expression and return its value."""
        self.step()
        if self.depth > DEEPEST:
            return UNKNOWN
        self.depth += 1
        try:
            return self._evaluate(expression, use)
        finally:
            self.depth -= 1

    def _evaluate(self, expression: Expression, use: str) -> Value:
        if isinstance(expression, Constant):
            return known(expression.value, expression.type)
        if isinstance(expression, Name):
            return self._name(expression)
        if isinstance(expression, Member | Index):
            path = self.place(expression)
            return UNKNOWN if path is None else self.value_at(path)
        if isinstance(expression, Operation):
            return self._operation(expression)
        if isinstance(expression, Cast):
            value = self.evaluate(expression.value, use)
            self._downcast(value, expression.type)
            return self.cast(value, expression.type)
        if isinstance(expression, Invocation):
            return self.invoke(expression, use)
        if isinstance(expression, Braces):
            return self._braces(expression)
        if isinstance(expression, Lambda):
            return self.follow_lambda(expression)
        for part in expression.parts:
            self.evaluate(part)
        return UNKNOWN

    def cast(self, value: Value, type_: str) -> Value:
        """Return a value after a conversion."""
        name = types.bare(self.meant(type_) or self.index.resolved(type_))
        name = self.frame.generic.get(name, name)
        name = name if name in self.frame.generic else self.index.number_type(name)
        if name == "void" or types.pointee(name):
            return value
        return symbols.converted(value, name)

    def meant(self, type_: str) -> str:
        """Return what a type stands for in the template that is followed; "" where it is none of its own.

        Of a parameter that is what it is given, and of a type in it, as ``T::Number`` where T is ``Dense<double>``,
        the number that it is made for.
        """
        generic, name = self.frame.generic, types.bare(type_)
        if name in generic or not generic:
            return generic.get(name, "")
        owner = types.bare(self.frame.unit.aliases.get(name, name)).rpartition("::")[0]
        inner = types.template_arguments(generic.get(owner, ""))
        return inner[0] if inner in (("float",), ("double",)) else ""

    def _downcast(self, value: Value, type_: str) -> None:
        """Note that an object is of the class that a pointer to its base, or to nothing known, is cast to."""
        derived = self.index.class_of(type_) if type_.rstrip().endswith(("*", "&")) else None
        path = str(value.data) if value.kind in ("unknown", "pointer") and value.data is not None else ""
        base = self.class_at(path) if derived is not None and path else None
        if derived is not None and path and types.bare(self.types.get(path, "")) in ("", "void *"):
            self.types[path] = derived.name
        if derived is None or base is None or base.name == derived.name:
            return
        if any(one.name == base.name for one in self.index.lineage(derived.name)):
            self.types[path] = derived.name

    def _name(self, expression: Name) -> Value:
        name = expression.name
        if name == "this":
            return pointer(self.frame.this or "this", self.frame.this_class)
        if "is_same" in name and (same := self._same_types(name)) is not None:
            return same
        path = self.variable(name)
        if path is not None:
            return self.value_at(path)
        short = types.simple(name)
        other = self.index.resolved(short)
        if other != short and self.variable(other) is not None:
            return self._name(Name(other, expression.span))
        if _ENUMERATOR.match(other):
            return known(other)
        return unknown(name)

    def _same_types(self, name: str) -> Value | None:
        """Return ``std::is_same<T, float>::value`` where the template's argument is known."""
        pair = [self.frame.generic.get(part, part) for part in types.template_arguments(name)]
        if len(pair) != 2 or any(self.index.is_parameter(part) for part in pair):
            return None
        return known(types.bare(pair[0]) == types.bare(pair[1]), "bool")

    # Operations -------------------------------------------------------------------------------------------------

    def _operation(self, expression: Operation) -> Value:
        sign, operands = expression.operator, expression.operands
        if sign == "=":
            return self.assignment(operands)
        if sign in ASSIGNMENTS or sign in ("++", "--"):
            return self.change(sign, operands)
        if sign == "&x":
            return self._address(operands[0])
        if sign == "*x":
            overloaded = self.overloaded("operator*", operands[0], expression)
            if overloaded is not None:
                return overloaded
            path = self._behind_star(operands[0])
            return UNKNOWN if path is None else self.value_at(path)
        if sign == "sizeof":
            return self._size(operands)
        if sign == "?:" and len(operands) == 3:
            return self._choice(operands)
        if sign in ("&&", "||") and len(operands) == 2:
            return self._logic(sign, operands)
        values = [self.evaluate(operand) for operand in operands]
        if sign == ">>" and len(values) == 2 and values[0].kind != "known" and not symbols.is_integer(values[0].type):
            self._extract(operands[1])
        if sign == ",":
            return values[-1] if values else UNKNOWN
        if len(values) == 1:
            return self._unary(sign, values[0])
        if len(values) != 2:
            return UNKNOWN
        return self.offset(sign, values[0], values[1]) or symbols.operate(sign, values[0], values[1])

    def _unary(self, sign: str, value: Value) -> Value:
        if sign == "!":
            return symbols.negate(value)
        if sign == "-":
            result = symbols.operate("-", known(0), value)
            return result.typed(value.type) if result.kind == "known" else result
        if sign == "+":
            return value
        if sign == "~" and value.kind == "known" and isinstance(value.data, int):
            return known(~value.data, value.type)
        return unknown(symbols.combine(sign, (value,)), value.type, value.origins)

    def _extract(self, operand: Expression) -> None:
        """Forget what a variable had that a stream may read: ``stream >> x``."""
        path = self.place(operand) if isinstance(operand, Name | Member) else None
        if path is not None and self.value_at(path).kind == "known":
            self.write(path, unknown(f"{path}~{self.fresh()}", types.bare(self.types.get(path, ""))))

    def _address(self, operand: Expression) -> Value:
        path = self.place(operand)
        if path is None and isinstance(operand, Cast | Braces):  # &(float){1}
            path = f"literal~{self.fresh()}"
            self.types[path] = operand.type
            self.assign(path, self.evaluate(operand))
        if path is None:
            is_function = isinstance(operand, Name) and self.index.is_library(types.simple(operand.name))
            return self.evaluate(operand) if is_function or isinstance(operand, _GIVING) else UNKNOWN
        if self.types.get(path, "").endswith("]"):
            return pointer(path, types.pointee(self.types[path]))
        return pointer(path, types.bare(self.types.get(path, "")))

    def _size(self, operands: tuple[Expression, ...]) -> Value:
        if not operands:
            return UNKNOWN
        operand = operands[0]
        name = operand.name if isinstance(operand, Name) else operand.type if isinstance(operand, Cast) else ""
        if isinstance(operand, Unclear):
            return UNKNOWN
        path = self.place(operand) if not isinstance(operand, Invocation | Constant) else None
        type_ = (self.types.get(path, "") if path is not None else "") or types.bare(self.index.resolved(name))
        type_ = self.frame.generic.get(type_, type_)
        type_ = "float" if self.index.is_parameter(type_) and not self._is_doubled() else type_
        if type_.endswith("]") and path is not None:
            length = self.peek(f"{path}.#length") or UNKNOWN
            element = SIZES.get(types.bare(types.pointee(type_)))
            return symbols.operate("*", length, known(element)) if element else UNKNOWN
        size = POINTER if types.bare(type_).endswith("*") else SIZES.get(types.bare(type_))
        return known(size, "size_t") if size else unknown(f"sizeof({types.bare(type_) or name})", "size_t")

    def _is_doubled(self) -> bool:
        """Whether the program has what is followed, a template, for double too."""
        function = self.frame.function
        if function is None:
            return True
        class_ = self.index.class_named(types.simple(function.owner)) if function.owner else None
        of_class = class_ is not None and self.index.doubled(types.simple(class_.name), class_.template)
        return bool(of_class or self.index.doubled(types.simple(function.name), function.template))

    def _choice(self, operands: tuple[Expression, ...]) -> Value:
        holds = symbols.truth(self.evaluate(operands[0]))
        if holds is not None:
            return self.evaluate(operands[1] if holds else operands[2])
        if not has_calls(operands[1]) and not has_calls(operands[2]):
            values = [self.evaluate(operands[1]), self.evaluate(operands[2])]
            decided = self.chosen_by(operands[0], values)
            return self.joined(values) if decided is None else values[not decided]
        before, find = self.state.copy(), self.last_find
        first = self.evaluate(operands[1])
        after, self.state = self.state, before
        second = self.evaluate(operands[2])
        self.state = meet([after, self.state])
        return self.joined(symbols.in_place_of([first, second], range(find + 1, self.last_find + 1)))

    def _logic(self, sign: str, operands: tuple[Expression, ...]) -> Value:
        first = self.evaluate(operands[0])
        holds = symbols.truth(first)
        if holds is not None and holds == (sign == "||"):
            return known(holds, "bool")
        if holds is not None or not has_calls(operands[1]):
            second = self.evaluate(operands[1])
        else:
            before = self.state.copy()
            second = self.evaluate(operands[1])
            self.state = meet([before, self.state])
        said = symbols.truth(second)
        if said is not None and (holds is not None or said == (sign == "||")):
            return known(said, "bool")
        return unknown(symbols.combine(sign, (first, second)), "bool")

    def _braces(self, expression: Braces) -> Value:
        if expression.type and self.index.class_of(expression.type) is not None and not types.pointee(expression.type):
            path = f"{types.simple(types.bare(expression.type))}~{self.fresh()}"
            self.types[path] = expression.type
            self.construct(path, expression.type, expression.values)
            return unknown(path, expression.type)
        designated = [v for v in expression.values if _is_designated(v)]
        if designated and len(designated) == len(expression.values):
            names = [v.operands[0].name[1:] for v in designated]
            return items([self.evaluate(v.operands[1]) for v in designated], "." + ",".join(names))
        values = [self.evaluate(value) for value in expression.values]
        if expression.type and not types.pointee(expression.type) and len(values) == 1:
            return self.cast(values[0], expression.type)
        return items(values)

    @abstractmethod
    def fresh(self) -> int:
        """Return a number that was not used before."""


def _is_designated(value: Expression) -> TypeGuard[Any]:
    """Whether a value in braces says its member, as ``.mode = x`` does."""
    if not isinstance(value, Operation) or value.operator != "=":
        return False
    target = value.operands[0]
    return isinstance(target, Name) and target.name.startswith(".")
