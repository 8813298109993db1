"""What the checks of a profile share: the events that they are told of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..handle import Handle
from ..problem import Problem
from ..watching import Call
from .calls import Role
from .names import Profile
from .rules import Rule

MOST = 1 << 16  # what is remembered of each kind
K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """A dictionary that forgets the oldest entries, so that a program may run for ever."""

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > MOST:
            del self[next(iter(self))]


@dataclass(frozen=True)
class Event:
    """A call that is about to compute something, or that asks about it.

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
    """What checks belong to and report to."""

    profile: Profile
    refused: set[Call]

    @property
    def handle(self) -> Handle | None:
        """The handle, while it exists."""

    def report(self, rule: str | Rule, call: Call, words: dict[str, Any], site: tuple[str, int] | None = None) -> None:
        """Tell of a violation."""


class Check:
    """One part of a profile; it is told of every event and reports through the watch.

    Parameters
    ----------
    watch
        What it belongs to.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.profile = watch.profile

    def before(self, call: Call) -> None:
        """Look at a call of the program, before it is made; calls inside of calls are not told."""

    def computing(self, event: Event) -> None:
        """Look at what is about to be computed or asked about."""

    def after(self, call: Call) -> None:
        """Look at a call that returned or raised."""

    def report(self, rule: str, call: Call, **words: Any) -> None:
        """Tell of a violation."""
        self.watch.report(rule, call, words)


def where(call: Call) -> str:
    """Return the call's place in a few letters."""
    file, line = call.site
    return f"{Path(file).name}:{line}"
