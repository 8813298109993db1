"""Calls of the libraries: events of them, and the things that their arguments mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ... import mapping
from ...mapping import Parameter
from ..events import Argument, Event, Place
from ..frontend.found import FoundGraph
from ..model import effects, symbols
from ..model.kinds import kind_of
from ..model.listener import Listener
from ..model.outputs import is_array
from ..model.state import Deed
from ..older import by_mode, of_version, older, takes_mode
from ..program import Expression, Index, Invocation, Lambda, Member, Name, Operation, Span
from ..values import UNKNOWN, Value, known, pointer, unknown
from . import types
from .frame import Frame
from .graph_calls import GraphCalls
from .index import Index as Names
from .index import Known
from .memory import parent_of
from .objects import Objects
from .parts import read_names
from .texts import argument_texts, unparsed

_LIVES = re.compile(r"(?:cudnn|miopen)(?:Create|Destroy)\w*$")
_SETS = re.compile(r"(?:cudnn|miopen)(?:Set|Init)\w*Descriptor")
_SIZE = re.compile(r"workSpaceSize(?:InBytes)?$", re.IGNORECASE)
_FINDS = re.compile(r"(?:cudnn|miopen)FindConvolution")


class LibraryCalls(Objects):
    """Tells the listeners of calls of the libraries, and lets them have their effects."""

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
        self.running: list[int] = []  # the turns of the functions that are followed
        self.thread = ""
        self.lambdas: dict[str, tuple[Lambda, list[dict[str, str]], Frame]] = {}  # with what they see
        self.lambda_depth = 0
        self.last_lambda = UNKNOWN  # what the one that was followed last returned
        self.template_given = ""  # how the template that is called next is written, with its arguments
        self.specialized = ""  # for what the methods of the class template that is followed are specialized
        self.every_branch = False  # also those that known values exclude; tells of calls that nothing else led to
        self.versions: list[str] = []
        self.reached: set[tuple[str, str, int, int]] = set()
        self.reached_functions: set[int] = set()
        self.with_object: set[int] = set()  # of these the methods that were followed with an object that was made
        self.cut: set[int] = set()  # functions of which something was too deep to follow
        self.shared: dict[str, str] = {}  # of a group's classes: the object that all its functions get
        self.preferred: frozenset[str] = frozenset()  # files whose definitions count where several have one
        self.last_find = 0  # the number of the last search for algorithms
        self.fixed: dict[str, int] = {}  # when variables were given an algorithm by its name, by `fresh`
        self.of_graphs = GraphCalls(self, [] if graphs is None else graphs)

    def fresh(self) -> int:
        """Return a number that was not used before."""
        self.used += 1
        return self.used

    def write(self, path: str, value: Value) -> None:
        """Set a variable; of a thing that is kept in another variable than it was made in, that is noted."""
        super().write(path, value)
        if value.kind == "known" and isinstance(value.data, str) and symbols.ALGORITHM.match(value.data):
            self.fixed[path] = self.fresh()
        if value.kind == "thing" and not str(value.data).startswith(f"{path}@") and not _in_a_copy(path, value):
            self.keep(value)

    def keep(self, value: Value) -> None:
        """Note of a thing that something else than the variable it was made in has it, too."""
        made = self.state.things.get(value.data) if value.kind == "thing" else None
        deed = self.journal.get(made.created or 0) if made is not None else None
        if deed is not None and not deed.kept:
            self.journal[deed.event.number] = replace(deed, kept=True)

    def pointed(self, callee: Expression) -> str:
        """Return the library's function that a variable points to; "" where none is known."""
        if isinstance(callee, Operation):
            if callee.operator != "*x":
                return ""
            callee = callee.operands[0]
        if not isinstance(callee, Name | Member | Index):
            return ""
        path = self.place(callee)
        value = self.peek(path) if path is not None else None
        if value is None and isinstance(callee, Name):
            pointed = self.index.resolved(types.simple(callee.name))
            return pointed if pointed in mapping.table().functions else ""
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

    def unpacked(self, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
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
        name = of_version(name)
        if takes_mode(name) and len(call.arguments) > 1 and self._is_mode(call.arguments[1]):
            name = by_mode(name)
        if name in mapping.table().functions:
            call = replace(call, arguments=self._spread(call.arguments))
            if self._is_behind_another(name, call.arguments):
                call = replace(call, arguments=call.arguments[1:])
        parameters = effects.signature(name, len(call.arguments))
        texts = argument_texts(call)
        arguments = tuple(
            self._argument(argument, text, parameters[i] if i < len(parameters) else None)
            for i, (argument, text) in enumerate(zip(call.arguments, texts, strict=True))
        )
        if where is not None:  # the helper's text is not where the call is told of
            arguments = tuple(replace(argument, place=where) for argument in arguments)
        status = self.emit(name, arguments, call.span, call.text, self._status(use), where, written=written)
        if arguments and _SETS.match(name):
            place = 1 if len(arguments) > 1 and self._is_handle(arguments[0].value) else 0  # as RNNs' do
            self._keep_settings(call.arguments[place], arguments[place].value)
        return status

    def _is_behind_another(self, name: str, arguments: tuple[Expression, ...]) -> bool:
        """Tell whether a call has an argument more, before the function's own: a wrapper's, such as the executor."""
        signatures = mapping.table().functions[name].signatures
        counts = {len(parameters) for parameters in signatures}
        if len(arguments) in counts or len(arguments) - 1 not in counts or older(name, len(arguments)):
            return False
        first = next(parameters for parameters in signatures if len(parameters) == len(arguments) - 1)[:1]
        wanted = kind_of(first[0].type) if first else ""
        return not wanted or self._kind_of_argument(arguments[0]) != wanted

    def _kind_of_argument(self, expression: Expression) -> str:
        if isinstance(expression, Operation) and expression.operator == "&x":
            expression = expression.operands[0]
        path = self.place(expression) if isinstance(expression, Name | Member | Index) else None
        return "" if path is None else self.index.kind_of(self.types.get(path, ""))

    def _spread(self, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """Return arguments with the several that a macro stands for (``#define SIZES 3, 3``) in its place."""
        result: list[Expression] = []
        for argument in arguments:
            given = None
            if isinstance(argument, Name) and argument.name.isupper():
                found = self.index.variables_named(argument.name)
                given = found[0][0].value if found and found[0][0].type == "#define" else None
            if not isinstance(given, Operation) or given.operator != ",":
                result.append(argument)
                continue
            waiting: list[Expression] = [given]
            while waiting:
                one = waiting.pop()
                if isinstance(one, Operation) and one.operator == ",":
                    waiting += reversed(one.operands)
                else:
                    result.append(one)
        return tuple(result)

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
            turns=tuple(self.running),
            within=self.frame.label,
            thread=self.thread,
            in_loop=self.loops > 0,
            moving=self.frame.moving,
            guards=self.guards,
            version=self.versions[-1] if self.versions else None,
            followed=followed,
            holder=self._holder(arguments[0].value) if arguments and _LIVES.match(name) else "",
        )
        where_ = (place.file, written or name, place.line, place.column)
        if not self.every_branch or where_ not in self.reached:
            for listener in self.listeners:
                listener.call(event, self.state, self.journal)
        self.reached.add(where_)
        if _FINDS.match(name):
            self.last_find = event.number
        if name == "cudnnBackendFinalize" and arguments and arguments[0].value.kind == "thing":
            graph = self.state.things.get(arguments[0].value.data)
            if graph is not None:
                self.of_graphs.finalized(graph, self.journal)
        status_ = effects.apply(event, self.state, self.journal, self._write_output)
        if arguments and _LIVES.match(name) and self._is_given(arguments[0].value):
            self.journal[event.number] = replace(self.journal[event.number], kept=True)
        return status_

    def _is_given(self, value: Value) -> bool:
        """Whether a pointer is to the variable of a caller that was not seen: a parameter of what is followed."""
        function = self.frame.function
        if value.kind != "pointer" or len(self.stack) > 1 or function is None:
            return False
        return any(str(value.data).partition("[")[0] == f"{p.name}#{self.frame.turn}" for p in function.parameters)

    def _is_handle(self, value: Value) -> bool:
        held = self.state.things.get(value.data) if value.kind == "thing" else None
        return held is not None and held.kind == "handle"

    def _holder(self, value: Value) -> str:
        """Return the class of the object in which a variable or a thing lies."""
        path = _made_in(str(value.data)) if value.kind in ("pointer", "thing") else ""
        class_ = self.class_at(parent_of(path)) if path else None
        return "" if class_ is None else types.simple(class_.name)

    def _keep_settings(self, expression: Expression, value: Value) -> None:
        """Remember what a descriptor in a member of an object is set to: one that was made there, or is kept there."""
        if isinstance(expression, Invocation) and isinstance(expression.callee, Member):  # handle.get()
            expression = expression.callee.base
        place = self.place(expression) if isinstance(expression, Name | Member) else None
        for option in value.options:
            set_ = self.state.things.get(option.data) if option.kind == "thing" else None
            if set_ is not None:
                self.kept.note_kind(set_)
            for path in () if set_ is None else dict.fromkeys((_made_in(set_.id), place or "")):
                if set_ is not None and (class_ := self.class_at(parent_of(path))) is not None:
                    self.kept.note(class_.name, path, set_)

    def _write_output(self, path: str, value: Value) -> None:
        if path.endswith("[*]"):
            self._write_all(path[:-3], value)
            return
        if path.endswith("[0]") and value.kind == "items":
            path = path[:-3]
        if self.types.get(path, "").endswith("]") and value.kind != "items":
            path = self.element_path(path, known(0))
        self.assign(path, value) if value.kind == "items" else self.write(path, value)

    def _write_all(self, base: str, value: Value) -> None:
        """Write what a function gives back in an array of which only is known that it did."""
        known_ones = [path for path in self.children.get(base, ()) if re.search(r"\[\d+\]$", path)]
        if not known_ones and self.types.get(base, "").endswith("]"):
            known_ones = [self.element_path(base, known(0))]
        for path in known_ones or [base]:
            key = None if value.data is None else f"{value.data}{path[len(base) :]}"
            self.write(path, unknown(key, value.type, value.origins))

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
        array = parameter is not None and is_array(parameter)
        if array and value.kind == "unknown" and types.is_array(self.types.get(str(value.data), "")):
            value = pointer(str(value.data), types.pointee(self.types[str(value.data)]))
        if value.kind == "items":
            return Argument(text, value, value, place)
        if parameter is not None and _SIZE.match(parameter.name) and value.kind == "unknown" and not value.origins:
            path = str(value.data)
            value = self.size_at_first(path, self.types.get(path, "")) or value
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


def _made_in(id_: str) -> str:
    """Return the variable in which a thing was made; of another path the path."""
    return re.sub(r"@\d+$", "", id_)


def _in_a_copy(path: str, value: Value) -> bool:
    """Whether a variable is the member of another object that a thing was made in: the object was copied."""
    member = re.search(r"\.\w+$", _made_in(str(value.data)))
    return member is not None and path.endswith(member[0])
