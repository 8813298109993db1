"""What names in a program hint at."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_SUBSCRIPT = re.compile(r"\[\s*([A-Za-z_]\w*)\s*\]")

FILTER = frozenset({"w", "wt", "wts", "weight", "weights", "filter", "filters", "filt", "kernel", "dw", "wei"})
RESULT = frozenset({"y", "dy", "out", "output", "top", "dout", "gradout", "result", "dst", "delta", "diff"})
IMAGE = frozenset({"x", "dx", "in", "input", "bottom", "src", "image", "img"})


def parts(text: str) -> frozenset[str]:
    """Return the words of which the identifiers of a text are made, in small letters."""
    return frozenset(word.lower() for word in _PART.findall(text))


def identifiers(text: str) -> frozenset[str]:
    """Return the identifiers of a text."""
    return frozenset(_IDENTIFIER.findall(text))


def subscripts(texts: Iterable[str]) -> frozenset[str]:
    """Return the variables that index something in some texts."""
    return frozenset(name for text in texts for name in _SUBSCRIPT.findall(text))


def factors(text: str) -> frozenset[str]:
    """Return the identifiers of products that are added in a text: ``x + offset * g`` has offset and g."""
    found = re.findall(r"\+\s*((?:[\w.>:-]|\(|\)|\s)+?\*[^+,]*)", text)
    return frozenset(name for product in found for name in _IDENTIFIER.findall(product))


def last_identifier(text: str) -> str:
    """Return the last identifier of a text: ``zero`` of ``&dataType<T>::zero``."""
    found = _IDENTIFIER.findall(text)
    return found[-1] if found else ""
