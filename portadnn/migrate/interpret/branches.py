"""What branches do: ``if``, ``switch`` and the preprocessor's, and what their conditions say of variables."""

from __future__ import annotations

from dataclasses import replace

from ..model import symbols
from ..model.state import State, meet
from ..program import Alternatives, Constant, Expression, If, Invocation, Member, Name, Operation, Switch
from ..values import NULL, UNKNOWN, Value, join
from ..versions import demanded
from .declaring import Declaring
from .facts import is_own_enumerator
from .loops import Ends


class Branches(Declaring):
    """Follows branches."""

    def branches(self, statement: If) -> None:
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
                self.assume(current.condition, holds=True)
                self._narrow(current.condition, holds=True)
                self.run(current.then)
                ends.append(self.state)
                self.state = before
                self.assume(current.condition, holds=False)
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
        ends.append(self.state)
        self._mark_instead(start, find, ends)
        self.state = meet(ends)
        self.note_choices(ends)

    def _mark_instead(self, start: int, find: int, ends: list[State]) -> None:
        """Note of an algorithm that one branch fixes, where another has a search's, which search it stands for."""
        for path in [path for path, when in self.fixed.items() if when > start]:
            values = [end.variables.get(path, UNKNOWN) for end in ends]
            origins = [number for value in values for option in value.options for number in option.origins]
            found = [number for number in origins if number > find or self._is_search(number)]
            for end, value in zip(ends, values, strict=True):
                if found and value.kind == "known":
                    behind = (found[0],) if found[0] <= find else ()  # the search ran in this branch, too
                    end.variables[path] = replace(value, origins=(-found[0], *behind))

    def _is_search(self, number: int) -> bool:
        """Whether a call is a search."""
        return number in self.journal and "Find" in self.journal[number].event.function

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
            elif isinstance(variable, Invocation) and not variable.arguments and isinstance(other, Name):  # mode()
                value = self.evaluate(other)
                if value.kind == "known":
                    self._narrow_fields(self.evaluate(variable), value, equal=equal)
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
            self._narrow_fields(old, value, equal=equal)
        elif equal and old.kind == "unknown" and fixes and (not value.is_null or is_own_enumerator(value)):
            self.state.variables[path] = symbols.with_origins(value, old)

    def _narrow_fields(self, old: Value, value: Value, *, equal: bool) -> None:
        """Note that what descriptors were set to, too, is, or is not, a value: where they may be the very same ones."""
        options = set(old.options)
        fitting = [option for option in old.options if _is(option, value) is not (not equal)]
        if len(options) < 2 or not fitting or not all(isinstance(option.data, str) for option in fitting):
            return
        for id_, thing in self.state.things.items():
            fields = {name: join(fitting) for name, one in thing.fields.items() if set(one.options) == options}
            if fields:
                self.state.things[id_] = replace(thing, fields={**thing.fields, **fields})

    def alternatives(self, statement: Alternatives) -> None:
        """Follow the branches of the preprocessor, each from the same state."""
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

    def switch(self, statement: Switch) -> None:
        """Follow a ``switch``: the case that its value leads to, or all of them."""
        value = self.evaluate(statement.value)
        self.ends.append(Ends())
        before, current = self.state, State(reachable=False)
        default, start, find = False, self.fresh(), self.last_find
        chosen = self._chosen(statement, value)
        labels_of = [[self.evaluate(label) for label in labels] for labels, _ in statement.cases]
        for i, (labels, block) in enumerate(statement.cases):
            default = default or not labels
            enters = chosen is None or i == chosen
            self.state = before.copy()
            if enters and chosen is None:
                others = (one for j, values in enumerate(labels_of) if j != i for one in values)
                self.assume_case(value, labels_of[i], others)
            self.state = meet([self.state, current]) if enters else current
            if enters and chosen is None and len(labels) == 1 and isinstance(statement.value, Name | Member):
                label = labels_of[i][0]
                if label.kind == "known" and not current.reachable:
                    self._narrow_to(statement.value, label, equal=True, case=True)
            if self.state.reachable:
                self.run(block)
            current = self.state
        breaks = self.ends.pop().breaks
        skipped = [] if default or (chosen is not None and chosen >= 0) else [before]
        ends = [end for end in [*breaks, current, *skipped] if end.reachable]
        if self.last_find > find:
            self._mark_instead(start, find, ends)
        self.state = meet(ends)
        self.note_choices(ends)

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


def _is(option: Value, value: Value) -> bool | None:
    if option.is_null and value.is_null:
        return True
    return symbols.truth(symbols.operate("==", option, value))
