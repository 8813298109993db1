"""What conditions are known to hold on the path that is followed, and which values go with them.

``type = wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT`` is one of two behind it, but the latter wherever `wide` does not
hold. Conditions are equal where their values have the same key.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from ..model import symbols
from ..model.state import Fact, State
from ..program import Expression, Operation
from ..values import Value, join
from .assigning import Assigning
from .parts import has_calls

_MOST = 64  # choices of one condition, and labels of a switch
_MOST_FACTS = 512  # of one state
_NUMBERS = frozenset({"bool", "float", "double"})
IMPOSSIBLE: Fact = ("", "")  # holds where others contradict each other

Options = frozenset[str]  # enumerators


class Facts(Assigning):
    """Notes what holds, and leaves out of what was chosen by a condition that which does not go with it."""

    choices: dict[str, dict[tuple[str, Options], tuple[Options, Options]]]  # by what is asked, and what for

    @abstractmethod
    def evaluate(self, expression: Expression, use: str = "checked") -> Value:
        """Follow an expression and return its value."""

    def decided(self, condition: Expression) -> bool | None:
        """Tell whether a condition holds by what is known to hold here; None where that does not say."""
        if isinstance(condition, Operation) and condition.operator in ("&&", "||"):
            return None
        return next((_said(self.state.facts, fact, said) for fact, said in self._facts(condition, holds=True)), None)

    def chosen_by(self, condition: Expression, values: Sequence[Value]) -> bool | None:
        """Note which of two values goes with a condition, and tell whether that holds here."""
        facts = [dict(self._facts(condition, holds=holds)) for holds in (True, False)]
        self.note_choice(list(zip(facts, values, strict=True)))
        return self.decided(condition)

    def assume(self, condition: Expression, *, holds: bool) -> None:
        """Note that a condition holds from here on, or does not."""
        for fact, said in self._facts(condition, holds=holds):
            self._note(fact, said)

    def assume_case(self, value: Value, labels: Iterable[Value], others: Iterable[Value]) -> None:
        """Note that a value is that of the only label, and none of the others."""
        only = list(labels)
        for label, said in [
            *((one, True) for one in only if len(only) == 1),
            *((one, False) for one in islice(others, _MOST)),
        ]:
            if (fact := _equality(value, label)) is not None:
                self._note(fact, said)

    def _facts(self, condition: Expression, *, holds: bool) -> Iterator[tuple[Fact, bool]]:
        if isinstance(condition, Operation):
            if condition.operator == "!" and len(condition.operands) == 1:
                yield from self._facts(condition.operands[0], holds=not holds)
                return
            if condition.operator in ("&&", "||"):
                if condition.operator == ("&&" if holds else "||"):
                    for operand in condition.operands:
                        yield from self._facts(operand, holds=holds)
                return
        if has_calls(condition):
            return
        if isinstance(condition, Operation) and condition.operator in ("==", "!=") and len(condition.operands) == 2:
            first, second = (self.evaluate(operand) for operand in condition.operands)
            if (fact := _equality(first, second)) is not None:
                yield fact, (condition.operator == "==") == holds
                return
        value = self.evaluate(condition)
        if value.kind == "unknown" and value.data is not None:
            yield (str(value.data), ""), holds

    def _note(self, fact: Fact, said: bool) -> None:
        if _said(self.state.facts, fact, said) is False:
            self.state.facts[IMPOSSIBLE] = True
        if len(self.state.facts) < _MOST_FACTS or fact in self.state.facts:
            self.state.facts[fact] = said
        subject, constant = fact
        for (other, options), (when, unless) in self.choices.get(subject, {}).items():
            if other == constant:
                self._narrow_chosen(options, when if said else unless)
            elif said:
                self._narrow_chosen(options, unless)

    def _narrow_chosen(self, options: Options, fitting: Options) -> None:
        """Leave what fits of what was chosen from some options, in variables and in descriptors."""
        if not fitting or fitting == options:
            return
        for path, value in self.state.variables.items():
            if value.kind == "one of" and _enumerators(value) == options:
                self.state.variables[path] = join(one for one in value.data if one.data in fitting)
        for id_, thing in self.state.things.items():
            fields = {
                name: join(option for option in one.data if option.data in fitting)
                for name, one in thing.fields.items()
                if one.kind == "one of" and _enumerators(one) == options
            }
            if fields:
                self.state.things[id_] = replace(thing, fields={**thing.fields, **fields})

    # What is chosen ---------------------------------------------------------------------------------------------

    def note_choice(self, ends: Sequence[tuple[Mapping[Fact, bool], Value]]) -> None:
        """Note which values go with what holds where each was chosen."""
        ends = [end for end in ends if IMPOSSIBLE not in end[0]]
        given = [_enumerators(value) for _, value in ends]
        options = frozenset[str]().union(*given)
        if len(options) < 2 or not all(given):
            return
        for fact in dict.fromkeys(fact for facts, _ in ends for fact in facts):
            said = [_said(facts, fact, True) for facts, _ in ends]
            when = frozenset[str]().union(*(one for one, holds in zip(given, said, strict=True) if holds is not False))
            unless = frozenset[str]().union(*(one for one, holds in zip(given, said, strict=True) if not holds))
            known = self.choices.setdefault(fact[0], {})
            if when and unless and when != unless and len(known) < _MOST:
                known[fact[1], options] = when, unless

    def note_choices(self, ends: Sequence[State]) -> None:
        """Note of all that branches set differently, and that meets now, which values go with what held in each."""
        alive = [end for end in ends if end.reachable]
        if len(alive) < 2 or not any(end.facts for end in alive):
            return
        first, *others = alive
        for path, value in first.variables.items():
            if any(end.variables.get(path) is not value for end in others) and isinstance(value.options[0].data, str):
                pairs = [(end.facts, end.variables[path]) for end in alive if path in end.variables]
                self.note_choice(pairs)
                self.state.variables[path] = self.possible(pairs, self.state.variables[path])
        for id_, thing in first.things.items():
            if any(end.things.get(id_) is not thing for end in others):
                forms = [(end.facts, end.things[id_]) for end in alive if id_ in end.things]
                for name in thing.fields:
                    self.note_choice([(facts, form.fields[name]) for facts, form in forms if name in form.fields])

    def possible(self, ends: Sequence[tuple[Mapping[Fact, bool], Value]], joined: Value) -> Value:
        """Return the enumerators of the ends that what is known to hold does not exclude."""
        left = [value for facts, value in ends if IMPOSSIBLE not in facts]
        return join(left) if left and len(left) < len(ends) and _enumerators(joined) else joined


def _enumerators(value: Value) -> Options:
    """Return the enumerators that a value is one of; none where it may be anything else."""
    if not all(option.kind == "known" and isinstance(option.data, str) for option in value.options):
        return frozenset()
    return frozenset(option.data for option in value.options)


def _equality(one: Value, other: Value) -> Fact | None:
    """Return what ``one == other`` asks, where one of them is known."""
    for value, constant in ((one, other), (other, one)):
        asked = _before_comparing(value)
        if asked.kind == "unknown" and asked.data is not None and constant.kind == "known":
            return str(asked.data), str(symbols.key_of(constant))
    return None


def _before_comparing(value: Value) -> Value:
    """Return an unknown value without the enumerators of the program's own that it was compared with before."""
    unknown = [option for option in value.options if option.kind == "unknown"]
    others = (option for option in value.options if option.kind == "known")
    own = all(isinstance(option.data, int) and is_own_enumerator(option) for option in others)
    return unknown[0] if len(unknown) == 1 and own else value


def is_own_enumerator(value: Value) -> bool:
    """Whether a number is an enumerator of the program's own, by its type."""
    type_ = value.type
    return value.data is not None and type_.isidentifier() and type_ not in _NUMBERS and not symbols.is_integer(type_)


def _said(facts: Mapping[Fact, bool], fact: Fact, holds: bool) -> bool | None:
    """Tell whether something holds, or does not, by some facts: what is one constant is no other."""
    said = facts.get(fact)
    if said is None and fact[1] and any(is_ and subject == fact[0] for (subject, _), is_ in facts.items()):
        said = False
    return None if said is None else said == holds
