"""Numbers, characters and strings as C writes them."""

from __future__ import annotations

import ast
import re

_FLOAT = re.compile(r"(?P<digits>[0-9.]+(?:[eE][-+]?[0-9]+)?)(?P<suffix>[fFlL]|f16|bf16|h)?\Z")
_INT = re.compile(r"(?P<digits>0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)(?P<suffix>[uUlLzZ]*)\Z")
_HEX_FLOAT = re.compile(r"(?P<digits>0[xX][0-9a-fA-F.]+[pP][-+]?[0-9]+)(?P<suffix>[fFlL]?)\Z")
_LONGEST = 400
_SUFFIXES = {
    "": "int",
    "u": "unsigned int",
    "l": "long",
    "ul": "unsigned long",
    "ll": "long long",
    "ull": "unsigned long long",
}


def number(text: str) -> tuple[int | float, str] | None:
    """Return a number's value and its type in C; None where it is none."""
    text = text.strip()
    sign = 1
    while text[:1] in ("-", "+"):
        sign = -sign if text[0] == "-" else sign
        text = text[1:].lstrip()
    text = text.replace("'", "")
    if len(text) > _LONGEST:
        return None
    match = _INT.match(text)
    if match is not None:
        digits = match.group("digits")
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        if octal and not set(digits) <= set("01234567"):
            return None
        suffix = "".join(sorted(match.group("suffix").lower(), reverse=True)).replace("z", "l")
        return sign * int(digits, 8 if octal else 0), _SUFFIXES.get(suffix, "int")
    match = _FLOAT.match(text)
    try:
        if match is not None:
            return sign * float(match.group("digits")), _float_type(match.group("suffix"))
        match = _HEX_FLOAT.match(text)
        if match is not None:
            return sign * float.fromhex(match.group("digits")), _float_type(match.group("suffix"))
    except (ValueError, OverflowError):
        pass
    return None


def _float_type(suffix: str | None) -> str:
    return {"f": "float", "l": "long double", "f16": "half", "bf16": "bfloat16", "h": "half"}.get(
        (suffix or "").lower(), "double"
    )


def string(text: str) -> str:
    """Return what a string or a character in quotes says, as well as Python's rules for escapes give it."""
    body = text[text.find(text[-1:]) :]
    if "\\" not in body:
        return body[1:-1]
    try:
        return str(ast.literal_eval(body.replace("\n", "\\n") if len(body) < _LONGEST else body))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return body.strip("'\"")
