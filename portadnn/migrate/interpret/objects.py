"""Objects of the program's own classes: how they are made and destroyed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from ..events import Place
from ..model.state import State, meet
from ..program import Braces, Class, Declare, Expression, Function, Index, Invocation, Member, Name
from ..values import Value, join
from . import types
from .expressions import Expressions
from .frame import Frame
from .index import Known, fitting

_DEEPEST_MEMBER = 80
_FEW_MEMBERS = 8  # of a class whose objects are made though its constructors lead to no call


class Objects(Expressions):
    """Follows constructors and destructors."""

    made: set[str]  # the objects of which it was seen how they are made

    @abstractmethod
    def follow(self, called: Known, arguments: Sequence[Expression], where: Place | None, this: str = "") -> Value:
        """Follow a function of the program with some arguments."""

    @abstractmethod
    def suited(self, found: list[Known], call: Invocation) -> list[Known]:
        """Leave out overloads for other kinds of things, and those of one place in different files."""

    def destroy_objects(self, frame: Frame) -> None:
        """Follow the destructors of a function's objects at its end, but for those that it returns."""
        kept = {str(value.data) for _, value in frame.returned if value.data is not None}
        objects = [(path, class_name) for path, class_name in reversed(frame.objects) if path not in kept]
        if not objects or not any(self.index.special(name, "destructor") for _, name in objects):
            return
        ends = [(state, value) for state, value in frame.returned]
        states = [state for state, _ in ends] + ([self.state] if self.state.reachable else [])
        if not states:
            return
        self.state = meet(states)
        frame.returned = []
        for path, class_name in objects:
            self.destruct(path, class_name)
        if ends:
            frame.returned = [(self.state, join(value for _, value in ends))]
            self.state = State(reachable=False)

    def destruct(self, path: str, class_name: str, within: tuple[str, ...] = ()) -> None:
        """Follow the destructors of an object, its members and bases."""
        if class_name in within:
            return
        for class_ in self.index.lineage(class_name):
            for called in self.index.special(class_.name, "destructor"):
                if called.leads:
                    self.follow(called, (), None, path)
            for member in class_.members:
                inner = self.index.class_of(member.type)
                if inner is None or types.bare(member.type).endswith("*") or member.array:
                    continue
                if any(known_.leads for known_ in self.index.special(inner.name, "destructor")):
                    self.destruct(self.member_path(path, member.name), inner.name, (*within, class_name))

    def construct(self, path: str, class_name: str, arguments: tuple[Expression, ...]) -> None:
        """Make an object of one of the program's classes."""
        class_ = self.index.class_of(class_name)
        if class_ is None or self.depth > _DEEPEST_MEMBER:
            for argument in arguments:
                self.evaluate(argument)
            return
        self.depth += 1
        self.made.add(path)
        try:
            self._construct(path, class_, arguments)
        finally:
            self.depth -= 1

    def _construct(self, path: str, class_: Class, arguments: tuple[Expression, ...]) -> None:
        constructors = self._of_its_type(self.index.special(class_.name, "constructor"), path)
        found = fitting(constructors, len(arguments))
        if not found and len(arguments) > 1:  # T{a, b, c} of T(std::initializer_list<...>)
            found = [k for k in fitting(constructors, 1) if "initializer_list" in k.function.parameters[0].type]
            arguments = (Braces(arguments, class_.span),) if found else arguments
        if not found and not constructors and arguments:  # using Base::Base;
            for base in class_.bases:
                if fitting(self.index.special(types.simple(base), "constructor"), len(arguments)):
                    self.construct(path, types.simple(base), arguments)
                    return
        if not found:
            values = [self.evaluate(argument) for argument in arguments]
            if not constructors:
                self.make_bases(path, class_)
            self.make_members(path, class_.name)
            if len(values) == 1 and values[0].kind == "unknown" and self.class_at(str(values[0].data)) is class_:
                self.state.variables[path] = values[0]
            elif values and not constructors and not class_.constructed:
                for member, value in zip(class_.members, values, strict=False):
                    self.assign(self.member_path(path, member.name), value)
            return
        found = self._copying_or_not(found, class_, arguments[0]) if len(arguments) == 1 else found
        call = Invocation(Name(class_.name, class_.span), arguments, class_.span)
        self.follow(self.suited(found, call)[0], arguments, None, path)

    def _of_its_type(self, constructors: list[Known], path: str) -> list[Known]:
        """Leave out the constructors of a class template's other specializations: ``X<A>::X`` where X<B> is made."""
        given = types.bare(self.index.resolved(types.bare(self.types.get(path, ""))))
        wanted = types.template_argument(given) if "<" in given else ""
        wanted = self.meant(wanted) or wanted
        if not wanted or wanted in self.frame.generic or not any(k.function.of for k in constructors):
            return constructors
        return [k for k in constructors if k.function.of == wanted] or [k for k in constructors if not k.function.of]

    def _copying_or_not(self, found: list[Known], class_: Class, argument: Expression) -> list[Known]:
        """Leave out the constructors that copy or move another object where the argument is none, and the others."""
        copying = [k for k in found if self.index.class_of(k.function.parameters[0].type) is class_]
        others = [k for k in found if k not in copying]
        if not copying or not others or isinstance(argument, Invocation):
            return found
        path = self.place(argument) if isinstance(argument, Name | Member | Index) else None
        return copying if path is not None and self.class_at(path) is class_ else others

    def make_bases(self, path: str, class_: Class | None) -> None:
        """Make the bases of an object whose class has no constructor of its own."""
        for base in class_.bases if class_ is not None else ():
            short = types.simple(base)
            if fitting(self.index.special(short, "constructor"), 0):
                self.construct(path, short, ())

    def make_members(self, path: str, class_name: str) -> None:
        """Give an object's members the values of their declarations, and make those that are objects themselves."""
        for member in self.index.members(class_name):
            self._make_member(self.member_path(path, member.name), member)

    def _make_member(self, path: str, member: Declare) -> None:
        class_ = self.index.class_of(member.type)
        if member.array and member.array[0] is not None and (length := self.evaluate(member.array[0])).kind == "known":
            self.write(f"{path}.#length", length)
        if member.value is not None:
            self.assign(path, self.cast(self.evaluate(member.value), member.type))
            return
        if class_ is None or types.pointee(types.bare(member.type)) or member.array:
            return
        constructors = self.index.special(class_.name, "constructor")
        if not constructors:
            self._give_numbers(path, class_)
        elif any(known_.leads or len(class_.members) <= _FEW_MEMBERS for known_ in constructors):
            self.construct(path, class_.name, member.arguments)

    def _give_numbers(self, path: str, class_: Class) -> None:
        """Give floating-point members of a record the values of their declarations."""
        for member in class_.members:
            if member.value is not None and types.bare(member.type) in ("float", "double"):
                self.assign(self.member_path(path, member.name), self.cast(self.evaluate(member.value), member.type))

    def initialise(self, function: Function) -> None:
        """Follow a constructor's initializers: bases and members, and those members that it does not name."""
        this = self.frame.this
        owner = types.simple(function.owner)
        class_ = self.index.class_named(owner)
        initializers = [(self._initialised(class_, name), a, span) for name, a, span in function.initializers]
        named = frozenset(types.simple(name) for name, _, _ in initializers)
        if class_ is not None:
            for base in class_.bases:
                if types.simple(base) not in named and types.simple(base) in self.index.classes:
                    self.construct(this, base, ())
            for member in class_.members:
                if member.name not in named:
                    self._make_member(self.member_path(this, member.name), member)
        for name, arguments, _ in initializers:
            short = types.simple(name)
            member_ = self.member_declaration(class_, short)
            if member_ is None:
                if short == owner or short in self.index.classes:
                    self.types.setdefault(this, owner)
                    self.construct(this, short, arguments)
                continue
            path = self.member_path(this, short)
            inner = self.index.class_of(member_.type)
            if inner is not None and not types.pointee(types.bare(member_.type)):
                self.construct(path, inner.name, arguments)
            elif len(arguments) == 1:
                self.assign(path, self.evaluate(arguments[0]))
            else:
                for argument in arguments:
                    self.evaluate(argument)

    def _initialised(self, class_: Class | None, name: str) -> str:
        """Return what an initializer names: the only base, where the class gives it a name (``Base(...)``)."""
        short = types.simple(name)
        if class_ is None or len(class_.bases) != 1 or short == types.simple(class_.name):
            return name
        if short in self.index.classes or self.member_declaration(class_, short) is not None:
            return name
        return class_.bases[0]
