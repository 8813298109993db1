"""What expressions give and do."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, TypeGuard

from ..model import symbols
from ..model.state import meet
from ..program import (
    Braces,
    Cast,
    Class,
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
from ..values import NULL, UNKNOWN, Value, items, known, pointer, unknown
from . import types
from .globals import Globals
from .memory import Frame
from .parts import ASSIGNMENTS, has_calls

DEEPEST = 110  # statements and expressions within each other, over all functions that are being followed
_ENUMERATOR = re.compile(
    r"^(?:CUDNN_[A-Z0-9_]+(x\d+)?|MIOPEN_[A-Z0-9_]+|miopen[A-Z]\w*|CL_[A-Z_]+|cuda[A-Z]\w+|hip[A-Z]\w+)$"
)
_GIVING = (Invocation, Lambda, Operation)


class Expressions(Globals):
    """Follows expressions: their values, and the calls and assignments in them."""

    depth: int
    last_find: int  # the number of the last call that searched for an algorithm
    use: str  # what the expression that is evaluated now is for: "ignored", "returned", "checked", "assigned NAME"

    @property
    def frame(self) -> Frame:
        """The function that is being followed."""
        return self._frame

    @frame.setter
    def frame(self, frame: Frame) -> None:
        self._frame = frame
        self.index.here = frame.unit.file

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
    def step(self) -> None:
        """Count a step, and end the following of this entry when there were too many."""

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

    def value_at(self, path: str) -> Value:
        """Return what an expression for a variable gives: of an array the address of its elements."""
        type_ = self.types.get(path, "")
        if type_.endswith("]"):
            return pointer(path, types.pointee(type_))
        return self.read(path)

    def cast(self, value: Value, type_: str) -> Value:
        """Return a value after a conversion."""
        name = types.bare(self.index.resolved(type_))
        name = self.frame.generic.get(name, name)
        name = name if name in self.frame.generic else self.index.number_type(name)
        if name == "void" or types.pointee(name):
            return value
        return symbols.converted(value, name)

    def _downcast(self, value: Value, type_: str) -> None:
        """Note that an object is of the derived class that a pointer to its base is cast to."""
        derived = self.index.class_of(type_) if type_.rstrip().endswith(("*", "&")) else None
        path = str(value.data) if value.kind in ("unknown", "pointer") and value.data is not None else ""
        base = self.class_at(path) if derived is not None and path else None
        if derived is None or base is None or base.name == derived.name:
            return
        if any(one.name == base.name for one in self.index.lineage(derived.name)):
            self.types[path] = derived.name

    # Places -----------------------------------------------------------------------------------------------------

    def place(self, expression: Expression) -> str | None:
        """Return the path of the variable that an expression names; None where it names none."""
        self.step()
        if self.depth > DEEPEST:
            return None
        self.depth += 1
        try:
            return self._place(expression)
        finally:
            self.depth -= 1

    def _place(self, expression: Expression) -> str | None:
        if isinstance(expression, Name):
            return self.variable(expression.name)
        if isinstance(expression, Member):
            base = self._base(expression.base)
            if base is None:
                return None
            class_ = self.class_at(base)
            if class_ is not None and self.member_declaration(class_, expression.name) is None:
                for owner in self.index.lineage(class_.name):  # a static one
                    if self.index.has_variable(f"{types.simple(owner.name)}::{expression.name}"):
                        return self.variable_of_file(f"{types.simple(owner.name)}::{expression.name}", expression.name)
            return self.member_path(base, expression.name)
        if isinstance(expression, Index):
            index = self.evaluate(expression.index)
            return self._element(expression.base, index)
        if isinstance(expression, Operation):
            if expression.operator == "*x":
                return self._behind_star(expression.operands[0])
            if expression.operator in ("=", "++", "--") or expression.operator in ASSIGNMENTS:
                self.evaluate(expression)
                return self.place(expression.operands[0])
            return None
        if isinstance(expression, Cast):
            return self.place(expression.value)
        if isinstance(expression, Invocation):
            return self.place_of_call(expression)
        return None

    @abstractmethod
    def place_of_call(self, call: Invocation) -> str | None:
        """Return the path of what a container's or an optional's method gives a reference to; None of other calls."""

    def _behind_star(self, operand: Expression) -> str | None:
        path = self.place(operand) if not isinstance(operand, Invocation | Operation) else None
        value = self.evaluate(operand) if path is None else self.value_at(path)
        if path is not None and not value.is_null and all(option.kind == "known" for option in value.options):
            return path  # of std::optional
        if value.kind == "known" or (value.kind == "unknown" and value.data is None and path is None):
            return None
        target = self.behind(value, path or "")
        if self.types.get(target, "").endswith("]"):
            return self.element_path(target, known(0))
        return target or None

    def _base(self, base: Expression) -> str | None:
        """Return the path of the object of ``base.name`` or ``base->name``."""
        if isinstance(base, Name) and base.name == "this":
            return self.frame.this or "this"
        path = self.place(base)
        if path is None:
            value = self.evaluate(base)
            found = self.behind(value, "")
            return found or None
        value = self.peek(path) or UNKNOWN
        if value.kind in ("pointer", "thing", "unknown", "one of"):
            target = self.behind(value, path)
            if value.kind == "pointer" and self.types.get(target, "").endswith("]"):
                return self.element_path(target, known(0))
            return target
        return path

    def _element(self, base: Expression, index: Value) -> str | None:
        path = self.place(base)
        if path is not None and types.is_map(self.types.get(path, "")):
            return self.member_path(self.element_path(path, index), "second")
        value = self.evaluate(base) if path is None else self.value_at(path)
        if path is not None and (types.is_array(self.types.get(path, "")) or self.types.get(path, "").endswith("]")):
            return self.element_path(path, index)
        target = self.behind(value, path or "")
        if not target:
            return None
        return self.element_behind(target, index)

    def element_behind(self, target: str, index: Value) -> str:
        """Return the path of an element counted from the one that a pointer points to."""
        start = re.search(r"\[([^\[\]]*)\]$", target)
        if start is not None and target in self.children.get(target[: start.start()], {}):
            if start[1].isdigit():
                return self.element_path(target[: start.start()], symbols.operate("+", known(int(start[1])), index))
            if index.kind == "known" and index.data == 0:
                return target
            return self.element_path(target[: start.start()], symbols.operate("+", unknown(start[1]), index))
        is_scalar = target in self.state.variables and not self.types.get(target, "").endswith("]")
        if is_scalar and index.kind == "known" and index.data == 0 and f"{target}[0]" not in self.state.variables:
            return target
        return self.element_path(target, index)

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
            return self._assignment(operands)
        if sign in ASSIGNMENTS or sign in ("++", "--"):
            return self._change(sign, operands)
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
        if sign == ",":
            return values[-1] if values else UNKNOWN
        if len(values) == 1:
            return self._unary(sign, values[0])
        if len(values) != 2:
            return UNKNOWN
        return self._offset(sign, values[0], values[1]) or symbols.operate(sign, values[0], values[1])

    def _offset(self, sign: str, base: Value, offset: Value) -> Value | None:
        """Return the address of another element of an array."""
        if sign == "+" and base.kind == "pointer" and offset.kind in ("known", "unknown"):
            path = str(base.data)
            if self.types.get(path, "").endswith("]") or types.is_array(self.types.get(path, "")):
                return pointer(self.element_path(path, offset), base.type)
            if path.endswith("]"):
                return pointer(self.element_behind(path, offset), base.type)
        return None

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

    def _assignment(self, operands: tuple[Expression, ...]) -> Value:
        target, source = operands[0], operands[1]
        if isinstance(source, Invocation):
            use = f"assigned {target.name}" if isinstance(target, Name | Member) else "checked"
            value = self.evaluate(source, use)
        else:
            value = self.evaluate(source)
        if (
            isinstance(target, Invocation)
            and isinstance(target.callee, Name)
            and target.callee.name in ("tie", "std::tie")
        ):
            for part, given in zip(target.arguments, value.data if value.kind == "items" else (), strict=False):
                if (place := self.place(part)) is not None:
                    self.assign(place, given)
            return value
        path = self.place(target)
        if path is not None:
            self.assign(path, value)
        else:
            self.keep(value)
        return value

    @abstractmethod
    def keep(self, value: Value) -> None:
        """Note of a thing that something else than the variable it was made in has it, too."""

    def assign(self, path: str, value: Value) -> None:
        """Set a variable to a value; arrays and objects are set element by element."""
        if value.kind == "thing" and value.data not in self.types:  # calloc(1, sizeof(layer))
            inner = types.pointee(self.types.get(path, ""))
            if inner and self.index.class_of(inner) is not None and self.state.things[value.data].kind == "memory":
                self.types[value.data] = inner
                if value.data.startswith("calloc"):
                    self.zero(value.data)
        if value.kind == "items":
            class_ = self.class_at(path)
            type_ = self.types.get(path, "")
            if types.is_pair(type_):
                for name, part in zip(("first", "second"), value.data, strict=False):
                    self.assign(self.member_path(path, name), part)
                return
            if class_ is not None and not types.pointee(type_):
                self.zero(path)
                for name, part in self._by_member(class_, value):
                    self.assign(self.member_path(path, name), part)
                return
            if types.is_map(type_):
                self._assign_map(path, value)
                return
            if types.pointee(type_) or type_.endswith("]"):
                self.write_elements(path, list(value.data))
                return
            if not type_ and len(value.data) > 1:
                self.write_elements(path, list(value.data))
            value = value.data[0] if len(value.data) == 1 else value
        elif value.kind == "unknown" and f"{value.data}.first" in self.state.variables and f"{value.data}" != path:
            self._assign_pair(path, str(value.data))
            return
        elif value.kind == "known" and types.is_smart(self.types.get(path, "")):
            value = NULL if value.is_null else value
        elif value.kind == "pointer" and types.is_array(self.types.get(path, "")):
            return  # a container made from an array is not followed
        self.write(path, value)

    def _assign_pair(self, path: str, other: str) -> None:
        """Set the parts of a pair to those of another."""
        self.state.variables.pop(path, None)
        for name in ("first", "second"):
            given = f"{other}.{name}"
            part = self.member_path(path, name)
            self.types.setdefault(part, self.types.get(given, ""))
            if self.class_at(given) is not None and given not in self.state.variables:
                self.state.variables[part] = unknown(given, self.types[given])
            else:
                self.assign(part, self.value_at(given))

    def _by_member(self, class_: Class, value: Value) -> Iterator[tuple[str, Value]]:
        """Yield the members that braces set, by their designators or in order."""
        designators = value.type[1:].split(",") if value.type.startswith(".") else ()
        members = designators or [member.name for member in self.index.members(class_.name)]
        yield from zip(members, value.data, strict=False)

    def _assign_map(self, path: str, value: Value) -> None:
        for pair in value.data:
            if pair.kind == "items" and len(pair.data) == 2:
                self.assign(self.element_path(path, pair.data[0]), pair)

    def _change(self, sign: str, operands: tuple[Expression, ...]) -> Value:
        by = self.evaluate(operands[1]) if len(operands) > 1 else known(1, "int")
        path = self.place(operands[0])
        if path is None:
            return UNKNOWN
        old = self.value_at(path)
        plain = sign[0] if sign in ("++", "--") else sign.removesuffix("=")
        new = self._offset(plain, old, by) or symbols.operate(plain, old, by)
        self.write(path, new)
        return new if sign in ASSIGNMENTS else old

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
        type_ = self.types.get(path, "") if path is not None else types.bare(self.index.resolved(name))
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
            return self.joined([self.evaluate(operands[1]), self.evaluate(operands[2])])
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
