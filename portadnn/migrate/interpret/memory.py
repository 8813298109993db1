"""Variables by path, and what stands behind them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..model import symbols
from ..model.kinds import library_of
from ..model.state import State, Thing, unified
from ..program import Class, Constant, Declare, Expression
from ..values import POSSIBLY, UNKNOWN, Value, items, join, known, thing, unknown
from . import types
from .constants import OTHERS, ConstantsGiven
from .frame import Frame
from .index import Index
from .kept import KeptSettings, is_chosen
from .parts import has_calls

_SYMBOLIC = re.compile(r"\[(?!-?\d+\]|=)[^\[\]]*\]")  # of a map, [=key] is an entry that is known
_ENUMERATION = re.compile(
    r"(?:cudnn|miopen)\w*(?:Mode|Format|DataType|Op|Propagation|RNNAlgo|SoftmaxAlgorithm|MathType)_t$"
)
_IN_RESULT = re.compile(r"status@(\d+)[\[.]")
_LONGEST_PATH = 300
_SCALARS = ("float", "double", "double?")
_LONGEST_ARRAY = 16


class Memory:
    """The variables of a program, in the state that holds now.

    A path that was never written has what was there at first: an unknown value whose key is the path, and of a
    descriptor's or handle's type a thing whose id is the path. Behind an unknown pointer stands the variable whose path
    is its key, so that ``p->x`` is the same wherever `p` was copied to.
    """

    frame: Frame  # of the function that is followed

    def __init__(self, index: Index) -> None:
        self.index = index
        self.given = ConstantsGiven(index)
        self.state = State()
        self.types: dict[str, str] = {}
        self.children: dict[str, dict[str, None]] = {}
        self.declared_members: dict[str, Declare] = {}  # those with a value of their own
        self.loops = 0  # how many loops are being followed
        self.guards = 0  # how many ifs are around what is being followed
        self.kept = KeptSettings()

    @abstractmethod
    def lasting_value(self, declared: Declare) -> Value | None:
        """Return the value that every object's member has, where nothing ever sets it."""

    # Reading and writing ----------------------------------------------------------------------------------------

    def read(self, path: str) -> Value:
        """Return what is known of a variable."""
        value = self.state.variables.get(path)
        if value is not None:
            return value
        value = self._of_any_element(path)
        if value is None:
            value = self._at_first(path)
        self.state.variables[path] = value
        return value

    def peek(self, path: str) -> Value | None:
        """Return what is known of a variable that was written or read before; None of others."""
        value = self.state.variables.get(path)
        return self._of_any_element(path) if value is None else value

    def _of_any_element(self, path: str) -> Value | None:
        """Return what was last written to some element of the array, where it is not known to which."""
        if "[" not in path:
            return None
        general = _SYMBOLIC.sub("[*]", path)
        value = self.state.variables.get(general)
        if value is None and general == path:
            general = re.sub(r"\[[^\[\]]*\]", "[*]", path)
            value = self.state.variables.get(general)
        return value

    def _at_first(self, path: str) -> Value:
        type_ = self.types.get(path, "")
        declared = self.declared_members.get(path)
        if declared is not None and (value := self.lasting_value(declared)) is not None:
            return value
        kind = self.index.kind_of(type_) if type_ and not types.pointee(type_) and not types.is_pair(type_) else ""
        if kind:
            return self.adopt(path, type_)
        if _ENUMERATION.match(types.bare(type_)):
            whole = re.sub(r"(?:\[[^\[\]]*\])+$", "", path)  # the list of which it is an element
            class_ = self.class_at(parent_of(whole))
            name = re.split(r"\.|->", whole)[-1]
            constants = () if class_ is None else self.given.names_of_member(types.simple(class_.name), name)
            library = "" if class_ is None else self._library_of_member(class_, name, type_)
            mine = [known(c) for c in constants if c and c.lower().startswith(library)]
            if mine:
                return join([*mine, *([POSSIBLY] if OTHERS in constants else [])])
        if is_chosen(path, type_) and (class_ := self.class_at(parent_of(path))) is not None:
            return self._algorithm_at_first(path, types.bare(type_), class_)
        if self.is_scalar(type_) and (class_ := self.class_at(parent_of(path))) is not None:
            name = re.split(r"\.|->", path)[-1]
            numbers = self.given.numbers_of_member(types.simple(class_.name), name)
            return self.one_of_numbers(numbers, type_) or unknown(path, types.bare(type_))
        found = _IN_RESULT.match(path)  # of a call in Python, which returns what it finds
        return unknown(path, types.bare(type_), () if found is None else (int(found[1]),))

    def is_scalar(self, type_: str) -> bool:
        """Whether a type is that of scalars such as alpha and beta."""
        return self.index.number_type(types.bare(self.index.resolved(types.bare(type_)))) in _SCALARS

    def one_of_numbers(self, numbers: Sequence[Constant], type_: str) -> Value | None:
        """Return what possibly is one of some numbers, that the program gives in other places."""
        name = self.index.number_type(types.bare(self.index.resolved(types.bare(type_))))
        found = [symbols.converted(known(one.value, one.type), name) for one in numbers]
        return join([*found, POSSIBLY]) if found else None

    def _library_of_member(self, class_: Class, name: str, type_: str) -> str:
        """Return whose enumeration a member has; "" where each half of an ``#ifdef`` declares it for a library."""
        members = (member for owner in self.index.lineage(class_.name) for member in owner.members)
        of = {library_of(member.type) for member in members if member.name == name}
        return "" if len(of) > 1 else library_of(type_) or ""

    def _algorithm_at_first(self, path: str, type_: str, class_: Class) -> Value:
        """Return what an algorithm in a member possibly is: what any part of the program puts there."""
        chosen = self.kept.algorithms(class_.name, path)
        if not chosen:
            self.kept.want(class_.name, path)
        name = re.split(r"\.|->", path)[-1]
        names = self.given.names_of_member(types.simple(class_.name), name)
        constants = [known(one) for one in names if symbols.ALGORITHM.match(one)]
        first = unknown(path, type_)
        return join((first, *chosen, *constants, POSSIBLY)) if chosen or constants else first

    def size_at_first(self, path: str, type_: str) -> Value | None:
        """Return the size of a workspace that a member has everywhere: a constant that it is given in one place."""
        class_ = self.class_at(parent_of(path))
        name = re.split(r"\.|->", path)[-1]
        if class_ is None or not symbols.is_integer(types.bare(type_)):
            return None
        declared = self.declared_members.get(path)
        given = None if declared is None else declared.value  # it is what it has until something is asked
        if given is None and not self.index.given.may_be_written(name):
            given = self.index.given.only_given(types.simple(class_.name), name)
        value = UNKNOWN if given is None or has_calls(given) else self.evaluate(given)
        return value if value.kind == "known" and isinstance(value.data, int) and value.data > 0 else None

    @abstractmethod
    def evaluate(self, expression: Expression, use: str = "checked") -> Value:
        """Follow an expression and return its value."""

    def _kept(self, path: str, kind: str) -> dict[str, Value]:
        """Return what a descriptor that came from outside in a member of an object possibly is set to."""
        class_ = self.class_at(parent_of(path)) if (kind and not path.startswith("this->")) or "." in path else None
        if class_ is None:
            return self.kept.of_kind(kind)
        found = self.kept.of(class_.name, path)
        if not found:
            self.kept.want(class_.name, path)
        return found

    def adopt(self, path: str, type_: str) -> Value:
        """Make a thing that came from outside, under the path of the variable that holds it."""
        if path not in self.state.things:
            kind = self.index.kind_of(type_)
            library = library_of(type_) or library_of(self.index.resolved(types.bare(type_)))
            many = "[" in path and re.search(r"\[\d+\]$", path) is None
            self.state.things[path] = Thing(path, kind, written(path), library, self._kept(path, kind), many=many)
        return thing(path, types.bare(type_))

    def write(self, path: str, value: Value) -> None:
        """Set a variable."""
        self._register(path)
        type_ = self.types.get(path)
        if type_ is not None and value.kind == "known" and not types.pointee(type_) and not types.is_pair(type_):
            value = symbols.converted(value, self.index.number_type(types.bare(type_)))
        if type_ is not None and is_chosen(path, type_) and (class_ := self.class_at(parent_of(path))) is not None:
            self.kept.note_algorithm(class_.name, path, value)
        self.state.variables[path] = value
        if "[" in path:
            general = re.sub(r"\[[^\[\]]*\]", "[*]", path)
            if general != path:
                exact = _SYMBOLIC.search(path) is None
                before = self.state.variables.get(general) if exact else None
                self._register(general)
                self.state.variables[general] = value if before is None else self.joined([before, value])

    def joined(self, values: Iterable[Value]) -> Value:
        """Return what is known where paths meet on which a value is one of these."""
        return unified(join(values), self.state)

    def _register(self, path: str) -> None:
        parent = parent_of(path)
        while parent:
            siblings = self.children.setdefault(parent, {})
            if path in siblings:
                return
            siblings[path] = None
            path, parent = parent, parent_of(parent)

    def forget(self, path: str, *, why: str) -> None:
        """Make a variable, and all that is in it, unknown: something that was not followed may have set it."""
        for inner in self._within(path):
            if inner in self.state.variables:
                old = self.state.variables[inner]
                self.lose(old)
                if old.kind == "thing":
                    self.state.variables[inner] = self._anew(f"{inner}~{why}", self.types.get(inner) or old.type)
                else:
                    self.state.variables[inner] = unknown(f"{inner}~{why}", old.type)
            elif inner == path:
                type_ = self.types.get(path, "")
                if self.index.kind_of(type_) and not types.pointee(type_):
                    self.state.variables[path] = self._anew(f"{path}~{why}", type_)
                else:
                    self.state.variables[path] = unknown(f"{path}~{why}", types.bare(type_))

    def _anew(self, id_: str, type_: str) -> Value:
        """Return a thing that something may have put in another's place, and may have set."""
        value = self.adopt(id_, type_)
        self.lose(value)
        return value

    def lose(self, value: Value) -> None:
        """Note that something that was not followed may have changed a thing."""
        for option in value.options:
            old = self.state.things.get(option.data) if option.kind == "thing" else None
            if old is not None and old.kind not in ("handle", "memory"):
                self.state.things[old.id] = replace(old, certain=False)

    def _within(self, path: str) -> Iterator[str]:
        waiting = [path]
        seen = set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            yield current
            waiting.extend(self.children.get(current, ()))

    # Paths ------------------------------------------------------------------------------------------------------

    def member_path(self, base: str, name: str) -> str:
        """Return the path of a member of the object at `base`; of a union's scalars, that of the first."""
        holder = self.types.get(base, "")
        if name in ("first", "second") and types.is_pair(holder):
            path = f"{base}.{name}"
            self.types.setdefault(path, types.template_arguments(holder)[name == "second"])
            return path
        class_ = self.class_at(base)
        if class_ is not None and class_.union and self._is_scalar(class_) and name in {m.name for m in class_.members}:
            name = class_.members[0].name
        path = f"{base}->{name}" if base == "this" else f"{base}.{name}"
        if path not in self.types:
            declared = self.member_declaration(class_, name)
            if declared is None and base == self.frame.this:  # a virtual method's, of an object known by its base
                declared = self.member_declaration(self.index.class_named(self.frame.this_class), name)
            if declared is not None:
                self.types[path] = self._given_type(base, class_, declared.type) + "[]" * len(declared.array)
                if declared.value is not None:
                    self.declared_members[path] = declared
        return path if len(path) <= _LONGEST_PATH else f"{base[:_LONGEST_PATH]}~"

    def _given_type(self, base: str, class_: Class | None, type_: str) -> str:
        """Return a member's type: of a template's parameter what the object's type gives it."""
        holder = self.types.get(base, "")
        if class_ is not None and class_.template and "<" in holder:
            given = zip(class_.template, types.template_arguments(types.bare(holder)), strict=False)
            named = {text.split()[-1]: argument for text, argument in given}
            if (found := named.get(types.bare(type_))) is not None:
                return found
        return self.index.concrete(type_)

    def element_path(self, base: str, index: Value) -> str:
        """Return the path of an element of the array at `base`."""
        key = symbols.key_of(index) or "*"
        key = re.sub(r"[\[\]]", "'", key)
        if types.is_map(self.types.get(base, "")):
            key = ("=" if index.kind == "known" else "") + re.sub(r"[^\w]", "'", key)
        path = f"{base}[{key}]"
        if path not in self.types and base in self.types and (inner := types.pointee(self.types[base])):
            self.types[path] = inner
        return path if len(path) <= _LONGEST_PATH else f"{base[:_LONGEST_PATH]}[*]"

    def class_at(self, path: str) -> Class | None:
        """Return the class of the object at a path."""
        return self.index.class_of(self.types.get(path, ""))

    def member_declaration(self, class_: Class | None, name: str) -> Declare | None:
        """Return the declaration of a data member."""
        return None if class_ is None else self.index.members_by_name(class_.name).get(name)

    def behind(self, value: Value, otherwise: str) -> str:
        """Return the path of what a pointer points to; of an object, its own path."""
        options = [option for option in value.options if not option.is_null]
        if len(options) == 1:
            value = options[0]
        if value.kind in ("pointer", "thing"):
            return str(value.data)
        if value.kind == "unknown" and value.data is not None:
            path = str(value.data)
            if path not in self.types:
                type_ = value.type or self.types.get(otherwise, "")
                if type_:
                    self.types[path] = types.pointee(type_) or type_
            return path
        return otherwise

    def content(self, value: Value, *, array: bool) -> Value | None:
        """Return what stands behind a pointer: the elements where an array is meant."""
        if value.kind == "one of":
            parts = [self.content(option, array=array) for option in value.options if not option.is_null]
            return join(part for part in parts if part is not None) if parts and None not in parts else None
        if value.kind != "pointer":
            return None
        path = str(value.data)
        base = path[:-3] if path.endswith("[0]") else path
        elements = self.elements(base) if array or path not in self.state.variables else None
        if elements is not None and array:
            return elements
        if elements is not None and elements.data:
            return Value(elements.data[0].kind, elements.data[0].data, elements.data[0].type, elements.data[0].origins)
        class_ = self.class_at(path)
        held = self.state.variables.get(path, UNKNOWN)  # of a copy, whose members it has
        if held.kind == "unknown" and class_ is not None and class_.members and self._is_scalar(class_):
            path = self.member_path(self.behind(held, path), class_.members[0].name)
        return self.peek(path) if path in self.state.variables or "[" in path else self.read(path)

    def _is_scalar(self, class_: Class) -> bool:
        """Whether all members are numbers, pointers or enumerators."""
        return all(not m.array and self.index.class_of(m.type) is None for m in class_.members)

    def elements(self, base: str) -> Value | None:
        """Return the elements of an array, as far as they are known one by one from the first on."""
        found: list[Value] = []
        length = self.state.variables.get(f"{base}.#length")
        if length is not None and length.kind == "known" and isinstance(length.data, int):
            for i in range(min(length.data, _LONGEST_ARRAY)):
                element = self.state.variables.get(f"{base}[{i}]")
                found.append(UNKNOWN if element is None else element)
            return items(found) if found else None
        while (element := self.state.variables.get(f"{base}[{len(found)}]")) is not None:
            found.append(element)
        return items(found) if found else None

    @abstractmethod
    def assign(self, path: str, value: Value) -> None:
        """Set a variable to a value; arrays and objects are set element by element."""

    def write_elements(self, path: str, values: list[Value]) -> None:
        """Set the elements of an array from the first on, and its length; std::array has braces of its own around."""
        if len(values) == 1 and values[0].kind == "items" and types.is_fixed_array(self.types.get(path, "")):
            values = list(values[0].data)
        for i, value in enumerate(values[:_LONGEST_ARRAY]):
            element = self.element_path(path, known(i))
            if value.kind == "items":
                self.assign(element, value)
            else:
                self.write(element, value)
        self.write(f"{path}.#length", known(len(values), "size_t"))

    def zero(self, path: str) -> None:
        """Let a floating-point number be 0, and those in an object that nothing else initialised."""
        class_ = self.class_at(path) if path else None
        if class_ is None:
            paths = [path]
        else:
            members = self.index.members(class_.name)
            paths = [self.member_path(path, member.name) for member in members if member.value is None]
        for one in paths:
            type_ = types.bare(self.types.get(one, ""))
            if type_ in ("float", "double"):
                self.write(one, known(0, type_))


def is_enumeration(type_: str) -> bool:
    """Whether a type is one of a library's enumerations whose values rules ask for."""
    return _ENUMERATION.match(types.bare(type_)) is not None


def parent_of(path: str) -> str:
    """Return the path of the object or array that holds a variable; "" of others."""
    if path.endswith("]"):
        return path[: path.rindex("[")]
    dot = path.rfind(".")
    arrow = path.rfind("->")
    if max(dot, arrow) > path.rfind("]"):
        return path[: max(dot, arrow)]
    cut = max(dot, arrow)
    return path[:cut] if cut > 0 and "[" not in path[cut:] else ""


def written(path: str) -> str:
    """Return a path as the program writes it: without the numbers of functions' turns."""
    return re.sub(r"#\d+|~[\w@.]+|^::", "", path)
