"""What capability tables take from the mapping table, and which operations a pattern of a rule names."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from ..problem import PROBLEMS
from .rules import fits

_OWN = "portadnn."


def names(patterns: Sequence[str], op: str) -> bool:
    """Tell whether patterns name an operation.

    Parameters
    ----------
    patterns
        Names, beginnings (``"convolution_*"``), or groups: ``"@own"`` are portadnn's operations, without those of other
        distributions, ``"@cudnn"`` those that cuDNN has a function of, as the mapping table tells, and
        ``"@miopen-only"`` those that MIOpen alone has one of. With ``"!"`` before it a pattern takes away.
    """
    taken = any(_names(pattern[1:], op) for pattern in patterns if pattern.startswith("!"))
    return not taken and any(_names(pattern, op) for pattern in patterns if not pattern.startswith("!"))


def _names(pattern: str, op: str) -> bool:
    if not pattern.startswith("@"):
        return fits(pattern, op)
    if pattern == "@own":
        return PROBLEMS[op].__module__.startswith(_OWN)
    return op in _groups()[pattern]


@functools.cache
def _groups() -> dict[str, frozenset[str]]:
    from ..mapping import table

    mapping = table()
    miopen = frozenset(name for row in mapping.rows if row.miopen for name in row.portadnn)
    return {"@cudnn": mapping.of_cudnn, "@miopen-only": miopen - mapping.of_cudnn}


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
