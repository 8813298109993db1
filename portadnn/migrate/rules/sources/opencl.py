"""Checks of sources for OpenCL's types in calls of MIOpen (:mod:`sources`)."""

from __future__ import annotations

from collections.abc import Iterator

from ...program import Declare, Function, Invocation, Unit
from ..hints import identifiers
from ..registry import source_check
from ..situation import SourceHit
from ..walking import callee, inside, invocations, plain

_TYPE = "cl_mem"


@source_check("name", "more")
def opencl_memory(unit: Unit) -> Iterator[SourceHit]:
    """Find the first call of MIOpen that is given a buffer of OpenCL, and count the others."""
    shared = {plain(v.name) for v in unit.variables if _is_memory(v.type)}
    shared |= {member.name for class_ in unit.classes for member in class_.members if _is_memory(member.type)}
    calls = [found for function in unit.functions for found in _calls(function, shared)]
    if calls:
        node, name = min(calls, key=lambda found: found[0].span.start)
        more = f"; so do {len(calls) - 1} more calls in this file" if len(calls) > 1 else ""
        yield SourceHit(node.span, words={"name": name, "more": more})


def _is_memory(type_: str) -> bool:
    return _TYPE in identifiers(type_)


def _calls(function: Function, shared: set[str]) -> Iterator[tuple[Invocation, str]]:
    """Yield the calls of MIOpen in a function that name such a buffer, and its name."""
    typed = [(p.name, p.type) for p in function.parameters]
    typed += [(node.name, node.type) for node in inside(function.body) if isinstance(node, Declare)]
    known = {name for name, type_ in typed if _is_memory(type_)} | (shared - {name for name, _ in typed}) | {_TYPE}
    for node in invocations(function.body):
        if callee(node).startswith("miopen"):
            named = identifiers(node.text.partition("(")[2]) & known
            if named:
                yield node, min(named)
