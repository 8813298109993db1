"""Differences of other libraries that are known: what their documents say, or what was seen and understood.

The list is ``known.toml``. It speaks of libraries that portadnn compares with, never of portadnn's own kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._io.toml import tomllib
from ..capability.rules import Condition, Query, all_hold, fits

if TYPE_CHECKING:
    from ..handle import Handle
    from .cases import Case


@dataclass(frozen=True)
class Known:
    """A known difference.

    Attributes
    ----------
    id, backend : str
        Its name, and whose it is.
    ops : tuple of str
        Operations, or patterns of them.
    by : frozenset of str
        Measures, kinds of broken promises and statuses by which it shows; empty for any.
    data : frozenset of str
        Kinds of data that show it; empty for any.
    conditions : tuple of Condition
        On the problem, as in capability tables.
    why : str
    """

    id: str
    backend: str
    ops: tuple[str, ...]
    by: frozenset[str]
    data: frozenset[str]
    conditions: tuple[Condition, ...]
    why: str


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


@functools.cache
def differences() -> tuple[Known, ...]:
    """Return all known differences."""
    found = []
    text = Path(__file__).with_name("known.toml").read_text("utf-8")
    for entry in tomllib.loads(text)["difference"]:
        names = {name: entry.pop(name) for name in ("id", "backend", "why")}
        ops, by, data = (_listed(entry.pop(name, [])) for name in ("op", "by", "data"))
        conditions = tuple(Condition(name, _listed(wanted)) for name, wanted in entry.items())
        found.append(Known(ops=ops, by=frozenset(by), data=frozenset(data), conditions=conditions, **names))
    return tuple(found)


def known(
    backend: str, case: Case, shows: Mapping[str, object], algo: Any = None, handle: Handle | None = None
) -> Known | None:
    """Return the known difference that explains all of a failure, if there is one.

    Parameters
    ----------
    backend
        Of the target that failed.
    case
        What failed.
    shows
        The measures, promises and statuses by which it does.
    algo
        The algorithm that was asked for.
    handle
        Of the target, where it is open: some conditions are on devices.
    """
    theirs = [one for one in differences() if one.backend == backend]
    if not theirs:
        return None
    query = Query(case.problem, case.numbers, algo, None if handle is None else handle.info)
    for one in theirs:
        if (
            any(fits(pattern, case.problem.op) for pattern in one.ops)
            and (not one.by or shows.keys() <= one.by)
            and (not one.data or case.data in one.data)
            and all_hold(one.conditions, query)
        ):
            return one
    return None
