"""What the library does not compute, as its capability table says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import capability
from ..enums import DnnEnum
from ..errors import BadParam
from ..problem import Problem
from .calls import DIRECTIONS, argument
from .checks import MOST, Check, Event
from .reports import root_of
from .rules import Rule, advice, rules

if TYPE_CHECKING:
    from .watch import ProfileWatch

# Which of the porting guide's key differences a rule of the table states: by its operations, or else by its conditions.
_OPERATIONS = re.compile("transform_tensor|dropout_|rnn_|divisive_normalization_")
_DIFFERENCES = {"dtype": "K2", "rank": "K1", "layout": "K1", "packed": "K1", "mode": "K7"}
_SPATIAL = re.compile("convolution_|pooling_")
_MIGRATION_RULE = re.compile(r"\brules.*?\b([SAV]\d\d)\b")


class Tables(Check):
    """Asks the library's table about every problem."""

    def __init__(self, watch: ProfileWatch) -> None:
        super().__init__(watch)
        self._known: dict[object, tuple[tuple[Rule, str, str], ...]] = {}

    def computing(self, event: Event) -> None:
        if not event.mine or root_of(event.call) in self.watch.refused:
            return
        algo = self._algo(event)
        key = (event.problem, tuple(event.scalars.values()), algo)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST:
                self._known.clear()
            found = self._known[key] = tuple(self._judge(event, algo))
        for rule, what, instead in found:
            self.watch.report(rule, event.call, {"what": what, "instead": instead})

    def _algo(self, event: Event) -> DnnEnum | None:
        """Return the algorithm that is asked for, where the library's are cuDNN's; rule S14 speaks of MIOpen's."""
        direction = DIRECTIONS.get(event.problem.op)
        if self.profile.library != "cudnn" or direction is None or not event.scalars:
            return None
        given = argument(event.call, "algo")
        try:
            return None if given is None else direction.algos.parse(given)
        except BadParam:
            return None

    def _judge(self, event: Event, algo: DnnEnum | None) -> Iterator[tuple[Rule, str, str]]:
        verdict = capability.table(self.profile.name).judge(event.problem, event.scalars or None, algo=algo)
        for rule in verdict.rules:
            if verdict.answer == "no" or rule.effect != "refused":
                known = _rule(rule, event.problem)
                severity = "W" if verdict.answer != "no" else "E" if rule.effect == "refused" else "W!"
                what = f"{rule.reason} ({event.problem}{_numbers(event)})"
                found = replace(known, severity=severity, error=known.error if severity != "W" else "")
                yield found, what, advice().get(known.id, "see docs/profiles.md; portadnn caps lists what it computes")
        if verdict.answer == "no" and not verdict.rules:
            yield rules()["T01"], f"{verdict.reason} ({event.problem})", "portadnn caps lists what it computes"


def _numbers(event: Event) -> str:
    names = event.problem.scalars
    changed = {name: value for name, value in event.scalars.items() if value != names[name]}
    return "".join(f" {name}={value:g}" for name, value in changed.items())


def _rule(rule: capability.Rule, problem: Problem) -> Rule:
    """Return the profile's rule that a rule of the table stands for: T01, under the migration rule's name if any."""
    if "key difference" in rule.source:
        if _OPERATIONS.match(problem.op):
            return rules()["K8"]
        for condition in rule.conditions:
            found = _DIFFERENCES.get(condition.name)
            if found is not None:
                return rules()["K3" if condition.name == "rank" and _SPATIAL.match(problem.op) else found]
    named = _MIGRATION_RULE.search(rule.source)
    return replace(rules()["T01"], id=named[1] if named else "T01")
