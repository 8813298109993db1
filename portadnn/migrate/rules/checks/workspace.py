"""Rules about workspaces of convolutions: when their size is asked, for which problem, and what is passed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ...events import Argument, Event
from ...findings import Certainty
from ...model.state import Deed
from ...values import Value, constants, same
from ..convolutions import (
    Direction,
    Match,
    direction_of,
    earlier,
    find_call,
    match,
    origins,
    same_settings,
    size_call,
)
from ..journals import deeds_about, deeds_at
from ..registry import check
from ..shapes import number
from ..situation import Hit, Situation

SIZES = ("workSpaceSizeInBytes", "workSpaceSize", "workspaceSizeInBytes", "workspaceSize")
SPACES = ("workSpace", "workspace")


def _size(situation: Situation) -> tuple[Argument | None, Value]:
    """Return the argument that says how big the workspace is, or the workspace itself, and the size."""
    size, space = situation.argument(*SIZES), situation.thing(*SPACES)
    if size is not None and (size.value.origins or size.value.kind == "known" or space is None):
        return size, size.value
    if space is not None and "size" in space.fields:
        return situation.argument(*SPACES), space.fields["size"]
    return None, Value("unknown")


@check("direction", "find", "size", "chosen")
def size_after_find(situation: Situation) -> Iterator[Hit]:
    """Yield where the workspace's size is asked after the algorithm was chosen (cuDNN), or after Find (MIOpen)."""
    direction = direction_of(situation.event.function)
    if direction is None:
        return
    event = situation.event
    chosen = (*direction.finds(event.library), *(direction.heuristics() if event.library == "cudnn" else ()))
    finds = earlier(situation, chosen, direction)
    before = finds.of(Match.SAME, Match.UNSURE)
    if event.library == "miopen":  # methods may be called in any order
        before = [(deed, always) for deed, always in before if situation.in_order(deed.event.number)]
    if not before and event.library == "cudnn":  # chosen for other descriptors, as of the gradients
        deeds = (situation.journal.get(number) for number in situation.value("algo").origins)
        before = [(deed, False) for deed in deeds if deed is not None and deed.event.function in chosen]
    asked = earlier(situation, direction.queries(event.library), direction).fits()
    if not before or (event.library == "miopen" and asked is not False):
        return
    algorithm = situation.value("algo")
    fixed = len(list(constants(algorithm)))
    if event.library == "cudnn" and event.origin == "source" and not algorithm.origins and fixed:
        if fixed == len(algorithm.options):
            return  # asked for an algorithm that nobody chose
        before = [(deed, False) for deed, _ in before]
    deed, always = before[0]
    words = {
        "direction": direction.name,
        "chosen": deed.event.function,
        "find": find_call(direction, event),
        "size": size_call(direction, event),
    }
    yield Hit(
        "proven" if always else "possible",
        words=words,
        related=((deed, "the algorithm is chosen here"),),
        confirm=_never_fixed(event) if _is_open(situation.value("algo")) else None,
    )


@check("direction", "algorithm", "find", "size")
def size_for_given(situation: Situation) -> Iterator[Hit]:
    """Yield where the workspace's size is asked for an algorithm that is fixed or given, and no search follows."""
    direction, event = direction_of(situation.event.function), situation.event
    if direction is None or event.origin != "source" or not event.followed:
        return
    algorithm = situation.value("algo")
    fixed = list(constants(algorithm))
    searches = (*direction.finds(event.library), *direction.heuristics())
    if any(number > 0 for number in algorithm.origins):
        return
    if not fixed and earlier(situation, searches, direction).of(Match.SAME, Match.UNSURE):
        return  # S06 is told of these
    measured = direction.finds(event.library)[-1] in situation.mentioned
    if measured and event.in_loop:
        return  # of all, for the search
    words = {
        "direction": direction.name,
        "algorithm": "an algorithm that is fixed" if fixed else "an algorithm that is given",
        "find": find_call(direction, event),
        "size": size_call(direction, event),
    }
    certain = len(fixed) == len(algorithm.options) and not measured
    yield Hit("proven" if certain else "possible", words=words, confirm=_not_for_search(situation, direction))


def _not_for_search(situation: Situation, direction: Direction) -> Callable[[Mapping[int, Deed]], bool]:
    """Return what tells at the end that no search with these descriptors came after the size was asked."""
    things = {thing.id for names in direction.roles if (thing := situation.thing(*names)) is not None}
    finds, number = direction.finds(situation.event.library), situation.event.number

    def confirm(journal: Mapping[int, Deed]) -> bool:
        found = (deed for function in finds for id_ in things for deed in deeds_about(journal, function, id_))
        return all(deed.event.number < number for deed in found)

    return confirm


def _is_open(value: Value) -> bool:
    return value.kind == "unknown" and not value.origins


def _never_fixed(event: Event) -> Callable[[Mapping[int, Deed]], bool]:
    """Return what tells at the end that this call, wherever it was reached from, did not ask for a fixed algorithm."""

    def confirm(journal: Mapping[int, Deed]) -> bool:
        algorithms = (deed.event.argument("algo") for deed in deeds_at(journal, event))
        return not any(list(constants(one.read)) and not one.value.origins for one in algorithms if one is not None)

    return confirm


@check("given", "need", "size")
def workspace_is_small(situation: Situation) -> Iterator[Hit]:
    """Yield where a workspace is smaller than is said, of a fixed size, or of another direction's or problem's."""
    direction = direction_of(situation.event.function)
    if direction is None:
        return
    space, size = situation.thing(*SPACES), situation.value(*SIZES)
    about = next((name for name in SIZES if situation.argument(name) is not None), None)
    words = {"size": size_call(direction, situation.event)}
    allocated = None if space is None else space.fields.get("size")
    room, announced = None if allocated is None else number(allocated), number(size)
    if room is not None and announced is not None and room < announced:
        yield Hit("proven", about, {**words, "given": f"{room} bytes", "need": f"{announced} are announced"})
        return
    if announced is not None and not size.origins:
        if announced > 0 and situation.event.origin == "source":  # in a log all sizes are numbers
            given = {"given": f"{announced} bytes", "need": "how many are needed was not asked"}
            yield Hit("possible", about, {**words, **given})
        return
    if allocated is not None and _asked_in_part(situation, allocated) and not size.origins and size.data is not None:
        if (
            all(same(size, one) is not True for one in allocated.options)
            and size.kind == "unknown"
            and about is not None
        ):
            given = {"given": "what a query said", "need": "another size is announced"}
            yield Hit("possible", about, {**words, **given})
        return
    asked = _queries(situation, size)
    if any(deed.event.library != situation.event.library for deed in asked):
        return  # the other half of an #ifdef
    if asked and not any(deed.event.function in direction.queries(situation.event.library) for deed in asked):
        given = {"given": f"what {asked[0].event.function} said", "need": f"the {direction.name} pass may need more"}
        yield Hit("possible", about, {**words, **given}, ((asked[0], "asked here"),))
        return
    others = [_of_another_problem(deed, situation, direction) for deed in asked]
    if others and all(others):
        given = {"given": f"what {asked[0].event.function} said of other descriptors", "need": "these may need more"}
        certain = all(said == "proven" for said in others)
        yield Hit("proven" if certain else "possible", about, {**words, **given}, ((asked[0], "asked here"),))


def _of_another_problem(deed: Deed, situation: Situation, direction: Direction) -> Certainty | None:
    """Tell whether a size was asked for other descriptors than this call has; None where it seems to be the same."""
    said = match(deed, situation, direction)
    if said in (Match.OTHER, Match.APART):
        return "proven" if said == Match.OTHER else "possible"
    if said != Match.UNSURE or deed.event.within != situation.event.within:
        return None
    return "possible" if any(_differs(deed, situation, names) for names in direction.roles) else None


def _differs(deed: Deed, situation: Situation, names: tuple[str, ...]) -> bool:
    """Tell whether two calls of one function have different variables for a descriptor."""
    then, now = deed.event.argument(*names), situation.argument(*names)
    before, after = next((deed.things[name] for name in names if name in deed.things), None), situation.thing(*names)
    if then is None or now is None or before is None or after is None or before.many or after.many:
        return False
    return before.id != after.id and _tensor(then.text) != _tensor(now.text)


_GRADIENT = re.compile(
    r"(?:(?<=_)|(?<=->)|(?<=\.)|\b)[dg](?:iff|rad(?:ient)?)?_?(?=[xyXY])|_?(?:[dD]iff|[gG]rad(?:ient)?)(?![a-z])"
)


def _tensor(text: str) -> str:
    """Return a descriptor's text without what says that it is a gradient's, which has the tensor's own sizes."""
    return _GRADIENT.sub("", "".join(text.split()))


def _queries(situation: Situation, size: Value) -> list[Deed]:
    """Return the queries of convolutions' workspaces that a size came from; none where it also came from elsewhere."""
    deeds = list(origins(situation, size))
    found = [deed for deed in deeds if "Convolution" in deed.event.function and _is_query(deed.event.function)]
    return found if len(found) == len(deeds) and size.kind != "one of" else []


def _asked_in_part(situation: Situation, size: Value) -> bool:
    """Tell whether a size is what queries of convolutions' workspaces said, or a constant in place of it."""
    options = [option for option in size.options if option.kind != "known"]
    return bool(options) and all(_queries(situation, option) for option in options)


_QUERY = re.compile(r"Get\w*(?:workspace|reserve|reservespace|tempspace)sizes?(?:v2|_v\d)?$", re.IGNORECASE)


def _is_query(function: str) -> bool:
    return _QUERY.search(function) is not None


@check("what")
def workspace_and_size_disagree(situation: Situation) -> Iterator[Hit]:
    """Yield where there is a size without workspace, or a workspace without size."""
    space, size = situation.argument(*SPACES), situation.argument(*SIZES)
    if space is None or size is None:
        return
    announced = number(size.value)
    about = next(name for name, argument in situation.event.by_name.items() if argument is size)
    if space.value.is_null and announced:
        yield Hit("proven", about, {"what": f"there is no workspace, and its size is {announced}"})
    elif space.value.is_null and (asked := [d for d in origins(situation, size.value) if _is_query(d.event.function)]):
        what = f"there is no workspace, and its size is what {asked[0].event.function} said"
        yield Hit("possible", about, {"what": what}, ((asked[0], "asked here"),))
    elif announced == 0 and space.value.kind in {"thing", "pointer"}:
        yield Hit("proven", about, {"what": f"{space.text} is passed as workspace, and its size is 0"})


@check("size_name", "query")
def query_ignored(situation: Situation) -> Iterator[Hit]:
    """Yield where a size is used that stays 0 when its query fails, which nobody looks at."""
    argument, size = _size(situation)
    if argument is None:
        return
    queries = [deed for deed in origins(situation, size) if _is_query(deed.event.function)]
    if len({deed.event.place for deed in queries}) != 1:
        return  # of several sizes the others are left where one query fails
    event = queries[0].event
    told = event.argument("sizeInBytes", "workSpaceSize")
    if (
        event.status == "ignored"
        and told is not None
        and told.content is not None
        and 0 in list(constants(told.content))
    ):
        words = {"size_name": told.text.lstrip("& "), "query": event.function}
        yield Hit("proven", words=words, related=((queries[0], "what it returns is not looked at"),))


@check("changed", "query")
def size_is_stale(situation: Situation) -> Iterator[Hit]:
    """Yield where a descriptor was set again after the workspace's size was asked for it."""
    argument, size = _size(situation)
    deeds = [deed for deed in origins(situation, size) if _is_query(deed.event.function)]
    if argument is None or not deeds:
        return
    said = [_set_since(deed, situation) for deed in deeds]
    if not all(names for names, _ in said):
        return
    names, sure = said[0]
    about = next(name for name, other in situation.event.by_name.items() if other is argument)
    words = {"changed": " and ".join(names), "query": deeds[0].event.function}
    certain = sure and size.kind != "one of"
    yield Hit("proven" if certain else "possible", about, words, ((deeds[0], "asked here"),))


def _set_since(deed: Deed, situation: Situation) -> tuple[list[str], bool]:
    """Return the descriptors of both calls that were set again since the first, and whether to something else."""
    now = {
        argument.value.data: " ".join(argument.text.split())
        for argument in situation.event.arguments
        if argument.value.kind == "thing"
    }
    names, sure = [], True
    for name, then in deed.things.items():
        thing = situation.state.things.get(then.id)
        if name == "handle" or thing is None or then.id not in now or not situation.set_since(deed, thing):
            continue
        equal = same_settings(then, thing)
        if not equal:
            names.append(now[then.id])
            sure = sure and equal is False
    return names, sure
