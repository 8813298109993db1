"""What dictionaries and classes of constants in a source in Python hold: ``MODES = {"max": 0}``, ``Mode.MAX``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_CONSTANTS = (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp)


class Tables:
    """The dictionaries of constants by their variables' names, and the classes' constants.

    A name that is given something else as well holds nothing that is known.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._tables: dict[str, ast.Dict | None] = {}
        self._constants: dict[tuple[str, str], ast.expr] = {}
        self._set: set[str] = set()  # attributes of objects that something is assigned to
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._class(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assigned(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assigned(node.target, node.value)
        self._owners: dict[str, list[ast.expr]] = {}
        for (_, name), value in self._constants.items():
            self._owners.setdefault(name, []).append(value)

    def _class(self, node: ast.ClassDef) -> None:
        for inner in node.body:
            target = inner.targets[0] if isinstance(inner, ast.Assign) else None
            if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Constant | ast.UnaryOp | ast.Attribute):
                self._constants[node.name, _last(target)] = inner.value

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        name = _last(target)
        if not name:
            return
        if isinstance(target, ast.Attribute):
            self._set.add(name)
        table = value if isinstance(value, ast.Dict) and _is_of_constants(value) else None
        self._tables[name] = table if name not in self._tables else None

    def entries(self, base: ast.expr, key: ast.expr, instead: ast.expr | None = None) -> list[ast.expr]:
        """Return what ``base[key]`` may be: one value of a known key, else those of all keys; none of other names."""
        table = self._tables.get(_last(base))
        if table is None:
            return []
        if isinstance(key, ast.Constant):
            found = [v for k, v in zip(table.keys, table.values, strict=True)
                     if isinstance(k, ast.Constant) and k.value == key.value]  # fmt: skip
            if found:
                return found[-1:]
        return [*table.values, *([] if instead is None else [instead])]

    def constant(self, node: ast.Attribute) -> ast.expr | None:
        """Return what a class's constant is: of ``Mode.MAX``, and of ``self.MAX`` where one class alone has it."""
        if not isinstance(node.value, ast.Name):
            return None
        if node.value.id == "self":
            found = self._owners.get(node.attr, [])
            return found[0] if len(found) == 1 and node.attr not in self._set else None
        return self._constants.get((node.value.id, node.attr))


def _last(node: ast.expr | None) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_of_constants(table: ast.Dict) -> bool:
    return bool(table.values) and None not in table.keys and all(map(_is_constant, table.values))


def _is_constant(value: ast.expr) -> bool:
    """Whether it is a number, a name, or an entry of a binding's enumeration: ``cudnnPoolingMode["..."]``."""
    entry = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant)
    return entry or isinstance(value, _CONSTANTS)


def looked_up(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, ast.expr | None]]:
    """Yield the table, the key and what stands for others of ``table[key]`` and ``table.get(key, other)``."""
    if isinstance(node, ast.Subscript):
        yield node.value, node.slice, None
        return
    called = node.func if isinstance(node, ast.Call) and not node.keywords else None
    if isinstance(node, ast.Call) and isinstance(called, ast.Attribute) and called.attr == "get" and node.args:
        yield called.value, node.args[0], node.args[1] if len(node.args) > 1 else None
