"""Python's syntax tree as statements and expressions of a program.

Wrappers return what C writes through pointers. In the program such a call has C's arguments again: those that the
wrapper leaves out are the addresses of the variables that get the results.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from ... import mapping
from ..libraries import is_library
from ..model.outputs import is_output
from ..program import (
    Block,
    Braces,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Expression,
    If,
    Index,
    Invocation,
    Jump,
    Lambda,
    Loop,
    Member,
    Name,
    Operation,
    Parameter,
    Span,
    Statement,
    Try,
    Unclear,
    Unit,
)
from .bindings import library_name
from .tables import Tables, looked_up

_VALUE = re.compile(r"^(?:CUDNN_|MIOPEN_|miopen[A-Z])\w*$")
_DEEPEST = 90
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/", ast.Mod: "%", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "==", ast.IsNot: "!=", ast.And: "&&", ast.Or: "||",
    ast.Not: "!", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
}  # fmt: skip
_C_TYPES = {
    "c_int": "int", "c_float": "float", "c_double": "double", "c_size_t": "size_t", "c_uint": "unsigned",
    "c_longlong": "long long", "c_ulonglong": "unsigned long long", "c_bool": "bool", "c_int64": "int64_t",
    "int": "int", "float32": "float", "float64": "double",
}  # fmt: skip


def names_assigned(body: Sequence[ast.stmt], *, every: bool = False) -> list[str]:
    """Return the names that statements assign to, those of functions and classes inside left out.

    Each is there once; with `every`, as often as it is assigned.
    """
    found: list[str] = []
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.append(node.target.id)
        waiting += list(ast.iter_child_nodes(node))[::-1]
    return found if every else list(dict.fromkeys(found))


def called_name(node: ast.Call) -> str:
    """Return the name of what is called, without what stands before it; "" where it has none."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else str(getattr(node.func, "id", ""))


class Translator:
    """Makes statements of one function's syntax tree.

    Attributes
    ----------
    calls : set of str
        The names of what is called.
    """

    def __init__(
        self,
        span_of: Callable[[ast.expr | ast.stmt], Span],
        text_of: Callable[[Span], str],
        modules: set[str],
        unit: Unit,
        tables: Tables,
        *,
        checked: bool,
    ) -> None:
        self.span_of = span_of
        self.text_of = text_of
        self.modules = modules
        self.unit = unit
        self.tables = tables
        self.checked = checked
        self.calls: set[str] = set()
        self.depth = 0
        self.results = 0

    def parameters(self, arguments: ast.arguments, *, method: bool) -> tuple[Parameter, ...]:
        """Return a function's parameters; a method's first one is the object."""
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
        pairs = list(zip(plain, [*defaults, *arguments.defaults], strict=True))[1 if method else 0 :]
        pairs += list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
        return tuple(
            Parameter(argument.arg, "", None if default is None else self.expression(default))
            for argument, default in pairs
        )

    # Statements -------------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], span: Span) -> Block:
        """Return statements in order."""
        return Block(tuple(statement for node in body for statement in self._statement(node)), span)

    def _statement(self, node: ast.stmt) -> Iterator[Statement]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            return
        self.depth += 1
        try:
            yield from self._translated(node, self.span_of(node))
        finally:
            self.depth -= 1

    def _translated(self, node: ast.stmt, span: Span) -> Iterator[Statement]:
        if self.depth > _DEEPEST:
            return
        if isinstance(node, ast.Assign):
            yield from self._assign(node.targets, node.value, span)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield from self._assign([node.target], node.value, span)
        elif isinstance(node, ast.AugAssign):
            sign = _OPERATORS.get(type(node.op), "?") + "="
            operands = (self.expression(node.target), self.expression(node.value))
            yield Evaluate(Operation(sign, operands, span), span)
        elif isinstance(node, ast.Expr):
            yield Evaluate(self.expression(node.value), span)
        elif isinstance(node, ast.If):
            yield from self._if(node, span)
        elif isinstance(node, ast.For | ast.AsyncFor):
            yield self._for(node, span)
        elif isinstance(node, ast.While):
            always = isinstance(node.test, ast.Constant) and bool(node.test.value)
            condition = self.expression(node.test)
            yield Loop(self.block(node.body, span), span, condition=None if always else condition, once=always)
            yield from self.block(node.orelse, span).statements
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars is not None:
                    yield from self._assign([item.optional_vars], item.context_expr, span)
                else:
                    yield Evaluate(self.expression(item.context_expr), span)
            yield from self.block(node.body, span).statements
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            yield from self._try(node, span)
        else:
            yield from self._jump(node, span)

    def _jump(self, node: ast.stmt, span: Span) -> Iterator[Statement]:
        if isinstance(node, ast.Return):
            yield Jump("return", None if node.value is None else self.expression(node.value), span)
        elif isinstance(node, ast.Raise):
            yield Jump("throw", None if node.exc is None else self.expression(node.exc), span)
        elif isinstance(node, ast.Break | ast.Continue):
            yield Jump("break" if isinstance(node, ast.Break) else "continue", None, span)
        else:
            parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            yield from (Evaluate(self.expression(part), span) for part in parts)
            if isinstance(node, ast.Match):
                for case in node.cases:
                    yield If(Unclear((), span), self.block(case.body, span), None, span)

    def _if(self, node: ast.If, span: Span) -> Iterator[Statement]:
        if _is_main(node.test):
            yield from self.block(node.body, span).statements
            return
        otherwise = self.block(node.orelse, span) if node.orelse else None
        yield If(self.expression(node.test), self.block(node.body, span), otherwise, span)

    def _for(self, node: ast.For | ast.AsyncFor, span: Span) -> Loop:
        body = self.block(node.body, span)
        call = node.iter
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "range"
            and isinstance(node.target, ast.Name)
            and 1 <= len(call.args) <= 2
        ):
            first = self.expression(call.args[0]) if len(call.args) > 1 else Constant(0, span)
            counter = Name(node.target.id, span)
            start = Block((Evaluate(Operation("=", (counter, first), span), span),), span)
            condition = Operation("<", (counter, self.expression(call.args[-1])), span)
            return Loop(body, span, start, condition, Operation("++", (counter,), span))
        if isinstance(node.target, ast.Name):
            return Loop(body, span, variable=node.target.id, values=self.expression(call))
        return Loop(body, span, variable="each", values=self.expression(call))

    def _try(self, node: ast.stmt, span: Span) -> Iterator[Statement]:
        handlers = [self.block(handler.body, span) for handler in getattr(node, "handlers", ())]
        body = [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
        yield Try(self.block(body, span), tuple(handlers), span)
        yield from self.block(getattr(node, "finalbody", ()), span).statements

    def _assign(self, targets: list[ast.expr], value: ast.expr, span: Span) -> Iterator[Statement]:
        if isinstance(value, ast.Call) and len(targets) == 1:
            call = self._call(value, self._result_targets(targets[0]))
            if isinstance(call, Invocation) and self.left_out:
                yield Evaluate(call, span)
                return
            source: Expression = call
        else:
            source = self.expression(value)
        for target in targets:
            yield from self._store(target, source, span)

    def _store(self, target: ast.expr, source: Expression, span: Span) -> Iterator[Statement]:
        if not isinstance(target, ast.Tuple | ast.List):
            yield Evaluate(Operation("=", (self.expression(target), source), span), span)
            return
        if isinstance(source, Braces) and len(source.values) == len(target.elts):
            for part, one in zip(target.elts, source.values, strict=True):
                yield from self._store(part, one, span)
            return
        self.results += 1
        name = f"results{self.results}~"
        yield Declare(name, "", source, span)
        for i, part in enumerate(target.elts):
            yield from self._store(part, Index(Name(name, span), Constant(i, span), span), span)

    # Expressions ------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Expression:
        """Return an expression."""
        span = self.span_of(node)
        if self.depth > _DEEPEST:
            return Unclear((), span)
        self.depth += 1
        try:
            return self._expression(node, span)
        finally:
            self.depth -= 1

    def _expression(self, node: ast.expr, span: Span) -> Expression:
        if isinstance(node, ast.Constant):
            value = node.value if isinstance(node.value, int | float | str | bool) else None
            if value is None and node.value is not None:
                return Unclear((), span)
            return Constant(value, span)
        if isinstance(node, ast.Name):
            return Name("this" if node.id == "self" else node.id, span)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, span)
        for table, key, instead in looked_up(node):
            if found := self.tables.entries(table, key, instead):
                return self._one_of([self.expression(one) for one in found], self.expression(key), span)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, span)
        if isinstance(node, ast.Call):
            return self._call(node, None)
        if isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp | ast.IfExp):
            return self._operation(node, span)
        if isinstance(node, ast.Tuple | ast.List):
            return Braces(tuple(self.expression(part) for part in node.elts), span)
        if isinstance(node, ast.Lambda):
            return Lambda(Block((Jump("return", self.expression(node.body), span),), span), span)
        if isinstance(node, ast.NamedExpr):
            return Operation("=", (self.expression(node.target), self.expression(node.value)), span)
        return Unclear(tuple(self.expression(part) for part in _parts(node)), span)

    def _attribute(self, node: ast.Attribute, span: Span) -> Expression:
        if _VALUE.match(node.attr) or self._is_module(node.value):
            return Name(node.attr, span)
        if (constant := self.tables.constant(node)) is not None:
            return self.expression(constant)
        if node.attr == "value":  # of a variable of ctypes
            return self.expression(node.value)
        return Member(self.expression(node.value), node.attr, span)

    @staticmethod
    def _one_of(found: list[Expression], key: Expression, span: Span) -> Expression:
        result = found[-1]
        for one in reversed(found[:-1]):
            result = Operation("?:", (Unclear((key,), span), one, result), span)
        return result

    def _is_module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.modules

    def _subscript(self, node: ast.Subscript, span: Span) -> Expression:
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str) and _VALUE.match(index.value):
            return Name(index.value, span)  # wrappers keep enumerations in dictionaries
        return Index(self.expression(node.value), self.expression(index), span)

    def _operation(self, node: ast.expr, span: Span) -> Expression:
        if isinstance(node, ast.BinOp):
            return self._binary(_OPERATORS.get(type(node.op)), (node.left, node.right), span)
        if isinstance(node, ast.UnaryOp):
            return Operation(_OPERATORS[type(node.op)], (self.expression(node.operand),), span)
        if isinstance(node, ast.IfExp):
            parts = (self.expression(node.test), self.expression(node.body), self.expression(node.orelse))
            return Operation("?:", parts, span)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._binary(_OPERATORS.get(type(node.ops[0])), (node.left, node.comparators[0]), span)
        if isinstance(node, ast.BoolOp):
            result = self.expression(node.values[0])
            for value in node.values[1:]:
                result = Operation(_OPERATORS[type(node.op)], (result, self.expression(value)), span)
            return result
        return Unclear(tuple(self.expression(part) for part in _parts(node)), span)

    def _binary(self, sign: str | None, operands: tuple[ast.expr, ast.expr], span: Span) -> Expression:
        parts = (self.expression(operands[0]), self.expression(operands[1]))
        return Unclear(parts, span) if sign is None else Operation(sign, parts, span)

    # Calls ------------------------------------------------------------------------------------------------------

    left_out = False  # whether the last call left out what C writes to

    def _call(self, node: ast.Call, targets: list[Expression] | None) -> Expression:
        span = self.span_of(node)
        name = called_name(node)
        arguments = [self.expression(argument) for argument in node.args]
        self.left_out = False
        if name in ("byref", "pointer", "addressof") and len(arguments) == 1:
            return Operation("&x", (arguments[0],), span)
        if name in ("c_void_p",) and not arguments:
            return Constant(None, span)
        if name in _C_TYPES and len(arguments) == 1:
            return Cast(_C_TYPES[name], arguments[0], span)
        named = {keyword.arg: self.expression(keyword.value) for keyword in node.keywords if keyword.arg}
        self.calls.add(name)
        library = library_name(node.func, self.unit.aliases)
        if is_library(library):
            self.calls.add(library)
            return self._library_call(library, arguments, named, span, targets)
        callee = self.expression(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return Name("this", span)
        return Invocation(callee, (*arguments, *named.values()), span, self.text_of(span))

    def _library_call(
        self,
        name: str,
        arguments: list[Expression],
        named: dict[str, Expression],
        span: Span,
        targets: list[Expression] | None,
    ) -> Expression:
        complete = self._as_in_c(name, arguments, named, span, targets)
        return Invocation(Name(name, span), tuple(complete), span, self.text_of(span), checked=self.checked)

    def _as_in_c(
        self,
        name: str,
        arguments: list[Expression],
        named: dict[str, Expression],
        span: Span,
        targets: list[Expression] | None,
    ) -> list[Expression]:
        """Return a call's arguments as C has them: with the addresses of what the wrapper returns."""
        declared = mapping.table().functions.get(name)
        if declared is None:
            return [*arguments, *named.values()]
        for parameters in reversed(declared.signatures):
            taken = {p.name for p in parameters if p.name in named}
            results = [p for p in parameters if is_output(p) and p.name not in taken]
            if len(arguments) + len(taken) + len(results) == len(parameters) and results:
                given, free = iter(arguments), iter(self._addresses(targets, results, span))
                self.left_out = True
                return [named[p.name] if p.name in taken else next(free if p in results else given) for p in parameters]
        return [*arguments, *(value for key, value in named.items() if any(p.name == key for p in declared.latest))]

    def _addresses(
        self, targets: list[Expression] | None, results: Sequence[mapping.Parameter], span: Span
    ) -> Iterator[Expression]:
        """Yield the addresses of the variables that get a call's results, the last ones where there are fewer."""
        missing = len(results) - len(targets or ())
        for i, _ in enumerate(results):
            target = targets[i - missing] if targets and i >= missing else None
            yield Constant(None, span) if target is None else Operation("&x", (target,), target.span)

    def _result_targets(self, target: ast.expr) -> list[Expression]:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        return [self.expression(part) for part in parts]


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions directly inside a node of any kind, such as a comprehension."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif not isinstance(child, ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop):
            yield from _parts(child)


def _is_main(test: ast.expr) -> bool:
    """Whether it is the condition that a file is run, not imported."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
