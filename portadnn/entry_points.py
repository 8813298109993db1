"""What other distributions add: entry points, listed when first asked for."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

BACKENDS = "portadnn.backends"
OPERATIONS = "portadnn.operations"  # each loads as a sequence of records


@functools.cache
def entry_points(group: str) -> EntryPoints:
    """Return the entry points of a group."""
    from importlib import metadata  # takes as long as a third of `import portadnn`

    return metadata.entry_points(group=group)


@functools.cache
def foreign_records() -> tuple[Any, ...]:
    """Return the records (:class:`portadnn.operation.Operation`) of other distributions' operations."""
    return tuple(record for point in entry_points(OPERATIONS) for record in point.load())
