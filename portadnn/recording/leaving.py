"""What a replay leaves out, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import graphs
from .reader import Event

_STEP = "of a captured step only the calls of its block are recorded"
MACHINE = {  # what belongs to the machine that it was recorded on
    "CapturedStep.replay": _STEP,
    "CapturedStep.update": _STEP,
    "Handle.capture": _STEP,
    "Handle.set_stream": "streams belong to the machine",
    "Handle.get_stream": "streams belong to the machine",
    "view": "a view shows in the calls that use it",
}


def left_out(event: Event) -> str:
    """Return why a call is never made; "" where it is."""
    if event.function in MACHINE:
        return MACHINE[event.function]
    reason = graphs.left_out(event)
    if reason or event.graph is not None:
        return reason
    if event.library == "portadnn":
        failed = event.function == "Handle" and event.status != "SUCCESS"
        return "a handle of the recorded machine" if failed else ""
    if event.library == "torch":
        return event.why_not or ("" if event.steps else "PyTorch's own, and computes nothing")
    if event.status != "SUCCESS":
        return f"an error of {event.library}'s names, whose checks are not replayed"
    return "" if event.steps else f"{event.library}'s own, and computes nothing"


def not_made(events: Sequence[Event]) -> dict[int, str]:
    """Return the calls of a nested recording that others stand for: either a call or those inside of it are made.

    The calls inside of one with a C library's name are made in its place, if together they computed what it did. Inner
    calls stand before their outer one.
    """
    left: dict[int, str] = {}
    inner: dict[int, list[Event]] = {}  # of each thread, with no outer one yet
    children: dict[int, list[Event]] = {}
    for event in events:
        pending = inner.setdefault(event.thread, [])
        own = [other for other in pending if other.inside == event.function]
        inner[event.thread] = [other for other in pending if other.inside != event.function]
        if event.inside:
            inner[event.thread].append(event)
        children[event.number] = own
        steps = sum(len(other.steps) for other in own)
        if own and event.library != "portadnn" and steps == len(event.steps):
            left[event.number] = "stands for the calls that it made"
        else:
            _leave(own, children, left)
    return left


def _leave(events: Sequence[Event], children: Mapping[int, Sequence[Event]], left: dict[int, str]) -> None:
    for event in events:
        left[event.number] = "made by another call"
        _leave(children[event.number], children, left)
