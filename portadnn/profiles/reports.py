"""Reports of violations: once for each call site, as warnings or errors."""

from __future__ import annotations

import logging
import string
import threading
import warnings
from typing import Any

from ..hooks import Call
from .names import Profile
from .rules import Rule
from .violations import ProfileWarning, Violation

log = logging.getLogger("portadnn.profiles")


class _Words(dict[str, Any]):
    """Values of message placeholders; unknown ones stay as they are."""

    def __missing__(self, name: str) -> str:
        return f"<{name}>"


class Reporter:
    """Collector of a handle's violations; warns or raises.

    Parameters
    ----------
    profile, mode
        Which library, and ``"warn"`` or ``"error"``.
    """

    def __init__(self, profile: Profile, mode: str) -> None:
        self.profile, self.mode = profile, mode
        self.violations: list[Violation] = []
        self._seen: set[tuple[str, str, int]] = set()
        self._lock = threading.Lock()

    def report(self, rule: Rule, call: str, site: tuple[str, int], words: dict[str, Any]) -> None:
        """Report a violation; in the mode "warn" once for each call site.

        Raises
        ------
        DnnError
            In the mode "error", of the class that the rule names.
        """
        if self.profile.name not in rule.profiles:
            return
        values = _Words(words, library=self.profile.title)
        fill = string.Formatter().vformat
        found = Violation(
            rule.id,
            rule.severity,
            self.profile.name,
            call,
            site,
            fill(rule.message, (), values),
            fill(rule.fix, (), values),
        )
        key = (rule.id, *site)
        with self._lock:
            new = key not in self._seen
            self._seen.add(key)
            if new:
                self.violations.append(found)
        kind = rule.error_class if self.mode == "error" else None
        if new:
            log.info("%s:%d: %s", *site, found)
        if kind is not None:
            raise kind(f"[{found.profile} {found.rule}] {found.message}. Instead: {found.fix}", call=call)
        if new:
            warnings.warn_explicit(str(found), ProfileWarning, *site)


def root_of(call: Call) -> Call:
    """Return the outermost call that contains `call`."""
    while call.parent is not None:
        call = call.parent
    return call
