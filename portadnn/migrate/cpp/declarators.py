"""Declarators: what a declaration says of one of its names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from .context import Context, plain, type_name

_WRAPPERS = frozenset(
    ("pointer_declarator", "parenthesized_declarator", "attributed_declarator", "init_declarator",
     "pointer_type_declarator", "abstract_pointer_declarator", "abstract_parenthesized_declarator",
     "variadic_declarator")
)  # fmt: skip
_ARRAYS = frozenset(("array_declarator", "abstract_array_declarator"))
_REFERENCES = frozenset(("reference_declarator", "abstract_reference_declarator"))
_NAMES = frozenset(
    ("identifier", "field_identifier", "qualified_identifier", "type_identifier", "destructor_name", "operator_name",
     "template_function", "structured_binding_declarator", "operator_cast", "template_method")
)  # fmt: skip
_DEEPEST = 40


@dataclass
class Declared:
    """A name, what stands around it, and its initialiser."""

    name: str = ""
    node: Node | None = None
    stars: str = ""
    reference: bool = False
    sizes: list[Node | None] = field(default_factory=list)
    function: Node | None = None
    value: Node | None = None  # an expression, braces or arguments
    default: Node | None = None


def declared(context: Context, node: Node) -> Declared:
    """Take a declarator apart."""
    result = Declared()
    current: Node | None = node
    for _ in range(_DEEPEST):
        if current is None:
            break
        kind = current.type
        if kind in _NAMES:
            result.name, result.node = plain(context.source(current), concrete=True), current
            break
        if kind in ("function_declarator", "abstract_function_declarator"):
            result.function = result.function or current
        elif kind in _ARRAYS:
            result.sizes.insert(0, current.child_by_field_name("size"))
        elif kind in _REFERENCES:
            result.reference = True
        elif kind in _WRAPPERS:
            if "pointer" in kind:
                result.stars += "*"
            if kind == "init_declarator":
                result.value = current.child_by_field_name("value")
        else:
            break
        inner = current.child_by_field_name("declarator")
        if inner is None:
            named = [
                child for child in current.named_children if child.type in _NAMES or child.type.endswith("declarator")
            ]
            inner = named[0] if named else None
        current = inner
    return result


def type_of(context: Context, node: Node, stars: str = "", reference: bool = False) -> str:
    """Return the type that a declaration or parameter gives, with the stars of one of its declarators."""
    type_ = node.child_by_field_name("type")
    if type_ is None:
        return ""
    if type_.type.endswith("_specifier") and type_.child_by_field_name("body") is not None:
        name = type_.child_by_field_name("name")
        text = "" if name is None else context.source(name)
    else:
        text = context.source(type_)
    if "*" in stars and any(c.type == "type_qualifier" and context.source(c) == "const" for c in _specifiers(node)):
        text = f"const {text}"
    return type_name(text, stars + ("&" if reference else ""))


def _specifiers(node: Node) -> Iterator[Node]:
    """Yield what stands before a declaration's first declarator: it may have ten thousands of them."""
    first = node.child_by_field_name("declarator")
    end = node.end_byte if first is None else first.start_byte
    return itertools.takewhile(lambda child: child.start_byte < end, node.children)
