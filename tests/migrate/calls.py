"""Calls in C, as events with what their text alone says."""

from __future__ import annotations

import re

from portadnn.migrate.events import Argument, Event, Place
from portadnn.migrate.values import UNKNOWN, Value, known


def split(text: str) -> list[str]:
    """Return the arguments of a call without brackets inside of arguments but for those that match."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def value_of(text: str) -> Value:
    """Return what a text says of itself: an enumerator, a number; of `one` and `zero` the number behind the pointer."""
    if re.fullmatch(r"CUDNN_\w+", text):
        return known(text)
    if re.fullmatch(r"-?\d+", text):
        return known(int(text))
    return UNKNOWN


def event(text: str) -> Event:
    """Return a call such as ``cudnnCreate(&h)``; ``&one`` and ``&zero`` point to these numbers."""
    name, _, rest = text.strip().partition("(")
    texts = split(rest.rstrip(";").rstrip()[:-1])
    pointed = {"&one": known(1.0), "&zero": known(0.0)}
    arguments = tuple(Argument(part, value_of(part), pointed.get(part)) for part in texts)
    return Event(1, name, arguments, Place("program.c", 1), text)
