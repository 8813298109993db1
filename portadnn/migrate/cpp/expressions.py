"""Expressions: from tree-sitter's nodes to the program's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tree_sitter import Node

from ... import mapping
from ..libraries import is_library, returns_status
from ..program import (
    Block,
    Braces,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Expression,
    Index,
    Invocation,
    Lambda,
    Member,
    Name,
    Operation,
    Span,
    Statement,
    Unclear,
)
from ..sizes import POINTER, SIZES
from . import literals
from .context import DEEPEST, Context, last, plain, type_name
from .declarators import declared, type_of

# What is given a function in order to load, name or keep it, not to call it.
_LOADS = re.compile(
    r"load|sym|bind|regist|hook|wrap|proc|resolve|import|declare|decl$|deleter|name|str|^unique|^shared|_ptr$",
    re.IGNORECASE,
)
_HOLDERS = frozenset(("make_pair", "make_tuple", "function", "push_back", "emplace_back", "insert", "emplace"))
_LONGEST_CHAIN = 40
_MOST_VALUES = 4096  # in braces; tables of numbers do not matter here
_CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "bit_cast", "implicit_cast"))
_MAKERS = frozenset(("make_unique", "make_shared", "MakeUnique", "make_intrusive", "allocate_shared"))
_TRANSPARENT = frozenset(("move", "forward", "launder", "as_const"))
_LIBRARY_ARGUMENT = re.compile(r"\s*&?\s*((?:cudnn|miopen)[A-Z]\w*)\s*(?:,|$)")  # call<cudnnCreate>(&h)
_BASIC = frozenset((*SIZES, "long double", "void", "unsigned long long", "unsigned short", "signed char", "ptrdiff_t"))


class Expressions:
    """Converts expressions; `block` converts the body of a lambda, `unfolded` what a macro stands for."""

    def __init__(
        self,
        context: Context,
        block: Callable[[Node], Block],
        unfolded: Callable[[Node], list[Statement] | None],
    ) -> None:
        self.context = context
        self.block = block
        self.unfolded = unfolded

    def convert(self, node: Node) -> Expression:
        """Return the expression of a node."""
        context = self.context
        if context.depth >= DEEPEST:
            context.too_deep(node)
            return Unclear((), context.span(node))
        context.depth += 1
        try:
            handler = _HANDLERS.get(node.type)
            return self._unclear(node) if handler is None else handler(self, node)
        finally:
            context.depth -= 1

    def all(self, nodes: Sequence[Node]) -> tuple[Expression, ...]:
        """Return the expressions of some nodes."""
        return tuple(self.convert(node) for node in nodes)

    def _field(self, node: Node, name: str) -> Expression:
        child = node.child_by_field_name(name)
        return Unclear((), self.context.span(node)) if child is None else self.convert(child)

    def _unclear(self, node: Node) -> Expression:
        return Unclear(self.all(node.named_children), self.context.span(node))

    def _nothing(self, node: Node) -> Expression:
        return Unclear((), self.context.span(node))

    # Names and constants

    def _name(self, node: Node) -> Expression:
        text = self.context.source(node)
        if "is_same" in text and "<" in text:
            return Name(text.replace(" ", ""), self.context.span(node))
        return Name(plain(self.context.source(node), concrete=True), self.context.span(node))

    def _number(self, node: Node) -> Expression:
        said = literals.number(self.context.source(node))
        span = self.context.span(node)
        return Unclear((), span) if said is None else Constant(said[0], span, said[1])

    def _string(self, node: Node) -> Expression:
        return Constant(literals.string(self.context.source(node)), self.context.span(node), "const char*")

    def _character(self, node: Node) -> Expression:
        return Constant(literals.string(self.context.source(node)), self.context.span(node), "char")

    def _strings(self, node: Node) -> Expression:
        parts = [self.convert(child) for child in node.named_children]
        if all(isinstance(part, Constant) for part in parts):
            text = "".join(str(part.value) for part in parts if isinstance(part, Constant))
            return Constant(text, self.context.span(node), "const char*")
        return Unclear(tuple(parts), self.context.span(node))

    def _true(self, node: Node) -> Expression:
        return Constant(True, self.context.span(node), "bool")

    def _false(self, node: Node) -> Expression:
        return Constant(False, self.context.span(node), "bool")

    def _null(self, node: Node) -> Expression:
        return Constant(None, self.context.span(node), "nullptr_t")

    # Operators

    def _inner(self, node: Node) -> Expression:
        children = node.named_children
        if len(children) != 1:
            return self._unclear(node)
        if children[0].type == "compound_statement":
            return Lambda(self.block(children[0]), self.context.span(node))
        return self.convert(children[0])

    def _binary(self, node: Node) -> Expression:
        chain: list[tuple[Node, str, Node]] = []
        current: Node | None = node
        while current is not None and current.type == "binary_expression":
            operator, right = current.child_by_field_name("operator"), current.child_by_field_name("right")
            left = current.child_by_field_name("left")
            if operator is None or right is None or left is None:
                break
            chain.append((current, operator.type, right))
            current = left
        if current is None or not chain:
            return self._unclear(node)
        if len(chain) > _LONGEST_CHAIN:
            parts = [current, *(right for _, _, right in reversed(chain))]
            return Unclear(self.all(parts), self.context.span(node))
        result = self.convert(current)
        for whole, operator_, right in reversed(chain):
            result = Operation(operator_, (result, self.convert(right)), self.context.span(whole))
        return result

    def _unary(self, node: Node) -> Expression:
        operator = node.child_by_field_name("operator")
        name = "" if operator is None else {"not": "!", "compl": "~"}.get(operator.type, operator.type)
        value = self._field(node, "argument")
        span = self.context.span(node)
        if name == "-" and isinstance(value, Constant) and isinstance(value.value, int | float):
            return Constant(-value.value, span, value.type)
        return value if name == "+" else Operation(name, (value,), span)

    def _pointer(self, node: Node) -> Expression:
        operator = node.child_by_field_name("operator")
        name = "&x" if operator is not None and operator.type == "&" else "*x"
        return Operation(name, (self._field(node, "argument"),), self.context.span(node))

    def _assignment(self, node: Node) -> Expression:
        operator = node.child_by_field_name("operator")
        span = self.context.span(node)
        target, value = self._field(node, "left"), self._field(node, "right")
        if pointed := function_named(value):
            self.context.calls.add(pointed)
        sign = "=" if operator is None else operator.type
        left = node.child_by_field_name("left")
        if left is not None and left.type == "conditional_expression" and isinstance(target, Operation):
            *rest, last_one = target.operands  # c ? a = 1 : a = 2, where the grammar has (c ? a = 1 : a) = 2
            return Operation("?:", (*rest, Operation(sign, (last_one, value), span)), span)
        return Operation(sign, (target, value), span)

    def _update(self, node: Node) -> Expression:
        operator = node.child_by_field_name("operator")
        name = "++" if operator is None else operator.type
        return Operation(name, (self._field(node, "argument"),), self.context.span(node))

    def _choice(self, node: Node) -> Expression:
        names = ("condition", "consequence", "alternative")
        return Operation("?:", tuple(self._field(node, name) for name in names), self.context.span(node))

    def _comma(self, node: Node) -> Expression:
        parts: list[Node] = []
        current: Node | None = node
        while current is not None and current.type == "comma_expression":
            left, right = current.child_by_field_name("left"), current.child_by_field_name("right")
            parts += [] if left is None else [left]
            current = right
        parts += [] if current is None else [current]
        operands = self.all(parts)
        span = self.context.span(node)
        return Operation(",", operands, span) if len(operands) <= _LONGEST_CHAIN else Unclear(operands, span)

    def _subscript(self, node: Node) -> Expression:
        result = self._field(node, "argument")
        indices = node.child_by_field_name("indices")
        for index in [] if indices is None else indices.named_children:
            result = Index(result, self.convert(index), self.context.span(node))
        return result

    def _member(self, node: Node) -> Expression:
        field = node.child_by_field_name("field")
        name = "" if field is None else last(plain(self.context.source(field).removeprefix("template ")))
        return Member(self._field(node, "argument"), name, self.context.span(node))

    def _delete(self, node: Node) -> Expression:
        children = node.named_children
        return Operation("delete", self.all(children[-1:]), self.context.span(node))

    # Types

    def _cast(self, node: Node) -> Expression:
        type_ = node.child_by_field_name("type")
        return Cast(self.type_of(type_), self._field(node, "value"), self.context.span(node))

    def type_of(self, node: Node | None) -> str:
        """Return a type's name."""
        return "" if node is None else type_name(self.context.source(node))

    def _compound_literal(self, node: Node) -> Expression:
        type_ = self.type_of(node.child_by_field_name("type"))
        value = self._field(node, "value")
        span = self.context.span(node)
        if isinstance(value, Braces):
            if type_ in _BASIC and len(value.values) == 1:
                return Cast(type_, value.values[0], span)
            self.context.calls.add(last(plain(type_)))
            return Braces(value.values, span, type_)
        return Cast(type_, value, span)

    def _sizeof(self, node: Node) -> Expression:
        span = self.context.span(node)
        type_ = node.child_by_field_name("type")
        if type_ is None:
            value = node.child_by_field_name("value")
            operand = () if value is None else (self.convert(value),)
            if operand and isinstance(operand[0], Name) and operand[0].name in SIZES:
                return Constant(SIZES[operand[0].name], span, "size_t")
            return Operation("sizeof", operand, span)
        name = self.type_of(type_)
        size = POINTER if name.endswith("*") else SIZES.get(name.removeprefix("std::"))
        if size is not None:
            return Constant(size, span, "size_t")
        return Operation("sizeof", (Name(plain(name), self.context.span(type_)),), span)

    # Braces, new, lambdas

    def _braces(self, node: Node) -> Expression:
        span = self.context.span(node)
        if node.named_child_count > _MOST_VALUES:
            return Unclear((), span)
        return Braces(self.all(node.named_children), span)

    def _pair(self, node: Node) -> Expression:
        designator = node.child_by_field_name("designator")
        name = "" if designator is None else self.context.source(designator)
        span = self.context.span(node)
        return Operation("=", (Name(name, span), self._field(node, "value")), span)

    def _new(self, node: Node) -> Expression:
        type_ = self.type_of(node.child_by_field_name("type"))
        arguments = node.child_by_field_name("arguments")
        declarator = node.child_by_field_name("declarator")
        span = self.context.span(node)
        if declarator is not None:
            sizes = [child for child in declarator.named_children if child.type != "new_declarator"]
            return Invocation(
                Name(f"{plain(type_)}[]", span), self.all(sizes), span, self.context.written(node), new=True
            )
        given = () if arguments is None else self.all(arguments.named_children)
        self.context.calls.add(last(plain(type_)))
        return Invocation(Name(plain(type_), span), given, span, self.context.written(node), new=True)

    def _lambda(self, node: Node) -> Expression:
        body = node.child_by_field_name("body")
        span = self.context.span(node)
        if body is None:
            return Unclear((), span)
        block = self.block(body)
        declarator = node.child_by_field_name("declarator")
        given = None if declarator is None else declarator.child_by_field_name("parameters")
        parameters = [] if given is None else [self._parameter(child) for child in given.named_children]
        known = tuple(parameter for parameter in parameters if parameter is not None)
        return Lambda(replace(block, statements=(*known, *block.statements)), span, len(known))

    def _parameter(self, node: Node) -> Declare | None:
        """Return an anonymous function's parameter as a variable of it."""
        declarator = node.child_by_field_name("declarator")
        if node.type not in ("parameter_declaration", "optional_parameter_declaration") or declarator is None:
            return None
        said = declared(self.context, declarator)
        type_ = type_of(self.context, node, said.stars + "*" * len(said.sizes), said.reference)
        default = node.child_by_field_name("default_value")
        value = None if default is None else self.convert(default)
        return Declare(said.name, type_, value, self.context.span(node)) if said.name else None

    # Calls

    def _call(self, node: Node) -> Expression:
        function = node.child_by_field_name("function")
        given = node.child_by_field_name("arguments")
        if function is None or given is None:
            return self._unclear(node)
        function = self._behind(function)
        span = self.context.span(node)
        if (statements := self.unfolded(node)) is not None:
            single = statements[0] if len(statements) == 1 else None
            return single.expression if isinstance(single, Evaluate) else Lambda(Block(tuple(statements), span), span)
        arguments = self.all(given.named_children)
        kind = function.type
        if kind in ("primitive_type", "sized_type_specifier"):
            type_ = self.context.source(function)
            return Cast(type_, arguments[0] if arguments else Constant(0, span, type_), span)
        if kind == "field_expression":
            return self._method(node, function, arguments, span)
        written = self.context.source(function)
        name = plain(written)
        simple = last(name)
        if "<" in written:
            special = self._template(written, simple, arguments, span, node)
            if special is not None:
                return special
        if simple.endswith("_t") and len(arguments) == 1:
            return Cast(name, arguments[0], span)
        if simple in _TRANSPARENT and len(arguments) == 1 and name.startswith("std::"):
            return arguments[0]
        if kind in ("compound_literal_expression", "call_expression"):
            self.context.calls.add("operator()")
        full = plain(written, concrete=True)
        callee = Name(full, self.context.span(function)) if kind in _NAMES else self.convert(function)
        if isinstance(callee, Index) and isinstance(callee.base, Name):  # of a table of functions
            self.context.calls.add(last(callee.base.name))
        if simple == "bind" and arguments:
            bound = arguments[0].operands[0] if isinstance(arguments[0], Operation) else arguments[0]
            self.context.calls.add(last(bound.name) if isinstance(bound, Name) else "")
        return self._finished(callee, simple, node, function, arguments, span)

    def _behind(self, function: Node) -> Node:
        """Return the pointer to a library's function that ``(create)(...)`` and ``(*table.cudnnCreate)(...)`` call."""
        inner = function
        while inner.type in ("parenthesized_expression", "pointer_expression") and inner.named_children:
            inner = inner.named_children[-1]
        member = inner.child_by_field_name("field") if inner.type == "field_expression" else None
        if member is not None:
            return inner if is_library(self.context.source(member)) else function
        named = inner.type == "identifier" and is_library(self.context.aliases.get(self.context.source(inner), ""))
        return inner if named else function

    def _template(
        self, written: str, simple: str, arguments: tuple[Expression, ...], span: Span, node: Node
    ) -> Expression | None:
        type_ = written[written.find("<") + 1 : written.rfind(">")]
        if simple in _CASTS and len(arguments) == 1:
            return Cast(type_name(type_), arguments[0], span)
        given = None if simple.endswith("_ptr") else _LIBRARY_ARGUMENT.match(type_)
        if given and is_library(given[1]) and not given[1].endswith(("Struct", "_t")):
            text = f"{given[1]}({', '.join(self.context.written(child) for child in self._given(node))})"
            self.context.calls.add(given[1])
            self.context.indirect[span.start, given[1]] = (given[1], span, text)
            return Invocation(Name(given[1], span), arguments, span, text, checked=True)
        if simple in _MAKERS:
            self.context.calls.add(last(plain(type_)))
            return Invocation(Name(plain(type_), span), arguments, span, self.context.written(node), new=True)
        return None

    def _method(self, node: Node, function: Node, arguments: tuple[Expression, ...], span: Span) -> Expression:
        callee = self.convert(function)
        simple = callee.name if isinstance(callee, Member) else ""
        return self._finished(callee, simple, node, function, arguments, span)

    def _finished(
        self, callee: Expression, simple: str, node: Node, function: Node, arguments: tuple[Expression, ...], span: Span
    ) -> Expression:
        context = self.context
        context.calls.add(simple)
        if simple.isupper():
            context.asked.add(simple)
        target = last(context.aliases.get(simple, simple))
        starred = node.child_by_field_name("function") != function  # (*table.cudnnCreate)(&h) is no method
        if is_library(target) and (starred or target not in context.own):
            text = context.written(node)
            if isinstance(callee, Member):  # a table of functions, loaded at run time
                callee = Name(simple, callee.span)
            if context.expanded is not None:
                context.indirect[span.start, target] = (target, span, text)
                return Invocation(callee, arguments, span, text)
            offset = function.end_byte + context.shift - len(simple.encode())
            context.found[offset] = (target, span, text)
            return Invocation(callee, arguments, span, text, checked=offset in context.checked)
        handed = self._handed(simple, arguments, span, node)
        if handed is not None:
            return handed
        inner = _checked(arguments, context.aliases)
        return Invocation(callee, arguments, span, context.written(node)) if inner is None else inner

    def _handed(self, simple: str, arguments: tuple[Expression, ...], span: Span, node: Node) -> Expression | None:
        """Return the call that ``call(cudnnCreate, &h)`` makes, by the number of arguments behind the function."""
        context = self.context
        place, name = next(((i, n) for i, a in enumerate(arguments) if (n := function_named(a))), (0, ""))
        if not name:
            return self._chosen(arguments, span, node)
        if name in context.own or _LOADS.search(simple):
            return None
        context.calls.add(name)
        context.handed.add(simple)
        rest = arguments[place + 1 :]
        declared = mapping.table().functions.get(name)
        if declared is None or not rest:
            return None  # it is handed on, not called
        handle = self._adding(name, len(rest), node)
        if handle is not None:
            rest = (self.convert(handle), *rest)
        if not any(len(parameters) == len(rest) for parameters in declared.signatures):
            if simple not in _HOLDERS:
                context.indirect[span.start, name] = (name, span, context.written(node))
            return None
        given = [*([] if handle is None else [handle]), *self._given(node)[place + 1 :]]
        text = f"{name}({', '.join(context.written(child) for child in given)})"
        context.indirect[span.start, name] = (name, span, text)
        return Invocation(Name(name, arguments[place].span), rest, span, text, checked=True)

    def _adding(self, name: str, count: int, node: Node) -> Node | None:
        """Return the object that gives a function its handle, as ``handle.Call(cudnnCreate, ...)`` does."""
        signatures = mapping.table().functions[name].signatures
        callee = node.child_by_field_name("function")
        lacks = any(len(p) == count + 1 and p[0].type.endswith("Handle_t") for p in signatures if p)
        if callee is None or callee.type != "field_expression" or not lacks or any(len(p) == count for p in signatures):
            return None
        return callee.child_by_field_name("argument")

    def _chosen(self, arguments: tuple[Expression, ...], span: Span, node: Node) -> Expression | None:
        """Return the call of the one of two functions that ``call(x ? cudnnA : cudnnB, h)`` makes."""
        first = arguments[0] if arguments else None
        if not isinstance(first, Operation) or first.operator != "?:":
            return None
        names = [function_named(operand) for operand in first.operands[1:]]
        rest, given = arguments[1:], self._given(node)[1:]
        if not all(names) or not rest:
            return None
        handle = self._adding(names[0], len(rest), node)
        if handle is not None:
            rest, given = (self.convert(handle), *rest), [handle, *given]
        text = ", ".join(self.context.written(child) for child in given)
        for name in names:
            self.context.calls.add(name)
            self.context.indirect[span.start, name] = (name, span, f"{name}({text})")
        return Invocation(first, rest, span, f"{names[0]}({text})", checked=True)

    @staticmethod
    def _given(node: Node) -> list[Node]:
        given = node.child_by_field_name("arguments")
        return [] if given is None else given.named_children


def function_named(expression: Expression) -> str:
    """Return the library's function that an expression names without calling it; "" where it names none."""
    if isinstance(expression, Operation) and expression.operator == "&x":
        expression = expression.operands[0]
    if not isinstance(expression, Name):
        return ""
    name = last(expression.name)
    return name if name in mapping.table().functions else ""


def _checked(arguments: tuple[Expression, ...], aliases: Mapping[str, str]) -> Expression | None:
    """Return the library's call that a macro or function handles the status of, as it stands in its argument.

    Members that it prints beside it are kept.
    """
    marked = [mark_checked(argument, aliases) for argument in arguments]
    found = [new for new, old in zip(marked, arguments, strict=True) if new is not old]
    if len(found) != 1:
        return None
    others = [new for new, old in zip(marked, arguments, strict=True) if new is old and _reads_member(new)]
    return Unclear((found[0], *others), found[0].span) if others else found[0]


def _reads_member(expression: Expression) -> bool:
    """Whether it is a member, or a call of a function with one."""
    if isinstance(expression, Invocation):
        return any(_reads_member(argument) for argument in expression.arguments)
    return isinstance(expression, Member)


def mark_checked(expression: Expression, aliases: Mapping[str, str]) -> Expression:
    """Return an expression with its library's call marked as checked; the same object where it has none."""
    if isinstance(expression, Invocation):
        callee = expression.callee
        if isinstance(callee, Name):
            name = last(callee.name)
            if returns_status(last(aliases.get(name, name))):
                return replace(expression, checked=True)
    elif isinstance(expression, Operation) and expression.operator in ("==", "!=", "!", "=", ",", "?:", "&&", "||"):
        new = tuple(mark_checked(operand, aliases) for operand in expression.operands)
        if any(a is not b for a, b in zip(new, expression.operands, strict=True)):
            return replace(expression, operands=new)
    elif isinstance(expression, Cast):
        inner = mark_checked(expression.value, aliases)
        return expression if inner is expression.value else replace(expression, value=inner)
    return expression


_NAMES = frozenset(
    (
        "identifier",
        "qualified_identifier",
        "template_function",
        "this",
        "type_identifier",
        "template_type",
        "dependent_name",
    )
)
_HANDLERS: dict[str, Callable[[Expressions, Node], Expression]] = {
    **dict.fromkeys(_NAMES, Expressions._name),
    **dict.fromkeys(
        ("field_identifier", "namespace_identifier", "type_descriptor", "primitive_type", "sized_type_specifier",
         "template_method", "operator_name", "destructor_name", "statement_identifier"),
        Expressions._name,
    ),
    "number_literal": Expressions._number,
    "user_defined_literal": Expressions._nothing,
    "string_literal": Expressions._string,
    "raw_string_literal": Expressions._string,
    "char_literal": Expressions._character,
    "concatenated_string": Expressions._strings,
    "true": Expressions._true,
    "false": Expressions._false,
    "null": Expressions._null,
    "parenthesized_expression": Expressions._inner,
    "condition_clause": Expressions._inner,
    "binary_expression": Expressions._binary,
    "unary_expression": Expressions._unary,
    "pointer_expression": Expressions._pointer,
    "assignment_expression": Expressions._assignment,
    "update_expression": Expressions._update,
    "conditional_expression": Expressions._choice,
    "comma_expression": Expressions._comma,
    "subscript_expression": Expressions._subscript,
    "field_expression": Expressions._member,
    "delete_expression": Expressions._delete,
    "cast_expression": Expressions._cast,
    "compound_literal_expression": Expressions._compound_literal,
    "sizeof_expression": Expressions._sizeof,
    "initializer_list": Expressions._braces,
    "initializer_pair": Expressions._pair,
    "new_expression": Expressions._new,
    "lambda_expression": Expressions._lambda,
    "call_expression": Expressions._call,
    "comment": Expressions._nothing,
    "template_argument_list": Expressions._nothing,
    "parameter_list": Expressions._nothing,
    "parameter_pack_expansion": Expressions._inner,
    "expression_statement": Expressions._inner,
}  # fmt: skip
