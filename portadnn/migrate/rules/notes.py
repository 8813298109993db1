"""Heuristics and notes of cudnn_frontend behind names: which lists, members and parameters hold which."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from ..program import Declare, Function, Invocation, Member, Name, Operation, Unit
from .walking import callee, inside, plain, walk

_NOTE = re.compile(r"(?:HeurMode|NumericalNote|BehaviorNote)_t::\w+")
_ADDS = {"push_back", "emplace_back", "insert", "emplace", "assign"}


def including(units: Iterable[Unit]) -> frozenset[str]:
    """Return the files whose includes lead to cudnn_frontend, by way of others of the program."""
    by_name: dict[str, list[Unit]] = {}
    found: set[str] = set()
    waiting: list[Unit] = []
    for unit in units:
        for include in unit.includes:
            by_name.setdefault(PurePath(include.strip('<">')).name, []).append(unit)
        if any("cudnn_frontend" in include for include in unit.includes):
            waiting.append(unit)
    while waiting:
        unit = waiting.pop()
        if unit.file not in found:
            found.add(unit.file)
            waiting += by_name.get(PurePath(unit.file).name, ())
    return frozenset(found)


def named(units: Iterable[Unit]) -> dict[str, str]:
    """Return what variables and members, by name, and callers of functions, as ``f()``, name of them."""
    found: dict[str, str] = {}
    for unit in units:
        declared = [*unit.variables, *(member for class_ in unit.classes for member in class_.members)]
        for variable in declared:
            _add(found, plain(variable.name), _held(variable))
        for function in unit.functions:
            for name, arguments, _ in function.initializers:
                _add(found, name, " ".join(_notes(arguments)))
            nodes = list(inside(function.body))
            local = _locals(nodes, None) if any(isinstance(n, Name) and _NOTE.search(n.name) for n in nodes) else {}
            for node in nodes:
                if isinstance(node, Invocation) and (local or _NOTE.search(node.text)):
                    called = node.callee.name if isinstance(node.callee, Member) else callee(node)
                    given = [local.get(one.name, "") for one in node.arguments if isinstance(one, Name)]
                    _add(found, f"{plain(called)}()", " ".join([*_notes(node.arguments), *filter(None, given)]))
    return found


def of_arguments(node: Invocation, function: Function, around: Mapping[str, str]) -> str:
    """Return what the names in a call's arguments hold: variables of the function, members, parameters."""
    names = {plain(one.name) for one in walk(node.arguments) if isinstance(one, (Name, Member))}
    local = _locals(inside(function.body), names)
    for parameter in function.parameters:
        if parameter.name in names:
            _add(local, parameter.name, " ".join(_notes(parameter.default)))
            _add(local, parameter.name, around.get(f"{function.name}()", ""))
    own = {one.name for one in inside(function.body) if isinstance(one, Declare)}
    own |= {parameter.name for parameter in function.parameters}
    said = [local.get(name, "") for name in names] + [around.get(name, "") for name in names - own]
    return " ".join(said)


def _locals(nodes: Iterable[Any], names: set[str] | None) -> dict[str, str]:
    """Return what the variables that some nodes declare, assign or add to hold; all of them where `names` is None."""
    local: dict[str, str] = {}
    for one in nodes:
        if isinstance(one, Declare) and (names is None or one.name in names):
            _add(local, one.name, _held(one))
        elif isinstance(one, Operation) and one.operator == "=" and one.operands:
            name = _name(one.operands[0])
            if name and (names is None or name in names):
                _add(local, name, " ".join(_notes(one.operands[1])))
        elif isinstance(one, Invocation) and isinstance(one.callee, Member) and one.callee.name in _ADDS:
            _add(local, _name(one.callee.base), " ".join(_notes(one.arguments)))
    return local


def _add(found: dict[str, str], name: str, notes: str) -> None:
    if notes:
        found[name] = f"{found.get(name, '')} {notes}"


def _held(variable: Declare) -> str:
    return " ".join(_notes((variable.value, variable.arguments)))


def _notes(node: Any) -> Iterator[str]:
    for one in walk(node):
        if isinstance(one, Name) and (match := _NOTE.search(one.name)):
            yield match[0]


def _name(node: Any) -> str:
    return plain(node.name) if isinstance(node, (Name, Member)) else ""
