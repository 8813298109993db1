"""What is known between two calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from ..events import Event, Library
from ..values import Value, join


@dataclass(frozen=True)
class Thing:
    """Something that calls make, set and use: a descriptor, a handle, memory.

    Things are never changed in place: a state holds the latest form of each under its id.

    Attributes
    ----------
    id : str
        Unique; of a thing that the program received from outside, the path of the variable that holds it.
    kind : str
        ``"handle"``, ``"memory"``, or what the descriptor describes, the same word for both libraries: ``"tensor"``,
        ``"filter"`` (of MIOpen a tensor), ``"convolution"``, ``"pooling"``, ``"activation"``, ``"lrn"``,
        ``"dropout"``, ``"rnn"``, ``"rnn data"``, ``"op tensor"``, ``"reduce"``, ``"spatial transformer"``, ``"ctc
        loss"``, ``"attention"``, ``"fusion"`` ...; "" if unknown.
    name : str
        How the program writes it: ``xDesc_``, ``this->conv``.
    fields : dict of str to Value
        What was set, by the names of the Set functions' parameters in the mapping table; those that a function
        without such parameters sets implicitly keep what was before. Of memory: ``size``.
    created, destroyed : int or None
        The calls that did it, if any was seen.
    set_by : tuple of int
        The calls that set it, in order.
    many : bool
        Whether it stands for several: elements of an array, or made anew in each turn of a loop.
    certain : bool
        False where paths met that set it differently, or a function that could not be followed received it.
    """

    id: str
    kind: str
    name: str
    library: Library | None = None
    fields: Mapping[str, Value] = field(default_factory=dict)
    created: int | None = None
    destroyed: int | None = None
    set_by: tuple[int, ...] = ()
    many: bool = False
    certain: bool = True

    @property
    def version(self) -> int:
        """The call that set it last; 0 before any."""
        return self.set_by[-1] if self.set_by else 0


@dataclass(frozen=True)
class Deed:
    """A call that was made, with the forms that its things had then, by the parameters' names.

    `kept` tells of a call that made something that it was then kept in another variable, too.
    """

    event: Event
    things: Mapping[str, Thing]
    kept: bool = False


Fact = tuple[str, str]  # the key of a value, and of the constant that it is; "" of a condition by itself


@dataclass
class State:
    """What holds at one point of a program, on all paths that lead there.

    Attributes
    ----------
    variables : dict of str to Value
        By path: ``x``, ``this->conv_``, ``perf[0].algo``. Those of functions carry the function's turn, so that
        recursion and helper functions do not mix them up.
    things : dict of str to Thing
        By id.
    done : dict of str to dict of int to bool
        Calls made before, by function and number, and whether on all paths.
    reachable : bool
        False behind return, break, throw.
    facts : dict of Fact to bool
        What conditions say that hold or do not hold here.
    """

    variables: dict[str, Value] = field(default_factory=dict)
    things: dict[str, Thing] = field(default_factory=dict)
    done: dict[str, dict[int, bool]] = field(default_factory=dict)
    reachable: bool = True
    facts: dict[Fact, bool] = field(default_factory=dict)
    _own: set[str] = field(default_factory=set, repr=False, compare=False)  # lists of `done` that no copy shares

    def copy(self) -> State:
        """Return an independent state."""
        self._own = set()
        return State(dict(self.variables), dict(self.things), dict(self.done), self.reachable, dict(self.facts))

    def note(self, function: str, number: int) -> None:
        """Note a call that is made now."""
        if function not in self._own:
            self._own.add(function)
            self.done[function] = dict(self.done.get(function, ()))
        self.done[function][number] = True

    def calls(self, functions: Iterable[str]) -> Iterator[tuple[int, bool]]:
        """Yield the earlier calls of some functions, the latest first, and whether each was made on all paths."""
        found = [pair for function in functions for pair in self.done.get(function, {}).items()]
        yield from sorted(found, reverse=True)


def meet(states: Iterable[State]) -> State:
    """Return what holds where paths meet; those that do not get there do not count."""
    alive = [state for state in states if state.reachable]
    if not alive:
        return State(reachable=False)
    if len(alive) == 1:
        return alive[0]
    result = alive[0].copy()
    joined: dict[str, None] = {}
    for state in alive[1:]:
        joined.update(dict.fromkeys(_meet_variables(result.variables, state.variables)))
        result.facts = dict(result.facts.items() & state.facts.items())
    result.done = _meet_done([state.done for state in alive])
    things = result.things
    changed = {id_: None for state in alive[1:] for id_, form in state.things.items() if things.get(id_) is not form}
    for id_ in changed:
        things[id_] = _meet_things([state.things[id_] for state in alive if id_ in state.things])
    for path in joined:
        value = _made_here(path, result.variables[path], result)
        result.variables[path] = unified(value, result)
    return result


def _meet_variables(result: dict[str, Value], others: Mapping[str, Value]) -> Iterator[str]:
    for path, value in others.items():
        known = result.get(path)
        if known is None:
            result[path] = value
        elif known is not value and known != value:
            result[path] = join((known, value))
            yield path


def _made_here(path: str, value: Value, state: State) -> Value:
    """Leave out what a variable held at first, of which nothing is known, where it was given something on a path."""
    first = state.things.get(path)
    if first is None or first.set_by or first.created or value.kind != "one of":
        return value
    others = [option for option in value.options if option.data != path]
    if len(others) == 1 and others[0].kind == "thing" and others[0].data in state.things:
        state.things[others[0].data] = replace(state.things[others[0].data], certain=False)
        return others[0]
    return value


def unified(value: Value, state: State) -> Value:
    """Return one thing for several that are the same variable's: made on one path, there before on another.

    Code that makes a descriptor when it is first needed has one descriptor, whichever path it took.
    """
    if value.kind != "one of":
        return value
    options = [option for option in value.options if not option.is_null]
    forms = [state.things[option.data] for option in options if option.kind == "thing" and option.data in state.things]
    if len(forms) < len(options) or not forms or len({_stem(form.id) for form in forms}) > 1:
        return value
    latest = max(forms, key=lambda form: form.created or 0)
    merged = forms[0] if len(forms) == 1 else replace(_meet_things(forms), id=latest.id, created=latest.created)
    if latest.kind == "memory" or len(options) < len(value.options):
        return value  # other memory is not the same; what may be NULL is to be told
    state.things[latest.id] = merged
    return next(option for option in options if option.data == latest.id)


def _stem(id_: str) -> str:
    return re.sub(r"\[[^\[\]]*\]$", "[]", re.sub(r"[@~][^\[\]]*$", "", id_))


def _meet_done(paths: list[dict[str, dict[int, bool]]]) -> dict[str, dict[int, bool]]:
    """Return the calls of any path, and whether each was made on all."""
    result = {}
    for function in dict.fromkeys(function for done in paths for function in done):
        lists = [done.get(function, {}) for done in paths]
        different = list({id(numbers): numbers for numbers in lists}.values())
        if len(different) == 1:
            result[function] = different[0]
        else:
            sure = set.intersection(*({n for n, always in numbers.items() if always} for numbers in different))
            result[function] = {n: n in sure for n in dict.fromkeys(chain.from_iterable(different))}
    return result


def _meet_things(forms: list[Thing]) -> Thing:
    first = forms[0]
    if all(form is first or form == first for form in forms[1:]):
        return first
    fields = {
        name: join(form.fields[name] for form in forms if name in form.fields)
        for name in dict.fromkeys(name for form in forms for name in form.fields)
    }
    latest = max(forms, key=lambda form: form.version)
    certain = all(form.certain for form in forms) and (_all_set(forms) or len({form.set_by for form in forms}) == 1)
    destroyed = [form.destroyed for form in forms]
    return replace(
        latest,
        fields=fields,
        certain=certain,
        destroyed=destroyed[0] if len(set(destroyed)) == 1 else None,
        many=any(form.many for form in forms),
    )


def _all_set(forms: list[Thing]) -> bool:
    """Whether each path set a thing by itself: what they set differently its fields tell.

    It is not where the calls that set it on one path are the first of another's, and its fields differ.
    """
    fields: dict[tuple[int, ...], Mapping[str, Value]] = {}
    for form in forms:
        known = fields.setdefault(form.set_by, form.fields)
        if known is not form.fields and known != form.fields:
            return False
    lengths = {len(calls) for calls in fields}
    return not any(
        calls[:n] in fields and fields[calls[:n]] != own
        for calls, own in fields.items()
        for n in lengths
        if n < len(calls)
    )
