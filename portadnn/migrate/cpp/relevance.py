"""Which of a file's functions have to be read: those that something links to a library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from ..libraries import WORD
from ..program import Class, Declare
from .declarators import Declared

Kind = Literal["function", "method", "constructor", "destructor"]
_NAME = re.compile(rb"[A-Za-z_]\w*", re.ASCII)
_FIELD = re.compile(rb"(?:\.|->)\s*(?:algo|status|mathType|determinism)\b(?!\s*\()")  # of what a search found
_ARGUMENTS = re.compile(r"<.*>")
_SHORTEST = 4  # of names that are bound to a library in other files


@dataclass
class Candidate:
    """A function that was seen, but not read yet."""

    node: Node
    owner: str
    condition: str
    declared: Declared
    name: str
    body: Node
    kind: Kind = "function"


def split(
    candidates: Sequence[Candidate],
    code: bytes,
    *,
    known: Iterable[str],
    classes: Sequence[Class],
    variables: Sequence[Declare],
    names: Collection[bytes],
    helpers: Collection[bytes] = (),
) -> tuple[list[Candidate], frozenset[str], frozenset[str]]:
    """Return the functions to read, the names in the others, and those that the others define.

    A function is to be read if it names a library, or one of `known` (macros and other names that stand for a library's
    functions); if it shares a class, a variable of the file or a call, in either direction, with one that is. And if
    it has one of `names` (what other files bind to a library), with its callers, its class, and what it calls itself.
    So is one that reads a field that a search's results have.
    Functions that are called `helpers` give other files' calls their arguments; they are read with what they call.
    """
    links = _Links(candidates, code, classes, variables)
    seeds = frozenset(name.encode() for name in known)
    strong = [n for n in range(len(candidates)) if WORD.search(links.texts[n]) or not seeds.isdisjoint(links.words[n])]
    for class_ in classes:
        if any(WORD.search(member.type.encode()) for member in class_.members):
            strong += links.users.get(links.family(class_.name), [])
    for variable in variables:  # static members
        owner = _ARGUMENTS.sub("", variable.name).rpartition("::")[0]
        if owner and WORD.search(variable.type.encode()):
            strong += links.users.get(links.family(owner), [])
    chosen = links.closure(strong, links.uses)
    if names:
        bound = frozenset(names)
        weak = [
            n for n, c in enumerate(candidates) if links.class_name(c) in bound or not bound.isdisjoint(links.words[n])
        ]
        around = links.closure(weak, links.own)
        called = {name for number in around for name in links.uses[number] & links.defined}
        chosen |= around | {number for name in called for number in links.makers[name]}
    chosen |= {number for number, text in enumerate(links.texts) if _FIELD.search(text)}
    waiting = [name for name in helpers if name in links.defined]
    while waiting:
        for number in links.makers[waiting.pop()]:
            if number not in chosen:
                chosen.add(number)
                waiting += links.uses[number] & links.defined
    left = {word for number in range(len(candidates)) if number not in chosen for word in links.words[number]}
    left_out = frozenset(word.decode() for word in left if len(word) >= _SHORTEST)
    unread = frozenset(candidate.name for number, candidate in enumerate(candidates) if number not in chosen)
    return [candidate for number, candidate in enumerate(candidates) if number in chosen], left_out, unread


class _Links:
    """What the functions of a file have in common, by numbers of the candidates."""

    def __init__(
        self, candidates: Sequence[Candidate], code: bytes, classes: Sequence[Class], variables: Sequence[Declare]
    ) -> None:
        self.texts = [code[c.node.start_byte : c.node.end_byte] for c in candidates]
        self.words = [frozenset(_NAME.findall(text)) for text in self.texts]
        self._families = _families(classes)
        self.makers: dict[bytes, list[int]] = {}  # of functions, by name
        for number, candidate in enumerate(candidates):
            self.makers.setdefault(candidate.name.encode(), []).append(number)
        self.defined = self.makers.keys()
        shared = self.defined | {v.name.rpartition("::")[2].encode() for v in variables if v.type != "#define"}
        self.uses: list[frozenset[bytes]] = []
        self.own: list[frozenset[bytes]] = []
        self.users: dict[bytes, list[int]] = {}
        for number, candidate in enumerate(candidates):
            own = {candidate.name.encode()} | ({self.family(candidate.owner)} if candidate.owner else set())
            self.own.append(frozenset(own))
            self.uses.append(self.words[number] & shared | own)
            for name in self.uses[-1]:
                self.users.setdefault(name, []).append(number)

    def family(self, name: str) -> bytes:
        """Return a name for a class and its bases that no function has."""
        return b"class " + self._families.get(name, name).encode()

    @staticmethod
    def class_name(candidate: Candidate) -> bytes:
        """Return the name of a function's class without qualification."""
        return candidate.owner.rpartition("::")[2].encode()

    def closure(self, start: Iterable[int], names: Sequence[frozenset[bytes]]) -> set[int]:
        """Return some functions with all those that use what these have, and so on."""
        chosen: set[int] = set()
        done: set[bytes] = set()
        waiting = list(start)
        while waiting:
            number = waiting.pop()
            if number not in chosen:
                chosen.add(number)
                for name in names[number] - done:
                    done.add(name)
                    waiting += self.users[name]
        return chosen


def _families(classes: Sequence[Class]) -> dict[str, str]:
    """Return for each class the name under which it and its bases are one."""
    family: dict[str, str] = {}

    def root(name: str) -> str:
        while family.setdefault(name, name) != name:
            family[name] = name = family[family[name]]
        return name

    for class_ in classes:
        for base in class_.bases:
            family[root(base.rpartition("::")[2])] = root(class_.name)
        root(class_.name)
    return {name: root(name) for name in list(family)}
