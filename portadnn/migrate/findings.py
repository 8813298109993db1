"""What the checker tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .events import Event, Place

Severity = Literal["E", "W!", "W", "I"]
SEVERITIES: dict[Severity, str] = {
    "E": "breaks: does not compile, or returns an error",
    "W!": "silently wrong: other numbers, or memory overwritten",
    "W": "at risk: slower, or fails under some conditions",
    "I": "to know",
}
Certainty = Literal["proven", "possible"]
Answer = Literal["same", "moves", "recipe", "none"]
ANSWERS: dict[Answer, str] = {
    "same": "maps 1:1: another name for the same call",
    "moves": "maps, with arguments that move, go or come",
    "recipe": "needs a recipe: other calls around it",
    "none": "has no equivalent",
}


@dataclass(frozen=True)
class Finding:
    """Something that breaks, changes or is lost.

    Attributes
    ----------
    rule : str
        The rule's id without ``PD-``.
    severity : {"E", "W!", "W", "I"}
    certainty : {"proven", "possible"}
        ``"possible"`` where branches, loops or callers decide.
    place : Place
        What to underline: the argument at fault, or the call.
    message : str
        What is lost or breaks, and why, in terms of the user's own names.
    fix : str
        The corrected call with the user's own arguments, or the recipe; may have several lines.
    function : str
        The function that is called there.
    event : Event or None
        The call.
    related : tuple of (Place, str)
        Other places that matter, each with what happened there.
    per_call : bool
        Whether it is true of every call of the function: work to do, and no alarm.
    """

    rule: str
    severity: Severity
    certainty: Certainty
    place: Place
    message: str
    fix: str
    function: str
    event: Event | None = None
    related: tuple[tuple[Place, str], ...] = ()
    per_call: bool = False

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """What makes two findings one: the rule, where it is, and the message."""
        return (self.rule, self.place.file, self.place.line, self.place.column, self.message)
