"""Variables by name: local ones, members of this object, those of files and namespaces."""

from __future__ import annotations

import re
from abc import abstractmethod
from itertools import islice

from ..model import symbols
from ..program import Braces, Declare, Expression, Name, Unit
from ..values import POSSIBLY, UNKNOWN, Value, join, known, unknown
from . import types
from .constants import OTHERS
from .frame import Frame
from .memory import Memory, is_enumeration
from .parts import enumerators, has_calls

_CONSTANT = re.compile(r"\b(?:const|constexpr|enum)\b|#define")
_MOST_OWNERS = 12


class Globals(Memory):
    """Finds variables by their names."""

    frame: Frame

    @abstractmethod
    def evaluate(self, expression: Expression, use: str = "checked") -> Value:
        """Follow an expression and return its value."""

    @abstractmethod
    def cast(self, value: Value, type_: str) -> Value:
        """Return a value after a conversion."""

    def variable(self, name: str) -> str | None:
        """Return the path of a local variable, a member of this object, or a variable of the file."""
        if name == "this":
            return None
        local = self.frame.path_of(name)
        if local is not None:
            return local
        short = types.simple(name)
        if self.frame.this_class:
            class_ = self.index.class_named(self.frame.this_class)
            if self.member_declaration(class_, short) is not None and (
                short == name or types.owner_of(name) == self.frame.this_class
            ):
                return self.member_path(self.frame.this or "this", short)
        return self.variable_of_file(name, short)

    def variable_of_file(self, name: str, short: str) -> str | None:
        """Return the path of a variable of a file, a namespace or a class."""
        owner = types.owner_of(name)
        if owner in self.index.aliases and owner not in self.index.classes:  # typedef Consts<ElemType> C;  C::One
            name = f"{types.simple(types.bare(self.index.resolved(owner)))}::{short}"
        found = self.index.variables_of(types.owner_of(name), short)
        if not found:
            return self._of_parameter(owner, name, short) if owner else None
        wanted = name.replace(" ", "")
        given = frozenset(f"<{argument}>" for argument in self.frame.generic.values()) if "<" not in wanted else ()

        def fitness(pair: tuple[Declare, Unit]) -> tuple[bool, bool, bool, bool, bool, bool]:
            declared, unit = pair
            special = bool(given) and any(argument in declared.name for argument in given)
            said = declared.name.replace(" ", "")
            exact = said == wanted or ("::" in said and wanted.endswith(f"::{said}"))
            mine = not owner and bool(self.frame.this_class) and types.owner_of(declared.name) == self.frame.this_class
            return (mine, special, exact, "<" not in declared.name, unit is self.frame.unit, declared.value is not None)

        best = max(found, key=fitness)
        if best[0].value is None:
            best = max(found, key=lambda pair: (pair[0].name == best[0].name, pair[0].value is not None))
        places = [pair for pair in found if pair[0].name == best[0].name and pair[0].value is not None]
        path = f"::{best[0].name}" if len(places) <= 1 else f"::{best[0].name}/{places.index(best)}"
        generic = self._given_to_class(best[0].name, wanted)
        path += "".join(f"~{type_}" for type_ in generic.values())
        if path not in self.state.variables:
            self._first_value(path, *best, generic)
        return path

    def _given_to_class(self, declared: str, wanted: str) -> dict[str, str]:
        """Return what the parameters of a static member's class template stand for: ``Type<T>::value``."""
        class_ = self.index.class_named(types.owner_of(declared)) if "<" in wanted and "<" not in declared else None
        if class_ is None or not class_.template:
            return {}
        given = types.template_arguments(wanted.rpartition("::")[0].rpartition("::")[2])
        names = (text.split()[-1] for text in class_.template)
        return {name: self.frame.generic.get(one, one) for name, one in zip(names, given, strict=False)}

    def _of_parameter(self, owner: str, name: str, short: str) -> str | None:
        """Return the path of ``D::mode`` where D is a template's parameter: what one of the program's classes has."""
        if owner in self.index.classes or not self.index.is_parameter(owner):
            return None
        named = self.index.variables_named(short)
        found = list(islice((d for d, _ in named if types.owner_of(d.name) in self.index.classes), _MOST_OWNERS))
        path = f"::{name}"
        if found and path not in self.state.variables:
            names = dict.fromkeys(declared.name for declared in found)
            values = [self.evaluate(Name(declared, found[0].span)) for declared in names]
            self.state.variables[path] = self.joined(values)
        return path if found else None

    def _first_value(self, path: str, declared: Declare, unit: Unit, generic: dict[str, str]) -> None:
        self.types.setdefault(path, declared.type + "[]" * len(declared.array))
        constant = _CONSTANT.search(declared.type) is not None
        if declared.value is None:
            self._first_length(path, declared)
        if declared.value is None or not (constant or declared.name not in self.index.given.assigned(unit)):
            self.state.variables[path] = self._one_of_given(path, declared)
            return
        self.state.variables[path] = UNKNOWN  # where it is defined by itself
        frame, self.frame = self.frame, Frame(0, unit, "", self.frame.function, generic=generic)
        self.types[path] = self.index.concrete(declared.type) + "[]" * len(declared.array)
        try:
            value = self.evaluate(declared.value)
        finally:
            self.frame = frame
        del self.state.variables[path]
        self.assign(path, value if "#define" in declared.type else self.cast(value, declared.type))

    def _one_of_given(self, path: str, declared: Declare) -> Value:
        """Return what a variable that functions set may be: of an enumeration's what any of them gives it by name.

        Of a scalar that is what it begins with, but for 0, and the numbers that it is set to.
        """
        value = unknown(path, types.bare(declared.type))
        if types.bare(declared.type) in ("float", "double") and not declared.array:
            first = self.evaluate(declared.value) if declared.value is not None else value
            numbers = [first] if first.kind == "known" and first.data else []
            numbers += [self.evaluate(number) for number in self.given.numbers_of_variable(declared.name)]
            return join([*(self.cast(one, declared.type) for one in numbers), POSSIBLY]) if numbers else value
        if declared.value is None or not is_enumeration(declared.type):
            return value
        names = {*enumerators(declared.value), *self.given.names_of_variable(declared.name)} - {OTHERS}
        return join([*map(known, sorted(names)), POSSIBLY]) if names else value

    def _first_length(self, path: str, declared: Declare) -> None:
        """Note how long an array of the file is."""
        fixed = types.template_arguments(types.bare(declared.type)) if types.is_array(declared.type) else ()
        if len(declared.array) == 1 and declared.array[0] is not None:
            length = self.evaluate(declared.array[0])
        else:
            length = known(int(fixed[1]), "size_t") if len(fixed) == 2 and fixed[1].isdecimal() else UNKNOWN
        if length.kind == "known":
            self.write(f"{path}.#length", length)

    def lasting_value(self, declared: Declare) -> Value | None:
        """Return the value that every object's member has, where nothing ever sets it."""
        if self.index.kind_of(declared.type) or types.pointee(declared.type):
            return None
        if declared.value is None or (
            _CONSTANT.search(declared.type) is None
            and any(declared.name in self.index.given.assigned_members(unit) for unit in self.index.units)
        ):
            return None
        if symbols.is_integer(types.bare(declared.type)) and self.index.given.may_be_written(declared.name):
            return None
        if has_calls(declared.value) or isinstance(declared.value, Braces):
            return None
        value = self.cast(self.evaluate(declared.value), declared.type)
        is_open = isinstance(value.data, int) and value.data == 0
        return None if is_open and _CONSTANT.search(declared.type) is None else value  # callers outside set it
