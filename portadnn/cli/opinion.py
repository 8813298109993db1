"""What somebody says of a problem."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Opinion:
    """What a table, and where there is one a device's engines, say of a problem.

    Attributes
    ----------
    name : str
        The table.
    device : str
        The device; empty where there is none, and then only the table was asked.
    note : str
        Why there is none.
    answer, reason, source, effect
        What the table says.
    engines : list of (str, str or None)
        Each engine with its reason to decline; those that take the problem first, the fastest by their estimates first.
    """

    name: str
    answer: str
    reason: str
    source: str
    effect: list[str]
    device: str = ""
    note: str = ""
    engines: list[tuple[str, str | None]] = field(default_factory=list)
