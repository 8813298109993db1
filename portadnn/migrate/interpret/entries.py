"""Where following a program starts, and in which order."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from ..events import Argument
from ..frontend.found import FoundGraph
from ..limits import FOLLOWING, Limits
from ..model.listener import Listener
from ..model.state import State
from ..model.symbols import is_integer
from ..program import Skipped, Span, Unit
from ..values import UNKNOWN, Value, unknown
from ..values import known as known_value
from . import types
from .frame import Frame
from .groups import grouped, left_over
from .index import Known, numbers_given
from .leading import index_of
from .order import phase_of
from .statements import OutOfSteps, Statements
from .texts import split_arguments

_MOST_VARIANTS = 4
_MOST_METHODS = 256  # of a class that are followed one behind the other: more than real ones have
_MOST_MEMBERS = 512  # of an object that other methods may have set
_MOST_STEPS = 25_000  # of one entry
_LONGER = 3  # times as many of a program's main function


class Walk(Statements):
    """Follows a whole program."""

    def __init__(
        self, units: Sequence[Unit], listeners: Sequence[Listener], graphs: list[FoundGraph] | None = None
    ) -> None:
        super().__init__(index_of(units), listeners, graphs)
        self.frame = Frame(0, units[0] if units else Unit(""), "")
        self.ends = []
        self.moved = {}
        self.made = set()
        self.choices = {}
        self.steps = 0
        self.most_steps = _MOST_STEPS
        self.started: set[int] = set()  # functions that were followed by themselves
        self.use = ""
        self.limits = Limits(memory=FOLLOWING)

    def all(self) -> None:
        """Follow everything, then tell of the calls that were not reached."""
        groups = grouped(self._entries(), self.index)
        for group in sorted(groups, key=lambda group: group[0].function.name != "main"):
            self._group(group)
            for known in group:
                self._for_others(known)
        for name, file in self._classes():
            self._class(name, file)
        left = [known for known in self.index.all if known.leads]
        for known in [*left, *left]:  # what was not followed to its end in one that comes later is here again
            if id(known) not in self.reached_functions:
                self._entry(known)
        for known in self._with_unreached():
            self._entry(known)
        self.every_branch = True
        for known in self._with_unreached(again=True):
            self._entry(known)
        self.every_branch = False
        for again in self.kept.late():
            again()
        self._mentions()
        self.of_graphs.end()
        for listener in self.listeners:
            listener.finish(self.state, self.journal)

    def _with_unreached(self, *, again: bool = False) -> list[Known]:
        """Return the functions with calls that no caller led to: with other arguments they may be reached."""
        lines: dict[str, list[int]] = {}
        for unit in self.index.units:
            for name, span, _ in unit.mentions:
                if (unit.file, name, span.line, span.column) not in self.reached:
                    bisect.insort(lines.setdefault(unit.file, []), span.line)
        return [
            known
            for known in self.index.all
            if known.leads
            and (again or id(known) not in self.started)
            and known.unit.file in lines
            and _between(lines[known.unit.file], known.function.span)
        ]

    def _entries(self) -> Iterator[Known]:
        """Yield the functions that nothing in the program calls; methods are left to their classes."""
        called: dict[str, set[str]] = {"c++": set(), "python": set()}  # what Python calls in C++ is an entry there
        for known in self.index.all:
            own = types.simple(known.function.name)
            names = {types.simple(name) for name in known.function.calls if types.simple(name) != own}
            called[known.unit.language] |= names
        for known in self.index.all:
            name = types.simple(known.function.name)
            if known.leads and name not in called[known.unit.language] and not self._is_method(known):
                yield known

    def _is_method(self, known: Known) -> bool:
        return bool(known.function.owner) and known.function.kind != "function" and not known.function.static

    def _classes(self) -> Iterator[tuple[str, str]]:
        """Yield the classes that have methods which were not followed yet, each with the file that defines it."""
        for name, methods in self.index.methods.items():
            followed = self.with_object if self._is_made(name) else self.reached_functions
            if any(m.leads and id(m) not in followed and self._is_method(m) for m in methods):
                files = [file for _, file in self.index.classes.get(name, ())]
                yield from ((name, file) for file in files or [methods[0].unit.file])

    def _is_made(self, name: str) -> bool:
        """Tell whether constructors say what members of a class hold: without an object methods know nothing of it."""
        return any(known.function.initializers for known in self.index.special(name, "constructor"))

    def _group(self, group: list[Known], *, again: bool = False) -> None:
        """Follow functions that share variables, in the order in which a program would call them."""
        self._start(group[0])
        self.kept.here = partial(self._group, group, again=True)
        for known in sorted(group, key=phase_of):
            if id(known) in self.reached_functions and not again:  # another thread of control that was started before
                continue
            self.thread = known.label
            result = self._guarded(known, "")
            if len(group) > 1:
                self._keep_returned(known, result)
                self.state = left_over(self.state, self.shared.values(), self.journal)

    def _keep_returned(self, known: Known, result: Value) -> None:
        """Let the object that a function made and returned be the one that the others of its group get."""
        made = str(result.data) if result.kind in ("unknown", "thing", "pointer") else ""
        class_ = self.class_at(made) if made else None
        if class_ is None:
            return
        name = types.simple(class_.name)
        path = self.shared.setdefault(name, f"{made.partition('#')[0]}~{name}")
        self.types[path] = name
        for old, value in list(self.state.variables.items()):
            if old.startswith(f"{made}."):
                self.write(path + old[len(made) :], value)

    # One entry --------------------------------------------------------------------------------------------------

    def _start(self, known: Known) -> None:
        self.of_graphs.end()
        self.state = State()
        self.children = {}
        self.types = {}
        self.declared_members = {}
        self.shared = {}
        self.made = set()
        self.choices = {}
        self.thread = known.label
        self.most_steps = _MOST_STEPS * (_LONGER if known.function.name == "main" else 1)
        self._restart()

    def _restart(self) -> None:
        self.steps = 0
        self.depth = 0
        self.loops = 0
        self.guards = 0
        self.stack = []
        self.through = []
        self.running = []
        self.versions = []
        self.ends = []

    def _entry(self, known: Known) -> None:
        self._start(known)
        self.kept.here = partial(self._entry, known)
        this = "this" if self._is_method(known) else ""
        if this:
            self.types[this] = known.function.owner
        self._guarded(known, this)
        self._for_others(known)

    def _template(self, known: Known) -> tuple[str, tuple[str, ...]]:
        """Return the name and the parameters of the template that a function is: its own, or its class's if static."""
        if known.function.template or not known.function.static:
            return types.simple(known.function.name), known.function.template
        class_ = self.index.class_named(types.simple(known.function.owner))
        return ("", ()) if class_ is None else (types.simple(class_.name), class_.template)

    def _for_float(self, known: Known) -> str:
        """Return how a class template is named whose static method it is, where the program has it for float alone."""
        name, template = self._template(known) if known.function.static else ("", ())
        floated = self.index.floated(name, template) if template else ""
        return f"{name}{floated}" if floated else ""

    def _for_others(self, known: Known) -> None:
        """Follow a function template once more for double and half, where the program has it for those."""
        name, template = self._template(known)
        for given in () if self._is_method(known) else self.index.instances(name, template):
            self._start(known)
            self.template_given = f"{name}{given}"
            self._guarded(known, "")

    def _guarded(self, known: Known, this: str) -> Value:
        """Follow a function from its start and return what it gives; a failure ends only it."""
        self.frame = Frame(0, known.unit, known.label)
        self.started.add(id(known))
        result = UNKNOWN
        if self.limits.exceeded():
            self._skip(known, "too little memory is left to follow it")
            return result
        self.template_given = self.template_given or self._for_float(known)
        try:
            result = self.follow(known, (), None, this)
        except OutOfSteps:
            self._skip(known, "too long to follow to its end")
        except RecursionError:
            self._skip(known, "nested too deeply to follow")
        except Exception as error:  # the other functions are followed all the same
            self._skip(known, f"not followed to its end: {type(error).__name__}: {error}")
        self._restart()
        return result

    def _skip(self, known: Known, reason: str) -> None:
        line = known.function.span.line
        skipped = Skipped(known.unit.file, f"{known.label}: {reason}", line)
        if skipped not in known.unit.skipped:  # it may be followed again
            known.unit.skipped.append(skipped)

    # Classes ----------------------------------------------------------------------------------------------------

    def _class(self, name: str, file: str) -> None:
        """Follow a class's methods, each from what the earlier ones left; files that define them anew one by one."""
        self.index.here = file
        self.kept.here = partial(self._class, name, file)
        methods = self._ordered(name)
        again = _doubled(methods)
        for files in _variants(methods):
            self.preferred = files
            chosen = [m for m in methods if not files or m.unit.file in files or id(m) not in again]
            class_ = self.index.class_named(name)
            floated = self.index.floated(name, class_.template) if class_ is not None else ""
            for self.specialized in _specializations(chosen):
                of = self.specialized
                self._sequence(name, [m for m in chosen if m.function.of in (of, "")], f"{name}{floated}")
            self.specialized = ""
            for given in () if class_ is None else self.index.instances(name, class_.template):
                fitting_ = ("", types.template_argument(given))
                self._sequence(name, [m for m in chosen if m.function.of in fitting_], f"{name}{given}")
        self.preferred = frozenset()
        handed = self._handed(name, methods)
        if handed:
            self._sequence(name, sorted([*methods, *handed], key=phase_of))

    def _handed(self, name: str, followed: list[Known]) -> list[Known]:
        """Return the methods that others of the class name but do not call: they hand them over."""
        if _doubled(followed):
            return []
        known = {id(m) for m in followed}
        left = [
            m
            for m in self.index.methods_of(name)
            if m.leads and id(m) not in known and id(m) not in self.reached_functions
        ]
        again = _doubled(left)
        return [m for m in left if m.function.kind == "method" and id(m) not in again]

    def _sequence(self, name: str, methods: list[Known], type_: str = "") -> None:
        """Follow methods of one object: where they are very many, some at a time, each time of a new object."""
        if not methods:
            return
        constructors = [m for m in methods if m.function.kind == "constructor"]
        others = [m for m in methods if m.function.kind != "constructor"]
        for first in range(0, max(len(others), 1), _MOST_METHODS):
            before = constructors[-1:] if first else constructors
            self._of_one_object(name, [*before, *others[first : first + _MOST_METHODS]], type_ or name)

    def _of_one_object(self, name: str, methods: list[Known], type_: str) -> None:
        self._start(methods[0])
        self.thread = name
        self.types["this"] = type_
        if not any(m.function.kind == "constructor" for m in methods):
            self.frame = Frame(0, methods[0].unit, name)
            self.make_bases("this", self.index.class_named(name))
            self.make_members("this", name)
        self.made.add("this")
        for i, known in enumerate(methods):
            before = State() if known.function.kind == "constructor" and i else self.state
            self.state = before
            self.state = self._method_from(known, before)

    def _method_from(self, known: Known, before: State) -> State:
        again = known.function.kind == "method" and self._any_of_methods(known)
        earlier = {number for numbers in before.done.values() for number in numbers}
        self.thread = known.label
        self._guarded(known, "this")
        after = self.state if self.state.reachable else before
        if again and self.state.reachable:  # as its own flags are now
            self.state = after.copy()
            self._guarded(known, "this")
        if known.function.kind != "constructor":
            for function, numbers in after.done.items():
                after.done[function] = {number: sure and number in earlier for number, sure in numbers.items()}
        return after.copy()

    def _any_of_methods(self, known: Known) -> bool:
        """Let members of ``this`` have any number that a method left there: of these it may be called behind each.

        Returns whether it has flags of its own, which keep their values: with what it leaves there it may be called
        again.
        """
        owner = types.simple(known.function.owner)
        later = (name for class_ in self.index.lineage(owner) for name in self.index.given_later(class_.name))
        for name in islice(later, _MOST_MEMBERS):
            path = self._path_in_this(name)
            value = self.state.variables.get(path)
            type_ = types.bare(self.types.get(path, ""))
            if value is not None and _comes_later(value, type_):
                self.state.variables[path] = unknown(path, type_)
            elif value is not None and self.is_scalar(type_) and value.kind in ("known", "one of"):
                given = self.one_of_numbers(self.given.numbers_of_member(owner, name), type_)
                self.state.variables[path] = value if given is None else self.joined([value, given])
        own = numbers_given([known.function])
        has_flags = False
        for name, constants in islice(self.index.numbers_of(owner).items(), _MOST_MEMBERS):
            path = self._path_in_this(name)
            value = self.state.variables.get(path)
            if value is not None and all(isinstance(o.data, int | float) for o in value.options):
                type_ = types.bare(self.types.get(path, ""))
                numbers = {c.value for c in constants}
                if type_ == "bool" and name in own and numbers <= {*(c.value for c in own[name]), value.data}:
                    has_flags = True
                elif not is_integer(type_):
                    others = [self.cast(known_value(c.value, c.type), type_) for c in constants]
                    self.state.variables[path] = self.joined([value, *others])
        return has_flags

    def _path_in_this(self, name: str) -> str:
        """Return the path of a member, or of one of an object that is a member: ``options_.beta``."""
        path = "this"
        for part in name.split("."):
            path = self.member_path(path, part)
        return path

    def _ordered(self, name: str) -> list[Known]:
        """Return a class's methods, its bases' too, in the order in which a program would call them."""
        found: dict[int, Known] = {}
        names: set[str] = set()
        for class_ in self.index.lineage(name):
            for known in self.index.methods_of(types.simple(class_.name)):
                key = types.simple(known.function.name)
                if known.function.kind in ("constructor", "destructor") and class_.name != name:
                    continue
                if known.function.kind == "method" and class_.name != name and key in names:
                    continue
                found[id(known)] = known
                names.add(key)
        for known in self.index.methods_of(name):
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
                    arguments = tuple(self._mentioned(part, span) for part in _given(name, text))
                    self.emit(name, arguments, span, text, "unknown", followed=False)
        self.state = State()

    def _mentioned(self, text: str, span: Span) -> Argument:
        value = unknown(f"{text}~{span.line}") if text else UNKNOWN
        return Argument(text, value, None, replace(self.place_of(span), start=-1, end=-1))


def _between(lines: list[int], span: Span) -> bool:
    """Whether one of some lines, in order, is of a span."""
    first = bisect.bisect_left(lines, span.line)
    return first < len(lines) and lines[first] <= span.end_line


def _given(name: str, text: str) -> list[str]:
    """Return the arguments in the text of a call; of a call through another function, those behind the function."""
    parts = split_arguments(text)
    named = [i for i, part in enumerate(parts) if types.simple(part.lstrip("& ")) == name]
    return parts[named[0] + 1 :] if named else parts


def _signature(known: Known) -> tuple[str, str, int]:
    function = known.function
    return (types.simple(function.name), function.kind, len(function.parameters))


def _comes_later(value: Value, type_: str) -> bool:
    """Whether a member's first value stands for one that a setter gives: NULL, 0, a choice of the program's own."""
    if value.is_null and (value.data is None or is_integer(value.type)):
        return True
    is_number = is_integer(type_) or type_ in ("float", "double")
    return value.kind == "known" and isinstance(value.data, int) and bool(type_) and (type_ == "bool" or not is_number)


def _doubled(methods: list[Known]) -> set[int]:
    """Return the ids of the methods that another file defines, too."""
    units: dict[object, set[int]] = {}
    for method in methods:
        units.setdefault(_signature(method), set()).add(id(method.unit))
    return {id(method) for method in methods if len(units[_signature(method)]) > 1}


def _specializations(methods: list[Known]) -> list[str]:
    """Return for which arguments of a class template methods are defined apart; one of none where they are not."""
    return list(dict.fromkeys(m.function.of for m in methods if m.function.of))[:_MOST_VARIANTS] or [""]


def _variants(methods: list[Known]) -> list[frozenset[str]]:
    """Return the files to prefer in turn, one for each that defines methods which others define too."""
    again = _doubled(methods)
    files = dict.fromkeys(m.unit.file for m in methods if id(m) in again)
    return [frozenset({file}) for file in list(files)[:_MOST_VARIANTS]] or [frozenset()]
