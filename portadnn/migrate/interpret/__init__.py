"""Follows programs: from the units that readers give to the calls of cuDNN and MIOpen, with what is known of each."""

from __future__ import annotations

from collections.abc import Sequence

from ..frontend.found import FoundGraph
from ..model.listener import Listener
from ..program import Unit
from .entries import Walk

__all__ = ["follow"]


def follow(units: Sequence[Unit], listeners: Sequence[Listener], graphs: list[FoundGraph] | None = None) -> None:
    """Follow a program and tell listeners of each call of cuDNN or MIOpen.

    Functions that nothing in the program calls are followed from their start, and those that they call where they call
    them; a class's methods in the order in which a program would use them. What cannot be followed to its end is
    entered among the unit's ``skipped``.

    Parameters
    ----------
    units : sequence of Unit
        All files of the program.
    listeners : sequence of Listener
        They get each call with the state before it, and ``finish`` at the end.
    graphs : list of FoundGraph, optional
        Gets the graphs of cudnn_frontend that the program makes.
    """
    Walk(units, listeners, graphs).all()
