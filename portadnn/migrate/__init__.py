"""The migration checker: what happens to this cuDNN code on another library (docs/check.md).

>>> from portadnn import migrate
>>> report = migrate.check_text('''
... void f(cudnnConvolutionDescriptor_t conv) {
...   cudnnSetConvolution2dDescriptor(conv, 1, 1, 2, 2, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
... }
... ''')
>>> report.calls[0].becomes
'miopenInitConvolutionDescriptor(conv, miopenConvolution, 1, 1, 2, 2, 1, 1)'

Readers turn sources, logs and recordings into calls (``events.Event``); a model of state follows them (``model``);
rules (``rules``) judge each call in its state and tell ``findings.Finding``; reports print them, and ``port``
rewrites what is certain.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checker import check, check_text
    from .config import Config
    from .findings import Finding
    from .report import Call, Report

_HOMES = {
    "check": "checker",
    "check_text": "checker",
    "Config": "config",
    "Finding": "findings",
    "Call": "report",
    "Report": "report",
}

__all__ = ["Call", "Config", "Finding", "Report", "check", "check_text"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the parts of this package import each other."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
