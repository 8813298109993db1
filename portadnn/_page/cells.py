"""Tables for notebooks: what objects show of themselves there (``_repr_html_``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from . import escape

_NUMBER = ' style="text-align: right"'
_TEXT = ' style="text-align: left"'


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], *, note: str = "") -> str:
    """Return a table as HTML; numbers stand to the right, and everything is escaped.

    Parameters
    ----------
    title
        Above it.
    note
        Below it.
    """
    parts = [f"<div><b>{escape(title)}</b>", "<table><thead><tr>"]
    parts += [f"<th{_TEXT}>{escape(word)}</th>" for word in head]
    parts.append("</tr></thead><tbody>")
    for row in rows:
        parts.append("<tr>")
        for cell in row:
            number = isinstance(cell, (int, float)) and not isinstance(cell, bool)
            parts.append(f"<td{_NUMBER if number else _TEXT}>{escape(_shown(cell))}</td>")
        parts.append("</tr>")
    parts.append("</tbody></table>")
    if note:
        parts.append(f"<div>{escape(note)}</div>")
    return "".join([*parts, "</div>"])


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:,.4g}" if isinstance(cell, float) else f"{cell:,}" if type(cell) is int else str(cell)
