"""What is directly inside statements and expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..program import (
    Alternatives,
    Block,
    Braces,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Expression,
    Function,
    If,
    Index,
    Invocation,
    Jump,
    Lambda,
    Loop,
    Member,
    Name,
    Operation,
    Statement,
    Switch,
    Try,
    Unclear,
)

ENUMERATOR = re.compile(r"(?:CUDNN_[A-Z]|miopen[A-Z])\w*$")
ASSIGNMENTS = frozenset({"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield the expressions directly inside another."""
    if isinstance(expression, Member):
        yield expression.base
    elif isinstance(expression, Index):
        yield expression.base
        yield expression.index
    elif isinstance(expression, Operation):
        yield from expression.operands
    elif isinstance(expression, Cast):
        yield expression.value
    elif isinstance(expression, Braces):
        yield from expression.values
    elif isinstance(expression, Invocation):
        yield expression.callee
        yield from expression.arguments
    elif isinstance(expression, Unclear):
        yield from expression.parts


def has_calls(expression: Expression) -> bool:
    """Whether there is a call, an assignment or an anonymous function in an expression."""
    waiting = [expression]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Invocation | Lambda):
            return True
        if isinstance(current, Operation) and (
            current.operator in ASSIGNMENTS or current.operator in ("=", "++", "--")
        ):
            return True
        waiting.extend(parts_of(current))
    return False


def declarations(block: Block) -> Iterator[Declare]:
    """Yield the variables that a block declares."""
    waiting: list[Statement] = [block]
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, Declare):
            yield statement
        elif not isinstance(statement, Evaluate):
            waiting.extend(substatements(statement))


def substatements(statement: Statement) -> Iterator[Statement]:
    """Yield the statements directly inside another."""
    if isinstance(statement, Block):
        yield from statement.statements
    elif isinstance(statement, If):
        yield statement.then
        if statement.otherwise is not None:
            yield statement.otherwise
    elif isinstance(statement, Alternatives):
        yield from (block for _, block in statement.branches)
    elif isinstance(statement, Loop):
        yield from (block for block in (statement.start, statement.body) if block is not None)
    elif isinstance(statement, Switch):
        yield from (block for _, block in statement.cases)
    elif isinstance(statement, Try):
        yield statement.body
        yield from statement.handlers


def expressions_in(statement: Statement) -> Iterator[Expression]:
    """Yield the expressions directly inside a statement, those of statements inside it left out."""
    if isinstance(statement, Declare):
        yield from (size for size in statement.array if size is not None)
        yield from statement.arguments
        if statement.value is not None:
            yield statement.value
    elif isinstance(statement, Evaluate):
        yield statement.expression
    elif isinstance(statement, If):
        yield statement.condition
    elif isinstance(statement, Loop):
        yield from (part for part in (statement.condition, statement.step, statement.values) if part is not None)
    elif isinstance(statement, Switch):
        yield statement.value
        yield from (value for values, _ in statement.cases for value in values)
    elif isinstance(statement, Jump) and statement.value is not None:
        yield statement.value


def statements_in(block: Block) -> Iterator[Statement]:
    """Yield every statement in a block, those within others too."""
    waiting: list[Statement] = [block]
    while waiting:
        statement = waiting.pop()
        yield statement
        waiting.extend(substatements(statement))


def returned(block: Block) -> Iterator[Expression]:
    """Yield what a function returns."""
    for statement in statements_in(block):
        if isinstance(statement, Jump) and statement.kind == "return" and statement.value is not None:
            yield statement.value


def loop_variables(block: Block) -> Iterator[tuple[str, Expression]]:
    """Yield the variables of loops over ranges, each with the range."""
    for statement in statements_in(block):
        if isinstance(statement, Loop) and statement.variable and statement.values is not None:
            yield statement.variable, statement.values


def all_expressions(block: Block) -> Iterator[Expression]:
    """Yield every expression in a block, those within others too."""
    statements: list[Statement] = [block]
    while statements:
        statement = statements.pop()
        statements.extend(substatements(statement))
        waiting = list(expressions_in(statement))
        while waiting:
            current = waiting.pop()
            yield current
            if isinstance(current, Lambda):
                statements.append(current.body)
            else:
                waiting.extend(parts_of(current))


def assigned_names(block: Block, *, only_members: bool = False) -> Iterator[str]:
    """Yield the names of the variables and members that a block sets, or only those set through an object."""
    for expression in all_expressions(block):
        if isinstance(expression, Operation) and (
            expression.operator in ASSIGNMENTS or expression.operator in ("=", "++", "--")
        ):
            target = expression.operands[0]
            while isinstance(target, Index | Member):
                if isinstance(target, Member):
                    yield target.name
                target = target.base
            if isinstance(target, Name) and not only_members:
                yield target.name


def pointed_at(block: Block) -> Iterator[str]:
    """Yield the names of variables and members whose addresses a block takes: something may write there."""
    for expression in all_expressions(block):
        if isinstance(expression, Operation) and expression.operator == "&x":
            target = expression.operands[0]
            if isinstance(target, Member | Name):
                yield target.name


def given_members(function: Function) -> Iterator[tuple[str, str, Expression]]:
    """Yield what a function gives members: the class, "" where an object's is not known, the name, the value."""
    if function.owner:
        for name, arguments, _ in function.initializers:
            if len(arguments) == 1:
                yield function.owner, name, arguments[0]
    local = {parameter.name: parameter.type for parameter in function.parameters}
    local |= {declared.name: declared.type for declared in declarations(function.body)}
    for expression in all_expressions(function.body):
        if isinstance(expression, Operation) and expression.operator == "=":
            target, value = expression.operands
            if isinstance(target, Member):
                base = target.base.name if isinstance(target.base, Name) else ""
                yield function.owner if base == "this" else _class_in(local.get(base, "")), target.name, value
                if base and base != "this" and function.owner and base not in local:  # of an object that is a member
                    yield function.owner, f"{base}.{target.name}", value
            elif isinstance(target, Name) and target.name not in local:  # of a free function a variable of the file
                yield function.owner or "::", target.name, value


def _class_in(type_: str) -> str:
    """Return what may be the name of a class in a type; "" of ``auto`` and of templates."""
    name = re.sub(r"\b(?:const|struct|class)\b|[*&\s]", "", type_)
    return "" if name in ("auto", "") or not re.fullmatch(r"[\w:]+", name) else name


def given_arguments(function: Function) -> Iterator[tuple[str, tuple[Expression, ...]]]:
    """Yield what a function gives others: their names, those of the classes of objects that it makes, the arguments."""
    for expression in all_expressions(function.body):
        if isinstance(expression, Invocation) and isinstance(expression.callee, Name | Member) and expression.arguments:
            yield expression.callee.name.partition("<")[0].rpartition("::")[2], expression.arguments
    for declared in declarations(function.body):
        if declared.arguments:
            yield declared.type.partition("<")[0].rpartition("::")[2], declared.arguments
    for name, arguments, _ in function.initializers:
        yield name.partition("<")[0].rpartition("::")[2], arguments


def named_arguments(function: Function) -> Iterator[str]:
    """Yield the names that a function hands over by themselves: of variables, and of functions."""
    for expression in all_expressions(function.body):
        if isinstance(expression, Invocation):
            for argument in expression.arguments:
                name = (
                    argument.operands[0] if isinstance(argument, Operation) and argument.operator == "&x" else argument
                )
                if isinstance(name, Name):
                    yield name.name.rpartition("::")[2]


def enumerators(value: Expression) -> list[str]:
    """Return the enumerators of a library that an expression is one of; "" for anything else."""
    if isinstance(value, Operation) and value.operator == "?:" and len(value.operands) == 3:
        return [name for operand in value.operands[1:] for name in enumerators(operand)]
    if isinstance(value, Cast):
        return enumerators(value.value)
    return [value.name if isinstance(value, Name) and ENUMERATOR.match(value.name) else ""]


def numbers_in(value: Expression) -> Iterator[Constant]:
    """Yield the numbers that an expression is: itself, or either one of ``x ? 1 : 0``."""
    if isinstance(value, Cast):
        yield from numbers_in(value.value)
    elif isinstance(value, Operation) and value.operator == "?:":
        for operand in value.operands[1:]:
            yield from numbers_in(operand)
    elif isinstance(value, Constant) and isinstance(value.value, int | float):
        yield value


def read_names(block: Block) -> Iterator[str]:
    """Yield the names of the variables that a block reads."""
    written: list[Expression] = []
    for expression in all_expressions(block):
        if isinstance(expression, Operation) and expression.operator == "=":
            written.append(expression.operands[0])
        elif isinstance(expression, Name | Member) and not any(expression is target for target in written):
            yield expression.name
