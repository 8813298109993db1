"""Rules about Find: that it has to run, for which problem, on which handle, and what it does to the buffers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ...events import Argument, Event
from ...findings import Certainty
from ...model.state import Deed
from ...values import UNKNOWN, Value, constants, same
from ..convolutions import (
    Direction,
    Earlier,
    Match,
    changed,
    direction_of,
    earlier,
    find_call,
    is_choice,
    match_role,
    origins,
    run_call,
    same_handle,
    size_call,
)
from ..journals import deeds_about, later
from ..registry import check
from ..situation import Hit, Situation

# Where an algorithm comes from ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sources:
    """What is known of an algorithm: the calls that chose it, and whether some or all it may be was not measured."""

    found: list[Deed]
    chosen: list[Deed]
    some: bool
    all: bool
    fixed: bool


def _sources(situation: Situation, direction: Direction) -> Sources:
    value = situation.value("algo")
    found = _from(situation, value, direction.finds(situation.event.library))
    chosen = _from(situation, value, direction.heuristics())
    unmeasured = [
        not _from(situation, option, direction.finds(situation.event.library))
        and (is_choice(situation, option) or bool(_from(situation, option, direction.heuristics())))
        for option in value.options
    ]
    fixed = any(is_choice(situation, option) for option in value.options)
    return Sources(found, chosen, any(unmeasured), all(unmeasured), fixed)


def _from(situation: Situation, value: Value, functions: tuple[str, ...]) -> list[Deed]:
    return [deed for deed in origins(situation, value) if deed.event.function in functions]


# S01: Find is missing -------------------------------------------------------------------------------------------


@check("direction", "why", "finder", "find", "size", "run")
def find_is_missing(situation: Situation) -> Iterator[Hit]:
    """Yield where a convolution has no Find for its problem."""
    direction = direction_of(situation.event.function)
    if direction is None:
        return
    finds = earlier(situation, direction.finds(situation.event.library), direction)
    sources = _sources(situation, direction)
    certainty = _missing(situation, direction, finds, sources)
    if certainty is None:
        return
    others = [deed for deed, _ in finds.of(Match.OTHER, Match.APART)[:1]]
    event = situation.event
    yield Hit(
        certainty,
        words={
            "direction": direction.name,
            "why": _why(sources, others, situation.event.origin),
            "finder": direction.finds("miopen")[0],
            "find": find_call(direction, event),
            "size": size_call(direction, event),
            "run": run_call(direction, event),
        },
        related=(
            *((deed, "the algorithm is chosen here, without a measurement") for deed in sources.chosen),
            *((deed, "this Find is for other descriptors") for deed in others),
        ),
        confirm=_never_found(situation, direction),
    )


def _missing(situation: Situation, direction: Direction, finds: Earlier, sources: Sources) -> Certainty | None:
    if finds.fits() or finds.of(Match.SET_AGAIN, Match.CHANGED):  # the latter are for `find_is_stale`
        return None
    if finds.fits() is None or sources.found:
        near = any(deed.event.within == situation.event.within for deed in sources.found)
        near = near or any(number < 0 for number in situation.value("algo").origins)  # found, or else fixed
        return "possible" if sources.some and (near or sources.chosen) else None
    found_elsewhere = situation.mentioned & set(direction.finds(situation.event.library))
    if sources.all or (situation.whole and not found_elsewhere):
        return "proven"
    told = sources.some and (sources.chosen or not _from_elsewhere(situation.value("algo")))
    return "possible" if told or finds.of(Match.OTHER) else None


def _from_elsewhere(value: Value) -> bool:
    """Tell whether an algorithm may come from a function that was not followed, which may search."""
    return any(option.kind == "unknown" and "~" in str(option.data) for option in value.options)


def _why(sources: Sources, others: list[Deed], origin: str) -> str:
    if sources.chosen:
        return f"{sources.chosen[0].event.function} chooses without measuring"
    if others:
        return "the Find before it is for other descriptors"
    if sources.fixed and origin == "source":
        return "the algorithm is fixed in the program"
    return "nothing in what was checked searches for algorithms"


def _never_found(situation: Situation, direction: Direction) -> Callable[[Mapping[int, Deed]], bool]:
    """Return what tells at the end that no other path has a Find for these descriptors, as another method would."""
    things = {thing.id for names in direction.roles if (thing := situation.thing(*names)) is not None}
    finds = direction.finds(situation.event.library)
    here = {number for function in finds for number in situation.state.done.get(function, ())}

    def confirm(journal: Mapping[int, Deed]) -> bool:
        found = (deed for function in finds for id_ in things for deed in deeds_about(journal, function, id_))
        return all(deed.event.number in here for deed in found)

    return confirm


# S02: Find ran for something else -------------------------------------------------------------------------------


@check("direction", "changed", "find", "size", "run")
def find_is_stale(situation: Situation) -> Iterator[Hit]:
    """Yield where descriptors were set again after the Find and before the convolution."""
    direction = direction_of(situation.event.function)
    if direction is None:
        return
    functions = (*direction.finds(situation.event.library), *direction.heuristics())
    finds = earlier(situation, functions, direction)
    stale = finds.of(Match.CHANGED, Match.SET_AGAIN)
    if not stale or finds.fits() is not False:
        return
    deed, _ = stale[0]
    sure = bool(finds.of(Match.CHANGED)) and not finds.of(Match.SET_AGAIN)
    event = situation.event
    names = changed(deed, situation, direction)
    yield Hit(
        "proven" if sure else "possible",
        words={
            "direction": direction.name,
            "changed": " and ".join(names),
            "find": find_call(direction, event),
            "size": size_call(direction, event),
            "run": run_call(direction, event),
        },
        related=((deed, "found here"), *_set_again(deed, situation, direction)),
    )


def _set_again(deed: Deed, situation: Situation, direction: Direction) -> Iterator[tuple[Deed, str]]:
    for names in direction.roles:
        thing = situation.thing(*names)
        since = () if thing is None else situation.set_since(deed, thing)
        if thing is not None and since:
            yield situation.journal[since[-1]], f"{thing.name} is set again here"


# S03: Find ran elsewhere ----------------------------------------------------------------------------------------

_CAST = re.compile(
    r"^(?:\(\s*(?:enum\s+)?(?:cudnn|miopen)Conv\w+_t\s*\)|(?:static|reinterpret)_cast\s*<\s*(?:cudnn|miopen)Conv)"
)


@check("where", "find", "run")
def find_is_elsewhere(situation: Situation) -> Iterator[Hit]:
    """Yield where the algorithm was found on another handle, or is read from a number that was kept."""
    direction = direction_of(situation.event.function)
    if direction is None:
        return
    event = situation.event
    finds = earlier(situation, direction.finds(event.library), direction).of(Match.SAME, Match.UNSURE)
    said = [same_handle(deed, situation) for deed, _ in finds]
    calls = {"find": find_call(direction, event), "run": run_call(direction, event)}
    if finds:
        if all(answer is False for answer in said):
            deed = finds[0][0]
            handle = deed.event.argument("handle")
            where = f"on another handle ({handle.text if handle else '?'})"
            yield Hit("proven", "handle", {"where": where, **calls}, ((deed, "found here"),))
        return
    algorithm = event.argument("algo")
    if algorithm is None or algorithm.value.origins or list(constants(algorithm.value)):
        return
    chosen = {*direction.finds(event.library), *direction.heuristics()} & situation.mentioned
    if _CAST.match(algorithm.text.strip()) and not chosen:
        yield Hit("possible", "algo", {"where": "in another run, which kept the number", **calls})


# S09: Find overwrites -------------------------------------------------------------------------------------------


@check("buffer", "writer")
def find_overwrites(situation: Situation) -> Iterator[Hit]:
    """Yield where Find gets a buffer whose contents are still read afterwards."""
    direction = direction_of(situation.event.function)
    argument = None if direction is None else situation.argument(*direction.output)
    if argument is None or same(argument.value, argument.value) is not True or argument.value.is_null:
        return
    writers = [
        (number, always)
        for function in situation.state.done
        for number, always in situation.state.done[function].items()
        if "Find" not in function
        and situation.in_order(number)
        and _writes(situation.journal.get(number), argument.value)
    ]
    if not writers:
        return
    number, always = max(writers)
    deed, event = situation.journal[number], situation.event
    name = next(name for name, other in event.by_name.items() if other is argument)
    yield Hit(
        "proven" if always else "possible",
        name,
        {"buffer": " ".join(argument.text.split()), "writer": deed.event.function},
        ((deed, "written here"),),
        confirm=lambda journal: _is_read(journal, event.number, argument.value),
    )


def _is_read(journal: Mapping[int, Deed], after: int, buffer: Value) -> bool:
    """Tell whether the next call that has to do with a buffer reads it."""
    for deed in later(journal, after):
        if "Find" in deed.event.function:
            continue
        if any(same(argument.value, buffer) for argument in _data(deed.event, "in")):
            return True
        if _writes(deed, buffer):
            beta = deed.event.argument("beta")
            return beta is not None and any(constant != 0 for constant in constants(beta.read))
    return False


def _writes(deed: Deed | None, buffer: Value) -> bool:
    return deed is not None and any(same(argument.value, buffer) for argument in _data(deed.event, "out", "inout"))


def _data(event: Event, *directions: str) -> Iterator[Argument]:
    for parameter in event.parameters:
        if parameter.direction in directions and parameter.type.replace("const", "").replace(" ", "") == "void*":
            argument = event.by_name.get(parameter.name)
            if argument is not None and not argument.value.is_null and argument.value != UNKNOWN:
                yield argument


# S10: Find again and again --------------------------------------------------------------------------------------


@check("direction", "how", "field")
def find_in_hot_path(situation: Situation) -> Iterator[Hit]:
    """Yield where Find runs before every convolution for the same problem."""
    direction = direction_of(situation.event.function)
    if direction is None:
        return
    event = situation.event
    functions = (*direction.finds(event.library), *direction.heuristics())
    finds = [deed for deed, always in earlier(situation, functions, direction).of(Match.SAME) if always]
    if not finds:
        return
    last = finds[0]
    runs = [deed.event.number for deed, _ in situation.before(direction.runs(event.library))]
    if last.event.guards > event.guards:
        return
    again = [
        deed
        for deed in finds[1:]
        if any(deed.event.number < run < last.event.number for run in runs)
        and _untouched(deed, situation, direction)
        and not _prefers_another(deed.event, last.event)
    ]
    certainty: Certainty = "proven"
    related: tuple[tuple[Deed, str], ...] = ()
    if again:
        how, related = (
            "it ran for the same problem before, and the convolution since",
            ((again[0], "found here before"),),
        )
    elif last.event.in_loop and event.in_loop and not _set_in_loop(situation, direction):
        how = "the loop around it finds the same in each turn"
    elif _each_time(last, situation, direction):
        how, certainty = f"each call of {last.event.within} finds the same", "possible"
    else:
        return
    words = {"direction": direction.name, "how": how, "field": direction.algorithm}
    yield Hit(certainty, words=words, related=related, at=last.event)


def _prefers_another(before: Event, now: Event) -> bool:
    """Tell whether two heuristics are asked for different things, as with and without a workspace."""
    first, second = before.argument("preference"), now.argument("preference")
    return first is not None and second is not None and same(first.value, second.value) is False


def _untouched(find: Deed, situation: Situation, direction: Direction) -> bool:
    """Tell whether no descriptor of a problem was set since a Find."""
    things = (situation.thing(*names) for names in direction.roles)
    return all(thing is None or thing.version < find.event.number for thing in things)


def _set_in_loop(situation: Situation, direction: Direction) -> bool:
    """Tell whether a descriptor may be another in each turn of a loop."""
    for names in direction.roles:
        thing = situation.thing(*names)
        if thing is None or thing.many or "[" in thing.id:
            return True
        made = (*thing.set_by, *((thing.created,) if thing.created is not None else ()))
        if not made or any(number in situation.journal and situation.journal[number].event.in_loop for number in made):
            return True
    return False


_SEARCHES = re.compile(r"(?:choose|select|find|search|tun(?:e|ing)|bench|profile|measure|best|optimal)", re.IGNORECASE)

_PASS = re.compile(
    r"forward|backward|[bf]prop|propagat|infer|predict|exec|enqueue|compute|_[bf]w|[bf]wd|conv", re.IGNORECASE
)
_ONCE = re.compile(
    r"init|set_?up|creat|config|shape|resiz|prepare|plan|build|make|test|bench|main|alloc|load|tim(?:e|ing)|compar|check|verif|demo|example",
    re.IGNORECASE,
)

_MEASURES = re.compile(r"bench|test|demo|driver|example", re.IGNORECASE)  # a class that runs each direction once


def _each_time(find: Deed, situation: Situation, direction: Direction) -> bool:
    """Tell whether a function that nobody is seen calling finds for descriptors that others have set.

    Or one that is a layer's pass by its name, whatever it does that for.
    """
    event = situation.event
    owner, _, name = event.within.rpartition("::")
    if not name or find.event.turns[: len(event.turns)] != event.turns or _SEARCHES.search(name):
        return False  # what searches runs what it found to measure it
    if _MEASURES.search(owner.partition("<")[0].rpartition("::")[2]):
        return False
    if _PASS.search(name) and not _ONCE.search(name) and name != owner.rpartition("::")[2]:
        return not _stands_alone(situation)
    if find.event.through or event.through or find.event.within != event.within:
        return False
    for names in direction.roles:
        thing = situation.thing(*names)
        setters = [situation.journal[n].event.within for n in thing.set_by if n in situation.journal] if thing else []
        if not setters or event.within in setters:
            return False
    return match_role(find, situation, direction.roles[0]) is Match.SAME


def _stands_alone(situation: Situation) -> bool:
    """Tell whether a function makes its handle and its data itself, as one that shows what a convolution is."""
    handle, data = situation.thing("handle"), situation.argument("w", "x")
    made = situation.journal.get(handle.created) if handle is not None and handle.created is not None else None
    if made is None or data is None or data.value.kind != "thing":
        return False
    return made.event.within == situation.event.within
