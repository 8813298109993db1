"""Rules about handles and descriptors that are made and not destroyed, and about functions that were removed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...mapping import table
from ..answers import answer
from ..events import Event
from ..model.kinds import kind_of
from ..model.state import Deed
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
    if argument is None or not situation.event.in_loop:
        return []
    things = [
        situation.state.things.get(option.data) if option.kind == "thing" else None for option in argument.value.options
    ]
    made = [
        situation.journal[thing.created]
        for thing in things
        if thing is not None and thing.many and thing.created is not None and thing.created in situation.journal
    ]
    return made if len(made) == len(things) else []


@check("name", "destroy")
def never_destroyed(situation: Situation) -> Iterator[Hit]:
    """Yield, at the end of a program, where something was made that is not destroyed where others are."""
    event = situation.event
    destroy = event.function.replace("Create", "Destroy", 1)
    argument = event.arguments[0] if event.arguments else None
    if not situation.whole or argument is None or (event.in_loop and "[" in argument.text):
        return
    destroyed = [deed for deed in situation.journal.values() if _destroys(deed.event)]
    near = [deed for deed in destroyed if _scope(deed.event) == _scope(event)]
    name = " ".join(argument.text.split()).removeprefix("&")
    if not near or any(_may_be(deed, event, name) for deed in destroyed):
        return
    fix = destroy if event.library == "miopen" else _in_miopen(destroy)
    words = {"name": name, "destroy": f"{fix}({name});"}
    yield Hit("possible", words=words, related=((near[-1], "others are destroyed"),))


def _in_miopen(function: str) -> str:
    rows = [row for row in table().rows if row.cudnn is not None and row.cudnn.name == function]
    return rows[0].miopen[0].name if rows and rows[0].miopen else function


def _destroys(event: Event) -> bool:
    return event.function.startswith((f"{event.library}Destroy",))


def _scope(event: Event) -> str:
    """Return the class that a call is in, or the function."""
    owner, separator, _ = event.within.rpartition("::")
    return owner if separator else event.within


def _may_be(deed: Deed, made: Event, name: str) -> bool:
    """Tell whether a Destroy call may be about what a call made: it is, it is called so, or nobody knows what it is."""
    argument = deed.event.arguments[0] if deed.event.arguments else None
    things = [thing for parameter, thing in deed.things.items() if parameter != "handle"]
    if argument is None or not things:
        return True
    kind = kind_of(made.parameters[0].type) if made.parameters else ""
    last = re.split(r"->|\.", name)[-1]
    return any(
        thing.created == made.number
        or (thing.kind in {kind, ""} and (thing.created is None or not thing.certain or thing.name.endswith(last)))
        for thing in things
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
