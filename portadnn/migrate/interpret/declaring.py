"""Variables as they are declared: their types, first values and elements, and the objects among them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..program import Braces, Declare, Expression, Invocation, Name, Span
from ..values import NULL, UNKNOWN, Value, known
from . import types
from .loops import Loops


class Declaring(Loops):
    """Follows declarations."""

    def declare(self, statement: Declare) -> None:
        """Follow the declaration of a variable, an array or an object."""
        path = f"{statement.name}#{self.frame.turn}"
        value: Value | None = None
        reference = statement.type.rstrip().endswith("&")
        if statement.value is not None:
            if reference and (target := self._reference(statement.value)) is not None:
                self.frame.scopes[-1][statement.name] = target
                self.types.setdefault(target, statement.type)
                return
            use = f"assigned {statement.name}" if isinstance(statement.value, Invocation) else "checked"
            self.types.setdefault(path, statement.type)  # for T one = T(1), whose T is a type then
            self.frame.declared.append(path)
            value = self.evaluate(statement.value, use)
        if re.search(r"(?:^|::)j?thread$", types.bare(statement.type)) and statement.arguments:
            self.start_thread(statement.arguments)
            return
        if statement.name.startswith("["):
            self.declare_parts(statement.name, value)
            return
        self.frame.scopes[-1][statement.name] = path
        self.frame.declared.append(path)
        self.types[path] = self._declared_type(statement, value)
        for inner in [path, *self.children.pop(path, ())]:
            self.state.variables.pop(inner, None)
        if statement.array:
            self._declare_array(path, statement, value)
        elif value is not None:
            self._give(path, statement, value)
        else:
            self._make(path, statement)

    def declare_parts(self, names: str, value: Value | None) -> None:
        """Declare the variables of ``auto [a, b] = ...``, by their names in brackets."""
        given = self._items_of(value)
        places = self._parts_of(value) if value is not None and not given else []
        for i, name in enumerate(names.strip("[]").split(",")):
            path = f"{name}#{self.frame.turn}"
            self.frame.scopes[-1][name] = path
            self.frame.declared.append(path)
            self.types[path] = ""
            self.state.variables.pop(path, None)
            if i < len(given):
                self.state.variables[path] = given[i]
            elif i < len(places):
                self.frame.scopes[-1][name] = places[i]

    def _items_of(self, value: Value | None) -> Sequence[Value]:
        """Return the parts of braces or of a tuple; of one of several, what each part may be."""
        rows = [option.data for option in value.options if option.kind == "items"] if value is not None else []
        if value is None or not rows or len(rows) < len(value.options) or len({len(row) for row in rows}) > 1:
            return ()
        return [self.joined(column) for column in zip(*rows, strict=True)]

    def _parts_of(self, value: Value) -> list[str]:
        """Return the paths of the parts of an object that ``auto [a, b]`` names."""
        base = str(value.data) if value.kind in ("unknown", "pointer") and value.data is not None else ""
        if f"{base}.first" in self.state.variables or types.is_pair(self.types.get(base, "")):
            return [self.member_path(base, "first"), self.member_path(base, "second")]
        class_ = self.class_at(base) if base else None
        return [] if class_ is None else [self.member_path(base, m.name) for m in self.index.members(class_.name)]

    def _reference(self, expression: Expression) -> str | None:
        if isinstance(expression, Invocation):
            return None
        return self.place(expression)

    def _declared_type(self, statement: Declare, value: Value | None) -> str:
        type_ = statement.type
        if not types.bare(type_) and value is not None:  # auto
            inner = types.bare(value.type)
            type_ = f"{inner} *" if value.kind == "pointer" and inner else inner
        type_ = self.meant(type_) or type_
        return self.index.concrete(type_) + "[]" * len(statement.array)

    def _declare_array(self, path: str, statement: Declare, value: Value | None) -> None:
        sizes = [UNKNOWN if size is None else self.evaluate(size) for size in statement.array]
        if value is not None and value.kind == "items":
            self.write_elements(path, list(value.data))
        if sizes and sizes[0].kind == "known":
            self.write(f"{path}.#length", sizes[0])
            count = sizes[0].data
            if value is not None and value.kind == "items" and isinstance(count, int) and len(value.data) < count <= 8:
                for i in range(len(value.data), count):
                    self.write(self.element_path(path, known(i)), known(0, types.bare(statement.type)))

    def _give(self, path: str, statement: Declare, value: Value) -> None:
        type_ = statement.type
        class_ = self.class_at(path)
        if class_ is not None and not types.pointee(self.types[path]):
            returned = isinstance(statement.value, Invocation) and value.kind == "unknown" and value.data is not None
            self.frame.objects.append((str(value.data) if returned else path, class_.name))
        if value.kind == "items" and class_ is not None and not types.pointee(type_):
            arguments = statement.value.values if isinstance(statement.value, Braces) else ()
            if self.index.special(class_.name, "constructor"):
                self.construct(path, class_.name, arguments)
                return
        self.assign(path, self.cast(value, type_) if types.bare(type_) else value)

    def _make(self, path: str, statement: Declare) -> None:
        type_ = self.types[path]
        class_ = self.index.class_of(type_)
        if types.is_map(type_):
            for argument in statement.arguments:
                self.assign(path, self.evaluate(argument))
        elif types.is_array(type_):
            values = [self.evaluate(argument) for argument in statement.arguments]
            fixed = types.template_arguments(types.bare(type_))
            if len(values) == 1 and values[0].kind == "items" and not _is_range(values[0].data):
                self.write_elements(path, list(values[0].data))
            elif not values and len(fixed) == 2 and not types.is_map(type_) and "array" in type_:
                self.write(f"{path}.#length", self.length_of(fixed[1], statement.span))
            else:
                length = values[0] if values else known(0, "size_t")
                self.set_length(path, UNKNOWN if length.kind == "items" else length, type_)
                if len(values) == 2:
                    self.fill(path, values[1])
        elif types.is_smart(type_) and not types.is_pair(type_):
            values = [self.evaluate(argument) for argument in statement.arguments]
            self.state.variables[path] = values[0] if values else NULL
        elif class_ is not None and not types.pointee(type_):
            self.frame.objects.append((path, class_.name))
            self.construct(path, class_.name, statement.arguments)
        else:
            values = [self.evaluate(argument) for argument in statement.arguments]
            if len(values) == 1:
                self.assign(path, self.cast(values[0], type_))

    def length_of(self, text: str, span: Span) -> Value:
        """Return the length that a ``std::array`` has by its type: a number, or a constant of the program."""
        if text.isdecimal():
            return known(int(text), "size_t")
        return self.evaluate(Name(text, span)) if re.fullmatch(r"[\w:]+", text) else UNKNOWN


def _is_range(values: Sequence[Value]) -> bool:
    """Whether values in braces are the two ends of an array: ``{data, data + n}``."""
    if len(values) != 2 or not all(value.kind in ("unknown", "pointer") and value.data for value in values):
        return False
    return values[0].data != values[1].data and str(values[0].data) in str(values[1].data)
