"""The texts of a call's arguments."""

from __future__ import annotations

from ..program import (
    Braces,
    Cast,
    Constant,
    Expression,
    Index,
    Invocation,
    Member,
    Name,
    Operation,
    Span,
    Unclear,
)

_OPENING, _CLOSING = "([{", ")]}"


def argument_texts(call: Invocation) -> list[str]:
    """Return the arguments of a call as they are written."""
    if call.span.start >= 0:
        written = call.text.encode()
        if len(written) == call.span.end - call.span.start:
            cut = [_slice(written, argument, call.span) for argument in call.arguments]
            pairs = zip(cut, call.arguments, strict=True)
            return [_elsewhere(argument) if text is None else text for text, argument in pairs]
    split = split_arguments(call.text)
    if len(split) == len(call.arguments):
        return split
    return [unparsed(argument) for argument in call.arguments]


def _slice(written: bytes, argument: Expression, call: Span) -> str | None:
    first, last = argument.span.start - call.start, argument.span.end - call.start
    if not 0 < first < last < len(written):
        return None
    return " ".join(written[first:last].decode(errors="replace").split())


def _elsewhere(argument: Expression) -> str:
    """Return the text of an argument that is not between the parentheses: of Python, a variable that gets a result."""
    if isinstance(argument, Constant):
        return ""
    target = argument.operands[0] if isinstance(argument, Operation) and argument.operator == "&x" else argument
    return unparsed(target).replace("this.", "self.")


def split_arguments(text: str) -> list[str]:
    """Return the arguments in the text of a call, split at its commas."""
    start = text.find("(")
    if start < 0 or not text.rstrip().endswith(")"):
        return []
    parts, depth, quote, last = [], 0, "", start + 1
    i = start + 1
    end = text.rstrip().rindex(")")
    while i < end:
        letter = text[i]
        if quote:
            i += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[last:i])
            last = i + 1
        i += 1
    parts.append(text[last:end])
    cleaned = [" ".join(part.split()) for part in parts]
    return [] if cleaned == [""] else cleaned


def unparsed(expression: Expression, depth: int = 0) -> str:
    """Return an expression in C, for one whose text is not at hand."""
    if depth > 20:
        return "..."

    def inner(part: Expression) -> str:
        return unparsed(part, depth + 1)

    if isinstance(expression, Constant):
        return "NULL" if expression.value is None else str(expression.value).lower() if isinstance(
            expression.value, bool) else str(expression.value)  # fmt: skip
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, Member):
        return f"{inner(expression.base)}.{expression.name}"
    if isinstance(expression, Index):
        return f"{inner(expression.base)}[{inner(expression.index)}]"
    if isinstance(expression, Operation):
        parts = [inner(part) for part in expression.operands]
        if len(parts) == 1:
            return f"{expression.operator.removesuffix('x')}{parts[0]}"
        return f" {expression.operator} ".join(parts)
    if isinstance(expression, Cast):
        return f"({expression.type}){inner(expression.value)}"
    if isinstance(expression, Braces):
        return f"{expression.type}{{{', '.join(inner(part) for part in expression.values)}}}"
    if isinstance(expression, Invocation):
        return (
            expression.text or f"{inner(expression.callee)}({', '.join(inner(part) for part in expression.arguments)})"
        )
    if isinstance(expression, Unclear):
        return " ".join(inner(part) for part in expression.parts) or "..."
    return "[](){...}"
