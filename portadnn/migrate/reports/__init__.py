"""What was found, for terminals, machines and browsers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ..report import Report

FORMATS = {
    "terminal": "drawn for a terminal; plain text where the output is none",
    "json": "everything, for programs",
    "sarif": "SARIF 2.1.0, for code scanning",
    "junit": "JUnit XML, for CI",
    "md": "Markdown",
    "html": "one page for browsers, with the source",
}
SUFFIXES = {".json": "json", ".sarif": "sarif", ".xml": "junit", ".md": "md", ".html": "html", ".htm": "html"}


def write(report: Report, format: str, *, quiet: bool = False, verbose: bool = False) -> str:
    """Return a report in one of :data:`FORMATS`; `quiet` and `verbose` say something to terminals only."""
    if format == "terminal":
        return _plain(report, quiet, verbose)
    module = f"as_{format}"
    writer: Callable[[Report], str] = getattr(import_module(f".{module}", __name__), f"as_{format}")
    return writer(report)


def _plain(report: Report, quiet: bool, verbose: bool) -> str:
    import io

    from rich.console import Console

    from .terminal import show

    stream = io.StringIO()
    show(report, Console(file=stream, width=100, color_system=None), quiet=quiet, verbose=verbose)
    return stream.getvalue()
