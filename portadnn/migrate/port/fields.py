"""Members of what Find returns: MIOpen keeps the algorithm in another member for each direction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .source import Source, Token

_MEMBERS = {
    "cudnnConvolutionFwdAlgoPerf_t": "fwd_algo",
    "cudnnConvolutionBwdDataAlgoPerf_t": "bwd_data_algo",
    "cudnnConvolutionBwdFilterAlgoPerf_t": "bwd_weights_algo",
}
_LOST = {"status", "determinism", "mathType"}
_FAR = 12  # tokens from a type to the variable's name
_STARS = {"*", "&", "const", ">", "[", "]", ">>"}


@dataclass(frozen=True)
class Member:
    """A member that is read: where its name is, and MIOpen's name; "" where MIOpen has none."""

    name: str
    start: int
    end: int
    miopen: str


Declared = tuple[int, str, str]  # where, name, MIOpen's member


def declared(source: Source) -> list[Declared]:
    """Return the variables of these types."""
    found: list[Declared] = []
    for i, token in enumerate(source.tokens):
        if token.text in _MEMBERS:
            found += [(token.start, name, _MEMBERS[token.text]) for name in _variables(source.tokens, i)]
    for match in re.finditer(r"\bfor\s*\([^;:()]*?(\w+)\s*:\s*([\w.>-]+)\)", source.code):
        member = _member(found, re.findall(r"\w+", match[2])[-1:], match.start())
        if member:
            found.append((match.start(), match[1], member))
    return sorted(found)


def _variables(tokens: list[Token], place: int) -> Iterator[str]:
    """Yield the names that are declared behind a type, also behind ``std::vector<type>``."""
    texts = [token.text for token in tokens[place + 1 : place + 1 + _FAR]] + [""] * 3
    i = 0
    while texts[i] in _STARS or (texts[i] == "," and texts[i + 2] in {">", ">>"}):
        i += 3 if texts[i] == "," else 1
    place += 1 + i
    while place < len(tokens) and tokens[place].is_word:
        yield tokens[place].text
        place += 1
        while place < len(tokens) and tokens[place].text not in {",", ";", ")", "(", "{", "}", "="}:
            place += 1
        behind = [token.text for token in tokens[place : place + 4]]
        stars = 1 + (behind[1:2] == ["*"])
        if behind[:1] != [","] or behind[stars + 1 : stars + 2] not in ([","], [";"], ["["], ["="]):
            return
        place += stars


def _member(variables: Iterable[Declared], names: Iterable[str], before: int) -> str:
    """Return the member of the variable of that name that is declared last before an offset."""
    wanted = set(names)
    fitting = [(start, member) for start, name, member in variables if name in wanted and start < before]
    return max(fitting)[1] if fitting else ""


def read(source: Source, elsewhere: Iterable[Declared]) -> Iterator[Member]:
    """Yield the members that are read of these variables.

    Parameters
    ----------
    source : Source
    elsewhere : iterable of Declared
        Variables of other sources, such as members of classes.
    """
    here = declared(source)
    others = list(elsewhere)
    for i, token in enumerate(source.tokens):
        if i < 2 or (token.text != "algo" and token.text not in _LOST):
            continue
        if source.tokens[i - 1].text not in {".", "->"}:
            continue
        name = _base(source, i - 2)
        member = _member(here, [name], token.start) or _only({m for _, n, m in others if n == name})
        if member:
            yield Member(token.text, token.start, token.end, member if token.text == "algo" else "")


def _base(source: Source, place: int) -> str:
    """Return the variable before ``.`` or ``->``, without its indices."""
    tokens = source.tokens
    if tokens[place].text == "]":
        place = next((a for a, b in source.closing.items() if b == place), 1) - 1
    return tokens[place].text if place >= 0 and tokens[place].is_word else ""


def _only(members: set[str]) -> str:
    return members.pop() if len(members) == 1 else ""
