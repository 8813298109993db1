"""What statements do, one after the other: blocks, anonymous functions, ``try``, jumps."""

from __future__ import annotations

from dataclasses import replace

from ..model.state import State, meet
from ..program import (
    Alternatives,
    Block,
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
    Statement,
    Switch,
    Try,
)
from ..values import UNKNOWN, Value, unknown
from .branches import Branches
from .frame import Frame
from .loops import LoopEnds
from .places import DEEPEST


class OutOfSteps(Exception):
    """An entry took more steps than it may."""


_DEEPEST_LAMBDA = 3  # anonymous functions that call each other


class Statements(Branches):
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
            self.declare(statement)
        elif isinstance(statement, If):
            self.branches(statement)
        elif isinstance(statement, Block):
            self.run(statement)
        elif isinstance(statement, Loop):
            self.loop(statement)
        elif isinstance(statement, Jump):
            self._jump(statement)
        elif isinstance(statement, Switch):
            self.switch(statement)
        elif isinstance(statement, Alternatives):
            self.alternatives(statement)
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
