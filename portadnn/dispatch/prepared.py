"""What ``handle.prepare`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Prepared:
    """What was prepared.

    Attributes
    ----------
    problems, graphs : int
        How many there were, each counted once.
    refused : dict of str to str
        Problem lines (of graphs their names) that no plan could be made for, and why.
    """

    problems: int
    graphs: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)
