"""The rule about MIOpen's immediate mode: its calls belong together by direction and problem."""

from __future__ import annotations

from collections.abc import Iterator

from ..convolutions import Match, direction_of, match, origins, written
from ..registry import check
from ..situation import Hit, Situation


@check("what", "fix_call")
def immediate_calls_are_mixed(situation: Situation) -> Iterator[Hit]:
    """Yield where a solution, or a number of them, is used for another direction or problem than it was asked for."""
    event = situation.event
    direction = direction_of(event.function)
    argument = event.argument("solution_id", "maxSolutionCount")
    if direction is None or argument is None:
        return
    asked = [deed for deed in origins(situation, argument.value) if "GetSolution" in deed.event.function]
    about = next(name for name, other in event.by_name.items() if other is argument)
    other = [deed for deed in asked if direction_of(deed.event.function) is not direction]
    if asked and len(other) == len(asked):
        theirs = direction_of(other[0].event.function)
        name = event.function.replace(direction.miopen, theirs.miopen, 1) if theirs else event.function
        what = f"{argument.text} comes from {other[0].event.function}, which is about another direction"
        words = {"what": what, "fix_call": written(name, event, **{about: argument.text})}
        yield Hit("proven", about, words, ((other[0], "asked here"),))
        return
    stands = [match(deed, situation, direction) for deed in asked]
    if stands and all(stand in {Match.OTHER, Match.CHANGED} for stand in stands):
        what = f"{argument.text} was asked for other descriptors"
        words = {"what": what, "fix_call": written(asked[0].event.function, event)}
        yield Hit("proven", about, words, ((asked[0], "asked here"),))
