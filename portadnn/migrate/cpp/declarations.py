"""A file's declarations: functions, classes, variables, other names for types."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from tree_sitter import Node

from ..frontend.methods import makers
from ..interpret.parts import parts_of
from ..libraries import WORD, is_library
from ..program import (
    Block,
    Class,
    Constant,
    Declare,
    Evaluate,
    Expression,
    Function,
    Invocation,
    Jump,
    Lambda,
    Member,
    Name,
    Operation,
    Parameter,
    Span,
    Statement,
    Unclear,
    Unit,
)
from .context import Context, last, plain, type_name
from .declarators import Declared, declared, type_of
from .directives import Group
from .pointers import in_tables
from .relevance import Candidate, Kind, split
from .sheet import branch_condition
from .statements import Parse, Statements

_CONTAINERS = frozenset(
    ("translation_unit", "declaration_list", "linkage_specification", "template_declaration", "ERROR",
     "field_declaration_list", "template_instantiation", "friend_declaration")
)  # fmt: skip
_CONDITIONALS = frozenset(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else", "preproc_elifdef"))
_CLASSES = frozenset(("class_specifier", "struct_specifier", "union_specifier"))
_STATEMENTS = frozenset(
    ("expression_statement", "if_statement", "for_statement", "while_statement", "do_statement", "switch_statement",
     "compound_statement", "return_statement", "try_statement", "for_range_loop", "case_statement", "labeled_statement")
)  # fmt: skip


class Declarations:
    """Fills a unit from a tree."""

    def __init__(self, context: Context, unit: Unit, groups: dict[int, Group], parse: Parse) -> None:
        self.context = context
        self.unit = unit
        self.groups = groups
        self.statements = Statements(context, groups, self.local, parse)
        self.namespaces: set[str] = set()
        self.loose: list[Statement] = []  # statements outside functions: of fragments, and behind parse errors
        self.loose_calls: set[str] = set()
        self.candidates: list[Candidate] = []
        self.inside = False  # of a function

    def read(self, root: Node, names: Collection[bytes] = (), helpers: Collection[bytes] = ()) -> None:
        """Read a whole tree, of the functions those that matter.

        `names` are bound to a library by other files, and `helpers` give arguments to their calls.
        """
        self._walk([(root, "", "")])
        self._any_of_specializations()
        for name, target in in_tables(self.unit.classes, self.unit.variables):
            self.unit.aliases.setdefault(name, target)
        self._functions(names, helpers)
        if self.loose and self._matters(self.loose_calls):
            span = Span(*_ends(self.loose[0].span, self.loose[-1].span))
            block = Block(tuple(self.loose), span)
            self.unit.functions.append(Function("", "", (), block, span, calls=frozenset(self.loose_calls)))

    def _any_of_specializations(self) -> None:
        """Give ``Type<T>::value`` the values that the specializations have: one of them, which is not known."""
        found: dict[str, list[Declare]] = {}
        for variable in self.unit.variables:
            name = plain(variable.name)
            if name != variable.name:
                found.setdefault(name, []).append(variable)
        for name, variables in found.items():
            span = variables[0].span
            result: Expression | None = None
            for variable in variables:
                value = variable.value
                if value is not None:
                    result = value if result is None else Operation("?:", (Unclear((), span), value, result), span)
            types = {variable.type for variable in variables}
            self.unit.variables.append(Declare(name, types.pop() if len(types) == 1 else "", result, span))

    def _functions(self, names: Collection[bytes], helpers: Collection[bytes]) -> None:
        """Read those functions that something links to a library."""
        for candidate in self.candidates:
            self._settle(candidate)
        unit = self.unit
        self.context.own |= {candidate.name for candidate in self.candidates if is_library(candidate.name)}
        macros = {function.name for function in unit.functions if function.macro}
        aliases = {name for name, target in unit.aliases.items() if WORD.search(target.encode())}
        chosen, unit.left_out, unit.unread = split(
            self.candidates,
            self.context.code,
            known=macros | aliases,
            classes=unit.classes,
            variables=unit.variables,
            names=names,
            helpers=helpers,
        )
        unit.functions += [self._converted(candidate) for candidate in chosen]
        self.candidates = []

    def _matters(self, calls: set[str]) -> bool:
        return any(is_library(name) or name in makers() for name in calls) or any(
            f.name in calls for f in self.unit.functions
        )

    def local(self, node: Node) -> None:
        """Read a type that is declared inside a function."""
        calls, self.context.calls = self.context.calls, set()
        inside, self.inside = self.inside, True
        self._walk([(node, "", "")])
        self.context.calls, self.inside = calls, inside

    def _walk(self, pending: list[tuple[Node, str, str]]) -> None:
        """Read nodes, each with the class around it and the condition that it stands under."""
        while pending:
            node, owner, condition = pending.pop()
            self.context.limits.check()
            kind = node.type
            inner: list[tuple[Node, str, str]] = []
            if kind in _CONTAINERS:
                inner = [(child, owner, condition) for child in node.named_children]
            elif kind == "namespace_definition":
                inner = self._namespace(node, owner, condition)
            elif kind in _CONDITIONALS:
                inner = self._conditional(node, owner, condition)
            elif kind == "function_definition":
                self._function(node, owner, condition)
            elif kind in ("declaration", "field_declaration"):
                inner = self._declaration(node, owner, condition)
            elif kind in _CLASSES:
                inner = self._class(node, owner, condition)
            elif kind == "enum_specifier":
                self._enumeration(node, owner)
            elif kind == "type_definition":
                inner = self._typedef(node, owner, condition)
            elif kind == "alias_declaration":
                self._using(node)
            elif kind == "namespace_alias_definition":
                self.namespaces.add(self.context.source(node.named_children[0]))
            elif kind in _STATEMENTS and not owner:
                self._loose(node)
            pending += reversed(inner)

    def _namespace(self, node: Node, owner: str, condition: str) -> list[tuple[Node, str, str]]:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None:
            self.namespaces.update(plain(self.context.source(name)).split("::"))
        return [] if body is None else [(child, owner, condition) for child in body.named_children]

    def _conditional(self, node: Node, owner: str, condition: str) -> list[tuple[Node, str, str]]:
        group = self.groups.get(node.start_byte)
        result: list[tuple[Node, str, str]] = []
        current: Node | None = node
        index = 0
        while current is not None:
            alternative = current.child_by_field_name("alternative")
            here = "" if group is None else branch_condition(group, index)
            both = f"{condition} && {here}" if condition and here else condition or here
            children = [c for c in current.named_children if alternative is None or c.id != alternative.id]
            result += [(child, owner, both) for child in children]
            current = alternative
            index += 1
        return result

    # Functions

    def _function(self, node: Node, owner: str, condition: str) -> None:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        if body is None:
            body = next((c for c in node.named_children if c.type == "try_statement"), None)
        if declarator is None or body is None:
            return
        said = declared(self.context, declarator)
        if said.function is None or not said.name:
            self._not_a_function(node, owner, condition)
            return
        candidate = Candidate(node, owner, condition, said, said.name, body)
        if self.inside:
            self._settle(candidate)
            self.unit.functions.append(self._converted(candidate))
        else:
            self.candidates.append(candidate)

    def _settle(self, candidate: Candidate) -> None:
        """Tell a function's class and name apart, now that the file's namespaces are known."""
        who = self._who(candidate.declared, candidate.owner, candidate.node)
        candidate.name, candidate.owner, candidate.kind = who

    def _converted(self, candidate: Candidate) -> Function:
        node, said = candidate.node, candidate.declared
        outer, self.context.calls = self.context.calls, set()
        initializers = self._initializers(node)
        assert said.function is not None
        parameters = self.parameters(said.function)
        block = self.statements.block(candidate.body)
        static = any(c.type == "storage_class_specifier" and self.context.source(c) == "static" for c in node.children)
        calls = frozenset(self.context.calls)
        self.context.calls = outer
        span = self.context.span(node)
        return Function(
            candidate.name,
            candidate.owner,
            parameters,
            block,
            span,
            candidate.kind,
            initializers,
            static,
            candidate.condition,
            calls,
            said.name.partition("<")[2].rpartition(">")[0].strip() if said.name.endswith(">") else "",
            _class_arguments(node, self.context) if "::" in said.name else "",
            template=_template_parameters(node, self.context),
            returns=type_of(self.context, node, said.stars),
        )

    def _not_a_function(self, node: Node, owner: str, condition: str) -> None:
        """Read the parts of what only looks like a function, mostly because of a macro before it."""
        pending = []
        for child in node.named_children:
            if child.type in _CLASSES or child.type in _CONTAINERS:
                pending.append((child, owner, condition))
            elif child.type == "compound_statement":
                pending += [(c, owner, condition) for c in child.named_children]
        self._walk(pending[::-1])

    def _who(self, said: Declared, owner: str, node: Node) -> tuple[str, str, Kind]:
        scope, _, name = plain(said.name).rpartition("::")
        owner = plain(owner)
        parts = [part for part in scope.split("::") if part]
        while parts and parts[0] in self.namespaces:
            parts.pop(0)
        owner = "::".join([part for part in (owner, *parts) if part])
        if not owner:
            if node.child_by_field_name("type") is None and name.isupper() and said.function is not None:
                given = said.function.child_by_field_name("parameters")  # TEST(Suite, Case) { ... }
                name += "" if given is None else self.context.source(given)
            return name, "", "function"
        if name.startswith("~"):
            return name, owner, "destructor"
        if name == last(owner):
            return name, owner, "constructor"
        return name, owner, "method"

    def _initializers(self, node: Node) -> tuple[tuple[str, tuple[Expression, ...], Span], ...]:
        result = []
        for child in node.named_children:
            if child.type != "field_initializer_list":
                continue
            for one in child.named_children:
                parts = one.named_children
                if one.type == "field_initializer" and parts:
                    values = parts[-1].named_children if len(parts) > 1 else []
                    name = plain(self.context.source(parts[0]))
                    result.append((name, self.statements.expressions.all(values), self.context.span(one)))
        return tuple(result)

    def parameters(self, function: Node) -> tuple[Parameter, ...]:
        """Return a function's parameters."""
        given = function.child_by_field_name("parameters")
        result = []
        for node in [] if given is None else given.named_children:
            declarator = node.child_by_field_name("declarator")
            if node.type == "variadic_parameter_declaration" and declarator is not None:
                name = self.context.source(declarator).replace("...", " ").strip("&* ")
                if name.isidentifier():
                    result.append(Parameter(name, type_of(self.context, node, "") + "...", None, True))
                continue
            if node.type not in ("parameter_declaration", "optional_parameter_declaration"):
                continue
            said = Declared() if declarator is None else declared(self.context, declarator)
            stars = said.stars + "*" * len(said.sizes)
            type_ = type_of(self.context, node, stars)
            if type_ == "void" and not said.name:
                continue
            default = node.child_by_field_name("default_value")
            value = None if default is None else self.statements.expressions.convert(default)
            result.append(Parameter(said.name, type_, value, said.reference))
        return tuple(result)

    def _loose(self, node: Node) -> None:
        if node.type == "compound_statement" and (name := self._test(node.prev_named_sibling)):
            self._test_body(name, node)
            return
        self.context.calls, outer = self.loose_calls, self.context.calls
        self.loose += self.statements.statements([node])
        self.context.calls = outer

    def _test(self, before: Node | None) -> str:
        """Return what goes before the body of ``TEST_CASE("name", "[tag]") { ... }``; "" of other blocks."""
        called = None if before is None or not before.named_children else before.named_children[0]
        if before is None or called is None or called.type != "call_expression" or not before.children[-1].is_missing:
            return ""
        text = self.context.source(called)
        return text if text.partition("(")[0].isupper() else ""

    def _test_body(self, name: str, node: Node) -> None:
        calls, self.context.calls = self.context.calls, set()
        block = self.statements.block(node)
        found, self.context.calls = frozenset(self.context.calls), calls
        if self._matters(set(found)):
            self.unit.functions.append(Function(name, "", (), block, self.context.span(node), calls=found))

    # Variables and types

    def _declaration(self, node: Node, owner: str, condition: str) -> list[tuple[Node, str, str]]:
        type_ = node.child_by_field_name("type")
        inner: list[tuple[Node, str, str]] = []
        if type_ is not None and type_.child_by_field_name("body") is not None:
            inner.append((type_, owner, condition))
        for child in node.children_by_field_name("declarator"):
            said = declared(self.context, child)
            if said.function is not None and not said.value:
                self._prototype(said, owner)
                if "*" in said.stars and said.name:
                    self.unit.prototypes.append((said.name, type_of(self.context, node, said.stars)))
        before = len(self.unit.functions)
        variables = self.variables(node)
        if not self.inside and len(self.unit.functions) == before:
            self._initializers_of(variables)
        if not owner:
            self.unit.variables += variables
        elif node.type == "field_declaration" and _is_static(self.context, node):
            self.unit.variables += [replace(v, name=f"{owner}::{v.name}") for v in variables]
        return inner

    def _initializers_of(self, variables: Iterable[Declare]) -> None:
        """Follow what gives a variable of the file its value, where functions of the program are in it: a registry."""
        for variable in variables:
            if variable.value is None or "#define" in variable.type:
                continue
            found = frozenset(_called(variable.value))
            if any(isinstance(part, Lambda) for part in _parts(variable.value)) and found:
                body = Block((Evaluate(variable.value, variable.span),), variable.span)
                self.unit.functions.append(Function("", "", (), body, variable.span, calls=found))

    def _prototype(self, said: Declared, owner: str) -> None:
        """Keep the default arguments that a definition elsewhere does not repeat."""
        parameters = () if said.function is None else self.parameters(said.function)
        if any(parameter.default is not None for parameter in parameters):
            name, owner, _ = self._who(said, owner, said.function)  # type: ignore[arg-type]
            self.unit.defaults.append((owner, name, parameters))

    def variables(self, node: Node) -> list[Declare]:
        """Return the variables that a declaration declares."""
        outer, self.context.calls = self.context.calls, set()
        outer_declaration, self.statements.declaration = self.statements.declaration, lambda _: None
        found = self.statements.declarations(node)
        self.statements.declaration = outer_declaration
        self.context.calls = outer
        return [variable for variable in found if isinstance(variable, Declare)]

    def _class(self, node: Node, owner: str, condition: str) -> list[tuple[Node, str, str]]:
        body, named = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None:
            return []
        simple = "" if named is None else plain(self.context.source(named), concrete=True)
        return self._members(node, body, f"{owner}::{simple}" if owner and simple else simple, condition)

    def _members(self, node: Node, body: Node, name: str, condition: str) -> list[tuple[Node, str, str]]:
        bases: list[str] = []
        for child in node.named_children:
            if child.type == "base_class_clause":
                kinds = ("type_identifier", "qualified_identifier", "template_type", "dependent_type")
                bases += [plain(self.context.source(c)) for c in child.named_children if c.type in kinds]
        members: list[Declare] = []
        constructed = False
        pending: list[Node] = [body]
        while pending:
            current = pending.pop()
            if current.type == "field_declaration":
                if not _is_static(self.context, current):
                    members += self.variables(current)
            elif current.type in _CONDITIONALS or current.type in ("field_declaration_list", "ERROR"):
                pending += reversed(current.named_children)
            elif current.type == "declaration":
                constructed = constructed or _is_constructor(self.context.source(current), name)
        if name:
            union = node.type == "union_specifier"
            template = _template_parameters(node, self.context)
            span = self.context.span(node)
            self.unit.classes.append(
                Class(plain(name), tuple(bases), tuple(members), span, union, template, constructed)
            )
        return [(child, name, condition) for child in body.named_children]

    def _enumeration(self, node: Node, owner: str) -> None:
        body, named = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None:
            return
        name = "" if named is None else self.context.source(named)
        scoped = any(child.type in ("class", "struct") for child in node.children)
        scope = "".join(f"{part}::" for part in (owner, name if scoped else "") if part)
        before: Declare | None = None
        for child in _enumerators(body):
            said, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            if said is None:
                continue
            span = self.context.span(child)
            if value is not None:
                expression = self.statements.expressions.convert(value)
            else:
                expression = _next(before, span)
            before = Declare(scope + self.context.source(said), name or "enum", expression, span)
            self.unit.variables.append(before)

    def _typedef(self, node: Node, owner: str, condition: str) -> list[tuple[Node, str, str]]:
        type_ = node.child_by_field_name("type")
        if type_ is None:
            return []
        names = [declared(self.context, child) for child in node.children_by_field_name("declarator")]
        body = type_.child_by_field_name("body")
        if body is not None and type_.child_by_field_name("name") is None and names and type_.type in _CLASSES:
            return self._members(type_, body, names[0].name, condition)
        for said in names:
            target = type_of(self.context, node, said.stars)
            if said.name and target and said.name != target and said.function is None and not said.sizes:
                self.unit.aliases[said.name] = target
        return [(type_, owner, condition)] if body is not None else []

    def _using(self, node: Node) -> None:
        name, type_ = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is not None and type_ is not None:
            self.unit.aliases[self.context.source(name)] = type_name(self.context.source(type_))


def _class_arguments(node: Node, context: Context) -> str:
    """Return the template's arguments in ``A<double>::f`` of a method that is defined for them alone."""
    before = node.parent
    while before is not None and before.parent is not None and before.parent.type == "template_declaration":
        before = before.parent  # template <> template <class... As> A<double>::A(As... as)
    given = (
        None if before is None or before.type != "template_declaration" else before.child_by_field_name("parameters")
    )
    declarator = node.child_by_field_name("declarator")
    if given is None or given.named_children or declarator is None:
        return ""
    owner, _, _ = context.source(declarator).partition("(")[0].rpartition("::")
    return "".join(owner.partition("<")[2].rpartition(">")[0].split())


def _template_parameters(node: Node, context: Context) -> tuple[str, ...]:
    """Return the parameters of the template that a function or class is, each with its type."""
    before = node.parent
    given = (
        before.child_by_field_name("parameters")
        if before is not None and before.type == "template_declaration"
        else None
    )
    names = []
    for child in [] if given is None else given.named_children:
        text = context.source(child).partition("=")[0].replace("...", " ").strip()
        names.append(text.replace("*", " ").replace("&", " "))
    return tuple(name for name in names if name.split())


def _parts(value: Expression) -> Iterator[Expression]:
    waiting = [value]
    while waiting:
        current = waiting.pop()
        yield current
        if isinstance(current, Lambda):
            waiting += [e for s in current.body.statements for e in _of_statement(s)]
        else:
            waiting += parts_of(current)


def _of_statement(statement: Statement) -> Iterator[Expression]:
    if isinstance(statement, Evaluate):
        yield statement.expression
    elif isinstance(statement, Jump | Declare) and statement.value is not None:
        yield statement.value


def _called(value: Expression) -> Iterator[str]:
    for part in _parts(value):
        if isinstance(part, Invocation) and isinstance(part.callee, Name | Member):
            yield last(part.callee.name)


def _is_static(context: Context, node: Node) -> bool:
    words = ("static", "constexpr")
    kinds = ("storage_class_specifier", "type_qualifier")
    return any(c.type in kinds and context.source(c) in words for c in node.children)


def _is_constructor(declaration: str, name: str) -> bool:
    """Whether a class's member declaration declares a constructor that is defined elsewhere."""
    simple = plain(name).rpartition("::")[2]
    return re.match(rf"(?:explicit\s+|inline\s+|constexpr\s+|\w+\s+)?{re.escape(simple)}\s*\(", declaration) is not None


def _enumerators(body: Node) -> Iterable[Node]:
    pending = [body]
    while pending:
        node = pending.pop()
        if node.type == "enumerator":
            yield node
        else:
            pending += reversed(node.named_children)


def _next(before: Declare | None, span: Span) -> Expression:
    if before is None:
        return Constant(0, span, "int")
    value = before.value
    if isinstance(value, Constant) and isinstance(value.value, int):
        return Constant(value.value + 1, span, "int")
    return Operation("+", (Name(before.name, span), Constant(1, span, "int")), span)


def _ends(first: Span, last_: Span) -> tuple[int, int, int, int, int, int]:
    return (first.start, last_.end, first.line, first.column, last_.end_line, last_.end_column)
