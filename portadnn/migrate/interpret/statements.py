"""What statements do: variables, branches, loops."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..model import symbols
from ..model.state import State, meet
from ..program import (
    Alternatives,
    Block,
    Braces,
    Declare,
    Evaluate,
    Expression,
    If,
    Invocation,
    Jump,
    Loop,
    Member,
    Name,
    Operation,
    Statement,
    Switch,
    Try,
)
from ..values import NULL, UNKNOWN, Value, join, known, unknown
from ..versions import demanded
from . import types
from .expressions import DEEPEST
from .memory import Frame
from .outside import Outside

_MOST_TURNS = 8  # of a loop whose turns are followed one by one
_DEEPEST_TWICE = 3  # loops within loops whose bodies are followed twice


class OutOfSteps(Exception):
    """An entry took more steps than it may."""


@dataclass
class _Ends:
    """Where ``break`` and ``continue`` lead from."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


class Statements(Outside):
    """Follows statements."""

    ends: list[_Ends]
    steps: int
    most_steps: int

    def step(self) -> None:
        """Count a step, and end the following of this entry when there were too many."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise OutOfSteps

    def run(self, block: Block) -> None:
        """Follow a block's statements, in a scope of their own."""
        self.frame.scopes.append({})
        try:
            self._run_all(block)
        finally:
            self.frame.scopes.pop()

    def _run_all(self, block: Block) -> None:
        for statement in block.statements:
            if not self.state.reachable:
                if not self.frame.gotos:
                    break
                self.state = meet(self.frame.gotos)
                self.frame.gotos = []
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        self.step()
        if self.depth > DEEPEST:
            return
        self.depth += 1
        try:
            self._follow(statement)
        finally:
            self.depth -= 1

    def _follow(self, statement: Statement) -> None:
        if isinstance(statement, Evaluate):
            self.evaluate(statement.expression, "ignored")
        elif isinstance(statement, Declare):
            self._declare(statement)
        elif isinstance(statement, If):
            self._branches(statement)
        elif isinstance(statement, Block):
            self.run(statement)
        elif isinstance(statement, Loop):
            self._loop(statement)
        elif isinstance(statement, Jump):
            self._jump(statement)
        elif isinstance(statement, Switch):
            self._switch(statement)
        elif isinstance(statement, Alternatives):
            self._alternatives(statement)
        elif isinstance(statement, Try):
            self._try(statement)

    def follow_lambda(self, body: Block) -> None:
        """Follow an anonymous function where it stands: what it returns ends only itself."""
        outer = self.frame
        self.frame = Frame(
            outer.turn, outer.unit, outer.label, outer.function, outer.this, outer.this_class, outer.scopes
        )
        outer_ends, self.ends = self.ends, []
        try:
            self.run(body)
        finally:
            returned = [state for state, _ in self.frame.returned]
            self.frame, self.ends = outer, outer_ends
        if returned:
            self.state = meet([*returned, self.state])

    # Variables --------------------------------------------------------------------------------------------------

    def _declare(self, statement: Declare) -> None:
        path = f"{statement.name}#{self.frame.turn}"
        value: Value | None = None
        reference = statement.type.rstrip().endswith("&")
        if statement.value is not None:
            if reference and (target := self._reference(statement.value)) is not None:
                self.frame.scopes[-1][statement.name] = target
                self.types.setdefault(target, statement.type)
                return
            use = f"assigned {statement.name}" if isinstance(statement.value, Invocation) else "checked"
            value = self.evaluate(statement.value, use)
        if re.search(r"(?:^|::)j?thread$", types.bare(statement.type)) and statement.arguments:
            self.start_thread(statement.arguments)
            return
        self.frame.scopes[-1][statement.name] = path
        self.frame.declared.append(path)
        self.types[path] = self._declared_type(statement, value)
        for inner in [path, *self.children.pop(path, ())]:
            self.state.variables.pop(inner, None)
        if statement.array:
            self._declare_array(path, statement, value)
        elif value is not None:
            self._give(path, statement, value)
        else:
            self._make(path, statement)

    def _reference(self, expression: Expression) -> str | None:
        if isinstance(expression, Invocation):
            return None
        return self.place(expression)

    def _declared_type(self, statement: Declare, value: Value | None) -> str:
        type_ = statement.type
        if not types.bare(type_) and value is not None:  # auto
            inner = types.bare(value.type)
            type_ = f"{inner} *" if value.kind == "pointer" and inner else inner
        return type_ + "[]" * len(statement.array)

    def _declare_array(self, path: str, statement: Declare, value: Value | None) -> None:
        sizes = [UNKNOWN if size is None else self.evaluate(size) for size in statement.array]
        if value is not None and value.kind == "items":
            self.write_elements(path, list(value.data))
        if sizes and sizes[0].kind == "known":
            self.write(f"{path}.#length", sizes[0])
            count = sizes[0].data
            if value is not None and value.kind == "items" and isinstance(count, int) and len(value.data) < count <= 8:
                for i in range(len(value.data), count):
                    self.write(self.element_path(path, known(i)), known(0, types.bare(statement.type)))

    def _give(self, path: str, statement: Declare, value: Value) -> None:
        type_ = statement.type
        class_ = self.class_at(path)
        if class_ is not None and not types.pointee(self.types[path]):
            returned = isinstance(statement.value, Invocation) and value.kind == "unknown" and value.data is not None
            self.frame.objects.append((str(value.data) if returned else path, class_.name))
        if value.kind == "items" and class_ is not None and not types.pointee(type_):
            arguments = statement.value.values if isinstance(statement.value, Braces) else ()
            if self.index.special(class_.name, "constructor"):
                self.construct(path, class_.name, arguments)
                return
        self.assign(path, self.cast(value, type_) if types.bare(type_) else value)

    def _make(self, path: str, statement: Declare) -> None:
        type_ = statement.type
        class_ = self.index.class_of(type_)
        if types.is_array(type_):
            values = [self.evaluate(argument) for argument in statement.arguments]
            if len(values) == 1 and values[0].kind == "items":
                self.write_elements(path, list(values[0].data))
            else:
                self.set_length(path, values[0] if values else known(0, "size_t"), type_)
        elif types.is_smart(type_):
            values = [self.evaluate(argument) for argument in statement.arguments]
            self.state.variables[path] = values[0] if values else NULL
        elif class_ is not None and not types.pointee(type_):
            self.frame.objects.append((path, class_.name))
            self.construct(path, class_.name, statement.arguments)
        else:
            values = [self.evaluate(argument) for argument in statement.arguments]
            if len(values) == 1:
                self.assign(path, self.cast(values[0], type_))

    # Branches ---------------------------------------------------------------------------------------------------

    def _branches(self, statement: If) -> None:
        """Follow a chain of ``if``, ``else if`` and ``else`` without recursion."""
        self.guards += 1
        try:
            self._chain(statement)
        finally:
            self.guards -= 1

    def _chain(self, statement: If) -> None:
        ends: list[State] = []
        current: If | None = statement
        while current is not None:
            condition = self.evaluate(current.condition)
            holds = symbols.truth(condition)
            if holds is None:
                before = self.state.copy()
                self._narrow(current.condition, holds=True)
                self.run(current.then)
                ends.append(self.state)
                self.state = before
                self._narrow(current.condition, holds=False)
            elif holds:
                self.run(current.then)
                break
            following = current.otherwise
            current = None
            if following is not None:
                only = following.statements[0] if len(following.statements) == 1 else None
                if isinstance(only, If):
                    current = only
                else:
                    self.run(following)
        self.state = meet([*ends, self.state])

    def _narrow(self, condition: Expression, *, holds: bool) -> None:
        """Note what a simple condition says of a variable."""
        if isinstance(condition, Operation):
            if condition.operator == "!" and len(condition.operands) == 1:
                self._narrow(condition.operands[0], holds=not holds)
            elif condition.operator == ("&&" if holds else "||"):
                for operand in condition.operands:
                    self._narrow(operand, holds=holds)
            elif condition.operator in ("==", "!=") and len(condition.operands) == 2:
                self._narrow_equal(condition.operands, equal=(condition.operator == "==") == holds)
        elif isinstance(condition, Name | Member):
            self._narrow_to(condition, NULL, equal=not holds)

    def _narrow_equal(self, operands: tuple[Expression, ...], *, equal: bool) -> None:
        for variable, other in (operands, operands[::-1]):
            if isinstance(variable, Name | Member) and not isinstance(other, Invocation):
                value = self.evaluate(other)
                if value.kind == "known":
                    self._narrow_to(variable, value, equal=equal)
                    return

    def _narrow_to(self, variable: Expression, value: Value, *, equal: bool) -> None:
        path = self.place(variable)
        if path is None:
            return
        old = self.state.variables.get(path)
        if old is None:
            return
        if old.kind == "one of":
            fitting = [option for option in old.options if _is(option, value) is not (not equal)]
            if fitting:
                self.state.variables[path] = join(fitting)
        elif equal and old.kind == "unknown" and not value.is_null:
            self.state.variables[path] = symbols.with_origins(value, old)

    def _alternatives(self, statement: Alternatives) -> None:
        before, ends = self.state, []
        for condition, block in statement.branches:
            self.state = before.copy()
            version = demanded(condition)
            if version is not None:
                self.versions.append(version)
            self._run_all(block)  # no scope of its own: what it declares is seen behind it
            if version is not None:
                self.versions.pop()
            ends.append(self.state)
        self.state = meet(ends if statement.complete and ends else [*ends, before])

    def _switch(self, statement: Switch) -> None:
        value = self.evaluate(statement.value)
        self.ends.append(_Ends())
        before, current = self.state, State(reachable=False)
        default = False
        chosen = self._chosen(statement, value)
        for i, (labels, block) in enumerate(statement.cases):
            default = default or not labels
            enters = chosen is None or i == chosen
            self.state = meet([before.copy(), current]) if enters else current
            if enters and chosen is None and len(labels) == 1 and isinstance(statement.value, Name | Member):
                label = self.evaluate(labels[0])
                if label.kind == "known" and not current.reachable:
                    self._narrow_to(statement.value, label, equal=True)
            if self.state.reachable:
                self.run(block)
            current = self.state
        breaks = self.ends.pop().breaks
        skipped = [] if default or (chosen is not None and chosen >= 0) else [before]
        self.state = meet([*breaks, current, *skipped])

    def _chosen(self, statement: Switch, value: Value) -> int | None:
        """Return the case that a known value leads to; -1 for none, None where that is not known."""
        if value.kind != "known":
            return None
        default = -1
        for i, (labels, _) in enumerate(statement.cases):
            if not labels:
                default = i
            for label in labels:
                is_it = _is(self.evaluate(label), value)
                if is_it is None:
                    return None
                if is_it:
                    return i
        return default

    def _try(self, statement: Try) -> None:
        before = self.state.copy()
        self.run(statement.body)
        after = self.state
        ends = [after]
        for handler in statement.handlers:
            self.state = meet([before.copy(), after.copy()])
            self.run(handler)
            ends.append(self.state)
        self.state = meet(ends)

    def _jump(self, statement: Jump) -> None:
        value = UNKNOWN if statement.value is None else self.evaluate(
            statement.value, "returned" if statement.kind == "return" else "checked")  # fmt: skip
        if statement.kind == "return":
            self.frame.returned.append((self.state, value))
        elif statement.kind == "goto":
            self.frame.gotos.append(self.state.copy())
        elif statement.kind == "break" and self.ends:
            self.ends[-1].breaks.append(self.state)
        elif statement.kind == "continue" and self.ends:
            loops = [ends for ends in self.ends if isinstance(ends, _LoopEnds)]
            if loops:
                loops[-1].continues.append(self.state)
        self.state = State(reachable=False)

    # Loops ------------------------------------------------------------------------------------------------------

    def _loop(self, statement: Loop) -> None:
        self.frame.scopes.append({})
        try:
            if statement.start is not None:
                self._run_all(statement.start)
            if statement.variable:
                self._range(statement)
            elif not self._unrolled(statement):
                self._repeated(statement)
        finally:
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
        self.ends.append(_LoopEnds())
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
        self.ends.append(_LoopEnds())
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
        self.ends.append(_LoopEnds())
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
        if place is not None:
            path = self.element_path(place, index)
            self.frame.scopes[-1][name] = path
            return
        path = f"{name}#{self.frame.turn}"
        self.frame.scopes[-1][name] = path
        self.state.variables[path] = unknown(f"{name}~{self.fresh()}") if element is None else element


class _LoopEnds(_Ends):
    """The ends of a loop, to tell them from those of ``switch``."""


def _is(option: Value, value: Value) -> bool | None:
    if option.is_null and value.is_null:
        return True
    return symbols.truth(symbols.operate("==", option, value))


def _counter(loop: Loop) -> str | None:
    """Return the variable that a loop counts with, if it is a counting loop."""
    step = loop.step
    if loop.condition is None or not isinstance(step, Operation) or step.operator not in ("++", "--", "+=", "-="):
        return None
    target = step.operands[0]
    return target.name if isinstance(target, Name) else None
