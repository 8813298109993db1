"""Every node of a program, for checks that do not follow it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from ..program import Block, Invocation, Member, Name, Span


def walk(node: Any) -> Iterator[Any]:
    """Yield a node of a program and everything in it."""
    pending = [node]
    while pending:
        one = pending.pop()
        if isinstance(one, tuple):
            pending.extend(reversed(one))
            continue
        kind = type(one)
        if kind not in _PARTS:
            _PARTS[kind] = _parts(one)
        parts = _PARTS[kind]
        if parts is not None:
            yield one
            pending.extend([getattr(one, name) for name in parts])


def inside(body: Block) -> list[Any]:
    """Return every node of a function's body: all checks look at the same ones, until the next file."""
    found = _INSIDE.get(id(body))
    if found is None or found[0] is not body:
        found = _INSIDE[id(body)] = (body, list(walk(body)))
    return found[1]


def forget() -> None:
    """Forget what is inside of bodies."""
    _INSIDE.clear()


def invocations(node: Any) -> Iterator[Invocation]:
    """Yield every call in a node of a program."""
    nodes = inside(node) if isinstance(node, Block) else walk(node)
    return (inner for inner in nodes if isinstance(inner, Invocation))


def variable(node: Any) -> str:
    """Return the last part of the name of a variable, member or function; "" of other expressions."""
    return plain(node.name) if isinstance(node, (Name, Member)) else ""


def callee(node: Invocation) -> str:
    """Return the function that is called, without namespaces; "" of methods."""
    return plain(node.callee.name) if isinstance(node.callee, Name) else ""


def plain(name: str) -> str:
    """Return a name without the classes and namespaces before it."""
    return name.rpartition("::")[2]


_INSIDE: dict[int, tuple[Block, list[Any]]] = {}
_PARTS: dict[type, tuple[str, ...] | None] = {}


def _parts(node: Any) -> tuple[str, ...] | None:
    """Return the fields of a node that may hold others, the last first; None of what is no node."""
    if not is_dataclass(node) or isinstance(node, (Span, type)):
        return None
    return tuple(field.name for field in reversed(fields(node)) if field.name not in ("span", "name", "type", "text"))
