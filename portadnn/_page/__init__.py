"""HTML pages that need nothing else: no network, no other file. They are well-formed XML, too."""

from __future__ import annotations

import base64
import hashlib
import html
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
