"""Rules about algorithms: arrays of results, and algorithms that are fixed in the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...names import values_of_both
from ...values import constants
from ..convolutions import direction_of, find_call, is_choice, run_call
from ..registry import check
from ..situation import Hit, Situation


@check("length", "count")
def results_do_not_fit(situation: Situation) -> Iterator[Hit]:
    """Yield where more results are asked for than the array has room for."""
    count = situation.argument("requestedAlgoCount", "requestAlgoCount", "maxSolutionCount", "maxSolutions")
    results = situation.argument("perfResults", "solutions")
    if (
        count is None
        or results is None
        or count.value.kind != "known"
        or not isinstance(count.value.data, (int, float))
    ):
        return
    length = _length(situation, results.value.data) if results.value.kind == "pointer" else None
    if length is None and re.fullmatch(r"&\s*[\w.>-]+", results.text.strip()):
        length = 1
    if length is not None and count.value.data > length:
        about = next(name for name, argument in situation.event.by_name.items() if argument is count)
        yield Hit("proven", about, {"length": str(length), "count": str(count.value.data)})


def _length(situation: Situation, path: str) -> int | None:
    """Return how many elements there are from a path on; None where that is not known."""
    base, bracket, index = path.rpartition("[")
    for array, first in ((path, 0), (base, int(index[:-1]) if bracket and index[:-1].isdecimal() else None)):
        length = situation.state.variables.get(f"{array}.#length")
        if length is not None and length.kind == "known" and isinstance(length.data, int) and first is not None:
            return length.data - first
    return None


_DIRECTIONS = {  # a template's constant may be that of another specialization
    "forward": re.compile("FWD|Fwd"),
    "backward data": re.compile("BWD_DATA|BwdData"),
    "backward filter": re.compile("BWD_FILTER|BwdWeights"),
}


@check("algorithm", "why", "find", "run")
def algorithm_is_fixed(situation: Situation) -> Iterator[Hit]:
    """Yield where an algorithm of the program's own choice is asked for, and MIOpen has one like it."""
    yield from _fixed(situation, exists=True)


@check("algorithm", "why", "find", "run")
def algorithm_does_not_exist(situation: Situation) -> Iterator[Hit]:
    """Yield where an algorithm of the program's own choice is asked for, and MIOpen has none like it."""
    yield from _fixed(situation, exists=False)


def _fixed(situation: Situation, *, exists: bool) -> Iterator[Hit]:
    direction, algorithm = direction_of(situation.event.function), situation.argument("algo")
    if direction is None or algorithm is None:
        return
    others = [option for option in algorithm.value.options if not is_choice(situation, option)]
    instead = any(number < 0 for option in algorithm.value.options for number in option.origins)  # of a search
    found = any(o.kind != "unknown" or o.origins for o in others) and not instead
    if len(others) == len(algorithm.value.options) or found:
        return  # a first value, which Find or a heuristic replaces
    names = [str(one) for one in constants(algorithm.value) if _DIRECTIONS[direction.name].search(str(one))]
    counted = [name for name in names if (_in_miopen(name) is not None) == exists]
    if not counted:
        return
    sure = len(counted) == len(names) and not others
    why = f"{_in_miopen(counted[0])} need not exist for this problem" if exists else "MIOpen has none like it"
    words = {
        "algorithm": counted[0],
        "why": why,
        "find": find_call(direction, situation.event),
        "run": run_call(direction, situation.event),
    }
    yield Hit("proven" if sure else "possible", "algo", words)


def _in_miopen(name: str) -> str | None:
    """Return MIOpen's name for an algorithm."""
    return next((value.miopen for value in values_of_both().get(name, ())), None)
