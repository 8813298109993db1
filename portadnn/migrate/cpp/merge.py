"""One program from the variants of a text: what they share is there once, the rest as alternatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..program import Alternatives, Block, Function, If, Loop, Span, Statement, Try

Said = Callable[[int, int], str]  # the condition that a variant stands for, for a stretch of the file


def functions(variants: Sequence[tuple[list[Function], Said]]) -> list[Function]:
    """Return the functions of all variants: those that differ in the body only are one."""
    merged: dict[tuple[str, str, int], list[tuple[Function, Said]]] = {}
    for found, said in variants:
        for function in found:
            merged.setdefault((function.owner, function.name, function.span.start), []).append((function, said))
    result: list[Function] = []
    for same in merged.values():
        first, first_said = same[0]
        for other, said in same[1:]:
            if other.parameters == first.parameters and other.initializers == first.initializers:
                body = _block(first.body, other.body, first_said, said)
                first = replace(first, body=body, calls=first.calls | other.calls)
            elif other.span.end == first.span.end or other.parameters != first.parameters:
                result.append(_conditioned(other, said))
        result.append(first if len(same) == len(variants) else _conditioned(first, first_said))
    return sorted(result, key=lambda function: function.span.start)


def _conditioned(function: Function, said: Said) -> Function:
    condition = said(function.span.start, function.span.end)
    both = (
        f"{function.condition} && {condition}" if function.condition and condition else function.condition or condition
    )
    return replace(function, condition=both)


def _block(a: Block, b: Block, said_a: Said, said_b: Said) -> Block:
    if a == b:
        return a
    span = a.span if a.span.end >= b.span.end else b.span
    return Block(_statements(a.statements, b.statements, said_a, said_b), span)


def _statements(
    a: tuple[Statement, ...], b: tuple[Statement, ...], said_a: Said, said_b: Said
) -> tuple[Statement, ...]:
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if not middle_a and not middle_b:
        return a
    if len(middle_a) == len(middle_b):
        middle = tuple(x if x == y else _pair(x, y, said_a, said_b) for x, y in zip(middle_a, middle_b, strict=True))
    else:
        middle = (_apart(middle_a, middle_b, said_a, said_b),)
    return (*a[:head], *middle, *a[len(a) - tail :])


def _pair(a: Statement, b: Statement, said_a: Said, said_b: Said) -> Statement:
    """Merge two statements in the same place: inside, where only their blocks differ."""
    if isinstance(a, Alternatives) and isinstance(b, Alternatives):
        if len(a.branches) == len(b.branches):
            pairs = zip(a.branches, b.branches, strict=True)
            return replace(a, branches=tuple((c, _block(x, y, said_a, said_b)) for (c, x), (_, y) in pairs))
    elif isinstance(a, Block) and isinstance(b, Block):
        return _block(a, b, said_a, said_b)
    elif isinstance(a, Loop) and isinstance(b, Loop):
        if replace(a, body=b.body, span=b.span) == b:
            return replace(a, body=_block(a.body, b.body, said_a, said_b))
    elif isinstance(a, If) and isinstance(b, If):
        if a.condition == b.condition and (a.otherwise is None) == (b.otherwise is None):
            otherwise = None
            if a.otherwise is not None and b.otherwise is not None:
                otherwise = _block(a.otherwise, b.otherwise, said_a, said_b)
            return replace(a, then=_block(a.then, b.then, said_a, said_b), otherwise=otherwise)
    elif isinstance(a, Try) and isinstance(b, Try) and a.handlers == b.handlers:
        return replace(a, body=_block(a.body, b.body, said_a, said_b))
    return _apart((a,), (b,), said_a, said_b)


def _apart(a: tuple[Statement, ...], b: tuple[Statement, ...], said_a: Said, said_b: Said) -> Statement:
    spans = [statement.span for statement in (*a, *b)]
    first = min(spans, key=lambda span: span.start)
    last = max(spans, key=lambda span: span.end)
    span = Span(first.start, last.end, first.line, first.column, last.end_line, last.end_column)
    here = said_b(span.start, span.end)
    if len(a) == 1 and isinstance(a[0], Alternatives) and a[0].complete and a[0].span == span:
        return replace(a[0], branches=(*a[0].branches, (here, Block(b, span))))
    return Alternatives(((said_a(span.start, span.end), Block(a, span)), (here, Block(b, span))), True, span)
