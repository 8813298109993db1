"""Events and base classes of a profile's checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..handle import Handle
from ..hooks import Call
from ..problem import Problem
from .calls import Role
from .names import Profile
from .rules import Rule

MOST = 1 << 16  # what is remembered of each kind
K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """Dictionary of bounded size; evicts the oldest entries."""

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > MOST:
            del self[next(iter(self))]


@dataclass(frozen=True)
class Event:
    """Call that computes a problem, or queries about one.

    Attributes
    ----------
    call : Call
        The innermost public call.
    handle : Handle
        Where it computes.
    mine : bool
        Whether that is the profile's own handle; of others the checks learn only what they did.
    problem : Problem
        What it is about, as :func:`~portadnn.profiles.calls.plain` gives it.
    exact : Problem
        The same with the alignment at hand.
    scalars : dict of str to float
        The run-time numbers; empty where nothing is computed.
    addresses : dict of str to int
        Where the tensors begin; empty where none are given.
    role : str
        What the call does for a convolution, "" when it computes.
    """

    call: Call
    handle: Handle
    mine: bool
    problem: Problem
    exact: Problem
    scalars: Mapping[str, float]
    addresses: Mapping[str, int]
    role: Role


class Watch(Protocol):
    """Interface of the watch that checks report to."""

    profile: Profile
    refused: set[Call]

    @property
    def handle(self) -> Handle | None:
        """The handle, while it exists."""

    def report(self, rule: str | Rule, call: Call, words: dict[str, Any], site: tuple[str, int] | None = None) -> None:
        """Report a violation."""


class Check:
    """Check of a profile; sees every event and reports through the watch.

    Parameters
    ----------
    watch
        What it belongs to.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.profile = watch.profile

    def before(self, call: Call) -> None:
        """Examine an outermost call before it runs."""

    def computing(self, event: Event) -> None:
        """Examine a computation or query before it runs."""

    def after(self, call: Call) -> None:
        """Examine a call that returned or raised."""

    def report(self, rule: str, call: Call, **words: Any) -> None:
        """Report a violation."""
        self.watch.report(rule, call, words)


def where(call: Call) -> str:
    """Return the call site as ``file:line``."""
    file, line = call.site
    return f"{Path(file).name}:{line}"
