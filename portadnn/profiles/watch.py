"""Watch of a handle with a profile: runs the checks on every call."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..handle import Handle
from ..hooks import CALL_HOOKS, Call
from ..problem import Problem
from .buffers import Buffers
from .calls import handle_of, plain, role_of
from .checks import Check, Event, Recent
from .functions import Functions
from .names import Profile
from .pairs import Pairs
from .reports import Reporter, root_of
from .results import Results
from .rules import Rule, rules
from .sequence import Sequences
from .tables import Tables
from .violations import Violation
from .workspaces import Workspaces

CHECKS: dict[str, tuple[type[Check], ...]] = {
    "miopen": (Functions, Tables, Workspaces, Sequences, Buffers, Pairs, Results),
    "cudnn": (Functions, Tables, Results),
}


class ProfileWatch:
    """Watch that judges the calls of one handle, and calls without a handle.

    Parameters
    ----------
    handle
        It is not kept alive.
    profile, mode
        Which library, and ``"warn"`` or ``"error"``.

    Attributes
    ----------
    release : callable
        Ends the watch.
    """

    release: weakref.finalize[Any, Any]

    def __init__(self, handle: Handle, profile: Profile, mode: str) -> None:
        self._handle = weakref.ref(handle)
        self.profile = profile
        self.reporter = Reporter(profile, mode)
        self._known: Recent[int, tuple[Problem, Problem]] = Recent()
        self.refused: set[Call] = set()  # calls of functions that the library lacks: no more is said of them
        self._checks = tuple(check(self) for check in CHECKS[profile.library])

    @property
    def handle(self) -> Handle | None:
        """The handle, while it exists."""
        return self._handle()

    @property
    def violations(self) -> list[Violation]:
        """Violations reported so far."""
        return self.reporter.violations

    def before(self, call: Call) -> None:
        """Judge an outermost call by its arguments alone."""
        if call.parent is None and handle_of(call) in (None, self.handle):
            for check in self._checks:
                check.before(call)

    def computing(self, call: Call, problem: Problem, scalars: Sequence[float], addresses: Sequence[int]) -> None:
        """Judge a computation or query before it runs."""
        handle = handle_of(call)
        if handle is None:
            return
        event = Event(
            call,
            handle,
            handle is self.handle,
            self._plain(problem),
            problem,
            dict(zip(problem.scalars, scalars, strict=False)),
            dict(zip(problem.names, addresses, strict=False)),
            "" if scalars else role_of(call.library, call.function),
        )
        for check in self._checks:
            check.computing(event)

    def _plain(self, problem: Problem) -> Problem:
        """Return :func:`plain` of a problem, cached by identity."""
        known = self._known.get(id(problem))
        if known is None:
            known = self._known[id(problem)] = problem, plain(problem)
        return known[1]

    def after(self, call: Call) -> None:
        """Record the effects of a call."""
        for check in self._checks:
            check.after(call)
        self.refused.discard(call)

    def report(self, rule: str | Rule, call: Call, words: dict[str, Any], site: tuple[str, int] | None = None) -> None:
        """Tell of a violation of a rule, or of a rule that the capability table has."""
        found = rules()[rule] if isinstance(rule, str) else rule
        self.reporter.report(found, root_of(call).function, site or call.site, words)


def _release(watch: ProfileWatch) -> None:
    if watch in CALL_HOOKS:
        CALL_HOOKS.remove(watch)


def watch_handle(handle: Handle, profile: Profile, mode: str) -> ProfileWatch:
    """Judge a handle's calls until it is closed, collected or ``release()`` is called."""
    watch = ProfileWatch(handle, profile, mode)
    CALL_HOOKS.append(watch)
    watch.release = weakref.finalize(handle, _release, watch)
    watch.release.atexit = False
    return watch
