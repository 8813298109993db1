"""HTML pages that need nothing else: no network, no other file. They are well-formed XML, too."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from .._io.text import clean

FOLDER = Path(__file__).parent


def escape(text: str) -> str:
    """Return text as HTML."""
    return html.escape(clean(text))


@cache
def asset(path: Path) -> str:
    """Return a style sheet or a script, which HTML and XML both have to take as it stands."""
    text = path.read_text(encoding="utf-8")
    if any(sign in text for sign in ("<", "&", "]]>")):
        raise ValueError(f"{path}: neither XML nor HTML takes that as it stands")
    return text


def page(title: str, body: str, *, style: Path, script: Path, data: str = "") -> str:
    """Return a page with the styles and the script that all pages have, and its own.

    Parameters
    ----------
    body
        HTML, below the title.
    style, script
        Files.
    data
        JSON that the script finds in the element ``data``.
    """
    styles = asset(FOLDER / "base.css") + asset(style)
    scripts = asset(FOLDER / "theme.js") + asset(script)
    allowed = base64.b64encode(hashlib.sha256(scripts.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    held = f'<script type="application/json" id="data">{data}</script>' if data else ""
    return (
        '<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{escape(title)}</title><style>{styles}</style></head><body><main>\n"
        '<button id="theme" class="right" title="light or dark">◐</button>\n'
        f"<h1>{escape(title)}</h1>\n{body}\n</main>{held}<script>{scripts}</script></body></html>\n"
    )


def tables(title: str, sections: Sequence[tuple[str, str, str]], *, before: str = "", after: str = "") -> str:
    """Return a page of tables that can be searched, with heads that stay in sight.

    Parameters
    ----------
    sections : sequence of (str, str, str)
        An id, a title, and HTML with the tables: ``<table><thead>...</thead><tbody>...</tbody></table>``.
    before, after : str
        HTML above and below them.
    """
    options = "".join(f'<option value="{escape(name)}">{escape(text)}</option>' for name, text, _ in sections)
    controls = (
        '<div class="controls"><input id="words" type="search" placeholder="search" size="30"/>'
        f'<select id="jump"><option value="">go to ...</option>{options}</select>'
        '<span id="counted" class="dim"></span></div>'
    )
    body = "\n".join(
        f'<section><h2 id="{escape(name)}">{escape(text)}</h2>\n{inner}</section>' for name, text, inner in sections
    )
    style, script = FOLDER / "tables.css", FOLDER / "tables.js"
    return page(title, "\n".join([before, controls, body, after]), style=style, script=script)


def grid(columns: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table of rows, each a ``<tr>``, under the names of its columns."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>" + "\n".join(rows) + "</tbody>\n</table>"
