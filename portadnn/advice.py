"""What to install for a backend that does not work here, unless it is installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution, requires
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from portadnn_backends.base import Backend

_EXTRA = re.compile(r"portadnn\[([\w-]+)\]")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?[^;]*;.*extra\s*==\s*[\"']([\w-]+)[\"']")


def advice(backend: Backend) -> str | None:
    """Return the command that brings what a backend needs, or None where that would change nothing.

    Of a hint that names extras of portadnn, one that is installed is enough.
    """
    hint = backend.install
    if not hint:
        return None
    extras = _EXTRA.findall(hint)
    others = re.findall(r"pip install ([A-Za-z][\w.-]*)", hint)
    if any(_extra_is_here(extra) for extra in extras) and all(_is_here(name) for name in others):
        return None
    return hint


def _extra_is_here(extra: str) -> bool:
    try:
        lines = requires("portadnn") or []
    except PackageNotFoundError:  # run from its sources
        return False
    matches = [match for line in lines if (match := _REQUIREMENT.match(line)) and match[2] == extra]
    return bool(matches) and all(_is_here(match[1]) for match in matches)


def _is_here(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
