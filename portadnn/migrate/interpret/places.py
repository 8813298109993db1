"""The variables that expressions name, by their paths."""

from __future__ import annotations

import re
from abc import abstractmethod

from ..model import symbols
from ..program import (
    Cast,
    Expression,
    Index,
    Invocation,
    Member,
    Name,
    Operation,
)
from ..values import UNKNOWN, Value, known, pointer, unknown
from . import types
from .frame import Frame
from .globals import Globals
from .parts import ASSIGNMENTS

DEEPEST = 110  # statements and expressions within each other, over all functions that are being followed


class Places(Globals):
    """Finds the paths of variables."""

    depth: int

    @property
    def frame(self) -> Frame:
        """The function that is being followed."""
        return self._frame

    @frame.setter
    def frame(self, frame: Frame) -> None:
        self._frame = frame
        self.index.here = frame.unit.file

    @abstractmethod
    def step(self) -> None:
        """Count a step, and end the following of this entry when there were too many."""

    def value_at(self, path: str) -> Value:
        """Return what an expression for a variable gives: of an array the address of its elements."""
        type_ = self.types.get(path, "")
        if type_.endswith("]"):
            return pointer(path, types.pointee(type_))
        return self.read(path)

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
            if start[1].isdecimal():
                return self.element_path(target[: start.start()], symbols.operate("+", known(int(start[1])), index))
            if index.kind == "known" and index.data == 0:
                return target
            return self.element_path(target[: start.start()], symbols.operate("+", unknown(start[1]), index))
        is_scalar = target in self.state.variables and not self.types.get(target, "").endswith("]")
        if is_scalar and index.kind == "known" and index.data == 0 and f"{target}[0]" not in self.state.variables:
            return target
        return self.element_path(target, index)
