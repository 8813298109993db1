"""Which backends the tests use, and handles on them.

``PORTADNN_TEST_BACKENDS`` names them (all that are installed by default); one that does not work here is a skip
with its reason, or a failure where ``PORTADNN_REQUIRE_BACKENDS`` names it too.
"""

from __future__ import annotations

import os

import pytest

import portadnn as dnn
from portadnn.registry import backend_names, get_backend


def _names(variable: str) -> tuple[str, ...]:
    return tuple(filter(None, os.environ.get(variable, "").replace(" ", "").split(",")))


BACKENDS = _names("PORTADNN_TEST_BACKENDS") or backend_names()


def need(backend: str) -> None:
    """Skip the test, or fail it, when the backend does not work here."""
    reason = get_backend(backend).why_unavailable()
    if reason is not None:
        if backend in _names("PORTADNN_REQUIRE_BACKENDS"):
            pytest.fail(f"backend {backend} is required: {reason}")
        pytest.skip(f"backend {backend}: {reason}")


def open_handle(backend: str) -> dnn.Handle:
    """Return a new handle on the backend's first device."""
    need(backend)
    return dnn.Handle(backend)
