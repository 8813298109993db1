"""What loops do: those of few known turns turn by turn, the others twice."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model import symbols
from ..model.state import State, meet
from ..program import Block, Cast, Expression, Invocation, Loop, Member, Name, Operation
from ..values import UNKNOWN, Value, known, pointer, unknown
from . import types
from .outside import Outside
from .parts import all_expressions, declarations, parts_of

_GROUP = re.compile(r"group|grp|^g$", re.IGNORECASE)
_MOST_TURNS = 8  # of a loop whose turns are followed one by one
_DEEPEST_TWICE = 3  # loops within loops whose bodies are followed twice


@dataclass
class Ends:
    """Where ``break`` and ``continue`` lead from."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


class LoopEnds(Ends):
    """The ends of a loop, to tell them from those of ``switch``."""


class Loops(Outside):
    """Follows loops."""

    ends: list[Ends]
    moved: dict[int, Mapping[str, str]]  # by loop

    @abstractmethod
    def declare_parts(self, names: str, value: Value | None) -> None:
        """Declare the variables of ``auto [a, b] = ...``, by their names in brackets."""

    @abstractmethod
    def run_all(self, block: Block) -> None:
        """Follow a block's statements in the scope that is open."""

    def loop(self, statement: Loop) -> None:
        """Follow a loop."""
        self.frame.scopes.append({})
        outer = self.frame.moving
        if id(statement) not in self.moved:
            self.moved[id(statement)] = _moving(statement)
        self.frame.moving = {**outer, **self.moved[id(statement)]}
        try:
            if statement.start is not None:
                self.run_all(statement.start)
            if statement.variable:
                self._range(statement)
            elif not self._unrolled(statement):
                self._repeated(statement)
        finally:
            self.frame.moving = outer
            self.frame.scopes.pop()

    def _unrolled(self, statement: Loop) -> bool:
        """Follow a counting loop of few turns turn by turn, if it is one."""
        counter = _counter(statement)
        if counter is None or self.loops > 1 or statement.condition is None:
            return False
        path = self.frame.path_of(counter)
        if path is None or not self._few_turns(statement, path):
            return False
        self.loops += 1
        self.ends.append(LoopEnds())
        breaks: list[State] = []
        for _ in range(_MOST_TURNS + 1):
            if not self.state.reachable or symbols.truth(self.evaluate(statement.condition)) is not True:
                break
            self._turn(statement)
            breaks += self.ends[-1].breaks
            self.ends[-1].breaks = []
        self.ends.pop()
        self.loops -= 1
        self.state = meet([*breaks, self.state])
        return True

    def _few_turns(self, statement: Loop, path: str) -> bool:
        """Whether a loop's counter and bound are known, and end it after a few turns."""
        saved = self.state.variables.get(path)
        if saved is None or saved.kind != "known" or statement.condition is None or statement.step is None:
            return False
        turns = 0
        while turns <= _MOST_TURNS:
            holds = symbols.truth(self.evaluate(statement.condition))
            if holds is not True:
                break
            self.evaluate(statement.step)
            turns += 1
        few = holds is False and turns <= _MOST_TURNS
        self.state.variables[path] = saved
        return few

    def _turn(self, statement: Loop) -> None:
        self.run(statement.body)
        if self.ends[-1].continues:
            self.state = meet([*self.ends[-1].continues, self.state])
            self.ends[-1].continues = []
        if statement.step is not None and self.state.reachable:
            self.evaluate(statement.step)

    def _repeated(self, statement: Loop) -> None:
        """Follow a loop twice: the second turn sees what the first did."""
        counter = _counter(statement)
        condition = UNKNOWN
        if statement.condition is not None and not statement.once:
            condition = self.evaluate(statement.condition)
        never = symbols.truth(condition) is False
        if never:
            return
        sure = statement.once or counter is not None or symbols.truth(condition) is True
        before = self.state.copy()
        self._symbolic(counter)
        ends, breaks = self._turns(statement, counter)
        leaves = statement.condition is not None
        self.state = meet([*breaks, *(ends[-1:] if leaves else []), *([] if sure else [before])])
        self._widen(before, [*ends, *breaks])

    def _turns(self, statement: Loop, counter: str | None) -> tuple[list[State], list[State]]:
        self.loops += 1
        self.ends.append(LoopEnds())
        ends: list[State] = []
        try:
            for turn in range(2 if self.loops <= _DEEPEST_TWICE else 1):
                if turn and statement.condition is not None:
                    self.evaluate(statement.condition)
                self._turn(statement)
                if not self.state.reachable:
                    break
                ends.append(self.state.copy())
                self._symbolic(counter)
            return ends, self.ends[-1].breaks
        finally:
            self.ends.pop()
            self.loops -= 1

    def _symbolic(self, counter: str | None) -> None:
        """Let a loop's counter stand for any turn's."""
        if counter is not None and (path := self.frame.path_of(counter)) is not None:
            value = self.state.variables.get(path)
            if value is not None and value.kind == "pointer":  # for (p = table; p->name; p++)
                array = re.sub(r"\[[^\[\]]*\]$", "", str(value.data))
                if self.types.get(array, "").endswith("]") or types.is_array(self.types.get(array, "")):
                    self.state.variables[path] = pointer(self.element_path(array, unknown(counter)), value.type)
                    return
            self.state.variables[path] = unknown(counter, "int")

    def _widen(self, before: State, ends: list[State]) -> None:
        """Make unknown the numbers that turns of a loop change: there may be more turns than were followed."""
        for path, value in before.variables.items():
            if value.kind != "known" or isinstance(value.data, str | bool) or value.data is None:
                continue
            found = {end.variables.get(path, value) for end in ends}
            if len(found) > 1 and all(option.kind == "known" for option in found):
                self.state.variables[path] = unknown(f"{path}~{self.fresh()}", value.type)

    def _range(self, statement: Loop) -> None:
        values = statement.values
        place = self.place(values) if values is not None and not isinstance(values, Invocation) else None
        value = self.evaluate(values) if values is not None and place is None else UNKNOWN
        elements = self.elements(place) if place is not None else value if value.kind == "items" else None
        self.ends.append(LoopEnds())
        self.loops += 1
        before = self.state.copy()
        ends: list[State] = []
        try:
            count = len(elements.data) if elements is not None else 0
            if elements is not None and 0 < count <= _MOST_TURNS:
                for i in range(count):
                    self._bind_range(statement, place, known(i), elements.data[i])
                    self._turn(statement)
                ends.append(self.state)
            else:
                for _ in range(2 if self.loops <= _DEEPEST_TWICE else 1):
                    self._bind_range(statement, place, unknown(f"each {statement.variable}"), None)
                    self._turn(statement)
                    ends.append(self.state.copy())
        finally:
            breaks = self.ends.pop().breaks
            self.loops -= 1
        self.state = meet([*breaks, *ends[-1:]])
        self._widen(before, [*ends, *breaks])

    def _bind_range(self, statement: Loop, place: str | None, index: Value, element: Value | None) -> None:
        name = statement.variable
        path = self.element_path(place, index) if place is not None else f"{name}#{self.frame.turn}"
        if name.startswith("["):  # for (auto &[a, b] : table)
            held = element if place is None or element is None or element.kind == "items" else None
            self.declare_parts(name, held or unknown(path))
            return
        if place is not None:
            self.frame.scopes[-1][name] = path
            return
        self.frame.scopes[-1][name] = path
        self.state.variables[path] = unknown(f"{name}~{self.fresh()}") if element is None else element


def _moving(loop: Loop) -> dict[str, str]:
    """Return the variables that each turn of a loop over groups moves on by some step, with what each is reckoned from.

    Nothing of loops that name no groups: over a batch all pointers may move, too.
    """
    heads = [part for part in (loop.condition, loop.step) if part is not None]
    if not any(_GROUP.search(name) for part in heads for name in _names(part)):
        return {}
    step = [] if loop.step is None else [loop.step, *parts_of(loop.step)]
    stepped = [*step, *all_expressions(loop.body)]
    targets = [e.operands[0] for e in stepped if isinstance(e, Operation) and e.operator in ("++", "--", "+=", "-=")]
    moving = {target.name: target.name for target in targets if isinstance(target, Name)}
    given = [(d.name, d.value) for d in declarations(loop.body) if d.value is not None]
    given += [
        (e.operands[0].name, e.operands[1])
        for e in stepped
        if isinstance(e, Operation) and e.operator == "=" and isinstance(e.operands[0], Name)
    ]
    moved = {}
    for name, value in given:
        reckoned = value.value if isinstance(value, Cast) else value
        if isinstance(reckoned, Operation) and reckoned.operator in ("+", "&x", "*"):
            words = _names(reckoned)
            if not moving.keys().isdisjoint(words):
                moved[name] = next((word for word in words if word not in moving), name)
    return moving | moved


def _names(value: Expression) -> list[str]:
    """Return the names of variables and members in an expression, in order."""
    waiting, found = [value], []
    while waiting:
        current = waiting.pop(0)
        if isinstance(current, Name | Member):
            found.append(current.name)
        waiting = [*parts_of(current), *waiting]
    return found


def _counter(loop: Loop) -> str | None:
    """Return the variable that a loop counts with, if it is a counting loop."""
    step = loop.step
    if loop.condition is None or not isinstance(step, Operation) or step.operator not in ("++", "--", "+=", "-="):
        return None
    target = step.operands[0]
    return target.name if isinstance(target, Name) else None
