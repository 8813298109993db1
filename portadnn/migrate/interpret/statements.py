"""What statements do: variables, branches, loops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..model import symbols
from ..model.state import State, meet
from ..program import (
    Alternatives,
    Block,
    Braces,
    Constant,
    Declare,
    Evaluate,
    Expression,
    If,
    Index,
    Invocation,
    Jump,
    Lambda,
    Loop,
    Member,
    Name,
    Operation,
    Span,
    Statement,
    Switch,
    Try,
)
from ..values import NULL, UNKNOWN, Value, join, known, unknown
from ..versions import demanded
from . import types
from .expressions import DEEPEST
from .loops import Ends, LoopEnds, Loops
from .memory import Frame


class OutOfSteps(Exception):
    """An entry took more steps than it may."""


_DEEPEST_LAMBDA = 3  # anonymous functions that call each other


class Statements(Loops):
    """Follows statements."""

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
            self.run_all(block)
        finally:
            self.frame.scopes.pop()

    def run_all(self, block: Block) -> None:
        """Follow a block's statements in the scope that is open."""
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
            self.loop(statement)
        elif isinstance(statement, Jump):
            self._jump(statement)
        elif isinstance(statement, Switch):
            self._switch(statement)
        elif isinstance(statement, Alternatives):
            self._alternatives(statement)
        elif isinstance(statement, Try):
            self._try(statement)

    def follow_lambda(self, expression: Lambda) -> Value:
        """Follow an anonymous function where it stands; return a value that stands for it where it is called."""
        self.last_lambda = self._run_lambda(expression.body, self.frame.turn, self.frame.scopes, self.frame)
        key = f"lambda~{self.fresh()}"
        self.lambdas[key] = (expression, list(self.frame.scopes), self.frame)
        return unknown(key)

    def call_lambda(self, key: str, call: Invocation) -> Value:
        """Follow an anonymous function with the arguments of a call."""
        expression, scopes, around = self.lambdas[key]
        values = [self.evaluate(argument) for argument in call.arguments]
        if self.lambda_depth >= _DEEPEST_LAMBDA:
            for value in values:
                self.lose(value)
            return UNKNOWN
        self.turns += 1
        own: dict[str, str] = {}
        for parameter, argument, value in zip(expression.body.statements, call.arguments, values, strict=False):
            if not isinstance(parameter, Declare):
                break
            place = self.place(argument) if parameter.type.rstrip().endswith("&") and _is_place(argument) else None
            own[parameter.name] = place or f"{parameter.name}#{self.turns}"
            if place is None:
                self.types[own[parameter.name]] = parameter.type
                self.state.variables[own[parameter.name]] = value
        given = min(len(call.arguments), expression.parameters)  # the others have default arguments
        body = replace(expression.body, statements=expression.body.statements[given:])
        self.lambda_depth += 1
        self.through.append(self.place_of(call.span))
        try:
            return self._run_lambda(body, self.turns, [*scopes, own], around)
        finally:
            self.lambda_depth -= 1
            self.through.pop()

    def _run_lambda(self, body: Block, turn: int, scopes: list[dict[str, str]], around: Frame) -> Value:
        """Follow the body of an anonymous function, which stands in `around`: what it returns ends only itself."""
        outer = self.frame
        self.frame = Frame(turn, around.unit, around.label, around.function, around.this, around.this_class, scopes)
        outer_ends, self.ends = self.ends, []
        try:
            self.run(body)
        finally:
            returned, self.frame, self.ends = self.frame.returned, outer, outer_ends
        if returned:
            self.state = meet([*(state for state, _ in returned), self.state])
        return self.joined(value for _, value in returned) if returned else UNKNOWN

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
            self.types.setdefault(path, statement.type)  # for T one = T(1), whose T is a type then
            self.frame.declared.append(path)
            value = self.evaluate(statement.value, use)
        if re.search(r"(?:^|::)j?thread$", types.bare(statement.type)) and statement.arguments:
            self.start_thread(statement.arguments)
            return
        if statement.name.startswith("["):
            self.declare_parts(statement.name, value)
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

    def declare_parts(self, names: str, value: Value | None) -> None:
        """Declare the variables of ``auto [a, b] = ...``, by their names in brackets."""
        given = self._items_of(value)
        places = self._parts_of(value) if value is not None and not given else []
        for i, name in enumerate(names.strip("[]").split(",")):
            path = f"{name}#{self.frame.turn}"
            self.frame.scopes[-1][name] = path
            self.frame.declared.append(path)
            self.types[path] = ""
            self.state.variables.pop(path, None)
            if i < len(given):
                self.state.variables[path] = given[i]
            elif i < len(places):
                self.frame.scopes[-1][name] = places[i]

    def _items_of(self, value: Value | None) -> Sequence[Value]:
        """Return the parts of braces or of a tuple; of one of several, what each part may be."""
        rows = [option.data for option in value.options if option.kind == "items"] if value is not None else []
        if value is None or not rows or len(rows) < len(value.options) or len({len(row) for row in rows}) > 1:
            return ()
        return [self.joined(column) for column in zip(*rows, strict=True)]

    def _parts_of(self, value: Value) -> list[str]:
        """Return the paths of the parts of an object that ``auto [a, b]`` names."""
        base = str(value.data) if value.kind in ("unknown", "pointer") and value.data is not None else ""
        if f"{base}.first" in self.state.variables or types.is_pair(self.types.get(base, "")):
            return [self.member_path(base, "first"), self.member_path(base, "second")]
        class_ = self.class_at(base) if base else None
        return [] if class_ is None else [self.member_path(base, m.name) for m in self.index.members(class_.name)]

    def _reference(self, expression: Expression) -> str | None:
        if isinstance(expression, Invocation):
            return None
        return self.place(expression)

    def _declared_type(self, statement: Declare, value: Value | None) -> str:
        type_ = statement.type
        if not types.bare(type_) and value is not None:  # auto
            inner = types.bare(value.type)
            type_ = f"{inner} *" if value.kind == "pointer" and inner else inner
        type_ = self.frame.generic.get(types.bare(type_), type_)
        return self.index.concrete(type_) + "[]" * len(statement.array)

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
        type_ = self.types[path]
        class_ = self.index.class_of(type_)
        if types.is_map(type_):
            for argument in statement.arguments:
                self.assign(path, self.evaluate(argument))
        elif types.is_array(type_):
            values = [self.evaluate(argument) for argument in statement.arguments]
            fixed = types.template_arguments(types.bare(type_))
            if len(values) == 1 and values[0].kind == "items" and not _is_range(values[0].data):
                self.write_elements(path, list(values[0].data))
            elif not values and len(fixed) == 2 and not types.is_map(type_) and "array" in type_:
                self.write(f"{path}.#length", self.length_of(fixed[1], statement.span))
            else:
                length = values[0] if values else known(0, "size_t")
                self.set_length(path, UNKNOWN if length.kind == "items" else length, type_)
                if len(values) == 2:
                    self.fill(path, values[1])
        elif types.is_smart(type_) and not types.is_pair(type_):
            values = [self.evaluate(argument) for argument in statement.arguments]
            self.state.variables[path] = values[0] if values else NULL
        elif class_ is not None and not types.pointee(type_):
            self.frame.objects.append((path, class_.name))
            self.construct(path, class_.name, statement.arguments)
        else:
            values = [self.evaluate(argument) for argument in statement.arguments]
            if len(values) == 1:
                self.assign(path, self.cast(values[0], type_))

    def length_of(self, text: str, span: Span) -> Value:
        """Return the length that a ``std::array`` has by its type: a number, or a constant of the program."""
        if text.isdigit():
            return known(int(text), "size_t")
        return self.evaluate(Name(text, span)) if re.fullmatch(r"[\w:]+", text) else UNKNOWN

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
        start, find = self.fresh(), self.last_find
        current: If | None = statement
        while current is not None:
            condition = self.evaluate(current.condition)
            holds = symbols.truth(condition)
            if self.every_branch and not isinstance(current.condition, Constant):
                holds = None
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
        if self.last_find > find:
            self._mark_instead(start, find, [*ends, self.state])
        self.state = meet([*ends, self.state])

    def _mark_instead(self, start: int, find: int, ends: list[State]) -> None:
        """Note of an algorithm that one branch fixes, where another searches for it, which search it stands for."""
        for path in [path for path, when in self.fixed.items() if when > start]:
            values = [end.variables.get(path, UNKNOWN) for end in ends]
            found = [number for value in values for number in value.origins if number > find]
            for end, value in zip(ends, values, strict=True):
                if found and value.kind == "known":
                    end.variables[path] = replace(value, origins=(-found[0],))

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

    def _narrow_to(self, variable: Expression, value: Value, *, equal: bool, case: bool = False) -> None:
        """Note that a variable is, or is not, a value; an algorithm that is compared with one is not fixed by that.

        In a case of a ``switch`` one of MIOpen's is: from outside of a search, as it is told from the others.
        """
        fixes = not symbols.ALGORITHM.match(str(value.data)) or (case and str(value.data).startswith("miopen"))
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
        elif equal and old.kind == "unknown" and not value.is_null and fixes:
            self.state.variables[path] = symbols.with_origins(value, old)

    def _alternatives(self, statement: Alternatives) -> None:
        before, ends, start = self.state, [], self.fresh()
        for condition, block in statement.branches:
            self.state = before.copy()
            self._as_decided(condition)
            version = demanded(condition)
            if version is not None:
                self.versions.append(version)
            self.run_all(block)  # no scope of its own: what it declares is seen behind it
            if version is not None:
                self.versions.pop()
            ends.append(self.state)
        self._mark_instead(start, 0, ends if statement.complete else [*ends, before])
        self._keep_decided([condition for condition, _ in statement.branches], before, ends)
        self.state = meet(ends if statement.complete and ends else [*ends, before])

    def _keep_decided(self, conditions: list[str], before: State, ends: list[State]) -> None:
        """Note the values that only some branches of the preprocessor give: they do not meet those of the others."""
        changed = {
            path
            for end in ends
            for path, value in end.variables.items()
            if value.kind in ("known", "one of") and before.variables.get(path) != value
        }
        for path in changed:
            given = [set(end.variables[path].options) if path in end.variables else set() for end in ends]
            for i, condition in enumerate(conditions):
                others = set().union(*(options for j, options in enumerate(given) if j != i)) - given[i]
                self.frame.decided.setdefault(condition, {})[path] = frozenset(others)

    def _as_decided(self, condition: str) -> None:
        """Leave out the values that variables have where another branch of the same condition is compiled."""
        for path, others in self.frame.decided.get(condition, {}).items():
            value = self.state.variables.get(path)
            if value is not None and value.kind == "one of":
                left = [option for option in value.options if option not in others]
                if left:
                    self.state.variables[path] = join(left)

    def _switch(self, statement: Switch) -> None:
        value = self.evaluate(statement.value)
        self.ends.append(Ends())
        before, current = self.state, State(reachable=False)
        default, start, find = False, self.fresh(), self.last_find
        chosen = self._chosen(statement, value)
        for i, (labels, block) in enumerate(statement.cases):
            default = default or not labels
            enters = chosen is None or i == chosen
            self.state = meet([before.copy(), current]) if enters else current
            if enters and chosen is None and len(labels) == 1 and isinstance(statement.value, Name | Member):
                label = self.evaluate(labels[0])
                if label.kind == "known" and not current.reachable:
                    self._narrow_to(statement.value, label, equal=True, case=True)
            if self.state.reachable:
                self.run(block)
            current = self.state
        breaks = self.ends.pop().breaks
        skipped = [] if default or (chosen is not None and chosen >= 0) else [before]
        if self.last_find > find:
            self._mark_instead(start, find, [end for end in [*breaks, current, *skipped] if end.reachable])
        self.state = meet([*breaks, current, *skipped])

    def _chosen(self, statement: Switch, value: Value) -> int | None:
        """Return the case that a known value leads to; -1 for none, None where that is not known."""
        if value.kind != "known" or self.every_branch:
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
            loops = [ends for ends in self.ends if isinstance(ends, LoopEnds)]
            if loops:
                loops[-1].continues.append(self.state)
        self.state = State(reachable=False)


def _is_place(expression: Expression) -> bool:
    return isinstance(expression, Name | Member | Index)


def _is(option: Value, value: Value) -> bool | None:
    if option.is_null and value.is_null:
        return True
    return symbols.truth(symbols.operate("==", option, value))


def _is_range(values: Sequence[Value]) -> bool:
    """Whether values in braces are the two ends of an array: ``{data, data + n}``."""
    if len(values) != 2 or not all(value.kind in ("unknown", "pointer") and value.data for value in values):
        return False
    return values[0].data != values[1].data and str(values[0].data) in str(values[1].data)
