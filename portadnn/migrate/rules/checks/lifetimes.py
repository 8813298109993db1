"""Rules about handles and descriptors that are made and not destroyed, and about functions that were removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ....mapping import table
from ...answers import answer
from ...events import Event, Library
from ...model.kinds import destroyer_of
from ...model.state import Deed
from ..journals import once
from ..registry import check
from ..situation import Hit, Situation


@check()
def one_handle_for_each(situation: Situation) -> Iterator[Hit]:
    """Yield where convolutions run on several handles, one after the other in a loop."""
    made = _several(situation)
    if made:
        yield Hit(about="handle", related=((made[0], "the handles are made here"),))


@check()
def stream_for_each(situation: Situation) -> Iterator[Hit]:
    """Yield where several handles get a stream each, in a loop."""
    if _several(situation):
        yield Hit()


_OF_DEVICES = re.compile(r"dev(?:ice)?s?(?![a-z])|gpus?(?![a-z])", re.IGNORECASE)


def _several(situation: Situation) -> list[Deed]:
    """Return the calls that made the handles of a call in a loop, if it has several in turn."""
    argument = situation.argument("handle")
    if argument is None or not situation.event.in_loop or "[" not in argument.text:
        return []
    if _OF_DEVICES.search(argument.text):  # each device needs its own
        return []
    things = [
        situation.state.things.get(option.data) if option.kind == "thing" else None for option in argument.value.options
    ]
    made = [
        situation.journal[thing.created]
        for thing in things
        if thing is not None and thing.many and thing.created is not None and thing.created in situation.journal
    ]
    guarded = any(deed.event.guards for deed in made)  # as where each device gets its handle when it is first used
    return made if len(made) == len(things) and not guarded else []


_LAYER = re.compile(r"conv|layer", re.IGNORECASE)
_WHOLE = re.compile(
    r"net(?:work)?s?$|model|bench|test|demo|runner|driver|engine|session|context|manager", re.IGNORECASE
)


@check("class")
def handle_of_each_layer(situation: Situation) -> Iterator[Hit]:
    """Yield where a layer convolves on a handle that it made itself: each other layer has one, too."""
    argument = situation.argument("handle")
    thing = situation.state.things.get(argument.value.data) if argument and argument.value.kind == "thing" else None
    made = situation.journal.get(thing.created) if thing is not None and thing.created is not None else None
    if thing is None or made is None or thing.many:
        return
    used_in, made_in = _owner(situation.event), _owner(made.event)
    if not _LAYER.search(used_in) or _WHOLE.search(used_in) or not made_in:
        return
    own = re.fullmatch(r"this(?:->|\.)\w+(?:[@~]\d+)?", thing.id) is not None
    mine = made_in == used_in or (bool(_LAYER.search(made_in)) and not _WHOLE.search(made_in))
    if own or (mine and re.search(r"->|\.", thing.id)):
        yield Hit("possible", about="handle", words={"class": used_in}, related=((made, "the handle is made here"),))


def _owner(event: Event) -> str:
    """Return the class of the method that a call is in."""
    return event.within.rpartition("::")[0].rpartition("::")[2].partition("<")[0]


@check("name", "destroy")
def never_destroyed(situation: Situation) -> Iterator[Hit]:
    """Yield, at the end of a program, where something was made that is not destroyed where others are."""
    event = situation.event
    argument = event.arguments[0] if event.arguments else None
    if not situation.whole or argument is None or argument.value.kind != "pointer":
        return
    destroy = destroyer_of(event.function)
    destroyed = once(situation.journal, "destroyed", _Destroyed)
    scopes = (_scope(event), _function(event), _holder(event))
    nears = [destroyed.near, *([destroyed.near_handles] if destroy in _OF_HANDLES else [])]
    near = next((n[event.library, scope] for n in nears for scope in scopes if (event.library, scope) in n), None)
    if near is None or destroyed.may_be(event, str(argument.value.data)):
        return
    deed = situation.journal.get(event.number)
    if deed is not None and deed.kept and destroy in destroyed.functions:
        return
    name = _variable(str(argument.value.data)).removeprefix("this->").removeprefix("this.")
    name = argument.text.lstrip("& ") if "[" in name else name
    words = {"name": name, "destroy": f"{destroy if event.library == 'miopen' else _in_miopen(destroy)}({name});"}
    yield Hit("possible", words=words, related=((near, "others are destroyed"),))


def _in_miopen(function: str) -> str:
    row = table().by_cudnn.get(function)
    return row.miopen[0].name if row is not None and row.miopen else function


def _scope(event: Event) -> str:
    """Return the class that a call is in or is made for, or the function and its file."""
    for function in (event.within, event.thread):
        owner, separator, _ = function.rpartition("::")
        if separator:
            return owner
    return _function(event)


def _holder(event: Event) -> str:
    """Return the struct of which a function that is no method makes or destroys a member."""
    return event.holder if _scope(event) == _function(event) else ""


def _function(event: Event) -> str:
    return f"{event.place.file}: {event.within}"


def _variable(path: str) -> str:
    """Return a variable's path without the numbers of functions' turns and of creations."""
    return re.sub(r"#\d+|[@~]\d+$|^::|^\w+~\d+\.", "", path)


def _is_element(path: str) -> bool:
    """Whether it is an element of an array, which has no name of its own as a member of one has."""
    return "[" in re.sub(r".*\](?:\.|->)(?=\w+$)", "", _variable(path))


def _member(path: str) -> str:
    return re.sub(r"\[.*\]$", "[]", re.split(r"->|\.(?!\d)", _variable(path))[-1])


_OF_HANDLES = ("cudnnDestroy", "miopenDestroy")


class _Destroyed:
    """What the Destroy calls of a program are about.

    Attributes
    ----------
    near : dict of (str, str) to Deed
        The last of them by library and by class or function, without those of handles.
    near_handles : dict of (str, str) to Deed
        Those of handles, which many small programs destroy alone: they say nothing of descriptors.
    functions : set of str
        Which of them are called.
    """

    def __init__(self, journal: Mapping[int, Deed]) -> None:
        self.near: dict[tuple[str, str], Deed] = {}
        self.near_handles: dict[tuple[str, str], Deed] = {}
        self.functions: set[str] = set()
        self._anything: set[str] = set()  # functions of which nobody knows what some call is about
        self._made: set[tuple[str, str, str]] = set()  # function, member, and who made or destroys it
        self._named: set[tuple[str, str]] = set()  # function and member, of what was made out of sight
        for deed in journal.values():
            if deed.event.function.startswith(("cudnnDestroy", "miopenDestroy")):
                self._add(deed, journal)

    def _add(self, deed: Deed, journal: Mapping[int, Deed]) -> None:
        self._note(deed, deed.event.function, deed.event.library, journal)
        if not deed.event.text.startswith(deed.event.function):  # by a name that is either library's, as it is built
            library: Library = "miopen" if deed.event.library == "cudnn" else "cudnn"
            other = deed.event.function.replace(deed.event.library, library, 1)
            if other in table().functions:
                self._note(deed, other, library, journal)

    def _note(self, deed: Deed, function: str, library: Library, journal: Mapping[int, Deed]) -> None:
        self.functions.add(function)
        things = [thing for parameter, thing in deed.things.items() if parameter != "handle"]
        creators = [journal.get(thing.created) if thing.created is not None else None for thing in things]
        own = bool(things) and all(
            creator is not None and creator.event.within == deed.event.within and "this" not in thing.id
            for thing, creator in zip(things, creators, strict=True)
        )
        near = self.near_handles if function in _OF_HANDLES else self.near
        near[library, _function(deed.event) if own else _scope(deed.event)] = deed
        if _holder(deed.event):
            near[library, _holder(deed.event)] = deed
        vague = [_is_element(t.id) and (t.many or not t.certain) for t in things]
        if not things or (any(vague) and not own):  # an element of the function's own array is none of another
            self._anything.add(function)
        for thing, creator in zip(things, creators, strict=True):
            if own and any(vague):
                self._made.add((function, _member(thing.id), _scope(deed.event)))
            elif creator is None or not thing.certain:
                self._named.add((function, _member(thing.id)))
            else:
                self._made.add((function, _member(thing.id), _scope(creator.event)))
                self._made.add((function, _member(thing.id), _scope(deed.event)))
                self._made.add((function, _member(thing.id), _holder(deed.event)))

    def may_be(self, made: Event, path: str) -> bool:
        """Tell whether one may be about what a call made: it is, it is called so, or nobody knows what it is."""
        function = destroyer_of(made.function)
        return (
            function in self._anything
            or (function, _member(path), _scope(made)) in self._made
            or (function, _member(path), _holder(made) or None) in self._made
            or (function, _member(path)) in self._named
        )


@check("gone", "instead")
def removed(situation: Situation) -> Iterator[Hit]:
    """Yield at functions that cuDNN 9 does not have."""
    declared = situation.event.declared
    if declared is None:
        return
    gone = f"from cuDNN {declared.removed} on" if declared.removed else f"after cuDNN {declared.headers[1]}"
    instead = answer(situation.event, "cudnn-9").call
    yield Hit(words={"gone": gone, "instead": f"{instead};" if instead else "nothing, it has no such function"})
