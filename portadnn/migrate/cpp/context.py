"""What conversions from tree-sitter's nodes to the program share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from ..limits import Limits
from ..program import Skipped, Span
from .expansion import Expanded, Expander
from .text import Text

DEEPEST = 90  # levels of nesting that are followed; beyond, calls are still listed
_SPACE = re.compile(r"\s+")
_SPACES = re.compile(r"\s|\\(?=\s)")  # also in a line that goes on in the next
_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
_QUALIFIERS = re.compile(
    r"\b(?:static|inline|extern|register|mutable|thread_local|constexpr|constinit|virtual|typename|struct|class|enum|union"
    r"|volatile|friend|explicit|__restrict__|__restrict|restrict)\b"
)
_OPTIONAL = re.compile(r"(?:\b\w+::)*\b[Oo]ptional\s*<\s*([^<>]*(?:<[^<>]*>)?[^<>]*)>")
_LONGEST = 4096
CONCRETE = frozenset(("float", "double", "half", "__half", "int", "int8_t", "uint8_t", "int32_t", "int64_t", "float16"))
_CONST = re.compile(r"\bconst\b")


@dataclass
class Context:
    """A text that was parsed, and what is collected from it.

    `shift` is what has to be added to the parser's offsets to have those of the file.
    """

    text: Text
    code: bytes
    file: str
    shift: int = 0
    depth: int = 0
    limits: Limits = field(default_factory=Limits)
    calls: set[str] = field(default_factory=set)  # of the function that is being read
    found: dict[int, tuple[str, Span, str]] = field(default_factory=dict)  # library calls, by the offset of their name
    skipped: list[Skipped] = field(default_factory=list)
    aliases: Mapping[str, str] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)  # functions of the file that are named like a library's
    checked: set[int] = field(default_factory=set)  # blocks and calls that stood in a checking macro
    expander: Expander | None = None
    expanded: Expanded | None = None  # where the code comes from, if a macro stands for it in the file
    indirect: dict[tuple[int, str], tuple[str, Span, str]] = field(default_factory=dict)  # calls without `name(`
    handed: set[str] = field(default_factory=set)  # macros and functions that are given a library's function
    asked: set[str] = field(default_factory=set)  # what is called in capitals, which may be a macro of another file

    def offsets(self, node: Node) -> tuple[int, int]:
        """Return where a node starts and ends in the file; of what a macro stands for, where that came from."""
        start, end = node.start_byte, node.end_byte
        if self.expanded is None:
            return start + self.shift, end + self.shift
        starts, ends = self.expanded.starts, self.expanded.ends
        if not starts:
            return self.shift, self.shift
        first = starts[min(start, len(starts) - 1)]
        return first, max(first, ends[min(max(start, end - 1), len(ends) - 1)])

    def span(self, node: Node) -> Span:
        """Return where a node stands in the file."""
        return self.text.span(*self.offsets(node))

    def source(self, node: Node) -> str:
        """Return a node's text as it was parsed, in one line."""
        text = self.code[node.start_byte : node.end_byte].decode("utf-8", "replace")
        return _SPACE.sub(" ", text) if not text.isalnum() else text

    def written(self, node: Node) -> str:
        """Return what stands in the file in a node's place; of what a macro stands for, that."""
        if self.expanded is not None:
            return self.source(node)
        return self.text.read(node.start_byte + self.shift, node.end_byte + self.shift)

    def too_deep(self, node: Node) -> None:
        """Note that a part is nested too deeply to be followed."""
        self.skip(node, "nested too deeply")

    def skip(self, node: Node, reason: str) -> None:
        """Note that a part could not be read."""
        line = self.text.line(self.offsets(node)[0])
        if not self.skipped or (self.skipped[-1].reason, self.skipped[-1].line) != (reason, line):
            self.skipped.append(Skipped(self.file, reason, line))


def plain(name: str, *, concrete: bool = False) -> str:
    """Return a name without arguments of templates and without spaces: ``ns::A<T>::f`` becomes ``ns::A::f``.

    With `concrete`, types of C stay: ``DataType<float>::type`` is another than ``DataType<double>::type``.
    """
    if "operator" in name:
        return name.strip().removeprefix("::")
    if "<" in name and len(name) < _LONGEST:
        before = ""
        while before != name:
            before, name = name, _TEMPLATE_ARGUMENTS.sub(_kept if concrete else "", name)
    return _SPACES.sub("", name).removeprefix("::").replace("::template", "::")


def _kept(match: re.Match[str]) -> str:
    inner = match.group()[1:-1].strip()
    return f"<{inner}>" if inner in CONCRETE else ""


def last(name: str) -> str:
    """Return the last part of a qualified name."""
    return name.rpartition("::")[2]


def type_name(text: str, stars: str = "") -> str:
    """Return a type without storage and without the ``const`` of what is not pointed to."""
    text = _SPACE.sub(" ", _QUALIFIERS.sub(" ", text)).strip()
    if "optional" in text:  # what it holds: an optional is followed as the value itself
        text = _OPTIONAL.sub(r"\1", text)
    text = text.replace(" *", "*").replace(" &", "&")
    if "*" not in stars and "*" not in text:
        text = _SPACE.sub(" ", _CONST.sub(" ", text)).strip()
    return text + stars
