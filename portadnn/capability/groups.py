"""Which operations a pattern of a capability rule names, and what tables take from the mapping table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..problem import PROBLEMS, Problem
from ..registry import get_backend
from .rules import fits

if TYPE_CHECKING:
    from portadnn_backends.base import Engine

_OWN = "portadnn."


def names(patterns: Sequence[str], op: str, backend: str = "") -> bool:
    """Tell whether patterns name an operation.

    Parameters
    ----------
    patterns
        Names, beginnings (``"convolution_*"``), or groups: ``"@own"`` are portadnn's operations, without those of other
        distributions, ``"@cudnn"`` those that cuDNN has a function of, as the mapping table tells, and
        ``"@miopen-only"`` those that MIOpen has one of and cuDNN neither a function nor a graph. ``"@engines"`` are
        those that engines of `backend` are for, ``"@narrow"`` those of which no engine takes a tensor of more than 2 Gi
        elements. With ``"!"`` before it a pattern takes away.
    """
    taken = any(_names(pattern[1:], op, backend) for pattern in patterns if pattern.startswith("!"))
    return not taken and any(_names(pattern, op, backend) for pattern in patterns if not pattern.startswith("!"))


def _names(pattern: str, op: str, backend: str) -> bool:
    if not pattern.startswith("@"):
        return fits(pattern, op)
    kind = PROBLEMS[op]
    if pattern == "@own":
        return kind.__module__.startswith(_OWN)
    if pattern not in _OF_ENGINES:
        return op in _groups()[pattern]
    engines = [engine for engine in get_backend(backend).engines() if issubclass(kind, engine.problems)]
    return bool(engines) and _OF_ENGINES[pattern](kind, engines)


def _narrow(kind: type[Problem], engines: Sequence[Engine]) -> bool:
    return not any(engine.wide for engine in engines) and not set(kind.tensor_names()) <= set(kind.raw)


_OF_ENGINES: dict[str, Callable[[type[Problem], Sequence[Engine]], bool]] = {
    "@engines": lambda kind, engines: True,
    "@narrow": _narrow,
}


@functools.cache
def _groups() -> dict[str, frozenset[str]]:
    from ..mapping import table

    mapping = table()
    miopen = frozenset(name for row in mapping.rows if row.miopen for name in row.portadnn)
    graphs = frozenset(name for row in mapping.rows if row.graph for name in row.portadnn)
    return {"@cudnn": mapping.of_cudnn, "@miopen-only": miopen - mapping.of_cudnn - graphs}


def mapped_rules(table_name: str) -> Sequence[Mapping[str, Any]]:
    """Return the rules of a capability table that stand in the mapping table, beside the functions they are about."""
    from ..mapping import table

    return table().rules.get(table_name, ())


def came_with(library: str, op: str) -> str:
    """Return the function of an operation that a library has in later versions, in brackets; nothing if it has none."""
    from ..mapping import table

    for row in table().rows if library else ():
        found = (row.cudnn,) if library == "cudnn" else row.miopen
        if op in row.portadnn and found and found[0] is not None and found[0].since:
            return f" ({found[0].name} came with {found[0].since})"
    return ""
