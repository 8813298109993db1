"""Which function a call means, and what following one of the program's own gives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ... import mapping
from ..events import Place
from ..model import symbols
from ..model.state import meet
from ..program import Block, Constant, Expression, Index, Invocation, Lambda, Member, Name, Operation
from ..values import UNKNOWN, Value, pointer, unknown
from . import types
from .binding import paired
from .frame import Frame
from .index import Known, fitting, given_by
from .memory import is_enumeration
from .overloads import MOST_DEFINITIONS, Overloads

DEEPEST_CALL = 5  # the entry, and calls within it
_SMALL = 6  # statements of a function that is followed though it leads to no call
_CHOOSING = 24  # of one that returns a mode, a type or a format of the library's
_MOST_STEPS_IN_ONE = 20_000  # spent in one function over all its followings


class Calls(Overloads):
    """Follows calls."""

    @abstractmethod
    def run(self, block: Block) -> None:
        """Follow statements."""

    @abstractmethod
    def call_lambda(self, key: str, call: Invocation) -> Value:
        """Follow an anonymous function with the arguments of a call."""

    @abstractmethod
    def outside(self, call: Invocation, name: str, use: str) -> Value:
        """Follow a call of a function that is neither the program's nor a library's."""

    @abstractmethod
    def loaded(self, call: Invocation, short: str) -> Value | None:
        """Return the library's function that a call loads by its name; None where it loads none."""

    # Which call it is -------------------------------------------------------------------------------------------

    def invoke(self, call: Invocation, use: str) -> Value:
        """Follow a call, and return what it gives."""
        use = "checked" if call.checked else use
        if self.frame.packs:
            call = replace(call, arguments=self.unpacked(call.arguments))
        if (of_a_graph := self.of_graphs.invoke(call)) is not None:
            return of_a_graph
        callee = call.callee
        if isinstance(callee, Name):
            return self._named(call, callee.name, use)
        if isinstance(callee, Member):
            short = types.simple(callee.name)
            name = self.index.resolved(short)
            if self.index.is_library(name) and short not in self.index.functions and _takes(name, short, call):
                return self.library_call(call, name, use)
            pointed = self.pointed(callee)
            if pointed:
                return self.library_call(call, pointed, use)
            return self._method(call, callee, use)
        if isinstance(callee, Index | Operation) and (pointed := self.pointed(callee)):
            return self.library_call(call, pointed, use)
        if isinstance(callee, Lambda):
            for argument in call.arguments:
                self.evaluate(argument)
            self.follow_lambda(callee)
            return self.last_lambda
        return self._called_value(call, self.evaluate(callee), use)

    def _called_value(self, call: Invocation, value: Value, use: str) -> Value:
        """Follow a call of what an expression gives: an anonymous function, an object with ``operator()``."""
        key = str(value.data)
        if value.kind == "unknown" and key in self.lambdas:
            return self.call_lambda(key, call)
        if several := self._functions_in(value):
            return self._any_of(several, call, use)
        class_ = self.class_at(key) if value.kind in ("unknown", "pointer") else None
        if class_ is not None:
            found = fitting(self.index.found_methods(class_.name, "operator()"), len(call.arguments))
            if found:
                return self._follow_any(found, call, key)
        return self.outside(call, "", use)

    def _named(self, call: Invocation, full_name: str, use: str) -> Value:
        if call.new and full_name.endswith("]"):
            return self.outside(call, full_name, use)
        name = self.index.resolved(types.simple(full_name))
        written = types.simple(full_name)
        if written in self.index.seconds and not _takes(name, written, call):
            place = self.place_of(call.span)
            self.reached.add((place.file, name, place.line, place.column))
            name = self.index.seconds[written]
        wraps = written != name and name in written and written in self.index.functions  # my_cudnnCreate
        if self.index.is_library(name) and (own := self._own(full_name, written, call)):
            return self._follow_any(own, call, self.frame.this)
        if self.index.is_library(name) and not call.new and not wraps and _takes(name, written, call):
            return self.library_call(call, name, use)
        instead = types.simple(self.frame.generic.get(name, ""))
        if instead and self.index.class_named(instead) is not None:  # a template's parameter
            name = instead
        class_ = self.index.class_named(name) if not self.frame.path_of(full_name) else None
        class_ = self.index.class_of(name) if class_ is None and call.new else class_
        if class_ is not None:
            path = f"{name}~{self.fresh()}"
            self.types[path] = name
            if call.text.endswith(("()", "{}")) and not self.index.special(name, "constructor"):
                self.zero(path)
            self.construct(path, name, call.arguments)
            return pointer(path, name) if call.new else unknown(path, name)
        pointed = self.pointed(call.callee) if isinstance(call.callee, Name) and not call.new else ""
        if pointed:
            return self.indirect_call(call, pointed, use)
        local = self.frame.path_of(full_name)
        given = self.state.variables.get(local) if local is not None else None
        if given is None and self.frame.this_class and (member := self.variable(full_name)) is not None:
            given = self.state.variables.get(member)
        if given is not None and given.kind == "unknown" and given.data in self.lambdas:
            return self.call_lambda(str(given.data), call)
        if given is not None and (several := self._functions_in(given)):
            return self._any_of(several, call, use)
        if given is not None and (handed := self._meant_by(given, len(call.arguments))):
            return self._follow_any(handed, call, "")
        if local is not None:
            overloaded = self.overloaded("operator()", call.callee, call)
            if overloaded is not None:
                return overloaded
        loaded = self.loaded(call, name)
        if loaded is not None:
            return loaded
        found = self._candidates(full_name, name, len(call.arguments))
        if found:
            before = call.text.partition("(")[0]
            self.template_given = _arguments_of(before, found[0])
            this = self.frame.this if found[0].function.owner else ""
            return self._follow_any(found, call, this)
        return self.outside(call, full_name, use)

    def _functions_in(self, value: Value) -> list[str]:
        """Return the library's functions of which a value is one, as ``?:`` chooses it; none where it may be others."""
        names = [types.simple(str(option.data)) for option in value.options if option.kind == "unknown"]
        known = len(names) == len(value.options) and all(name in mapping.table().functions for name in names)
        return names if known else []

    def _any_of(self, names: Sequence[str], call: Invocation, use: str) -> Value:
        """Follow a call of one of several functions of a library, each from the same state."""
        before, ends, values = self.state, [], []
        for name in names:
            self.state = before.copy()
            values.append(self.indirect_call(call, name, use))
            ends.append(self.state)
        self.state = meet(ends)
        return self.joined(values)

    def _meant_by(self, given: Value, count: int) -> list[Known]:
        """Return the functions of the program that a variable stands for, where one was handed in."""
        if given.kind != "unknown" or not isinstance(given.data, str) or not types.simple(given.data).isidentifier():
            return []
        return fitting(self.index.free_functions(types.simple(given.data)), count)

    def _own(self, full_name: str, name: str, call: Invocation) -> list[Known]:
        """Return what ``Library::cudnnCreate`` means where it is a method of the program's, with the library's name."""
        owner = types.owner_of(full_name)
        found = fitting(self.index.methods_of(owner), len(call.arguments)) if owner in self.index.methods else []
        found = [known for known in found if types.simple(known.function.name) == name]
        if found:
            place = self.place_of(call.span)
            self.reached.add((place.file, name, place.line, place.column))
        return found

    def _candidates(self, full_name: str, name: str, count: int) -> list[Known]:
        owner = types.owner_of(full_name)
        owner = types.simple(self.frame.generic.get(owner, owner))
        if owner in self.index.classes:
            return fitting(self.index.found_methods(owner, name), count)
        if owner and self.index.is_parameter(owner):  # whatever class it stands for
            return fitting([known for known in self.index.methods_named(name) if known.function.static], count)
        if not owner and self.frame.this_class:
            object_ = self.class_at(self.frame.this)  # of a class derived from the method's, where it is virtual
            for class_name in (self.frame.this_class if object_ is None else object_.name, self.frame.this_class):
                found = fitting(self.index.found_methods(class_name, name), count)
                if found:
                    return self._with_overriding(found, class_name, name) if self.frame.this == "this" else found
            overriding = fitting(self.index.overriding(self.frame.this_class, name), count)
            if overriding:  # a pure virtual one
                return overriding
        return fitting(self.index.free_functions(name), count)

    def _method(self, call: Invocation, callee: Member, use: str) -> Value:
        path = self._base(callee.base)
        class_ = self.class_at(path) if path is not None else None
        name = types.simple(callee.name)
        loaded = self.loaded(call, name)
        if loaded is not None:
            return loaded
        if path is not None and class_ is not None:
            found = fitting(self.index.found_methods(class_.name, name), len(call.arguments))
            found = self._with_overriding(found, class_.name, name) if path == "this" else found
            found = found or fitting(self.index.overriding(class_.name, name), len(call.arguments))
            if found:
                return self._follow_any(found, call, path)
        return self.outside(call, name, use)

    def _with_overriding(self, found: list[Known], class_name: str, name: str) -> list[Known]:
        """Add what derived classes return in place of a method, of an object that nobody was seen to make."""
        if any(known.leads or known.function.kind != "method" for known in found):
            return found
        count = len(found[0].function.parameters) if found else 0
        others = fitting(self.index.overriding(class_name, name), count)
        return [*found, *(known for known in others if not known.leads and known not in found)]

    def overloaded(self, operator: str, operand: Expression, whole: Expression) -> Value | None:
        """Follow an operator that a class of the program defines; None where the operand is of no such class."""
        if not self.index.defines(operator) or not isinstance(operand, Name | Member | Index):
            return None
        path = self._base(operand)
        class_ = self.class_at(path) if path is not None else None
        if path is None or class_ is None or types.pointee(self.types.get(self.place(operand) or "", "")):
            return None
        arguments = whole.arguments if isinstance(whole, Invocation) else ()
        found = fitting(self.index.found_methods(class_.name, operator), len(arguments))
        if not found:
            return None
        return self._follow_any(found, Invocation(operand, arguments, whole.span), path)

    # The libraries' functions -----------------------------------------------------------------------------------

    # The program's own functions --------------------------------------------------------------------------------

    def _follow_any(self, found: list[Known], call: Invocation, this: str) -> Value:
        """Follow the definitions of a function that a call may mean, each from the same state."""
        found = self.suited(found, call)
        if len(found) == 1:
            return self.follow(found[0], call.arguments, self.place_of(call.span), this)
        before, ends, values = self.state, [], []
        for known_ in found[:MOST_DEFINITIONS]:
            self.state = before.copy()
            values.append(self.follow(known_, call.arguments, self.place_of(call.span), this))
            ends.append(self.state)
        self.state = meet(ends)
        return self.joined(values)

    def follow(self, called: Known, arguments: Sequence[Expression], where: Place | None, this: str = "") -> Value:
        """Follow a function of the program with some arguments."""
        given_to_template, self.template_given = self.template_given, ""  # not to what its arguments call
        bound = [self.bound(reference, argument) for reference, argument in paired(called.function, arguments)]
        if not self._worth_following(called, handed=any(self._is_lambda(value) for _, value in bound)):
            if called.leads and called not in self.stack and len(self.stack) >= DEEPEST_CALL:
                self.cut.add(id(self.stack[-1]))
            for _, value in bound:
                self._may_change(value, leads=called.leads)
            self._may_give(called, this)
            key = symbols.combine(called.label, [value for _, value in bound])
            return unknown(key if not called.leads else f"{called.label}~{self.fresh()}", "")
        self.turns += 1
        frame = Frame(self.turns, called.unit, called.label, called.function, this, types.simple(called.function.owner))
        self.template_given = given_to_template
        self.bind_template(frame, called, this, bound, arguments)
        self.bind_pack(frame, called.function, arguments, bound)
        for i, parameter in enumerate(called.function.parameters):
            path, given = bound[i] if i < len(bound) else _NOTHING
            if given is None and not self.stack:
                given = self.given_anywhere(called, i)
                path = None
            default = parameter.default
            at_start = given is None and default is not None and not self.stack
            if at_start and (_is_open(default) or self.index.given.given_to(called.function, i)):
                default = None  # somebody gives something else
            self.bind(frame, parameter.name, parameter.type, path if parameter.reference else None, given,
                       default)  # fmt: skip
        return self._run_function(called, frame, where)

    def _is_lambda(self, value: Value | None) -> bool:
        return value is not None and value.kind == "unknown" and value.data in self.lambdas

    def _worth_following(self, called: Known, *, handed: bool = False) -> bool:
        """Tell whether to follow a function; one that is handed an anonymous function may call it."""
        if not self.stack:
            return True
        if called in self.stack or len(self.stack) >= DEEPEST_CALL or called.spent > _MOST_STEPS_IN_ONE:
            return False
        if called.function.kind == "constructor" and any(m.leads for m in self.index.methods_of(called.function.owner)):
            return True  # it says what the members hold that the methods give to the library
        small = _CHOOSING if is_enumeration(called.function.returns) else _SMALL
        return called.leads or handed or len(called.function.body.statements) <= small

    def _may_give(self, called: Known, this: str) -> None:
        """Forget that members are NULL which a method gives something, where it is not followed."""
        if this and called.function.owner and not called.leads:
            for name in given_by(called.function):
                path = self.member_path(this, name)
                value = self.state.variables.get(path)
                if value is not None and value.is_null and types.pointee(self.types.get(path, "")):
                    self.state.variables[path] = unknown(f"{path}~{self.fresh()}", self.types[path])

    def _run_function(self, called: Known, frame: Frame, where: Place | None) -> Value:
        outer, self.frame = self.frame, frame
        self.stack.append(called)
        self.running.append(frame.turn)
        steps, find = self.steps, self.last_find
        if where is not None:
            self.through.append(where)
        called.followed += 1
        self.reached_functions.add(id(called))
        if frame.this in self.made or not frame.this:
            self.with_object.add(id(called))
        try:
            if called.function.kind == "constructor":
                self.initialise(called.function)
            self.run(called.function.body)
            self.destroy_objects(frame)
        except BaseException:
            if len(self.stack) > 1:  # not to its end: it is followed by itself
                self.reached_functions.discard(id(called))
            raise
        finally:
            called.spent += self.steps - steps
            self.frame = outer
            self.stack.pop()
            self.running.pop()
            if where is not None:
                self.through.pop()
        if id(called) in self.cut:  # what it calls was too deep: it is followed by itself
            self.cut.discard(id(called))
            if self.stack:
                self.reached_functions.discard(id(called))
        ends = [state for state, _ in frame.returned]
        values = symbols.in_place_of([value for _, value in frame.returned], range(find + 1, self.last_find + 1))
        result = self.joined(values) if values else UNKNOWN
        if ends:
            self.state = meet([*ends, self.state])
            pairs = list(zip((end.facts for end in ends), values, strict=True))
            self.note_choice(pairs)
            result = self.possible(pairs, result)
        given = [part for value in values for option in value.options for part in _parts_of(option)]
        lasting = {part.data for part in given if part.kind == "pointer"}
        for path in frame.declared:  # what is static outlives the function, and its address may be returned
            if path not in self.children and path not in lasting:
                self.state.variables.pop(path, None)
        return self._returned(result, called.function.returns) if result.kind == "items" else result

    def _returned(self, value: Value, type_: str) -> Value:
        """Return the object that ``return {a, b};`` makes."""
        class_ = self.index.class_of(type_) if type_ and not types.pointee(type_) else None
        if class_ is None or types.is_pair(type_) or self.index.special(class_.name, "constructor"):
            return value
        path = f"{types.simple(class_.name)}~{self.fresh()}"
        self.types[path] = type_
        self.assign(path, value)
        return unknown(path, type_)

    steps: int

    def _may_change(self, value: Value, *, leads: bool) -> None:
        """Note what a function that is not followed may have done to what it got."""
        if leads:
            self.lose(value)
        self.forget_length(value)
        if value.kind == "pointer":
            self.forget(str(value.data), why=str(self.fresh()))


def _parts_of(value: Value) -> Iterator[Value]:
    if value.kind == "items":
        for part in value.data:
            yield from _parts_of(part)
    else:
        yield value


def _is_open(default: Expression | None) -> bool:
    """Whether a default argument says little of what callers give: false, or a size of 0 that comes later."""
    return isinstance(default, Constant) and isinstance(default.value, int) and default.value == 0


def _takes(name: str, written: str, call: Invocation) -> bool:
    """Whether a function may be the one that a call under another name means, by the number of arguments."""
    declared = mapping.table().functions.get(name)
    if name == written or declared is None:
        return True
    return any(len(parameters) == len(call.arguments) for parameters in declared.signatures)


def _arguments_of(written: str, called: Known) -> str:
    """Return a template's name with its arguments, as a call has it: a function's, or the class's of a static one."""
    owner, _, name = written.rpartition("::")
    if called.function.template and "<" in written:
        return written
    return owner if "<" in owner and "<" not in name and called.function.owner else ""


_NOTHING: tuple[str | None, Value | None] = (None, None)
