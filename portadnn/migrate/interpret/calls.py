"""What calls do: those of the libraries, and those of the program's own functions."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ... import mapping
from ...mapping import Parameter
from ..events import Argument, Event, Place
from ..frontend.found import FoundGraph
from ..model import effects, symbols
from ..model.kinds import kind_of
from ..model.listener import Listener
from ..model.state import Deed, meet
from ..older import by_mode, takes_mode
from ..program import Block, Expression, Function, Index, Invocation, Lambda, Member, Name, Operation, Span
from ..values import UNKNOWN, Value, known, pointer, unknown
from . import types
from .graph_calls import GraphCalls
from .index import Index as Names
from .index import Known, fitting
from .memory import Frame
from .objects import Objects
from .parts import read_names
from .texts import argument_texts, unparsed

DEEPEST_CALL = 5  # the entry, and calls within it
_FEW_DEFINITIONS = 3
_MOST_DEFINITIONS = 12  # that a call may mean
_SMALL = 6  # statements of a function that is followed though it leads to no call
_MOST_STEPS_IN_ONE = 20_000  # spent in one function over all its followings
_ARRAY = re.compile(r"(A|Array|[dD]ims?A?|lens|strides?|arrayOfElements|\[\])$")


class Calls(Objects):
    """Follows calls."""

    def __init__(self, index: Names, listeners: Sequence[Listener], graphs: list[FoundGraph] | None = None) -> None:
        super().__init__(index)
        self.listeners = listeners
        self.journal: dict[int, Deed] = {}
        self.numbers = 0
        self.used = 0
        self.turns = 0
        self.depth = 0
        self.stack: list[Known] = []
        self.through: list[Place] = []
        self.thread = ""
        self.lambdas: dict[str, tuple[Lambda, list[dict[str, str]]]] = {}  # with what they see
        self.lambda_depth = 0
        self.last_lambda = UNKNOWN  # what the one that was followed last returned
        self.every_branch = False  # also those that known values exclude; tells of calls that nothing else led to
        self.versions: list[str] = []
        self.reached: set[tuple[str, str, int, int]] = set()
        self.reached_functions: set[int] = set()
        self.cut: set[int] = set()  # functions of which something was too deep to follow
        self.shared: dict[str, str] = {}  # of a group's classes: the object that all its functions get
        self.preferred: frozenset[str] = frozenset()  # files whose definitions count where several have one
        self.of_graphs = GraphCalls(self, [] if graphs is None else graphs)

    def fresh(self) -> int:
        """Return a number that was not used before."""
        self.used += 1
        return self.used

    def write(self, path: str, value: Value) -> None:
        """Set a variable; of a thing that is kept in another variable than it was made in, that is noted."""
        super().write(path, value)
        if value.kind == "thing" and not str(value.data).startswith(f"{path}@"):
            self.keep(value)

    def keep(self, value: Value) -> None:
        """Note of a thing that something else than the variable it was made in has it, too."""
        made = self.state.things.get(value.data) if value.kind == "thing" else None
        deed = self.journal.get(made.created or 0) if made is not None else None
        if deed is not None and not deed.kept:
            self.journal[deed.event.number] = replace(deed, kept=True)

    @abstractmethod
    def run(self, block: Block) -> None:
        """Follow statements."""

    @abstractmethod
    def call_lambda(self, key: str, call: Invocation) -> Value:
        """Follow an anonymous function with the arguments of a call."""

    @abstractmethod
    def outside(self, call: Invocation, name: str, use: str) -> Value:
        """Follow a call of a function that is neither the program's nor a library's."""

    # Which call it is -------------------------------------------------------------------------------------------

    def invoke(self, call: Invocation, use: str) -> Value:
        """Follow a call, and return what it gives."""
        use = "checked" if call.checked else use
        if self.frame.packs:
            call = replace(call, arguments=self._unpacked(call.arguments))
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
            pointed = self._pointed(callee)
            if pointed:
                return self.library_call(call, pointed, use)
            return self._method(call, callee, use)
        if isinstance(callee, Index | Operation) and (pointed := self._pointed(callee)):
            return self.library_call(call, pointed, use)
        if isinstance(callee, Lambda):
            for argument in call.arguments:
                self.evaluate(argument)
            self.follow_lambda(callee)
            return self.last_lambda
        self.evaluate(callee)
        return self.outside(call, "", use)

    def _named(self, call: Invocation, full_name: str, use: str) -> Value:
        if call.new and full_name.endswith("]"):
            return self.outside(call, full_name, use)
        name = self.index.resolved(types.simple(full_name))
        if self.index.is_library(name) and not call.new and _takes(name, types.simple(full_name), call):
            return self.library_call(call, name, use)
        class_ = self.index.class_named(name) if not self.frame.path_of(full_name) else None
        if class_ is not None:
            path = f"{name}~{self.fresh()}"
            self.types[path] = name
            self.construct(path, name, call.arguments)
            return pointer(path, name) if call.new else unknown(path, name)
        pointed = self._pointed(call.callee) if isinstance(call.callee, Name) and not call.new else ""
        if pointed:
            return self.indirect_call(call, pointed, use)
        local = self.frame.path_of(full_name)
        given = self.state.variables.get(local) if local is not None else None
        if given is not None and given.kind == "unknown" and given.data in self.lambdas:
            return self.call_lambda(str(given.data), call)
        if local is not None:
            overloaded = self.overloaded("operator()", call.callee, call)
            if overloaded is not None:
                return overloaded
        found = self._candidates(full_name, name, len(call.arguments))
        if found:
            this = self.frame.this if found[0].function.owner else ""
            return self._follow_any(found, call, this)
        return self.outside(call, full_name, use)

    def _candidates(self, full_name: str, name: str, count: int) -> list[Known]:
        owner = types.owner_of(full_name)
        if owner in self.index.classes:
            return fitting(self.index.found_methods(owner, name), count)
        if not owner and self.frame.this_class:
            object_ = self.class_at(self.frame.this)  # of a class derived from the method's, where it is virtual
            for class_name in (self.frame.this_class if object_ is None else object_.name, self.frame.this_class):
                found = fitting(self.index.found_methods(class_name, name), count)
                if found:
                    return found
        return fitting(self.index.free_functions(name), count)

    def _method(self, call: Invocation, callee: Member, use: str) -> Value:
        path = self._base(callee.base)
        class_ = self.class_at(path) if path is not None else None
        name = types.simple(callee.name)
        if path is not None and class_ is not None:
            found = fitting(self.index.found_methods(class_.name, name), len(call.arguments))
            if found:
                return self._follow_any(found, call, path)
        return self.outside(call, name, use)

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

    def _pointed(self, callee: Expression) -> str:
        """Return the library's function that a variable points to; "" where none is known."""
        if isinstance(callee, Operation):
            if callee.operator != "*x":
                return ""
            callee = callee.operands[0]
        if not isinstance(callee, Name | Member | Index):
            return ""
        path = self.place(callee)
        value = self.peek(path) if path is not None else None
        if value is None or value.kind != "unknown" or not isinstance(value.data, str):
            return ""
        name = types.simple(value.data)
        return name if name in mapping.table().functions else ""

    def indirect_call(self, call: Invocation, name: str, use: str) -> Value:
        """Follow a call through a pointer; of a function that was handed in, the call stands where it was."""
        texts = [self.frame.pack_texts.get(unparsed(a), unparsed(a)) for a in call.arguments]
        call = replace(call, text=f"{name}({', '.join(texts)})")
        is_parameter = isinstance(call.callee, Name) and self.frame.function is not None and any(
            p.name == call.callee.name for p in self.frame.function.parameters
        )  # fmt: skip
        place = self.through[-1] if is_parameter and self.through else None
        return self.library_call(call, name, use, place)

    def _unpacked(self, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """Return arguments with what a template's ``args...`` stands for in its place."""
        result: list[Expression] = []
        for argument in arguments:
            count = self.frame.packs.get(argument.name) if isinstance(argument, Name) else None
            if count is None or not isinstance(argument, Name):
                result.append(argument)
            else:
                result += [Name(f"{argument.name}${i}", argument.span) for i in range(count)]
        return tuple(result)

    def library_call(self, call: Invocation, name: str, use: str, where: Place | None = None) -> Value:
        """Make an event of a call of a library, tell the listeners, and let it have its effects."""
        written = name
        if takes_mode(name) and len(call.arguments) > 1 and self._is_mode(call.arguments[1]):
            name = by_mode(name)
        parameters = effects.signature(name, len(call.arguments))
        texts = argument_texts(call)
        arguments = tuple(
            self._argument(argument, text, parameters[i] if i < len(parameters) else None)
            for i, (argument, text) in enumerate(zip(call.arguments, texts, strict=True))
        )
        if where is not None:  # the helper's text is not where the call is told of
            arguments = tuple(replace(argument, place=where) for argument in arguments)
        return self.emit(name, arguments, call.span, call.text, self._status(use), where, written=written)

    def _is_mode(self, expression: Expression) -> bool:
        """Whether an argument is an activation mode, which cuDNN took in place of a descriptor before version 4."""
        value = self.evaluate(expression)
        said = [option.data for option in value.options if option.kind == "known"]
        if any(str(data).startswith("CUDNN_ACTIVATION_") for data in said):
            return True
        place = self.place(expression) if isinstance(expression, Name | Member) else None
        return place is not None and types.simple(types.bare(self.types.get(place, ""))) == "cudnnActivationMode_t"

    def emit(
        self,
        name: str,
        arguments: tuple[Argument, ...],
        span: Span,
        text: str,
        status: str,
        where: Place | None = None,
        followed: bool = True,
        written: str = "",
    ) -> Value:
        """Tell the listeners of a call, which stands at `where` or else at its span, and let it have its effects.

        `written` is the function's name there, where another one is meant.
        """
        place = self.place_of(span) if where is None else where
        self.numbers += 1
        event = Event(
            number=self.numbers,
            function=name,
            arguments=arguments,
            place=place,
            text=text,
            status=status,
            through=tuple(self.through),
            within=self.frame.label,
            thread=self.thread,
            in_loop=self.loops > 0,
            guards=self.guards,
            version=self.versions[-1] if self.versions else None,
            followed=followed,
        )
        where_ = (place.file, written or name, place.line, place.column)
        if not self.every_branch or where_ not in self.reached:
            for listener in self.listeners:
                listener.call(event, self.state, self.journal)
        self.reached.add(where_)
        if name == "cudnnBackendFinalize" and arguments and arguments[0].value.kind == "thing":
            graph = self.state.things.get(arguments[0].value.data)
            if graph is not None:
                self.of_graphs.finalized(graph, self.journal)
        return effects.apply(event, self.state, self.journal, self._write_output)

    def _write_output(self, path: str, value: Value) -> None:
        if path.endswith("[0]") and value.kind == "items":
            path = path[:-3]
        if self.types.get(path, "").endswith("]") and value.kind != "items":
            path = self.element_path(path, known(0))
        self.assign(path, value) if value.kind == "items" else self.write(path, value)

    def place_of(self, span: Span) -> Place:
        """Return where something stands."""
        return Place.of(self.frame.unit.file, span)

    def _status(self, use: str) -> str:
        if not use.startswith("assigned "):
            return use
        frame = self.frame
        if frame.read_names is None:
            frame.read_names = frozenset(read_names(frame.function.body)) if frame.function is not None else frozenset()
        return "checked" if use.removeprefix("assigned ") in frame.read_names else "ignored"

    def _argument(self, expression: Expression, text: str, parameter: Parameter | None) -> Argument:
        value = self.evaluate(expression)
        type_ = parameter.type if parameter is not None else ""
        kind = kind_of(type_)
        place = self.place_of(expression.span)
        if kind and not type_.rstrip().endswith(("*", "]")):
            return Argument(text, self.as_thing(value, type_), None, place)
        array = parameter is not None and (type_.rstrip().endswith("]") or _ARRAY.search(parameter.name) is not None)
        if array and value.kind == "unknown" and types.is_array(self.types.get(str(value.data), "")):
            value = pointer(str(value.data), types.pointee(self.types[str(value.data)]))
        if value.kind == "items":
            return Argument(text, value, value, place)
        return Argument(text, value, self.content(value, array=array), place)

    def as_thing(self, value: Value, type_: str) -> Value:
        """Return the thing that an argument for a descriptor or a handle means."""
        if value.kind == "one of":
            found = [self.as_thing(option, type_) for option in value.options if not option.is_null]
            if all(option.kind == "unknown" for option in value.options):
                return self._whichever(found)
            return self.joined(found)
        if value.kind == "pointer":
            inner = self._inner(str(value.data), type_)
            return inner if inner is not None else value
        if value.kind == "unknown" and value.data is not None:
            inner = self._inner(str(value.data), type_)
            if inner is not None:
                return inner
            made = self.adopt(str(value.data), type_)
            if str(value.data) in self.state.variables or str(value.data) in self.types:
                self.state.variables[str(value.data)] = made
            return made
        return value

    def _whichever(self, found: list[Value]) -> Value:
        """Return one thing for several of which nothing is known: what a wrapper holds, made by who knows whom."""
        forms = [self.state.things[value.data] for value in found if value.kind == "thing"]
        told = [form for form in forms if form.set_by or form.created]
        if len(forms) < len(found) or len(told) > 1:
            return self.joined(found)
        chosen = (told or forms)[0].id
        return next(value for value in found if value.data == chosen)

    def _inner(self, path: str, type_: str, within: tuple[str, ...] = ()) -> Value | None:
        """Return the member of an object that an argument of some type means: the one of that type."""
        class_ = self.class_at(path)
        if class_ is None or class_.name in within:
            return None
        kind = kind_of(type_)
        for member in self.index.members(class_.name):
            if self.index.kind_of(member.type) == kind and not member.array:
                return self.read(self.member_path(path, member.name))
        for member in self.index.members(class_.name):
            if self.index.class_of(member.type) is not None and not types.bare(member.type).endswith("*"):
                inner = self._inner(self.member_path(path, member.name), type_, (*within, class_.name))
                if inner is not None:
                    return inner
        held = types.template_argument(self.types.get(path, ""))
        if held and self.index.kind_of(held) == kind and class_.members:
            member = class_.members[0]  # of the template's parameter's type
            inside = self.member_path(path, member.name)
            self.types[inside] = held
            return self.read(inside)
        return None

    # The program's own functions --------------------------------------------------------------------------------

    def _follow_any(self, found: list[Known], call: Invocation, this: str) -> Value:
        """Follow the definitions of a function that a call may mean, each from the same state."""
        found = self.suited(found, call)
        if len(found) == 1:
            return self.follow(found[0], call.arguments, self.place_of(call.span), this)
        before, ends, values = self.state, [], []
        for known_ in found[:_MOST_DEFINITIONS]:
            self.state = before.copy()
            values.append(self.follow(known_, call.arguments, self.place_of(call.span), this))
            ends.append(self.state)
        self.state = meet(ends)
        return self.joined(values)

    def suited(self, found: list[Known], call: Invocation) -> list[Known]:
        """Leave out overloads for other kinds of things, and those of one place in different files."""
        if len(found) == 1 or any(k.function.condition for k in found):
            return found[:_FEW_DEFINITIONS]
        mine = "" if self.frame.function is None else self.frame.function.of
        if mine and any(k.function.of == mine for k in found):  # methods of the same specialization
            found = [k for k in found if k.function.of in (mine, "")]
            if len(found) == 1:
                return found
        special = {k.function.specialization: k for k in found if k.function.specialization}
        if special:
            wanted = types.template_argument(call.callee.name) if isinstance(call.callee, Name) else ""
            return [special[wanted]] if wanted in special else list(special.values())
        exact = [k for k in found if len(k.function.parameters) == len(call.arguments)]
        found = exact or found
        kinds = [self._kind_given(argument) for argument in call.arguments]
        same = [
            k
            for k in found
            if all(
                not kind or not wanted or kind == wanted
                for kind, wanted in zip(
                    kinds, (self.index.kind_of(p.type) for p in k.function.parameters), strict=False
                )
            )
        ]
        near = [k for k in same or found if k.unit is self.frame.unit or k.unit.file in self.preferred]
        return (near or same or found)[:1]

    def _kind_given(self, argument: Expression) -> str:
        if not isinstance(argument, Name | Member):
            return ""
        path = self.place(argument)
        return self.index.kind_of(self.types.get(path, "")) if path is not None else ""

    def follow(self, called: Known, arguments: Sequence[Expression], where: Place | None, this: str = "") -> Value:
        """Follow a function of the program with some arguments."""
        bound = [self._bound(reference, argument) for reference, argument in _paired(called.function, arguments)]
        if not self._worth_following(called):
            if called.leads and called not in self.stack and len(self.stack) >= DEEPEST_CALL:
                self.cut.add(id(self.stack[-1]))
            for _, value in bound:
                self._may_change(value, leads=called.leads)
            key = symbols.combine(called.label, [value for _, value in bound])
            return unknown(key if not called.leads else f"{called.label}~{self.fresh()}", "")
        self.turns += 1
        frame = Frame(self.turns, called.unit, called.label, called.function, this, types.simple(called.function.owner))
        self._bind_pack(frame, called.function, arguments, bound)
        for i, parameter in enumerate(called.function.parameters):
            path, given = bound[i] if i < len(bound) else _NOTHING
            self._bind(frame, parameter.name, parameter.type, path if parameter.reference else None, given,
                       parameter.default)  # fmt: skip
        return self._run_function(called, frame, where)

    def _bind_pack(
        self,
        frame: Frame,
        function: Function,
        arguments: Sequence[Expression],
        bound: Sequence[tuple[str | None, Value]],
    ) -> None:
        """Bind what a template's last parameter, ``Args... args``, is given: each as a variable of its own."""
        if not function.parameters or not function.parameters[-1].type.endswith("..."):
            return
        first, name = len(function.parameters) - 1, function.parameters[-1].name
        frame.packs[name] = max(0, len(bound) - first)
        for i, (path, given) in enumerate(bound[first:]):
            self._bind(frame, f"{name}${i}", "", path, given, None)
            frame.pack_texts[f"{name}${i}"] = unparsed(arguments[first + i])

    def _bind(self, frame: Frame, name: str, type_: str, reference: str | None, value: Value | None,
              default: Expression | None) -> None:  # fmt: skip
        if reference is not None:
            frame.scopes[0][name] = reference
            self.types.setdefault(reference, type_)
            return
        path = f"{name}#{frame.turn}"
        frame.scopes[0][name] = path
        frame.declared.append(path)
        self.types[path] = type_
        if value is None and default is not None:
            value = self.evaluate(default)
        elif value is None and len(self.stack) == 0:
            value = self._shared_object(name, type_, frame)
        if value is not None:
            if value.kind == "items":
                self.assign(path, value)
            else:
                self.state.variables[path] = value if types.pointee(type_) else self.cast(value, type_)

    def _shared_object(self, name: str, type_: str, frame: Frame) -> Value | None:
        """Return what the functions of a group get for a parameter of a class: the same object, once."""
        class_ = self.index.class_of(type_)
        if class_ is None:
            return None
        short = types.simple(class_.name)
        path = self.shared.setdefault(short, f"{name}~{short}")
        if any(value.data == path for value in (self.peek(p) for p in frame.declared) if value is not None):
            return None
        self.types[path] = short
        return unknown(path, type_)

    def _bound(self, reference: bool, argument: Expression) -> tuple[str | None, Value]:
        path = (
            self.place(argument) if isinstance(argument, Name | Member) or (reference and _is_place(argument)) else None
        )
        if path is not None:
            return path, self.value_at(path)
        return None, self.evaluate(argument)

    def _worth_following(self, called: Known) -> bool:
        if not self.stack:
            return True
        if called in self.stack or len(self.stack) >= DEEPEST_CALL or called.spent > _MOST_STEPS_IN_ONE:
            return False
        return called.leads or len(called.function.body.statements) <= _SMALL

    def _run_function(self, called: Known, frame: Frame, where: Place | None) -> Value:
        outer, self.frame = self.frame, frame
        self.stack.append(called)
        steps = self.steps
        if where is not None:
            self.through.append(where)
        called.followed += 1
        self.reached_functions.add(id(called))
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
            if where is not None:
                self.through.pop()
        if id(called) in self.cut:  # what it calls was too deep: it is followed by itself
            self.cut.discard(id(called))
            if self.stack:
                self.reached_functions.discard(id(called))
        ends = [state for state, _ in frame.returned]
        values = [value for _, value in frame.returned]
        if ends:
            self.state = meet([*ends, self.state])
        lasting = {option.data for value in values for option in value.options if option.kind == "pointer"}
        for path in frame.declared:  # what is static outlives the function, and its address may be returned
            if path not in self.children and path not in lasting:
                self.state.variables.pop(path, None)
        return self.joined(values) if values else UNKNOWN

    steps: int

    def _may_change(self, value: Value, *, leads: bool) -> None:
        """Note what a function that is not followed may have done to what it got."""
        if leads:
            self.lose(value)
        if value.kind == "pointer":
            self.forget(str(value.data), why=str(self.fresh()))


def _is_place(expression: Expression) -> bool:
    return not isinstance(expression, Invocation | Lambda)


def _paired(function: Function, arguments: Sequence[Expression]) -> Iterator[tuple[bool, Expression]]:
    """Yield arguments, each with whether the caller's variable is meant."""
    parameters = function.parameters
    is_pack = bool(parameters) and parameters[-1].type.endswith("...")
    for i, argument in enumerate(arguments):
        yield parameters[i].reference if i < len(parameters) else is_pack, argument


def _takes(name: str, written: str, call: Invocation) -> bool:
    """Whether a function may be the one that a call under another name means, by the number of arguments."""
    declared = mapping.table().functions.get(name)
    if name == written or declared is None:
        return True
    return any(len(parameters) == len(call.arguments) for parameters in declared.signatures)


_NOTHING: tuple[str | None, Value | None] = (None, None)
