"""Where following a program starts, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..events import Argument
from ..model.state import State
from ..program import Skipped, Span, Unit
from ..values import UNKNOWN, unknown
from . import types
from .calls import Listener
from .index import Index, Known
from .memory import Frame
from .statements import OutOfSteps, Statements
from .texts import split_arguments

_MOST_STEPS = 150_000  # of one entry
_PHASES = (  # the order in which a program uses what a class or a file offers
    re.compile(r"^~|destroy|free|release|clean|finali[sz]e|shutdown|close|delete|teardown", re.IGNORECASE),
    re.compile(r"update|step|optimi[sz]e|apply|solve", re.IGNORECASE),
    re.compile(r"backward|bwd|backprop|grad|_bp|^bp", re.IGNORECASE),
    re.compile(
        r"forward|fwd|run|infer|predict|execute|compute|operator\(\)|train|test|conv|eval|process", re.IGNORECASE
    ),
    re.compile(r"reshape|resize|find|choose|select|algo|workspace|prepare|configure|plan|alloc", re.IGNORECASE),
    re.compile(r"create|init|set_?up|make|build|construct|open|load|set", re.IGNORECASE),
)


def phase_of(known: Known) -> int:
    """Return when a program would use a function: the smaller the earlier."""
    if known.function.kind == "constructor":
        return 0
    if known.function.kind == "destructor":
        return len(_PHASES) + 3
    name = types.simple(known.function.name)
    early = re.match(r"create|init|set_?up|make|build|open|load|set|reshape|resize", name, re.IGNORECASE)
    if early:
        return 2 if re.match(r"reshape|resize", name, re.IGNORECASE) else 1
    for i, pattern in enumerate(_PHASES):
        if pattern.search(name):
            return len(_PHASES) + 2 - i
    return 4


class Walk(Statements):
    """Follows a whole program."""

    def __init__(self, units: Sequence[Unit], listeners: Sequence[Listener]) -> None:
        super().__init__(Index(units), listeners)
        self.frame = Frame(0, units[0] if units else Unit(""), "")
        self.ends = []
        self.steps = 0
        self.most_steps = _MOST_STEPS
        self.use = ""

    def all(self) -> None:
        """Follow everything, then tell of the calls that were not reached."""
        for known in self._entries():
            self._entry(known)
        for name in self._classes():
            self._class(name)
        for known in self.index.all:
            if known.leads and id(known) not in self.reached_functions:
                self._entry(known)
        self._mentions()
        for listener in self.listeners:
            listener.finish(self.state, self.journal)

    def _entries(self) -> Iterator[Known]:
        """Yield the functions that nothing in the program calls; methods are left to their classes."""
        called: set[str] = set()
        for known in self.index.all:
            own = types.simple(known.function.name)
            called |= {types.simple(name) for name in known.function.calls if types.simple(name) != own}
        for known in self.index.all:
            function = known.function
            if known.leads and types.simple(function.name) not in called and not self._is_method(known):
                yield known

    def _is_method(self, known: Known) -> bool:
        return bool(known.function.owner) and known.function.kind != "function" and not known.function.static

    def _classes(self) -> Iterator[str]:
        for name, methods in self.index.methods.items():
            if any(m.leads and id(m) not in self.reached_functions and self._is_method(m) for m in methods):
                yield name

    # One entry --------------------------------------------------------------------------------------------------

    def _start(self, known: Known) -> None:
        self.state = State()
        self.children = {}
        self.types = {}
        self.thread = known.label
        self._restart()

    def _restart(self) -> None:
        self.steps = 0
        self.depth = 0
        self.loops = 0
        self.guards = 0
        self.stack = []
        self.through = []
        self.versions = []
        self.ends = []

    def _entry(self, known: Known) -> None:
        self._start(known)
        this = "this" if self._is_method(known) else ""
        if this:
            self.types[this] = known.function.owner
        self._guarded(known, this)

    def _guarded(self, known: Known, this: str) -> None:
        """Follow a function from its start; a failure ends only it."""
        self.frame = Frame(0, known.unit, known.label)
        try:
            self.follow(known, (), None, this)
        except OutOfSteps:
            self._skip(known, "too long to follow to its end")
        except RecursionError:
            self._skip(known, "nested too deeply to follow")
        self._restart()

    def _skip(self, known: Known, reason: str) -> None:
        line = known.function.span.line
        known.unit.skipped.append(Skipped(known.unit.file, f"{known.label}: {reason}", line))

    # Classes ----------------------------------------------------------------------------------------------------

    def _class(self, name: str) -> None:
        """Follow a class's methods, each from what the earlier ones left."""
        methods = self._ordered(name)
        if not methods:
            return
        self._start(methods[0])
        self.thread = name
        self.types["this"] = name
        constructors = [m for m in methods if m.function.kind == "constructor"]
        if not constructors:
            self.frame = Frame(0, methods[0].unit, name)
            self.make_members("this", name)
        for i, known in enumerate(methods):
            before = self.state
            if known.function.kind == "constructor" and i:
                self.state = State()
            after = self._method_from(known, before)
            self.state = after

    def _method_from(self, known: Known, before: State) -> State:
        earlier = {number for numbers in before.done.values() for number in numbers}
        self.thread = types.simple(known.function.owner)
        self._guarded(known, "this")
        after = self.state if self.state.reachable else before
        if known.function.kind != "constructor":
            for numbers in after.done.values():
                for number in numbers:
                    numbers[number] = numbers[number] and number in earlier
        return after

    def _ordered(self, name: str) -> list[Known]:
        """Return a class's methods, its bases' too, in the order in which a program would call them."""
        found: dict[int, Known] = {}
        names: set[str] = set()
        for class_ in self.index.lineage(name) if name in self.index.classes else ():
            for known in self.index.methods.get(types.simple(class_.name), ()):
                key = types.simple(known.function.name)
                if known.function.kind in ("constructor", "destructor") and class_.name != name:
                    continue
                if known.function.kind == "method" and class_.name != name and key in names:
                    continue
                found[id(known)] = known
                names.add(key)
        for known in self.index.methods.get(name, ()):
            found.setdefault(id(known), known)
        called = {
            types.simple(call)
            for known in found.values()
            for call in known.function.calls
            if types.simple(call) != types.simple(known.function.name)
        }
        chosen = [
            known
            for known in found.values()
            if (known.leads or known.function.kind == "constructor")
            and (known.function.kind != "method" or types.simple(known.function.name) not in called)
        ]
        return sorted(chosen, key=phase_of)

    # What was not reached ---------------------------------------------------------------------------------------

    def _mentions(self) -> None:
        """Tell of calls that following did not reach, with nothing known of their arguments."""
        self._restart()
        for unit in self.index.units:
            self.frame = Frame(0, unit, "")
            for name, span, text in unit.mentions:
                if (unit.file, name, span.line, span.column) not in self.reached:
                    self.state = State()
                    self.thread = ""
                    arguments = tuple(self._mentioned(part, span) for part in split_arguments(text))
                    self.emit(name, arguments, span, text, "unknown")
        self.state = State()

    def _mentioned(self, text: str, span: Span) -> Argument:
        value = unknown(f"{text}~{span.line}") if text else UNKNOWN
        return Argument(text, value, None, replace(self.place_of(span), start=-1, end=-1))
