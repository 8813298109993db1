"""The lines of the preprocessor: found, sorted into groups, and kept, dropped or left open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..libraries import CALLED
from .conditions import Known, Verdict
from .text import Text

_DIRECTIVE = re.compile(rb"^[ \t\f\v]*(#)[ \t]*([a-zA-Z_]*)[^\\\n]*(?:\\(?:[ \t\r]*\n|.)?[^\\\n]*)*", re.MULTILINE)
_CONTINUED = re.compile(rb"\\[ \t\r]*\n")
_DEFINE = re.compile(rb"([A-Za-z_]\w*)(\(([^()]*)\))?")
_DEEPEST = 64
_FAR = 200  # directives that are looked at for what other branches call
_SAID = 8  # earlier conditions that a branch's condition repeats
OPENING = frozenset((b"if", b"ifdef", b"ifndef"))
_NOT_BY_NVCC = re.compile(r"!\s*defined\s*\(?\s*__(?:CUDACC|NVCC)__\s*\)?\Z")
MIDDLE = frozenset((b"elif", b"elifdef", b"elifndef", b"else"))


@dataclass(frozen=True)
class Directive:
    """A line such as ``#define A 1``: `start` is at the ``#``, `rest` behind the word."""

    word: bytes
    start: int
    end: int
    rest: int


@dataclass(frozen=True)
class Macro:
    """A ``#define``: its body's place, its parameters if it has a list of them, and the condition it stands under."""

    name: str
    parameters: tuple[str, ...] | None
    start: int
    end: int
    condition: str


@dataclass
class Branch:
    """A branch of a group that may be taken: its directive, its text behind it, and the condition in words."""

    directive: Directive
    condition: str
    start: int
    end: int = 0


@dataclass
class Group:
    """``#if`` to ``#endif`` of which it is not known which branch is taken; `complete` where one of them has to be."""

    branches: list[Branch]
    complete: bool
    closing: Directive | None
    end: int


@dataclass
class _Frame:
    opening: Directive
    alive: bool  # whether the surroundings are there at all
    surely: bool  # and are certainly there
    decided: bool = False  # a branch before was certainly taken
    denied: list[str] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    current: Branch | None = None
    sure: bool = False  # whether the current branch is certainly taken
    complete: bool = False
    directives: list[Directive] = field(default_factory=list)


@dataclass
class Prepared:
    """What the directives say: groups left open (in order of their ends), macros, includes, and what is blanked."""

    groups: list[Group] = field(default_factory=list)
    macros: list[Macro] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    blanks: list[tuple[int, int]] = field(default_factory=list)
    too_deep: list[int] = field(default_factory=list)


def find(text: Text) -> Iterator[Directive]:
    """Yield all directives in order."""
    for match in _DIRECTIVE.finditer(text.mask):
        yield Directive(match.group(2), match.start(1), match.end(), match.end(2))


def words(text: Text, directive: Directive) -> str:
    """Return what stands behind the directive's word, in one line."""
    return " ".join(_CONTINUED.sub(b" ", text.code[directive.rest : directive.end]).decode("utf-8", "replace").split())


def prepare(text: Text, known: Known) -> Prepared:
    """Decide all conditions that can be decided."""
    return _Reader(text, known).read()


class _Reader:
    def __init__(self, text: Text, known: Known) -> None:
        self.text = text
        self.known = known
        self.result = Prepared()
        self.frames: list[_Frame] = []
        self.all = list(find(text))

    def read(self) -> Prepared:
        ignored = 0
        for number, directive in enumerate(self.all):
            word = directive.word
            if word in OPENING:
                if ignored or len(self.frames) >= _DEEPEST:
                    if not ignored:
                        self.result.too_deep.append(directive.start)
                    ignored += 1
                    self._blank(directive)
                else:
                    self._open(number, directive)
            elif word in MIDDLE or word == b"endif":
                if ignored:
                    ignored -= word == b"endif"
                    self._blank(directive)
                elif not self.frames:
                    self._blank(directive)
                elif word == b"endif":
                    self._close(directive)
                else:
                    self._next(number, directive)
            else:
                self._other(directive)
        while self.frames:
            self._close(None)
        return self.result

    def _blank(self, directive: Directive) -> None:
        self.result.blanks.append((directive.start, directive.end))

    def _alive(self) -> bool:
        frame = self.frames[-1] if self.frames else None
        return frame is None or frame.current is not None

    def _surely(self) -> bool:
        frame = self.frames[-1] if self.frames else None
        return frame is None or (frame.surely and frame.sure)

    def _open(self, number: int, directive: Directive) -> None:
        frame = _Frame(directive, self._alive(), self._surely())
        self.frames.append(frame)
        self._branch(number, directive, frame)

    def _next(self, number: int, directive: Directive) -> None:
        frame = self.frames[-1]
        self._end_branch(frame, directive.start)
        self._branch(number, directive, frame)

    def _end_branch(self, frame: _Frame, position: int) -> None:
        last = frame.directives[-1]
        if frame.current is not None:
            frame.current.end = position
            frame.current = None
        else:
            self.result.blanks.append((last.end, position))

    def _branch(self, number: int, directive: Directive, frame: _Frame) -> None:
        frame.directives.append(directive)
        frame.sure = False
        if not frame.alive or frame.decided:
            return
        condition = condition_of(directive.word, words(self.text, directive))
        verdict = self._verdict(number, directive, condition)
        if verdict is False:
            frame.denied += [] if directive.word == b"else" else [condition]
            return
        words_ = [f"!({c})" if not c.startswith("!defined") else c[1:] for c in frame.denied[-_SAID:] if frame.branches]
        branch = Branch(directive, " && ".join([*words_, condition] if condition else words_), directive.end)
        frame.denied.append(condition)
        frame.branches.append(branch)
        frame.current = branch
        if verdict is True:
            frame.decided = frame.complete = True
            frame.sure = len(frame.branches) == 1

    def _verdict(self, number: int, directive: Directive, condition: str) -> Verdict:
        if directive.word == b"else":
            return True
        if directive.word == b"ifndef" and self._is_guard(number, condition):
            return True
        if _NOT_BY_NVCC.match(condition):  # left to the host's compiler: .cpp files include it
            return None
        sure = self.known.decide(condition)
        if sure is not None:
            return sure
        guess = self.known.guess(condition)
        if guess is None:
            return None
        here, elsewhere = self._calls(number)
        return None if (elsewhere if guess else here) else guess

    def _is_guard(self, number: int, condition: str) -> bool:
        if number + 1 >= len(self.all) or self.all[number + 1].word != b"define":
            return False
        name = condition[len("!defined(") : -1]
        following = words(self.text, self.all[number + 1])
        return re.match(rf"{re.escape(name)}\b", following) is not None and not self.known.is_defined(name)

    def _calls(self, number: int) -> tuple[bool, bool]:
        """Whether a branch, and those behind it, call the libraries."""
        depth, start, found = 0, self.all[number].end, []  # type: int, int, list[bool]
        for following in range(number + 1, len(self.all)):
            directive = self.all[following]
            if following - number > _FAR:
                return True, True
            if directive.word in OPENING:
                depth += 1
            elif depth and directive.word == b"endif":
                depth -= 1
            elif not depth and (directive.word in MIDDLE or directive.word == b"endif"):
                found.append(CALLED.search(self.text.mask, start, directive.start) is not None)
                start = directive.end
                if directive.word == b"endif":
                    break
        return (found[0] if found else False), any(found[1:])

    def _close(self, directive: Directive | None) -> None:
        frame = self.frames.pop()
        position = len(self.text.mask) if directive is None else directive.start
        self._end_branch(frame, position)
        if not frame.branches or (len(frame.branches) == 1 and frame.complete):
            for one in frame.directives:
                self._blank(one)
            if directive is not None:
                self._blank(directive)
            return
        kept = {id(branch.directive) for branch in frame.branches}
        for one in frame.directives:
            if id(one) not in kept:
                self._blank(one)
        end = position if directive is None else directive.end
        self.result.groups.append(Group(frame.branches, frame.complete, directive, end))

    def _other(self, directive: Directive) -> None:
        self._blank(directive)
        if not self._alive():
            return
        if directive.word in (b"include", b"import", b"include_next"):
            self.result.includes.append(words(self.text, directive))
        elif directive.word == b"define":
            self._define(directive)
        elif directive.word == b"undef":
            self.known.undefine(words(self.text, directive), sure=self._surely())

    def _define(self, directive: Directive) -> None:
        code = self.text.code
        start = directive.rest
        while start < directive.end and code[start] in b" \t":
            start += 1
        match = _DEFINE.match(code, start, directive.end)
        if match is None:
            return
        name = match.group(1).decode()
        parameters = None
        if match.group(2) is not None:
            given = _CONTINUED.sub(b" ", match.group(3)).decode("utf-8", "replace")
            parameters = tuple(p.strip() for p in given.split(",") if p.strip())
        body, end = match.end(), directive.end
        while body < end and code[body] in b" \t\r\n\\":
            body += 1
        while end > body and code[end - 1] in b" \t\r\n\\":
            end -= 1
        condition = " && ".join(
            frame.current.condition for frame in self.frames if frame.current is not None and not frame.sure
        )
        self.result.macros.append(Macro(name, parameters, body, end, condition))
        value = _CONTINUED.sub(b" ", code[body:end]).decode("utf-8", "replace")
        self.known.define(name, parameters, value, sure=self._surely())


def condition_of(word: bytes, rest: str) -> str:
    """Return the condition of a directive as an expression of ``#if``; "" of ``#else``."""
    name = rest.split(" ", maxsplit=1)[0]
    if word in (b"ifdef", b"elifdef"):
        return f"defined({name})"
    if word in (b"ifndef", b"elifndef"):
        return f"!defined({name})"
    return "" if word == b"else" else rest or "?"
