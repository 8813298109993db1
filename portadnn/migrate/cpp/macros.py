"""Macros of the program: constants, other names, and those that do what functions do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..libraries import CALLED, is_library, returns_status
from ..program import (
    Block,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Expression,
    Function,
    Jump,
    Name,
    Operation,
    Parameter,
    Span,
    Statement,
    Unclear,
    Unit,
)
from .context import Context
from .directives import Macro
from .statements import Parse, Statements

_CONTINUED = re.compile(rb"\\([ \t\r]*)\n")
_NAME = re.compile(rb"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*\Z")
_TYPE = re.compile(
    rb"(?:const\s+)?(?:(?:unsigned|signed|long|short|int|char|float|double|bool|void|struct)\b[\s*]*)+\Z|[A-Za-z_]\w*\s*\*+\Z"
)
_LONGEST = 100_000
_CHOICE = re.compile(rb"\?[^;{}]*\b(?:CUDNN_(?!STATUS|VERSION|MAJOR|MINOR)[A-Z]|miopen(?!Status)[A-Z]\w*\b(?!\s*\())")
_CONSTANT = re.compile(r"CUDNN_[A-Z]|miopen[A-Z]\w*\Z")


_METHOD = re.compile(rb"\s*\(?(\w+)\)?\s*(?:->|\.)\s*\w+\s*\(")  # of an object that the macro is given
_QUOTED = re.compile(rb"#\s*\w+")


def _is_value(body: bytes) -> bool:
    """Tell whether a macro with parameters stands for one of a library's constants, as a function would return it."""
    return _CHOICE.search(body) is not None and not any(mark in body for mark in (b";", b"{", b"#", b'"'))


def _written(value: Expression) -> object:
    return value.value if isinstance(value, Constant) else value.name if isinstance(value, Name) else value


class Macros:
    """Reads macros into a unit."""

    def __init__(self, context: Context, unit: Unit, parse: Parse) -> None:
        self.context = context
        self.unit = unit
        self.values: dict[str, int] = {}  # where the values of macros are among the unit's variables
        self.parse = parse
        self.statements = Statements(context, {}, lambda _: None, parse)

    def read(self, macros: Sequence[Macro]) -> None:
        """Read all macros."""
        for macro in macros:
            if macro.start >= macro.end or macro.end - macro.start > _LONGEST:
                continue
            body = _CONTINUED.sub(rb" \1 ", self.context.text.code[macro.start : macro.end])
            if macro.parameters is None:
                self._object(macro, body)
            elif any(returns_status(match.group(1).decode()) for match in CALLED.finditer(body)) or _is_value(body):
                self._function(macro, body)
            elif (match := _METHOD.match(body)) and match[1].decode() in macro.parameters and b"##" not in body:
                self._function(macro, _QUOTED.sub(lambda m: b'""'.ljust(len(m[0])), body))

    def _object(self, macro: Macro, body: bytes) -> None:
        if _NAME.match(body) or _TYPE.match(body):
            self._named(macro, body.decode())
            return
        if CALLED.search(body) and b";" in body:
            self._function(macro, body)
            return
        statements = self._parsed(b"x=(" + body + b");", macro.start - 3)
        if len(statements) != 1 or not isinstance(statements[0], Evaluate):
            return
        value = getattr(statements[0].expression, "operands", (None, None))[-1]
        if value is None or isinstance(value, Unclear) or (isinstance(value, Name) and not value.name):
            return
        span = self.context.text.span(macro.start, macro.end)
        if isinstance(value, Constant | Cast) or not _is_broken(value):
            self._is_one_of(macro.name, value, span)

    def _named(self, macro: Macro, name: str) -> None:
        """Note another name; of a constant of a library that is several under conditions, that it is one of them."""
        before = self.unit.aliases.get(macro.name, name)
        several = before != name or macro.name in self.values
        if several and _CONSTANT.match(name) and not is_library(name):
            span = self.context.text.span(macro.start, macro.end)
            if before != name and _CONSTANT.match(before):
                del self.unit.aliases[macro.name]
                self._is_one_of(macro.name, Name(before, span), span)
            if macro.name not in self.unit.aliases:
                self._is_one_of(macro.name, Name(name, span), span)
                return
        if name == macro.name:
            return
        if before != name and is_library(before) and is_library(name):  # #ifdef HIP: cuDNN's goes first
            first, second = (name, before) if name.startswith("cudnn") else (before, name)
            self.unit.aliases[macro.name], self.unit.seconds[macro.name] = first, second
            return
        self.unit.aliases[macro.name] = name

    def _is_one_of(self, name: str, value: Expression, span: Span) -> None:
        """Keep the value of a macro, beside those that it has under other conditions."""
        place = self.values.setdefault(name, len(self.unit.variables))
        if place == len(self.unit.variables):
            self.unit.variables.append(Declare(name, "#define", value, span))
            return
        before = self.unit.variables[place].value
        if before is not None and _written(before) != _written(value):
            either = Operation("?:", (Unclear((), span), value, before), span)
            self.unit.variables[place] = Declare(name, "#define", either, span)

    def _function(self, macro: Macro, body: bytes) -> None:
        outer, self.context.calls = self.context.calls, set()
        statements = self._parsed(body + (b"" if body.endswith((b";", b"}")) else b";"), macro.start)
        span = self.context.text.span(macro.start, macro.end)
        if len(statements) == 1 and isinstance(statements[0], Evaluate):
            statements = [Jump("return", statements[0].expression, statements[0].span)]
        parameters = tuple(Parameter(name, "", None, True) for name in macro.parameters or ())
        self.unit.functions.append(
            Function(
                macro.name,
                "",
                parameters,
                Block(tuple(statements), span),
                span,
                condition=macro.condition,
                calls=frozenset(self.context.calls),
                macro=True,
            )
        )
        self.context.calls = outer

    def _parsed(self, code: bytes, shift: int) -> list[Statement]:
        root = self.parse(code)
        outer = self.context.code, self.context.shift
        self.context.code, self.context.shift = code, shift
        try:
            nodes = root.named_children
            if len(nodes) == 1 and nodes[0].type == "compound_statement":
                nodes = nodes[0].named_children
            return self.statements.statements(nodes)
        finally:
            self.context.code, self.context.shift = outer


def _is_broken(value: object) -> bool:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Unclear):
            return True
        pending += [
            *getattr(current, "operands", ()),
            *getattr(current, "values", ()),
            *getattr(current, "arguments", ()),
        ]
    return False
