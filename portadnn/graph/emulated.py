"""Versions of the libraries whose interface this is, which programs ask for to see what there is."""

from __future__ import annotations

import os
import re

from .rules import fail

FRONTEND, BACKEND = "1.32.0", "9.19.0"


def frontend_version() -> str:
    """Return the version of cudnn-frontend: ``PORTADNN_FRONTEND_VERSION``, or 1.32.0."""
    return ".".join(map(str, _numbers("PORTADNN_FRONTEND_VERSION", FRONTEND)))


def backend_version() -> int:
    """Return the version of cuDNN, ``PORTADNN_CUDNN_VERSION`` or 9.19.0, as major * 10000 + minor * 100 + patch."""
    major, minor, patch = _numbers("PORTADNN_CUDNN_VERSION", BACKEND)
    return major * 10000 + minor * 100 + patch


def backend_version_string() -> str:
    """Return :func:`backend_version` as text, ``"9.19.0"``."""
    return ".".join(map(str, _numbers("PORTADNN_CUDNN_VERSION", BACKEND)))


def _numbers(variable: str, usual: str) -> tuple[int, int, int]:
    text = os.environ.get(variable) or usual
    found = re.fullmatch(r"(\d{1,2})\.(\d{1,2})(?:\.(\d{1,2}))?", text)
    if found is None:
        raise fail("PG-NODE-004", argument=variable, expected="a version such as 9.19.0", got=text)
    major, minor, patch = (int(part or 0) for part in found.groups())
    return major, minor, patch
