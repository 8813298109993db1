"""The judge: listens to a program's calls and tells what the rules find."""

from __future__ import annotations

import functools
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..events import Argument, Event, Place
from ..findings import Certainty, Finding
from ..model.state import Deed, State
from ..values import Value
from . import conditions, targets
from .situation import Hit, Situation
from .table import Case, Rule, rules

_OF_WHAT_CAME_BEFORE = frozenset(("S01", "S02", "S08", "S09", "S17", "S18", "S19"))


class Judge:
    """A listener that evaluates the rules on each call.

    Parameters
    ----------
    target : str
        Where the program is to go.
    versions : dict of str to str, optional
        The version of each library that the program is written for, ``{"cudnn": "7.6"}``; an event's own goes before.
    whole : bool
        Whether everything that the program does is before the checker.
    mentioned : iterable of str
        Every function that is named anywhere in what is checked.
    table : dict of str to Rule, optional
        The rules; all of this folder by default.
    """

    def __init__(
        self,
        target: str = "miopen-3",
        *,
        versions: Mapping[str, str] | None = None,
        whole: bool = True,
        mentioned: Iterable[str] = (),
        table: Mapping[str, Rule] | None = None,
    ) -> None:
        self.target = targets.TARGETS[target]
        self._versions = dict(versions or {})
        self._whole, self._mentioned = whole, frozenset(mentioned)
        self._now: dict[str, list[tuple[Rule, Case]]] = {}
        self._at_end: dict[str, list[tuple[Rule, Case]]] = {}
        for rule in (rules() if table is None else table).values():
            for case in rule.cases:
                if case.serves(self.target):
                    index = self._at_end if case.end else self._now
                    for function in case.functions:
                        index.setdefault(function, []).append((rule, case))
        self._found: dict[tuple[object, ...], Finding] = {}
        self._waiting: list[tuple[Finding, Hit]] = []

    @property
    def findings(self) -> list[Finding]:
        """What was found, by place; complete after :meth:`finish`."""
        return sorted(self._found.values(), key=lambda f: (f.place.file, f.place.line, f.place.column, f.rule))

    def call(self, event: Event, state: State, journal: Mapping[int, Deed]) -> None:
        """Judge a call, in the state before it."""
        cases = self._now.get(event.function)
        if cases:
            self._judge(cases, event, state, journal)

    def finish(self, state: State, journal: Mapping[int, Deed]) -> None:
        """Judge what can be told only at the end of the program."""
        for deed in journal.values():
            cases = self._at_end.get(deed.event.function)
            if cases:
                self._judge(cases, deed.event, state, journal)
        for finding, hit in self._waiting:
            if hit.confirm is not None and hit.confirm(journal):
                self._add(finding)
        self._waiting = []

    def _judge(
        self, cases: Sequence[tuple[Rule, Case]], event: Event, state: State, journal: Mapping[int, Deed]
    ) -> None:
        situation = Situation(event, state, journal, self.target.name, self._whole, self._mentioned)
        version = event.version or self._versions.get(event.library)
        for rule, case in cases:
            if not case.holds_for(version) or (event.origin == "driver" and rule.id.startswith("S")):
                continue  # the driver makes the calls around a problem itself
            if rule.id in _OF_WHAT_CAME_BEFORE and _is_binding(event):
                continue
            for hit in hits(case, situation):
                finding = _finding(rule, case, hit, situation, self.target.title)
                if hit.confirm is None:
                    self._add(finding)
                else:
                    self._waiting.append((finding, hit))

    def _add(self, finding: Finding) -> None:
        known = self._found.get(finding.key)
        if known is None or (known.certainty == "possible" and finding.certainty == "proven"):
            self._found[finding.key] = finding


def _is_binding(event: Event) -> bool:
    """Tell whether a call is that of a binding in Python: its function has C's name, and callers are judged by it."""
    return event.within.rpartition("::")[2] == event.function and event.place.file.endswith((".py", ".pyx"))


def hits(case: Case, situation: Situation) -> Iterator[Hit]:
    """Yield where a call breaks a rule in one way."""
    holds = conditions.all_hold(case.when, situation, apart=case.apart)
    if holds is False:
        return
    free = conditions.none_holds(case.unless, situation)
    if free is False:
        return
    possible = holds is None or free is None
    for hit in case.check.look(situation) if case.check else (Hit(),):
        certainty: Certainty = "possible" if possible else hit.certainty
        yield hit if hit.certainty == certainty else replace(hit, certainty=certainty)


def _finding(rule: Rule, case: Case, hit: Hit, situation: Situation, title: str) -> Finding:
    situation = replace(situation, event=hit.at) if hit.at else situation
    event = situation.event
    words = {"target": title, "function": event.function, "call": event.text or event.function, **hit.words}
    return Finding(
        rule.id,
        case.severity,
        hit.certainty,
        _place(event, (hit.about,) if hit.about else case.about),
        fill(case.message, situation, words),
        fill(case.fix, situation, words),
        event.function,
        event,
        tuple((deed.event.place, text) for deed, text in hit.related),
        case.per_call,
    )


def _place(event: Event, about: Iterable[str]) -> Place:
    argument = event.argument(*about)
    return event.place if argument is None or argument.place is None else argument.place


# Texts -----------------------------------------------------------------------------------------------------------


def fill(text: str, situation: Situation, words: Mapping[str, str]) -> str:
    """Fill the words in braces: those given, arguments as they are written, and what is known of values.

    ``{mode}`` is the argument's text, ``{beta.value}`` what is known of its value, ``{xDesc.format}`` what was set on
    the descriptor, ``{a|b}`` the first of the two that the function has.
    """
    pieces = (piece + (_word(word, situation, words) if word else "") for piece, word in _pieces(text))
    return "".join(pieces)


@functools.cache
def _pieces(text: str) -> tuple[tuple[str, str | None], ...]:
    """Return the pieces of a text, each with the word in braces behind it."""
    return tuple((piece, word) for piece, word, _, _ in string.Formatter().parse(text))


def _word(word: str, situation: Situation, words: Mapping[str, str]) -> str:
    """Return what stands for a word."""
    if word in words:
        return words[word]
    names = word.split("|")
    for name in names:
        parameter, _, attribute = name.partition(".")
        argument = situation.argument(parameter)
        if argument is not None:
            return _said(name, attribute, argument, situation)
    return names[0].partition(".")[0]


def _said(name: str, attribute: str, argument: Argument, situation: Situation) -> str:
    written = " ".join(argument.text.split())
    if not attribute:
        return written
    value = argument.read if attribute == "value" else situation.field(name)
    shown = show(value)
    if not shown and attribute != "value":
        some = " or ".join(dict.fromkeys(filter(None, map(show, value.options))))
        return f"perhaps {some}" if some else "?"
    return shown or written


def show(value: Value) -> str:
    """Return a value as C writes it, its options with "or" between; "" if it is unknown."""
    if value.kind == "one of":
        shown = [show(option) for option in value.options]
        return " or ".join(dict.fromkeys(shown)) if all(shown) else ""
    if value.kind == "items":
        return "{" + ", ".join(show(element) or "?" for element in value.data) + "}"
    if value.kind != "known":
        return ""
    if value.data is None:
        return "NULL"
    if isinstance(value.data, bool):
        return "true" if value.data else "false"
    return f"{value.data:g}" if isinstance(value.data, float) else str(value.data)
