"""Patterns as in .gitignore, matched in a time that does not grow with the power of their stars."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from pathspec import GitIgnoreSpec

_STAR = "[^/]*"  # as pathspec writes a star
_CLASS = re.compile(r"(?<!\\)\[\^?\]?(?:\\.|[^\]\\])*\]")  # one character of a name
_ENDS = re.compile(r"(?<!\\)[/()$]")  # what ends a name
_FOLDERS = "/.+"  # and two, between slashes
# other backends of pathspec, which it takes where they are installed, have no lookaheads
_BACKEND: dict[str, Any] = {"backend": "simple"} if "backend" in inspect.signature(GitIgnoreSpec).parameters else {}
_MOST_FOLDERS = 3  # of a pattern: each takes as many tries as a path has names


def spec_of(lines: Iterable[str]) -> GitIgnoreSpec:
    """Return lines of a .gitignore, compiled.

    Raises
    ------
    ValueError, re.error, OverflowError, RecursionError
        One of them is none, or has more than three ``**`` between others.
    """
    patterns = list(GitIgnoreSpec.from_lines(lines, **_BACKEND).patterns)
    for pattern in patterns:
        known = getattr(pattern, "regex", None)
        if known is not None:
            pattern.regex = re.compile(without_retries(known.pattern))
    return GitIgnoreSpec(patterns, **_BACKEND)


def without_retries(regex: str) -> str:
    """Return a pattern's expression such that no star but the last of a name is tried anew, and no class meets a slash.

    What stands between two stars of one name has a fixed length, so that its first place is as good as any. A
    lookahead, whose group is then repeated, keeps to it: expressions have no atomic groups before Python 3.11.
    """
    if regex.count(_FOLDERS) > _MOST_FOLDERS:
        raise ValueError("more than three ** between other names")
    first, *rest = regex.split(_STAR)
    result = first
    for place, text in enumerate(rest):
        if place == len(rest) - 1 or _ENDS.search(_CLASS.sub("", text)):
            result += _STAR + text
        elif text:
            result += f"(?=(?P<star{place}>[^/]*?{text}))(?P=star{place})"
    return _CLASS.sub(lambda one: one[0] if one[0] == "[^/]" else f"(?!/){one[0]}", result)
