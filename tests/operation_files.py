"""Which files of the library name an operation: ``python -m tests.operation_files`` counts them, most first.

Left out are kernels, generated files, the checker, front ends for other libraries and graphs, whose nodes have names of
their own. Folders of an operation in ``portadnn/ops/`` and ``backends/engines/`` count as one file.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

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
    """Return the words of all names in each file, in small letters with ends between them: " ctc loss descriptor "."""
    found: dict[str, frozenset[str]] = {}
    for path in _files():
        names = set(_NAME.findall(path.read_text("utf-8")))
        words = {f" {' '.join(_WORD.findall(name)).lower()} " for name in names}
        found[_counted(path)] = found.get(_counted(path), frozenset()) | words
    return found


def naming(*phrases: str) -> list[str]:
    """Return the files in which a name has one of these successions of words."""
    wanted = re.compile(f" ({'|'.join(phrases)}) ")
    return [file for file, names in _names().items() if any(map(wanted.search, names))]


def _spelled(kind: type[Problem]) -> set[str]:
    """Return the words of an operation's name, of its Problem's and of its pattern: "softmax forward", "softmax *"."""
    op = kind.op.replace("_", " ")
    return {op, _DIRECTION.sub(" *", op), " ".join(_WORD.findall(kind.__name__)).lower()}


def by_family() -> dict[str, set[str]]:
    """Return the files that name an operation by its family; of a name in a longer one the longer one counts."""
    families = {
        words: _DIRECTION.sub("", op) for op, known in operations().items() for words in _spelled(known.problem)
    }
    longest_first = sorted(map(re.escape, families), key=len, reverse=True)
    wanted = re.compile(f"(?<= )({'|'.join(longest_first)})(?= )")
    found: dict[str, set[str]] = {family: set() for family in families.values()}
    for file, names in _names().items():
        for words in wanted.findall(" ".join(names)):
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
