"""Every node of a program, for checks that do not follow it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from ..program import Span


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


_PARTS: dict[type, tuple[str, ...] | None] = {}


def _parts(node: Any) -> tuple[str, ...] | None:
    """Return the fields of a node that may hold others, the last first; None of what is no node."""
    if not is_dataclass(node) or isinstance(node, (Span, type)):
        return None
    return tuple(field.name for field in reversed(fields(node)) if field.name not in ("span", "name", "type", "text"))
