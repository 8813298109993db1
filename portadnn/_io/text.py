"""Text that is safe to print, and counts in words."""

from __future__ import annotations

import unicodedata

TAB = 4


def clean(text: str) -> str:
    """Escape control characters and undecodable bytes of a text.

    Line ends stay; tabs become spaces.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(c) for c in text)


def _shown(c: str) -> str:
    if c == "\n" or c.isprintable():
        return c
    if c == "\t":
        return " " * TAB
    code = ord(c)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(c) == "Zs":  # spaces of other scripts
        return " "
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def line_of(text: str) -> str:
    """Return text on one line."""
    return clean(" ".join(text.split()))


def count(number: int, word: str, plural: str | None = None) -> str:
    """Return ``"1 call"``, ``"2 calls"``, ``"12,345 calls"``."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"
