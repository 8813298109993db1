"""Which files of the library name an operation: ``python -m tests.operation_files`` counts them, most first.

Left out are kernels, generated files, the checker, front ends for other libraries and graphs, whose nodes have names of
their own. Folders of an operation in ``portadnn/ops/`` and ``backends/engines/`` count as one file. An enumeration is
its operation's, if it is of one alone. A function or type in C counts as what it stands for in the mapping table, which
for cuDNN 8's cudnnNormalizationForwardTraining is nothing: it is batch normalization and more, and calls that by name.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

from portadnn.enums import DnnEnum
from portadnn.mapping import table
from portadnn.operation import operations
from portadnn.problem import Problem

ROOT = Path(__file__).parents[1]
_OTHERS = ("migrate", "torch", "cupy_compat", "onnx", "graph", "graph_definitions")
_GENERATED = "# Written by python -m "
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[*]")
_NAME = re.compile(r"(?<!_)\b(?!__)\w+[*]?")  # no special methods: __getitem__
_DIRECTION = re.compile(r"[ _](forward|backward)([ _].*)?$")


def _files() -> Iterator[Path]:
    for top in ("portadnn", "backends"):
        for path in sorted((ROOT / top).rglob("*")):
            left_out = set(path.relative_to(ROOT).parts) & set(_OTHERS)
            if path.suffix in (".py", ".toml") and not left_out and _GENERATED not in path.read_text("utf-8"):
                yield path


def _counted(path: Path) -> str:
    """Return what a file counts as: itself, or the folder of an operation that it lies in."""
    for parent in ("portadnn/ops", "backends/engines"):
        inside = path.relative_to(ROOT / parent).parts if path.is_relative_to(ROOT / parent) else ()
        if len(inside) > 1 and inside[0] != "records":
            return f"{parent}/{inside[0]}/"
    return path.relative_to(ROOT).as_posix()


@functools.cache
def _names() -> dict[str, frozenset[str]]:
    """Return all names in each file."""
    found: dict[str, frozenset[str]] = {}
    for path in _files():
        names = frozenset(_NAME.findall(path.read_text("utf-8")))
        found[_counted(path)] = found.get(_counted(path), frozenset()) | names
    return found


def _words(name: str) -> str:
    """Return a name's words in small letters with ends between them: " ctc loss descriptor "."""
    return f" {' '.join(_WORD.findall(name)).lower()} "


def naming(*phrases: str) -> list[str]:
    """Return the files in which a name has one of these successions of words."""
    wanted = re.compile(f" ({'|'.join(phrases)}) ")
    return [file for file, names in _names().items() if any(wanted.search(_words(name)) for name in names)]


@functools.cache
def _meant() -> dict[str, tuple[str, ...]]:
    """Return what of portadnn each function and type in C stands for."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(table().functions, ())
    for row in table().rows:
        found |= {name: found.get(name, ()) + row.portadnn for name in row.names}
    return found | {name: (kind.portadnn or "",) for name, kind in table().by_type.items()}


def _spelled(kind: type[Problem]) -> set[str]:
    """Return the words of an operation's name, of its Problem's and of its pattern: "softmax forward", "softmax *"."""
    op = kind.op.replace("_", " ")
    return {op, _DIRECTION.sub(" *", op), _words(kind.__name__).strip()}


def _enumerations() -> dict[str, str]:
    """Return the families by the enumerations that they alone have: {"SoftmaxMode": "softmax"}."""
    owners: dict[str, set[str]] = {}
    for op, known in operations().items():
        hints = get_type_hints(known.problem)
        for kind in (hints[field.name] for field in fields(known.problem)):
            if isinstance(kind, type) and issubclass(kind, DnnEnum):
                owners.setdefault(kind.__name__, set()).add(_DIRECTION.sub("", op))
    return {name: families.pop() for name, families in owners.items() if len(families) == 1}


def by_family() -> dict[str, set[str]]:
    """Return the files that name an operation by its family; of a name in a longer one the longer one counts."""
    families = {
        words: _DIRECTION.sub("", op) for op, known in operations().items() for words in _spelled(known.problem)
    }
    enumerations = _enumerations()
    longest_first = sorted(map(re.escape, families), key=len, reverse=True)
    wanted = re.compile(f"(?<= )({'|'.join(longest_first)})(?= )")
    found: dict[str, set[str]] = {family: set() for family in families.values()}
    for file, names in _names().items():
        meant = [each for name in names for each in _meant().get(name, (name,))]
        for family in (enumerations[each] for each in meant if each in enumerations):
            found[family].add(file)
        for words in wanted.findall(" ".join(map(_words, meant))):
            found[families[words]].add(file)
    return found


def main() -> None:
    """Print the table; with families' names their files."""
    found = by_family()
    for family in sys.argv[1:] or sorted(found, key=lambda family: -len(found[family])):
        print(f"{len(found[family]):4} {family}")
        print("".join(f"     {file}\n" for file in sorted(found[family]) if sys.argv[1:]), end="")


if __name__ == "__main__":
    main()
