"""Statements: from tree-sitter's nodes to the program's."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tree_sitter import Node

from ..program import (
    Alternatives,
    Block,
    Constant,
    Declare,
    Evaluate,
    Expression,
    If,
    Jump,
    Loop,
    Name,
    Statement,
    Switch,
    Try,
    Unclear,
)
from .context import DEEPEST, Context
from .declarators import Declared, declared, type_of
from .directives import Group
from .expressions import Expressions, function_named, mark_checked
from .sheet import branch_condition

Parse = Callable[[bytes], Node]
_CONDITIONALS = frozenset(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else", "preproc_elifdef"))
_LONGEST_CHOICE = 40
_LIBRARY_TYPE = re.compile(r"(?:cudnn|miopen)[A-Z]\w*_t")
_IGNORED = frozenset(
    ("comment", "using_declaration", "static_assert_declaration", "namespace_alias_definition", "preproc_call",
     "preproc_directive", "attribute_declaration", "template_declaration", "friend_declaration", ";")
)  # fmt: skip

_LONGEST_ARGUMENTS = 4000  # bytes


class Statements:
    """Converts the bodies of functions.

    Parameters
    ----------
    context : Context
    groups : dict of int to Group
        Those of the preprocessor that are in the text, by the offset of their first directive.
    declaration : callable
        Told of nodes that declare types inside functions.
    parse : callable
        Parses a piece of text that was understood otherwise; returns its tree's root.
    """

    def __init__(
        self,
        context: Context,
        groups: Mapping[int, Group],
        declaration: Callable[[Node], None],
        parse: Parse,
    ) -> None:
        self.context = context
        self.groups = groups
        self.declaration = declaration
        self.parse = parse
        self.expressions = Expressions(context, self.block, self.unfolded)

    def block(self, node: Node) -> Block:
        """Return a node's statements as a block, also where it is a single one."""
        context = self.context
        span = context.span(node)
        if context.depth >= DEEPEST:
            context.too_deep(node)
            return Block((), span)
        context.depth += 1
        try:
            if node.type != "compound_statement":
                return Block(tuple(self.statements([node])), span)
            block = Block(tuple(self.statements(node.named_children)), span)
            if context.checked and node.start_byte + context.shift in context.checked:
                return Block(tuple(self._checked(s) for s in block.statements), span)
            return block
        finally:
            context.depth -= 1

    def _checked(self, statement: Statement) -> Statement:
        if isinstance(statement, Evaluate):
            return replace(statement, expression=mark_checked(statement.expression, self.context.aliases))
        return statement

    def statements(self, nodes: Iterable[Node]) -> list[Statement]:
        """Return the statements of some nodes in order."""
        result: list[Statement] = []
        for node in nodes:
            kind = node.type
            self.context.limits.check()
            if kind == "expression_statement":
                result += self._evaluate(node)
            elif kind in _IGNORED:
                if kind == "template_declaration":
                    self.declaration(node)
            else:
                handler = _HANDLERS.get(kind)
                if handler is None:
                    result.append(Evaluate(self.expressions.convert(node), self.context.span(node)))
                else:
                    result += handler(self, node)
        return result

    def _evaluate(self, node: Node) -> list[Statement]:
        children = node.named_children
        if not children:
            return []
        if len(children) == 1 and (unfolded := self.unfolded(children[0])) is not None:
            return unfolded
        if len(children) == 1 and (variable := self._by_macro(children[0])) is not None:
            return [variable]
        expressions = self.expressions.all(children)
        return [Evaluate(e, self.context.span(c)) for e, c in zip(expressions, children, strict=True)]

    def _by_macro(self, node: Node) -> Declare | None:
        """Return the variable that ``STACK_ALLOC(cudnnConvolutionFwdAlgoPerf_t, results, 8);`` declares."""
        context = self.context
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if node.type != "call_expression" or function is None or given is None or given.named_child_count < 2:
            return None
        type_, name = given.named_children[0], given.named_children[1]
        if not context.source(function).isupper() or {type_.type, name.type} != {"identifier"}:
            return None
        if _LIBRARY_TYPE.fullmatch(context.source(type_)) is None:
            return None
        stars = "*" if given.named_child_count > 2 else ""
        return Declare(context.source(name), context.source(type_) + stars, None, context.span(node))

    def unfolded(self, node: Node) -> list[Statement] | None:
        """Return what an invocation of a macro that takes a call apart stands for; None where it is none."""
        context = self.context
        expander, function = context.expander, node.child_by_field_name("function")
        if expander is None or context.expanded is not None or node.type != "call_expression" or function is None:
            return None
        if function.type == "call_expression":  # DNN(Create)(&h)
            function = function.child_by_field_name("function") or function
        if function.type != "identifier" or context.source(function) not in expander.macros:
            return None
        expanded = expander.expand(context.code[node.start_byte : node.end_byte], node.start_byte + context.shift)
        if expanded is None:
            return None
        code, before = context.code, context.checked
        root = self.parse(expanded.code + b";")
        context.code, context.expanded, context.checked = expanded.code + b";", expanded, set()
        try:
            statements = self.statements(root.named_children)
        finally:
            context.code, context.expanded, context.checked = code, None, before
        return statements

    # Declarations

    def declarations(self, node: Node) -> list[Statement]:
        """Return the variables of a declaration."""
        type_ = node.child_by_field_name("type")
        if type_ is not None and type_.type.endswith("_specifier") and type_.child_by_field_name("body") is not None:
            self.declaration(node)
        result: list[Statement] = []
        for child in node.children_by_field_name("declarator"):
            said = declared(self.context, child)
            if said.name:
                variable = self.variable(node, child, said)
                result += [] if variable is None else [variable]
        values = node.children_by_field_name("value") + node.children_by_field_name("default_value")
        values.sort(key=lambda value: value.start_byte)
        declarators = node.children_by_field_name("declarator")
        if result and len(result) == len(declarators):  # float one = 1, zero = 0; as members
            ends = [*(child.start_byte for child in declarators[1:]), node.end_byte]
            starts = [value.start_byte for value in values]
            for i, (child, end) in enumerate(zip(declarators, ends, strict=True)):
                mine = values[bisect_left(starts, child.end_byte) : bisect_left(starts, end)]
                declared_ = result[i]
                if len(mine) == 1 and isinstance(declared_, Declare) and declared_.value is None:
                    result[i] = replace(declared_, value=self.expressions.convert(mine[0]))
        return result

    def variable(self, node: Node, child: Node, said: Declared) -> Declare | None:
        """Return one variable; None of a function's prototype."""
        context = self.context
        span = context.span(child)
        type_ = type_of(context, node, said.stars, said.reference)
        sizes = tuple(None if size is None else self.expressions.convert(size) for size in said.sizes)
        if said.function is not None:
            if said.stars or said.sizes or said.value is not None:
                value = None if said.value is None else self.expressions.convert(said.value)
                return Declare(said.name, type_, value, span, sizes)
            arguments = self._misread_arguments(said.function)
            return None if arguments is None else Declare(said.name, type_, None, span, sizes, arguments)
        if said.value is not None and said.value.type == "argument_list":
            context.calls.add(type_.rpartition("::")[2])
            return Declare(said.name, type_, None, span, sizes, self.expressions.all(said.value.named_children))
        value = None if said.value is None else self.expressions.convert(said.value)
        if value is not None and (pointed := function_named(value)):
            context.calls.add(pointed)
        return Declare(said.name, type_, value, span, sizes)

    def _misread_arguments(self, function: Node) -> tuple[Expression, ...] | None:
        """Return the arguments of ``T x(a, f(b));``, which reads like a function's prototype."""
        parameters = function.child_by_field_name("parameters")
        if parameters is None or not parameters.named_children:
            return None
        if parameters.end_byte - parameters.start_byte > _LONGEST_ARGUMENTS:
            return None  # each is parsed once more, and what is in it again
        for parameter in parameters.named_children:
            type_ = parameter.child_by_field_name("type")
            declarator = parameter.child_by_field_name("declarator")
            if parameter.type not in ("parameter_declaration", "ERROR") or (
                type_ is not None and type_.type == "primitive_type"
            ):
                return None
            if declarator is not None and not declarator.type.startswith("abstract"):
                return None
        context = self.context
        start, end = parameters.start_byte, parameters.end_byte
        root = self.parse(b"f" + context.code[start:end] + b";")
        shift, code = context.shift, context.code
        context.shift, context.code = shift + start - 1, b"f" + code[start:end] + b";"
        try:
            statements = self.statements(root.named_children)
        finally:
            context.shift, context.code = shift, code
        if len(statements) == 1 and isinstance(statements[0], Evaluate):
            call = statements[0].expression
            return getattr(call, "arguments", None)
        return None

    # Choices

    def _condition(self, node: Node) -> tuple[list[Statement], Expression]:
        """Return a condition, and what it declares before."""
        clause = node.child_by_field_name("condition")
        if clause is None:
            return [], Unclear((), self.context.span(node))
        before: list[Statement] = []
        initializer = clause.child_by_field_name("initializer")
        if initializer is not None:
            before += self.statements(initializer.named_children)
        value = clause.child_by_field_name("value")
        if value is None:
            return before, self.expressions.convert(clause)
        if value.type == "declaration":
            said = self.declarations(value)
            before += said
            if said and isinstance(said[-1], Declare):
                return before, Name(said[-1].name, said[-1].span)
            return before, Unclear((), self.context.span(value))
        return before, self.expressions.convert(value)

    def _if(self, node: Node) -> list[Statement]:
        links: list[tuple[Node, list[Statement], Expression, Block]] = []
        otherwise: Block | None = None
        current: Node | None = node
        while current is not None:
            if len(links) >= _LONGEST_CHOICE:
                self.context.skip(current, "more alternatives than are followed")
                otherwise = self.block(current) if current.type == "compound_statement" else None
                break
            before, condition = self._condition(current)
            then = current.child_by_field_name("consequence")
            span = self.context.span(current)
            links.append((current, before, condition, Block((), span) if then is None else self.block(then)))
            alternative = current.child_by_field_name("alternative")
            current = None
            body = [c for c in alternative.named_children if c.type != "comment"] if alternative is not None else []
            if len(body) == 1 and body[0].type == "if_statement":
                current = body[0]
            elif alternative is not None:
                otherwise = (
                    self.block(body[0])
                    if len(body) == 1
                    else Block(tuple(self.statements(body)), self.context.span(alternative))
                )
        for link, before, condition, then_block in reversed(links):
            span = self.context.span(link)
            choice = If(condition, then_block, otherwise, span)
            otherwise = Block((*before, choice), span)
        return (
            list(otherwise.statements)
            if otherwise is not None and not links[0][1]
            else [otherwise]
            if otherwise
            else []
        )

    def _switch(self, node: Node) -> list[Statement]:
        before, value = self._condition(node)
        body = node.child_by_field_name("body")
        cases: list[tuple[tuple[Expression, ...], list[Statement], Node]] = []
        self._cases([] if body is None else body.named_children, cases)
        done = tuple(
            (values, Block(tuple(statements), self.context.span(where))) for values, statements, where in cases
        )
        span = self.context.span(node)
        switch = Switch(value, done, span)
        return [Block((*before, switch), span)] if before else [switch]

    def _cases(self, nodes: Iterable[Node], cases: list[tuple[tuple[Expression, ...], list[Statement], Node]]) -> None:
        for child in nodes:
            if child.type == "case_statement":
                value = child.child_by_field_name("value")
                values = () if value is None else (self.expressions.convert(value),)
                rest = [c for c in child.named_children if value is None or c.id != value.id]
                cases.append((values, self.statements(rest), child))
            elif child.type in _CONDITIONALS and any(c.type == "case_statement" for c in child.named_children):
                self._cases((c for c in child.named_children if c.type != "number_literal"), cases)
            elif cases:
                cases[-1][1].extend(self.statements([child]))

    def _alternatives(self, node: Node) -> list[Statement]:
        """Branches of the preprocessor that are rows of statements."""
        group = self.groups.get(node.start_byte)
        branches: list[tuple[str, Block]] = []
        current: Node | None = node
        index = 0
        while current is not None:
            alternative = current.child_by_field_name("alternative")
            condition_node = current.child_by_field_name("condition")
            leave = {n.id for n in (alternative, condition_node) if n is not None}
            body = [child for child in current.named_children if child.id not in leave]
            condition = "" if group is None else branch_condition(group, index)
            branches.append((condition, Block(tuple(self.statements(body)), self.context.span(current))))
            current = alternative
            index += 1
        complete = group is not None and group.complete
        return [Alternatives(tuple(branches), complete, self.context.span(node))]

    # Loops

    def _while(self, node: Node) -> list[Statement]:
        before, condition = self._condition(node)
        loop = Loop(self._body(node), self.context.span(node), condition=condition)
        return [*before, loop]

    def _do(self, node: Node) -> list[Statement]:
        body = self._body(node)
        _, condition = self._condition(node)
        if isinstance(condition, Constant) and not condition.value and not _leaves(body.statements):
            return [body]
        return [Loop(body, self.context.span(node), condition=condition, once=True)]

    def _for(self, node: Node) -> list[Statement]:
        span = self.context.span(node)
        initializer = node.child_by_field_name("initializer")
        start = None
        if initializer is not None:
            start = Block(
                tuple(
                    self.declarations(initializer)
                    if initializer.type == "declaration"
                    else [Evaluate(self.expressions.convert(initializer), self.context.span(initializer))]
                ),
                self.context.span(initializer),
            )
        condition, step = node.child_by_field_name("condition"), node.child_by_field_name("update")
        return [
            Loop(
                self._body(node),
                span,
                start,
                None if condition is None else self.expressions.convert(condition),
                None if step is None else self.expressions.convert(step),
            )
        ]

    def _for_each(self, node: Node) -> list[Statement]:
        declarator = node.child_by_field_name("declarator")
        values = node.child_by_field_name("right")
        name = "" if declarator is None else declared(self.context, declarator).name
        initializer = node.child_by_field_name("initializer")
        before = [] if initializer is None else self.statements(initializer.named_children)
        return [
            *before,
            Loop(
                self._body(node),
                self.context.span(node),
                variable=name,
                values=None if values is None else self.expressions.convert(values),
            ),
        ]

    def _body(self, node: Node) -> Block:
        body = node.child_by_field_name("body")
        return Block((), self.context.span(node)) if body is None else self.block(body)

    # Jumps and the rest

    def _jump(self, node: Node) -> list[Statement]:
        children = node.named_children
        value = self.expressions.convert(children[0]) if children and node.type != "goto_statement" else None
        return [Jump(_JUMPS[node.type], value, self.context.span(node))]  # type: ignore[arg-type]

    def _try(self, node: Node) -> list[Statement]:
        handlers = []
        for child in node.named_children:
            if child.type == "catch_clause":
                body = child.child_by_field_name("body")
                if body is not None:
                    handlers.append(self.block(body))
        return [Try(self._body(node), tuple(handlers), self.context.span(node))]

    def _nested(self, node: Node) -> list[Statement]:
        return [self.block(node)]

    def _labeled(self, node: Node) -> list[Statement]:
        return self.statements(c for c in node.named_children if c.type != "statement_identifier")

    def _attributed(self, node: Node) -> list[Statement]:
        return self.statements(c for c in node.named_children if c.type != "attribute_declaration")

    def _case_outside(self, node: Node) -> list[Statement]:
        value = node.child_by_field_name("value")
        return self.statements(c for c in node.named_children if value is None or c.id != value.id)

    def _types(self, node: Node) -> list[Statement]:
        self.declaration(node)
        return []

    def _error(self, node: Node) -> list[Statement]:
        return self.statements(node.named_children)


def _leaves(statements: Iterable[Statement]) -> bool:
    """Whether ``break`` or ``continue`` of a ``do { } while (0)`` is in use."""
    pending = list(statements)
    while pending:
        statement = pending.pop()
        if isinstance(statement, Jump):
            if statement.kind in ("break", "continue"):
                return True
        elif isinstance(statement, If):
            pending += statement.then.statements
            pending += statement.otherwise.statements if statement.otherwise else ()
        elif isinstance(statement, Block):
            pending += statement.statements
        elif isinstance(statement, Alternatives):
            pending += [s for _, block in statement.branches for s in block.statements]
        elif isinstance(statement, Try):
            pending += [*statement.body.statements, *(s for h in statement.handlers for s in h.statements)]
    return False


_JUMPS = {
    "return_statement": "return",
    "break_statement": "break",
    "continue_statement": "continue",
    "throw_statement": "throw",
    "goto_statement": "goto",
    "co_return_statement": "return",
}
_HANDLERS: dict[str, Callable[[Statements, Node], list[Statement]]] = {
    "declaration": Statements.declarations,
    "field_declaration": Statements.declarations,
    "compound_statement": Statements._nested,
    "declaration_list": Statements._error,
    "if_statement": Statements._if,
    "switch_statement": Statements._switch,
    "case_statement": Statements._case_outside,
    "while_statement": Statements._while,
    "do_statement": Statements._do,
    "for_statement": Statements._for,
    "for_range_loop": Statements._for_each,
    "try_statement": Statements._try,
    "labeled_statement": Statements._labeled,
    "attributed_statement": Statements._attributed,
    "type_definition": Statements._types,
    "alias_declaration": Statements._types,
    "class_specifier": Statements._types,
    "struct_specifier": Statements._types,
    "union_specifier": Statements._types,
    "enum_specifier": Statements._types,
    "function_definition": Statements._types,
    "linkage_specification": Statements._error,
    "ERROR": Statements._error,
    **dict.fromkeys(_JUMPS, Statements._jump),
    **dict.fromkeys(_CONDITIONALS, Statements._alternatives),
}
