"""The arguments of a call: taken apart with the blanks and comments around them, and put together in another order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .calls import Call
from .source import Source


@dataclass(frozen=True)
class Part:
    """An argument.

    Attributes
    ----------
    lead : str
        The blanks before it.
    text : str
        What is written, with comments in and before it.
    tail : str
        Blanks and comments behind it, before the comma.
    note : str
        A comment behind the comma, on the same line.
    """

    lead: str
    text: str
    tail: str = ""
    note: str = ""


def parts(source: Source, call: Call) -> list[Part]:
    """Return the arguments of a call."""
    found: list[Part] = []
    for number, (start, end) in enumerate(call.arguments):
        text = source.text[start:end]
        if number:  # a comment behind the comma belongs to the argument before it
            note = re.match(r"[ \t]*(//[^\n]*|/\*[^\n]*?\*/(?=[ \t]*\r?\n))", text)
            if note:
                found[-1] = replace(found[-1], note=note[0].rstrip("\r"))
                text = text[note.end() :]
        lead = re.match(r"\s*", text)
        blanks = lead[0] if lead else ""
        body = text[len(blanks) :]
        code = source.code[end - len(body) : end]
        length = len(code.rstrip())
        found.append(Part(blanks, body[:length], body[length:]))
    return found


def bare(text: str) -> str:
    """Return an argument without comments, on one line."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


def joined(old: Sequence[Part], new: Sequence[str | int], rewritten: Sequence[str], newline: str) -> str:
    """Return what stands between the parentheses.

    Parameters
    ----------
    old : sequence of Part
        The arguments that were there.
    new : sequence of str or int
        The arguments that are wanted: new texts, or numbers of old ones.
    rewritten : sequence of str
        The texts of the old ones, in new words.
    newline : str
        How lines end.
    """
    leads = [part.lead for part in old[1:]]
    later = leads[-1] if leads and all("\n" in lead for lead in leads) else " "  # one on each line
    written: list[str] = []
    broken = False  # a comment up to the line's end stands before
    for place, item in enumerate(new):
        lead = _lead(old, new, item) if isinstance(item, int) and item > 0 else later
        if place == 0:
            lead = old[0].lead if old else ""
        text, tail, note = item, "", ""
        if isinstance(item, int):
            text, tail, note = rewritten[item], old[item].tail, old[item].note
        last = place + 1 == len(new)
        if broken and "\n" not in lead:
            lead = next((other for other in leads if "\n" in other), newline + "    ")
        if not tail.strip() and not last:
            tail = ""
        broken = "//" in note
        written.append(f"{lead}{text}{tail}{'' if last else ','}{note}")
    result = "".join(written)
    return result + newline if broken else result


def _lead(old: Sequence[Part], new: Sequence[str | int], item: int) -> str:
    """Return the blanks before an old argument: those of one that fell away before it, where a line began there."""
    lead = old[item].lead
    while "\n" not in lead and item > 1 and item - 1 not in new:
        item -= 1
        lead = old[item].lead if "\n" in old[item].lead else lead
    return lead
