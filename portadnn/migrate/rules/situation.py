"""What a rule sees of a call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..events import Argument, Event, Place
from ..findings import Certainty
from ..model.effects import is_whole
from ..model.state import Deed, State, Thing
from ..program import Span
from ..values import UNKNOWN, Value, join


@dataclass(frozen=True)
class Situation:
    """A call, and the state before it.

    Attributes
    ----------
    event : Event
        The call.
    state : State
        What held before it.
    journal : dict of int to Deed
        All calls up to now by number; those of this path are in ``state.done``.
    target : str
        Where the program is to go: ``"miopen-1"``, ``"miopen-3"``, ``"portadnn-opencl"``, ``"portadnn-cuda"``,
        ``"cudnn-9"``.
    whole : bool
        Whether everything that the program does is before the checker: True for a tree of sources or a whole log.
    mentioned : frozenset of str
        Every function that is named anywhere in what is checked.
    """

    event: Event
    state: State
    journal: Mapping[int, Deed]
    target: str
    whole: bool = True
    mentioned: frozenset[str] = frozenset()
    memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # what rules share

    def argument(self, *names: str) -> Argument | None:
        """Return the argument for the first of these parameters that the function has."""
        return self.event.argument(*names)

    def value(self, *names: str) -> Value:
        """Return what is known of an argument's value, and of what it points to where it is a pointer."""
        argument = self.event.argument(*names)
        return UNKNOWN if argument is None else argument.read

    def thing(self, *names: str) -> Thing | None:
        """Return the thing that an argument refers to, if that is certain."""
        argument = self.event.argument(*names)
        if argument is None or argument.value.kind != "thing":
            return None
        return self.state.things.get(argument.value.data)

    def things(self, *names: str) -> list[Thing]:
        """Return the things of which an argument refers to one; none where it may be something else, too."""
        argument = self.event.argument(*names)
        options = () if argument is None else tuple(o for o in argument.value.options if not o.is_null)
        found = [self.state.things.get(option.data) if option.kind == "thing" else None for option in options]
        return [thing for thing in found if thing is not None] if None not in found else []

    def field(self, name: str) -> Value:
        """Return what a descriptor has set: ``"xDesc.format"``; of a name without a dot, the argument's value."""
        parameter, _, attribute = name.partition(".")
        if not attribute:
            return self.value(parameter)
        things = self.things(parameter)
        return join(thing.fields.get(attribute, UNKNOWN) for thing in things) if things else UNKNOWN

    def before(self, functions: Iterable[str]) -> Iterator[tuple[Deed, bool]]:
        """Yield earlier calls of some functions, the latest first, and whether on all paths that lead here."""
        for number, always in self.state.calls(functions):
            deed = self.journal.get(number)
            if deed is not None:
                yield deed, always

    def in_order(self, number: int) -> bool:
        """Tell whether an earlier call certainly came before: a class's methods can be called in any order."""
        deed = self.journal.get(number)
        if deed is None:
            return False
        always = self.state.done.get(deed.event.function, {}).get(number, False)
        return always or deed.event.thread == self.event.thread

    def set_since(self, deed: Deed, thing: Thing) -> tuple[int, ...]:
        """Return the calls that certainly described a thing anew after an earlier one.

        The other library's do not count, and neither do those that change one setting only, but for the groups.
        """
        return tuple(
            number
            for number in thing.set_by
            if number > deed.event.number
            and self.in_order(number)
            and self.journal[number].event.library == self.event.library
            and _describes(self.journal[number].event.function)
        )


def _describes(function: str) -> bool:
    return is_whole(function) or function.endswith("SetConvolutionGroupCount")


@dataclass(frozen=True)
class Hit:
    """What the code of a rule answers where it is broken.

    Attributes
    ----------
    certainty : {"proven", "possible"}
    about : str or None
        The parameter at fault, which is underlined; the whole call if None.
    words : dict of str to str
        What fills the braces of the rule's message and fix, besides the arguments' texts by parameter name.
    related : tuple of (Deed, str)
        Earlier calls that matter, each with what happened there.
    at : Event or None
        The earlier call that is wrong, where it is not the one that shows it: what is told is about that one.
    confirm : callable or None
        Asked with the journal when the program has ended; the hit counts if it says so.
    """

    certainty: Certainty = "proven"
    about: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    related: tuple[tuple[Deed, str], ...] = ()
    at: Event | None = None
    confirm: Callable[[Mapping[int, Deed]], bool] | None = None


@dataclass(frozen=True)
class SourceHit:
    """What a check of sources answers: where, how certain, what fills the braces, and the function that it is about."""

    span: Span
    certainty: Certainty = "proven"
    words: Mapping[str, str] = field(default_factory=dict)
    function: str = ""


@dataclass(frozen=True)
class GraphHit:
    """What a check of graphs answers: where, how certain, what fills the braces, and the method that it is about."""

    place: Place
    certainty: Certainty = "proven"
    words: Mapping[str, str] = field(default_factory=dict)
    function: str = ""
