"""Members of what Find returns: MIOpen keeps the algorithm in another member for each direction."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .source import Source, Token

_MEMBERS = {
    "cudnnConvolutionFwdAlgoPerf_t": "fwd_algo",
    "cudnnConvolutionBwdDataAlgoPerf_t": "bwd_data_algo",
    "cudnnConvolutionBwdFilterAlgoPerf_t": "bwd_weights_algo",
}
_LOST = {"status", "determinism", "mathType"}
_FAR = 12  # tokens from a type to the variable's name
_RANGE = re.compile(r"\bfor\s*\(([^;:()]*):\s*([\w.>-]+)\)")
_LAST_WORD = re.compile(r"(\w+)\s*\Z")
_STARS = {"*", "&", "const", ">", "[", "]", ">>"}


@dataclass(frozen=True)
class Member:
    """A member that is read: where its name is, and MIOpen's name; "" where MIOpen has none."""

    name: str
    start: int
    end: int
    miopen: str


Declared = tuple[int, str, str]  # where, name, MIOpen's member


class Variables:
    """Variables of what Find returns, by their names, in each source.

    Parameters
    ----------
    declared : mapping of str to sequence of Declared
        Those of each source.
    """

    def __init__(self, declared: Mapping[str, Sequence[Declared]]) -> None:
        self._by_name: dict[str, dict[str, list[tuple[int, str]]]] = {}
        self._sources: dict[str, dict[str, set[str]]] = {}
        for source, found in declared.items():
            for start, name, member in found:
                self.add(source, start, name, member)

    def add(self, source: str, start: int, name: str, member: str) -> None:
        """Add a variable behind those before it."""
        self._by_name.setdefault(source, {}).setdefault(name, []).append((start, member))
        self._sources.setdefault(name, {}).setdefault(member, set()).add(source)

    def member(self, source: str, name: str, before: int) -> str:
        """Return the member of the variable of that name that is declared last before an offset; "" for none."""
        found = self._by_name.get(source, {}).get(name, [])
        place = bisect_left(found, (before, ""))
        return found[place - 1][1] if place else ""

    def elsewhere(self, source: str, name: str) -> str:
        """Return the member of the variables of that name in other sources, such as members of classes."""
        members = [member for member, sources in self._sources.get(name, {}).items() if sources - {source}]
        return members[0] if len(members) == 1 else ""


def declared(source: Source) -> list[Declared]:
    """Return the variables of these types, in order."""
    found: list[Declared] = []
    for i, token in enumerate(source.tokens):
        if token.text in _MEMBERS:
            found += [(token.start, name, _MEMBERS[token.text]) for name in _variables(source.tokens, i)]
    known = Variables({source.name: sorted(found)})
    for match in _RANGE.finditer(source.code):
        name, word = _LAST_WORD.search(match[1]), _LAST_WORD.search(match[2])
        member = known.member(source.name, word[1], match.start()) if word else ""
        if name and member:
            found.append((match.start(), name[1], member))
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


def read(source: Source, variables: Variables) -> Iterator[Member]:
    """Yield the members of these variables that a source reads."""
    for i, token in enumerate(source.tokens):
        if i < 2 or (token.text != "algo" and token.text not in _LOST):
            continue
        if source.tokens[i - 1].text not in {".", "->"}:
            continue
        name = _base(source, i - 2)
        member = variables.member(source.name, name, token.start) or variables.elsewhere(source.name, name)
        if member:
            yield Member(token.text, token.start, token.end, member if token.text == "algo" else "")


def _base(source: Source, place: int) -> str:
    """Return the variable before ``.`` or ``->``, without its indices."""
    tokens = source.tokens
    if tokens[place].text == "]":
        place = source.opening.get(place, 1) - 1
    return tokens[place].text if place >= 0 and tokens[place].is_word else ""
