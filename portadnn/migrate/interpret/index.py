"""The functions, classes and constants of a program, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ... import mapping
from ..libraries import is_library
from ..model.kinds import kind_of
from ..names import enumerators_of, values_of_both
from ..nearby import Nearby
from ..program import Class, Constant, Declare, Function, Parameter, Unit
from . import types
from .given import Given
from .parts import given_members, numbers_in, pointed_at

_DEEPEST_OBJECT = 2
_FEW = 4
_MOST_ANCESTORS = 32  # each class is followed with all of its bases' methods


@dataclass(eq=False)
class Known:
    """A function of the program: where it is, and whether following it leads to a call of a library."""

    function: Function
    unit: Unit
    leads: bool = False
    followed: int = 0  # from how many places
    spent: int = 0  # steps spent in it

    @property
    def label(self) -> str:
        """Its name, qualified by its class."""
        owner, name = self.function.owner, self.function.name or "(outside of functions)"
        return f"{owner}::{name}" if owner else name


@dataclass
class Index:
    """All of a program's units, looked up by names without qualification."""

    units: Sequence[Unit]
    functions: dict[str, list[Known]] = field(default_factory=dict)
    methods: dict[str, list[Known]] = field(default_factory=dict)  # by class
    classes: dict[str, list[tuple[Class, str]]] = field(default_factory=dict)  # with their files
    variables: dict[str, list[tuple[Declare, Unit]]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, str] = field(default_factory=dict)
    all: list[Known] = field(default_factory=list)
    here: str = ""  # the file that names are looked up for: where several define one, the nearest counts
    units_with_globals: frozenset[int] | None = None
    units_by_class: dict[str, frozenset[str]] = field(default_factory=dict)
    given: Given = field(init=False)
    _ambiguous: bool = False
    _members: dict[tuple[str, str], Mapping[str, Declare]] = field(default_factory=dict)
    _classes_by_type: dict[tuple[str, str], Class | None] = field(default_factory=dict)
    _near_classes: dict[str, Nearby[tuple[Class, str]]] = field(default_factory=dict)
    _near_functions: dict[str, Nearby[Known]] = field(default_factory=dict)
    _near_variables: dict[str, Nearby[tuple[Declare, Unit]]] = field(default_factory=dict)
    _variables_by_owner: dict[int, dict[str, list[int]]] = field(default_factory=dict)
    _methods_by_class: dict[str, dict[int, list[Known]]] = field(default_factory=dict)
    _methods_sorted: dict[int, dict[tuple[str, str], list[Known]]] = field(default_factory=dict)
    _numbers: dict[str, Mapping[str, tuple[Constant, ...]]] = field(default_factory=dict)
    _parameters: frozenset[str] | None = None
    _derived: dict[str, list[str]] | None = None
    _doubled: frozenset[str] | None = None
    _numbers_by_name: dict[str, set[str]] | None = None
    _given_later: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        defaults: dict[tuple[str, str], list[tuple[Parameter, ...]]] = {}
        for unit in self.units:
            for owner, name, parameters in unit.defaults:
                defaults.setdefault((types.simple(owner), name), []).append(parameters)
        for unit in self.units:
            self.aliases.update(unit.aliases)
            self.seconds.update(unit.seconds)
            for class_ in unit.classes:
                self._add_class(types.simple(class_.name), class_, unit.file)
            for variable in unit.variables:
                short = types.simple(variable.name)
                if short not in values_of_both():  # of a copy of the library's header: it is known by its name
                    self.variables.setdefault(short, []).append((variable, unit))
            for function in unit.functions:
                declared = defaults.get((types.simple(function.owner), function.name), ())
                known = Known(_with_defaults(function, declared), unit)
                self.all.append(known)
                self.functions.setdefault(types.simple(function.name), []).append(known)
                if function.owner:
                    self.methods.setdefault(types.simple(function.owner), []).append(known)
        self.given = Given(self.units, [known.function for known in self.all])

    def _add_class(self, name: str, class_: Class, file: str) -> None:
        known = self.classes.setdefault(name, [])
        for i, (old, old_file) in enumerate(known):
            if old_file == file or not class_.members or not old.members:
                if len(class_.members) > len(old.members):
                    known[i] = (class_, file)
                return
        known.append((class_, file))
        self._ambiguous = self._ambiguous or len(known) > 1

    # Names that several files define --------------------------------------------------------------------------

    @property
    def _context(self) -> str:
        return self.here if self._ambiguous else ""

    def class_named(self, name: str) -> Class | None:
        """Return a class of the program by its name without qualification: the nearest one."""
        found = self.classes.get(name)
        if not found:
            return None
        return found[0][0] if len(found) == 1 else self._class_near(name, self.here)

    def _class_near(self, name: str, file: str) -> Class:
        if name not in self._near_classes:
            self._near_classes[name] = Nearby(self.classes[name], lambda pair: pair[1])
        return self._near_classes[name].of(file)[0][0]

    def methods_of(self, name: str) -> list[Known]:
        """Return the methods of a class, wherever they are defined."""
        found = self.methods.get(name, [])
        if len(self.classes.get(name, ())) <= 1 or not found:
            return found
        if name not in self._methods_by_class:
            by_class: dict[int, list[Known]] = {}
            for known in found:
                by_class.setdefault(id(self._class_near(name, known.unit.file)), []).append(known)
            self._methods_by_class[name] = by_class
        return self._methods_by_class[name].get(id(self.class_named(name)), [])

    def methods_named(self, name: str) -> list[Known]:
        """Return the methods of a name, of whatever class."""
        return [known for known in self.functions.get(name, ()) if known.function.owner]

    def free_functions(self, name: str) -> list[Known]:
        """Return the functions of a name that are no methods: those of this file, else of the nearest ones."""
        if name not in self._near_functions:
            free = [known for known in self.functions.get(name, ()) if not known.function.owner]
            self._near_functions[name] = Nearby(free, lambda known: known.unit.file)
        return self._near_functions[name].of(self.here)

    def variables_named(self, name: str) -> list[tuple[Declare, Unit]]:
        """Return the variables of files and namespaces of a name: where many files have one, those of the nearest."""
        found = self.variables.get(name, [])
        if len(found) <= _FEW:
            return found
        if name not in self._near_variables:
            self._near_variables[name] = Nearby(found, lambda pair: pair[1].file)
        return self._near_variables[name].of(self.here)

    def variables_of(self, owner: str, name: str) -> list[tuple[Declare, Unit]]:
        """Return the variables that a name behind a class or namespace may mean: its own, and those of no owner."""
        found = self.variables_named(name)
        if not owner or not found:
            return found
        if id(found) not in self._variables_by_owner:
            by_owner: dict[str, list[int]] = {}
            for i, (declared, _) in enumerate(found):
                by_owner.setdefault(types.owner_of(declared.name), []).append(i)
            self._variables_by_owner[id(found)] = by_owner
        by_owner = self._variables_by_owner[id(found)]
        return [found[i] for i in sorted([*by_owner.get(owner, ()), *by_owner.get("", ())])]

    # What names mean ------------------------------------------------------------------------------------------

    def given_later(self, class_name: str) -> frozenset[str]:
        """Return the members that methods, but for constructors, give something else than NULL, or let others set."""
        if class_name not in self._given_later:
            methods = (k.function for k in self.methods_of(class_name) if k.function.kind == "method" and not k.leads)
            self._given_later[class_name] = frozenset(name for method in methods for name in given_by(method))
        return self._given_later[class_name]

    def numbers_of(self, class_name: str) -> Mapping[str, tuple[Constant, ...]]:
        """Return the numbers that a class's methods, but for its constructors, set each of its members to."""
        if class_name not in self._numbers:
            methods = (known.function for known in self.methods_of(class_name))
            self._numbers[class_name] = numbers_given(f for f in methods if f.kind == "method")
        return self._numbers[class_name]

    def doubled(self, name: str, template: tuple[str, ...]) -> str:
        """Return a template's arguments for double, if the program has it for that: by itself, or by a macro."""
        types_ = [i for i, text in enumerate(template) if text.split()[0] in ("typename", "class")]
        if not types_:
            return ""
        if self._doubled is None:
            said = {one for unit in self.units for one in unit.doubled}
            macros = {one.removesuffix(")").partition("(") for one in said if one.endswith(")")}
            by_macro = {given for macro, _, given in macros if given and f"{macro}()" in said}
            self._doubled = frozenset(said | by_macro)
        commas = next(("," * i for i in types_ if f"{',' * i}{name}" in self._doubled), None)
        return self._instance(name, len(template)) if commas is None else f"<{commas}double>"

    def _instance(self, name: str, count: int) -> str:
        """Return a template's arguments where it is instantiated for classes of double: in the nearest file."""
        said = [(one, unit.file) for unit in self.units for one in unit.doubled if one.startswith(f"{name}<")]
        found = ((one.removeprefix(name), file) for one, file in said)
        fitting_ = sorted(pair for pair in found if len(types.template_arguments(pair[0])) == count)
        return Nearby(fitting_, lambda pair: pair[1]).of(self.here)[0][0] if fitting_ else ""

    def halved(self, name: str, template: tuple[str, ...]) -> str:
        """Return a template's argument for half precision, if the program has it for that."""
        if len(template) != 1 or template[0].split()[0] not in ("typename", "class"):
            return ""
        found = sorted(one for unit in self.units for one in unit.halved if one.startswith(f"{name}<"))
        return found[0].removeprefix(name) if found else ""

    def instances(self, name: str, template: tuple[str, ...]) -> list[str]:
        """Return a template's arguments for which it is followed once more: for double, and for half precision."""
        return [given for given in (self.doubled(name, template), self.halved(name, template)) if given]

    def floated(self, name: str, template: tuple[str, ...]) -> str:
        """Return a class template's argument for float, if the program instantiates it for that, and not for double."""
        if len(template) != 1 or not any(name in unit.floated for unit in self.units):
            return ""
        return "" if self.doubled(name, template) else "<float>"

    def number_type(self, name: str) -> str:
        """Return ``"double?"`` of a name for float or double, as the program is built; of others the name itself."""
        if self._numbers_by_name is None:
            self._numbers_by_name = {}
            for unit in self.units:
                for said, type_ in unit.numbers:
                    self._numbers_by_name.setdefault(said, set()).add(type_)
        nested = types.simple(name) if ">::" in name else name  # of a template: Traits<T>::scale
        found = self._numbers_by_name.get(nested, ())
        return "double?" if len(found) > 1 else next(iter(found), name)

    def defines(self, name: str) -> bool:
        """Whether a function or method of this name is defined anywhere."""
        return name in self.functions

    def is_library(self, name: str) -> bool:
        """Whether a name, without qualification, is that of a function of cuDNN or MIOpen."""
        return is_library(name) and (name in mapping.table().functions or name not in self.functions)

    def resolved(self, name: str) -> str:
        """Return a name with the program's own other names for it undone."""
        for _ in range(4):
            other = self.aliases.get(name)
            if other is None or other == name:
                break
            name = other
        return name

    def concrete(self, type_: str) -> str:
        """Return a type with another name for a container or a smart pointer undone."""
        name = types.bare(type_)
        if name in self.aliases:
            other = self.resolved(name)
            if types.is_smart(other) or types.is_array(other) or types.is_map(other):
                return other
        return type_

    def class_of(self, type_: str) -> Class | None:
        """Return the program's class that a type names, by itself or behind pointers."""
        key = (type_, self._context)
        if key not in self._classes_by_type:
            self._classes_by_type[key] = self._class_of(type_)
        return self._classes_by_type[key]

    def _class_of(self, type_: str) -> Class | None:
        name = types.bare(type_)
        for _ in range(4):
            name = types.innermost(name)
            if types.is_pair(name):
                name = types.bare(types.template_arguments(name)[-1])
            found = self.class_named(types.simple(name))
            other = self.aliases.get(name) or self.aliases.get(types.simple(name))
            if found is not None or other is None or types.bare(other) == name:
                return found
            name = types.bare(other)
        return None

    def kind_of(self, type_: str) -> str:
        """Return the kind of thing that a type names, aliases undone."""
        if "<" in type_ and types.simple(types.bare(type_)) in self.classes:
            return ""  # an object that holds one
        return kind_of(type_) or kind_of(self.resolved(types.simple(types.bare(type_))))

    def lineage(self, name: str) -> Iterator[Class]:
        """Yield a class and its bases, the class first, and no more than any program has."""
        seen: set[str] = set()
        waiting = [types.simple(name)]
        while waiting and len(seen) < _MOST_ANCESTORS:
            current = waiting.pop(0)
            class_ = self.class_named(current)
            if class_ is None or current in seen:
                continue
            seen.add(current)
            yield class_
            waiting.extend(types.simple(self.resolved(types.simple(base))) for base in class_.bases)

    def members(self, name: str) -> Iterable[Declare]:
        """Return a class's data members, those of its bases too."""
        return self.members_by_name(name).values()

    def members_by_name(self, name: str) -> Mapping[str, Declare]:
        """Return a class's data members by name, the class's own before those of its bases."""
        key = (name, self._context)
        if key not in self._members:
            found: dict[str, Declare] = {}
            for class_ in self.lineage(name):
                for member in class_.members:
                    found.setdefault(member.name, member)
            self._members[key] = found
        return self._members[key]

    def holds_things(self, name: str, within: tuple[str, ...] = ()) -> bool:
        """Whether objects of a class have descriptors or handles in them."""
        if name in within or len(within) > _DEEPEST_OBJECT:
            return False
        for member in self.members(name):
            if self.kind_of(member.type):
                return True
            inner = self.class_of(member.type)
            if inner is not None and self.holds_things(types.simple(inner.name), (*within, name)):
                return True
        return False

    def found_methods(self, class_name: str, method: str) -> list[Known]:
        """Return the definitions of a method: the nearest class's that has some."""
        for class_ in self.lineage(class_name):
            if found := self._methods(class_.name, "name", method):
                return found
        return []

    def _methods(self, class_name: str, sort: str, wanted: str) -> list[Known]:
        """Return a class's own methods of a name, or of a kind."""
        owned = self.methods_of(types.simple(class_name))
        if not owned:
            return []
        if id(owned) not in self._methods_sorted:
            found: dict[tuple[str, str], list[Known]] = {}
            for known in owned:
                found.setdefault(("name", types.simple(known.function.name)), []).append(known)
                found.setdefault(("kind", known.function.kind), []).append(known)
            self._methods_sorted[id(owned)] = found
        return self._methods_sorted[id(owned)].get((sort, wanted), [])

    def has_variable(self, name: str) -> bool:
        """Whether a static member of a class, ``Class::name``, is known."""
        return any(declared.name == name for declared, _ in self.variables.get(types.simple(name), ()))

    def chosen(self, type_: str) -> list[str]:
        """Return the enumerators of a type that the program gives templates, itself or through macros."""
        values = enumerators_of().get(type_, frozenset())
        return sorted(values & frozenset().union(*(unit.chosen for unit in self.units))) if values else []

    def is_parameter(self, name: str) -> bool:
        """Whether a name is that of a template's parameter somewhere."""
        if self._parameters is None:
            found = {text.split()[-1] for known in self.all for text in known.function.template}
            of_classes = {text.split()[-1] for cs in self.classes.values() for c, _ in cs for text in c.template}
            self._parameters = frozenset(found | of_classes)
        return name in self._parameters

    def overriding(self, class_name: str, method: str) -> list[Known]:
        """Return the definitions of a method in the classes that are derived from one, which has none itself."""
        if self._derived is None:
            self._derived = {}
            for name in self.classes:
                for class_ in self.lineage(name):
                    if types.simple(class_.name) != name:
                        self._derived.setdefault(types.simple(class_.name), []).append(name)
        names = self._derived.get(types.simple(class_name), ())
        return [
            known for name in names for known in self.methods_of(name) if types.simple(known.function.name) == method
        ]

    def special(self, class_name: str, kind: str) -> list[Known]:
        """Return a class's constructors or destructors."""
        return self._methods(class_name, "kind", kind)


def given_by(method: Function) -> Iterator[str]:
    """Yield the members that a method gives something else than NULL, or whose addresses it takes."""
    for owner, name, value in given_members(method):
        if owner and not (isinstance(value, Constant) and value.value in (None, 0)):
            yield name
    yield from pointed_at(method.body)


def numbers_given(functions: Iterable[Function]) -> Mapping[str, tuple[Constant, ...]]:
    """Return the numbers that functions set each of their own object's members to."""
    found: dict[str, dict[object, Constant]] = {}
    for function in functions:
        for owner, name, value in given_members(function):
            for constant in numbers_in(value) if owner else ():
                found.setdefault(name, {})[constant.value] = constant
    return {name: tuple(values.values()) for name, values in found.items()}


def _with_defaults(function: Function, declared: Sequence[tuple[Parameter, ...]]) -> Function:
    """Return a function with the default arguments that only a declaration of it has."""
    alike = [parameters for parameters in declared if len(parameters) == len(function.parameters)]
    if len(alike) > 1:  # overloads
        mine = [types.simple(parameter.type) for parameter in function.parameters]
        alike = [parameters for parameters in alike if [types.simple(p.type) for p in parameters] == mine]
    if not alike:
        return function
    pairs = zip(function.parameters, alike[0], strict=True)
    return replace(
        function,
        parameters=tuple(own if own.default is not None else replace(own, default=p.default) for own, p in pairs),
    )


def fitting(found: list[Known], count: int) -> list[Known]:
    """Return the functions that can be called with so many arguments."""
    result = []
    for known_ in found:
        parameters = known_.function.parameters
        required = sum(parameter.default is None for parameter in parameters)
        variadic = any("..." in f"{parameter.type}{parameter.name}" for parameter in parameters)
        if variadic or required <= count <= len(parameters):
            result.append(known_)
    return result
