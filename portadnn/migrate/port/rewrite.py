"""A source's new text: calls, names, members, includes and comments for what is left, as edits of the old one."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..names import data, look_up
from . import fields
from .calls import Call, find
from .edits import Edits, Stretches
from .layout import joined, parts
from .newer import is_gone
from .plan import operation_reference, plan
from .program import HEADERS, LEAVE, Plan, Program
from .source import VERSION, Source, Token

_INCLUDE = re.compile(r"#[ \t]*(?:include|import)[ \t]*([<\"][^>\"\n]+[>\"])")
_HEADERS = re.compile(r"[<\"]cudnn(_v\d+|_version|_(ops|adv|cnn)(_infer|_train)?(_v\d+)?|_graph|_backend)?\.h[>\"]")
_CASE = re.compile(r'\s*:\s*return\s*"[^"\n]*"\s*;(?=[ \t]*\r?\n)')
_LABEL = re.compile(r"\s*case\s+")
_MARK = "/* portadnn: "
_MARKED = re.compile(rf"[ \t]*{re.escape(_MARK)}")


@dataclass(frozen=True)
class Marked:
    """What was left to the user, or ported with a remark.

    Attributes
    ----------
    line : int
        In the old source.
    name, rule, note : str
    stays : bool
        Whether it was left as it is.
    """

    line: int
    name: str
    rule: str
    note: str
    stays: bool = True


@dataclass
class Rewritten:
    """What became of a source.

    Attributes
    ----------
    source : Source
    text : str
        The new text.
    calls, removed, names : int
        Calls that were rewritten, calls that fell away, and other names and includes.
    marked : list of Marked
    header : bool
        Whether it needs portadnn_miopen.h.
    """

    source: Source
    text: str = ""
    calls: int = 0
    removed: int = 0
    names: int = 0
    marked: list[Marked] = field(default_factory=list)
    header: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything is new."""
        return self.text != self.source.text


def rewrite(source: Source, program: Program, variables: fields.Variables) -> Rewritten:
    """Rewrite a source as far as that is certain."""
    return _Rewriting(source, program, variables).result


class _Rewriting:
    def __init__(self, source: Source, program: Program, variables: fields.Variables) -> None:
        self.source, self.program = source, program
        self.result = Rewritten(source)
        self.edits = Edits()
        self.marks: dict[tuple[int, str, str], str] = {}  # by line, rule and name
        self.told: set[str] = set()  # names that a comment speaks of
        self.uses: list[int] = []  # where portadnn_miopen.h is needed
        found = _nested([(call, self._plan(call)) for call in find(source)])
        left = {(call.start, call.end) for call, what in found if what.kind in {"mark", "leave"}}
        frozen = [(call.start, call.end) for call, what in found if what.kind == "mark"]
        names = self._gone_names if self.program.target == "cudnn-9" else self._names
        if self.program.target != "cudnn-9":
            self._includes()
        names(Stretches(frozen + [span for call, what in found for span in _gone(call, what)]), left)
        if self.program.target != "cudnn-9":
            self._members(Stretches(frozen), variables)
        for call, what in sorted(found, key=lambda pair: -pair[0].start):
            self._call(call, what)
        self._header()
        self._comments()
        self.result.text = self.edits.applied(source.text, 0, len(source.text))

    # Parts of it --------------------------------------------------------------------------------------------------

    def _plan(self, call: Call) -> Plan:
        if self._is_marked(call.start, call.name):
            return Plan("mark", note="")
        return plan(self.source, call, self.program)

    def _includes(self) -> None:
        for directive in self.source.directives:
            match = _INCLUDE.match(self.source.text[directive.start : directive.end].lstrip())
            if match is None or directive.kind not in {"include", "import"}:
                continue
            if _HEADERS.fullmatch(match[1]):
                start = self.source.text.index(match[1], directive.start)
                self.edits.add(start, start + len(match[1]), "<miopen/miopen.h>")
                self.result.names += 1
            elif match[1].strip('<>"').startswith("cudnn_frontend"):
                note = "the graph interface has no counterpart here; hipDNN takes what cudnn_frontend 9 is given"
                self._mark(directive.start, match[1].strip('<>"'), "V58", note)

    def _names(self, frozen: Stretches, left: set[tuple[int, int]]) -> None:
        starts = {start for start, _ in left}
        for token in self.source.tokens:
            if not token.text.startswith(("cudnn", "CUDNN_")) or token.start in starts or token.start in frozen:
                continue
            if token.text in data()["numbers"]:
                self._number(token)
                continue
            name = look_up(token.text, self.program.target)
            if name is None or self._is_defined(token.start, token.text):
                continue
            if VERSION.match(token.text) and self._is_told(token.text):
                continue
            if token.text.startswith("CUDNN_STATUS_") and self._text_of_status(token, name.miopen):
                continue
            if name.miopen is None or not name.sure:
                hint = name.note if name.miopen is None else f"perhaps {name.miopen}: {name.note}"
                self._mark(token.start, token.text, name.rule, hint)
            else:
                self.edits.add(token.start, token.end, name.miopen)
                self.result.names += 1

    def _text_of_status(self, token: Token, miopen: str | None) -> bool:
        """Write ``case STATUS: return "text";`` for MIOpen, without what it lacks; tell whether it was such a case."""
        text, line = self.source.text, self.source.line_start(token.start)
        label = _LABEL.fullmatch(text, line, token.start)
        case = _CASE.match(text, token.end)
        if label is None or case is None or self.source.directive(token.start) is not None:
            return False
        if miopen is None:
            self.edits.replace(line, self.source.line_end(case.end()), "")
        else:
            self.edits.add(token.start, token.end, miopen)
        self.result.names += 1
        return True

    def _gone_names(self, frozen: Stretches, left: set[tuple[int, int]]) -> None:
        """Say of types and values that cuDNN 9 lacks that they are left."""
        starts = {start for start, _ in left}
        for token in self.source.tokens:
            if token.start in starts or token.start in frozen or not token.text.startswith(("cudnn", "CUDNN_")):
                continue
            if is_gone(token.text) and not self._is_defined(token.start, token.text):
                self._mark(token.start, token.text, "F01", "cuDNN 9 does not have it")

    def _number(self, token: Token) -> None:
        """Write a macro's number in its place, unless the program asks whether it is defined, or defines it itself."""
        directive = self.source.directive(token.start)
        if token.text in self.program.defined or (directive is not None and directive.kind != "define"):
            return
        self.edits.add(token.start, token.end, data()["numbers"][token.text])
        self.result.names += 1

    def _is_told(self, name: str) -> bool:
        """Tell whether a comment of ours speaks of a name anywhere, which is enough for the version's macros."""
        if name not in self.told and f"{_MARK}{name}: " in self.source.text:
            self.told.add(name)
        return name in self.told

    def _is_defined(self, offset: int, name: str) -> bool:
        """Tell whether a line of the preprocessor defines a name, or asks for it, as `#ifdef CUDNN_MAJOR` does."""
        directive = self.source.directive(offset)
        return directive is not None and directive.kind in {"define", "undef"} and directive.rest.split()[:1] == [name]

    def _members(self, frozen: Stretches, variables: fields.Variables) -> None:
        for member in fields.read(self.source, variables):
            if member.start in frozen:
                continue
            if member.miopen:
                self.edits.add(member.start, member.end, member.miopen)
                self.result.names += 1
            else:
                self._mark(
                    member.start, member.name, "S12", "what Find returns has no such member: time and memory only"
                )

    def _call(self, call: Call, what: Plan) -> None:
        if what.kind == "mark":
            if what.note:
                self._mark(call.start, call.name, what.rule, what.note)
            return
        if what is LEAVE:
            return
        if what.note:
            self._mark(call.start, call.name, what.rule, what.note, stays=False)
        if call.name == "cudnnSetOpTensorDescriptor" and call.arguments:
            name = parts(self.source, call)[0].text
            place = operation_reference(self.source, call.start, name, self.program)
            if place is not None and self.edits.around(place) is None:
                self.edits.add(place, place, "&")
        if what.header:
            self.uses.append(call.start)
        if what.kind == "remove":
            self.result.removed += 1
            self._remove(call)
            return
        self.result.calls += 1
        if what.kind == "expression" and call.statement is not None:
            self.edits.replace(*call.statement, f"{what.name};")
        elif what.kind == "expression":
            self.edits.replace(call.start, call.end, f"({what.name}, miopenStatusSuccess)")
        elif call.kind == "name" or (what.arguments == tuple(range(len(call.arguments))) and not what.casts):
            self.edits.add(call.start, call.start + len(call.name), what.name)
        else:
            self.edits.replace(call.start, call.end, self._written(call, what))

    def _written(self, call: Call, what: Plan) -> str:
        old = parts(self.source, call)
        texts = []
        for number, ((start, _), part) in enumerate(zip(call.arguments, old, strict=True)):
            begin = self.source.text.index(part.text, start)
            text = self.edits.applied(self.source.text, begin, begin + len(part.text))
            texts.append(_cast(text) if number in what.casts else text)
        between = self.source.text[call.start + len(call.name) : call.open + 1]
        end = self.source.text[self.source.text.rfind(")", 0, call.end) : call.end]
        return what.name + between + joined(old, what.arguments, texts, self.source.newline) + end

    def _remove(self, call: Call) -> None:
        """Take a call away: with its lines, where nothing else is on them."""
        if call.statement is None:
            self.edits.replace(call.start, call.end, "miopenStatusSuccess")
            return
        start, end = call.statement
        first, line = self.source.line_begin(start), self.source.line_end(end)
        if self.source.is_blank(first, start) and self.source.is_blank(end, line):
            start, end = first, line
        self.edits.replace(start, end, "")

    # What is inserted ---------------------------------------------------------------------------------------------

    def _mark(self, offset: int, name: str, rule: str, note: str, *, stays: bool = True) -> None:
        place = self.source.line_start(offset)
        if (place, rule, name) in self.marks or self._is_marked(offset, name):
            return
        self.told.add(name)
        self.marks[place, rule, name] = f"{f'PD-{rule}: ' if rule else ''}{name}: {_one_line(note)}"
        self.result.marked.append(Marked(self.source.line(offset), name, rule, _one_line(note), stays))

    def _is_marked(self, offset: int, name: str) -> bool:
        """Tell whether a comment above a line speaks of a name."""
        text, start = self.source.text, self.source.line_start(offset)
        while start > 0:
            above = self.source.line_begin(start - 1)
            if _MARKED.match(text, above) is None:
                return False
            if re.search(rf"portadnn: (PD-\w+: )?{re.escape(name)}: ", text[above:start]):
                return True
            start = above
        return False

    def _comments(self) -> None:
        newline = self.source.newline
        for (line, _, _), text in sorted(self.marks.items(), key=lambda item: item[0][0]):
            place = line
            while around := self.edits.around(place):
                place = self.source.line_start(around.start)  # above the whole of what is new
            self.edits.add(place, place, f"{self.source.indent(place)}{_MARK}{text} */{newline}")

    def _header(self) -> None:
        """Include portadnn_miopen.h where it is needed, in the same branches of the preprocessor."""
        source = self.source
        if not self.uses:
            return
        self.result.header = True
        name = HEADERS[self.program.target]
        wanted = {tuple(self._branches(use)): use for use in sorted(self.uses, reverse=True)}
        present = {tuple(self._branches(d.start)) for d in source.directives if name in source.text[d.start : d.end]}
        for branches, use in sorted(wanted.items(), key=lambda item: item[1]):
            if any(branches[: len(others)] == others for others in present):
                continue
            present.add(branches)
            place, outer = self._place(use, list(branches))
            lines = [line for chain in branches[outer:] for line in chain]
            lines += [f'#include "{name}"', *("#endif" for _ in branches[outer:])]
            self.edits.add(place, place, "".join(line + source.newline for line in lines))

    def _branches(self, offset: int) -> list[tuple[str, ...]]:
        """Return the branches around an offset, but for those that choose by cuDNN's version."""
        return [chain for chain in self.source.branches(offset) if not any(map(VERSION.search, chain))]

    def _place(self, use: int, branches: list[tuple[str, ...]]) -> tuple[int, int]:
        """Return where to include something, and how many of the branches are open there."""
        source = self.source
        for directive in reversed([d for d in source.directives if d.kind in {"include", "import"} and d.start < use]):
            here = self._branches(directive.start)
            whole = here == source.branches(directive.start)
            if whole and here == branches[: len(here)] and source.depth(directive.start) == 0:
                return source.line_end(directive.end), len(here)
        guard = [d for d in source.directives[:2] if d.kind in {"define", "pragma"} and d.start < use]
        start = source.line_end(guard[-1].end) if guard else source.line_start(source.tokens[0].start)
        return start, 0


def _nested(found: Sequence[tuple[Call, Plan]]) -> list[tuple[Call, Plan]]:
    """Leave calls as they are around one that stays."""
    stays = sorted(call.start for call, what in found if what.kind == "mark")
    around = Plan("mark", note="an argument of it is left to you")
    return [
        (call, around if what.kind not in {"mark", "leave"} and _has_within(stays, call) else what)
        for call, what in found
    ]


def _has_within(places: Sequence[int], call: Call) -> bool:
    """Tell whether one of some places, in order, is inside of a call."""
    return bisect_right(places, call.start) < bisect_left(places, call.end)


def _gone(call: Call, what: Plan) -> list[tuple[int, int]]:
    """Return the parts of a call that are not in the new text."""
    if what.kind in {"remove", "expression"}:
        return [(call.start, call.end)]
    if what.kind == "replace":
        return [span for number, span in enumerate(call.arguments) if number not in what.arguments]
    return []


def _cast(text: str) -> str:
    if text.lstrip().startswith("(void"):
        return text
    simple = re.fullmatch(r"&?[\w.:]+(?:(?:->|\.)\w+|\[[^][]*\])*", text)
    return f"(void *){text}" if simple else f"(void *)({text})"


def _one_line(text: str) -> str:
    return " ".join(text.replace("*/", "* /").split())
