"""Rules about handles and descriptors that are made and not destroyed, and about functions that were removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...mapping import table
from ..answers import answer
from ..events import Event
from ..model.kinds import kind_of
from ..model.state import Deed
from .journals import once
from .registry import check
from .situation import Hit, Situation


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


def _several(situation: Situation) -> list[Deed]:
    """Return the calls that made the handles of a call in a loop, if it has several in turn."""
    argument = situation.argument("handle")
    if argument is None or not situation.event.in_loop or "[" not in argument.text:
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


@check("name", "destroy")
def never_destroyed(situation: Situation) -> Iterator[Hit]:
    """Yield, at the end of a program, where something was made that is not destroyed where others are."""
    event = situation.event
    destroy = event.function.replace("Create", "Destroy", 1)
    argument = event.arguments[0] if event.arguments else None
    if not situation.whole or argument is None or (event.in_loop and "[" in argument.text):
        return
    destroyed = once(situation.journal, "destroyed", _Destroyed)
    near = destroyed.near.get(_scope(event))
    name = " ".join(argument.text.split()).removeprefix("&")
    if near is None or destroyed.may_be(event, name):
        return
    fix = destroy if event.library == "miopen" else _in_miopen(destroy)
    words = {"name": name, "destroy": f"{fix}({name});"}
    yield Hit("possible", words=words, related=((near, "others are destroyed"),))


def _in_miopen(function: str) -> str:
    rows = [row for row in table().rows if row.cudnn is not None and row.cudnn.name == function]
    return rows[0].miopen[0].name if rows and rows[0].miopen else function


def _scope(event: Event) -> str:
    """Return the class that a call is in, or the function."""
    owner, separator, _ = event.within.rpartition("::")
    return owner if separator else event.within


class _Destroyed:
    """What the Destroy calls of a program are about.

    Attributes
    ----------
    near : dict of str to Deed
        The last of them in each class or function.
    """

    def __init__(self, journal: Mapping[int, Deed]) -> None:
        self.near: dict[str, Deed] = {}
        self._anything = False  # whether nobody knows what some call is about
        self._made: set[int | None] = set()
        self._kinds: set[str] = set()  # of which one is destroyed of which is not known where it was made
        self._names: dict[str, set[str]] = {}
        for deed in journal.values():
            if deed.event.function.startswith(("cudnnDestroy", "miopenDestroy")):
                self._add(deed)

    def _add(self, deed: Deed) -> None:
        self.near[_scope(deed.event)] = deed
        things = [thing for parameter, thing in deed.things.items() if parameter != "handle"]
        self._anything |= not deed.event.arguments or not things
        for thing in things:
            self._made.add(thing.created)
            self._names.setdefault(thing.kind, set()).add(thing.name)
            if thing.created is None or not thing.certain:
                self._kinds.add(thing.kind)

    def may_be(self, made: Event, name: str) -> bool:
        """Tell whether one may be about what a call made: it is, it is called so, or nobody knows what it is."""
        if self._anything or made.number in self._made:
            return True
        kinds = {kind_of(made.parameters[0].type) if made.parameters else "", ""}
        last = re.split(r"->|\.", name)[-1]
        return bool(kinds & self._kinds) or any(
            other.endswith(last) for kind in kinds for other in self._names.get(kind, ())
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
