"""Containers, smart pointers, optionals, pairs and tuples: what their methods give, and where it is kept."""

from __future__ import annotations

import re

from ..model import symbols
from ..program import Cast, Constant, Invocation, Lambda, Member, Name
from ..sizes import SIZES
from ..values import NULL, UNKNOWN, Value, items, known, pointer, unknown
from . import types
from .calls import Calls

_ARGUMENTS = re.compile(r"[\w:\s]*?<(.*?)>\s*\(")
_ELEMENTS = frozenset({"at", "front", "back", "value", "get"})


class Containers(Calls):
    """Follows methods and functions of the standard library that give and keep values."""

    def place_of_call(self, call: Invocation) -> str | None:
        """Return the path of what a container's or an optional's method gives a reference to; None of other calls."""
        callee = call.callee
        if isinstance(callee, Name):
            if types.simple(callee.name) == "get" and len(call.arguments) == 1:
                return self._part(call)
            return None
        if not isinstance(callee, Member) or types.simple(callee.name) not in _ELEMENTS:
            return None
        name, base = types.simple(callee.name), self.place(callee.base)
        if base is None:
            return None
        type_ = self.types.get(base, "")
        if types.is_array(type_) and name in ("at", "front", "back"):
            return self.element_path(base, self._which(base, name, call))
        if types.is_map(type_) and name == "at" and call.arguments:
            return self.member_path(self.element_path(base, self.evaluate(call.arguments[0])), "second")
        if name == "value" and not call.arguments and self._is_plain(base):
            return base
        return None

    def _which(self, path: str, name: str, call: Invocation) -> Value:
        if name == "at":
            return self.evaluate(call.arguments[0]) if call.arguments else UNKNOWN
        length = self.peek(f"{path}.#length")
        if name == "front":
            return known(0)
        return UNKNOWN if length is None else symbols.operate("-", length, known(1))

    def _is_plain(self, path: str) -> bool:
        """Whether a variable holds constants, as an optional does that is followed as its value."""
        value = self.peek(path)
        return value is not None and all(option.kind == "known" for option in value.options)

    def _part(self, call: Invocation) -> str | None:
        """Return the path of ``std::get<1>(pair)``."""
        base = self.place(call.arguments[0])
        given = _ARGUMENTS.match(call.text)
        if base is None or given is None or not given[1].strip().isdecimal():
            return None
        number = int(given[1])
        if types.is_pair(self.types.get(base, "")):
            return self.member_path(base, ("first", "second")[min(number, 1)])
        path = f"{base}[{number}]"
        return path if path in self.state.variables else None

    # Methods ----------------------------------------------------------------------------------------------------

    def method_of_value(self, call: Invocation, name: str, base: Value, own: str | None) -> Value | None:
        """Follow a method of an optional, or of a smart pointer behind ``auto``: both are the value that they hold."""
        if name == "get" and not call.arguments and base.kind == "pointer":
            return base
        if name == "value_or" and len(call.arguments) == 1 and base.kind == "unknown":
            return self.joined([base, self.evaluate(call.arguments[0])])
        if own is None or not all(option.kind == "known" for option in base.options):
            return None
        if name in ("value", "get") and not call.arguments:
            return base
        if name == "value_or" and len(call.arguments) == 1:
            other = self.evaluate(call.arguments[0])
            return other if base.is_null else self.joined([base, other]) if base.kind == "one of" else base
        if name == "has_value":
            return unknown(f"{own}.has_value()", "bool")
        return None

    def smart(self, call: Invocation, name: str, path: str, value: Value) -> Value | None:
        """Follow a method of a smart pointer."""
        if name == "get":
            return value
        if name == "release":
            self.write(path, NULL)
            return value
        if name == "reset":
            self.write(path, self.evaluate(call.arguments[0]) if call.arguments else NULL)
            return UNKNOWN
        return None

    def container(self, call: Invocation, name: str, path: str, type_: str) -> Value:
        """Follow a method of a vector or an array."""
        values = [self.evaluate(argument) for argument in call.arguments]
        length = self.peek(f"{path}.#length")
        if name == "data":
            return self.read(path) if types.is_device_array(type_) else pointer(path, types.pointee(type_))
        if name in ("size", "length"):
            return length if length is not None else unknown(f"{path}.size()", "size_t")
        if name == "empty" and length is not None:
            return symbols.operate("==", length, known(0))
        if name in ("push_back", "emplace_back"):
            self._append(call, path, type_, length, values)
            return UNKNOWN
        if name in ("resize", "assign", "clear", "fill"):
            if name != "fill":
                self.set_length(path, values[0] if values else known(0, "size_t"), type_)
            if values and name != "clear" and (name == "fill" or len(values) == 2):
                self.fill(path, values[-1])
            return UNKNOWN
        if name in ("front", "back") or (name == "at" and values):
            return self.value_at(self.element_path(path, self._which(path, name, call)))
        if name in ("begin", "cbegin"):
            return pointer(path, types.pointee(type_))
        return unknown(symbols.combine(f"{path}.{name}", values))

    def _append(self, call: Invocation, path: str, type_: str, length: Value | None, values: list[Value]) -> None:
        place = length if length is not None and self.loops == 0 else UNKNOWN
        element = self.element_path(path, place)
        class_ = self.index.class_of(types.pointee(type_))
        held = class_ is not None and not types.pointee(types.pointee(type_))
        source = values[0] if len(values) == 1 else UNKNOWN
        if held and source.kind == "unknown" and self.class_at(str(source.data)) is not None:
            self.copy_object(str(source.data), element)
        elif held and class_ is not None and types.simple(getattr(call.callee, "name", "")) == "emplace_back":
            self.construct(element, class_.name, call.arguments)
        elif values:
            self.assign(element, values[0])
        self.write(f"{path}.#length", symbols.operate("+", place, known(1)) if place.kind == "known" else UNKNOWN)

    def copy_object(self, source: str, target: str) -> None:
        """Give an object's members the values of another's."""
        waiting = [source]
        while waiting:
            current = waiting.pop()
            waiting += self.children.get(current, ())
            if current != source and (value := self.state.variables.get(current)) is not None:
                path = target + current[len(source) :]
                if current in self.types:
                    self.types.setdefault(path, self.types[current])
                self.write(path, value)

    def fill(self, path: str, value: Value) -> None:
        """Give all elements of a container a value."""
        length = self.peek(f"{path}.#length")
        count = length.data if length is not None and length.kind == "known" else None
        if isinstance(count, int) and 0 < count <= 16:
            self.write_elements(path, [value] * count)
        else:
            self.write(self.element_path(path, UNKNOWN), value)

    def map_method(self, call: Invocation, name: str, path: str) -> Value:
        """Follow a method of a map."""
        values = [self.evaluate(argument) for argument in call.arguments]
        if name == "at" and values:
            return self.value_at(self.member_path(self.element_path(path, values[0]), "second"))
        if name in ("find", "lower_bound") and values:
            return pointer(self.element_path(path, values[0]), types.pointee(self.types[path]))
        if name in ("begin", "cbegin"):
            return pointer(self.element_path(path, UNKNOWN), types.pointee(self.types[path]))
        if name in ("emplace", "insert_or_assign", "try_emplace") and len(values) == 2:
            self.assign(self.element_path(path, values[0]), items(values))
        elif name in ("insert", "emplace") and len(values) == 1 and values[0].kind == "items":
            parts = values[0].data
            if len(parts) == 2 and parts[0].kind != "items":
                self.assign(self.element_path(path, parts[0]), values[0])
            else:
                self.assign(path, values[0])
        return unknown(f"{path}.{name}~{self.fresh()}")

    def set_length(self, path: str, length: Value, type_: str) -> None:
        """Note how many elements a container has now; of memory on a device, how many bytes."""
        self.write(f"{path}.#length", length)
        if types.is_device_array(type_):
            size = SIZES.get(types.template_argument(type_))
            bytes_ = symbols.operate("*", length, known(size)) if size else symbols.with_origins(UNKNOWN, length)
            self.write(path, self.memory(path, bytes_))

    def memory(self, name: str, size: Value) -> Value:
        """Return new memory of a size."""
        raise NotImplementedError

    # Variants ---------------------------------------------------------------------------------------------------

    def visit(self, call: Invocation) -> Value:
        """Follow ``std::visit(function, variant)`` with each alternative of the variant."""
        function, variant = call.arguments
        place = self.place(variant)
        type_ = types.bare(self.index.resolved(types.bare(self.types.get(place or "", ""))))
        alternatives = types.template_arguments(type_) if "variant" in type_ else ()
        if isinstance(function, Lambda) and alternatives:
            self.evaluate(function)
            key = f"lambda~{self.used}"
            held = self.read(place) if place is not None else UNKNOWN
            found = [
                self.call_lambda(key, replace_argument(call, variant, self._alternative(a, held))) for a in alternatives
            ]
            return self.joined(found)
        lambdas = [value for value in getattr(function, "values", ()) if isinstance(value, Lambda)]
        found = []
        for one in lambdas:
            self.evaluate(one)
            found.append(self.last_lambda)
        if not lambdas:
            self.evaluate(function)
        return self.joined(found) if found else UNKNOWN

    def _alternative(self, type_: str, held: Value) -> str:
        """Return the name of a variable that stands for a variant which holds one of its types."""
        name = f"alternative~{self.fresh()}"
        self.frame.scopes[0][name] = name
        self.types[name] = type_
        class_ = self.index.class_of(type_)
        if class_ is not None:
            self.make_members(name, class_.name)
        elif all(option.kind == "known" and isinstance(option.data, int | float) for option in held.options):
            self.state.variables[name] = self.cast(held, type_)
        return name


def replace_argument(call: Invocation, old: Cast | Constant | object, name: str) -> Invocation:
    """Return a call with one variable as its only argument."""
    return Invocation(call.callee, (Name(name, call.span),), call.span, call.text)
