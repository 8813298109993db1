"""What a peer is: something else that computes a problem, timed alternating with portadnn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from portadnn.problem import Problem, TensorSpec

from ..timing import Side


class NoEquivalent(Exception):
    """The peer has no such call; the message says why."""


class Peer(Protocol):
    """A peer on one device."""

    @property
    def title(self) -> str:
        """What tables and plots call it."""

    def describe(self) -> dict[str, Any]:
        """Return what a record has to say of the peer."""

    def sides(self, problem: Problem, numbers: Mapping[str, float]) -> Sequence[Side]:
        """Return the peer's ways to compute a problem with these run-time numbers, at least one.

        Raises
        ------
        NoEquivalent
            There is none.
        """

    def product(self, spec: TensorSpec, tf32: bool) -> Side | None:
        """Return the side of a product of two square matrices, the last two dims of `spec`; None without one."""
