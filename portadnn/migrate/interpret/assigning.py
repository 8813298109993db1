"""What assignments do: of values, elements and members."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from ..model import symbols
from ..program import (
    Class,
    Expression,
    Invocation,
    Member,
    Name,
)
from ..values import NULL, UNKNOWN, Value, known, pointer, unknown
from . import types
from .parts import ASSIGNMENTS
from .places import Places


class Assigning(Places):
    """Follows assignments."""

    def assignment(self, operands: tuple[Expression, ...]) -> Value:
        """Follow an assignment and return what is assigned."""
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

    def change(self, sign: str, operands: tuple[Expression, ...]) -> Value:
        """Follow ``++``, ``+=`` and the like."""
        by = self.evaluate(operands[1]) if len(operands) > 1 else known(1, "int")
        path = self.place(operands[0])
        if path is None:
            return UNKNOWN
        old = self.value_at(path)
        plain = sign[0] if sign in ("++", "--") else sign.removesuffix("=")
        new = self.offset(plain, old, by) or symbols.operate(plain, old, by)
        self.write(path, new)
        return new if sign in ASSIGNMENTS else old

    def offset(self, sign: str, base: Value, offset: Value) -> Value | None:
        """Return the address of another element of an array."""
        if sign == "+" and base.kind == "pointer" and offset.kind in ("known", "unknown"):
            path = str(base.data)
            if self.types.get(path, "").endswith("]") or types.is_array(self.types.get(path, "")):
                return pointer(self.element_path(path, offset), base.type)
            if path.endswith("]"):
                return pointer(self.element_behind(path, offset), base.type)
        return None
