"""What came of a run of many cases, for terminals, machines and browsers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ..._io.files import write_whole
from ...errors import BadParam, shown
from ..results import RunReport

FORMATS = {
    "terminal": "drawn for a terminal; plain text where the output is none",
    "json": "everything, for programs",
    "junit": "JUnit XML, for CI",
    "html": "one page for browsers",
}
SUFFIXES = {".txt": "terminal", ".json": "json", ".xml": "junit", ".html": "html", ".htm": "html"}


def write(report: RunReport, format: str) -> str:
    """Return a report in one of :data:`FORMATS`.

    Raises
    ------
    BadParam
        There is no such format.
    """
    if format not in FORMATS:
        raise BadParam(argument="format", expected=f"one of {', '.join(FORMATS)}", got=shown(format))
    if format == "terminal":
        return _plain(report)
    module = f"as_{format}"
    writer: Callable[[RunReport], str] = getattr(import_module(f".{module}", __name__), module)
    return writer(report)


def save(report: RunReport, path: Path, format: str = "") -> None:
    """Write a report to a file, which is whole or as it was before.

    Parameters
    ----------
    format
        One of :data:`FORMATS`; "" takes what the file's name ends in (:data:`SUFFIXES`).

    Raises
    ------
    BadParam
        There is no such format, or the name tells none.
    OSError
        The file cannot be written.
    """
    chosen = format or SUFFIXES.get(path.suffix.lower(), "")
    if not chosen:
        raise BadParam(argument="output", expected=f"a name that ends in {', '.join(SUFFIXES)}", got=shown(path.name))
    write_whole(path, write(report, chosen).encode())


def _plain(report: RunReport) -> str:
    import io

    from rich.console import Console

    from .terminal import show

    stream = io.StringIO()
    show(report, Console(file=stream, width=120, color_system=None))
    return stream.getvalue()
