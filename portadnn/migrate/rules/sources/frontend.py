"""Checks of sources that make graphs of cudnn_frontend, by the methods that they call."""

from __future__ import annotations

from collections.abc import Iterator

from ...program import Constant, Invocation, Member, Unit
from ..registry import source_check
from ..situation import SourceHit
from ..walking import invocations

_PREVIOUS = {"set_previous_running_stats": 3, "setPrevRunningMeanAndVar": 2}  # and how many tensors they take


@source_check("attribute")
def previous_running_statistics(unit: Unit) -> Iterator[SourceHit]:
    """Find batch normalisation that reads running statistics in one place and writes them in another."""
    for function in unit.functions:
        for node in invocations(function.body):
            name = node.callee.name if isinstance(node.callee, Member) else ""
            if len(node.arguments) == _PREVIOUS.get(name, -1) and not _is_nothing(node):
                yield SourceHit(node.arguments[0].span, words={"attribute": name})


def _is_nothing(node: Invocation) -> bool:
    first = node.arguments[0]
    return isinstance(first, Constant) and not first.value
