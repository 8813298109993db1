"""The graph of imports: no circles, whether an import is lazy or for type checkers alone, and no private names."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"portadnn": ROOT / "portadnn", "portadnn_backends": ROOT / "backends"}
SEAM = "portadnn_backends.base"  # what portadnn knows backends by


class Import(NamedTuple):
    module: str
    name: str  # "" for a module as a whole
    line: int


@functools.cache
def files():
    """Return the file of each module."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            parts = (package, *path.relative_to(folder).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(source, package, modules):
    """Yield what a source imports of those modules, wherever in it the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (Import(one.name, "", node.lineno) for one in node.names if one.name in modules)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            origin = ".".join(filter(None, (base, node.module)))
            for one in node.names:
                if f"{origin}.{one.name}" in modules:
                    yield Import(f"{origin}.{one.name}", "", node.lineno)
                elif origin in modules:
                    yield Import(origin, one.name, node.lineno)


@functools.cache
def imports():
    """Return the imports of each module."""
    found = {}
    for module, path in files().items():
        package = module if path.stem == "__init__" else module.rpartition(".")[0]
        found[module] = tuple(imports_of(path.read_text(), package, files()))
    return found


def circle_in(graph):
    """Return the nodes of a circle, in order, or None."""
    done = set()
    for start in graph:
        trail, rest = [start], [iter(graph[start])]
        while trail:
            step = next(rest[-1], None)
            if step is None:
                done.add(trail.pop())
                rest.pop()
            elif step in trail:
                return [*trail[trail.index(step) :], step]
            elif step not in done:
                trail.append(step)
                rest.append(iter(graph[step]))
    return None


def test_imports_have_no_circles():
    graph = {module: {one.module for one in found} - {module} for module, found in imports().items()}
    assert len(graph) > 600, "the files were not found"
    circle = circle_in(graph)
    assert circle is None, "a circle of imports: " + " -> ".join(circle)


@pytest.mark.parametrize(
    ("graph", "circle"),
    [
        ({"a": ["b"], "b": ["c"], "c": []}, None),
        ({"a": ["b", "c"], "b": ["c"], "c": []}, None),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c", "b"]),
        ({"a": ["c"], "b": ["a"], "c": ["d"], "d": ["b"]}, ["a", "c", "d", "b", "a"]),
    ],
)
def test_circles_are_found(graph, circle):
    assert circle_in(graph) == circle


def test_imports_are_found_wherever_they_stand():
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from ..a import T
def f():
    from .. import b
    import p.c
    from .d import _private
"""
    found = set(imports_of(source, "p.q", {"p.a", "p.b", "p.c", "p.q.d"}))
    assert found == {("p.a", "T", 4), ("p.b", "", 6), ("p.c", "", 7), ("p.q.d", "_private", 8)}


def test_no_module_imports_private_names_of_another():
    private = [
        f"{files()[module].relative_to(ROOT)}:{one.line}: {one.module}.{one.name}"
        for module, found in imports().items()
        for one in found
        if one.name.startswith("_") and not one.name.startswith("__")
    ]
    assert private == []


def test_portadnn_names_no_backend():
    """Backends are found by entry points: another distribution may bring one."""
    named = [
        f"{files()[module].relative_to(ROOT)}:{one.line}: {one.module}"
        for module, found in imports().items()
        for one in found
        if module.startswith("portadnn.") and one.module.startswith("portadnn_backends") and one.module != SEAM
    ]
    assert named == []


def test_backends_import_what_the_seam_lists():
    """The table of docs/internals.md, under "The seam of backends", is complete."""
    text = (ROOT / "docs/internals.md").read_text().partition("## The seam of backends")[2]
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    listed = {word for row in rows for word in row.split("`")[1::2]}
    named = {
        one.module.removeprefix("portadnn.")
        for module, found in imports().items()
        for one in found
        if module.startswith("portadnn_backends") and one.module.startswith("portadnn.")
    }
    assert len(named) > 20, "the imports were not found"
    wide = tuple(name.removesuffix("*") for name in listed if name.endswith(".*"))
    assert sorted(name for name in named - listed if not name.startswith(wide)) == []
