"""Violations and their warning class."""

from __future__ import annotations

from dataclasses import dataclass


class ProfileWarning(UserWarning):
    """Warning of a call that the library of the handle's profile would refuse."""


@dataclass(frozen=True)
class Violation:
    """Violation: something that another library would refuse or compute differently.

    Attributes
    ----------
    rule : str
        The rule's id, as docs/profiles.md lists them.
    severity : {"E", "W!", "W"}
        An error there; silently wrong; slow or risky.
    profile : str
        Which library.
    call : str
        The public function, as the caller named it.
    site : tuple of (str, int)
        File and line of the call.
    message, fix : str
        What that library does, and the corrected call.
    """

    rule: str
    severity: str
    profile: str
    call: str
    site: tuple[str, int]
    message: str
    fix: str

    def __str__(self) -> str:
        return f"[{self.profile} {self.rule}] {self.call}: {self.message}. Instead: {self.fix}"
