"""A check of sources about a Find that runs once (:mod:`sources`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...program import (
    Block,
    Constant,
    Expression,
    Function,
    If,
    Invocation,
    Loop,
    Member,
    Name,
    Operation,
    Unit,
)
from ..registry import source_check
from ..situation import SourceHit
from ..walking import inside, invocations, plain, variable, walk

_FINDS = re.compile(r"^(?:cudnnFindConvolution\w+|cudnnGetConvolution\w+Algorithm(?:_v7)?|miopenFindConvolution\w+)$")
_SETS = re.compile(r"^(?:cudnnSetTensor|miopenSet(?:4d|Nd)?Tensor)\w*Descriptor\w*$")


def _calls(node: Any, pattern: re.Pattern[str]) -> Iterator[Invocation]:
    return (one for one in invocations(node) if pattern.match(variable(one.callee)))


@source_check("flag", "descriptor", "where")
def found_once(unit: Unit) -> Iterator[SourceHit]:
    """Find a Find that a flag lets run once, while descriptors are set again."""
    finding = {plain(f.name) for f in unit.functions if any(_FINDS.match(plain(name)) for name in f.calls)}
    for function in unit.functions if finding else ():
        if not any(_FINDS.match(plain(name)) or plain(name) in finding for name in function.calls):
            continue
        for node in inside(function.body):
            flag, body, is_on = _guarded(node)
            finds = _finds_in(unit, function, body) if flag else []
            if not finds or body is None or not _is_set(body, flag, not is_on) or _is_reset(unit, flag, not is_on):
                continue
            found = _set_again(unit, function, body, finds[0])
            if found is not None:
                descriptor, where = found
                words = {"flag": flag, "descriptor": descriptor, "where": where}
                yield SourceHit(finds[0].span, "possible", words, variable(finds[0].callee))


def _finds_in(unit: Unit, function: Function, body: Block | None) -> list[Invocation]:
    """Return the Finds in a block, or those of the functions beside it that the block calls."""
    if found := list(_calls(body, _FINDS)):
        return found
    names = {variable(one.callee) for one in invocations(body)}
    return [
        find
        for other in unit.functions
        if plain(other.name) in names and other.owner == function.owner and other is not function
        for find in _calls(other.body, _FINDS)
    ]


def _guarded(node: Any) -> tuple[str, Block | None, bool]:
    """Return the flag of ``if (!flag && ...)`` or ``if (first)``, what it guards, and whether it has to be set."""
    if not isinstance(node, (If, Loop)) or node.condition is None:
        return "", None, False
    body = node.then if isinstance(node, If) else node.body
    if isinstance(node.condition, (Name, Member)) and isinstance(node, If):
        return variable(node.condition), body, True
    return _negated(node.condition), body, False


def _negated(condition: Expression) -> str:
    if isinstance(condition, Operation) and condition.operator == "!":
        return variable(condition.operands[0])
    if isinstance(condition, Operation) and condition.operator == "&&":
        return next((flag for operand in condition.operands if (flag := _negated(operand))), "")
    return ""


def _is_set(body: Block, flag: str, wanted: bool) -> bool:
    return any(target == flag and value in (wanted, int(wanted)) for target, value in _assignments(body))


def _is_reset(unit: Unit, flag: str, wanted: bool) -> bool:
    """Tell whether something but a constructor sets the flag to anything else than what the Find leaves it at."""
    return any(
        target == flag and (value is None or value not in (wanted, int(wanted)))
        for function in unit.functions
        if function.kind != "constructor"
        for target, value in _assignments(function.body)
    )


def _assignments(node: Any) -> Iterator[tuple[str, Any]]:
    for one in walk(node):
        if isinstance(one, Operation) and one.operator == "=" and len(one.operands) == 2:
            target, value = one.operands
            yield variable(target), value.value if isinstance(value, Constant) else None


def _set_again(unit: Unit, function: Function, body: Block, find: Invocation) -> tuple[str, str] | None:
    """Return a descriptor of a Find that its function, or a method beside it, sets to what it is given."""
    inside = {id(call) for call in _calls(body, _SETS)}
    names = {variable(argument) for argument in find.arguments} - {""}
    for other in unit.functions:
        beside = other is function or (other.owner and other.owner == function.owner and other.kind == "method")
        for call in _calls(other.body, _SETS) if beside else ():
            described = variable(call.arguments[0]) if call.arguments else ""
            if described in names and id(call) not in inside and _varies(call):
                return described, other.name
    return None


def _varies(call: Invocation) -> bool:
    """Tell whether a dimension that is set is no constant of the program."""
    return any(
        isinstance(node, (Name, Member, Invocation))
        and not re.match(r"^(?:CUDNN_|MIOPEN_|miopen[A-Z])", variable(node))
        for argument in call.arguments[2:]
        for node in walk(argument)
        if not (isinstance(node, (Name, Member)) and node.name in {"type", "dtype", "dataType", "data_type"})
    )
