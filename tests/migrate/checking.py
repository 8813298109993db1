"""Programs that break rules, and near misses: read from tests/migrate/programs/*.txt and checked.

A file is named after its rule and has sections. Their first line is ``=== violates: title [options]`` or
``=== harmless: title [options]``; options are those of `find`, as ``target=miopen-1 cudnn_version=7.6``. In a program
that violates a rule each line where that is told ends with ``// <- S01``, or ``// <- S01 possible, S06``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from portadnn.migrate.events import Argument, Event, Place
from portadnn.migrate.findings import Finding
from portadnn.migrate.frontend.found import FoundGraph
from portadnn.migrate.values import Value, known, thing

FOLDER = Path(__file__).parent / "programs"
_HEADER = re.compile(r"=== (violates|harmless): ([^\[\n]+?)\s*(?:\[([^\]]*)\])?$")
_MARK = re.compile(r"(?://|#) <- (.+)$")


@dataclass(frozen=True)
class Program:
    """A section of a file; `expected` are the lines, 1-based, with the rules and how certain they are."""

    rule: str
    kind: str
    title: str
    options: Mapping[str, str]
    text: str
    first_line: int

    @property
    def expected(self) -> set[tuple[int, str, str]]:
        marks = ((number, _MARK.search(line)) for number, line in enumerate(self.text.split("\n"), 1))
        return {
            (number, words[0], words[1] if len(words) > 1 else "proven")
            for number, mark in marks
            if mark
            for words in (part.split() for part in mark[1].split(","))
        }

    def __str__(self) -> str:
        return f"{self.rule} {self.kind}: {self.title}"


def programs(folder: Path = FOLDER) -> Iterator[Program]:
    """Yield all programs."""
    for path in sorted(folder.glob("*.txt")):
        header: re.Match[str] | None = None
        lines: list[str] = []
        start = 0
        for number, line in enumerate([*path.read_text(encoding="utf-8").split("\n"), "=== end"], 1):
            if not line.startswith("=== "):
                lines.append(line)
                continue
            if header:
                options = dict(option.split("=", 1) for option in (header[3] or "").split())
                yield Program(path.stem, header[1], header[2], options, "\n".join(lines), start)
            header, lines, start = _HEADER.match(line), [], number
            if header is None and line != "=== end":
                raise ValueError(f"{path.name}:{number}: {line!r} is no header")


def find(text: str, *, target: str = "miopen-3", cudnn_version: str | None = None, **more: str) -> list[Finding]:
    """Return what the rules say of a program."""
    from portadnn.migrate import cpp, interpret
    from portadnn.migrate.frontend.judge import judged
    from portadnn.migrate.rules.engine import Judge
    from portadnn.migrate.rules.judge_graphs import judge_graphs
    from portadnn.migrate.rules.judge_sources import judge_sources

    unit = cpp.read(text.encode(), "program.cpp", cudnn_version=cudnn_version)
    versions = {library: version for library, version in (("cudnn", cudnn_version), *more.items()) if version}
    judge = Judge(target, versions=versions, mentioned=unit.named)
    graphs: list[FoundGraph] = []
    interpret.follow([unit], [judge], graphs)
    return [*judge.findings, *judge_sources([unit], target), *judge_graphs(judged(graphs), target)]


def make(number: int, function: str, *values: Value | int | float | str | None, version: str | None = None) -> Event:
    """Return a call made by hand; a str that begins with a small letter names a thing."""
    arguments = []
    for column, value in enumerate(values):
        lower = isinstance(value, str) and value[:1].islower() and not value.startswith("miopen")
        read = value if isinstance(value, Value) else thing(str(value)) if lower else known(value)
        text = str(read.data) if read.kind in {"thing", "known"} else f"argument{column}"
        place = Place("hand.cpp", number, 10 + 10 * column, number, 15 + 10 * column)
        arguments.append(Argument(text, read, place=place))
    text = f"{function}({', '.join(argument.text for argument in arguments)})"
    return Event(number, function, tuple(arguments), Place("hand.cpp", number), text, version=version)
