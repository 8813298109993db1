"""Python text of a function's parts: its documentation, and calls and definitions broken as ruff breaks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...mapping import Function, Row, Table
from ...mapping.text import changes

if TYPE_CHECKING:
    from .front_end import Signature

WIDTH = 120
NAMES = {"cudnn": "cuDNN", "miopen": "MIOpen"}


def bracketed(indent: int, head: str, items: Sequence[str], tail: str) -> list[str]:
    """Return ``head(items)tail`` on one line, on three lines, or with a line for each item."""
    space, inner = " " * indent, " " * (indent + 4)
    whole = f"{space}{head}({', '.join(items)}){tail}"
    if len(whole) <= WIDTH or not items:
        return [whole]
    joined = f"{inner}{', '.join(items)}"
    middle = [joined] if len(joined) <= WIDTH else [f"{inner}{item}," for item in items]
    return [f"{space}{head}(", *middle, f"{space}){tail}"]


def documentation(table: Table, row: Row, signature: Signature) -> str:
    """Return a docstring: what is returned, the declaration in C, where portadnn has it, and the table's remark."""
    function, library = signature.function, signature.function.library
    remark, summary = function.remark or "", _summary(signature)
    lines = [summary, "", f"C: ``{function.c}``"]
    if library == "miopen" and remark:  # such remarks begin with what the function does
        first, _, remark = remark.partition("\n\n")
        lines = [first, "", *lines]
    later = function.changes[-1] if function.changes else None
    if later and {p.name for p in later.parameters} - {p.name for p in function.parameters}:
        names = ", ".join(p.name for p in later.parameters)
        lines += ["", f"In {NAMES[library]} {later.version} the parameters are: {names}."]
    if library == "miopen" and row.cudnn:
        differs = "; ".join(changes(table, row, function))
        lines += ["", f"In cuDNN: ``{row.cudnn.name}``; what a port changes: {differs}."]
    if row.portadnn:
        lines += ["", "In portadnn: " + ", ".join(f"``{place}``" for place in row.portadnn) + "."]
    if remark:
        lines += ["", remark]
    return "\n".join(lines)


def docstring(indent: int, text: str) -> list[str]:
    """Return the lines of a string literal that holds a documentation."""
    space = " " * indent
    first, *rest = text.strip().split("\n")
    if not rest:
        return [f'{space}"""{first}"""']
    return [f'{space}"""{first}', *(f"{space}{line}".rstrip() for line in rest), f'{space}"""']


def _summary(signature: Signature) -> str:
    function, results = signature.function, [p.name for p in signature.results]
    if function.returns and function.returns != "void":
        said = f"Return a {_c_text(function)}"
    elif not results:
        said = "Return nothing"
    else:
        said = f"Return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"
    return f"{said} ({function.history or NAMES[function.library]})."


def _c_text(function: Function) -> str:
    return str(function.returns).replace("const char *", "string")
