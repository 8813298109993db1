"""Check of problems against the library's capability table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from .. import capability
from ..enums import DnnEnum
from ..errors import BadParam
from ..problem import Problem
from .calls import DIRECTIONS, argument
from .checks import MOST, Check, Event, Watch
from .functions import computes
from .reports import root_of
from .rules import Rule, advice, rules

# Which of the porting guide's key differences a rule of the table states: by its operations, or else by its conditions.
_OPERATIONS = re.compile("transform_tensor|dropout_|rnn_|divisive_normalization_")
_DIFFERENCES = {"dtype": "K2", "rank": "K1", "layout": "K1", "packed": "K1", "mode": "K7"}
_EFFECTS = {
    "refused": "does not compute this",
    "ignored": "ignores what it is asked for",
    "wrong": "computes something else, without a word",
    "random": "has random numbers of its own",
}
_UNASKED = frozenset({"nan_propagation", "math", "compute_type"})  # of cuDNN's calls, not of MIOpen's
_DIFFERENT = frozenset({"V48", "V50"})  # MIOpen's calls have MIOpen's windows and order of gates
_SPATIAL = re.compile("convolution_|pooling_")
_MIGRATION_RULE = re.compile(r"\brules.*?\b([SAV]\d\d)\b")


class Tables(Check):
    """Check that asks the library's table about every problem."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._known: dict[object, tuple[tuple[Rule, dict[str, str]], ...]] = {}

    def computing(self, event: Event) -> None:
        root = root_of(event.call)
        if not event.mine or root in self.watch.refused:
            return
        own = root.library == self.profile.library
        if own and not computes(root.library, root.function, event.problem.op):
            return  # portadnn's way to what the library has a function for
        algo = self._algo(event)
        key = (event.problem, tuple(event.scalars.values()), algo, own)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST:
                self._known.clear()
            found = self._known[key] = tuple(self._judge(event, algo, own))
        for rule, words in found:
            self.watch.report(rule, event.call, words)

    def _algo(self, event: Event) -> DnnEnum | None:
        """Return the requested algorithm if the library's are cuDNN's; MIOpen's fall under rule S14."""
        direction = DIRECTIONS.get(event.problem.op)
        if self.profile.library != "cudnn" or direction is None or not event.scalars:
            return None
        given = argument(event.call, "algo")
        try:
            return None if given is None else direction.algos.parse(given)
        except BadParam:
            return None

    def _judge(self, event: Event, algo: DnnEnum | None, own: bool) -> Iterator[tuple[Rule, dict[str, str]]]:
        """Judge a problem by the table; `own` marks a call by the library's own names."""
        verdict = capability.table(self.profile.name).judge(event.problem, event.scalars or None, algo=algo)
        problem = f"({event.problem}{_numbers(event)})"
        for rule in verdict.rules:
            cases = (rule.conditions, *rule.unless, *rule.beyond)
            about = [condition.name for case in cases for condition in case]
            known = _rule(rule, event.problem)
            if rule.effect == "refused" and verdict.answer != "no":
                continue
            if rule.effect != "refused" and own and (known.id in _DIFFERENT or not _UNASKED.isdisjoint(about)):
                continue
            severity = "W" if verdict.answer != "no" else "E" if rule.effect == "refused" else "W!"
            found = replace(known, severity=severity, error=known.error if severity != "W" else "")
            instead = advice(known.id, about)
            yield found, {"does": _EFFECTS[rule.effect], "what": f"{rule.reason} {problem}", "instead": instead}
        if verdict.answer == "no" and not verdict.rules:
            what = f"{verdict.reason} {problem}"
            yield rules()["T01"], {"does": _EFFECTS["refused"], "what": what, "instead": advice("T01", ())}


def _numbers(event: Event) -> str:
    names = event.problem.scalars
    changed = {name: value for name, value in event.scalars.items() if value != names[name]}
    return "".join(f" {name}={value:g}" for name, value in changed.items())


def _rule(rule: capability.Rule, problem: Problem) -> Rule:
    """Return the profile's rule for a rule of the table: T01, under the migration rule's name if any."""
    if "key difference" in rule.source:
        if _OPERATIONS.match(problem.op):
            return rules()["K8"]
        for condition in rule.conditions:
            found = _DIFFERENCES.get(condition.name)
            if found is not None:
                return rules()["K3" if condition.name == "rank" and _SPATIAL.match(problem.op) else found]
    named = _MIGRATION_RULE.search(rule.source)
    return replace(rules()["T01"], id=named[1] if named else "T01")
