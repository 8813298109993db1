"""From a source's bytes to a unit."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from ..libraries import interesting
from ..limits import MEMORY, SECONDS, Exhausted, Limits
from ..program import Function, Skipped, Unit
from . import directives, merge
from .conditions import Known
from .context import Context
from .declarations import Declarations
from .directives import Group
from .expansion import LONGEST_MACRO, Expander, Foreign, Template, unfolded
from .lists import unrolled
from .macros import Macros
from .mending import mend
from .mentions import MOST, doubled, floated, given_to_templates, halved, mentions, named, numbers, suppressions
from .parsing import parse
from .pointers import pointed
from .sheet import Variant, base, variants
from .text import UTF16, Text, count_lines

LARGEST = 4 << 20  # bytes
_INSTANTIATES = re.compile(rb"\btemplate\b[^<;]*<\s*double\s*>")
STARVED = "took too much memory to read: only searched for calls"
_EXHAUSTED = {"time": "took too long to read: only searched for calls", "memory": STARVED}
_CAPITALS = re.compile(rb"\b([A-Z][A-Z0-9_]+)\(")  # what may be a list, or a part of arguments by version
_ASSIGNMENT = re.compile(rb"[\w.>\s-]+=\s*")


def read(
    text: bytes,
    file: str,
    *,
    cudnn_version: str | None = None,
    defines: Mapping[str, str] | None = None,
    names: Collection[bytes] = (),
    helpers: Collection[bytes] = (),
    templates: Foreign | None = None,
    pointers: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    memory: int = MEMORY,
) -> Unit:
    """Read a source in C, C++ or CUDA; whatever it holds, a unit comes back.

    Parameters
    ----------
    text : bytes
        The file's content.
    file : str
        Its name, as it is shown.
    cudnn_version : str, optional
        Decides conditions of the preprocessor such as ``#if CUDNN_VERSION >= 7000``; else all branches are followed.
    defines : dict of str to str, optional
        Macros of the compiler's command line.
    names : collection of bytes, optional
        Functions and classes that other files bind to a library: what uses them is read too. Functions that nothing
        links to a library are left out.
    helpers : collection of bytes, optional
        Functions that other files call for the arguments of a library's functions: they are read with what they call.
    templates : Foreign, optional
        Macros of other files that take calls apart; the file's own go before those.
    pointers : dict of str to str, optional
        Pointers that other files let point to a library's function, each with the function's name.
    seconds : float, optional
        How much of a processor's time it may take; what is not read in that time is searched for calls only.
    memory : int, optional
        How many bytes of memory it may take, likewise.
    """
    unit = Unit(file, lines=count_lines(text))
    if b"\0" in text:
        reason = "UTF-16" if text[:2] in UTF16 else "binary"
        unit.skipped.append(Skipped(file, f"not text in UTF-8 or a part of ASCII: {reason}"))
        return unit
    elsewhere = Elsewhere(names, templates or Foreign(), pointers or {}, helpers)
    _Reading(text, unit, Known(cudnn_version, defines), elsewhere, Limits(seconds, memory)).read()
    return unit


@dataclass(frozen=True)
class Elsewhere:
    """What other files define: names bound to a library, macros that take calls apart, pointers to functions."""

    names: Collection[bytes]
    templates: Foreign
    pointers: Mapping[str, str]
    helpers: Collection[bytes]


def _for_double(body: bytes) -> bool:
    """Whether a macro instantiates what it is given for double."""
    return _INSTANTIATES.search(body) is not None


class _Reading:
    """One file: `parse` counts the time and memory of all that is parsed of it."""

    def __init__(self, raw: bytes, unit: Unit, known: Known, elsewhere: Elsewhere, limits: Limits) -> None:
        self.text = unrolled(Text(raw), elsewhere.templates)
        self.unit = unit
        self.names = elsewhere.names
        self.helpers = elsewhere.helpers
        self.limits = limits
        self.prepared = directives.prepare(self.text, known)
        self.sheet = base(self.text, self.prepared)
        self.context = Context(self.text, b"", unit.file, aliases=unit.aliases, limits=limits)
        self.context.expander = self._expander(elsewhere.templates)
        unit.aliases.update(elsewhere.pointers)
        unit.aliases.update(pointed(self.text.code))
        unit.includes = self.prepared.includes
        for offset in self.prepared.too_deep:
            unit.skipped.append(Skipped(unit.file, "conditions nested too deeply", self.text.line(offset)))

    def _expander(self, foreign: Foreign) -> Expander | None:
        """Return what expands the macros that take calls apart; None where there are none."""
        own = [
            Template(macro.name, macro.parameters, unfolded(self.text.code[macro.start : macro.end]))
            for macro in self.prepared.macros
            if macro.parameters is not None and macro.end - macro.start < LONGEST_MACRO
        ]
        macros = foreign.with_own(own)
        return Expander(macros) if macros else None

    def read(self) -> None:
        """Fill the unit."""
        unit, context = self.unit, self.context
        if not self.names and interesting(self.text.raw) and not self._names_library():
            pass  # a library is named in comments and strings only
        elif len(self.text.raw) > LARGEST:
            unit.skipped.append(Skipped(unit.file, f"larger than {LARGEST >> 20} MiB: only searched for calls"))
        else:
            try:
                self.limits.check(memory=True)
                Macros(context, unit, self.parse).read(self.prepared.macros)
                self._variants()
            except Exhausted as error:
                unit.skipped.append(Skipped(unit.file, _EXHAUSTED[str(error)]))
        unit.skipped += context.skipped
        own = {f.name for f in unit.functions} | {m.name for m in self.prepared.macros} | {c.name for c in unit.classes}
        own |= {member.name for class_ in unit.classes for member in class_.members}  # in initialisers
        own -= set(unit.aliases)
        mask = bytearray(self.sheet.mask)
        for macro in self.prepared.macros:
            mask[macro.start : macro.end] = self.text.mask[macro.start : macro.end]
        indirect = list(context.indirect.values())
        unit.mentions = mentions(self.text, bytes(mask), context.found, own, unit.aliases, indirect)
        if len(unit.mentions) >= MOST:
            unit.skipped.append(Skipped(unit.file, f"{MOST:,} calls or more: the others are not told of"))
        unit.handed = frozenset(context.handed)
        unit.asked = unit.handed | context.asked | {name.decode() for name in _CAPITALS.findall(bytes(mask))}
        unit.suppressions = suppressions(self.text, unit.mentions)
        unit.named = named(bytes(mask))
        unit.chosen = given_to_templates(self.text.mask)
        unit.numbers = numbers(bytes(mask))
        unit.floated = floated(self.text.mask)
        unit.halved = halved(self.text.mask)
        unit.doubled = doubled(self.text.mask) | {
            f"{macro.name}()" for macro in self.prepared.macros if _for_double(self.text.mask[macro.start : macro.end])
        }

    def _names_library(self) -> bool:
        """Whether it names a library in code, or includes its header."""
        return interesting(self.text.mask) or any(interesting(name.encode()) for name in self.unit.includes)

    def parse(self, code: bytes) -> Node:
        """Parse a piece of text within the file's limits."""
        return parse(code, self.limits)

    def _variants(self) -> None:
        unit, context = self.unit, self.context
        found, groups = variants(self.sheet, self.prepared.groups)
        read: list[tuple[list[Function], merge.Said]] = []
        for number, variant in enumerate(found):
            target = unit if number == 0 else Unit(unit.file)
            before, target.functions = target.functions, []
            self._variant(variant, target, groups)
            read.append((target.functions, variant.condition))
            target.functions = before
            if number:
                unit.left_out |= target.left_out
                unit.unread |= target.unread
                _add(unit, target)
        context.code = b""
        unit.functions += read[0][0] if len(read) == 1 else merge.functions(read)

    def _assigning(self) -> list[str]:
        """Return the macros that end in an assignment, which has what stands behind them for its value."""
        macros = (macro for macro in self.prepared.macros if macro.parameters is None)
        return [m.name for m in macros if _ASSIGNMENT.fullmatch(self.text.code, m.start, m.end)]

    def _variant(self, variant: Variant, target: Unit, groups: dict[int, Group]) -> None:
        context = self.context
        context.checked = mend(variant.sheet, self._assigning())
        context.code = bytes(variant.sheet.code)
        context.shift = context.depth = 0
        root = parse(context.code, self.limits)
        Declarations(context, target, groups, self.parse).read(root, self.names, self.helpers)


def _add(unit: Unit, other: Unit) -> None:
    """Add what only this variant of the text declares."""
    known = {(variable.name, variable.span) for variable in unit.variables}
    unit.variables += [v for v in other.variables if (v.name, v.span) not in known]
    classes = {(c.name, c.span.start) for c in unit.classes}
    unit.classes += [c for c in other.classes if (c.name, c.span.start) not in classes]
    unit.defaults += [d for d in other.defaults if d not in unit.defaults]
    unit.prototypes += other.prototypes
    for name, target in other.aliases.items():
        unit.aliases.setdefault(name, target)
