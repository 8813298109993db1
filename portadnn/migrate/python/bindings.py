"""Functions of a library behind the names that bindings give them: CuPy's ``cudnn.createTensorDescriptor()``."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from ... import mapping
from ..libraries import is_library

# ``cudnn.createTensorDescriptor``, ``libcudnn.create``: the module's name, and a method as CuPy writes it.
NAMED = re.compile(rb"\b_?(?:lib|py|cu)?(?:cudnn|miopen)\s*(?:\.\s*|import\s[^\n]*\b)[a-z]+(?:[A-Z]\w*)?\b")
_MODULE = re.compile(r"_?(?:lib)?(cudnn|miopen)(?:_?lib)?$", re.IGNORECASE)
_VERSION = re.compile(r"_v\d$")


def library_name(node: ast.expr, aliases: Mapping[str, str]) -> str:
    """Return the function in C that is called by an expression; what it is called by itself where that is none.

    Parameters
    ----------
    node : ast.expr
        What stands before the parenthesis.
    aliases : dict of str to str
        What imports call other names.
    """
    if isinstance(node, ast.Name):
        return aliases.get(node.id, node.id)
    if not isinstance(node, ast.Attribute):
        return ""
    name = aliases.get(node.attr, node.attr)
    if is_library(name):
        return name
    base = node.value
    module = base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""
    match = _MODULE.search(aliases.get(module, module).rpartition(".")[2])
    return _in_c(match[1].lower(), node.attr) or name if match else name


def imported(module: str, name: str) -> str:
    """Return the function in C that is imported from a module; the name itself where it is none."""
    match = _MODULE.search(module.rpartition(".")[2])
    return (match and _in_c(match[1].lower(), name)) or name


def _in_c(library: str, name: str) -> str:
    """Return ``cudnnCreateTensorDescriptor`` for ``createTensorDescriptor``; "" where C has no such function."""
    full = f"{library}{name[:1].upper()}{name[1:]}"
    functions = mapping.table().functions
    return next((one for one in (full, _VERSION.sub("", full)) if name[:1].islower() and one in functions), "")
