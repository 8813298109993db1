"""What the ``when`` and ``unless`` of a rule say of a call's values.

A condition is ``name = wanted``. The name is a parameter (``mode``), what was set on a descriptor (``xDesc.format``),
or ``@status``; ``alpha|alpha1`` is the first of these that the function has. What is wanted:

- a number, true, false, an enumerator by its name (also where the program has the number, or the other library's name);
- ``"NULL"``; ``"given"``: anything else; ``"unset"``: the descriptor is known, and nothing ever set this;
- ``"!x"``: another constant; ``">= 16"``, ``"< 1e-6"``, ``"== 2"``, ``"!= 2"``: numbers;
- ``"type: double"``: the C type, or that of what is pointed to;
- ``"same: wDesc.dataType"``, ``"other: wDesc.dataType"``: as another value, or not;
- ``"any: >= 16"``, ``"all: 1"``: elements of an array;
- ``"known: 5"``: as ``5``, but an unknown value is not; ``"perhaps: 5"``: an unknown value possibly is;
  ``"surely: 5"``: no value that only may be;
- a list: any of these; of which all begin with ``!``: none of these.

A condition holds (True), possibly holds (None: some of the values that it may be), or does not (False). Of an unknown
value nothing holds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ... import mapping
from ..model.symbols import COMPARISONS
from ..names import values_of_both
from ..values import POSSIBLY, UNKNOWN, Value, join, same
from .situation import Situation

Said = Literal["yes", "no", "maybe", "unknown"]
Test = Callable[[Value, Situation], Said]
_SURELY = "surely:"
_COMPARISON = re.compile(r"(==|!=|<=|>=|<|>)\s*(-?[\d.]+(?:e-?\d+)?)$")
UNSET = Value("unknown", "unset")


@dataclass(frozen=True)
class Condition:
    """A name, what is wanted of it as the rule file has it, and how that is tested."""

    names: tuple[str, ...]
    wanted: Any
    test: Test

    def said(self, situation: Situation) -> Said:
        """Return whether it holds."""
        return self.test(look_up(situation, self.names), situation)


def parse(conditions: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return the conditions of a table.

    Raises
    ------
    ValueError
        Something is wanted that no value can be.
    """
    return tuple(Condition(tuple(name.split("|")), wanted, _test(wanted)) for name, wanted in conditions.items())


def all_hold(conditions: Iterable[Condition], situation: Situation, *, apart: bool = False) -> bool | None:
    """Tell whether all conditions hold; None where they possibly do. What is unknown does not.

    Two values that each may be the wrong one are mostly chosen together, in the same branches: that says nothing, but
    where they are of kinds that programs choose `apart`.
    """
    possible = 0
    for condition in conditions:
        said = condition.said(situation)
        if said in {"no", "unknown"}:
            return False
        possible += said == "maybe"
    return True if possible == 0 else None if possible == 1 or apart else False


def none_holds(cases: Iterable[Sequence[Condition]], situation: Situation) -> bool | None:
    """Tell whether none of some cases holds; None where one possibly does. One that is unknown counts as holding."""
    certain = True
    for conditions in cases:
        said = [condition.said(situation) for condition in conditions]
        if "no" in said:
            continue
        if "maybe" not in said:
            return False
        certain = False
    return True if certain else None


def look_up(situation: Situation, names: Sequence[str]) -> Value:
    """Return the value of the first of some names that the function has, `UNSET` of what was never set."""
    for name in names:
        if name == "@status":
            return Value("known", situation.event.status)
        parameter, _, attribute = name.partition(".")
        if situation.argument(parameter) is None:
            continue
        if not attribute:
            return situation.value(parameter)
        things = situation.things(parameter)
        if len(things) != 1:
            return join(thing.fields.get(attribute, UNKNOWN) for thing in things) if things else UNKNOWN
        thing = things[0]
        return thing.fields.get(attribute, UNSET if thing.created is not None and thing.certain else UNKNOWN)
    return UNKNOWN


# Tests -----------------------------------------------------------------------------------------------------------


def _test(wanted: Any) -> Test:
    if isinstance(wanted, list):
        return _any_of(wanted)
    if not isinstance(wanted, str):
        return _each(functools.partial(_is, wanted))
    if match := _COMPARISON.match(wanted):
        return _each(functools.partial(_compares, COMPARISONS[match[1]], float(match[2])))
    if wanted.startswith("!"):
        return _negated(_test(_constant(wanted[1:])))
    word, colon, rest = wanted.partition(":")
    if colon and word in _WORDS:
        return _WORDS[word](rest.strip())
    if wanted in _STATES:
        return _STATES[wanted]
    return _each(functools.partial(_is, _enumerator(wanted)))


def _any_of(wanted: Sequence[Any]) -> Test:
    if all(isinstance(one, str) and one.startswith(_SURELY) for one in wanted):
        return _certain(_any_of([one.removeprefix(_SURELY).strip() for one in wanted]))
    tests = [_test(one) for one in wanted]
    if all(isinstance(one, str) and one.startswith("!") and not _COMPARISON.match(one) for one in wanted):
        return lambda value, situation: _worst(test(value, situation) for test in tests)

    return lambda value, situation: _of_options(value, lambda option: _best(test(option, situation) for test in tests))


def _best(said: Iterable[Said]) -> Said:
    found = set(said)
    order: tuple[Said, ...] = ("yes", "maybe", "unknown")
    return next((one for one in order if one in found), "no")


def _worst(said: Iterable[Said]) -> Said:
    found = set(said)
    order: tuple[Said, ...] = ("no", "unknown", "maybe")
    return next((one for one in order if one in found), "yes")


def _of_options(value: Value, test: Callable[[Value], Said]) -> Said:
    said = {test(option) for option in value.options}
    if len(said) == 1:
        return said.pop()
    return "maybe" if said & {"yes", "maybe"} else "unknown"


def _each(test: Callable[[Value, Situation], bool | None]) -> Test:
    """Return a test of values from one of a single value, which answers None of what it does not know."""

    def one(option: Value, situation: Situation) -> Said:
        if option is UNSET:
            return "no"
        answer = None if option.kind == "unknown" else test(option, situation)
        return "unknown" if answer is None else "yes" if answer else "no"

    return lambda value, situation: _of_options(value, lambda option: one(option, situation))


def _negated(test: Test) -> Test:
    opposite: dict[Said, Said] = {"yes": "no", "no": "yes"}

    def one(option: Value, situation: Situation) -> Said:
        said = test(option, situation)
        return opposite.get(said, said)

    def other(value: Value, situation: Situation) -> Said:
        if UNSET in value.options:
            return "unknown"  # no other constant
        sure = [option for option in value.options if option != POSSIBLY]
        said = _of_options(join(sure), lambda option: one(option, situation))
        return "maybe" if said == "yes" and len(sure) < len(value.options) else said

    return other


def _constant(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _is(wanted: Any, value: Value, situation: Situation) -> bool | None:
    if value.kind != "known":
        return None if value.kind in ("pointer", "thing") else False  # what stands there is not known
    if isinstance(wanted, str):
        return is_enumerator(value.data, wanted, situation.event.library)
    return not isinstance(value.data, str) and value.data is not None and bool(value.data == wanted)


def _compares(compare: Callable[[Any, Any], bool], wanted: float, value: Value, _: Situation) -> bool | None:
    if value.kind != "known" or not isinstance(value.data, (int, float)):
        return None if value.kind == "known" and isinstance(value.data, str) else False
    return compare(value.data, wanted)


def _null(value: Value, _: Situation) -> bool | None:
    return value.is_null


def _given(value: Value, _: Situation) -> bool | None:
    return not value.is_null


def _unset(value: Value, _: Situation) -> Said:
    return "yes" if value is UNSET else "unknown" if value is UNKNOWN else "no"


def _typed(wanted: str) -> Test:
    def test(value: Value, _: Situation) -> Said:
        types = {plain_type(option.type) for option in value.options}
        if "" in types:
            return "unknown"
        return "no" if wanted not in types else "yes" if len(types) == 1 else "maybe"

    return test


def plain_type(text: str) -> str:
    """Return a C type without const, pointers and references."""
    return " ".join(re.sub(r"\b(const|volatile|static|constexpr)\b|[*&\[\]]", " ", text).split())


def _alike(equal: bool, other: str) -> Test:
    def test(value: Value, situation: Situation) -> Said:
        against = look_up(situation, other.split("|"))
        if UNSET in (value, against):
            return "unknown"
        said = same(value, against)
        if said is None:
            return "unknown"
        return "yes" if said is equal else "no"

    return test


def _elements(wanted: str, *, all_of: bool) -> Test:
    inner = _test(_constant(wanted))

    def test(value: Value, situation: Situation) -> Said:
        def one(option: Value) -> Said:
            if option.kind != "items":
                return "unknown"
            said = [inner(element, situation) for element in option.data]
            return _worst(said) if all_of else _best(said)

        return _of_options(value, one)

    return test


def _of_unknown(said_of_unknown: Said, wanted: str) -> Test:
    inner = _test(_constant(wanted))

    def test(value: Value, situation: Situation) -> Said:
        said = inner(value, situation)
        return said_of_unknown if said == "unknown" else said

    return test


def _surely(wanted: str) -> Test:
    return _certain(_test(_constant(wanted)))


def _certain(inner: Test) -> Test:
    def test(value: Value, situation: Situation) -> Said:
        said = inner(value, situation)
        return "no" if said == "maybe" else said

    return test


_STATES: dict[str, Test] = {"NULL": _each(_null), "given": _each(_given), "unset": _unset}
_WORDS: dict[str, Callable[[str], Test]] = {
    "type": _typed,
    "same": functools.partial(_alike, True),
    "other": functools.partial(_alike, False),
    "known": functools.partial(_of_unknown, "no"),
    "perhaps": functools.partial(_of_unknown, "maybe"),
    "surely": _surely,
    "any": functools.partial(_elements, all_of=False),
    "all": functools.partial(_elements, all_of=True),
}

# Enumerators -----------------------------------------------------------------------------------------------------

_STATUSES = ("checked", "ignored", "returned", "unknown")


def _enumerator(name: str) -> str:
    if name not in values_of_both() and name not in _STATUSES:
        raise ValueError(f"{name!r} is no enumerator of the mapping table, and no test")
    return name


def _counterpart(value: mapping.Value, name: str) -> str | None:
    """Return the other library's name for an enumerator, if that stands for no plainer one as well.

    miopenPoolingMax is CUDNN_POOLING_MAX, though it is all that there is for CUDNN_POOLING_MAX_DETERMINISTIC too.
    """
    if name == value.miopen:
        return value.cudnn
    shared = [v.cudnn for v in values_of_both().get(value.miopen or "", ()) if v.cudnn]
    return value.miopen if value.cudnn == min(shared, key=len, default=None) else None


def is_enumerator(data: Any, wanted: str, library: str) -> bool:
    """Tell whether a constant is an enumerator: the name, its number, or the other library's name for the same."""
    if isinstance(data, str):
        return data.rpartition("::")[2] == wanted or (
            data.startswith("miopen") != wanted.startswith("miopen")
            and any(data == _counterpart(value, wanted) for value in values_of_both().get(wanted, ()))
        )
    if isinstance(data, bool) or not isinstance(data, int):
        return False
    numbers = ((v.miopen_number if library == "miopen" else v.number) for v in values_of_both().get(wanted, ()))
    return data in numbers
